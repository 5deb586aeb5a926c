//! A limit on the time and memory of compilation. isl's own work is bounded by a step limit, but counting with Barvinok
//! cannot be interrupted from inside: a thread watches, says what happened, and ends the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dastac::human;

/// How often the thread looks.
const PERIOD: Duration = Duration::from_millis(50);

const HINT: &str =
    "simplify the structures: fewer symbols in one region, fewer or disjoint regions";

static DONE: AtomicBool = AtomicBool::new(false);
static STAGE: Mutex<String> = Mutex::new(String::new());

/// From now on the process ends with exit code 1 after `seconds` (never for 0), or when it holds three quarters of the
/// memory that is available now; until [`stop`].
pub fn start(seconds: u64) {
    let memory = dastac::runtime::available_memory() / 4 * 3;
    let start = Instant::now();
    std::thread::spawn(move || {
        while !DONE.load(Ordering::Relaxed) {
            std::thread::sleep(PERIOD);
            if seconds > 0 && start.elapsed() >= Duration::from_secs(seconds) {
                end(
                    &format!("compilation took more than {seconds} s"),
                    &format!("allow more with `--compile-limit SECONDS` (0: no limit), or {HINT}"),
                );
            }
            let resident = resident();
            if resident > memory {
                end(&format!("compilation takes too much memory ({})", human(resident)), HINT);
            }
        }
    });
}

/// Says what is being done, for the message.
pub fn stage(what: &str) {
    what.clone_into(&mut STAGE.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Compilation is over: no limits any more.
pub fn stop() {
    DONE.store(true, Ordering::Relaxed);
}

fn end(message: &str, hint: &str) {
    if DONE.load(Ordering::Relaxed) {
        return;
    }
    let stage = STAGE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let stage = if stage.is_empty() { stage } else { format!("; it was {stage}") };
    eprintln!("error: {message}{stage}\nhelp: {hint}");
    // Not `std::process::exit`: destructors of libraries that another thread is inside of must not run.
    dastac::backend::exit_now(1)
}

/// Bytes of memory that the process holds.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(4096)
}
