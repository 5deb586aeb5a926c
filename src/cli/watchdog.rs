//! A limit on the time and memory of compilation. isl's own work is bounded by a step limit, but counting with Barvinok cannot be interrupted from
//! inside: a thread watches, says what happened, and ends the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, park_timeout, spawn};
use std::time::{Duration, Instant};

use dastac::human;

/// How often the thread looks.
const PERIOD: Duration = Duration::from_millis(50);

/// Watches until it is dropped.
pub struct Watchdog {
    done: Arc<AtomicBool>,
    stage: Arc<Mutex<&'static str>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Ends the process with exit code 1 after `seconds` (none for 0), or when it holds three quarters of the memory that was available.
    pub fn start(seconds: u64) -> Watchdog {
        let done = Arc::new(AtomicBool::new(false));
        let stage = Arc::new(Mutex::new("reading"));
        let watched = (Arc::clone(&done), Arc::clone(&stage));
        let memory = dastac::run::available_memory() / 4 * 3;
        let thread = spawn(move || {
            let (done, stage) = watched;
            let start = Instant::now();
            while !done.load(Ordering::Relaxed) {
                park_timeout(PERIOD);
                let at = *stage.lock().unwrap_or_else(PoisonError::into_inner);
                let resident = resident();
                if seconds > 0 && start.elapsed() >= Duration::from_secs(seconds) {
                    end(&format!("compilation took more than {seconds} s; it was {at}"), "give it more with --compile-limit SECONDS (0 for no limit), or simplify the structures: fewer symbols in one region, fewer overlapping regions");
                }
                if resident > memory {
                    end(&format!("compilation takes more memory than there is ({}); it was {at}", human(resident)), "simplify the structures: fewer symbols in one region, fewer overlapping regions");
                }
            }
        });
        Watchdog { done, stage, thread: Some(thread) }
    }

    /// Says what is being done, for the message.
    pub fn stage(&self, stage: &'static str) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It only ends by itself or ends the process; a panic in it has been reported.
            let _ = thread.join();
        }
    }
}

fn end(message: &str, hint: &str) -> ! {
    eprintln!("error: {message}\nhelp: {hint}");
    // Not `std::process::exit`: destructors of libraries that another thread is inside of must not run.
    dastac::backend::exit_now(1)
}

/// Bytes of memory that the process holds.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(4096)
}
