//! How much memory there is.

use crate::error::{Error, Result};

/// Fails when `needed` bytes are more than what is available.
///
/// # Errors
/// Too little memory for `what`.
pub fn check_memory(what: &str, needed: u128) -> Result<()> {
    let available = available_memory();
    if needed > u128::from(available) {
        return Err(Error::TooMuch { what: what.into(), needed, available });
    }
    Ok(())
}

/// Bytes that can be allocated without swapping, by the kernel's estimate.
pub fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}
