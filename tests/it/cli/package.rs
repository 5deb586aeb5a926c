//! Programs that were compiled before: `dastac build -o x.dastac`, then `dastac run x.dastac`.

use expect_test::expect;

use super::{Folder, SYMMETRIC};

/// A matrix in rows times a vector.
const SPARSE: &str = "symbols: M, N
y(i) := A(i, j) * x(j)
A:D(i, j) := (0 <= i < M) * (0 <= j < N)
A:F := csr
x:D(j) := (0 <= j < N)
";

fn built(program: &str, options: &str) -> Folder {
    let folder = Folder::new(program);
    let printed = folder.works(format!("build p.stur -o p.dastac {options}").trim());
    assert_eq!(printed, "p.dastac: `dastac run p.dastac` runs it\n");
    folder
}

/// A result that is infinite where nothing is added up.
const LARGEST: &str = "symbols: N
y(i) := max(j) B(i, j) * (j <= i)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
";

#[test]
fn results_are_those_of_the_text() {
    let programs =
        [(SYMMETRIC, "-p N=9"), (SPARSE, "-p M=7 -p N=9 --density 0.4"), (LARGEST, "-p N=9")];
    for (program, sizes) in programs {
        let folder = built(program, "");
        let run = |file: &str, output: &str| {
            let line = format!("run {file} {sizes} --seed 5 --output y={output} --verify --json");
            folder.json(&line)
        };
        let [text, compiled] = [run("p.stur", "a.npy"), run("p.dastac", "b.npy")];
        let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
        assert_eq!(bytes("a.npy"), bytes("b.npy"));
        for key in ["symbols", "tensors", "max_error"] {
            assert_eq!(text[key], compiled[key], "{key}");
        }
        assert_eq!(compiled["file"], "p.dastac");
        assert_eq!(compiled["run_ns"].as_array().unwrap().len(), 1);
        assert!(compiled["stages_ns"]["load"].is_u64() && compiled["flops"].is_null());
    }
}

/// A product whose result has as many columns as a file says.
const PRODUCT: &str = "symbols: M, N, P
C(i, k) := A(i, j) * B(j, k)
A:D(i, j) := (0 <= i < M) * (0 <= j < N)
A:F := csr
B:D(j, k) := (0 <= j < N) * (0 <= k < P)
B:F := csr
C:D(i, k) := (0 <= i < M) * (0 <= k < P)
C:F := csr
";

/// Rows of a result come together in memory for each column only where there are few columns.
#[test]
fn sizes_choose_workspaces() {
    let folder = Folder::new(PRODUCT);
    let emitted = folder.works("emit p.stur --stage loops");
    assert!(emitted.contains("if P <= ") && emitted.contains("} else {"), "{emitted}");
    let header = |rows: i64, columns: i64, count: i64| {
        format!("%%MatrixMarket matrix coordinate real general\n{rows} {columns} {count}\n")
    };
    for threads in [1, 2] {
        folder.works(&format!("build p.stur -o p.dastac --threads {threads}"));
        for columns in [1, 7, 65_537, 1_000_000_000] {
            // Columns that come again, and the last one.
            let places = [(1, columns), (2, 1), (2, columns), (3, (columns + 1) / 2)];
            let entries = places.map(|(row, column)| format!("{row} {column} 2\n")).concat();
            std::fs::write(folder.path("b.mtx"), header(3, columns, 4) + &entries).unwrap();
            let left = header(3, 3, 4) + "1 1 1\n1 2 1\n3 2 5\n3 3 1\n";
            std::fs::write(folder.path("a.mtx"), left).unwrap();
            let files = "--input A=a.mtx --input B=b.mtx --output C=c.mtx";
            folder.works(&format!("run p.dastac {files}"));
            let built = std::fs::read(folder.path("c.mtx")).unwrap();
            folder.works(&format!("run p.stur {files} --threads {threads}"));
            assert_eq!(built, std::fs::read(folder.path("c.mtx")).unwrap(), "{columns}");
        }
    }
}

