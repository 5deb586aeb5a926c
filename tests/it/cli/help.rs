//! What `--help` says can be pasted, and messages name commands that do what they promise.

use std::fs;
use std::process::Command;

use expect_test::expect;

use super::{Folder, example};

/// All commands that `dastac --help` lists.
fn commands() -> Vec<String> {
    let help = Folder::new("").works("--help");
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// The first example of every command runs in a checkout as it is. Here, sizes are small and searches short.
#[test]
fn first_examples_run() {
    let folder = Folder::new("");
    fs::create_dir(folder.path("examples")).unwrap();
    for entry in fs::read_dir(crate::root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path("examples").join(path.file_name().unwrap())).unwrap();
    }
    let mut ran = 0;
    for command in commands().iter().filter(|name| !["help", "lsp"].contains(&name.as_str())) {
        let help = folder.works(&format!("{command} --help"));
        let line = help.lines().find(|line| line.starts_with("  dastac "));
        let line = line.unwrap_or_else(|| panic!("no example: {help}"));
        let (line, _) = line.split_once('#').unwrap_or((line, ""));
        let mut line = line.trim().replace("=256", "=8").replace("=64", "=8");
        line += match command.as_str() {
            "tune" => " --budget 0.1 --threads 1",
            "bench" => " --size 8 --budget 0.01 --kernel ttm_ut --threads 1",
            "run" | "emit" | "build" => " --threads 1",
            _ => "",
        };
        let shell = line.replacen("dastac", env!("CARGO_BIN_EXE_dastac"), 1);
        let output = Command::new("sh")
            .args(["-c", &shell])
            .env("DASTAC_CACHE_DIR", folder.path("cache"))
            .current_dir(folder.path("."))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {stderr}");
        ran += 1;
    }
    assert!(ran > 12, "{ran}");
}

#[test]
fn man_pages() {
    let folder = Folder::new("");
    fs::create_dir(folder.path("man1")).unwrap();
    folder.works("man man1");
    for command in commands().iter().filter(|name| *name != "help") {
        let page = fs::read_to_string(folder.path(&format!("man1/dastac-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".TH dastac-"), "{page}");
    }
    assert!(folder.works("man").contains(".SH EXTRA"));
    folder.fails(
        "man nowhere",
        1,
        &expect![[r#"
        error: there is no folder `nowhere`
    "#]],
    );
}

/// A schedule in another folder is not found by itself.
#[test]
fn tune_says_who_finds_its_file() {
    let folder = Folder::new(&example("spmv_ut.stur"));
    fs::create_dir(folder.path("kept")).unwrap();
    let last = |text: String| text.lines().last().unwrap().to_owned();
    let line = "tune p.stur -p M=4 -p N=4 --budget 0.05 --threads 1";
    let text = last(folder.works(&format!("{line} -o kept/small.schedule")));
    let takes = text.contains("`dastac run p.stur --schedule kept/small.schedule` takes it");
    assert!(takes || text.contains("nothing is faster"), "{text}");
    folder.works("run p.stur -p M=4 -p N=4 --schedule kept/small.schedule --threads 1");
}

#[test]
fn diagnostics_as_json() {
    let folder = Folder::new(
        "symbols: N # \u{e4}\u{1f600}\ny(i) := B(i, j) * x(j)\nB:D(i, j) := (0 <= i < N) * (0 <= j < n)\n\
         x:D(j) := (0 <= j < N)\n",
    );
    let output = folder.dastac("check p.stur --json");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    expect![[r#"
        {
          "file": "p.stur",
          "errors": 1,
          "warnings": 0,
          "diagnostics": [
            {
              "severity": "error",
              "code": "E0108",
              "message": "unknown name `n`",
              "labels": [
                {
                  "text": "neither a symbol nor an iterator with bounds",
                  "start": {
                    "byte": 81,
                    "line": 3,
                    "column": 39
                  },
                  "end": {
                    "byte": 82,
                    "line": 3,
                    "column": 40
                  }
                }
              ],
              "hint": "did you mean `N`?"
            }
          ]
        }
    "#]]
    .assert_eq(&String::from_utf8(output.stdout).unwrap());
    let folder = Folder::new("symbols: N, M\ny(i) := x(i)\nx:D(i) := (0 <= i < N)\n");
    let report: serde_json::Value =
        serde_json::from_str(&folder.works("check p.stur --json")).unwrap();
    assert_eq!((&report["errors"], &report["warnings"]), (&0.into(), &1.into()));
    assert_eq!(report["diagnostics"][0]["code"], "W0101");
}

/// Numbers far from 1 are short.
#[test]
fn large_numbers() {
    let folder = Folder::new(
        "symbols: N
y(i) := 1e300 * B(i, j)
B:D(i, j) := (0 <= i < N) * (0 <= j < N)
B:U(i, j) := (i <= j)
B:R(i, j, ip, jp) := 1e300 * (i > j) * (ip = j) * (jp = i)
",
    );
    let text = folder.works("infer p.stur");
    assert!(text.contains("1e300 * (0 <= j < i < N)") || text.contains("1e300 * ("), "{text}");
    assert!(!text.contains("00000"), "{text}");
}
