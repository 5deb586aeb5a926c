//! The model beside measurements of UPMEM's processors: microbenchmarks as they were published (PrIM), in hand-written
//! code. `docs/pim.md` has the table.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../isa/assemble.rs"]
mod assemble;

use assemble::{RET, addi, b, i, li, r, s};
use dastac_pim::bank::Shared;
use dastac_pim::core::{Core, Entry, Start};
use dastac_pim::{BANK, Counters, Image, Profile, SCRATCHPAD, TEXT};

/// Bytes of the scratchpad that threads use together, from its begin on.
const COMMON: u32 = 48 << 10;
const HERTZ: f64 = 350e6;

/// What a core counts that runs a program on some threads, over a bank of so many bytes. Arguments of each thread: its
/// part of the scratchpad, and its number.
fn run(words: &[u32], threads: u32, bank: usize) -> Counters {
    run_on(words, threads, &vec![0; bank])
}

/// The same over these bytes.
fn run_on(words: &[u32], threads: u32, bank: &[u8]) -> Counters {
    let mut shared = Shared::default();
    shared.add(bank, true).unwrap();
    let image = Image {
        text: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ..Image::default()
    };
    let (profile, text) = (Profile::named("upmem").unwrap(), image.decoded());
    let part = COMMON / threads / 8 * 8;
    let entry = |thread| Entry { pc: TEXT, arguments: vec![SCRATCHPAD + thread * part, thread] };
    let start = Start {
        core: 0,
        profile: &profile,
        text: &text,
        common: vec![0; COMMON as usize],
        threads: (0..threads).map(entry).collect(),
        shared: &shared,
        limit: 1 << 32,
        sampled: 0,
    };
    Core::new(start).unwrap().run().unwrap().counters
}

/// Registers by their conventional names.
const A0: u32 = 10;
const A1: u32 = 11;
const T0: u32 = 5;
const T1: u32 = 6;
const T2: u32 = 7;
const S2: u32 = 18;
const S3: u32 = 19;
const S4: u32 = 20;
const S5: u32 = 21;

/// A loop of so many iterations, whose counter is in `s2`.
fn repeated(count: u32, counter: u32, body: &[u32]) -> Vec<u32> {
    let mut words = li(counter, count).to_vec();
    words.extend(body);
    words.push(addi(counter, counter, -1));
    words.push(b(1, [counter, 0], -4 * (body.len() as i32 + 1)));
    words
}

/// Millions of operations a second: one on each element of a part of the scratchpad.
fn rate(load: u32, operation: u32, store: u32, threads: u32) -> f64 {
    let count = 400;
    let mut words = repeated(count, S2, &[load, operation, store, addi(A0, A0, 4)]);
    words.push(RET);
    let counters = run(&words, threads, 4);
    f64::from(count * threads) * HERTZ / counters.cycles as f64 / 1e6
}

fn integer_rate(operation: u32, threads: u32) -> f64 {
    rate(i(0x03, 2, [T0, A0], 0), operation, s(0x23, 2, [A0, T0], 0), threads)
}

fn add_rate(threads: u32) -> f64 {
    integer_rate(r(0x33, 0, 0, [T0, T0, T1]), threads)
}

/// A transfer of so many bytes between `a0` in the scratchpad and `a1` in the bank.
fn transfer(bytes: u32, write: bool) -> Vec<u32> {
    let mut words = li(12, bytes).to_vec();
    words.extend([addi(17, 0, if write { 5 } else { 4 }), 0x73]);
    words
}

/// Megabytes a second of reads of 2 KB.
fn read_rate() -> f64 {
    let (threads, count) = (16, 8);
    let mut words = li(A1, BANK).to_vec();
    words.extend(repeated(count, S2, &transfer(2048, false)));
    words.push(RET);
    let counters = run(&words, threads, 2048);
    f64::from(2048 * count * threads) * HERTZ / counters.cycles as f64 / 1e6
}

