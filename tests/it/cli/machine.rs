//! `dastac machine`, and descriptions in files, in the environment, and measured ones.

use std::fs;
use std::process::Command;

use super::{Folder, SYMMETRIC};

/// A command with a folder of caches of its own, where this computer was never measured.
fn measuring(folder: &Folder, line: &str) -> Command {
    let mut command = folder.command(line);
    command.env("DASTAC_CACHE_DIR", folder.path("cache")).env_remove("DASTAC_MACHINE");
    command
}

/// Standard output of a command that must work and say nothing else.
fn works(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "{:?} {stderr}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_machine_is_measured_once() {
    let folder = Folder::new(SYMMETRIC);
    let first = works(&mut measuring(&folder, "machine"));
    let second = works(&mut measuring(&folder, "machine"));
    assert_eq!(first, second);
    let about = first.lines().nth(1).unwrap();
    assert!(about.starts_with("# measured ") && about.ends_with("/cache/machines"), "{about}");
    // All commands compile for what was measured, `build` as `run`.
    let machine: String = first.lines().skip(2).map(|line| format!("{line}\n")).collect();
    let emitted = works(&mut measuring(&folder, "emit p.stur --stage machine --threads 2"));
    assert_eq!(emitted, machine);
    // What is damaged is measured again.
    for file in fs::read_dir(folder.path("cache/machines")).unwrap() {
        fs::write(file.unwrap().path(), "damaged").unwrap();
    }
    let again = works(&mut measuring(&folder, "machine --json"));
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["origin"], "measured");
    assert!(again["machine"]["wake"].as_i64().unwrap() > 0, "{again}");
    assert!(again["text"].as_str().unwrap().starts_with("vector_bytes = "), "{again}");
    let measured = works(&mut measuring(&folder, "machine --measure"));
    assert!(measured.contains("# measured "), "{measured}");
    assert_eq!(works(&mut measuring(&folder, "machine")), measured);
    // Removing programs leaves it where it is.
    works(&mut measuring(&folder, "cache clear"));
    assert_eq!(works(&mut measuring(&folder, "machine")), measured);
}

#[test]
fn nothing_is_measured_that_cannot_be_kept() {
    let folder = Folder::new(SYMMETRIC);
    let mut command = measuring(&folder, "machine");
    let text = works(command.env("DASTAC_CACHE_DIR", "off"));
    let about = "# detected, not measured: there is no cache folder to keep measurements in";
    assert_eq!(text.lines().nth(1), Some(about));
    let text = folder.works("machine");
    assert!(text.contains("\n# detected, not measured: DASTAC_MACHINE is `detected`\n"), "{text}");
    let text = folder.works("machine --measure");
    assert!(text.lines().nth(1).unwrap().ends_with(" ms, not kept"), "{text}");
}

#[test]
fn a_variable_names_a_description() {
    let folder = Folder::new(SYMMETRIC);
    let text = folder.works("machine").replace("registers = ", "registers = 8 # ");
    fs::write(folder.path("m.txt"), text.replace("\nwake = ", "\nwake = 77 # ")).unwrap();
    let with = |line: &str, file: &str| {
        let mut command = folder.command(line);
        command.env("DASTAC_MACHINE", folder.path(file));
        command
    };
    let shown = works(&mut with("machine", "m.txt"));
    assert!(shown.starts_with("# described by ") && shown.contains("\nwake = 77\n"), "{shown}");
    let flag = folder.works("machine --machine m.txt");
    assert_eq!(flag.lines().skip(1).collect::<Vec<_>>(), shown.lines().skip(1).collect::<Vec<_>>());
    let tiled = |command: &mut Command| works(command);
    let by_variable = tiled(&mut with("emit p.stur --stage tiled", "m.txt"));
    assert_eq!(by_variable, folder.works("emit p.stur --stage tiled --machine m.txt"));
    // A processor by name has nothing to do with this computer; a flag is more than the variable.
    let named = "emit p.stur --stage machine --cpu x86-64";
    assert_eq!(works(&mut with(named, "m.txt")), folder.works(named));
    let run = works(&mut with("run p.stur -p N=70 --verify", "m.txt"));
    assert!(run.contains("agrees with the reference evaluator"), "{run}");
    // One that is wrong is an error, and says where it is named.
    fs::write(folder.path("bad.txt"), "vector_bytes = 64\nregisters = many\n").unwrap();
    for file in ["bad.txt", "missing.txt"] {
        let output = with("run p.stur -p N=3", file).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let what = if file == "bad.txt" {
            "line 2: `many` is not a positive number"
        } else {
            "no such file"
        };
        assert!(stderr.contains(what) && stderr.contains("DASTAC_MACHINE names it"), "{stderr}");
    }
}
