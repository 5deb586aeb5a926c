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
        &npy_of("<M8", &[1], &[0; 8]),
        &expect![
            "<bytes>: it holds elements of type <M8, not of f64, f32, f16, bf16, complex128, complex64, i8, i16, i32, \
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
    compressed(members, zip::CompressionMethod::Deflated)
}

fn compressed(members: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, file) in members {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
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
fn checksums_are_compared() {
    let mut file = compressed(&[("a", i32s(&[7, 8, 9]))], zip::CompressionMethod::Stored);
    assert!(parse(FileKind::Npz, &file).is_ok());
    let at = file.windows(4).position(|bytes| bytes == 8i32.to_le_bytes()).unwrap();
    file[at] = 9;
    let error = parse(FileKind::Npz, &file).unwrap_err();
    expect!["<bytes>: array `a`: Invalid checksum"].assert_eq(&error.to_string());
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
    npz(
        &coo,
        &expect![[r#"
        <bytes>: it has no array `col`
        its arrays: `data`, `format`, `row`, `shape`"#]],
    );
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
        &expect!["<bytes>: `indptr` has 4 elements for an extent of 2"],
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
            <bytes>: it has no array `offsets`
            its arrays: `data`, `format`, `shape`"#]],
    );
    npz(
        &[("arr_0", i32s(&[1]))],
        &expect![[r#"
            NumPy array `arr_0` of an archive, i32: 1
            (0) 1
        "#]],
    );
    npz(
        &[csr, ("shape", i32s(&[2])), data, indices, indptr],
        &expect!["<bytes>: `indptr` has 3 elements for an extent of 1"],
    );
    let error = parse(FileKind::Npz, b"PK nonsense").unwrap_err();
    expect!["<bytes>: this is no .npz file: invalid Zip archive: Could not find EOCD"]
        .assert_eq(&error.to_string());
}

/// The elements of an array in Fortran order, of all types that tensors do not have, and in the other byte order.
#[test]
fn arrays_as_numpy_keeps_them() {
    let fortran = |shape: &str, bytes: &[u8]| {
        let text = format!("{{'descr': '<i2', 'fortran_order': True, 'shape': {shape}, }}");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        file.extend(text.bytes().chain(bytes.iter().copied()));
        let Data::Stored(tensor) = parse(FileKind::Npy, &file).unwrap().data else { panic!() };
        tensor.values().to_f64()
    };
    let six: Vec<u8> = (0i16..6).flat_map(i16::to_le_bytes).collect();
    assert_eq!(fortran("(2, 3)", &six), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert_eq!(fortran("(3, 2)", &six), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(fortran("(1, 3, 2)", &six), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(fortran("(6,)", &six), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let eight: Vec<u8> = (0i16..8).flat_map(i16::to_le_bytes).collect();
    assert_eq!(fortran("(2, 2, 2)", &eight), [0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0]);
    assert!(fortran("(2, 0)", &[]).is_empty());
    let read = |descr: &str, bytes: &[u8]| match parse(FileKind::Npy, &npy_of(descr, &[1], bytes)) {
        Ok(contents) => show(&contents),
        Err(error) => error.to_string(),
    };
    expect![[r#"
        NumPy array, i32: 1
        (0) 65534
    "#]]
    .assert_eq(&read("<u2", &[254, 255]));
    expect![[r#"
        NumPy array, i32: 1
        (0) 65534
    "#]]
    .assert_eq(&read(">u2", &[255, 254]));
    expect![[r#"
        NumPy array, i64: 1
        (0) 4294967295
    "#]]
    .assert_eq(&read("<u4", &[255; 4]));
    expect![[r#"
        NumPy array, i64: 1
        (0) 9007199254740993
    "#]]
    .assert_eq(&read(">u8", &[0, 32, 0, 0, 0, 0, 0, 1]));
    expect!["<bytes>: element 0 is 18446744073709551615, which does not fit 64 bits with a sign"]
        .assert_eq(&read("<u8", &[255; 8]));
    expect![[r#"
        NumPy array, f16: 1
        (0) 1
    "#]]
    .assert_eq(&read(">f2", &[0x3c, 0]));
    expect![[r#"
        <bytes>: it holds elements of type <f16, not of f64, f32, f16, bf16, complex128, complex64, i8, i16, i32, i64, u8 and bool"#]]
    .assert_eq(&read("<f16", &[0; 16]));
}

/// Diagonals, lists of any rank, and single arrays, as SciPy and NumPy write them.
#[test]
fn other_archives() {
    let word = |format: &str| npy_of(&format!("|S{}", format.len()), &[], format.as_bytes());
    let f64s = |shape: &[u64], numbers: &[f64]| {
        npy_of("<f8", shape, &numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())
    };
    let shaped = |shape: &[u64], numbers: &[i32]| {
        npy_of("<i4", shape, &numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())
    };
    let npz = |members: &[(&str, Vec<u8>)], expected: &Expect| {
        expected.assert_eq(&match parse(FileKind::Npz, &npz_of(members)) {
            Ok(contents) => show(&contents),
            Err(error) => error.to_string(),
        });
    };
    let dia = |offsets: &[i32]| {
        [
            ("offsets", i32s(offsets)),
            ("format", word("dia")),
            ("shape", i32s(&[3, 4])),
            ("data", f64s(&[2, 4], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])),
        ]
    };
    npz(
        &dia(&[0, 1]),
        &expect![[r#"
        SciPy, dia, f64: 3 x 4
        (0, 0) 1
        (0, 1) 6
        (1, 1) 2
        (1, 2) 7
        (2, 2) 3
        (2, 3) 8
    "#]],
    );
    npz(
        &dia(&[-2, 3]),
        &expect![[r#"
        SciPy, dia, f64: 3 x 4
        (0, 3) 8
        (2, 0) 1
    "#]],
    );
    npz(&dia(&[2, 2]), &expect!["<bytes>: `offsets` holds 2 twice"]);
    npz(&dia(&[2]), &expect!["<bytes>: `data` has shape 2 x 4, but there are 1 offsets"]);
    let coo = |coords: &[u64]| {
        [
            ("coords", shaped(coords, &[0, 1, 1, 0, 2, 1])),
            ("format", word("coo")),
            ("shape", i32s(&[2, 2, 3])),
            ("data", f64s(&[2], &[1.5, 2.5])),
            ("_is_array", npy_of("|b1", &[], &[1])),
        ]
    };
    npz(
        &coo(&[3, 2]),
        &expect![[r#"
        SciPy, coo, f64: 2 x 2 x 3
        (0, 1, 2) 1.5
        (1, 0, 1) 2.5
    "#]],
    );
    npz(&coo(&[2, 3]), &expect!["<bytes>: `coords` has shape 2 x 3, not 3 x 2"]);
    let arrays = npz_of(&[("x", f64s(&[2], &[1.5, 2.5])), ("y", i32s(&[3]))]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.npz"), &arrays).unwrap();
    let keyed = |name: &str| match read(&folder.path().join(name), &ReadOptions::default()) {
        Ok(contents) => show(&contents),
        Err(error) => format!("{}\n{}\n", error.reason, error.hint.unwrap()),
    };
    let named = ReadOptions { array: Some("y".into()), ..ReadOptions::default() };
    assert_eq!(read(&folder.path().join("a.npz"), &named).unwrap().shape(), [1]);
    let all = [keyed("a.npz:x"), keyed("a.npz:y"), keyed("a.npz:z"), keyed("a.npz")];
    expect![[r#"
        NumPy array `x` of an archive, f64: 2
        (0) 1.5
        (1) 2.5
        NumPy array `y` of an archive, i32: 1
        (0) 3
        it has no array `z`
        its arrays: `x`, `y`
        it has no array `format`
        `scipy.sparse.save_npz` writes sparse matrices; of an archive of arrays, one is read by its key, such as `a.npz:x`; its arrays: `x`, `y`
    "#]].assert_eq(&all.concat());
}

/// What SciPy writes is read, and it reads what is written here. Skipped where Python or SciPy are not there;
/// `DASTAC_TEST_PYTHON` names another Python.
#[test]
fn scipy_agrees() {
    let python = std::env::var("DASTAC_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let folder = tempfile::tempdir().unwrap();
    let run = |script: &str| {
        let mut command = std::process::Command::new(&python);
        command.arg("-c").arg(script).current_dir(folder.path());
        command.output().is_ok_and(|output| {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            output.status.success()
        })
    };
    if !run("import scipy.sparse, numpy") {
        eprintln!("skipped: no SciPy");
        return;
    }
    let all = "csr csc coo bsr dia";
    assert!(run(&format!(
        "import scipy.sparse as s, numpy as n\n\
        a = s.random(12, 8, 0.2, random_state=1)\n\
        for f in '{all}'.split(): s.save_npz(f + '.npz', a.asformat(f))\n\
        n.save('a.npy', a.toarray()); n.save('f.npy', n.asfortranarray(a.toarray()))\n\
        s.save_npz('a3.npz', s.coo_array(n.arange(24.).reshape(2, 3, 4)))"
    )));
    let tensor = |name: &str, format: &Format| {
        let contents = read(&folder.path().join(name), &ReadOptions::default()).unwrap();
        contents.tensor(format, Build::default()).unwrap()
    };
    let expected = tensor("a.npy", &Format::csr());
    assert_eq!(tensor("f.npy", &Format::csr()), expected);
    for name in all.split(' ') {
        assert_eq!(tensor(&format!("{name}.npz"), &Format::csr()), expected, "{name}");
    }
    let cube = tensor("a3.npz", &Format::csf(3));
    assert_eq!(cube.entry_count(), 23);
    let names = ["i".to_string(), "j".to_string()];
    for (at, format) in ["csr", "csc", "coo", "bsr(3, 2)", "bsr(5, 2)"].iter().enumerate() {
        let format = crate::format::parse(format, &names).unwrap();
        let tensor = expected.convert(&format, Build::default()).unwrap();
        let mut file = std::fs::File::create(folder.path().join(format!("{at}.npz"))).unwrap();
        let options = ReadOptions::default();
        write(&tensor, FileKind::Npz, false, &options, Build::default(), &mut file).unwrap();
    }
    let mut file = std::fs::File::create(folder.path().join("cube.npz")).unwrap();
    write(&cube, FileKind::Npz, false, &ReadOptions::default(), Build::default(), &mut file)
        .unwrap();
    assert!(run("import scipy.sparse as s, numpy as n\n\
        a = n.load('a.npy')\n\
        m = [s.load_npz(str(k) + '.npz') for k in range(5)]\n\
        assert [x.format for x in m] == 'csr csc coo bsr coo'.split(), m\n\
        assert all((x.toarray() == a).all() for x in m)\n\
        assert (s.load_npz('cube.npz').toarray() == n.arange(24.).reshape(2, 3, 4)).all()"));
}
