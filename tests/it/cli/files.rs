//! How messages speak of files of tensors: by their names, and of elements as the file counts them.

use std::fs;

use expect_test::{Expect, expect};

use super::Folder;

const ROWS: &str =
    "symbols: N, M\nY(i, j) := 2 * A(i, j)\nA:D(i, j) := (0 <= i < N) * (0 <= j < M)\nA:F := csr\n";

const TWICE: &str = "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 2 1\n1 2 2\n";

const HERMITIAN: &str =
    "%%MatrixMarket matrix coordinate complex hermitian\n4 4 2\n1 1 2 0\n4 1 0.5 0.25\n";

/// Programs with `A` in a format and as an array.
fn folder() -> Folder {
    let folder = Folder::new(ROWS);
    fs::write(folder.path("dense.stur"), ROWS.replace("A:F := csr\n", "")).unwrap();
    let scalar = "symbols: N\ny(i) := alpha() * x(i)\nx:D(i) := (0 <= i < N)\n";
    fs::write(folder.path("scaled.stur"), scalar).unwrap();
    let cube = "symbols: N, M, K\nY(i, j, k) := 2 * A(i, j, k)\n\
        A:D(i, j, k) := (0 <= i < N) * (0 <= j < M) * (0 <= k < K)\n";
    fs::write(folder.path("cube.stur"), cube).unwrap();
    fs::write(folder.path("levels.stur"), format!("{cube}A:F := csf\n")).unwrap();
    fs::write(folder.path("twice.mtx"), TWICE).unwrap();
    fs::write(folder.path("twice.tns"), "1 2 1\n1 2 2\n").unwrap();
    fs::write(folder.path("hermitian.mtx"), HERMITIAN).unwrap();
    folder
}