/// Cycles for each element of a sum of 64-bit integers: blocks of 1 KB, on 16 threads.
fn reduction() -> f64 {
    let (threads, blocks, elements) = (16, 8, 128);
    let inner = [
        i(0x03, 2, [T0, S3], 0),
        i(0x03, 2, [T1, S3], 4),
        r(0x33, 0, 0, [S4, S4, T0]),
        r(0x33, 3, 0, [T2, S4, T0]),
        r(0x33, 0, 0, [S5, S5, T1]),
        addi(S3, S3, 8),
    ];
    let mut body = transfer(1024, false);
    body.push(addi(S3, A0, 0));
    body.extend(repeated(elements, 22, &inner));
    let mut words = li(A1, BANK).to_vec();
    words.extend(repeated(blocks, S2, &body));
    words.push(RET);
    let counters = run(&words, threads, 1024);
    counters.cycles as f64 / f64::from(threads * blocks * elements)
}

/// Cycles for each element of a sum of two vectors of 32-bit integers: blocks of 1 KB, on 16 threads.
fn vector_addition() -> f64 {
    let (threads, blocks, elements) = (16, 8, 256);
    let inner = [
        i(0x03, 2, [T0, S3], 0),
        i(0x03, 2, [T1, S4], 0),
        r(0x33, 0, 0, [T0, T0, T1]),
        s(0x23, 2, [S3, T0], 0),
        addi(S3, S3, 4),
        addi(S4, S4, 4),
        addi(S5, S5, 4),
    ];
    // Both operands are read, the result replaces the first one.
    let mut body = transfer(1024, false);
    body.push(addi(A0, A0, 1024));
    body.extend(transfer(1024, false));
    body.extend([addi(S4, A0, 0), addi(A0, A0, -1024), addi(S3, A0, 0)]);
    body.extend(repeated(elements, 22, &inner));
    body.extend(transfer(1024, true));
    let mut words = li(A1, BANK).to_vec();
    words.extend(repeated(blocks, S2, &body));
    words.push(RET);
    let counters = run(&words, threads, 2048);
    counters.cycles as f64 / f64::from(threads * blocks * elements)
}

/// Cycles for each element of a matrix of 32-bit integers times a vector: blocks of 1 KB of both, on 16 threads.
fn matrix_vector() -> f64 {
    let (threads, blocks, elements) = (16, 8, 256);
    let inner = [
        i(0x03, 2, [T0, S3], 0),
        i(0x03, 2, [T1, S4], 0),
        r(0x33, 0, 1, [T0, T0, T1]),
        r(0x33, 0, 0, [S5, S5, T0]),
        addi(S3, S3, 4),
        addi(S4, S4, 4),
    ];
    let mut body = transfer(1024, false);
    body.push(addi(A0, A0, 1024));
    body.extend(transfer(1024, false));
    body.extend([addi(S4, A0, 0), addi(A0, A0, -1024), addi(S3, A0, 0)]);
    body.extend(repeated(elements, 22, &inner));
    let mut words = li(A1, BANK).to_vec();
    words.extend(repeated(blocks, S2, &body));
    words.push(RET);
    let counters = run(&words, threads, 2048);
    counters.cycles as f64 / f64::from(threads * blocks * elements)
}

/// Cycles for each element of a selection of the even ones of 64-bit integers, half of them: blocks of 1 KB, on 16
/// threads, which wait for each other to know how many there are before their own.
fn selection() -> f64 {
    let (threads, blocks, elements) = (16, 8, 128);
    let inner = [
        i(0x03, 2, [T0, S3], 0),
        i(0x03, 2, [T1, S3], 4),
        i(0x13, 7, [T2, T0], 1),
        b(1, [T2, 0], 16),
        s(0x23, 2, [S4, T0], 0),
        s(0x23, 2, [S4, T1], 4),
        addi(S4, S4, 8),
        addi(S3, S3, 8),
    ];
    let mut body = transfer(1024, false);
    body.extend([addi(S3, A0, 0), addi(S4, A0, 0)]);
    body.extend(repeated(elements, 22, &inner));
    body.extend([addi(17, 0, 1), 0x73]);
    body.extend(transfer(512, true));
    let mut words = li(A1, BANK).to_vec();
    // Results go to other bytes than those that are read.
    let at = body.len() - transfer(512, true).len();
    body.splice(at..at, li(A1, BANK + 1024));
    body.extend(li(A1, BANK));
    words.extend(repeated(blocks, S2, &body));
    words.push(RET);
    let bank: Vec<u8> = (0..256u64).flat_map(u64::to_le_bytes).collect();
    let counters = run_on(&words, threads, &bank);
    counters.cycles as f64 / f64::from(threads * blocks * elements)
}

