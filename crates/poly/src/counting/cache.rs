//! The cache of answers: in memory, and in files that later processes read.
//!
//! Invariants: a cache never fails, and never returns the answer to another question: files hold the whole key, their
//! own lengths and a checksum, and files that do not fit are ignored. A file is renamed when it is complete, so that
//! several processes can use one folder. The size of both is bounded.

use super::Config;
use super::question::Answer;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Bytes of keys and answers in memory.
const MAX_MEMORY: usize = 32 << 20;
/// Bytes of all files.
const MAX_DISK: u64 = 64 << 20;
/// Changes whenever questions, answers or files change their form.
const FORMAT: &str = "dastac counts 1";

#[derive(Debug, Default)]
pub(super) struct Cache {
    memory: Mutex<Memory>,
    /// Whether the folder was brought below its bound by this process.
    tidied: AtomicBool,
}

#[derive(Debug, Default)]
struct Memory {
    answers: HashMap<String, Answer>,
    /// Keys and their sizes, the oldest first.
    order: VecDeque<(String, usize)>,
    bytes: usize,
}

impl Cache {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        // The entries are right even if a thread panicked in between; at worst a size is not.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, key: &str, config: &Config, version: &str) -> Option<Answer> {
        if let Some(answer) = self.memory().answers.get(key) {
            return Some(answer.clone());
        }
        let text = fs::read_to_string(file(config.cache.as_deref()?, key, version)).ok()?;
        let answer = Answer::from_text(unwrapped(&text, key, version)?)?;
        self.remember(key, &answer, text.len());
        Some(answer)
    }

    /// Remembers an answer that took `time` to find.
    pub(super) fn store(
        &self,
        key: &str,
        answer: &Answer,
        time: Duration,
        config: &Config,
        version: &str,
    ) {
        let text = answer.to_text();
        self.remember(key, answer, key.len() + text.len());
        let Some(folder) = config.cache.as_deref().filter(|_| time >= config.cache_after) else {
            return;
        };
        // A failure here only makes a later run slower.
        let _ = write(&file(folder, key, version), &wrapped(&text, key, version));
        if !self.tidied.swap(true, Ordering::Relaxed) {
            tidy(folder, MAX_DISK);
        }
    }

    fn remember(&self, key: &str, answer: &Answer, size: usize) {
        let mut memory = self.memory();
        if size > MAX_MEMORY / 4 || memory.answers.contains_key(key) {
            return;
        }
        memory.bytes += size;
        memory.order.push_back((key.to_owned(), size));
        memory.answers.insert(key.to_owned(), answer.clone());
        while memory.bytes > MAX_MEMORY {
            let Some((oldest, size)) = memory.order.pop_front() else { return };
            memory.answers.remove(&oldest);
            memory.bytes -= size;
        }
    }
}

/// FNV-1a: the same in every version of the compiler and on every machine.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn file(folder: &Path, key: &str, version: &str) -> PathBuf {
    folder.join(format!("{:016x}.count", hash(&[FORMAT, version, key])))
}

/// `FORMAT`, the version, the lengths of both texts and a checksum; the key; the answer.
fn wrapped(answer: &str, key: &str, version: &str) -> String {
    let sum = hash(&[version, key, answer]);
    let lengths = format!("{} {} {sum:016x}", key.len(), answer.len());
    format!("{FORMAT}\n{version}\n{lengths}\n{key}\n{answer}")
}

