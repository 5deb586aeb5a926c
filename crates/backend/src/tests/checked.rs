//! Checked code ends the process: the accesses that must not happen run in a process of their own, this test binary
//! again.

use super::*;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Set for the process that shall fail; says how.
const CASE: &str = "DASTAC_CHECKED_CASE";

/// `out[f(i)] = in[g(i)]` for `0 <= i < N`, all of `N` elements.
fn copy(to: impl Fn(Index) -> Index, from: impl Fn(Index) -> Index, mark: Mark) -> Module {
    let mut build = Build::new("copy");
    let n = build.symbol("N");
    let input = build.buffer("in.put", Element::F64, Mode::In, n.clone());
    let output = build.buffer("out", Element::F64, Mode::Out, n.clone());
    let i = build.var("i");
    let store = Stmt::set(output, to(v(i)), Value::load(input, from(v(i))));
    let body = For { mark, ..For::new(i, c(0), n, vec![store]) };
    build.finish(vec![Stmt::For(body)])
}

fn run_checked(module: &Module, parallel: bool) -> Vec<f64> {
    let options = Options { parallel, checked: true, ..Options::default() };
    let jit = load(&compile(module, &options).unwrap_or_else(|error| panic!("{error}")));
    let (input, mut out) = (numbers(10), vec![0.0; 10]);
    let mut buffers = [Argument::read(&input), Argument::write(&mut out)];
    jit.call_on(Threads::Of(2), "copy", &[10], &mut buffers).unwrap();
    out
}

/// Name, module, and what is written.
fn cases() -> Vec<(&'static str, Module, &'static str)> {
    let last = |i: Index| c(9) - i;
    vec![
        (
            "store above",
            copy(|i| i + 1, last, Mark::Sequential),
            "dastac: `copy` accesses index 10 of buffer `out`, which has 10 elements\n",
        ),
        (
            "load below",
            copy(|i| i, |i| i - 1, Mark::Sequential),
            "dastac: `copy` accesses index -1 of buffer `in.put`, which has 10 elements\n",
        ),
        ("parallel", copy(|i| i + 5, last, Mark::THREADS), "dastac: `copy` accesses index 1"),
    ]
}

#[test]
fn accesses_outside_end_the_process() {
    if let Ok(wanted) = std::env::var(CASE) {
        let (_, module, _) = cases().into_iter().find(|(name, ..)| *name == wanted).unwrap();
        run_checked(&module, wanted == "parallel");
        return;
    }
    for (name, _, text) in cases() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::checked::accesses_outside_end_the_process", "--nocapture"])
            .env(CASE, name)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(6), "{name}: {stderr}");
        assert!(stderr.contains(text), "{name}: {stderr}");
    }
}

#[test]
fn checked_code_computes_the_same() {
    for (parallel, mark) in
        [(false, Mark::Sequential), (false, Mark::THREADS), (true, Mark::THREADS)]
    {
        let module = copy(|i| i, |i| c(9) - i, mark);
        let mut expected = numbers(10);
        expected.reverse();
        assert_eq!(run_checked(&module, parallel), expected);
    }
}
