//! Files of NumPy and SciPy.

use expect_test::{Expect, expect};

use super::*;

/// An array as NumPy writes it.
pub(super) fn npy_of(descr: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    npy::write_header(descr, shape, &mut file).unwrap();
    file.extend(bytes);
    file
}

#[test]
fn numpy_arrays() {
    let npy = |file: &[u8], expected: &Expect| {
        expected.assert_eq(&match parse(FileKind::Npy, file) {
            Ok(contents) => show(&contents),
            Err(error) => {
                format!(
                    "{error}{}",
                    error.hint.as_ref().map(|h| format!("\n{h}")).unwrap_or_default()
                )
            }
        });
    };
    npy(
        &npy_of("<i4", &[2, 2], &[1, 0, 0, 0, 0, 0, 0, 0, 254, 255, 255, 255, 3, 0, 0, 0]),
        &expect![[r#"
            NumPy array, i32: 2 x 2
            (0, 0) 1
            (1, 0) -2
            (1, 1) 3
        "#]],
    );
    npy(
        &npy_of(">i4", &[1], &[0, 0, 1, 0]),
        &expect![[r#"
        NumPy array, i32: 1
        (0) 256
    "#]],
    );
    npy(
        &npy_of("|b1", &[3], &[1, 0, 1]),
        &expect![[r#"
        NumPy array, bool: 3
        (0) true
        (2) true
    "#]],
    );
    npy(
        &npy_of("<f8", &[], &1.5f64.to_le_bytes()),
        &expect![[r#"
        NumPy array, f64: scalar
        () 1.5
    "#]],
    );
    npy(
        &npy_of("<f8", &[0, 1 << 60, 1 << 60], &[]),
        &expect![[r#"
        NumPy array, f64: 0 x 1152921504606846976 x 1152921504606846976
    "#]],
    );
    npy(&npy_of("<f8", &[3], &[0; 23]), &expect!["<bytes>: it ends after 2 of 3 elements"]);
    npy(
        &npy_of("<f8", &[1 << 40, 1 << 40], &[]),
        &expect!["<bytes>: it is too large for this machine"],
    );
    npy(
        &npy_of("<f8", &[1 << 58], &[]),
        &expect!["<bytes>: it ends after 0 of 288230376151711744 elements"],
    );
    npy(
        &npy_of("<u2", &[1], &[0; 2]),
        &expect![
            "<bytes>: it holds elements of type <u2, not of f64, f32, f16, bf16, complex128, complex64, i8, i16, i32, \
             i64, u8 and bool\nconvert it in Python with `array.astype(numpy.float64)`"
        ],
    );
    npy(
        b"nonsense",
        &expect![[r#"
        <bytes>: this is no .npy file
        write it in Python with `numpy.save("a.npy", array)`"#]],
    );
}

/// A zip file of arrays.
fn npz_of(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, file) in members {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(file).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn i32s(numbers: &[i32]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    npy_of("<i4", &[numbers.len() as u64], &bytes)
}

#[test]
fn scipy_matrices() {
    let word = |format: &str| npy_of(&format!("|S{}", format.len()), &[], format.as_bytes());
    let npz = |members: &[(&str, Vec<u8>)], expected: &Expect| {
        expected.assert_eq(&match parse(FileKind::Npz, &npz_of(members)) {
            Ok(contents) => show(&contents),
            Err(error) => {
                format!(
                    "{error}{}",
                    error.hint.as_ref().map(|h| format!("\n{h}")).unwrap_or_default()
                )
            }
        });
    };
    let shape = ("shape", i32s(&[2, 4]));
    let data = ("data", i32s(&[7, 8, 9]));
    let indices = ("indices", i32s(&[3, 0, 2]));
    let csr = ("format", word("csr"));
    let indptr = ("indptr", i32s(&[0, 2, 3]));
    npz(
        &[csr.clone(), shape.clone(), data.clone(), indices.clone(), indptr.clone()],
        &expect![[r#"
            SciPy, csr, i32: 2 x 4
            (0, 0) 8
            (0, 3) 7
            (1, 2) 9
        "#]],
    );
    let csc = [
        ("format", word("csc")),
        shape.clone(),
        data.clone(),
        ("indices", i32s(&[1, 0, 1])),
        ("indptr", i32s(&[0, 2, 2, 2, 3])),
    ];
    npz(
        &csc,
        &expect![[r#"
        SciPy, csc, i32: 2 x 4
        (0, 0) 8
        (1, 0) 7
        (1, 3) 9
    "#]],
    );
    let rows = ("row", i32s(&[1, 0, 1]));
    let coo = [
        ("format", npy_of("<U3", &[], b"c\0\0\0o\0\0\0o\0\0\0")),
        shape.clone(),
        data.clone(),
        rows.clone(),
    ];
    npz(&coo, &expect!["<bytes>: it has no array `col`"]);
    npz(
        &[coo.to_vec(), vec![("col", i32s(&[1, 3, 1]))]].concat(),
        &expect![[r#"
        SciPy, coo, i32: 2 x 4
        (0, 3) 8
        (1, 1) 16
    "#]],
    );
    npz(
        &[coo.to_vec(), vec![("col", i32s(&[1, 4, 1]))]].concat(),
        &expect!["<bytes>: entry 1 at (0, 4) is outside of the shape 2 x 4"],
    );
    npz(
        &[coo.to_vec(), vec![("col", i32s(&[1, -4, 1]))]].concat(),
        &expect!["<bytes>: array `col`: `col` holds a negative number"],
    );
    npz(
        &[coo.to_vec(), vec![("col", i32s(&[1, 2]))]].concat(),
        &expect!["<bytes>: 3 rows, but 2 columns"],
    );
    let blocks: Vec<u8> = (0..8i32).flat_map(i32::to_le_bytes).collect();
    let bsr = [
        ("format", word("bsr")),
        shape.clone(),
        ("data", npy_of("<i4", &[2, 2, 2], &blocks)),
        ("indices", i32s(&[1, 0])),
    ];
    npz(
        &[bsr.to_vec(), vec![("indptr", i32s(&[0, 2]))]].concat(),
        &expect![[r#"
        SciPy, bsr, i32: 2 x 4
        (0, 0) 4
        (0, 1) 5
        (0, 3) 1
        (1, 0) 6
        (1, 1) 7
        (1, 2) 2
        (1, 3) 3
    "#]],
    );
    npz(
        &[bsr.to_vec(), vec![("indptr", i32s(&[0, 1]))]].concat(),
        &expect!["<bytes>: `indptr` must begin with 0 and end with 2"],
    );
    npz(
        &[
            csr.clone(),
            shape.clone(),
            data.clone(),
            indices.clone(),
            ("indptr", i32s(&[0, 3, 2, 3])),
        ],
        &expect!["<bytes>: `indptr` has 4 elements for 2 rows or columns"],
    );
    npz(
        &[csr.clone(), shape.clone(), data.clone(), indices.clone(), ("indptr", i32s(&[0, 4, 3]))],
        &expect!["<bytes>: `indptr` falls at 2"],
    );
    npz(
        &[csr.clone(), shape.clone(), data.clone(), ("indices", i32s(&[3, 0, 4])), indptr.clone()],
        &expect!["<bytes>: `indices` holds 4, not below 4"],
    );
    npz(
        &[("format", word("dia")), shape.clone(), data.clone()],
        &expect![[r#"
        <bytes>: it is a `dia` matrix
        csr, csc, coo and bsr are read: convert it in Python with `matrix.tocsr()`"#]],
    );
    npz(
        &[("arr_0", i32s(&[1]))],
        &expect![[r#"
        <bytes>: it has no array `format`
        `scipy.sparse.save_npz` writes sparse matrices; arrays of `numpy.savez` go to .npy files, one each"#]],
    );
    npz(
        &[csr, ("shape", i32s(&[2])), data, indices, indptr],
        &expect!["<bytes>: its shape has 1 extents, not 2"],
    );
    let error = parse(FileKind::Npz, b"PK nonsense").unwrap_err();
    expect!["<bytes>: this is no .npz file: invalid Zip archive: Could not find EOCD"]
        .assert_eq(&error.to_string());
}
