//! What calls on a device took.

use std::time::Duration;

/// How long the parts of calls took, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTimes {
    /// Functions that were called.
    pub calls: usize,
    /// Kernels that were started.
    pub launches: usize,
    /// From before the first kernel of a call to after its last one, as the device measures it.
    pub kernels: Duration,
    /// Copies of arguments to the device.
    pub to_device: Duration,
    /// Copies of results to the host.
    pub to_host: Duration,
    /// Bytes that were copied to the device.
    pub bytes_to_device: u64,
    /// Bytes that were copied to the host.
    pub bytes_to_host: u64,
}

impl DeviceTimes {
    /// Adds those of other calls.
    pub(super) fn add(&mut self, other: DeviceTimes) {
        self.calls += other.calls;
        self.launches += other.launches;
        self.kernels += other.kernels;
        self.to_device += other.to_device;
        self.to_host += other.to_host;
        self.bytes_to_device += other.bytes_to_device;
        self.bytes_to_host += other.bytes_to_host;
    }
}
