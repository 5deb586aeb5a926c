//! Compiled programs on disk: where they are, and `dastac cache`.

use dastac::elements::count;
use dastac::runtime::cache::{Cache, Usage};
use serde::Serialize;

use super::args::{CacheAction, CacheArgs};
use super::failure::Failure;
use super::output::stdout;
use super::source::reason;
use super::{Outcome, Result, Terminal, folders};

/// Says how many mebibytes they take at most.
const SIZE_VARIABLE: &str = "DASTAC_CACHE_SIZE";
/// What they take at most where that does not say it.
const MEBIBYTES: u64 = 512;

/// The cache of compiled programs, unless there is to be none; a note where it cannot be used.
pub fn open(terminal: &Terminal) -> Result<Option<Cache>> {
    match folder()? {
        None => Ok(None),
        Some(Ok(cache)) => Ok(Some(cache)),
        Some(Err(note)) => {
            terminal.renderer.note(&note);
            Ok(None)
        }
    }
}

/// The cache of compiled programs, unless there is to be none; why it cannot be used.
pub fn folder() -> Result<Option<std::result::Result<Cache, String>>> {
    let (Some(folder), limit) = (folders::programs(), limit()?) else { return Ok(None) };
    Ok(Some(Cache::at(folder.clone(), limit).map_err(|error| {
        let (folder, why) = (folder.display(), reason(&error));
        format!("compiled programs are not kept in `{folder}`: {why}")
    })))
}

fn limit() -> Result<u64> {
    let Some(text) = std::env::var_os(SIZE_VARIABLE) else { return Ok(MEBIBYTES << 20) };
    let size = text.to_str().and_then(|text| text.parse::<u32>().ok());
    let bad = || {
        let text = text.to_string_lossy();
        Failure::usage(format!("{SIZE_VARIABLE} must be a number of mebibytes, not `{text}`"))
    };
    Ok(u64::from(size.ok_or_else(bad)?) << 20)
}

/// What `dastac cache --json` prints.
#[derive(Serialize)]
struct Report {
    folder: Option<String>,
    entries: u64,
    bytes: u64,
    limit: u64,
    hits: u64,
    misses: u64,
}

/// Shows what is kept, or removes it.
pub fn cache(terminal: &Terminal, args: &CacheArgs) -> Result<Outcome> {
    let cache = open(terminal)?;
    let cleared = args.action == Some(CacheAction::Clear);
    let usage = match &cache {
        None => Usage::default(),
        Some(cache) if cleared => cache.clear().map_err(|error| {
            let folder = cache.folder().display();
            Failure::user(format!("cannot remove what is in `{folder}`: {}", reason(&error)))
        })?,
        Some(cache) => cache.usage(),
    };
    let Usage { entries, bytes, hits, misses } = usage;
    let folder = cache.as_ref().map(|cache| cache.folder().display().to_string());
    let limit = limit()?;
    let text = match (&folder, args.json) {
        (_, true) => {
            let report = Report { folder, entries, bytes, limit, hits, misses };
            let text = serde_json::to_string_pretty(&report);
            text.map_err(|error| Failure::Defect(error.to_string()))? + "\n"
        }
        (None, _) => "compiled programs are not kept\n".into(),
        (Some(folder), _) => {
            let (entries, size) = (count(entries, "file"), dastac::human(bytes));
            let limit = dastac::human(limit);
            match cleared {
                true => format!("{folder}\nremoved {entries}, {size}\n"),
                false => format!(
                    "{folder}\n{entries}, {size} of at most {limit}\n\
                     since it was cleared: {} from it, {misses} compiled\n",
                    count(hits, "run"),
                ),
            }
        }
    };
    stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}
