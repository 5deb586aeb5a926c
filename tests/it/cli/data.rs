//! Data in and out: what flags say about files, and files that programs of others write.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use expect_test::expect;

use super::Folder;

const MATVEC: &str = "symbols: M, N\ny(i) := A(i, j) * x(j)\nA:D(i, j) := (0 <= i < M) * (0 <= j < N)\nA:F := csr\n\
    x:D(j) := (0 <= j < N)\n";

const INTEGERS: &str =
    "symbols: N\ntypes: A = i64, y = i64\ny(i) := A(i)\nA:D(i) := (0 <= i < N)\n";

const SYMMETRIC: &str = "symbols: N\ny(i) := B(i, j) * x(j)\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\n\
    B:U(i, j) := (i <= j)\nB:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)\nx:D(j) := (0 <= j < N)\n";

#[test]
fn shapes_of_lists_follow_from_what_is_known() {
    let folder = Folder::new(MATVEC);
    fs::write(folder.path("a.tns"), "1 1 2\n2 3 4\n").unwrap();
    folder.write_array("x.npy", &[5], &[1.0, 1.0, 10.0, 1.0, 1.0]);
    let run = |flags: &str| {
        folder.works(&format!("run p.stur --input A=a.tns {flags} --threads 1 --output y=y.npy"));
        folder.read_array("y.npy")
    };
    // Another input decides how many columns there are, `-p` how many rows, `--shape` both.
    assert_eq!(run("--input x=x.npy"), (vec![2], vec![2.0, 40.0]));
    assert_eq!(run("--input x=x.npy -p M=3"), (vec![3], vec![2.0, 40.0, 0.0]));
    assert_eq!(run("--input x=x.npy --shape A=4,5").0, [4]);
    // A file without entries says nothing of the shape.
    fs::write(folder.path("a.tns"), "").unwrap();
    assert_eq!(run("--input x=x.npy -p M=3"), (vec![3], vec![0.0; 3]));
    folder.fails(
        "run p.stur --input A=a.tns --input x=x.npy",
        1,
        &expect![[r#"
        error: symbol `M` has no value
        help: `-p M=..` gives it one
    "#]],
    );
    fs::write(folder.path("a.tns"), "0 0 2\n1 2 4\n1 2 1\n").unwrap();
    let flags = "--input x=x.npy --zero-based=A --duplicates A=last -p M=2";
    assert_eq!(run(flags), (vec![2], vec![2.0, 10.0]));
    folder.fails(
        "run p.stur --input A=a.tns --input x=x.npy",
        1,
        &expect![[r#"
            error: a.tns:1: coordinate 1 is 0, but they count from 1
            help: `--zero-based` reads files whose coordinates count from 0
        "#]],
    );
    folder.fails(
        "run p.stur --input A=a.tns --shape B=2,3",
        1,
        &expect![[r#"
            error: the program has no tensor `B`
            help: its tensors: `y`, `A` and `x`
        "#]],
    );
}

#[test]
fn fills_of_results() {
    let folder = Folder::new(
        "symbols: N\nY(i, j) := exp(A(i, j))\nA:D(i, j) := (0 <= i < N) * (0 <= j < N)\nA:F := csr\nY:F := csr\n",
    );
    fs::write(folder.path("a.tns"), "1 2 0\n").unwrap();
    folder.works("run p.stur --input A=a.tns -p N=2 --output Y=y.npy");
    assert_eq!(folder.read_array("y.npy"), (vec![2, 2], vec![1.0; 4]));
    folder.fails(
        "run p.stur --input A=a.tns -p N=2 --output Y=y.mtx",
        2,
        &expect![[r#"
        error: `Y` is 1 where it stores nothing, and a file of entries says that it is 0 there
        help: write it to an `.npy` file, with all of its elements, or leave `Y:F` out
    "#]],
    );
    assert!(!folder.path("y.mtx").exists());
}

#[test]
fn integers_are_exact() {
    let folder = Folder::new(INTEGERS);
    let values = [(1i64 << 53) + 1, i64::MAX, i64::MIN];
    let text: String = (1..4).zip(values).map(|(at, value)| format!("{at} 1 {value}\n")).collect();
    let mtx = format!("%%MatrixMarket matrix coordinate integer general\n3 1 3\n{text}");
    fs::write(folder.path("a.mtx"), mtx).unwrap();
    folder.works("convert a.mtx a.npy");
    let mut bytes = fs::read(folder.path("a.npy")).unwrap();
    let at = bytes.windows(3).position(|window| window == b"(3,").unwrap();
    let end = at + bytes[at..].iter().position(|byte| *byte == b')').unwrap();
    bytes[at..=end].fill(b' ');
    bytes[at..at + 4].copy_from_slice(b"(3,)");
    fs::write(folder.path("a.npy"), &bytes).unwrap();
    folder.works("run p.stur --input A=a.npy --output y=y.npy --threads 1");
    let written = fs::read(folder.path("y.npy")).unwrap();
    let expected: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(written.ends_with(&expected));
}

#[test]
fn tolerances() {
    let folder = Folder::new(SYMMETRIC);
    folder.write_array("b.npy", &[2, 2], &[1.0, 2.0, 2.000_000_1, 3.0]);
    folder.write_array("x.npy", &[2], &[1.0, 1.0]);
    let line = "run p.stur --input B=b.npy --input x=x.npy --threads 1";
    assert!(!folder.dastac(line).status.success());
    assert!(!folder.dastac(&format!("{line} --tolerance 1e-9")).status.success());
    let output = folder.dastac(&format!("{line} --tolerance B=1e-6"));
    assert!(output.status.success());
    expect![[r#"
        note: 1 element of `B` differs from its declared structure, by at most 5.0e-8 (relative): accepted by `--tolerance`
    "#]]
    .assert_eq(&String::from_utf8(output.stderr).unwrap());
}

#[test]
fn printed_results() {
    let folder = Folder::new(SYMMETRIC);
    folder.write_array("b.npy", &[2, 2], &[1.0, 2.0, 2.0, 3.0]);
    folder.write_array("x.npy", &[2], &[1.0, 10.0]);
    let line = "run p.stur --input B=b.npy --input x=x.npy --threads 1 --output y=-";
    let output = folder.dastac(line);
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "21.0\n32.0\n");
    assert!(String::from_utf8(output.stderr).unwrap().contains("tensor  role"));
}

#[test]
fn paths_of_any_bytes() {
    let folder = Folder::new(SYMMETRIC);
    folder.write_array("b.npy", &[2, 2], &[1.0, 2.0, 2.0, 3.0]);
    let name =
        |prefix: &[u8]| OsStr::from_bytes(&[prefix, b"\xff\xfe.npy"].concat()).to_os_string();
    fs::rename(folder.path("b.npy"), folder.0.path().join(name(b""))).unwrap();
    let mut command = folder.command("run p.stur --threads 1");
    command.arg("--input").arg(name(b"B=")).arg("--output").arg(name(b"y=y"));
    assert!(command.output().unwrap().status.success());
    assert!(folder.0.path().join(name(b"y")).exists());
}

#[test]
fn arrays_of_archives_and_blocks() {
    let folder = Folder::new(MATVEC);
    let mtx = "%%MatrixMarket matrix coordinate real general\n4 4 3\n1 1 1\n2 1 2\n4 4 3\n";
    fs::write(folder.path("a.mtx"), mtx).unwrap();
    folder.works("convert a.mtx a.npz --format bsr(2,2)");
    folder.works("convert a.npz b.mtx");
    assert!(
        fs::read_to_string(folder.path("b.mtx"))
            .unwrap()
            .ends_with("4 4 3\n1 1 1.0\n2 1 2.0\n4 4 3.0\n")
    );
    folder.fails(
        "convert a.mtx c.npz --format bsr",
        1,
        &expect![[r#"
            error: format `bsr`: `bsr` needs 2 numbers: r, c
            help: such as `bsr(4, 4)`, of `bsr(r, c)`
        "#]],
    );
    // Results in blocks are blocks in archives, and entries in other files.
    let blocks = "symbols: N\nY(i, j) := 2 * A(i, j)\nA:D(i, j) := (0 <= i < N) * (0 <= j < N)\n\
        A:F := bsr(2, 2)\nY:F := bsr(2, 2)\n";
    fs::write(folder.path("blocks.stur"), blocks).unwrap();
    folder.works("run blocks.stur --input A=a.npz --output Y=y.npz");
    folder.works("convert y.npz:data e.npy");
    assert!(folder.works("inspect e.npy").contains("2 x 2 x 2"));
    // The array of blocks, by its key.
    folder.works("convert a.npz:data d.npy");
    folder.fails(
        "run p.stur --input A=a.npz:nothing",
        1,
        &expect![[r#"
            error: cannot read `a.npz:nothing`: it has no array `nothing`
            help: its arrays: `data`, `format`, `indices`, `indptr`, `shape`
        "#]],
    );
}

#[test]
fn copies_that_do_not_fit() {
    let names = ["A", "B", "C", "D", "E"];
    let declared: Vec<String> = names
        .iter()
        .map(|name| format!("{name}:D(i, j) := (0 <= i < N) * (0 <= j < N)\n{name}:F := csr\n"))
        .collect();
    let folder = Folder::new(&format!(
        "symbols: N\ny(i) := sum(j) exp(A(i, j) + B(i, j) + C(i, j) + D(i, j) + E(i, j))\n{}",
        declared.concat()
    ));
    let mtx = "%%MatrixMarket matrix coordinate real general\n4000000 4000000 1\n1 1 0.5\n";
    fs::write(folder.path("a.mtx"), mtx).unwrap();
    let inputs: Vec<String> = names.iter().map(|name| format!("--input {name}=a.mtx")).collect();
    folder.fails(&format!("run p.stur {}", inputs.join(" ")), 1, &expect![[r#"
        error: a rule reads a copy of `A` in dense, which is not made: the values would take 128000000000000 bytes
        help: compute a part of it in a rule of its own: rules of few tensors read `A` as it is stored
    "#]]);
}
