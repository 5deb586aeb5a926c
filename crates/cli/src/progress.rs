//! What is being done, on stderr, once it takes longer than a second.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whoever waits less needs no picture.
const PATIENCE: Duration = Duration::from_secs(1);

/// A spinner that names the current stage; gone when dropped.
pub struct Progress {
    shown: Option<Shown>,
}

struct Shown {
    bar: ProgressBar,
    stop: Option<Sender<()>>,
    appear: Option<JoinHandle<()>>,
}

impl Progress {
    /// A spinner, or nothing at all where nobody would see it.
    pub fn new(interactive: bool) -> Progress {
        if !interactive {
            return Progress { shown: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        let (stop, stopped) = channel();
        let later = bar.clone();
        let appear = std::thread::spawn(move || {
            if stopped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(Duration::from_millis(100));
            }
        });
        Progress { shown: Some(Shown { bar, stop: Some(stop), appear: Some(appear) }) }
    }

    /// What is done from now on.
    pub fn stage(&self, what: impl Into<String>) {
        let what = what.into();
        super::watchdog::stage(&what);
        if let Some(shown) = &self.shown {
            shown.bar.set_message(what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(mut shown) = self.shown.take() {
            drop(shown.stop.take());
            if let Some(appear) = shown.appear.take() {
                // It only waits and draws.
                let _ = appear.join();
            }
            shown.bar.finish_and_clear();
        }
    }
}
