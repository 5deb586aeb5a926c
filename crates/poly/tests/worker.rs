//! Counting in worker processes. This program is its own worker, and the fake workers that fail in each way a worker
//! can.
#![cfg(target_os = "linux")]

use dastac_poly::counting::{Config, Counter, Counting, WORKER_ARGUMENT, serve};
use dastac_poly::{Context, Error, PwQPolynomial, Ratio, Result, Set};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Not a simplex: a question that goes to Barvinok first.
const BAND: &str = "[N] -> { [i, j] : 0 <= i, j < N and -1 <= i - j <= 1 and (i + j) mod 3 = 0 }";

fn main() {
    let program = std::env::args().next().unwrap_or_default();
    if std::env::args().nth(1).as_deref() == Some(WORKER_ARGUMENT) {
        return match program.rsplit('-').next() {
            Some("hang") => std::thread::sleep(Duration::from_secs(600)),
            Some("crash") => std::process::abort(),
            Some("leave") => {}
            Some("garbage") => answer(b"\x05\0\0\0hello"),
            Some("endless") => answer(&[0xff; 64]),
            Some("silent") => answer(b"\xff\0\0\0a"),
            Some("hungry") => eat(),
            Some("once") => once(),
            _ => serve(),
        };
    }
    let tests: [(&str, fn()); 10] = [
        ("a_worker_answers_like_this_process", a_worker_answers_like_this_process),
        ("errors_of_questions_are_no_failures", errors_of_questions_are_no_failures),
        ("failed_workers_are_named", failed_workers_are_named),
        ("failed_workers_are_replaced_by_the_other_counter", failed_workers_are_replaced),
        ("a_deadline_ends_a_count", a_deadline_ends_a_count),
        ("a_worker_that_ended_while_idle_is_started_again", a_worker_is_started_again),
        ("threads_have_a_worker_each", threads_have_a_worker_each),
        ("a_long_question_is_answered", a_long_question_is_answered),
        ("workers_end_with_their_user", workers_end_with_their_user),
        ("answers_are_remembered", answers_are_remembered),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

fn answer(bytes: &[u8]) {
    let mut output = std::io::stdout();
    output.write_all(bytes).and_then(|()| output.flush()).unwrap();
    // Until the user is gone.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn eat() {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    for _ in 0..400 {
        eaten.push(vec![1; 4 << 20]);
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_secs(600));
}

/// Answers 1 to the first question, and ends.
fn once() {
    let mut length = [0; 4];
    std::io::stdin().read_exact(&mut length).unwrap();
    let mut question = vec![0; u32::from_le_bytes(length) as usize];
    std::io::stdin().read_exact(&mut question).unwrap();
    let reply = b"a\t1 1 0\n";
    let mut output = std::io::stdout();
    output.write_all(&(reply.len() as u32).to_le_bytes()).unwrap();
    output.write_all(reply).unwrap();
    output.flush().unwrap();
}

fn worker(kind: &str, counter: Counter) -> Config {
    Config {
        counter,
        worker: Some(program(kind)),
        time: Duration::from_secs(if kind == "hang" || kind == "silent" { 1 } else { 120 }),
        memory: if kind == "hungry" { 200 << 20 } else { 4 << 30 },
        ..Config::default()
    }
}

/// This program under a name that says how it is to behave.
fn program(kind: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    if kind == "good" {
        return own;
    }
    let link = own.with_file_name(format!("{}-{kind}", own.file_name().unwrap().display()));
    if !link.exists() {
        std::os::unix::fs::symlink(&own, &link).unwrap();
    }
    link
}

fn band() -> Set {
    Set::parse(&Context::new().unwrap(), BAND).unwrap()
}

fn at(function: &PwQPolynomial, value: i64) -> Ratio<i128> {
    function.eval(&[("N".into(), value)], &[]).unwrap()
}

/// Whether a function is what counting the band without a worker gives.
fn is_right(found: &PwQPolynomial, set: &Set) {
    let expected =
        Counting::new(Config { counter: Counter::Faulhaber, ..Config::default() }).card(set);
    let expected = expected.unwrap();
    for n in -1..20 {
        assert_eq!(at(found, n), at(&expected, n), "N = {n}");
    }
}

fn a_worker_answers_like_this_process() {
    let counting = Counting::new(worker("good", Counter::Barvinok));
    let set = band();
    let found = counting.card(&set).unwrap();
    is_right(&found, &set);
    let here = Counting::new(Config { counter: Counter::Barvinok, ..Config::default() });
    assert_eq!(found.to_string(), here.card(&set).unwrap().to_string());
    let squares = "[N] -> { [i] -> i^2 : 0 <= i < N }";
    let squares = PwQPolynomial::parse(set.context(), squares).unwrap();
    assert_eq!(at(&counting.sum(&squares).unwrap(), 4), 14.into());
}

fn errors_of_questions_are_no_failures() {
    let counting = Counting::new(worker("good", Counter::Auto));
    let context = Context::new().unwrap();
    let big = "{ [i, j] -> 100000000000000000000000000000 * i^3 * j^3 : 0 <= i, j < 1000000000 }";
    let big = PwQPolynomial::parse(&context, big).unwrap();
    assert!(matches!(counting.sum(&big), Err(Error::Overflow { .. })));
    let endless = Set::parse(&context, "{ [i] : i >= 0 }").unwrap();
    assert!(matches!(counting.card(&endless), Err(Error::Infinite { .. })));
}

fn failed_workers_are_named() {
    let message = |kind: &str| -> String {
        let start = Instant::now();
        let result: Result<_> = Counting::new(worker(kind, Counter::Barvinok)).card(&band());
        assert!(start.elapsed() < Duration::from_secs(20), "{kind}");
        match result {
            Err(Error::Worker { what }) => what,
            other => panic!("{kind}: {other:?}"),
        }
    };
    assert!(message("hang").contains("took more than 1 s (allow more with DASTAC_COUNT_SECONDS)"));
    assert!(message("silent").contains("took more than 1 s"));
    assert!(message("crash").contains("crashed (signal: 6"), "{}", message("crash"));
    assert!(message("leave").contains("crashed (exit status: 0)"), "{}", message("leave"));
    assert!(message("garbage").contains("answered with garbage"));
    assert!(message("endless").contains("answered with garbage"));
    let hungry = message("hungry");
    assert!(
        hungry.contains("took more than 200 MiB of memory (allow more with DASTAC_COUNT_MEMORY)"),
        "{hungry}"
    );
    let missing = Config {
        counter: Counter::Barvinok,
        worker: Some("/nowhere/dastac".into()),
        ..Config::default()
    };
    let error = Counting::new(missing).card(&band()).unwrap_err().to_string();
    assert!(error.contains("/nowhere/dastac cannot be started"), "{error}");
}

fn failed_workers_are_replaced() {
    for kind in ["hang", "crash", "leave", "garbage", "endless", "hungry"] {
        let counting = Counting::new(worker(kind, Counter::Auto));
        let set = band();
        is_right(&counting.card(&set).unwrap(), &set);
        let statistics = counting.statistics();
        assert_eq!((statistics.barvinok, statistics.faulhaber), (0, 1), "{kind}");
    }
}

fn a_deadline_ends_a_count() {
    let config = Config { time: Duration::from_secs(300), ..worker("hang", Counter::Auto) };
    let (set, start) = (band(), Instant::now());
    set.context().set_deadline(Some(start + Duration::from_secs(1)));
    let result = Counting::new(config).card(&set);
    assert!(matches!(result, Err(Error::Deadline { .. })), "{result:?}");
    assert!(start.elapsed() < Duration::from_secs(100));
}

fn a_worker_is_started_again() {
    let counting = Counting::new(worker("once", Counter::Barvinok));
    let context = Context::new().unwrap();
    for k in 0..3 {
        let set = Set::parse(&context, &format!("{{ [i] : 0 <= i < {k} }}")).unwrap();
        assert_eq!(counting.card(&set).unwrap().eval(&[], &[]).unwrap(), 1.into());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn threads_have_a_worker_each() {
    let counting = Counting::new(Config { workers: 3, ..worker("good", Counter::Barvinok) });
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let counting = &counting;
            scope.spawn(move || {
                let context = Context::new().unwrap();
                for k in 0..5 {
                    let text = format!("[N] -> {{ [i, j] : 0 <= i <= j < N + {thread} + {k} }}");
                    let set = Set::parse(&context, &text).unwrap();
                    let (found, n) = (counting.card(&set).unwrap(), 7 + thread + k);
                    assert_eq!(at(&found, 7), Ratio::from_integer((n * (n + 1) / 2).into()));
                }
            });
        }
    });
}

