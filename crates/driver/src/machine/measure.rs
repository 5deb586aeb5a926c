//! Measures this computer.

use std::time::{Duration, Instant, UNIX_EPOCH};

use dastac_backend::Processor;
use dastac_loops::machine::Machine;
use dastac_runtime::{Argument, openmp};

use super::clock::{coarse, least};
use super::description::{Description, Measurement, Origin};
use super::kernel::{Kernel, Kind, PRODUCT, compile};
use super::{host, memory};
use crate::Error;

/// How long each kernel is tried.
const TRYING: Duration = Duration::from_millis(5);

/// The same for waking threads: longer than other processes have a CPU at a time.
const WAKING: Duration = Duration::from_millis(12);

/// Rows of the sparse matrix, and elements in each.
const ROWS: usize = 256;
const LONG: usize = 32;

/// How often kernels that are compared take turns.
const TURNS: usize = 3;

/// One of them is faster if the other takes so many times as long.
const CLEAR: f64 = 1.15;

/// Narrower vectors have to gain so much, since code with them is longer.
const NARROW: f64 = 1.2;

/// A range is shared out where waking threads takes at most one part in so many of its time on one thread.
const PART: f64 = 4.0;

/// Measures this computer, in less than a second unless it does many other things.
///
/// # Errors
/// Code that cannot be generated or loaded; no memory for arrays.
pub fn measure() -> Result<Description, Error> {
    let start = Instant::now();
    let mut machine = Processor::host().machine();
    let threads = host::cores();
    let mut wanted: Vec<(Kind, Machine)> = Vec::new();
    let mut want = |kind, machine: Machine| {
        wanted.push((kind, machine));
        wanted.len() - 1
    };
    let sums = want(Kind::Sums, machine.clone());
    let past = want(Kind::Elements, Machine { stream: 1, ..machine.clone() });
    let through = want(Kind::Elements, Machine { stream: i64::MAX, ..machine.clone() });
    let packed = want(Kind::Rows, Machine { packs: Machine::PLAIN.packs, ..machine.clone() });
    let gathered =
        machine.gathers.then(|| want(Kind::Rows, Machine { packs: 1, ..machine.clone() }));
    let widest = want(Kind::Product, machine.clone());
    // Half vectors, where those are not what every processor of the architecture has.
    let half = machine.vector_bytes / 2;
    let half = (half >= 32)
        .then(|| want(Kind::Product, Machine { vector_bytes: half, ..machine.clone() }));
    let several = threads > 1 && openmp::load().is_ok();
    let fork = several
        .then(|| want(Kind::Fork, Machine { wake: 1, ..machine.clone() }.with_threads(true)));
    let kernels = compile(&wanted)?;

    let rate = multiply_adds(&kernels[widest])?;
    machine.multiply_adds = coarse(rate);
    if let Some(half) = half {
        let narrow = multiply_adds(&kernels[half])?;
        if narrow > NARROW * rate {
            machine.vector_bytes /= 2;
            machine.multiply_adds = coarse(narrow);
        }
    }
    // In turns, so that what else the computer does disturbs both.
    let (mut one_by_one, mut together) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..TURNS {
        one_by_one = one_by_one.min(rows(&machine, &kernels[packed])?);
        if let Some(gathered) = gathered {
            together = together.min(rows(&machine, &kernels[gathered])?);
        }
    }
    // Where there is not much between them, what is known of the processor counts.
    if together < one_by_one / CLEAR {
        machine.packs = 1;
    } else if together > one_by_one * CLEAR {
        machine.packs = Machine::PLAIN.packs;
    }
    // Threads wait for each other, and for CPUs that other processes have for some milliseconds: the least of three
    // moments counts.
    let (mut alone, mut woken) = (f64::INFINITY, f64::INFINITY);
    let mut wake = || -> Result<(), Error> {
        if let Some(fork) = fork {
            alone = alone.min(forked(&kernels[fork], 1)?);
            woken = woken.min(forked(&kernels[fork], threads)?);
        }
        Ok(())
    };
    wake()?;
    memory::rates(&mut machine, &kernels[sums])?;
    wake()?;
    machine.stream = memory::stream(&machine, &kernels[past], &kernels[through])?;
    wake()?;
    if fork.is_some() {
        // Of each term a coordinate and two numbers are loaded.
        let loads = (3 * ROWS * LONG) as f64 / one_by_one;
        machine.wake = coarse(PART * (woken - alone) * loads);
    }
    let at = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let measurement = Measurement { at, milliseconds };
    let machine = machine.with_threads(true);
    Ok(Description { machine, origin: Origin::Measured(measurement) })
}

/// Multiply-adds in a nanosecond.
fn multiply_adds(product: &Kernel) -> Result<f64, Error> {
    let [rows, terms, columns] = PRODUCT;
    let (a, b) = (vec![1.0f64; rows * terms], vec![1.0f64; terms * columns]);
    let mut c = vec![0.0f64; rows * columns];
    let time = least(TRYING, || {
        let buffers = &mut [Argument::write(&mut c), Argument::read(&a), Argument::read(&b)];
        product.call(&[], buffers)
    })?;
    Ok((rows * terms * columns) as f64 / time)
}

/// Nanoseconds of a sparse matrix times a vector that the second cache holds.
fn rows(machine: &Machine, kernel: &Kernel) -> Result<f64, Error> {
    let columns = usize::try_from(machine.l2 / 8 / 8).unwrap_or(0).clamp(1 << 10, 1 << 20);
    let positions: Vec<u32> = (0..=ROWS).map(|row| (row * LONG) as u32).collect();
    // Far apart, and in no order that a processor could learn.
    let column = |at: usize| (at.wrapping_mul(0x9e37_79b1) >> 7) % columns;
    let coordinates: Vec<u32> = (0..ROWS * LONG).map(|at| column(at) as u32).collect();
    let (values, x) = (vec![1.0f64; ROWS * LONG], vec![1.0f64; columns]);
    let mut y = vec![0.0f64; ROWS];
    let symbols = [ROWS as i64, (ROWS * LONG) as i64, columns as i64];
    least(TRYING, || {
        let buffers = &mut [
            Argument::write(&mut y),
            Argument::read(&positions),
            Argument::read(&coordinates),
            Argument::read(&values),
            Argument::read(&x),
        ];
        kernel.call(&symbols, buffers)
    })
}

/// Nanoseconds that a loop takes on so many threads which has next to nothing for them to do.
fn forked(fork: &Kernel, threads: usize) -> Result<f64, Error> {
    let a = vec![1i64; 8 * threads];
    let mut y = vec![0i64; 8 * threads];
    least(WAKING, || {
        let buffers = &mut [Argument::write(&mut y), Argument::read(&a)];
        fork.call_on(threads, &[a.len() as i64], buffers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dastac_target::file;

    #[test]
    fn this_computer_is_measured() {
        let Description { machine, origin } = measure().unwrap();
        assert!(matches!(origin, Origin::Measured(_)));
        let known = [
            machine.multiply_adds,
            machine.read_l1,
            machine.read_l2,
            machine.read_last,
            machine.read_memory,
            machine.stream,
            machine.wake,
        ];
        assert!(known.iter().all(|number| *number > 0), "{machine:?}");
        assert!([1, Machine::PLAIN.packs].contains(&machine.packs));
        assert_eq!(file::parse(&file::print(&machine)), Ok(machine));
    }
}
