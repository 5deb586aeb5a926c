//! What caches and memory deliver, and where stores past the caches gain.

use std::time::Duration;

use dastac_elements::{Element, Storage};
use dastac_loops::machine::Machine;
use dastac_runtime::{Argument, available_memory};

use super::clock::{coarse, least};
use super::kernel::Kernel;
use crate::Error;

/// How long each size is tried.
const TRYING: Duration = Duration::from_millis(4);

/// Rows of an array in the first cache, so that a call is longer than the clock is exact.
const ROWS: usize = 64;

/// Arrays that are read or written where stores are compared.
const ARRAYS: i64 = 3;

/// The largest result whose stores are compared.
const MOST_WRITTEN: i64 = 16 << 20;

/// Stores past the caches take at most this part of the time where they are worth it.
const WORTH: f64 = 0.9;

/// Arrays of ones, on pages of their own.
fn ones(bytes: i64) -> Result<Storage, Error> {
    let mut storage = Storage::zeroed(Element::F64, elements(bytes))?;
    storage.fill(|_| 1.0);
    Ok(storage)
}

fn elements(bytes: i64) -> usize {
    usize::try_from(bytes / 8).unwrap_or(1).max(1)
}

/// Measures the rates of reading from each cache and from memory.
pub(super) fn rates(machine: &mut Machine, sums: &Kernel) -> Result<(), Error> {
    // More than the whole last cache, of which a core has a part, where there is as much memory.
    let spare = i64::try_from(available_memory() / 8).unwrap_or(i64::MAX);
    let memory = (machine.last * 4).clamp(64 << 20, 256 << 20).min(spare.max(machine.last));
    let data = ones(memory + 64 * ROWS as i64)?;
    let rate = |bytes: i64, rows: usize| -> Result<i64, Error> {
        let mut result = vec![0.0f64; rows];
        let symbols = [elements(bytes) as i64, rows as i64];
        let time = least(TRYING, || {
            let buffers = &mut [Argument::write(&mut result), data.view().into()];
            sums.call(&symbols, buffers)
        })?;
        Ok(coarse((elements(bytes) * 8 * rows) as f64 / time))
    };
    machine.read_l1 = rate(machine.l1 / 2, ROWS)?;
    machine.read_l2 = rate(machine.l2 / 2, 1)?;
    machine.read_memory = rate(memory, 1)?;
    let behind = machine.last >= 2 * machine.l2;
    machine.read_last =
        if behind { rate((machine.last / 2).min(machine.l2 * 4), 1)? } else { machine.read_l2 };
    Ok(())
}

/// The bytes that are read and written from which on stores past the caches take less time than others.
pub(super) fn stream(machine: &Machine, past: &Kernel, through: &Kernel) -> Result<i64, Error> {
    let first = machine.l2 / 2;
    let most = MOST_WRITTEN.min(machine.last * 2).max(first);
    let sizes: Vec<i64> = (0..)
        .map(|step| (first as f64 * 2f64.powf(f64::from(step) / 2.0)) as i64)
        .take_while(|bytes| *bytes <= most)
        .collect();
    let last = sizes.last().copied().unwrap_or(first);
    let (a, x) = (ones(last)?, ones(last)?);
    let mut result = ones(last)?;
    let mut time = |kernel: &Kernel, bytes: i64| {
        least(TRYING, || {
            let buffers = &mut [result.view_mut().into(), a.view().into(), x.view().into()];
            kernel.call(&[elements(bytes) as i64], buffers)
        })
    };
    // The least size so that it and all larger ones gain.
    let mut found = last * 2;
    for bytes in sizes.into_iter().rev() {
        if time(past, bytes)? > WORTH * time(through, bytes)? {
            break;
        }
        found = bytes;
    }
    // Other threads use the last cache at the same time.
    Ok(coarse((found * ARRAYS) as f64).min(machine.last / 8 * 7))
}