fn a_long_question_is_answered() {
    // More than a pipe holds.
    let far = "1000000000000000000";
    let regions: Vec<String> =
        (0..400).map(|k| format!("[{k}, {}]", [far; 12].join(", "))).collect();
    let text = format!("{{ {} }}", regions.join("; "));
    let set = Set::parse(&Context::new().unwrap(), &text).unwrap();
    let counting = Counting::new(worker("good", Counter::Barvinok));
    let found = counting.card(&set).unwrap().eval(&[], &[]).unwrap();
    assert_eq!(found, Ratio::from_integer(400));
    assert!(matches!(
        Counting::new(worker("hang", Counter::Barvinok)).card(&set),
        Err(Error::Worker { .. })
    ));
}

fn workers_end_with_their_user() {
    let count = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let own = std::process::id().to_string();
        let is_worker = |entry: &std::fs::DirEntry| {
            let read = |file| std::fs::read_to_string(entry.path().join(file)).unwrap_or_default();
            read("cmdline").contains(WORKER_ARGUMENT)
                && read("status").lines().any(|line| line == format!("PPid:\t{own}"))
        };
        all.filter(is_worker).count()
    };
    assert_eq!(count(), 0, "all counters of other tests are gone");
    let counting = Counting::new(worker("good", Counter::Barvinok));
    counting.card(&band()).unwrap();
    assert_eq!(count(), 1);
    drop(counting);
    assert_eq!(count(), 0);
}

fn answers_are_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        cache: Some(dir.path().to_owned()),
        cache_after: Duration::ZERO,
        ..worker("good", Counter::Barvinok)
    };
    let first = Counting::new(config.clone());
    let fresh = first.card(&band()).unwrap().to_string();
    // The same question by other names, in the same process and in the next one.
    let renamed = "[n] -> { T[a, b] : 0 <= a, b < n and -1 <= a - b <= 1 and (a + b) mod 3 = 0 }";
    let renamed = Set::parse(&Context::new().unwrap(), renamed).unwrap();
    assert_eq!(first.card(&renamed).unwrap().to_string(), fresh.replace('N', "n"));
    assert_eq!((first.statistics().cached, first.statistics().barvinok), (1, 1));
    let next = Counting::new(config.clone());
    assert_eq!(next.card(&band()).unwrap().to_string(), fresh);
    assert_eq!((next.statistics().cached, next.statistics().barvinok), (1, 0));
    // Damage is not noticed but in the time that it takes.
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), "garbage").unwrap();
    }
    let last = Counting::new(config);
    assert_eq!(last.card(&band()).unwrap().to_string(), fresh);
    assert_eq!(last.statistics().barvinok, 1);
}
