//! Compiled programs that processes keep for each other in a [`Cache`].
//!
//! Four kinds of values: the extents of a program's tensors, by its text; the code of its computation, also by all that
//! decides how it is compiled; code that moves some of its tensors; and what is counted at sizes, for reports.
//! Together they let a program run again after nothing but parsing it.
//!
//! Invariant: a key holds everything that its value depends on, in full, down to the compiler itself. Values are read
//! with the same checks as files of compiled programs; what does not pass is not there.

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use dastac_loops::json;
use dastac_runtime::Movement;
use dastac_runtime::cache::Cache;
use dastac_runtime::package::{Moving, Origin, Package};
use dastac_sched::Moving as Moved;
use dastac_stur::ast::Span;
use dastac_stur::infer::INFERRED_WARNINGS;
use dastac_stur::{Diagnostic, Program, TensorId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::build::BuildOptions;
use crate::contract::{Expanded, Sizes, Stepped, depends_on_rounded_sizes, depends_on_sizes};
use crate::describe;
use crate::driver::{Analysis, Built, Iteration};
use crate::workspaces::{self, UsedWorkspace};
use crate::{Error, Side};

/// Variables of the environment that decide which sets can be counted, and by what.
const VARIABLES: [&str; 4] =
    ["DASTAC_COUNTER", "DASTAC_COUNT_SECONDS", "DASTAC_COUNT_MEMORY", "DASTAC_ISL_DIR"];

/// A program whose structure was inferred before: as much as is needed to find its code.
#[derive(Clone, Debug)]
pub struct Known {
    /// The program, as it is written.
    pub program: Program,
    /// Its warnings.
    pub warnings: Vec<Diagnostic>,
    extents: Extents,
}

/// For each tensor and dimension the symbol that its extent tells, if it tells one.
type Extents = Vec<Vec<Option<Side<String>>>>;

/// A warning that only inference finds.
#[derive(Serialize, Deserialize)]
struct Warning {
    code: String,
    message: String,
    /// Where labels begin and end, and their texts.
    labels: Vec<(usize, usize, String)>,
    hint: Option<String>,
}

impl Warning {
    fn of(warning: &Diagnostic) -> Warning {
        let label = |(span, text): &(Span, String)| (span.start, span.end, text.clone());
        Warning {
            code: warning.code.to_owned(),
            message: warning.message.clone(),
            labels: warning.labels.iter().map(label).collect(),
            hint: warning.hint.clone(),
        }
    }

    /// The warning, if it is one about this text.
    fn read(self, text: &str) -> Option<Diagnostic> {
        let code = INFERRED_WARNINGS.into_iter().find(|code| *code == self.code)?;
        let label =
            |(start, end, label)| text.get(start..end).map(|_| (Span { start, end }, label));
        let labels: Vec<_> = self.labels.into_iter().map(label).collect::<Option<_>>()?;
        let (span, label) = labels.first().cloned()?;
        let warning = Diagnostic::warning(code, self.message, span, label);
        Some(Diagnostic { labels, hint: self.hint, ..warning })
    }
}

impl Known {
    /// A program that was kept.
    pub fn find(cache: &Cache, text: &str) -> Option<Known> {
        let (extents, kept): (Extents, Vec<Warning>) = from_json(&cache.find(&text_key(text))?)?;
        let (program, mut warnings) = dastac_stur::load(text).ok()?;
        let inferred = kept.into_iter().map(|warning| warning.read(text));
        warnings.extend(inferred.collect::<Option<Vec<_>>>()?);
        warnings.sort_by_key(Diagnostic::place);
        let fits = extents.len() == program.tensors.len();
        fits.then_some(Known { program, warnings, extents })
    }

    /// Keeps what is known of a program, before its products are cut into steps, with the warnings that only inference
    /// finds.
    pub fn store(cache: &Cache, analysis: &Analysis) {
        let program = &analysis.inferred.program;
        let (inferred, checked): (Vec<Diagnostic>, Vec<Diagnostic>) = analysis
            .warnings
            .iter()
            .cloned()
            .partition(|one| INFERRED_WARNINGS.contains(&one.code));
        let warned = dastac_stur::load(&program.source).map(|(_, warnings)| warnings);
        if warned.is_ok_and(|warnings| warnings == checked) {
            let of = |id: TensorId| {
                let sides = 0..program.tensor(id).rank;
                sides.map(|dimension| Side::of(&analysis.inferred, id, dimension)).collect()
            };
            let extents: Extents = program.tensor_ids().map(of).collect();
            let warnings: Vec<Warning> = inferred.iter().map(Warning::of).collect();
            cache.store(&text_key(&program.source), &to_json(&(extents, warnings)));
        }
    }

    /// The symbol that the extent of a tensor's dimension tells, if it tells one.
    pub fn extent(&self, tensor: TensorId, dimension: usize) -> Option<Side<String>> {
        self.extents.get(tensor.0)?.get(dimension)?.clone()
    }
}

/// What a computation is kept by.
#[derive(Clone, Debug)]
pub struct Key(String);

impl Key {
    /// The key of a program with its schedules, compiled with these options, and at these sizes where they decide.
    pub fn of(
        program: &Program,
        options: &BuildOptions,
        iteration: Iteration,
        sizes: &Sizes,
    ) -> Key {
        let machine = options.machine(&options.code());
        let mut key = format!("code\n{options:?}\n{machine:?}\n{iteration:?}\n");
        if depends_on_sizes(program) {
            let _ = writeln!(key, "{sizes:?}");
        }
        if depends_on_rounded_sizes(program) {
            let _ = writeln!(key, "{:?} {:?}", sizes.rounded(), workspaces::machine());
        }
        let schedule = program.schedule_line().unwrap_or_default();
        let _ = writeln!(key, "{schedule}");
        Key(key + &text_key(&program.source))
    }

    /// Whether code of this computation is kept for some sizes alone. This key is that of code for all sizes.
    pub fn has_sized(&self, cache: &Cache) -> bool {
        cache.find(&self.sized()).is_some()
    }

    /// Notes that code for some sizes is kept.
    pub fn note_sized(&self, cache: &Cache) {
        cache.store(&self.sized(), b"code for some sizes");
    }

    fn sized(&self) -> String {
        format!("sized\n{}", self.0)
    }

    fn moving(&self, wanted: &[Moved]) -> String {
        format!("movement {wanted:?}\n{}", self.0)
    }

    fn counts(&self, symbols: &[i64]) -> String {
        format!("counts {symbols:?}\n{}", self.0)
    }
}

/// A computation that was kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The program with the code of its computation; code that moves tensors is not part of it.
    pub package: Package,
    /// The workspaces of its results.
    pub workspaces: Vec<UsedWorkspace>,
}

