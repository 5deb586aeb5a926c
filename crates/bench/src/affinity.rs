//! Asks Linux where threads run and whether they were interrupted, so that measurements are not disturbed.

// Calls of the system and vector instructions have no safe form.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};
use std::time::Duration;

/// Bits of the mask that is passed to the system.
const CPUS: usize = 1024;

unsafe extern "C" {
    fn sched_setaffinity(pid: c_int, size: usize, mask: *const u64) -> c_int;
    fn sched_getaffinity(pid: c_int, size: usize, mask: *mut u64) -> c_int;
    fn getrusage(who: c_int, usage: *mut Usage) -> c_int;
}

/// `struct rusage` of Linux, with room for what a later one may add.
#[repr(C)]
struct Usage {
    user: [c_long; 2],
    system: [c_long; 2],
    counts: [c_long; 14],
    spare: [c_long; 16],
}

/// The CPUs that the calling thread may run on, ascending. Empty if the system does not say.
pub fn allowed() -> Vec<usize> {
    let mut mask = [0u64; CPUS / 64];
    // SAFETY: the mask has the size that is given; 0 is the calling thread.
    let result = unsafe { sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr()) };
    if result < 0 {
        return Vec::new();
    }
    (0..CPUS).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect()
}

/// Keeps the calling thread, and the threads that it starts from now on, on `cpus`. Returns whether the system did so.
pub fn pin(cpus: &[usize]) -> bool {
    let mut mask = [0u64; CPUS / 64];
    for cpu in cpus.iter().filter(|cpu| **cpu < CPUS) {
        mask[cpu / 64] |= 1 << (cpu % 64);
    }
    // SAFETY: the mask has the size that is given; 0 is the calling thread.
    !cpus.is_empty() && unsafe { sched_setaffinity(0, size_of_val(&mask), mask.as_ptr()) } == 0
}

/// What a thread used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// How often the system interrupted the thread and gave its CPU to another one.
    pub preemptions: u64,
    /// Time on CPUs.
    pub cpu: Duration,
}

/// What the calling thread used so far; zeros where the system does not say. Not what all threads of the process used:
/// to ask for that puts those to sleep that wait for the next parallel loop, which then takes 40 microseconds longer.
pub fn used() -> Used {
    let zero = [0; 2];
    let mut usage = Usage { user: zero, system: zero, counts: [0; 14], spare: [0; 16] };
    // SAFETY: 1 is the calling thread; the structure is at least as large as the system's.
    if unsafe { getrusage(1, &mut usage) } != 0 {
        return Used::default();
    }
    let time = |[seconds, micros]: [c_long; 2]| {
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
            + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    Used {
        preemptions: u64::try_from(usage.counts[13]).unwrap_or(0),
        cpu: time(usage.user) + time(usage.system),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_can_be_pinned() {
        let cpus = allowed();
        assert!(!cpus.is_empty());
        let pinned = std::thread::spawn(move || {
            let last = *cpus.last().unwrap();
            pin(&[last]).then(|| (allowed(), vec![last]))
        });
        if let Some((found, wanted)) = pinned.join().unwrap() {
            assert_eq!(found, wanted);
        }
        assert!(!pin(&[]));
    }

    #[test]
    fn time_passes() {
        let before = used();
        let mut x = 1u64;
        while used().cpu < before.cpu + Duration::from_millis(2) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(used().preemptions >= before.preemptions);
    }
}
