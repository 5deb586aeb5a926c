//! The `dastac` command as users run it: what it prints, which files it writes, and how it fails.

mod build;
mod cache;
mod counting;
mod data;
mod files;
mod help;
mod machine;
mod package;
mod prove;
mod run;
mod schedule;
mod sparse;
mod trips;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use expect_test::{Expect, expect};
use tempfile::TempDir;

/// A symmetric matrix times a vector, and a scalar.
const SYMMETRIC: &str = "symbols: N
y(i) := a() * B(i, j) * x(j)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:U(i, j) := (i <= j)
B:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)
x:D(j) := (0 <= j < N)
";

/// Two rules, one output.
const CHAIN: &str = "symbols: M, N
outputs: y
t(i, k) := L(i, j) * L(j, k)
y(i) := t(i, k) * x(k)
L:D(i, j) := (0 <= i < N) * (0 <= j < N)
L:U(i, j) := (i >= j)
x:D(k) := (0 <= k < N) * (k <= M)
";

/// A folder to run in, with a program `p.stur`.
struct Folder(TempDir);

impl Folder {
    fn new(program: &str) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("p.stur"), program).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A command line, words separated by spaces.
    fn command(&self, line: &str) -> Command {
        let mut command = crate::dastac();
        command.args(line.split(' ')).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn dastac(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Standard output of a command that must work and say nothing on stderr, but which inputs are random.
    fn works(&self, line: &str) -> String {
        let output = self.dastac(line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let silent = stderr.lines().all(|line| line.contains("not given by `--input`"));
        assert!(output.status.success() && silent, "{line}: {:?} {stderr}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// A command that must fail, with nothing on stdout.
    fn fails(&self, line: &str, code: i32, stderr: &Expect) {
        let output = self.dastac(line);
        stderr.assert_eq(&String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(code), "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{line}");
    }

    /// Names of all files but the program, hidden ones too.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name != "p.stur").collect();
        names.sort();
        names
    }
}

fn example(name: &str) -> String {
    let path = crate::root().join("examples").join(name);
    fs::read_to_string(path).unwrap()
}

/// Runs a command line on a program given on stdin.
fn piped(line: &str, program: &str) -> String {
    let mut child = crate::dastac()
        .args(line.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {stderr}\n{program}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn check_counts() {
    assert_eq!(piped("check -", CHAIN), "ok: 4 tensors (2 inputs), 2 rules, 2 symbols\n");
    let marked = format!("\u{feff}{}", SYMMETRIC.replace('\n', "\r\n"));
    assert_eq!(piped("check -", &marked), "ok: 4 tensors (3 inputs), 1 rule, 1 symbol\n");
}

#[test]
fn unreadable_programs() {
    let folder = Folder::new(SYMMETRIC);
    folder.fails(
        "check nowhere.stur",
        1,
        &expect![[r#"
        error: cannot read `nowhere.stur`: no such file or directory
    "#]],
    );
    folder.fails(
        "check p",
        1,
        &expect![[r#"
        error: cannot read `p`: no such file or directory
        help: there is `p.stur`
    "#]],
    );
    folder.fails(
        "check .",
        1,
        &expect![[r#"
        error: `.` is a directory
        help: name a program, a file that ends in .stur
    "#]],
    );
    fs::write(folder.path("binary"), b"symbols: N\n\xff\xfe").unwrap();
    folder.fails(
        "check binary",
        1,
        &expect![[r#"
        error: `binary` is not UTF-8 text: line 2, byte 11 of the file
        help: programs are plain text; a .npy file goes to `--input`
    "#]],
    );
    fs::File::create(folder.path("large")).unwrap().set_len((16 << 20) + 1).unwrap();
    folder.fails(
        "check large",
        1,
        &expect![[r#"
        error: `large` is larger than 16.0 MiB: not a program
    "#]],
    );
}

#[test]
fn wrong_command_lines() {
    let folder = Folder::new(SYMMETRIC);
    folder.fails(
        "check",
        2,
        &expect![[r#"
        error: the following required arguments were not provided:
          <FILE>

        Usage: dastac check <FILE>

        For more information, try '--help'.
    "#]],
    );
    folder.fails(
        "chekc p.stur",
        2,
        &expect![[r#"
        error: unrecognized subcommand 'chekc'

          tip: a similar subcommand exists: 'check'

        Usage: dastac [OPTIONS] <COMMAND>

        For more information, try '--help'.
    "#]],
    );
    folder.fails("run p.stur -p N", 2, &expect![[r#"
        error: invalid value 'N' for '--param <NAME=VALUE>': there is no `=`; write `NAME=VALUE`, such as `-p N=512`, once for each symbol

        For more information, try '--help'.
    "#]]);
    folder.fails("run p.stur -p N=", 2, &expect![[r#"
        error: invalid value 'N=' for '--param <NAME=VALUE>': there is no value; write `NAME=VALUE`, such as `-p N=512`, once for each symbol

        For more information, try '--help'.
    "#]]);
    folder.fails("run p.stur -p =3", 2, &expect![[r#"
        error: invalid value '=3' for '--param <NAME=VALUE>': there is no name; write `NAME=VALUE`, such as `-p N=512`, once for each symbol

        For more information, try '--help'.
    "#]]);
    folder.fails("run p.stur -p N=1e3", 2, &expect![[r#"
        error: invalid value 'N=1e3' for '--param <NAME=VALUE>': `1e3` is not an integer; write `NAME=VALUE`, such as `-p N=512`, once for each symbol

        For more information, try '--help'.
    "#]]);
    folder.fails("run p.stur -p N=9223372036854775808", 2, &expect![[r#"
        error: invalid value 'N=9223372036854775808' for '--param <NAME=VALUE>': `9223372036854775808` does not fit 64 bits

        For more information, try '--help'.
    "#]]);
    folder.fails(
        "run p.stur -p N=3 --input B",
        2,
        &expect![[r#"
        error: invalid value 'B' for '--input <NAME=PATH>': write `NAME=PATH`, such as `B=b.npy`

        For more information, try '--help'.
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --threads 0",
        2,
        &expect![[r#"
        error: invalid value '0' for '--threads <COUNT>': 0 is not in 1..=4096

        For more information, try '--help'.
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --repeat 0",
        2,
        &expect![[r#"
        error: invalid value '0' for '--repeat <COUNT>': 0 is not in 1..=1000000

        For more information, try '--help'.
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --seed 1 --seed 2",
        2,
        &expect![[r#"
        error: the argument '--seed <SEED>' cannot be used multiple times

        Usage: dastac run [OPTIONS] <FILE>

        For more information, try '--help'.
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 -p N=3",
        2,
        &expect![[r#"
        error: symbol `N` is given twice
        help: give each symbol one value, `-p NAME=VALUE`
    "#]],
    );
    folder.fails(
        "run p.stur -p N=3 --input B=b.npy --input B=c.npy",
        2,
        &expect![[r#"
        error: `--input` is given twice for `B`
    "#]],
    );
    folder.fails(
        "emit p.stur --stage assembly",
        2,
        &expect![[r#"
            error: invalid value 'assembly' for '--stage <STAGE>'
              [possible values: inferred, domain, ast, layout, machine, loops, tiled, mlir, mlir-llvm, llvm, asm, kernels, ptx, launches, programs, object, header]

              tip: a similar value exists: 'asm'

            For more information, try '--help'.
        "#]],
    );
    folder.fails(
        "emit p.stur --stage loops -o p.stur",
        2,
        &expect![[r#"
        error: writing `p.stur` would overwrite the program
    "#]],
    );
    folder.fails(
        "build p.stur -o kernel",
        2,
        &expect![[r#"
            error: the name `kernel` does not say what to make
            help: end it in .so for a shared library, .o for an object file, .dastac for a program that `dastac run` takes, or .elf for cores inside of memory
        "#]],
    );
    folder.fails(
        "build p.stur -o k.so --header ./k.so",
        2,
        &expect![[r#"
        error: the library and its header would be the same file
    "#]],
    );
    assert!(folder.files().is_empty());
}

#[test]
fn wrong_sizes() {
    let folder = Folder::new(CHAIN);
    folder.fails(
        "run p.stur",
        1,
        &expect![[r#"
        error: symbol `M` has no value
        help: `-p M=..` gives it one
        help: symbols without a value: `M` and `N`
    "#]],
    );
    folder.fails(
        "run p.stur -p M=3",
        1,
        &expect![[r#"
        error: symbol `N` has no value
        help: `-p N=..` gives it one
    "#]],
    );
    folder.fails(
        "layout p.stur -p M=3",
        1,
        &expect![[r#"
        error: symbol `N` has no value
        help: `-p N=..` gives it one
    "#]],
    );
    folder.fails(
        "run p.stur -p M=3 -p n=3",
        1,
        &expect![[r#"
        error: the program has no symbol `n`
        help: did you mean `N`?
    "#]],
    );
    folder.fails(
        "run p.stur -p M=3 -p N=3 -p Width=3",
        1,
        &expect![[r#"
        error: the program has no symbol `Width`
        help: its symbols: `M` and `N`
    "#]],
    );
    folder.fails(
        "run p.stur -p M=3 -p N=-1",
        1,
        &expect![[r#"
        error: symbol `N` is -1; sizes and positions are not negative
    "#]],
    );
    folder.fails(
        "layout p.stur -p M=3 -p N=9000000000000000000",
        1,
        &expect![[r#"
        error: the packed index of `t` overflows 64 bits for these sizes
        help: choose smaller sizes
    "#]],
    );
    let output = folder.dastac("run p.stur -p M=3 -p N=100000000");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("error: the packed tensors would take "), "{message}");
}

#[test]
fn layouts() {
    let folder = Folder::new(&example("spmv_l.stur"));
    expect![[r#"
        A(i): output
          position  i
          elements  M      if (M <= N)
                    N + 1  if (N < M)
          one place for each element, without gaps: proven for all sizes

        B(i, j): input, packed with i, j slowest to fastest
          position  N + i - 1  if (j = i - 1)
                    j          if (i = 0)
          elements  M + N - 1  if (M - 1 <= N)
                    2*N        if (N < M - 1)
          one place for each element, without gaps: proven for all sizes

        C(j): input
          position  j
          elements  N
          one place for each element, without gaps: proven for all sizes
    "#]]
    .assert_eq(&folder.works("layout p.stur"));
    expect![[r#"
        A(i): output
          position  i
          elements  M      if (M <= N)
                    N + 1  if (N < M)
          one place for each element, without gaps: proven for all sizes

        B(i, j): input, packed with i, j slowest to fastest
          position  N + i - 1  if (j = i - 1)
                    j          if (i = 0)
          elements  M + N - 1  if (M - 1 <= N)
                    2*N        if (N < M - 1)
          one place for each element, without gaps: proven for all sizes

        C(j): input
          position  j
          elements  N
          one place for each element, without gaps: proven for all sizes

        tensor  shape     stored  bytes  dense bytes  dense/packed
        A       100           81    648          800         1.23x
        B       100 x 80     160   1280        64000        50.00x
        C       80            80    640          640         1.00x

        all tensors: 2.5 KiB packed, 63.9 KiB dense, dense/packed 25.48x
    "#]]
    .assert_eq(&folder.works("layout p.stur -p M=100 -p N=80"));
    // Without symbols there is nothing to be given.
    let fixed = "y(i) := x(i)\nx:D(i) := (0 <= i < 3)\n";
    expect![[r#"
        y(i): output
          position  i
          elements  3
          one place for each element, without gaps: proven for all sizes

        x(i): input
          position  i
          elements  3
          one place for each element, without gaps: proven for all sizes

        tensor  shape  stored  bytes  dense bytes  dense/packed
        y       3           3     24           24         1.00x
        x       3           3     24           24         1.00x

        all tensors: 48 B packed, 48 B dense, dense/packed 1.00x
    "#]]
    .assert_eq(&piped("layout -", fixed));
}

#[test]
fn inferred_structure() {
    expect![[r#"
        # t: intermediate, N x N
        t:D(i, k) := (0 <= i < N) * (0 <= k < N)
        t:U(i, k) := (k <= i)

        # L: input, N x N
        L:D(i, j) := (0 <= i < N) * (0 <= j < N)
        L:U(i, j) := (j <= i)

        # y: output, N
        y:D(i) := (0 <= i < N)

        # x: input, min(N, M + 1)
        x:D(k) := (0 <= k < N) * (k < M + 1)
    "#]]
    .assert_eq(&piped("infer -", CHAIN));
    expect![[r#"
        # A: output, N x N x N x N
        A:D(i1, i2, i3, i4) := (0 <= i1 < N) * (0 <= i2 < N) * (0 <= i3 < N) * (0 <= i4 < N)
        # A is symmetric in (i1, i2, i3, i4): an element equals the one whose subscripts there are in ascending order
        # A:U(i1, i2, i3, i4) := (0 < M) * (i1 <= i2 <= i3 <= i4)

        # B: input, M x N
        B:D(x, i) := (0 <= x < M) * (0 <= i < N)
    "#]].assert_eq(&piped("infer -", &example("pr4.stur")));
}

/// What `infer` prints of inputs, in place of their declarations, means the same.
#[test]
fn inferred_structure_can_be_pasted() {
    for name in [
        "symmetric_matvec",
        "skew_matvec",
        "toeplitz_redundancy",
        "block_diagonal",
        "checkerboard",
        "spmv_l",
        "strided_diagonal",
        "mtt_jut",
    ] {
        let program = example(&format!("{name}.stur"));
        let first = piped("infer -", &program);
        let inputs: Vec<&str> =
            first.split("\n\n").filter(|part| part.contains(": input, ")).collect();
        let kept = program.lines().filter(|line| {
            let tensor = line.split(':').next().unwrap();
            !inputs.iter().any(|part| part.starts_with(&format!("# {tensor}: ")))
        });
        let kept: Vec<&str> = kept.collect();
        assert!(kept.len() < program.lines().count(), "{name} declares inputs");
        let pasted = format!("{}\n{}\n", kept.join("\n"), inputs.join("\n"));
        assert_eq!(piped("infer -", &pasted), first, "{name}: {pasted}");
    }
}

#[test]
fn stages() {
    let folder = Folder::new(SYMMETRIC);
    expect![[r#"
        # y(i), product 1: a() * B(i, j) * x(j)
        [N] -> { [i, j] : i >= 0 and i <= j < N }

        # y(i), product 1: a() * B(i, j) * x(j)
        [N] -> { [i, j] : i < N and 0 <= j < i }
    "#]]
    .assert_eq(&folder.works("emit p.stur --stage domain"));
    expect![[r#"
        // into y
        for (int i = 0; i < N; i += 1)
          for (int j = i; j < N; j += 1)
            S(i, j);

        // into y
        for (int i = 1; i < N; i += 1)
          for (int j = 0; j < i; j += 1)
            S(i, j);
    "#]]
    .assert_eq(&folder.works("emit p.stur --stage ast"));
    assert_eq!(folder.works("emit p.stur --stage inferred"), folder.works("infer p.stur"));
    assert_eq!(folder.works("emit p.stur --stage layout"), folder.works("layout p.stur"));
    for (stage, needle) in [
        ("loops", "func kernel(out y, in a, in B, in x)"),
        ("mlir", "omp.parallel"),
        ("llvm", "define void @kernel("),
        ("asm", ".globl\tkernel"),
        ("header", "void kernel(const int64_t *params, double *y, "),
    ] {
        let text = folder.works(&format!("emit p.stur --stage {stage}"));
        assert!(text.contains(needle), "{stage}: {text}");
    }
    let sequential = folder.works("emit p.stur --stage llvm --threads 1 --prefix my_");
    assert!(sequential.contains("define void @my_kernel("), "{sequential}");
    assert!(!sequential.contains("__kmpc_"), "{sequential}");
}

#[test]
fn machines_in_files() {
    let folder = Folder::new(SYMMETRIC);
    let narrow = folder.works("emit p.stur --stage machine --cpu x86-64 --threads 1");
    assert!(narrow.starts_with("vector_bytes = 16\nregisters = 16\nfuses = no\n"), "{narrow}");
    fs::write(folder.path("wide"), narrow.replace("vector_bytes = 16", "vector_bytes = 64"))
        .unwrap();
    fs::write(folder.path("narrow"), &narrow).unwrap();
    let tiled =
        |options: &str| folder.works(&format!("emit p.stur --stage tiled --threads 1 {options}"));
    assert_eq!(tiled("--machine narrow"), tiled("--machine narrow --cpu x86-64-v3"));
    assert_eq!(tiled("--machine narrow"), tiled("--cpu x86-64 --machine narrow"));
    assert_eq!(
        folder.works("emit p.stur --stage machine --machine wide").lines().next(),
        Some("vector_bytes = 64")
    );
    // Programs compiled for other machines than this one compute the same.
    let few = narrow.replace("registers = 16", "registers = 8");
    fs::write(folder.path("few"), few.replace("vector_bytes = 16", "vector_bytes = 32")).unwrap();
    for machine in ["--machine narrow", "--machine wide", "--machine few", "--cpu x86-64"] {
        let text = folder.works(&format!("run p.stur -p N=70 --verify {machine}"));
        assert!(text.contains("agrees with the reference evaluator"), "{machine}: {text}");
    }
}

#[test]
fn targets_by_name() {
    let folder = Folder::new(SYMMETRIC);
    for command in ["emit p.stur --stage llvm", "passes"] {
        assert_eq!(folder.works(&format!("{command} --target cpu")), folder.works(command));
    }
    assert!(folder.works("emit p.stur --stage mlir-llvm").contains("llvm.func"));
    for command in
        ["emit p.stur --stage llvm", "run p.stur -p N=3", "build p.stur -o p.o", "passes"]
    {
        folder.fails(
            &format!("{command} --target abacus"),
            2,
            &expect![[r#"
                error: invalid value 'abacus' for '--target <NAME>'
                  [possible values: cpu, cuda, grid, pim]

                For more information, try '--help'.
            "#]],
        );
    }
}

#[test]
fn passes() {
    let folder = Folder::new(
        "symbols: N\ny(i) := B(i, j) * x(j)\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\n\
         B:U(i, j) := (i <= j)\nx:D(j) := (0 <= j < N)\n",
    );
    let list = folder.works("passes");
    for part in ["simplify:\n", "lower:\n", "tile:\n", "  choose-tiles\n"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let after = |pass: &str| folder.works(&format!("emit p.stur --threads 1 --stage after:{pass}"));
    // Those that make loops simple run first.
    assert_eq!(after("hoist-factor"), folder.works("emit p.stur --stage loops"));
    assert!(after("fold").contains("sum("), "{}", after("fold"));
    // Of passes that change nothing, the loops are those of the pass before.
    assert_eq!(after("lower-coiter"), folder.works("emit p.stur --threads 1 --stage loops"));
    assert!(after("choose-tiles").contains(" hint(nest"));
    assert!(!after("drop-hints").contains(" hint("));
    assert_eq!(
        after("drop-hints"),
        folder.works("emit p.stur --threads 1 --stage tiled --verify-ir")
    );
    folder.fails(
        "emit p.stur --stage after:nothing",
        2,
        &expect![[r#"
            error: there is no pass `nothing`
            help: `dastac passes` lists all
        "#]],
    );
    folder.fails(
        "emit p.stur --stage after:scalar-registers",
        2,
        &expect![[r#"
            error: pass `scalar-registers` does not run for this code
            help: `dastac passes` lists those that do
        "#]],
    );
}

#[test]
fn stages_into_files() {
    let folder = Folder::new(SYMMETRIC);
    fs::write(folder.path("loops"), "old").unwrap();
    assert_eq!(folder.works("emit p.stur --stage loops -o loops"), "");
    let text = folder.works("emit p.stur --stage loops");
    assert_eq!(fs::read_to_string(folder.path("loops")).unwrap(), text);
    assert_eq!(folder.works("emit p.stur --stage object -o kernel.o"), "");
    assert_eq!(&fs::read(folder.path("kernel.o")).unwrap()[..4], b"\x7fELF");
    folder.fails(
        "emit p.stur --stage ast -o nowhere/ast",
        1,
        &expect![[r#"
        error: cannot write `nowhere/ast`: there is no folder `nowhere`
    "#]],
    );
    fs::create_dir(folder.path("folder")).unwrap();
    folder.fails(
        "emit p.stur --stage ast -o folder",
        1,
        &expect![[r#"
        error: cannot write `folder`: it is a directory
    "#]],
    );
    assert_eq!(folder.files(), ["folder", "kernel.o", "loops"]);
}

#[test]
fn colours_only_where_wanted() {
    let folder = Folder::new("y(i) := x(i)\n");
    let coloured = |line: &str| folder.dastac(line).stderr.contains(&0x1b);
    assert!(!coloured("check p.stur"));
    assert!(!coloured("check p.stur --color never"));
    assert!(coloured("check p.stur --color always"));
}

/// `dastac .. | head` with a reader that has seen enough.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new(SYMMETRIC);
    let mut child = folder
        .command("emit p.stur --stage asm")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn help_version_and_completions() {
    let folder = Folder::new("");
    let version = folder.works("--version");
    let lines: Vec<&str> = version.lines().collect();
    assert!(
        matches!(lines.as_slice(), [d, isl, llvm]
            if d.starts_with("dastac ") && isl.starts_with("isl-") && llvm.starts_with("LLVM 22.")),
        "{version}"
    );
    for command in [
        "check",
        "infer",
        "layout",
        "emit",
        "run",
        "build",
        "bench",
        "completions",
        "convert",
        "inspect",
    ] {
        assert!(folder.works("--help").contains(&format!("  {command} ")), "{command}");
        assert!(folder.works(&format!("{command} --help")).contains("Usage: dastac "), "{command}");
        assert!(folder.works("completions bash").contains(&format!("dastac__subcmd__{command}")));
    }
}
