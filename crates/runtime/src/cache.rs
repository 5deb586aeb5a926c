//! A folder of byte strings that processes keep for each other, by keys: compiled programs, and what is known of them.
//!
//! Invariants: a cache never fails, and never returns the value of another key: a file holds its whole key, its own
//! lengths and a checksum, and a file that does not fit, or is another user's, is not there. Files are renamed when
//! they are complete, so that any number of processes can use one folder and none sees a part of a file. Values are
//! code that will run, so the folder is its user's alone. The files together stay below a limit: those that nobody has
//! read for the longest time go first.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// What a file begins with. It changes whenever files change their form.
const MAGIC: &[u8; 16] = b"dastac cache 1\0\n";
/// The ending of files.
const ENDING: &str = "entry";
/// The file of counters.
const COUNTERS: &str = "counters";
/// The bits of a folder's mode that others than its user have.
const OTHERS: u32 = 0o077;

/// A folder with a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

/// What a cache holds, and how often it was of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of files.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How often a program was there.
    pub hits: u64,
    /// How often one was not.
    pub misses: u64,
}

impl Cache {
    /// A folder whose files take `limit` bytes at most. It need not be there: only its user may make it.
    ///
    /// # Errors
    /// A folder of another user, or that others may use; a path that is no folder.
    pub fn at(folder: PathBuf, limit: u64) -> io::Result<Cache> {
        match fs::metadata(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(found) if !found.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"));
            }
            Ok(found) if found.uid() != own_user() || found.mode() & OTHERS != 0 => {
                let text = "others than its user may read or write it, and it holds code";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
            }
            Ok(_) => {}
        }
        Ok(Cache { folder, limit })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many bytes files take at most.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The value of a key, if it is there.
    pub fn find(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.file(key);
        let mut file = File::open(&path).ok()?;
        match self.read(&mut file, key) {
            Some(value) => {
                // What was read last is removed last; a folder that cannot be written is read all the same.
                let _ = file.set_modified(SystemTime::now());
                Some(value)
            }
            None => {
                // It is damaged, foreign or another key's: it would be in the way.
                let _ = fs::remove_file(&path);
                None
            }
        }
    }

    fn read(&self, file: &mut File, key: &str) -> Option<Vec<u8>> {
        let found = file.metadata().ok()?;
        if !found.is_file() || found.uid() != own_user() || found.len() > self.limit {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(found.len()).ok()?);
        file.read_to_end(&mut bytes).ok()?;
        value_of(&bytes, key).map(<[u8]>::to_vec)
    }

    /// Keeps a value for later processes. A failure only makes these slower.
    pub fn store(&self, key: &str, value: &[u8]) {
        let bytes = file_of(key, value);
        if bytes.len() as u64 > self.limit || self.make_folder().is_err() {
            return;
        }
        if self.write(&self.file(key), &bytes).is_ok() {
            self.tidy();
        }
    }

