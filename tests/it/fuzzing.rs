//! What random programs and random kernels have in common: a random machine for each, and a record of cases that are
//! under way, so that the case of a crash is known.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, OnceLock};

use dastac::loops::machine::Machine;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A random machine for a case. Caches are small, since sizes are, and one in three is the same for all cases.
pub fn machine(seed: u64) -> Machine {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x006d_6163_6869_6e65);
    let threads = rng.random();
    if rng.random_ratio(1, 3) {
        let plain = Machine { vector_bytes: 32, l1: 1 << 10, l2: 4 << 10, ..Machine::PLAIN };
        return plain.with_threads(threads);
    }
    let mut pick = |from: &[i64]| *from.choose(&mut rng).expect("not empty");
    let l1 = pick(&[256, 1 << 10, 4 << 10, 32 << 10]);
    let machine = Machine {
        vector_bytes: pick(&[8, 16, 32, 64]),
        registers: pick(&[4, 8, 16, 32]),
        fuses: pick(&[0, 1]) == 1,
        gathers: pick(&[0, 1]) == 1,
        l1,
        l2: l1 * pick(&[1, 4, 16]),
        line: pick(&[32, 64, 128]),
        page: pick(&[256, 4 << 10]),
        stack: pick(&[64, 4 << 10]),
        wake: pick(&[1, 64, 16 << 10]),
        chains: pick(&[1, 2, 8]),
        scalar_chains: pick(&[1, 4]),
        packs: pick(&[1, 2, 4]),
        predicts: pick(&[1, 16, 128 << 10]),
        same_shape: pick(&[2, 8]),
        calls: pick(&[2, 64]),
        ..Machine::PLAIN
    };
    machine.with_threads(threads)
}

/// Notes in the file that `DASTAC_FUZZ_LOG` names that a case begins. A case without an end is one that crashed.
pub fn begin(seed: u64) {
    note("begin", seed);
}

/// Notes that a case has ended.
pub fn end(seed: u64) {
    note("end", seed);
}

/// Notes the program of a case, which one wants to know if it does not end.
pub fn text(source: &str) {
    write(source);
}

fn note(what: &str, seed: u64) {
    write(&format!("{what} {seed}"));
}

fn write(line: &str) {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("DASTAC_FUZZ_LOG")?;
        Some(Mutex::new(File::create(path).expect("the file of DASTAC_FUZZ_LOG can be made")))
    };
    if let Some(file) = FILE.get_or_init(open) {
        let mut file = file.lock().expect("no writer panics");
        writeln!(file, "{line}").expect("the file can be written");
        file.flush().expect("the file can be written");
    }
}
