//! Barriers, mutexes and faults of a core.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../isa/assemble.rs"]
mod assemble;

use assemble::{RET, addi, b, i, li, s};
use dastac_pim::bank::Shared;
use dastac_pim::core::{Core, Entry, Finished, Start};
use dastac_pim::{BANK, Cause, Counters, Fault, Image, Profile, SCRATCHPAD, TEXT};

/// `ecall` with a number in `a7`.
fn call(number: i32) -> [u32; 2] {
    [addi(17, 0, number), 0x73]
}

/// Runs a program on threads with a bank of 64 bytes, and gives what is in the bank's first word.
fn run(words: &[u32], threads: usize, limit: u64) -> Result<u32, Fault> {
    sampled(words, threads, limit, 0).map(|(word, _)| word)
}

/// The same with what was counted every so many cycles.
fn sampled(
    words: &[u32],
    threads: usize,
    limit: u64,
    sampled: u64,
) -> Result<(u32, Vec<Counters>), Fault> {
    let mut shared = Shared::default();
    shared.add(&[0; 64], true).unwrap();
    shared.add(&[0; 64], false).unwrap();
    let image = Image {
        text: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ..Image::default()
    };
    let (profile, text) = (Profile::named("upmem").unwrap(), image.decoded());
    let start = Start {
        core: 3,
        profile: &profile,
        text: &text,
        common: vec![0; 64],
        threads: vec![Entry { pc: TEXT, arguments: Vec::new() }; threads],
        shared: &shared,
        limit,
        sampled,
    };
    let Finished { mut bank, timeline, .. } = Core::new(start)?.run()?;
    Ok((bank.read(0, 4).unwrap(), timeline))
}

fn cause(words: &[u32], threads: usize) -> Cause {
    run(words, threads, 1000).unwrap_err().cause
}

#[test]
fn a_mutex_keeps_threads_apart() {
    // Each thread adds 1 to a word of the bank ten times, between a lock and an unlock of mutex 7.
    let mut body = vec![addi(10, 0, 7)];
    body.extend(call(2));
    body.extend([i(0x03, 2, [6, 5], 0), addi(6, 6, 1), s(0x23, 2, [5, 6], 0)]);
    body.extend(call(3));
    let mut words = li(5, BANK).to_vec();
    words.extend(li(18, 10));
    let length = body.len() as i32;
    words.extend(body);
    words.extend([addi(18, 18, -1), b(1, [18, 0], -4 * (length + 1)), RET]);
    assert_eq!(run(&words, 13, 1 << 20), Ok(130));
}

#[test]
fn a_barrier_waits_for_all() {
    // Thread 0 writes late and before the barrier, all others read behind it and thread 1 writes what it read plus 1.
    let mut words = li(5, SCRATCHPAD).to_vec();
    words.extend(li(7, BANK));
    words.extend([b(1, [4, 0], 24), addi(18, 0, 40), addi(18, 18, -1), b(1, [18, 0], -4)]);
    words.extend([addi(6, 0, 41), s(0x23, 2, [5, 6], 0)]);
    words.extend(call(1));
    words.extend([addi(8, 0, 1), b(1, [4, 8], 16)]);
    words.extend([i(0x03, 2, [6, 5], 0), addi(6, 6, 1), s(0x23, 2, [7, 6], 0), RET]);
    assert_eq!(run(&words, 5, 1 << 20), Ok(42));
}

#[test]
fn faults() {
    let at = |address: u32, access: u32| [li(5, address).to_vec(), vec![access, RET]].concat();
    let load = i(0x03, 2, [6, 5], 0);
    let store = s(0x23, 2, [5, 6], 0);
    assert_eq!(cause(&at(BANK + 2, load), 1), Cause::Misaligned { address: BANK + 2, bytes: 4 });
    assert_eq!(cause(&at(BANK + 64, load), 1), Cause::OutOfBank { address: BANK + 64 });
    assert_eq!(cause(&at(16, load), 1), Cause::OutOfBank { address: 16 });
    assert_eq!(cause(&at(BANK + 4096, store), 1), Cause::ReadOnly { address: BANK + 4096 });
    let other = SCRATCHPAD + 0xfff0;
    assert_eq!(cause(&at(other, store), 2), Cause::Scratchpad { address: other });
    assert_eq!(cause(&[b(0, [0, 0], 0)], 2), Cause::Limit { limit: 1000 });
    assert_eq!(cause(&[0], 1), Cause::Illegal { address: TEXT });
    assert_eq!(cause(&call(9), 1), Cause::Call { number: 9 });
    assert_eq!(cause(&[0x0010_0073], 1), Cause::Abort);
    // Thread 0 skips the barrier.
    let skips = [vec![b(0, [4, 0], 12)], call(1).to_vec(), vec![RET]].concat();
    assert_eq!(cause(&skips, 3), Cause::Divergence);
    // A mutex is kept for ever.
    let keeps = [call(2).to_vec(), vec![RET]].concat();
    assert_eq!(cause(&keeps, 2), Cause::Divergence);
    let gives = [call(3).to_vec(), vec![RET]].concat();
    assert_eq!(cause(&gives, 1), Cause::Mutex { mutex: 0 });
    let fault = run(&at(BANK + 64, load), 1, 1000).unwrap_err().to_string();
    assert_eq!(
        fault,
        "core 3, thread 0, at 0x00010008: an access outside of every buffer, at 0x40000040"
    );
}

#[test]
fn a_timeline_has_a_point_every_so_many_cycles() {
    let mut words = li(18, 50).to_vec();
    words.extend([addi(18, 18, -1), b(1, [18, 0], -4), RET]);
    let (_, timeline) = sampled(&words, 2, 1 << 20, 100).unwrap();
    // 102 instructions before the return, one every 11 cycles.
    assert_eq!(timeline.len(), 11);
    for (at, point) in timeline.iter().enumerate() {
        let due = 100 * (at as u64 + 1);
        assert!((due..due + 11).contains(&point.cycles), "{at}: {}", point.cycles);
        assert!(point.instructions.abs_diff(2 * due / 11) <= 2, "{at}: {}", point.instructions);
    }
}
