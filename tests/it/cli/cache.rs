//! Compiled programs on disk: what `run` takes from there is what it would compile.

use std::fs;
use std::process::{Command, Output};

use expect_test::expect;
use serde_json::Value;

use super::{Folder, SYMMETRIC};

/// Products of three factors, for which steps pay at some sizes and not at others.
const CHAIN: &str = "symbols: M, N
y(i) := A(i, j) * B(j, k) * x(k)
A:D(i, j) := (0 <= i < M) * (0 <= j < N)
B:D(j, k) := (0 <= j < N) * (0 <= k < N)
x:D(k) := (0 <= k < N)
";

/// Extents of inputs that disagree: only inference warns.
const WARNED: &str = "symbols: M, N
y(i) := A(i, j) * x(j)
A:D(i, j) := (0 <= i < M) * (0 <= j < N)
x:D(j) := (0 <= j < M)
";

impl Folder {
    /// A command with a cache in this folder.
    fn cached(&self, line: &str) -> Command {
        let mut command = self.command(line);
        command.env("DASTAC_CACHE_DIR", self.path("cache"));
        command
    }

    fn report(&self, line: &str) -> Value {
        let output = self.cached(line).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// How often programs were there, and how often they were not.
    fn counts(&self) -> [u64; 2] {
        let report = self.report("cache --json");
        ["hits", "misses"].map(|key| report[key].as_u64().unwrap())
    }
}

/// Whether a report is of a program that was compiled before.
fn is_kept(report: &Value) -> bool {
    report["stages_ns"].as_object().unwrap().keys().eq(["load"])
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_second_run_says_what_the_first_one_did() {
    let programs = [
        (SYMMETRIC, "-p N=9"),
        (CHAIN, "-p M=5 -p N=40"),
        (CHAIN, "-p M=40 -p N=3"),
        (WARNED, "-p M=4 -p N=5"),
    ];
    for (program, sizes) in programs {
        let folder = Folder::new(program);
        let line = |output: &str| format!("run p.stur {sizes} --output y={output} --json");
        let run = |output: &str| {
            let output = folder.cached(&line(output)).output().unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            (report, stderr(&output))
        };
        let ((mut cold, told), (mut warm, told_again)) = (run("a.npy"), run("b.npy"));
        assert!(!is_kept(&cold) && is_kept(&warm), "{program}");
        assert_eq!(told, told_again, "warnings are seen each time");
        for report in [&mut cold, &mut warm] {
            for key in ["compile_ns", "stages_ns", "run_ns"] {
                report.as_object_mut().unwrap().remove(key);
            }
        }
        assert_eq!(cold, warm);
        assert_eq!(
            fs::read(folder.path("a.npy")).unwrap(),
            fs::read(folder.path("b.npy")).unwrap()
        );
        let verified = folder.report(&format!("run p.stur {sizes} --verify --json"));
        assert!(is_kept(&verified) && verified["max_error"].as_f64().unwrap() < 1e-9);
        assert_eq!(folder.counts(), [2, 1]);
    }
}

#[test]
fn what_decides_about_code_decides_about_what_is_kept() {
    let folder = Folder::new(SYMMETRIC);
    // Code for the first sizes is for these alone; that for the next ones is for all.
    for (size, kept) in [(5, false), (5, true), (6, false), (8, true), (5, true)] {
        let report = folder.report(&format!("run p.stur -p N={size} --json --verify"));
        assert_eq!(is_kept(&report), kept, "N = {size}");
        assert!(report["max_error"].as_f64().unwrap() < 1e-9);
    }
    let lines = [
        "run p.stur -p N=7 --json --seed 3 --repeat 2",
        "run p.stur -p N=7 --json --threads 1",
        "run p.stur -p N=7 --json --threads 1 --checked",
        "run p.stur -p N=7 --json --threads 1 --cpu x86-64",
        "run p.stur -p N=7 --json --threads 1 --schedule s",
        "run p.stur -p N=7 --json --threads 1 --walking search",
    ];
    fs::write(folder.path("s"), "schedule: y -> reorder(j, i)\n").unwrap();
    for (at, line) in lines.iter().enumerate() {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let first = folder.report(line);
        assert_eq!(is_kept(&first), at == 0 || at == 1 && threads == 1, "{line}");
        assert!(is_kept(&folder.report(line)), "{line}");
    }
    fs::write(folder.path("s"), "schedule: y -> reorder(i, j)\n").unwrap();
    assert!(!is_kept(&folder.report(lines[4])), "another schedule");
    fs::write(folder.path("p.stur"), format!("{SYMMETRIC}# a remark\n")).unwrap();
    assert!(!is_kept(&folder.report(lines[0])), "another text");
    let before = folder.counts();
    for line in ["run p.stur -p N=7 --json --no-cache", "run p.stur -p N=7 --json --trips"] {
        assert!(!is_kept(&folder.report(line)), "{line}");
    }
    assert_eq!(folder.counts(), before);
}

#[test]
fn damage_is_a_miss() {
    let folder = Folder::new(SYMMETRIC);
    let line = "run p.stur -p N=5 --json --output y=y.npy";
    folder.report(line);
    let files = || fs::read_dir(folder.path("cache/programs")).unwrap();
    for damage in [0usize, 40, 200] {
        for file in files().map(|file| file.unwrap().path()) {
            let bytes = fs::read(&file).unwrap();
            fs::write(&file, &bytes[..bytes.len().min(damage)]).unwrap();
        }
        assert!(!is_kept(&folder.report(line)));
        assert!(is_kept(&folder.report(line)));
    }
}

#[test]
fn many_runs_at_once() {
    let folder = Folder::new(SYMMETRIC);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| folder.report("run p.stur -p N=5 --json --threads 1 --verify"));
        }
    });
    assert!(is_kept(&folder.report("run p.stur -p N=5 --json --threads 1 --verify")));
}

#[test]
fn the_folder_is_shown_and_cleared() {
    let folder = Folder::new(SYMMETRIC);
    let shown = |line: &str| {
        let output = folder.cached(line).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        text.replace(&folder.path("").display().to_string(), "FOLDER/")
    };
    expect![[r"
        FOLDER/cache/programs
        0 files, 0 B of at most 512.0 MiB
        since it was cleared: 0 runs from it, 0 compiled
    "]]
    .assert_eq(&shown("cache"));
    folder.report("run p.stur -p N=5 --json");
    assert_eq!(folder.counts(), [0, 1]);
    assert!(shown("cache clear").contains("removed "));
    assert_eq!(folder.counts(), [0, 0]);
    let off = folder.command("cache").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&off.stdout), "compiled programs are not kept\n");
    let bad = folder.cached("cache").env("DASTAC_CACHE_SIZE", "some").output().unwrap();
    expect!["error: DASTAC_CACHE_SIZE must be a number of mebibytes, not `some`\n"]
        .assert_eq(&stderr(&bad));
    assert_eq!(bad.status.code(), Some(2));
}

#[test]
#[cfg(unix)]
fn a_folder_of_others_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new(SYMMETRIC);
    let programs = folder.path("cache/programs");
    fs::create_dir_all(&programs).unwrap();
    fs::set_permissions(&programs, fs::Permissions::from_mode(0o777)).unwrap();
    let output = folder.cached("run p.stur -p N=5 --json").output().unwrap();
    assert!(output.status.success());
    let told = stderr(&output).replace(&programs.display().to_string(), "FOLDER");
    let why = "others than its user may read or write it, and it holds code";
    assert_eq!(told, format!("note: compiled programs are not kept in `FOLDER`: {why}\n"));
    assert_eq!(fs::read_dir(&programs).unwrap().count(), 0);
}