    fn make_folder(&self) -> io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        if let Some(above) = self.folder.parent() {
            fs::create_dir_all(above)?;
        }
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Cache::at(self.folder.clone(), self.limit).map(drop)
            }
            made => made,
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let own = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{own}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        let written = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary);
        let written = written
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            // It may not even exist.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Counts a program that was there, or one that was not.
    pub fn count(&self, hit: bool) {
        // Two processes at once: one count is lost, which is no harm.
        let _ = self.counted(hit);
    }

    fn counted(&self, hit: bool) -> io::Result<()> {
        self.make_folder()?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(self.folder.join(COUNTERS))?;
        file.try_lock().map_err(io::Error::other)?;
        let [hits, misses] = counters(&mut file);
        let counters = [hits.wrapping_add(u64::from(hit)), misses.wrapping_add(u64::from(!hit))];
        file.seek(SeekFrom::Start(0))?;
        file.write_all(counters.map(u64::to_le_bytes).as_flattened())
    }

    /// What is there.
    pub fn usage(&self) -> Usage {
        let files = self.files();
        let counted = File::open(self.folder.join(COUNTERS));
        let [hits, misses] = counted.map_or([0; 2], |mut file| counters(&mut file));
        let bytes = files.iter().map(|file| file.bytes).sum();
        Usage { entries: files.len() as u64, bytes, hits, misses }
    }

    /// Removes all files, and returns what there was.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn clear(&self) -> io::Result<Usage> {
        let usage = self.usage();
        for file in self.files() {
            removed(&file.path)?;
        }
        removed(&self.folder.join(COUNTERS))?;
        Ok(usage)
    }

    /// Removes what was not read for the longest time until all files fit; and what a process that was killed left.
    fn tidy(&self) {
        let mut files = self.files();
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        if total <= self.limit {
            return;
        }
        files.sort_unstable_by_key(|file| file.used);
        // Some more goes, so that not every new file causes this.
        let enough = self.limit / 10 * 9;
        for file in files {
            if total <= enough {
                return;
            }
            // Another process may have removed it.
            let _ = fs::remove_file(&file.path);
            total -= file.bytes;
        }
    }

    /// All files of values. Removes what processes left that were killed long ago.
    fn files(&self) -> Vec<Kept> {
        let mut files = Vec::new();
        let Ok(entries) = fs::read_dir(&self.folder) else { return files };
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        for entry in entries.flatten() {
            let (path, Ok(data)) = (entry.path(), entry.metadata()) else { continue };
            let used = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(ENDING) => files.push(Kept { path, used, bytes: data.len() }),
                Some("tmp") if used < hour_ago => {
                    let _ = fs::remove_file(path);
                }
                // Not a file of the cache, or one that is being written.
                _ => {}
            }
        }
        files
    }

    fn file(&self, key: &str) -> PathBuf {
        let (one, other) = (hash(&[MAGIC, key.as_bytes()]), hash(&[key.as_bytes(), MAGIC]));
        self.folder.join(format!("{one:016x}{other:016x}.{ENDING}"))
    }
}

/// A file of a value.
struct Kept {
    path: PathBuf,
    /// When it was read or written last.
    used: SystemTime,
    bytes: u64,
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The numbers in the file of counters; zeros where it holds others.
fn counters(file: &mut File) -> [u64; 2] {
    let mut bytes = [0; 16];
    match file.read_exact(&mut bytes) {
        Ok(()) => {
            let (pairs, _) = bytes.as_chunks::<8>();
            [u64::from_le_bytes(pairs[0]), u64::from_le_bytes(pairs[1])]
        }
        Err(_) => [0; 2],
    }
}

/// Removes a file, if it is there.
fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The magic number, the lengths of key and value, both, and a checksum of all that.
fn file_of(key: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend((key.len() as u64).to_le_bytes());
    bytes.extend((value.len() as u64).to_le_bytes());
    bytes.extend(key.as_bytes());
    bytes.extend(value);
    bytes.extend(hash(&[&bytes]).to_le_bytes());
    bytes
}

/// The value in a file's bytes, if it is whole and of this key.
fn value_of<'b>(bytes: &'b [u8], key: &str) -> Option<&'b [u8]> {
    let (head, sum) = bytes.split_last_chunk::<8>()?;
    let rest = head.strip_prefix(MAGIC)?;
    let (key_length, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let value = rest.strip_prefix(key.as_bytes())?;
    let fits = u64::from_le_bytes(*key_length) == key.len() as u64
        && u64::from_le_bytes(*length) == value.len() as u64
        && u64::from_le_bytes(*sum) == hash(&[head]);
    fits.then_some(value)
}

/// FNV-1a with 64 bits, by words of eight bytes: the same on every machine.
fn hash(parts: &[&[u8]]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        let (words, rest) = part.as_chunks::<8>();
        let mut hash = step(hash, part.len() as u64);
        for word in words {
            hash = step(hash, u64::from_le_bytes(*word)).rotate_left(29);
        }
        rest.iter().fold(hash, |hash, byte| step(hash, u64::from(*byte)))
    })
}

#[cfg(test)]
mod tests;
