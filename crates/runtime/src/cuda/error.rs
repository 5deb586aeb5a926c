//! What can be wrong with a device, its driver or its code.

use crate::human::human;

/// An error of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// NVIDIA's driver is not installed.
    #[error("NVIDIA's driver was not found (tried {tried}); DASTAC_CUDA may name its library")]
    Driver {
        /// Where its library was looked for.
        tried: String,
    },
    /// A library under the driver's name that lacks one of its functions.
    #[error("NVIDIA's driver is too old: it has no `{0}`")]
    OldDriver(&'static str),
    /// No device, or none that this process may use.
    #[error("there is no GPU of NVIDIA's that this process can use: {0}")]
    NoDevice(String),
    /// A device that is not there.
    #[error("there is no device {asked}: the driver has {there}, numbered from 0")]
    Device {
        /// The number that was asked for.
        asked: usize,
        /// How many there are.
        there: usize,
    },
    /// A device that is older than the code.
    #[error(
        "device {device} ({name}) is of generation {}.{}, and code is made for {}.{} and later ones",
        .has / 10, .has % 10, .needs / 10, .needs % 10
    )]
    Old {
        /// Its number.
        device: usize,
        /// Its name.
        name: String,
        /// Ten times its generation.
        has: u32,
        /// Ten times the oldest generation that there is code for.
        needs: u32,
    },
    /// The driver did not translate the code.
    #[error("the driver refuses the kernels ({error}): {log}")]
    Refused {
        /// The driver's name for the error.
        error: String,
        /// What its translator said.
        log: String,
    },
    /// Too little memory on the device.
    #[error("{what} needs {} on the device, of which {} are free", human(*.needed), human(*.free))]
    Memory {
        /// What needs it.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// A grid of more blocks than devices have.
    #[error("kernel `{kernel}` would need {blocks} blocks, more than devices start at once")]
    Blocks {
        /// The kernel.
        kernel: String,
        /// The blocks.
        blocks: i64,
    },
    /// An expression of the host that has no value.
    #[error("the host cannot start the kernels of `{function}`: {what}")]
    Plan {
        /// The function.
        function: String,
        /// Why.
        what: String,
    },
    /// Code that is damaged.
    #[error("the description of the kernels is damaged: {0}")]
    Damaged(String),
    /// A call of the driver that failed.
    #[error("the driver failed to {what}: {error}")]
    Call {
        /// What it was to do.
        what: &'static str,
        /// What it said.
        error: String,
    },
}
