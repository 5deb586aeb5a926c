//! Code for a device, loaded.

use std::sync::{Mutex, PoisonError};

use dastac_loops::abi::Signature;
use dastac_loops::json;
use dastac_target::launch::Grid;

use super::device::Loaded;
use super::error::CudaError;
use super::steps;
use super::times::DeviceTimes;
use crate::argument::Argument;

/// Kernels on a device, and what the host does for them.
pub(crate) struct Kernels {
    grid: Grid,
    loaded: Loaded,
    times: Mutex<DeviceTimes>,
}

impl Kernels {
    /// Loads code.
    ///
    /// # Errors
    /// No driver, no device or one that is too old; code that the driver refuses.
    pub fn load(bytes: &[u8]) -> Result<Kernels, CudaError> {
        let grid = json::from_slice(bytes);
        let grid: Grid = grid.map_err(|error| CudaError::Damaged(error.to_string()))?;
        let loaded = Loaded::new(&grid)?;
        Ok(Kernels { grid, loaded, times: Mutex::default() })
    }

    /// Calls a function with arguments that fit it.
    ///
    /// # Errors
    /// Too little memory on the device; a kernel that fails.
    pub fn call(
        &self,
        function: &Signature,
        symbols: &[i64],
        arguments: &mut [Argument<'_>],
    ) -> Result<(), CudaError> {
        self.loaded.enter()?;
        let times = steps::call(&self.loaded, &self.grid, function, symbols, arguments)?;
        self.times.lock().unwrap_or_else(PoisonError::into_inner).add(times);
        Ok(())
    }

    /// How long calls took since this was last asked for.
    pub fn take_times(&self) -> DeviceTimes {
        std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
