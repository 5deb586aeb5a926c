//! The caches of this computer, as Linux tells them.

use std::path::Path;

/// Bytes of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caches {
    /// The first level's, for data.
    pub l1: i64,
    /// The second level's.
    pub l2: i64,
    /// A core's part of the last level.
    pub last: i64,
}

impl Caches {
    /// What most processors have at least.
    pub const USUAL: Caches = Caches { l1: 32 << 10, l2: 512 << 10, last: 512 << 10 };

    /// Those of this computer's first core; usual ones in the place of what the system does not tell.
    pub fn of_host() -> Caches {
        Caches::in_folder(Path::new("/sys/devices/system/cpu/cpu0/cache"))
    }

    fn in_folder(folder: &Path) -> Caches {
        let mut known: Vec<Cache> =
            (0..8).filter_map(|at| Cache::read(&folder.join(format!("index{at}")))).collect();
        known.sort_by_key(|cache| cache.level);
        let of_level = |level| known.iter().find(|cache| cache.level == level);
        let bytes = |level, usual| of_level(level).map_or(usual, |cache| cache.bytes);
        let l1 = bytes(1, Caches::USUAL.l1);
        let l2 = bytes(2, Caches::USUAL.l2);
        // Threads of one core use its part together.
        let threads = of_level(1).map_or(1, |cache| cache.sharing);
        let last = known.last().filter(|cache| cache.level > 2);
        let part = last.map(|cache| cache.bytes / (cache.sharing / threads).max(1));
        Caches { l1, l2, last: part.unwrap_or(l2).max(l2) }
    }
}

/// A cache that holds data.
struct Cache {
    level: i64,
    bytes: i64,
    /// How many CPUs use it.
    sharing: i64,
}

impl Cache {
    fn read(folder: &Path) -> Option<Cache> {
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        if text("type")?.trim() == "Instruction" {
            return None;
        }
        let level = text("level")?.trim().parse().ok()?;
        let kilobytes: i64 = text("size")?.trim().strip_suffix('K')?.parse().ok()?;
        let sharing = text("shared_cpu_list").and_then(|list| count(list.trim()));
        let possible = (8..1 << 24).contains(&kilobytes);
        possible.then_some(Cache { level, bytes: kilobytes << 10, sharing: sharing.unwrap_or(1) })
    }
}

/// The number of CPUs in a list such as `0-3,8,10-11`.
fn count(list: &str) -> Option<i64> {
    let mut count = 0;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (i64, i64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        count += (last - first + 1).max(0);
    }
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_counted() {
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-3,8,10-11"), Some(7));
        assert_eq!(count(""), None);
        assert_eq!(count("a-b"), None);
    }

    #[test]
    fn a_part_of_the_last_cache_is_of_a_core() {
        let folder = std::env::temp_dir().join(format!("dastac-caches-{}", std::process::id()));
        let describe = |at: usize, [level, kind, size, shared]: [&str; 4]| {
            let folder = folder.join(format!("index{at}"));
            std::fs::create_dir_all(&folder).unwrap();
            let files =
                [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)];
            files.iter().for_each(|(name, text)| {
                std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
            });
        };
        assert_eq!(Caches::in_folder(&folder), Caches::USUAL);
        describe(0, ["1", "Data", "48K", "0,16"]);
        describe(1, ["1", "Instruction", "32K", "0,16"]);
        describe(2, ["2", "Unified", "2048K", "0,16"]);
        let two = Caches { l1: 48 << 10, l2: 2 << 20, last: 2 << 20 };
        assert_eq!(Caches::in_folder(&folder), two);
        describe(3, ["3", "Unified", "65536K", "0-31"]);
        assert_eq!(Caches::in_folder(&folder), Caches { last: 4 << 20, ..two });
        describe(3, ["3", "Unified", "many", "0-31"]);
        assert_eq!(Caches::in_folder(&folder), two);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
