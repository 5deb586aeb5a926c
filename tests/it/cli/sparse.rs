//! `dastac convert` and `dastac inspect`, and sparse files as inputs.

use std::fs;

use expect_test::{Expect, expect};

use super::{Folder, SYMMETRIC};

const SYMMETRIC_MTX: &str = "%%MatrixMarket matrix coordinate real symmetric
% five by five
5 5 7
1 1 2
2 2 2.5
3 1 -1
4 4 0
5 1 1e-3
5 2 4
5 5 7
";

const CUBE: &str = "# a comment
1 1 2 1
2 3 1 2
2 3 2 3
4 1 1 -4.5
";

fn folder() -> Folder {
    let folder = Folder::new(SYMMETRIC);
    fs::write(folder.path("a.mtx"), SYMMETRIC_MTX).unwrap();
    fs::write(folder.path("cube.tns"), CUBE).unwrap();
    fs::write(folder.path("layer.smtx"), "3, 8, 4\n0 2 2 4\n3 0 1 2\n").unwrap();
    folder
}

fn text(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).unwrap()
}

#[test]
fn a_matrix_through_all_files() {
    let folder = folder();
    let works = |line: &str, expected: &Expect| expected.assert_eq(&folder.works(line));
    works(
        "convert a.mtx b.npz --format csc",
        &expect![[r#"
        b.npz: 5 x 5, 10 entries of type f64, stored as csc in 144 B
    "#]],
    );
    works(
        "convert b.npz c.mtx",
        &expect![[r#"
        c.mtx: 5 x 5, 10 entries of type f64, stored as csr in 144 B
    "#]],
    );
    expect![[r#"
        %%MatrixMarket matrix coordinate real general
        5 5 10
        1 1 2.0
        1 3 -1.0
        1 5 0.001
        2 2 2.5
        2 5 4.0
        3 1 -1.0
        4 4 0.0
        5 1 0.001
        5 2 4.0
        5 5 7.0
    "#]]
    .assert_eq(&text(&folder, "c.mtx"));
    works(
        "convert c.mtx d.tns.gz --format dcsc --zero-based",
        &expect![[r#"
        d.tns.gz: 5 x 5, 10 entries of type f64, stored as dcsc in 172 B
    "#]],
    );
    works(
        "convert d.tns.gz e.tns --zero-based",
        &expect![[r#"
        e.tns: 5 x 5, 10 entries of type f64, stored as csr in 144 B
    "#]],
    );
    expect![[r#"
        # shape 5 5
        0 0 2.0
        0 2 -1.0
        0 4 0.001
        1 1 2.5
        1 4 4.0
        2 0 -1.0
        3 3 0.0
        4 0 0.001
        4 1 4.0
        4 4 7.0
    "#]]
    .assert_eq(&text(&folder, "e.tns"));
    works(
        "convert e.tns f.npy --zero-based --type f32",
        &expect![[r#"
        f.npy: 5 x 5, 9 entries of type f32, stored as dense in 100 B
    "#]],
    );
    works(
        "convert f.npy g.smtx --type bool --format coo",
        &expect![[r#"
        g.smtx: 5 x 5, 9 entries of type bool, stored as coo in 89 B
    "#]],
    );
    expect![[r#"
        5, 5, 9
        0 3 5 6 6 9 
        0 2 4 1 4 0 0 1 4 
    "#]]
    .assert_eq(&text(&folder, "g.smtx"));
    works(
        "convert g.smtx h.mtx",
        &expect![[r#"
        h.mtx: 5 x 5, 9 entries of type bool, stored as csr in 69 B
    "#]],
    );
    works(
        "convert cube.tns i.tns --format DCC(k,i,j)",
        &expect![[r#"
        i.tns: 4 x 3 x 2, 4 entries of type f64, stored as DCC(k, i, j) in 96 B
    "#]],
    );
    expect![[r#"
        # shape 4 3 2
        2 3 1 2.0
        4 1 1 -4.5
        1 1 2 1.0
        2 3 2 3.0
    "#]]
    .assert_eq(&text(&folder, "i.tns"));
    assert!(!folder.files().iter().any(|name| name.starts_with('.')));
}

#[test]
fn what_cannot_be_converted() {
    let folder = folder();
    let fails = |line: &str, expected: &Expect| folder.fails(line, 1, expected);
    fails(
        "convert nowhere.mtx b.npz",
        &expect![[r#"
        error: cannot read `nowhere.mtx`: no such file or directory
    "#]],
    );
    fails(
        "convert p.stur b.npz",
        &expect![[r#"
        error: cannot read `p.stur`: the name does not say what kind of file it is
        help: known are .mtx (MatrixMarket), .tns (FROSTT), .smtx (DLMC), .npy (NumPy array), .npz (SciPy), the texts also with .gz
    "#]],
    );
    fails(
        "convert a.mtx b.txt",
        &expect![[r#"
        error: cannot write `b.txt`: the name does not say what kind of file it is
        help: known are .mtx (MatrixMarket), .tns (FROSTT), .smtx (DLMC), .npy (NumPy array), .npz (SciPy), the texts also with .gz
    "#]],
    );
    fails(
        "convert a.mtx nowhere/b.npz",
        &expect![[r#"
        error: cannot write `nowhere/b.npz`: no such file or directory
    "#]],
    );
    fails(
        "convert a.mtx b.npz --format csx",
        &expect![[r#"
            error: format `csx`: there is no format `csx`
            help: did you mean `csr`?
        "#]],
    );
    fails(
        "convert cube.tns b.mtx",
        &expect![[r#"
        error: cannot write `b.mtx`: a MatrixMarket file holds a matrix, not a tensor of rank 3
        help: `.tns` files hold sparse tensors of any rank, `.npy` files dense ones
    "#]],
    );
    fails(
        "convert a.mtx b.smtx",
        &expect![[r#"
        error: cannot write `b.smtx`: a DLMC file holds a pattern, and would lose the values
        help: `dastac convert .. --type bool` makes it a pattern; `.mtx` and `.npz` files keep values
    "#]],
    );
    fails(
        "convert a.mtx b.npz --type i32",
        &expect![[r#"
            error: `a.mtx`: the element (1, 5), counting from 1: 0.001 is no value of type i32
            help: `--type f64` keeps it
        "#]],
    );
    fails(
        "convert cube.tns b.tns --zero-based --shape 3,9,9",
        &expect![[r#"
        error: cube.tns:5: coordinate 1 is 4, beyond the extent 3
    "#]],
    );
    fs::write(folder.path("bad.mtx"), SYMMETRIC_MTX.replace("3 1 -1", "3 6 -1")).unwrap();
    fails(
        "convert bad.mtx b.npz",
        &expect![[r#"
        error: bad.mtx:6: column 6 is not among 1 to 5
    "#]],
    );
    let twice = SYMMETRIC_MTX.replace("3 1 -1", "2 2 -1");
    fs::write(folder.path("twice.mtx"), twice).unwrap();
    fails(
        "convert twice.mtx b.npz --duplicates refuse",
        &expect![[r#"
            error: `twice.mtx`: there are two entries of the element (2, 2), counting from 1
            help: `--duplicates sum` adds them up, `--duplicates last` takes the last one
        "#]],
    );
    let huge = "%%MatrixMarket matrix coordinate real general\n1000000000000000 1000000000000000 1\n7 7 1\n";
    fs::write(folder.path("huge.mtx"), huge).unwrap();
    fails(
        "convert huge.mtx b.npz",
        &expect![[r#"
        error: `huge.mtx`: the positions of level 2 of a tensor of shape 1000000000000000 x 1000000000000000 would take 4000000000000004 bytes
        help: formats with fewer dense levels take less, such as `--format coo`; docs/formats.md explains them
    "#]],
    );
    fails(
        "convert huge.mtx b.npy",
        &expect![[r#"
        error: `huge.mtx`: level 2 of a tensor of shape 1000000000000000 x 1000000000000000 would take 1000000000000000000000000000000 bytes
        help: formats with fewer dense levels take less, such as `--format coo`; docs/formats.md explains them
    "#]],
    );
    assert!(!folder.files().iter().any(|name| name.starts_with("b.") || name.starts_with('.')));
    folder.works("convert huge.mtx huge.tns --format coo");
}

/// Sizes in several formats, what `auto` is, and coordinates that have too few bits.
#[test]
fn sizes_of_formats() {
    let folder = folder();
    fs::write(folder.path("b.tns"), "1 1 5 2.0\n2 1 3 1.0\n").unwrap();
    let wide = "%%MatrixMarket matrix coordinate real general\n2 300 2\n1 1 1\n2 300 1\n";
    fs::write(folder.path("wide.mtx"), wide).unwrap();
    let narrow = "dense(i),compressed(j,u8)";
    let works = |line: &str, expected: &Expect| expected.assert_eq(&folder.works(line));
    works(
        &format!("formats sizes a.mtx wide.mtx --format {narrow} --format auto --format dense"),
        &expect![[r#"
            format                     a.mtx  wide.mtx
            csr                         14.4      18.0
            dense(i),compressed(j,u8)   11.4         -
            auto                        14.4      18.0
            dense                       20.0     > 64x
        "#]],
    );
    works(
        "formats sizes b.tns --format coo",
        &expect![[r#"
        format  b.tns
        csf      36.0
        coo      24.0
    "#]],
    );
    works(
        &format!("convert a.mtx a.levels.npz --to {narrow}"),
        &expect![[r#"
        a.levels.npz: 5 x 5, 10 entries of type f64, stored as dense(i), compressed(j, u8) in 114 B
    "#]],
    );
    works(
        "convert a.levels.npz back.mtx",
        &expect![[r#"
        back.mtx: 5 x 5, 10 entries of type f64, stored as csr in 144 B
    "#]],
    );
    works(
        "convert wide.mtx c.levels.npz --to auto",
        &expect![[r#"
        c.levels.npz: 2 x 300, 2 entries of type f64, stored as csr in 36 B
    "#]],
    );
    folder.fails(&format!("convert wide.mtx c.levels.npz --to {narrow}"), 1, &expect![[r#"
        error: `wide.mtx`: the coordinates of level 2 of a tensor of shape 2 x 300, are up to 299: `u8` holds no more than 255
    "#]]);
    folder.fails(
        "formats sizes a.mtx b.tns",
        1,
        &expect![[r#"
        error: `b.tns` has another rank than the file before it
        help: compare tensors of one rank at a time
    "#]],
    );
}

#[test]
fn inspected() {
    let folder = folder();
    let works = |line: &str, expected: &Expect| expected.assert_eq(&folder.works(line));
    works(
        "inspect a.mtx",
        &expect![[r#"
        a.mtx: MatrixMarket, coordinate, real, symmetric
          shape       5 x 5
          entries     10, 40.000% of the elements
          values      f64, from -1 to 7, 1 of them 0
          structure   symmetric
          bandwidth   4 below, 4 above the diagonal

        entries per slice  slices  empty  least  median  mean  most
        rows                    5      0      1       2  2.00     3
        columns                 5      0      1       2  2.00     3

        entries  rows
              1     2  ##########################
            2-3     3  ########################################

        format  bytes
        csr     144 B
        csc     144 B
        dcsr    172 B
        coo     168 B
        dense   200 B

        ┌───┐
        │⠕⢁⠃│
        │⠉⠀⠁│
        └───┘
        a dot is an element
    "#]],
    );
    works(
        "inspect layer.smtx --format DD(j,i)",
        &expect![[r#"
        layer.smtx: DLMC, pattern
          shape       3 x 8
          entries     4, 16.667% of the elements
          values      bool
          structure   not square
          bandwidth   1 below, 3 above the diagonal

        entries per slice  slices  empty  least  median  mean  most
        rows                    3      1      0       2  1.33     2
        columns                 8      4      0       1  0.50     1

        entries  rows
              0     1  ####################
            2-3     2  ########################################

        format    bytes
        DD(j, i)   24 B
        csr        36 B
        csc        56 B
        dcsr       48 B
        coo        44 B
        dense      24 B

        ┌────┐
        │⠡⠌⠀⠀│
        └────┘
        a dot is an element
    "#]],
    );
    works(
        "inspect cube.tns --no-plot",
        &expect![[r#"
        cube.tns: FROSTT
          shape       4 x 3 x 2
          entries     4, 16.667% of the elements
          values      f64, from -4.5000 to 3

        entries per slice  slices  empty  least  median  mean  most
        i                       4      1      0       1  1.00     2
        j                       3      1      0       2  1.33     2
        k                       2      0      2       2  2.00     2

        format  bytes
        csf     112 B
        coo      88 B
        dense   192 B
    "#]],
    );
    fs::write(folder.path("zero.mtx"), "%%MatrixMarket matrix coordinate real general\n0 5 0\n")
        .unwrap();
    works(
        "inspect zero.mtx",
        &expect![[r#"
        zero.mtx: MatrixMarket, coordinate, real, general
          shape       0 x 5
          entries     0
          values      f64
          structure   not square
          bandwidth   0 below, 0 above the diagonal

        entries per slice  slices  empty  least  median  mean  most
        rows                    0      0      0       0  0.00     0
        columns                 5      5      0       0  0.00     0

        format  bytes
        csr       4 B
        csc      24 B
        dcsr     12 B
        coo       8 B
        dense     0 B

        ┌───┐
        └───┘
        a dot is an element
    "#]],
    );
    folder.works("inspect a.mtx --svg a.svg --png a.png");
    assert!(text(&folder, "a.svg").starts_with("<svg "));
    assert!(fs::read(folder.path("a.png")).unwrap().starts_with(b"\x89PNG"));
    folder.fails(
        "inspect nowhere.mtx",
        1,
        &expect![[r#"
        error: cannot read `nowhere.mtx`: no such file or directory
    "#]],
    );
}

#[test]
fn sparse_inputs_of_programs() {
    let folder = folder();
    fs::write(folder.path("x.tns"), "# shape 5\n1 1\n5 2\n").unwrap();
    folder.works("run p.stur -p N=5 --input B=a.mtx --input x=x.tns --output y=y.tns --verify");
    // a is drawn at random: what is compared is the pattern.
    let pattern: Vec<String> =
        text(&folder, "y.tns").lines().map(|line| line.split(' ').next().unwrap().into()).collect();
    assert_eq!(pattern, ["#", "1", "2", "3", "5"]);
    folder.fails(
        "run p.stur -p N=6 --input B=a.mtx",
        1,
        &expect![[r#"
        error: `B` must have the shape [6, 6] for these sizes, but the array's is [5, 5]
    "#]],
    );
    let other = SYMMETRIC_MTX.replace("symmetric", "general");
    fs::write(folder.path("other.mtx"), other).unwrap();
    folder.fails("run p.stur -p N=5 --input B=other.mtx", 1, &expect![[r#"
        error: the input contradicts the declared structure of `B`: at [3, 1] it must be 0, but it is -1
        help: `dastac infer p.stur` shows the structure of `B`
        help: coordinates count from 1 here, as in the file
    "#]]);
}

/// Lists that do not say how they count are read as the command line says.
#[test]
fn lists_that_count_from_zero() {
    let folder = Folder::new(
        "symbols: M, N, K\nV(i) := (i = pos(P(x, y))) * (k = pos(P(x, y + 1))) * X(k)\n\
        P:D(x, y) := (0 <= x < M) * (0 <= y < N)\nP:F := coo\nV:D(i) := (0 <= i < K)\nX:D(k) := (0 <= k < K)\n",
    );
    fs::write(folder.path("scan.tns"), "# shape 3 4\n2 3\n0 0\n2 2\n0 1\n").unwrap();
    fs::write(folder.path("x.tns"), "# shape 4\n0 1\n1 10\n2 100\n3 1000\n").unwrap();
    let line = "run p.stur --input P=scan.tns --input X=x.tns --output V=v.tns --verify";
    folder.fails(
        line,
        1,
        &expect![[r#"
        error: scan.tns:2: 2 words on a line are not 2 coordinates and a value
    "#]],
    );
    fs::write(
        folder.path("scan.mtx"),
        "%%MatrixMarket matrix coordinate pattern general\n3 4 4\n3 4\n1 1\n3 3\n1 2\n",
    )
    .unwrap();
    folder.works(
        "run p.stur --input P=scan.mtx --input X=x.tns --output V=v.tns --zero-based --verify",
    );
    expect![[r#"
        # shape 4
        0 10.0
        2 1000.0
    "#]]
    .assert_eq(&text(&folder, "v.tns"));
    // There are as many positions as points: nobody has to say it.
    let points = "run p.stur --input P=scan.tns --output V=w.tns --zero-based --pattern --verify";
    assert!(folder.works(points).contains("agrees"));
}

/// Columns of a matrix become several dimensions, and one again.
#[test]
fn boxes_of_other_extents() {
    let folder = folder();
    let filter =
        "%%MatrixMarket matrix coordinate real general\n2 12 3\n1 1 1.5\n1 12 2.0\n2 6 3.0\n";
    fs::write(folder.path("filter.mtx"), filter).unwrap();
    folder.works("convert filter.mtx filter.tns --reshape 2,3,4");
    expect![[r#"
        # shape 2 3 4
        1 1 1 1.5
        1 3 4 2.0
        2 2 2 3.0
    "#]]
    .assert_eq(&text(&folder, "filter.tns"));
    folder.works("convert filter.tns back.mtx --reshape 2,12");
    assert_eq!(text(&folder, "back.mtx"), filter);
    folder.fails(
        "convert filter.mtx other.tns --reshape 2,5",
        1,
        &expect![[r#"
        error: `filter.mtx`: a tensor of shape 2 x 12 does not fill the shape 2 x 5
    "#]],
    );
    assert!(!folder.path("other.tns").exists());
}

/// Sizes come from files; entries take the format of `:F`, and of copies that the loops want.
#[test]
fn inputs_with_formats() {
    let folder = folder();
    let program = "symbols: M, N
C(i, j) := A(i, j) * B(i, j)
A:D(i, j) := (0 <= i < M) * (0 <= j < N)
A:F := csr
B:D(i, j) := (0 <= i < M) * (0 <= j < N)
B:F := csc
";
    fs::write(folder.path("p.stur"), program).unwrap();
    for threads in [1, 2] {
        let inputs = "--input A=a.mtx --input B=a.mtx --output C=c.tns --verify";
        let report = folder.works(&format!("run p.stur {inputs} --threads {threads}"));
        assert!(report.contains("`C` reads `B` in csr, a copy of "), "{report}");
        assert!(report.contains("agrees with the reference evaluator"), "{report}");
        assert!(text(&folder, "c.tns").contains("\n2 2 6.25\n"));
    }
    let header = folder.works("emit p.stur --stage header");
    assert!(header.contains("const uint32_t *A_pos1, const uint32_t *A_crd1, const double *A"));
    folder.fails(
        "run p.stur -p N=6 --input A=a.mtx",
        1,
        &expect![[r#"
        error: `A` must have the shape [5, 6] for these sizes, but the array's is [5, 5]
    "#]],
    );
    folder.fails(
        "run p.stur --input A=cube.tns",
        1,
        &expect![[r#"
        error: `A` has 2 dimensions, but the tensor in `cube.tns` has 3
    "#]],
    );
}

/// Results with `:F` are written as they are stored, and read by later rules.
#[test]
fn results_with_formats() {
    let folder = folder();
    let program = "symbols: N
C(i, j) := A(i, j) * A(i, k) * (k < 2)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
A:F := csr
C:D(i, j) := (0 <= i < N) * (0 <= j < N)
C:F := csr
D(i, j) := C(i, j) + A(j, i)
D:D(i, j) := (0 <= i < N) * (0 <= j < N)
D:F := coo
y(i) := D(i, j)
";
    fs::write(folder.path("p.stur"), program).unwrap();
    for threads in [1, 2] {
        let outputs = "--output C=c.mtx --output D=d.npz --output y=y.npy";
        let run = format!("run p.stur --input A=a.mtx {outputs} --verify --threads {threads}");
        let report = folder.works(&run);
        assert!(report.contains("agrees with the reference evaluator"), "{report}");
        assert!(report.contains("`D` reads `A` in csc, a copy of "), "{report}");
        let entries = |file: &str| folder.works(&format!("inspect {file}"));
        assert!(entries("c.mtx").contains("5 x 5") && entries("d.npz").contains("5 x 5"));
    }
    for file in ["c.tns", "c.npy", "c.npz"] {
        folder.works(&format!("run p.stur --input A=a.mtx --output C={file}"));
    }
}

/// A product of which only rows with elements are stored.
const STORED_ROWS: &str = "symbols: M, N
C(i, k) := A(i, j) * B(j, k)
A:D(i, j) := (0 <= i < M) * (0 <= j < N)
A:F := dcsr
B:D(j, k) := (0 <= j < N) * (0 <= k < M)
B:F := csr
C:D(i, k) := (0 <= i < M) * (0 <= k < M)
C:F := dcsr
";

#[test]
fn stored_rows_on_all_threads() {
    let folder = Folder::new(STORED_ROWS);
    let emitted = folder.works("emit p.stur --stage loops");
    assert!(emitted.contains("partition begin, end = A.pos0[0] to A.pos0[1]"), "{emitted}");
    for (sizes, density) in [("-p M=0 -p N=3", "1"), ("-p M=997 -p N=301", "0.004")] {
        let run = |threads: i64| {
            let line = format!("run p.stur {sizes} --density {density} --threads {threads}");
            let text = folder.works(&format!("{line} --verify --output C=c.mtx"));
            assert!(text.contains("agrees with the reference"), "{text}");
            std::fs::read(folder.path("c.mtx")).unwrap()
        };
        assert_eq!(run(1), run(2), "{sizes}");
    }
}

/// Groups of entries, and what is refused.
#[test]
fn queried() {
    let folder = folder();
    let ask = |file: &str, query: &str| {
        let mut command = folder.command(&format!("inspect {file} --query"));
        command.arg(query).output().unwrap()
    };
    let works = |file: &str, query: &str, expected: &Expect| {
        let output = ask(file, query);
        assert_eq!(output.status.code(), Some(0), "{query}");
        expected.assert_eq(&String::from_utf8(output.stdout).unwrap());
    };
    works(
        "a.mtx",
        "count (i, j) -> (i / 2, j - i)",
        &expect![[r#"
        i / 2  j - i  count
            0      0      2
            0      2      1
            0      3      1
            0      4      1
            1     -2      1
            1      0      1
            2     -4      1
            2     -3      1
            2      0      1
    "#]],
    );
    works(
        "a.mtx",
        "max (r, c) -> (c % 2)",
        &expect![[r#"
        c % 2  max
            0    7
            1    4
    "#]],
    );
    works(
        "cube.tns",
        "sum (i, j, k) -> (k)",
        &expect![[r#"
        k      sum
        0  -2.5000
        1        4
    "#]],
    );
    works(
        "layer.smtx",
        "any (i, j) -> ()",
        &expect![[r#"
         any
        true
    "#]],
    );
    let fails = |query: &str, expected: &Expect| {
        let output = ask("a.mtx", query);
        assert_eq!(output.status.code(), Some(1), "{query}");
        expected.assert_eq(&String::from_utf8(output.stderr).unwrap());
    };
    fails(
        "mean (i, j) -> (i)",
        &expect![[r#"
        error: query `mean (i, j) -> (i)`: `mean` cannot be asked
        help: such as `count (i, j) -> (i / 50, j - i)`; others are `max`, `min`, `sum` and `any`
    "#]],
    );
    fails(
        "count (i, j, k) -> (i)",
        &expect![[r#"
        error: query `count (i, j, k) -> (i)`: the query has 3 dimensions, the tensor has rank 2
        help: one name for each dimension
    "#]],
    );
    fails(
        "count (i, j) -> (i / 0)",
        &expect![[r#"
        error: query `count (i, j) -> (i / 0)`: `/` needs a number on its right side
        help: levels store sums of multiples, quotients and remainders by positive numbers
    "#]],
    );
}
