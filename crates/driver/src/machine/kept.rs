//! Descriptions that processes keep for each other on disk.

use dastac_runtime::cache::Cache;
use dastac_target::file;
use serde::{Deserialize, Serialize};

use super::description::{Description, Measurement, Origin};
use super::{host, measure::measure};
use crate::Error;

/// What is measured, and how: a new number measures again.
const REVISION: u32 = 1;

/// A description in a file.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Seconds since 1970.
    at: u64,
    /// How long it took.
    milliseconds: u64,
    /// The machine, as text.
    machine: String,
}

fn key() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("machine, measurement {REVISION} of dastac {version}\n{}", host::identity())
}

/// The description of this computer that a folder holds; one that is damaged, or of another computer, is not there.
pub fn kept(cache: &Cache) -> Option<Description> {
    find(cache, &key())
}

fn find(cache: &Cache, key: &str) -> Option<Description> {
    let kept: Kept = serde_json::from_slice(&cache.find(key)?).ok()?;
    let machine = file::parse(&kept.machine).ok()?;
    let Kept { at, milliseconds, .. } = kept;
    Some(Description { machine, origin: Origin::Measured(Measurement { at, milliseconds }) })
}

/// Keeps a description that was measured.
pub fn keep(cache: &Cache, description: &Description) {
    store(cache, &key(), description);
}

fn store(cache: &Cache, key: &str, description: &Description) {
    if let Origin::Measured(Measurement { at, milliseconds }) = description.origin {
        let kept = Kept { at, milliseconds, machine: file::print(&description.machine) };
        // Plain data always has a form.
        cache.store(key, &serde_json::to_vec(&kept).unwrap_or_default());
    }
}

/// The description of this computer that a folder holds, or else a new one, which is kept there: of processes that
/// measure at the same time, all take what one of them keeps first. Nothing is measured for a folder that keeps
/// nothing, which would be measured again by each process.
///
/// # Errors
/// As [`measure`].
pub fn measured(cache: &Cache) -> Result<Description, Error> {
    if let Some(known) = kept(cache) {
        return Ok(known);
    }
    if !keeps(cache) {
        return Ok(Description::detected());
    }
    let new = measure()?;
    if let Some(known) = kept(cache) {
        return Ok(known);
    }
    keep(cache, &new);
    Ok(new)
}

/// Whether what is stored in a folder is there afterwards.
fn keeps(cache: &Cache) -> bool {
    let (key, value) = ("machine, is it kept?", b"yes");
    cache.store(key, value);
    cache.find(key).is_some_and(|found| found == value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dastac_loops::machine::Machine;

    #[test]
    fn descriptions_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("machines"), 1 << 20).unwrap();
        assert_eq!(find(&cache, "a"), None);
        let measurement = Measurement { at: 17, milliseconds: 400 };
        let machine = Machine { wake: 99, ..Machine::PLAIN }.with_threads(true);
        let description = Description { machine, origin: Origin::Measured(measurement) };
        store(&cache, "a", &description);
        assert_eq!(find(&cache, "a"), Some(description));
        assert_eq!(find(&cache, "b"), None);
        // What was never measured is not kept; what says nothing is not there.
        store(&cache, "b", &Description::detected());
        assert_eq!(find(&cache, "b"), None);
        assert!(keeps(&cache));
        assert!(!keeps(&Cache::at("/proc/machines".into(), 1 << 20).unwrap()));
        for damaged in ["", "{}", r#"{"at": 1, "milliseconds": 2, "machine": "l1 = 0"}"#] {
            cache.store("c", damaged.as_bytes());
            assert_eq!(find(&cache, "c"), None, "{damaged}");
        }
    }
}