impl Kept {
    /// What was just compiled.
    ///
    /// # Errors
    /// Sizes that cannot be described.
    pub fn of(built: &Built) -> Result<Kept, Error> {
        let program = built.written();
        let package = Package {
            program: describe::program(built)?,
            origin: Origin { text: program.source.clone(), schedule: program.schedule_line() },
            kernel: built.code.clone(),
            movement: None,
        };
        Ok(Kept { package, workspaces: built.lowered.workspaces() })
    }

    /// The computation with a key, if it is there.
    pub fn find(cache: &Cache, key: &Key) -> Option<Kept> {
        let bytes = cache.find(&key.0)?;
        let (text, rest) = split(&bytes)?;
        let package = Package::from_bytes(rest).ok()?;
        Some(Kept { package, workspaces: from_json(text)? })
    }

    /// Keeps it.
    pub fn store(&self, cache: &Cache, key: &Key) {
        if let Ok(bytes) = self.package.to_bytes() {
            cache.store(&key.0, &joined(&to_json(&self.workspaces), &bytes));
        }
    }
}

/// The code that moves these tensors in a computation with that key, loaded, if it is there.
pub fn find_moving(cache: &Cache, key: &Key, wanted: &[Moved]) -> Option<Movement> {
    let bytes = cache.find(&key.moving(wanted))?;
    let (text, code) = split(&bytes)?;
    let mut moving: Moving = from_json(text)?;
    moving.code.code.bytes = code.to_vec();
    moving.load().ok()
}

