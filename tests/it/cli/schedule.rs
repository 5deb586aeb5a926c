//! `schedule:` lines, files of schedules, and `dastac tune`.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use super::Folder;

const PRODUCT: &str = "symbols: N
A(i, j) := B(i, k) * C(k, j)
B:D(i, k) := (0 <= i < N) * (0 <= k < N)
C:D(k, j) := (0 <= k < N) * (0 <= j < N)
";

fn loops(folder: &Folder, options: &str) -> Vec<String> {
    let text = folder.works(&format!("emit p.stur --stage loops{options}"));
    let body =
        text.lines().skip_while(|line| !line.starts_with("  if") && !line.starts_with("  p"));
    let heads = body.filter(|line| line.contains(" to ") && !line.contains('['));
    // What a schedule says of a loop stands behind its bounds.
    let bare = |line: &str| match line.split_once(" hint(") {
        Some((head, _)) => format!("{head} {{"),
        None => line.to_owned(),
    };
    heads.map(|line| bare(line.trim())).collect()
}

#[test]
fn a_line_of_the_program_and_a_file() {
    let folder = Folder::new(&format!("{PRODUCT}schedule: A -> reorder(j, i)\n"));
    assert_eq!(loops(&folder, ""), ["parallel j = 0 to N {", "parallel i = 0 to N {"]);
    assert_eq!(
        loops(&folder, " --no-schedule"),
        ["parallel i = 0 to N {", "parallel j = 0 to N {"]
    );
    fs::write(folder.path("s"), "# by hand\nschedule: A -> tile(j, 8)\n").unwrap();
    let tiled = loops(&folder, " --schedule s");
    assert_eq!(
        tiled[tiled.len() - 3..],
        [
            "parallel j.block = 0 to N step 8 {",
            "parallel i = 0 to N {",
            "parallel j = j.block to min(N, j.block + 8) {",
        ]
    );
    let ran = folder.works("run p.stur -p N=20 --schedule s --verify --threads 2");
    assert!(ran.contains("agrees with the reference"), "{ran}");
    assert!(ran.contains("\nschedule: A -> tile(j=8)\n"), "{ran}");
    assert!(folder.works("verify p.stur --schedule s").ends_with("10 proven\n"));
    folder.works("build p.stur -o libp.so --schedule s");
}

