//! Instances of a program that wait for their next call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dastac::elements::Storage;
use dastac::loops::BufferId;
use dastac::runtime::{Executable, Instance, Result};

/// As many stay at most: those that were used last.
const WAITING: usize = 8;

/// Longer memory does not wait for the next result, in bytes.
const LONG: usize = 1 << 26;

/// Memory of results that nobody uses any more, for the next ones: one for each buffer at most.
#[derive(Default)]
pub struct Spares(Mutex<BTreeMap<BufferId, Storage>>);

impl Spares {
    /// Keeps memory for the next result, if none waits.
    pub fn put(&self, buffer: BufferId, memory: Storage) {
        if memory.capacity().saturating_mul(memory.element().bytes()) <= LONG {
            let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.entry(buffer).or_insert(memory);
        }
    }

    /// Gives an instance all memory that waits.
    pub fn give(&self, instance: &mut Instance<'static>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (buffer, memory) in std::mem::take(&mut *waiting) {
            instance.put_memory(buffer, memory);
        }
    }
}

/// Instances without any memory of callers, each at its sizes.
#[derive(Default)]
pub struct Pool(Mutex<Vec<Instance<'static>>>);

impl Pool {
    /// An instance at these sizes, which nobody else uses.
    ///
    /// # Errors
    /// Sizes at which the program cannot run.
    pub fn take(
        &self,
        executable: &Arc<Executable>,
        symbols: &[i64],
        threads: usize,
    ) -> Result<Instance<'static>> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = waiting.iter().rposition(|instance| instance.symbols() == symbols);
        if let Some(at) = found {
            let mut instance = waiting.remove(at);
            instance.set_threads(threads);
            return Ok(instance);
        }
        drop(waiting);
        let names = executable.program().sizes.symbols.iter().cloned();
        let values: BTreeMap<String, i64> = names.zip(symbols.iter().copied()).collect();
        Instance::new(Arc::clone(executable), &values, threads)
    }

    /// Keeps an instance for later.
    pub fn put(&self, instance: Instance<'static>) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == WAITING {
            waiting.remove(0);
        }
        waiting.push(instance);
    }
}