#[test]
fn entries_of_one_element() {
    let folder = folder();
    let matrix = expect![[r#"
        error: `twice.mtx`: there are two entries of the element (1, 2), counting from 1
        help: `--duplicates sum` adds them up, `--duplicates last` takes the last one
    "#]];
    for line in [
        "run p.stur --input A=twice.mtx --duplicates refuse",
        "run dense.stur --input A=twice.mtx --duplicates refuse",
        "convert twice.mtx a.npz --duplicates refuse",
        "inspect twice.mtx --duplicates refuse",
    ] {
        folder.fails(line, 1, &matrix);
    }
    folder.fails(
        "convert twice.tns a.npz --duplicates refuse",
        1,
        &expect![[r#"
        error: `twice.tns`: there are two entries of the element (1, 2), counting from 1
        help: `--duplicates sum` adds them up, `--duplicates last` takes the last one
    "#]],
    );
    folder.fails(
        "convert twice.tns a.npz --duplicates refuse --zero-based",
        1,
        &expect![[r#"
        error: `twice.tns`: there are two entries of the element (1, 2), counting from 0
        help: `--duplicates sum` adds them up, `--duplicates last` takes the last one
    "#]],
    );
}

#[test]
fn values_that_types_cannot_hold() {
    let folder = folder();
    let fails = |line: &str, expected: &Expect| folder.fails(line, 1, expected);
    let complex = expect![[r#"
        error: `hermitian.mtx`: the element (1, 4), counting from 1: 0.5-0.25i is no value of type f64
        help: `types: A = complex128` in the program declares elements of that type
    "#]];
    fails("run p.stur --input A=hermitian.mtx", &complex);
    fails("run dense.stur --input A=hermitian.mtx", &complex);
    let declared = format!("types: A = complex128\n{ROWS}");
    fs::write(folder.path("complex.stur"), declared).unwrap();
    folder.works("run complex.stur --input A=hermitian.mtx --verify");
    let large = "%%MatrixMarket matrix coordinate integer general\n3 4 1\n2 3 9007199254740993\n";
    fs::write(folder.path("large.mtx"), large).unwrap();
    let large = expect![[r#"
        error: `large.mtx`: the element (2, 3), counting from 1: 9007199254740993 is no value of type f64
        help: `types: A = i64` in the program declares elements of that type
    "#]];
    fails("run p.stur --input A=large.mtx", &large);
    fails("run dense.stur --input A=large.mtx", &large);
    fails(
        "convert large.mtx a.npz --type f64",
        &expect![[r#"
        error: `large.mtx`: the element (2, 3), counting from 1: 9007199254740993 is no value of type f64
        help: `--type i64` keeps it
    "#]],
    );
    let integers = format!("types: A = i64, Y = i64\n{ROWS}");
    fs::write(folder.path("integers.stur"), &integers).unwrap();
    fs::write(folder.path("whole.stur"), integers.replace("A:F := csr\n", "")).unwrap();
    fs::write(folder.path("half.tns"), "# shape 4 4\n1 1 2\n3 2 0.5\n").unwrap();
    let half = expect![[r#"
        error: `half.tns`: the element (3, 2), counting from 1: 0.5 is no value of type i64
        help: `types: A = f64` in the program declares elements of that type
    "#]];
    fails("run integers.stur --input A=half.tns", &half);
    fails("run whole.stur --input A=half.tns", &half);
    fails(
        "run whole.stur --input A=half.tns --zero-based",
        &expect![[r#"
        error: `half.tns`: the element (3, 2), counting from 0: 0.5 is no value of type i64
        help: `types: A = f64` in the program declares elements of that type
    "#]],
    );
    folder.write_array("half.npy", &[2, 2], &[1.0, 0.5, 0.0, 2.0]);
    fails(
        "run whole.stur --input A=half.npy",
        &expect![[r#"
        error: `half.npy`: the element (0, 1), counting from 0: 0.5 is no value of type i64
        help: `types: A = f64` in the program declares elements of that type
    "#]],
    );
    fails(
        "run scaled.stur -p N=3 --input alpha=1+2j",
        &expect![[r#"
        error: `1+2j`: the number 1+2i is no value of type f64
        help: `types: alpha = complex128` in the program declares elements of that type
    "#]],
    );
}

#[test]
fn entries_of_patterns_that_are_one() {
    let folder = folder();
    fs::write(folder.path("p.tns"), "1 1 1\n2 3 4\n2 1 6\n2 1 6\n2 1 6\n").unwrap();
    let note = expect![[r#"
        note: `p.tns` has 2 entries at places of others, each of which a pattern holds once
    "#]];
    for program in ["cube.stur", "levels.stur"] {
        let output = folder.dastac(&format!("run {program} --input A=p.tns --pattern"));
        assert!(output.status.success(), "{program}");
        note.assert_eq(&String::from_utf8(output.stderr).unwrap());
    }
}

#[test]
fn tensors_of_other_ranks() {
    let folder = folder();
    let fails = |line: &str, expected: &Expect| folder.fails(line, 1, expected);
    fs::write(folder.path("matrix.tns"), "1 1 2.5\n").unwrap();
    fs::write(folder.path("points.tns"), "1 1 1\n2 3 4\n").unwrap();
    let matrix = expect![[r#"
        error: `A` has 3 dimensions, but the tensor in `matrix.tns` has 2
    "#]];
    let points = expect![[r#"
        error: `A` has 3 dimensions, but the tensor in `points.tns` has 2
        help: `--pattern=A` reads lines as coordinates without a value
    "#]];
    for program in ["cube.stur", "levels.stur"] {
        fails(&format!("run {program} --input A=matrix.tns"), &matrix);
        fails(&format!("run {program} --input A=points.tns"), &points);
    }
    fails(
        "run dense.stur --input A=points.tns --pattern",
        &expect![[r#"
        error: `A` has 2 dimensions, but the tensor in `points.tns` has 3
        help: without `--pattern`, the last number of a line is a value
    "#]],
    );
    folder.write_array("column.npy", &[3, 1], &[1.0, 2.0, 3.0]);
    fails(
        "run scaled.stur --input x=column.npy",
        &expect![[r#"
        error: `x` has 1 dimension, but the array in `column.npy` has 2
        help: `dastac convert column.npy squeezed.npy --reshape 3` leaves out dimensions of extent 1, as `numpy.squeeze` does
    "#]],
    );
    folder.works("convert column.npy squeezed.npy --reshape 3");
    folder.works("run scaled.stur --input x=squeezed.npy");
    folder.works("convert column.npy column.mtx");
    fails(
        "run scaled.stur --input x=column.mtx",
        &expect![[r#"
        error: `x` has 1 dimension, but the tensor in `column.mtx` has 2
        help: `dastac convert column.mtx squeezed.tns --reshape 3` leaves out dimensions of extent 1, as `numpy.squeeze` does
    "#]],
    );
    fails(
        "run scaled.stur --input alpha=column.npy",
        &expect![[r#"
        error: `alpha` is a scalar, but the array in `column.npy` has 2 dimensions
        help: a scalar is a 0-d array, in Python `numpy.array(1.5)`
    "#]],
    );
    fails(
        "run cube.stur --input A=column.npy",
        &expect![[r#"
        error: `A` has 3 dimensions, but the array in `column.npy` has 2
    "#]],
    );
    folder.write_array("scalar.npy", &[], &[1.0]);
    fails(
        "run cube.stur --input A=scalar.npy",
        &expect![[r#"
        error: `A` has 3 dimensions, but the array in `scalar.npy` is a scalar
    "#]],
    );
    fails(
        "run scaled.stur --input x=3.0",
        &expect![[r#"
        error: `x` has 1 dimension, and `3.0` is a number
        help: name a file of its elements: `--input x=PATH`
    "#]],
    );
}

#[test]
fn files_of_computed_tensors() {
    let folder = folder();
    let computed = expect![[r#"
        error: `Y` is computed: no file of it is read
        help: leave out the flags about its file; the shape of a result follows from the program and its sizes
    "#]];
    for flag in ["--shape Y=2,3", "--zero-based=Y"] {
        folder.fails(&format!("run p.stur --input A=twice.mtx {flag}"), 2, &computed);
    }
    folder.fails(
        "run p.stur -p N=3 -p M=3 --shape A=2,3",
        2,
        &expect![[r#"
        error: flags say how the file of `A` is read, and there is none
        help: name it: `--input A=PATH`
    "#]],
    );
}

/// Exponents have no sign that they do not need, and what is written is read again.
#[test]
fn exponents() {
    let folder = folder();
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1e300\n2 1 -2.5e-300\n";
    fs::write(folder.path("e.mtx"), text).unwrap();
    folder.works("convert e.mtx e.tns");
    folder.works("convert e.tns f.mtx");
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("e.tns"), "# shape 2 2\n1 1 1e300\n2 1 -2.5e-300\n");
    assert_eq!(read("f.mtx"), text);
    let complex = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1e300 -1e300\n";
    fs::write(folder.path("c.mtx"), complex).unwrap();
    folder.works("convert c.mtx c.tns");
    assert_eq!(read("c.tns"), "# shape 1 1\n1 1 1e300-1e300i\n");
    folder.works("convert c.tns d.mtx");
    assert_eq!(read("d.mtx"), complex);
    let output = folder.dastac("run dense.stur --input A=e.mtx --output Y=-");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "2e300 0.0\n-5e-300 0.0\n");
    let values = folder.works("inspect e.mtx --no-plot");
    assert!(values.contains("f64, from -2.5e-300 to 1e300\n"), "{values}");
}
