//! Code for a device, loaded.

use dastac_loops::abi::Signature;
use dastac_target::launch::Grid;

use super::device::Loaded;
use super::error::CudaError;
use super::steps;
use crate::argument::Argument;

/// Kernels on a device, and what the host does for them.
pub(crate) struct Kernels {
    grid: Grid,
    loaded: Loaded,
}

impl Kernels {
    /// Loads code.
    ///
    /// # Errors
    /// No driver, no device or one that is too old; code that the driver refuses.
    pub fn load(bytes: &[u8]) -> Result<Kernels, CudaError> {
        let grid = serde_json::from_slice(bytes);
        let grid: Grid = grid.map_err(|error| CudaError::Damaged(error.to_string()))?;
        let loaded = Loaded::new(&grid)?;
        Ok(Kernels { grid, loaded })
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
        steps::call(&self.loaded, &self.grid, function, symbols, arguments)
    }
}