/// Keeps code that moves tensors.
pub fn store_moving(cache: &Cache, key: &Key, wanted: &[Moved], moving: &Moving) {
    let value = joined(&to_json(moving), &moving.code.code.bytes);
    cache.store(&key.moving(wanted), &value);
}

/// How much is computed at some sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Floating-point operations of one run, if they can be counted.
    pub flops: Option<u128>,
    /// Rules with products in steps.
    pub steps: Vec<Stepped>,
    /// Operands that are read from copies with all of their elements.
    pub expanded: Vec<Expanded>,
}

impl Counts {
    /// Counts.
    pub fn of(analysis: &Analysis, symbols: &[i64]) -> Counts {
        Counts {
            flops: analysis.flops(symbols),
            steps: analysis.stepped(symbols),
            expanded: analysis.expanded(),
        }
    }

    /// What was counted before.
    pub fn find(cache: &Cache, key: &Key, symbols: &[i64]) -> Option<Counts> {
        from_json(&cache.find(&key.counts(symbols))?)
    }

    /// Keeps it.
    pub fn store(&self, cache: &Cache, key: &Key, symbols: &[i64]) {
        cache.store(&key.counts(symbols), &to_json(self));
    }
}

/// What is kept by a program's text alone.
fn text_key(text: &str) -> String {
    format!("{}\n{text}", compiler())
}

/// The compiler: its version, its file, and what it finds at run time. A file that was written anew is another one.
fn compiler() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut text = format!(
            "dastac {} with LLVM {}\n",
            env!("CARGO_PKG_VERSION"),
            dastac_backend::llvm_version()
        );
        let file = own_file().and_then(|path| path.metadata());
        if let Ok(file) = file {
            let written = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
            let _ = writeln!(text, "{} {} {} {written:?}", file.dev(), file.ino(), file.len());
        }
        for name in VARIABLES {
            let _ = writeln!(text, "{name} {:?}", std::env::var_os(name));
        }
        text
    })
}

/// The file that this code stands in: the program, or a library that another program loaded.
fn own_file() -> io::Result<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let found = file_at(&maps, own_file as fn() -> io::Result<PathBuf> as usize);
    found.map_or_else(std::env::current_exe, Ok)
}

/// The file that is mapped where an address is, by lines such as `7f00-7f0f r-xp 00000000 fe:00 12  /usr/lib/a.so`.
fn file_at(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (first, end) = line.split_whitespace().next()?.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).ok();
        let within = (bound(first)?..bound(end)?).contains(&address);
        let file = line.find('/').filter(|_| within)?;
        Some(PathBuf::from(&line[file..]))
    })
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    // Plain data of texts and numbers: it always has a form, and an empty one is not read.
    serde_json::to_vec(value).unwrap_or_default()
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    json::from_slice(bytes).ok()
}

/// The length of a text, the text, and other bytes.
fn joined(text: &[u8], rest: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text, rest].concat()
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{file_at, own_file};

    #[test]
    fn the_file_of_code_is_found_by_its_address() {
        let maps = "1000-2000 r--p 0 fe:00 12    /usr/bin/python\n\
                    3000-4000 r-xp 0 fe:00 13    /usr/lib/a module.so\n\
                    5000-6000 rw-p 0 00:00 0\n";
        assert_eq!(file_at(maps, 0x3fff).as_deref(), Some(Path::new("/usr/lib/a module.so")));
        assert_eq!(file_at(maps, 0x4000), None);
        assert_eq!(file_at(maps, 0x5000), None);
        let own = std::env::current_exe().unwrap();
        assert_eq!(own_file().unwrap(), own);
    }
}
