//! A cache under damage, limits, other users' folders and many processes at once.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{Cache, Usage, file_of, value_of};

fn cache(folder: &tempfile::TempDir, limit: u64) -> Cache {
    Cache::at(folder.path().join("programs"), limit).unwrap()
}

fn files(cache: &Cache) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.folder()).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn values_are_found_by_their_whole_key() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder, 1 << 20);
    assert_eq!(cache.find("key"), None);
    assert!(!cache.folder().exists(), "nothing is made to look for something");
    cache.store("key", b"value");
    cache.store("", b"");
    cache.store("key", b"another");
    assert_eq!(cache.find("key").as_deref(), Some(&b"another"[..]));
    assert_eq!(cache.find("").as_deref(), Some(&b""[..]));
    assert_eq!(cache.find("ke"), None);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(cache.folder().to_owned()), 0o700);
    assert!(files(&cache).into_iter().all(|file| mode(file) == 0o600));
}

#[test]
fn damaged_and_foreign_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder, 1 << 20);
    cache.store("key", b"value");
    let path = cache.file("key");
    let bytes = fs::read(&path).unwrap();
    assert_eq!(value_of(&bytes, "key"), Some(&b"value"[..]));
    let mut damaged: Vec<Vec<u8>> = (0..bytes.len()).map(|at| bytes[..at].to_vec()).collect();
    damaged.extend((0..bytes.len()).map(|at| {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        flipped
    }));
    damaged.push([&bytes[..], b"x"].concat());
    damaged.push(file_of("another", b"value"));
    for one in damaged {
        fs::write(&path, &one).unwrap();
        assert_eq!(cache.find("key"), None, "{one:?}");
        assert!(!path.exists());
    }
    fs::create_dir(&path).unwrap();
    assert_eq!(cache.find("key"), None);
    cache.store("key", b"value");
    assert_eq!(cache.find("key"), None, "a folder is in its place, and nothing fails");
}

#[test]
fn what_was_not_read_for_the_longest_time_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let value = vec![7; 1000];
    let size = file_of("0", &value).len() as u64;
    let cache = cache(&folder, 10 * size);
    for at in 0..10 {
        cache.store(&at.to_string(), &value);
        let age = SystemTime::now() - Duration::from_secs(1000 - at);
        let file = fs::File::open(cache.file(&at.to_string())).unwrap();
        file.set_modified(age).unwrap();
    }
    assert_eq!(cache.usage().bytes, 10 * size);
    assert!(cache.find("0").is_some(), "it is the newest now");
    cache.store("more", &value);
    assert!(cache.usage().bytes <= 10 * size);
    assert!(cache.find("0").is_some() && cache.find("more").is_some());
    assert_eq!(cache.find("1"), None);
    cache.store("large", &vec![7; 20_000]);
    assert_eq!(cache.find("large"), None);
    assert!(cache.find("0").is_some(), "what cannot fit removes nothing");
}

#[test]
fn a_folder_that_others_may_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("programs");
    for (mode, fits) in [(0o700, true), (0o755, false), (0o770, false), (0o777, false)] {
        let _ = fs::create_dir(&path);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(Cache::at(path.clone(), 1000).is_ok(), fits, "{mode:o}");
    }
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Cache::at(file.clone(), 1000).is_err());
    // A folder that cannot be made is an empty one.
    if let Ok(cache) = Cache::at(file.join("below"), 1000) {
        cache.store("key", b"value");
        assert_eq!(cache.find("key"), None);
    }
}

#[test]
fn what_killed_processes_left_goes_and_other_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder, 1 << 20);
    cache.store("key", b"value");
    let [old, new, notes] = ["1-0.tmp", "2-0.tmp", "notes.txt"].map(|n| cache.folder().join(n));
    for file in [&old, &new, &notes] {
        fs::write(file, "part").unwrap();
    }
    let age = SystemTime::now() - Duration::from_secs(7200);
    fs::File::open(&old).unwrap().set_modified(age).unwrap();
    cache.store("another", b"value");
    assert!(!old.exists() && new.exists());
    cache.count(true);
    cache.count(false);
    cache.count(true);
    let Usage { entries, hits, misses, .. } = cache.usage();
    assert_eq!([entries, hits, misses], [2, 2, 1]);
    assert_eq!(cache.clear().unwrap().entries, 2);
    assert_eq!(cache.usage(), Usage::default());
    assert!(notes.exists());
}

#[test]
fn many_use_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder, 4000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for step in 0..200u8 {
                    let key = (step % 7).to_string();
                    let value = vec![step % 7; 500];
                    if let Some(found) = cache.find(&key) {
                        assert_eq!(found, value);
                    }
                    cache.store(&key, &value);
                }
            });
        }
    });
    assert!(cache.usage().bytes <= 4000);
    assert!(files(&cache).iter().all(|file| file.extension().unwrap() == "entry"));
}
