//! The folders in which processes keep things for each other.

use std::ffi::OsString;
use std::path::PathBuf;

use dastac::runtime::cache::Cache;

/// Names the folder above all of them; nothing or `off` for none.
const FOLDER_VARIABLE: &str = "DASTAC_CACHE_DIR";
/// The folder of compiled programs in the folder of caches.
const PROGRAMS: &str = "programs";
/// That of descriptions of machines, which stay when programs are removed.
const MACHINES: &str = "machines";
/// What descriptions take at most.
const MACHINE_BYTES: u64 = 1 << 20;

/// The folder of compiled programs, unless there is to be none.
pub fn programs() -> Option<PathBuf> {
    folder(PROGRAMS)
}

/// The cache of descriptions of machines, unless there is to be none; an error where it cannot be used.
pub fn machines() -> Option<std::io::Result<Cache>> {
    folder(MACHINES).map(|folder| Cache::at(folder, MACHINE_BYTES))
}

/// A folder in that of caches, if there is to be one.
fn folder(name: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name);
    let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let above = match variable(FOLDER_VARIABLE) {
        Some(off) if off.is_empty() || off == "off" => return None,
        Some(folder) => PathBuf::from(folder),
        None => {
            let own = variable("XDG_CACHE_HOME").and_then(absolute);
            let home = || variable("HOME").and_then(absolute).map(|home| home.join(".cache"));
            own.or_else(home)?.join("dastac")
        }
    };
    Some(above.join(name))
}
