//! How buffers get to banks and back, and how long that takes.
//!
//! A buffer of which cores read about the same goes to all of them at once; of others each gets its window. Transfers
//! to many banks at once are as long as the longest of them, as those of the hardware, which have one length.

use crate::bank::{Touched, Window};
use crate::profile::Host;
use crate::report::Transfer;
use crate::system::CoreResult;

/// The transfers of a buffer: to banks, then from them.
pub fn transfers(
    name: &str,
    buffer: usize,
    cores: &[CoreResult],
    host: &Host,
) -> (Option<Transfer>, Option<Transfer>) {
    let of = |which: fn(&Touched) -> Window| -> Vec<Window> {
        cores.iter().map(|core| which(&core.touched[buffer])).collect()
    };
    let (read, written) = (of(|one| one.read), of(|one| one.written));
    let around = read.iter().copied().fold(Window::NONE, Window::around).bytes();
    let all: u64 = read.iter().map(|one| one.bytes()).sum();
    let to = Moving { name, windows: &read, host };
    let to = match cores.len() > 1 && all > 2 * around {
        true => to.broadcast(around),
        false => to.different("scatter", host.to_one, host.to_all),
    };
    let from = Moving { name, windows: &written, host };
    let from = from.different("gather", host.from_one, host.from_all);
    let some = |one: Transfer| (one.bytes > 0).then_some(one);
    (some(to), some(from))
}

struct Moving<'a> {
    name: &'a str,
    windows: &'a [Window],
    host: &'a Host,
}

impl Moving<'_> {
    fn banks(&self) -> f64 {
        self.windows.len().min(self.host.banks) as f64 / self.host.banks as f64
    }

    fn broadcast(&self, largest: u64) -> Transfer {
        let bytes = largest * self.windows.len() as u64;
        let seconds = bytes as f64 / (self.host.broadcast * self.banks());
        Transfer { buffer: self.name.to_owned(), kind: "broadcast", bytes, largest, seconds }
    }

    fn different(&self, kind: &'static str, one: f64, all: f64) -> Transfer {
        let bytes: u64 = self.windows.iter().map(|one| one.bytes()).sum();
        let largest = self.windows.iter().map(|one| one.bytes()).max().unwrap_or(0);
        let padded = largest * self.windows.len() as u64;
        // One after the other, or all at once, whichever is faster.
        let seconds = (bytes as f64 / one).min(padded as f64 / (all * self.banks()));
        Transfer { buffer: self.name.to_owned(), kind, bytes, largest, seconds }
    }
}