/// Cycles for each element of a histogram of 256 bins of numbers of 12 bits, one for each thread: blocks of 1 KB, on 16
/// threads.
fn histogram() -> f64 {
    let (threads, blocks, elements) = (16, 8, 256);
    let inner = [
        i(0x03, 2, [T0, S3], 0),
        // The number of bins is not known before: bin = (number * bins) >> 12.
        r(0x33, 0, 1, [T0, T0, T1]),
        i(0x13, 5, [T0, T0], 12),
        i(0x13, 1, [T0, T0], 2),
        r(0x33, 0, 0, [T0, T0, S4]),
        i(0x03, 2, [T2, T0], 0),
        addi(T2, T2, 1),
        s(0x23, 2, [T0, T2], 0),
        addi(S3, S3, 4),
    ];
    let mut words = li(A1, BANK).to_vec();
    words.extend(li(T1, 256));
    words.push(addi(S4, A0, 1024));
    let mut body = transfer(1024, false);
    body.push(addi(S3, A0, 0));
    body.extend(repeated(elements, 22, &inner));
    words.extend(repeated(blocks, S2, &body));
    words.push(RET);
    let numbers = (0..256u32).map(|at| at.wrapping_mul(2_654_435_761) >> 20);
    let bank: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    let counters = run_on(&words, threads, &bank);
    counters.cycles as f64 / f64::from(threads * blocks * elements)
}

/// Where the model is farther from the hardware than it should be. Both multiply in their loops; that multiplications
/// of small operands take fewer steps there may be why, which was not checked.
const NOT_REACHED: [&str; 2] =
    ["32-bit matrix times vector, cycles an element", "histogram, cycles an element"];

/// A line of the table: what it is, the model's number, the hardware's, and how far apart they may be.
type Line = (&'static str, f64, f64, f64);

fn table() -> Vec<Line> {
    let float = rate(i(0x07, 2, [1, A0], 0), r(0x53, 7, 0, [1, 1, 2]), s(0x27, 2, [A0, 1], 0), 16);
    vec![
        ("addition of 32-bit integers, MOPS", add_rate(16), 58.56, 0.02),
        (
            "multiplication of 32-bit integers, MOPS",
            integer_rate(r(0x33, 0, 1, [T0, T0, T1]), 16),
            10.27,
            0.15,
        ),
        (
            "division of 32-bit integers, MOPS",
            integer_rate(r(0x33, 4, 1, [T0, T0, T1]), 16),
            11.27,
            0.15,
        ),
        ("addition of 32-bit floats, MOPS", float, 4.91, 0.15),
        ("DMA reads of 2 KB, MB/s", read_rate(), 628.0, 0.05),
        ("sum of 64-bit integers, cycles an element", reduction(), 8.23, 0.15),
        ("sum of two vectors, cycles an element", vector_addition(), 9.75, 0.20),
        ("32-bit matrix times vector, cycles an element", matrix_vector(), 24.0, 0.25),
        ("selection, cycles an element", selection(), 12.3, 0.25),
        ("histogram, cycles an element", histogram(), 29.0, 0.25),
    ]
}

#[test]
fn microbenchmarks() {
    let mut wrong = Vec::new();
    for (name, model, hardware, tolerance) in table() {
        let off = (model - hardware) / hardware;
        println!("| {name} | {model:.2} | {hardware:.2} | {:+.1}% |", 100.0 * off);
        if (off.abs() > tolerance) != NOT_REACHED.contains(&name) {
            wrong.push(format!("{name}: {model:.2} in place of {hardware:.2}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn fewer_threads_than_stages_are_slower() {
    let most = add_rate(11);
    for threads in 1..=24 {
        let expected = most * f64::from(threads.min(11)) / 11.0;
        let found = add_rate(threads);
        assert!((found - expected).abs() <= 0.01 * expected, "{threads}: {found} and {expected}");
    }
}

#[test]
fn simulated_instructions_a_second() {
    // Far below what an optimised build reaches: a test of the order of magnitude, on a busy machine.
    let mut words = repeated(200_000, S2, &[addi(T0, T0, 1), addi(T1, T1, 1)]);
    words.push(RET);
    let start = std::time::Instant::now();
    let counters = run(&words, 16, 4);
    let rate = counters.instructions as f64 / start.elapsed().as_secs_f64();
    println!("{:.0} million instructions a second on one thread", rate / 1e6);
    assert!(rate > 1e6);
}
