//! Files: what is read, what is refused and with which words, round trips, and damage.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::format::tests::any_format;
use crate::storage::Duplicates;
use crate::storage::tests::{any_entries, sums};
use dastac_elements::{Element, Storage};

fn parse(kind: FileKind, text: &[u8]) -> Result<Contents, ReadError> {
    read_bytes(text, kind, &ReadOptions::default())
}

/// Shape, then one entry a line.
fn show(contents: &Contents) -> String {
    let tensor = contents.tensor(&contents.natural_format(), Build::default()).unwrap();
    let mut text = format!("{}: {}\n", contents.about, crate::storage::product(tensor.shape()));
    tensor.for_each(|element, position| {
        let value = tensor.values().get(position).unwrap();
        text += &format!("{} {value}\n", crate::storage::tuple(element));
    });
    text
}

fn holds(kind: FileKind, text: &str, expected: &Expect) {
    expected.assert_eq(&show(&parse(kind, text.as_bytes()).unwrap()));
}

fn fails(kind: FileKind, text: &str, expected: &Expect) {
    let error = parse(kind, text.as_bytes()).unwrap_err();
    let hint = error.hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default();
    expected.assert_eq(&format!("{error}{hint}"));
}

#[test]
fn matrix_market() {
    let mtx = |text, expected: &Expect| holds(FileKind::MatrixMarket, text, expected);
    mtx(
        "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 4\n2 3 1.5\n1 1 -2e-3\n\n  3\t4 +7 \r\n\
        % more\n1 4 1D2",
        &expect![[r#"
            MatrixMarket, coordinate, real, general: 3 x 4
            (0, 0) -0.002
            (0, 3) 100
            (1, 2) 1.5
            (2, 3) 7
        "#]],
    );
    mtx(
        "%%matrixmarket MATRIX coordinate integer symmetric\n3 3 3\n1 1 5\n2 1 6\n1 3 -7\n",
        &expect![[r#"
            MatrixMarket, coordinate, integer, symmetric: 3 x 3
            (0, 0) 5
            (0, 1) 6
            (0, 2) -7
            (1, 0) 6
            (2, 0) -7
        "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 6\n",
        &expect![[r#"
        MatrixMarket, coordinate, real, skew-symmetric: 2 x 2
        (0, 1) -6
        (1, 0) 6
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n2 2 5\n",
        &expect![[r#"
            MatrixMarket, coordinate, pattern, general: 2 x 2
            (1, 0) true
            (1, 1) true
        "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 3\n",
        &expect![[r#"
        MatrixMarket, coordinate, real, hermitian: 2 x 2
        (0, 1) 3
        (1, 0) 3
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 1 2\n2 2 0\n",
        &expect![[r#"
            MatrixMarket, coordinate, real, general: 2 x 2
            (0, 0) 3
            (1, 1) 0
        "#]],
    );
    mtx(
        "%%MatrixMarket matrix array real general\n2 3\n1\n0\n3\n4 5\n6\n",
        &expect![[r#"
        MatrixMarket, array, real, general: 2 x 3
        (0, 0) 1
        (0, 1) 3
        (0, 2) 5
        (1, 1) 4
        (1, 2) 6
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
        &expect![[r#"
        MatrixMarket, array, integer, symmetric: 2 x 2
        (0, 0) 1
        (0, 1) 2
        (1, 0) 2
        (1, 1) 3
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
        &expect![[r#"
        MatrixMarket, array, real, skew-symmetric: 3 x 3
        (0, 1) -1
        (0, 2) -2
        (1, 0) 1
        (1, 2) -3
        (2, 0) 2
        (2, 1) 3
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix array real general\n0 3\n",
        &expect![[r#"
        MatrixMarket, array, real, general: 0 x 3
    "#]],
    );
}

#[test]
fn bad_matrix_market() {
    let bad = |text: &str, expected: &Expect| fails(FileKind::MatrixMarket, text, expected);
    let real = |text: &str, expected: &Expect| {
        bad(&format!("%%MatrixMarket matrix coordinate real general\n{text}"), expected);
    };
    bad(
        "",
        &expect![[r#"
        <bytes>:1: this is no MatrixMarket file
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "1 2 3\n",
        &expect![[r#"
        <bytes>:1: this is no MatrixMarket file
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "%%MatrixMarket matrix coordinate real\n",
        &expect![[r#"
        <bytes>:1: the first line is not complete
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "%%MatrixMarket vector coordinate real general\n",
        &expect![[r#"
        <bytes>:1: this is no MatrixMarket file of a matrix
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "%%MatrixMarket matrix sparse real general\n",
        &expect!["<bytes>:1: `sparse` is neither `coordinate` nor `array`"],
    );
    bad(
        "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n1 1 2 0.5\n",
        &expect!["<bytes>:3: the element (1, 1) of a hermitian matrix is not real"],
    );
    bad(
        "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 2\n",
        &expect!["<bytes>:3: the value is missing"],
    );
    bad(
        "%%MatrixMarket matrix coordinate quaternion general\n",
        &expect!["<bytes>:1: there are no values of type `quaternion`"],
    );
    bad(
        "%%MatrixMarket matrix coordinate real diagonal\n",
        &expect!["<bytes>:1: there is no symmetry `diagonal`"],
    );
    bad(
        "%%MatrixMarket matrix array pattern general\n",
        &expect!["<bytes>:1: an array cannot be a pattern"],
    );
    bad(
        "%%MatrixMarket matrix coordinate pattern skew-symmetric\n",
        &expect!["<bytes>:1: a pattern cannot be skew-symmetric"],
    );
    bad(
        "%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n",
        &expect!["<bytes>:2: a matrix of shape 3 x 4 cannot be symmetric"],
    );
    bad(
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n",
        &expect!["<bytes>:3: the element (1, 1) of a skew-symmetric matrix is not 0"],
    );
    bad(
        "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n",
        &expect!["<bytes>:3: -9223372036854775808 cannot be negated"],
    );
    real("", &expect!["<bytes>:1: it ends before the line with its size"]);
    real(
        "3 3\n",
        &expect!["<bytes>:2: the size line must hold rows, columns and entries, not `3 3`"],
    );
    real(
        "3 3 -1\n",
        &expect!["<bytes>:2: the size line must hold rows, columns and entries, not `3 3 -1`"],
    );
    real(
        "% only\n3 3 99999999999999999999\n",
        &expect![[
            r#"<bytes>:3: the size line must hold rows, columns and entries, not `3 3 99999999999999999999`"#
        ]],
    );
    real(
        "3 3 1000000000000000000\n1 1 1\n",
        &expect!["<bytes>:3: it ends after 1 of 1000000000000000000 entries"],
    );
    real(
        "3 3 1\n1 1 1\n2 2 2\n",
        &expect!["<bytes>:4: there are more entries than the 1 of the header"],
    );
    real("3 3 2\n1 1 1\n4 2 2\n", &expect!["<bytes>:4: row 4 is not among 1 to 3"]);
    real("3 3 1\n0 1 1\n", &expect!["<bytes>:3: row 0 is not among 1 to 3"]);
    real("3 3 1\n1 1.5 1\n", &expect!["<bytes>:3: the column is `1.5`, not a positive integer"]);
    real("3 3 1\n1\n", &expect!["<bytes>:3: the column is missing"]);
    real("3 3 1\n1 2\n", &expect!["<bytes>:3: the value is missing"]);
    real("3 3 1\n1 2 x\u{7}y\n", &expect![[r#"<bytes>:3: the value is `x\u{7}y`, not a number"#]]);
    real("3 3 1\n1 2 3 4\n", &expect!["<bytes>:3: there is `4` behind the entry"]);
    real("3 3 1\n1 2 3.4.5\n", &expect!["<bytes>:3: the value is `3.4.5`, not a number"]);
    bad(
        "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 3.5\n",
        &expect!["<bytes>:3: the value is `3.5`, not an integer of 64 bits"],
    );
    bad(
        "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 99999999999999999999\n",
        &expect!["<bytes>:3: the value is `99999999999999999999`, not an integer of 64 bits"],
    );
    bad(
        "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2 3 4\n",
        &expect!["<bytes>:3: there is `4` behind the entry"],
    );
    bad(
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        &expect!["<bytes>:5: it ends after 3 of 4 entries"],
    );
    bad(
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n5\n",
        &expect!["<bytes>:7: there are more entries than the 4 of the header"],
    );
    bad(
        "%%MatrixMarket matrix array real general\n1000000000000 1000000000000\n1\n",
        &expect!["<bytes>:3: it ends after 1 of 1000000000000000000000000 entries"],
    );
}

#[test]
fn frostt() {
    let options = |zero_based, pattern, shape: Option<&[u64]>| ReadOptions {
        zero_based,
        pattern,
        shape: shape.map(<[u64]>::to_vec),
    };
    let tns = |text: &str, options: &ReadOptions, expected: &Expect| {
        expected.assert_eq(&match read_bytes(text.as_bytes(), FileKind::Frostt, options) {
            Ok(contents) => show(&contents),
            Err(error) => {
                format!(
                    "{error}{}",
                    error.hint.as_ref().map(|h| format!("\n{h}")).unwrap_or_default()
                )
            }
        });
    };
    let plain = options(false, false, None);
    tns(
        "# a comment\n2 2 2 6.0\n1 3 1 2\n1 2 1 1e1\n",
        &plain,
        &expect![[r#"
        FROSTT: 2 x 3 x 2
        (0, 1, 0) 10
        (0, 2, 0) 2
        (1, 1, 1) 6
    "#]],
    );
    tns(
        "0 0 1\n\n# inside\n4 1 2",
        &options(true, false, None),
        &expect![[r#"
        FROSTT: 5 x 2
        (0, 0) 1
        (4, 1) 2
    "#]],
    );
    tns(
        "# 10 10 2 1 1\n0 3\n9 9\n",
        &options(true, true, Some(&[10, 10])),
        &expect![[r#"
        FROSTT, pattern: 10 x 10
        (0, 3) true
        (9, 9) true
    "#]],
    );
    tns(
        "# shape 4 4\n",
        &plain,
        &expect![[r#"
        FROSTT: 4 x 4
    "#]],
    );
    tns(
        "# shape 4 4\n1 4 7\n",
        &plain,
        &expect![[r#"
        FROSTT: 4 x 4
        (0, 3) 7
    "#]],
    );
    tns(
        "# nothing\n",
        &plain,
        &expect![[r#"
        <bytes>: it has no entries, so nothing says its shape
        say its shape"#]],
    );
    tns(
        "0 1 2\n",
        &plain,
        &expect![[r#"
        <bytes>:1: coordinate 1 is 0, but they count from 1
        read it with coordinates that count from 0"#]],
    );
    tns("1 1 2\n1 1 1 2\n", &plain, &expect!["<bytes>:2: there is `2` behind the entry"]);
    tns("1 1 2\n1 1\n", &plain, &expect!["<bytes>:2: the value is missing"]);
    tns(
        "1 1 2\n1 x 2\n",
        &plain,
        &expect![[r#"
        <bytes>:2: coordinate 2 is `x`, not an integer
        read it as a pattern without values"#]],
    );
    tns("1 1 2\n1 1 y\n", &plain, &expect!["<bytes>:2: the value is `y`, not a number"]);
    tns(
        "1.5 1 2\n",
        &plain,
        &expect![[r#"
        <bytes>:1: coordinate 1 is `1.5`, not an integer
        read it as a pattern without values"#]],
    );
    tns("1\n", &plain, &expect!["<bytes>:1: 1 words on a line are not 1 coordinates and a value"]);
    tns(
        "1 5 1\n",
        &options(false, false, Some(&[4, 4])),
        &expect!["<bytes>:1: coordinate 2 is 5, beyond the extent 4"],
    );
    tns(
        "1 5 1\n",
        &options(false, false, Some(&[4])),
        &expect!["<bytes>:1: 3 words on a line are not 1 coordinates and a value"],
    );
    tns("# shape 4 x\n", &plain, &expect!["<bytes>:1: an extent is `x`, not a number"]);
    tns(
        "18446744073709551615 1 1\n",
        &plain,
        &expect![[
            r#"<bytes>:1: coordinate 1 is 18446744073709551615, beyond the extent 18446744073709551614"#
        ]],
    );
}

#[test]
fn dlmc() {
    let smtx = FileKind::Smtx;
    holds(
        smtx,
        "3, 4, 4\n0 2 2 4\n3 0 1 2\n",
        &expect![[r#"
        DLMC, pattern: 3 x 4
        (0, 0) true
        (0, 3) true
        (2, 1) true
        (2, 2) true
    "#]],
    );
    holds(
        smtx,
        "0, 4, 0\n0\n",
        &expect![[r#"
        DLMC, pattern: 0 x 4
    "#]],
    );
    fails(
        smtx,
        "3 4 4\n",
        &expect![[r#"
        <bytes>:1: the first line must hold rows, columns and entries, not `3 4 4`
        such as `512, 1024, 5243`"#]],
    );
    fails(
        smtx,
        "3, 4\n",
        &expect![[r#"
        <bytes>:1: the first line must hold rows, columns and entries, not `3, 4`
        such as `512, 1024, 5243`"#]],
    );
    fails(smtx, "3, 4, 4\n0 2 2\n", &expect!["<bytes>:2: it ends after 3 of 8 numbers"]);
    fails(
        smtx,
        "3, 4, 4\n0 2 2 4\n3 0 1 2 1\n",
        &expect!["<bytes>:3: there are more numbers than the 8 of the first line"],
    );
    fails(
        smtx,
        "3, 4, 4\n0 2 1 4\n3 0 1 2\n",
        &expect!["<bytes>:2: row 1 begins at 2 and ends at 1"],
    );
    fails(
        smtx,
        "3, 4, 4\n1 2 2 4\n3 0 1 2\n",
        &expect!["<bytes>:2: rows must begin at 0 and end at 4"],
    );
    fails(
        smtx,
        "3, 4, 4\n0 2 2 4\n3 0 4 2\n",
        &expect!["<bytes>:3: column 4 of row 2 is not among 0 to 4 (exclusive)"],
    );
    fails(smtx, "3, 4, 4\n0 2 2 4\n3 0 -1 2\n", &expect!["<bytes>:3: `-1` is no number"]);
    fails(
        smtx,
        "1000000000000000000, 4, 1000000000000000000\n0 2\n",
        &expect!["<bytes>:2: it ends after 2 of 2000000000000000001 numbers"],
    );
}

/// An array as NumPy writes it.
fn npy_of(descr: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
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

#[test]
fn kinds_by_name() {
    let kind = |name: &str| FileKind::of(Path::new(name)).map(FileKind::name).unwrap_or("unknown");
    assert_eq!(kind("a/b.mtx"), "MatrixMarket");
    assert_eq!(kind("b.MTX.GZ"), "MatrixMarket");
    assert_eq!(kind("b.tns.gz"), "FROSTT");
    assert_eq!(kind("b.smtx"), "DLMC");
    assert_eq!(kind("b.txt"), "unknown");
    assert_eq!(kind("mtx"), "unknown");
    assert_eq!(kind(".."), "unknown");
}

/// Many blocks, so that lines are counted across them.
#[test]
fn the_line_of_a_fault_in_a_later_block() {
    let count = 200_000;
    let mut text =
        format!("%%MatrixMarket matrix coordinate real general\n% one\n100 100 {count}\n");
    for at in 0..count {
        text += &format!("{} {} 1.25\n", at % 100 + 1, at / 2000 + 1);
    }
    let contents = parse(FileKind::MatrixMarket, text.as_bytes()).unwrap();
    let tensor = contents.tensor(&Format::csr(), Build::default()).unwrap();
    assert_eq!(tensor.entry_count(), 10_000);
    assert_eq!(*tensor.values(), Storage::from(vec![25.0; 10_000]));
    let mut lines: Vec<&str> = text.lines().collect();
    lines[150_000] = "1 101 1";
    let error = parse(FileKind::MatrixMarket, lines.join("\n").as_bytes()).unwrap_err();
    expect!["<bytes>:150001: column 101 is not among 1 to 100"].assert_eq(&error.to_string());

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(parse(FileKind::MatrixMarket, &packed).unwrap(), contents);
    let error = parse(FileKind::MatrixMarket, &packed[..packed.len() / 2]).unwrap_err();
    assert!(error.line.is_some_and(|line| line > 1000), "{error}");
}

#[test]
fn what_cannot_be_written() {
    let entries = Entries::new(vec![2, 2, 2], vec![0, 1, 1], Storage::from(vec![1.5])).unwrap();
    let cube = Tensor::from_entries(&entries, &Format::csf(3), Build::default()).unwrap();
    let entries = Entries::new(vec![2, 2], vec![0, 1], Storage::from(vec![1.5])).unwrap();
    let matrix = Tensor::from_entries(&entries, &Format::csr(), Build::default()).unwrap();
    let scalar = Tensor::from_dense(vec![], Storage::from(vec![1.5])).unwrap();
    let message = |tensor: &Tensor, kind| check_write(tensor, kind).unwrap_err().to_string();
    expect!["a MatrixMarket file holds a matrix, not a tensor of rank 3"]
        .assert_eq(&message(&cube, FileKind::MatrixMarket));
    expect!["a DLMC file holds a pattern, and would lose the values"]
        .assert_eq(&message(&matrix, FileKind::Smtx));
    expect!["a FROSTT file holds no scalar"].assert_eq(&message(&scalar, FileKind::Frostt));
    assert!(check_write(&cube, FileKind::Npy).is_ok());
}

/// Public files in the folder that `DASTAC_TEST_DATA` names: shape and entries must be those of their list.
#[test]
fn real_files() {
    let Some(folder) = std::env::var_os("DASTAC_TEST_DATA").map(std::path::PathBuf::from) else {
        eprintln!("skipped: DASTAC_TEST_DATA names no folder");
        return;
    };
    let list = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut rows = list.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let headings = rows.next().unwrap();
    let column = |name: &str| headings.iter().position(|heading| *heading == name).unwrap();
    let (file, dims, nnz) = (column("file"), column("dims"), column("nnz"));
    for row in rows {
        let path = folder.join(row[file]);
        if FileKind::of(&path).is_none() || !path.exists() {
            continue;
        }
        // Scans count from 0, have no values, and say their shape in a comment of their own.
        let scan = row[file].starts_with("pointcloud/");
        let options = ReadOptions { zero_based: scan, pattern: scan, shape: None };
        let contents = read(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        let rank = contents.shape().len();
        let tensor = contents.tensor(&Format::coo(rank), Build::default()).unwrap();
        assert_eq!(tensor.entry_count().to_string(), row[nnz], "{}", row[file]);
        let listed: Vec<u64> = row[dims].split('x').map(|extent| extent.parse().unwrap()).collect();
        let inside = contents.shape().iter().zip(&listed).all(|(found, listed)| found <= listed);
        assert!(inside && rank == listed.len(), "{}: {:?}", row[file], contents.shape());
    }
}

/// Complex numbers are two words, or one; the other triangle of a Hermitian matrix is conjugate.
#[test]
fn complex_files() {
    let entries = |kind, text: &[u8]| match parse(kind, text).unwrap().data {
        Data::Entries(entries) => {
            let places = entries.coordinates().chunks(2).map(|at| format!("{at:?}"));
            let values = entries.values().view().iter().map(|value| value.to_string());
            places.zip(values).map(|(at, value)| format!("{at} {value}\n")).collect::<String>()
        }
        Data::Dense(tensor) => unreachable!("{:?}", tensor.shape()),
    };
    let hermitian =
        b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 -1.5 3e2\n";
    expect![[r#"
        [0, 0] 2+0i
        [1, 0] -1.5+300i
        [0, 1] -1.5-300i
    "#]]
    .assert_eq(&entries(FileKind::MatrixMarket, hermitian));
    let array = b"%%MatrixMarket matrix array complex symmetric\n2 2\n1 1\n2 -1\n0 0\n";
    expect![[r#"
        [0, 0] 1+1i
        [1, 0] 2-1i
        [0, 1] 2-1i
    "#]]
    .assert_eq(&entries(FileKind::MatrixMarket, array));
    let tns = b"# shape 3 3\n1 1 1.5-2i\n2 3 -1e-3+2.5E+1i\n3 3 4\n1 2 inf-nani\n";
    expect![[r#"
        [0, 0] 1.5-2i
        [1, 2] -0.001+25i
        [2, 2] 4+0i
        [0, 1] inf+NaNi
    "#]]
    .assert_eq(&entries(FileKind::Frostt, tns));
    let numbers = [1.5f32, -2.0, 0.0, f32::MIN_POSITIVE];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let contents = parse(FileKind::Npy, &npy_of(">c8", &[2], &bytes)).unwrap();
    let tensor = contents.tensor(&Format::dense(1), Build::default()).unwrap();
    let wanted = numbers.map(f64::from);
    assert_eq!(
        (tensor.values().to_f64(), tensor.values().element()),
        (wanted.to_vec(), Element::C64)
    );
}

fn written(tensor: &Tensor, kind: FileKind, gzip: bool, options: &ReadOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(tensor, kind, gzip, options, Build::default(), &mut bytes).unwrap();
    bytes
}

/// A tensor and a kind of files that can hold it.
fn any_file() -> impl Strategy<Value = (Tensor, FileKind, bool, bool)> {
    let entries = any_entries(0..4);
    let with_format = entries.prop_flat_map(|entries| {
        let rank = entries.shape().len();
        (Just(entries), any_format(rank), 0..5usize, any::<bool>(), any::<bool>())
    });
    with_format.prop_map(|(entries, format, kind, gzip, zero_based)| {
        let kind = match (FileKind::ALL[kind].1, entries.shape().len()) {
            (_, 0) => FileKind::Npy,
            (FileKind::Frostt | FileKind::Npy, _) | (_, 2) => FileKind::ALL[kind].1,
            _ => FileKind::Frostt,
        };
        let entries = match kind {
            FileKind::Smtx => entries.cast(Element::Bool).unwrap(),
            _ => entries,
        };
        let build = Build { duplicates: Duplicates::Last, ..Build::default() };
        (Tensor::from_entries(&entries, &format, build).unwrap(), kind, gzip, zero_based)
    })
}

fn without_zeros(tensor: &Tensor) -> std::collections::BTreeMap<Vec<u64>, f64> {
    let mut all = sums(&tensor.to_entries().unwrap());
    all.retain(|_, value| *value != 0.0);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_written_is_read((tensor, kind, gzip, zero_based) in any_file()) {
        let options = ReadOptions { zero_based, ..ReadOptions::default() };
        let tensor = match kind {
            // Entries that are false cannot be said there.
            FileKind::Smtx => {
                let dense = tensor.convert(&Format::dense(2), Build::default()).unwrap();
                dense.convert(&Format::csr(), Build::default()).unwrap()
            }
            _ => tensor,
        };
        let bytes = written(&tensor, kind, gzip, &options);
        let read = read_bytes(&bytes, kind, &options).unwrap();
        prop_assert_eq!(read.shape(), tensor.shape());
        let read = read.tensor(tensor.format(), Build::default()).unwrap();
        let exact = matches!(kind, FileKind::Npz | FileKind::Frostt)
            || kind == FileKind::MatrixMarket && tensor.values().element() != Element::Bool;
        if exact {
            prop_assert_eq!(sums(&read.to_entries().unwrap()), sums(&tensor.to_entries().unwrap()));
        } else {
            prop_assert_eq!(without_zeros(&read), without_zeros(&tensor));
        }
    }

    #[test]
    fn floats_survive(values in proptest::collection::vec(any::<f64>(), 1..20), text in 0..2usize) {
        let kind = [FileKind::MatrixMarket, FileKind::Frostt][text];
        let count = values.len() as u64;
        let coordinates = (0..count).flat_map(|at| [at, 0]).collect();
        let entries = Entries::new(vec![count, 1], coordinates, Storage::from(values.clone())).unwrap();
        let tensor = Tensor::from_entries(&entries, &Format::coo(2), Build::default()).unwrap();
        let read = parse(kind, &written(&tensor, kind, false, &ReadOptions::default())).unwrap();
        let Data::Entries(read) = read.data else { panic!() };
        let read = read.values().as_slice::<f64>().unwrap();
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(read), bits(&values));
    }

    #[test]
    fn damaged_files(
        (tensor, kind, gzip, zero_based) in any_file(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), 0..4u8, any::<u8>()), 1..4),
    ) {
        let options = ReadOptions { zero_based, ..ReadOptions::default() };
        let mut bytes = written(&tensor, kind, gzip, &options);
        for (place, what, byte) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes[at] = b"0123456789 -.\n%#"[usize::from(byte) % 16],
                2 => bytes.truncate(at),
                _ => bytes.insert(at, byte),
            }
        }
        if let Ok(contents) = read_bytes(&bytes, kind, &options) {
            let build = Build { memory: 1 << 24, ..Build::default() };
            if let Ok(tensor) = contents.tensor(&contents.natural_format(), build) {
                tensor.check().unwrap();
            }
        }
    }

    #[test]
    fn any_text(text in "(%%MatrixMarket matrix (array|coordinate) real (general|symmetric)\n)?([0-9]{1,3}[ \n\
        ,]){0,12}|\\PC{0,40}") {
        for (_, kind) in FileKind::ALL {
            let _ = parse(kind, text.as_bytes());
        }
    }
}
