//! How much memory there is.

use std::path::Path;

use crate::error::{Error, Result};

/// Fewer bytes than these are not worth asking the system about, which takes longer than to use them.
const FEW: u128 = 1 << 20;

/// Fails when `needed` bytes, if these are not few, are more than what is available.
///
/// # Errors
/// Too little memory for `what`.
pub fn check_memory(what: &str, needed: u128) -> Result<()> {
    if needed < FEW {
        return Ok(());
    }
    let available = available_memory();
    if needed > u128::from(available) {
        return Err(Error::TooMuch { what: what.into(), needed, available });
    }
    Ok(())
}

/// Bytes that can be allocated without swapping, by the kernel's estimate, within what the control groups of this
/// process leave it.
pub fn available_memory() -> u64 {
    of_machine().min(of_groups(Path::new("/sys/fs/cgroup"), Path::new("/proc/self/cgroup")))
}

fn of_machine() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}

/// What the limits of control groups leave: the least of those of the process's group and all groups around it, in
/// the second version's files or the first one's. Pages of files that can be dropped count as free.
fn of_groups(root: &Path, list: &Path) -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let number = |path: &Path| read(path).trim().parse::<u64>().ok();
    let mut least = u64::MAX;
    for line in read(list).lines() {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next(), fields.next(), fields.next());
        let (Some(controllers), Some(group)) = (controllers, group) else { continue };
        let (root, [limit, used]) = match controllers {
            "" => (root.to_path_buf(), ["memory.max", "memory.current"]),
            list if list.split(',').any(|name| name == "memory") => {
                (root.join("memory"), ["memory.limit_in_bytes", "memory.usage_in_bytes"])
            }
            _ => continue,
        };
        // In a container the group's own folder is the root, whatever the list calls it.
        let own = root.join(group.trim_start_matches('/'));
        for folder in own.ancestors().take_while(|folder| folder.starts_with(&root)) {
            let Some(limit) = number(&folder.join(limit)) else { continue };
            let used = number(&folder.join(used)).unwrap_or(0);
            let stat = read(&folder.join("memory.stat"));
            let droppable = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
            let droppable = droppable.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
            least = least.min(limit.saturating_sub(used.saturating_sub(droppable)));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::of_groups;

    #[test]
    fn limits_of_groups() {
        let folder = tempfile::tempdir().unwrap();
        let (root, list) = (folder.path().join("root"), folder.path().join("list"));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        std::fs::write(&list, "0::/a/b\n").unwrap();
        assert_eq!(of_groups(&root, &list), u64::MAX);
        write("a/memory.max", "1000\n");
        write("a/memory.current", "300\n");
        write("a/b/memory.max", "max\n");
        assert_eq!(of_groups(&root, &list), 700);
        write("a/memory.stat", "anon 50\ninactive_file 200\n");
        assert_eq!(of_groups(&root, &list), 900);
        write("a/b/memory.max", "100\n");
        write("a/b/memory.current", "500\n");
        assert_eq!(of_groups(&root, &list), 0);
        std::fs::write(&list, "4:cpu,memory:/x\n").unwrap();
        write("memory/x/memory.limit_in_bytes", "50");
        write("memory/x/memory.usage_in_bytes", "20");
        assert_eq!(of_groups(&root, &list), 30);
    }
}
