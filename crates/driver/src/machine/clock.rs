//! Times on a computer that does other things too.

use std::time::{Duration, Instant};

use crate::Error;

/// Calls are timed together until they take so long, much longer than it takes to read the clock.
const TOGETHER: Duration = Duration::from_micros(20);

/// At least so many times are taken.
const TIMES: usize = 4;

/// The least nanoseconds of a call, which is repeated for so long. What else the computer does only makes a call
/// longer.
pub(super) fn least(
    trying: Duration,
    mut call: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    // Once for pages and caches.
    call()?;
    let start = Instant::now();
    call()?;
    let once = start.elapsed().max(Duration::from_nanos(1));
    let calls = (TOGETHER.as_nanos() / once.as_nanos()).clamp(1, 10_000) as u32;
    let mut least = f64::INFINITY;
    let start = Instant::now();
    let mut times = 0;
    while times < TIMES || start.elapsed() < trying {
        let begin = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        least = least.min(begin.elapsed().as_nanos() as f64 / f64::from(calls));
        times += 1;
    }
    Ok(least)
}

/// The nearest power of the square root of two, as an integer that is at least 1: two measurements of one thing are
/// nearly always the same number.
pub(super) fn coarse(value: f64) -> i64 {
    let halves = (value.max(1.0).log2() * 2.0).round();
    2f64.powf(halves / 2.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded() {
        let all = [0.0, 1.1, 1.3, 2.5, 3.3, 5.0, 30.0, 100.0, 16384.0, f64::NAN];
        assert_eq!(all.map(coarse), [1, 1, 1, 3, 3, 6, 32, 91, 16384, 1]);
    }

    #[test]
    fn the_least_time_counts() {
        let mut calls = 0;
        let time = least(Duration::from_millis(1), || {
            calls += 1;
            std::thread::sleep(Duration::from_micros(if calls % 2 == 0 { 50 } else { 500 }));
            Ok(())
        });
        let time = time.unwrap();
        assert!((50e3..10e6).contains(&time) && calls >= 5, "{time} {calls}");
    }
}