/// The answer in a file's text, if it is whole and of this key and version.
fn unwrapped<'t>(text: &'t str, key: &str, version: &str) -> Option<&'t str> {
    // Three lines, the key, the answer.
    let rest = text.splitn(4, '\n').nth(3)?;
    let answer = rest.strip_prefix(key)?.strip_prefix('\n')?;
    (text == wrapped(answer, key, version)).then_some(answer)
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let own = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{own}.tmp", std::process::id()));
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // It may not even exist.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Deletes the oldest files of a folder until they take half of `limit`, if they take more than it; and what a process
/// that was killed left.
fn tidy(folder: &Path, limit: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let (path, Ok(data)) = (entry.path(), entry.metadata()) else { continue };
        let age = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("count") => files.push((age, data.len(), path)),
            Some("tmp") if age < hour_ago => {
                let _ = fs::remove_file(path);
            }
            // Not a file of the cache.
            _ => {}
        }
    }
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    if total <= limit {
        return;
    }
    files.sort_unstable();
    for (_, size, path) in files {
        if total <= limit / 2 {
            return;
        }
        // Another process may have deleted it.
        let _ = fs::remove_file(path);
        total -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &Path) -> Config {
        Config { cache: Some(folder.to_owned()), cache_after: Duration::ZERO, ..Config::default() }
    }

    fn answer(condition: &str) -> Answer {
        Answer::from_text(&format!("{condition}\t1 1/2 1 2 p p0\n")).unwrap()
    }

    #[test]
    fn files_are_found_by_the_next_process_and_only_with_the_same_version() {
        let dir = tempfile::tempdir().unwrap();
        let config = config(&dir.path().join("new"));
        Cache::default().store("key", &answer("p0 > 0"), Duration::ZERO, &config, "1");
        let next = Cache::default();
        assert_eq!(next.find("key", &config, "1"), Some(answer("p0 > 0")));
        assert_eq!(next.find("other", &config, "1"), None);
        assert_eq!(Cache::default().find("key", &config, "2"), None);
        let slow = Config { cache_after: Duration::from_secs(1), ..config.clone() };
        next.store("quick", &answer(""), Duration::ZERO, &slow, "1");
        assert_eq!(next.find("quick", &config, "1"), Some(answer("")));
        assert_eq!(Cache::default().find("quick", &config, "1"), None);
    }

    #[test]
    fn damaged_and_foreign_files_are_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path());
        Cache::default().store("key", &answer("p0 > 0"), Duration::ZERO, &config, "1");
        let path = file(dir.path(), "key", "1");
        let text = fs::read_to_string(&path).unwrap();
        let flipped = text.replace("1/2", "1/3");
        for damaged in ["", "garbage", &text[..text.len() - 3], &flipped, &(text.clone() + "x")] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(Cache::default().find("key", &config, "1"), None, "{damaged:?}");
        }
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert_eq!(Cache::default().find("key", &config, "1"), None);
        fs::write(&path, text).unwrap();
        assert_eq!(Cache::default().find("key", &config, "1"), Some(answer("p0 > 0")));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let config = config(&file.join("below"));
        let cache = Cache::default();
        cache.store("key", &answer(""), Duration::ZERO, &config, "1");
        assert_eq!(cache.find("key", &config, "1"), Some(answer("")));
        assert_eq!(Cache::default().find("key", &config, "1"), None);
    }

    #[test]
    fn the_folder_is_bounded_and_other_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        for k in 0..10 {
            fs::write(dir.path().join(format!("{k}.count")), [b'x'; 100]).unwrap();
        }
        fs::write(dir.path().join("notes.txt"), [b'x'; 5000]).unwrap();
        tidy(dir.path(), 1000);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 11);
        tidy(dir.path(), 900);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
        assert!(dir.path().join("notes.txt").exists());
    }

    #[test]
    fn memory_is_bounded() {
        let (cache, config) = (Cache::default(), Config::default());
        let long = "c".repeat(MAX_MEMORY / 8);
        for k in 0..20 {
            let (key, value) = (format!("{k}"), answer(&long));
            cache.store(&key, &value, Duration::ZERO, &config, "1");
        }
        let memory = cache.memory();
        assert!(memory.bytes <= MAX_MEMORY);
        assert_eq!(memory.answers.len(), memory.order.len());
        drop(memory);
        assert_eq!(cache.find("0", &config, "1"), None);
        assert_eq!(cache.find("19", &config, "1"), Some(answer(&long)));
    }

    #[test]
    fn processes_share_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for k in 0..50 {
                        let (cache, key) = (Cache::default(), format!("{}", k % 5));
                        cache.store(&key, &answer(&key), Duration::ZERO, &config, "1");
                        let found = Cache::default().find(&key, &config, "1");
                        assert_eq!(found, Some(answer(&key)));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
    }
}
