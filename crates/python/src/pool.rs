//! Instances of a program that wait for their next call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use dastac::runtime::{Executable, Instance, Result};

/// As many stay at most: those that were used last.
const WAITING: usize = 8;

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