#[test]
fn flags_of_a_run_hold() {
    let folder = built(SYMMETRIC, "");
    let ran = folder.json("run p.dastac -p N=5 --repeat 3 --threads 1 --json");
    assert_eq!(ran["run_ns"].as_array().unwrap().len(), 3);
    let text = folder.works("run p.dastac -p N=5 --verify --threads 1");
    assert!(text.contains("agrees with the reference evaluator"), "{text}");
    assert!(text.contains("compiled before, loaded in"), "{text}");
    let sums = ["1", "2", "1"].map(|seed| {
        folder.works(&format!("run p.dastac -p N=5 --seed {seed} --output y=y.npy"));
        std::fs::read(folder.path("y.npy")).unwrap()
    });
    assert!(sums[0] == sums[2] && sums[0] != sums[1]);
    // The result of one run is the input of another, whose size follows from it.
    folder.works("run p.dastac --input x=y.npy --output y=z.npy --verify");
    // What only files without a description need.
    let folder = built(SPARSE, "");
    std::fs::write(folder.path("a.tns"), "0 1\n2 0\n").unwrap();
    let line = "run p.dastac -p M=3 -p N=2 --input A=a.tns --zero-based --pattern --verify";
    assert!(folder.works(line).contains("agrees"));
    let stored = |density: &str| {
        let line = format!("run p.dastac -p M=20 -p N=20 --density {density} --json");
        folder.json(&line)["tensors"][1]["unique"].as_u64().unwrap()
    };
    assert_eq!((stored("0"), stored("1")), (0, 400));
}

#[test]
fn flags_of_compilation_are_refused() {
    let folder = built(SYMMETRIC, "--threads 1");
    let flags = [
        "--schedule s.schedule",
        "--no-schedule",
        "--walking locate",
        "--target cpu",
        "--cpu x86-64",
        "--machine m.txt",
        "--checked",
        "--trips",
        "--time-passes",
        "--verify-ir",
    ];
    for flag in flags {
        let output = folder.dastac(&format!("run p.dastac -p N=5 {flag}"));
        let name = flag.split(' ').next().unwrap();
        let expected = format!(
            "error: `{name}` is about compiling, and a compiled program is run as it is\n\
             help: give it to `dastac run` or `dastac build` of the program's text\n"
        );
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    }
    let output = folder.dastac("run p.dastac -p N=5 --threads 2");
    let note = "note: running on one thread: the program has no code for several\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), note);
    assert!(output.status.success());
}

#[test]
fn files_that_are_no_programs() {
    let folder = built(SYMMETRIC, "");
    folder.fails(
        "run none.dastac -p N=5",
        1,
        &expect![[r#"
            error: cannot read `none.dastac`: no such file or directory
        "#]],
    );
    std::fs::write(folder.path("text.dastac"), SYMMETRIC).unwrap();
    folder.fails(
        "run text.dastac -p N=5",
        1,
        &expect![[r#"
            error: `text.dastac`: not a compiled program that can be run: it is no compiled program
        "#]],
    );
    let bytes = std::fs::read(folder.path("p.dastac")).unwrap();
    std::fs::write(folder.path("short.dastac"), &bytes[..bytes.len() / 2]).unwrap();
    folder.fails(
        "run short.dastac -p N=5",
        1,
        &expect![[r#"
            error: `short.dastac`: not a compiled program that can be run: it is damaged
        "#]],
    );
    let mut other = bytes;
    other[8] = 99;
    std::fs::write(folder.path("other.dastac"), &other).unwrap();
    folder.fails(
        "run other.dastac -p N=5",
        1,
        &expect![[r#"
            error: `other.dastac`: not a compiled program that can be run: it has version 99, but this program reads 3
        "#]],
    );
    folder.fails(
        "check p.dastac",
        1,
        &expect![[r#"
            error: `p.dastac` is a compiled program, not its text
            help: `dastac run` runs it if its name ends in .dastac
        "#]],
    );
    folder.fails(
        "run p.dastac",
        1,
        &expect![[r#"
            error: symbol `N` has no value
            help: `-p N=..` gives it one
        "#]],
    );
    folder.fails(
        "run p.dastac -p N=5 --output C=c.npy",
        1,
        &expect![[r#"
            error: the program has no tensor `C`
            help: its tensors: `y`, `a`, `B` and `x`
        "#]],
    );
}
