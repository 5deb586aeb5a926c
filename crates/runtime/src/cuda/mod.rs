//! Kernels on NVIDIA's devices.
//!
//! - `driver`: NVIDIA's driver, which is loaded when kernels are, not linked.
//! - `device`: a device, its memory and its kernels. `steps`: what the host does for a function.
//! - [`DeviceTimes`]: how long kernels and copies took.
//! - [`CudaError`]: what can go wrong, in one line each.

mod device;
mod driver;
mod error;
mod kernels;
mod steps;
#[cfg(test)]
mod tests;
mod times;

pub use device::{choose, queue_first};
pub use driver::VARIABLE;
pub use error::CudaError;
pub(crate) use kernels::Kernels;
pub use times::DeviceTimes;
