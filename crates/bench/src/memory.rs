//! The most memory that a process has at a time, from Linux' `/proc`.

use std::path::PathBuf;

/// Counts the memory of a process from some moment on.
pub(crate) struct Watch {
    process: u32,
    before: u64,
}

impl Watch {
    /// Begins to watch; nothing where the system does not tell.
    pub(crate) fn of(process: u32) -> Option<Watch> {
        if process == std::process::id() {
            crate::bindings::trim();
        }
        // 5 sets the high-water mark back to what is resident now.
        std::fs::write(folder(process).join("clear_refs"), "5").ok()?;
        Some(Watch { process, before: field(process, "VmRSS:")? })
    }

    /// Bytes that it had beyond those at the beginning, at most.
    pub(crate) fn peak(&self) -> Option<f64> {
        Some(field(self.process, "VmHWM:")?.saturating_sub(self.before) as f64)
    }
}

fn folder(process: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{process}"))
}

/// A line of a process's status, in bytes.
fn field(process: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(folder(process).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_again_counts() {
        let Some(watch) = Watch::of(std::process::id()) else { return };
        drop(std::hint::black_box(vec![1u8; 64 << 20]));
        let peak = watch.peak().unwrap();
        assert!(peak > f64::from(50 << 20), "{peak}");
    }
}
