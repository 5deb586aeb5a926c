//! `dastac bench` at tiny sizes.

use std::path::Path;
use std::process::Output;

fn bench(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = crate::dastac();
    command.args(["bench", "--threads", "1", "--output"]).arg(folder).args(arguments);
    command.env_remove("DASTAC_BENCH_LOG").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_shows_a_table_and_leaves_a_report_and_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--quick", "--budget", "0.02", "--kernel", "spmv_ut", "--size", "40"];
    let run = bench(folder.path(), &arguments);
    let out = text(&run.stdout);
    assert!(run.status.success(), "{out}{}", text(&run.stderr));
    assert!(out.contains("SpMV_UT  40  f64         1"), "{out}");
    assert!(
        out.contains("MKL, SpMV_UT 40: not installed: `./x bench --peers` fetches it"),
        "{out}"
    );
    for file in ["index.html", "figure-table.svg"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }

    let results = folder.path().join("results.json");
    let read = || -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(&results).unwrap()).unwrap()
    };
    let first = read()["cases"].clone();
    assert_eq!(first.as_object().unwrap().len(), 1, "{first}");
    assert!(bench(folder.path(), &arguments).status.success());
    assert_eq!(read()["cases"], first, "what is there is not measured again");

    let summary = folder.path().join("summary.md");
    let empty = "before\n<!-- bench: begin -->\n<!-- bench: end -->\nafter\n";
    std::fs::write(&summary, empty).unwrap();
    let with_summary = ["--report", "--summary", summary.to_str().unwrap()];
    assert!(bench(folder.path(), &with_summary).status.success());
    let written = std::fs::read_to_string(&summary).unwrap();
    assert!(written.starts_with("before\n") && written.ends_with("after\n"), "{written}");
    assert!(written.contains("Measured on 2"), "{written}");
}

#[test]
fn what_is_not_known_is_an_error_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (["--figure", "99"], "there is no figure `99`"),
        (["--system", "blis"], "there is no system `blis`"),
        (["--kernel", "PR2"], "no kernel of these figures has `PR2` in its name"),
    ] {
        let run = bench(folder.path(), &arguments);
        assert_eq!(run.status.code(), Some(2));
        assert!(text(&run.stderr).contains(expected), "{}", text(&run.stderr));
    }
    let run = bench(folder.path(), &["--report"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("measure first"), "{}", text(&run.stderr));
}

#[test]
fn random_programs_are_checked_and_shown_with_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let random = ["--figure", "structured", "--random", "3", "--count", "4"];
    let small = ["--budget", "0.02", "--size", "12", "--json"];
    let run = bench(folder.path(), &[&random[..], &small[..]].concat());
    assert!(run.status.success(), "{}", text(&run.stderr));
    let value: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let rows = value["structured"].as_array().unwrap();
    assert_eq!(rows.len(), 5, "the dense matrix product and four programs");
    for row in rows {
        assert_eq!(row["outcome"], "right", "{row}");
        assert!(row["share"].as_f64().unwrap() > 0.0 && row["code_bytes"].as_u64().unwrap() > 0);
        assert!(row["source"].as_str().unwrap().contains(":="));
    }
    let shown = text(&bench(folder.path(), &[&random[..], &small[..4]].concat()).stdout);
    assert!(shown.contains("4 of 4 right; shares: median"), "{shown}");
    assert!(shown.contains("random 3"), "{shown}");
}