#[test]
fn files_that_are_wrong() {
    let folder = Folder::new(PRODUCT);
    fs::write(folder.path("s"), "schedule: A -> parallel(k)\n").unwrap();
    folder.fails(
        "run p.stur -p N=2 --schedule s",
        1,
        &expect![[r#"
        error[E0124]: `parallel` names `k`, which is summed over
         --> s:1:25
          |
        1 | schedule: A -> parallel(k)
          |                         ^ a reduction
          |
          = help: its iterations add to the same elements; share one of `i`, `j`

    "#]],
    );
    fs::write(folder.path("s"), PRODUCT).unwrap();
    folder.fails(
        "emit p.stur --stage loops --schedule s",
        1,
        &expect![[r#"
        error[E0003]: a file of schedules holds nothing but a `schedule:` line
         --> s:1:1
          |
        1 | symbols: N
          | ^^^^^^^^^^ something else
          |
          = help: what is computed stands in the program

        error[E0003]: a file of schedules holds nothing but a `schedule:` line
         --> s:2:1
          |
        2 | A(i, j) := B(i, k) * C(k, j)
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ something else
          |
          = help: what is computed stands in the program

        error[E0003]: a file of schedules holds nothing but a `schedule:` line
         --> s:3:1
          |
        3 | B:D(i, k) := (0 <= i < N) * (0 <= k < N)
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ something else
          |
          = help: what is computed stands in the program

        error[E0003]: a file of schedules holds nothing but a `schedule:` line
         --> s:4:1
          |
        4 | C:D(k, j) := (0 <= k < N) * (0 <= j < N)
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ something else
          |
          = help: what is computed stands in the program

        error: s has 4 errors
    "#]],
    );
    folder.fails(
        "run p.stur -p N=2 --schedule nowhere",
        1,
        &expect![[r#"
        error: cannot read `nowhere`: no such file or directory
    "#]],
    );
    folder.fails(
        "run p.stur -p N=2 --schedule p.stur",
        2,
        &expect![[r#"
        error: the program cannot be its own file of schedules
        help: its `schedule:` line holds without `--schedule`
    "#]],
    );
    folder.fails(
        "run p.stur --schedule s --no-schedule",
        2,
        &expect![[r#"
        error: the argument '--schedule <PATH>' cannot be used with '--no-schedule'

        Usage: dastac run --schedule <PATH> <FILE>

        For more information, try '--help'.
    "#]],
    );
    folder.fails(
        "tune - -p N=2",
        2,
        &expect![[r#"
        error: there is no file beside which the schedule could be kept
        help: name one: `-o kernel.schedule`
    "#]],
    );
    folder.fails(
        "tune p.stur -p N=2 --budget 0",
        2,
        &expect![[r#"
        error: invalid value '0' for '--budget <SECONDS>': write seconds, from 0.01 to 1000000

        For more information, try '--help'.
    "#]],
    );
    folder.fails(
        "tune p.stur",
        1,
        &expect![[r#"
        error: symbol `N` has no value
        help: `-p N=..` gives it one
    "#]],
    );
    assert_eq!(folder.files(), ["s"]);
}

#[test]
fn tuning_leaves_a_file_that_is_used() {
    let folder = Folder::new(PRODUCT);
    let report: Value =
        serde_json::from_str(&folder.works("tune p.stur -p N=24 --budget 0.5 --threads 1 --json"))
            .unwrap();
    assert_eq!(report["rejected"], 0);
    assert_eq!(report["written"], "p.schedule");
    assert_eq!(folder.files(), ["p.schedule"]);
    let best = report["best"].as_array().unwrap();
    assert!(best.iter().any(|line| line["schedule"].is_null()), "{report}");
    let text = fs::read_to_string(folder.path("p.schedule")).unwrap();
    let line = text.lines().find(|line| line.starts_with("schedule: "));
    assert_eq!(line, report["schedule"].as_str());
    // Of a program with a line of its own the search starts there; what is not worth it stays as it is.
    fs::write(folder.path("p.stur"), format!("{PRODUCT}schedule: A -> vectorize(k)\n")).unwrap();
    folder.works("tune p.stur -p N=3 --budget 0.01 --threads 1 -o own");
    let own = fs::read_to_string(folder.path("own")).unwrap();
    assert!(own.contains("schedule: A"), "{own}");
    fs::write(folder.path("p.stur"), PRODUCT).unwrap();
    // Another schedule in its place is what runs.
    let mark = text.lines().next().unwrap();
    fs::write(folder.path("p.schedule"), format!("{mark}\nschedule: A -> reorder(j, i)\n"))
        .unwrap();
    assert_eq!(loops(&folder, "")[0], "parallel j = 0 to N {");
    assert_eq!(loops(&folder, " --no-schedule")[0], "parallel i = 0 to N {");
    // Comments do not matter, the program does.
    fs::write(folder.path("p.stur"), format!("# a remark\n{PRODUCT}")).unwrap();
    assert_eq!(loops(&folder, "")[0], "parallel j = 0 to N {");
    fs::write(folder.path("p.stur"), format!("{PRODUCT}types: A = f64\n")).unwrap();
    let output = folder.dastac("emit p.stur --stage loops");
    expect![[r#"
        warning: `p.schedule` is ignored: it was not found for this program
        help: `dastac tune p.stur ..` searches again; `--schedule p.schedule` takes it all the same
    "#]]
    .assert_eq(&String::from_utf8(output.stderr).unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("  parallel i = 0 to N {\n    parallel j"), "{text}");
}
