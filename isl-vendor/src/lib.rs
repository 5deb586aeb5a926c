//! Finds and loads isl (and Barvinok, when it is there) at run time, and holds the raw bindings.
//! Nothing here is safe to call without isl's reference-count rules in mind; `dastac-poly` is the
//! safe face of it.
//!
//! The libraries are *loaded*, never linked: MLIR is linked statically into the final binary and
//! brings an older, internal copy of isl with the same symbol names. A linked isl would silently
//! bind to that copy. Invariants:
//!
//! - There is one isl in use per process ([`get`]), and it is at least version 0.27.
//! - [`Barvinok`], if present, calls into that same isl (checked by comparing addresses).
//! - A library that is missing, too old or mismatched is a [`LoadError`], never a crash.
#![allow(unsafe_code)] // Loading shared libraries and calling C is what this crate is for.

use std::{
    env,
    ffi::{CStr, OsStr, c_char},
    path::{Path, PathBuf},
    sync::OnceLock,
};

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unsafe_op_in_unsafe_fn,
    dead_code,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]
#[rustfmt::skip]
mod bindings;

pub use bindings::*;

/// The environment variable that names the only folder to look in.
pub const DIR_VARIABLE: &str = "DASTAC_ISL_DIR";

/// The oldest isl that has every function in the table.
const MIN_VERSION: (u32, u32) = (0, 27);

/// Why isl or Barvinok could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// No library of this name in any of the places.
    #[error("{library} not found; looked in {}; {ADVICE}", looked.join(", "))]
    NotFound {
        /// `libisl` or `libbarvinok`.
        library: &'static str,
        /// The places, in the order of search.
        looked: Vec<String>,
    },
    /// A file is there, but the system's loader refuses it.
    #[error("cannot load {path}: {cause}; {ADVICE}")]
    Unloadable {
        /// The file.
        path: String,
        /// The loader's words.
        cause: String,
    },
    /// An isl before 0.27.
    #[error("{path} is {version}, but isl 0.27 or newer is needed; {ADVICE}")]
    TooOld {
        /// The file.
        path: String,
        /// What `isl_version()` answers.
        version: String,
    },
    /// The library loads, but is not the one the bindings were made for.
    #[error("{path} does not fit: {cause}; {ADVICE}")]
    Mismatched {
        /// The file.
        path: String,
        /// What does not fit.
        cause: String,
    },
}

const ADVICE: &str =
    "run `./x setup`, or set DASTAC_ISL_DIR to the folder that holds libisl and libbarvinok";

/// The loaded libraries.
pub struct Library {
    /// isl's functions.
    pub isl: Isl,
    /// Where isl was found.
    pub isl_path: String,
    barvinok: Result<Barvinok, LoadError>,
}

impl Library {
    /// Barvinok's functions, or why counting is not possible.
    pub fn barvinok(&self) -> Result<&Barvinok, LoadError> {
        self.barvinok.as_ref().map_err(Clone::clone)
    }

    /// What isl says of itself, such as `isl-0.27-GMP`.
    pub fn version(&self) -> String {
        // SAFETY: isl_version returns a static string.
        unsafe { version_text(self.isl.isl_version()) }
    }
}

/// Barvinok's counting functions. Not thread-safe: callers hold one lock around every call, and
/// make sure that isl raises no error inside (Barvinok dereferences null then).
pub struct Barvinok {
    /// Number of points of a set, as a function of the parameters.
    pub isl_set_card: unsafe extern "C" fn(*mut isl_set) -> *mut isl_pw_qpolynomial,
    /// Number of images of each domain point of a map.
    pub isl_map_card: unsafe extern "C" fn(*mut isl_map) -> *mut isl_pw_qpolynomial,
    /// The same for a union of maps.
    pub isl_union_map_card:
        unsafe extern "C" fn(*mut isl_union_map) -> *mut isl_union_pw_qpolynomial,
    /// Sum of a quasi-polynomial over its domain.
    pub isl_pw_qpolynomial_sum:
        unsafe extern "C" fn(*mut isl_pw_qpolynomial) -> *mut isl_pw_qpolynomial,
    /// Keeps the functions above valid.
    _library: libloading::Library,
}

/// The process's isl, loaded on the first call.
pub fn get() -> Result<&'static Library, LoadError> {
    static LIBRARY: OnceLock<Result<Library, LoadError>> = OnceLock::new();
    LIBRARY.get_or_init(|| load(&places())).as_ref().map_err(Clone::clone)
}

/// Where to look for the libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this folder.
    Folder(PathBuf),
    /// Wherever the system's loader looks.
    System,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Folder(path) => write!(f, "{}", path.display()),
            Place::System => write!(f, "the system's loader path"),
        }
    }
}

/// A folder in which a program knows the libraries to be.
static KNOWN: OnceLock<PathBuf> = OnceLock::new();

/// Has [`get`] look in this folder first, unless [`DIR_VARIABLE`] names another one. The first folder that is given
/// counts, and it must be given before isl is used.
pub fn look_in(folder: PathBuf) {
    let _ = KNOWN.set(folder);
}

/// The places where [`get`] looks, in order.
pub fn places() -> Vec<Place> {
    if let Some(dir) = env::var_os(DIR_VARIABLE).filter(|dir| !dir.is_empty()) {
        return vec![Place::Folder(dir.into())];
    }
    let mut places: Vec<Place> = KNOWN.get().cloned().map(Place::Folder).into_iter().collect();
    if let Some(dir) = env::current_exe().ok().as_deref().and_then(Path::parent) {
        places.push(Place::Folder(dir.join("lib")));
        places.push(Place::Folder(dir.join("../lib/dastac")));
    }
    places.push(Place::Folder(Path::new(env!("CARGO_MANIFEST_DIR")).join("lib")));
    places.push(Place::System);
    places
}

/// Loads isl from the first of the places that has one, and Barvinok from the same place.
pub fn load(places: &[Place]) -> Result<Library, LoadError> {
    for place in places {
        let Some((library, path)) = open(place, "libisl")? else { continue };
        let version_address = check_version(&library, &path)?;
        check_no_other_isl(&path, version_address)?;
        // SAFETY: the types in the table are those of isl 0.27's headers, and the version was
        // checked.
        let isl =
            unsafe { Isl::from_library(library) }.map_err(|missing| LoadError::Mismatched {
                path: path.clone(),
                cause: format!("a function is missing ({missing})"),
            })?;
        let barvinok = load_barvinok(place, version_address);
        return Ok(Library { isl, isl_path: path, barvinok });
    }
    Err(LoadError::NotFound {
        library: "libisl",
        looked: places.iter().map(Place::to_string).collect(),
    })
}

fn load_barvinok(place: &Place, isl_version: usize) -> Result<Barvinok, LoadError> {
    let Some((library, path)) = open(place, "libbarvinok")? else {
        return Err(LoadError::NotFound {
            library: "libbarvinok",
            looked: vec![place.to_string()],
        });
    };
    // The symbol is looked up in libbarvinok and in what it depends on, so this is the isl that
    // Barvinok calls.
    if symbol_address(&library, c"isl_version") != Some(isl_version) {
        return Err(LoadError::Mismatched {
            path,
            cause: "it uses another libisl than the loaded one".into(),
        });
    }
    let missing = |error: libloading::Error| LoadError::Mismatched {
        path: path.clone(),
        cause: format!("a function is missing ({error})"),
    };
    // SAFETY: the types are those that barvinok/isl.h declares; the library is kept beside the
    // pointers.
    unsafe {
        Ok(Barvinok {
            isl_set_card: *library.get(c"isl_set_card").map_err(missing)?,
            isl_map_card: *library.get(c"isl_map_card").map_err(missing)?,
            isl_union_map_card: *library.get(c"isl_union_map_card").map_err(missing)?,
            isl_pw_qpolynomial_sum: *library.get(c"isl_pw_qpolynomial_sum").map_err(missing)?,
            _library: library,
        })
    }
}

/// Opens the library called `name` at a place: `None` if there is none, an error if there is one
/// that does not load.
fn open(place: &Place, name: &str) -> Result<Option<(libloading::Library, String)>, LoadError> {
    match place {
        Place::Folder(folder) => {
            let Some(path) = find(folder, name) else { return Ok(None) };
            match dlopen(path.as_os_str()) {
                Ok(library) => Ok(Some((library, path.display().to_string()))),
                Err(error) => Err(LoadError::Unloadable {
                    path: path.display().to_string(),
                    cause: error.to_string(),
                }),
            }
        }
        Place::System => {
            let names = [format!("{name}.so.23"), format!("{name}.so"), format!("{name}.dylib")];
            Ok(names
                .into_iter()
                .find_map(|name| dlopen(OsStr::new(&name)).ok().map(|library| (library, name))))
        }
    }
}

/// The file in `folder` called `NAME.so*`, `NAME-HASH.so*` or `NAME.dylib` (the last in order, if
/// there are several).
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let file = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let rest = file.strip_prefix(name).unwrap_or_default();
            (rest.starts_with('-') || rest.starts_with('.'))
                && (rest.ends_with(".so") || rest.contains(".so.") || rest.ends_with(".dylib"))
        })
        .collect();
    found.sort();
    found.pop()
}

#[cfg(unix)]
fn dlopen(file: &OsStr) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: isl and Barvinok have no constructors that depend on anything of ours.
    unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL).map(Into::into) }
}

#[cfg(not(unix))]
fn dlopen(file: &OsStr) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: isl and Barvinok have no constructors that depend on anything of ours.
    unsafe { libloading::Library::new(file) }
}

fn symbol_address(library: &libloading::Library, name: &CStr) -> Option<usize> {
    // SAFETY: only the address is used.
    let symbol = unsafe { library.get::<unsafe extern "C" fn() -> *const c_char>(name) };
    symbol.ok().map(|function| *function as usize)
}

/// Checks the version before the table of functions, so that an old isl is called old, not
/// incomplete.
fn check_version(library: &libloading::Library, path: &str) -> Result<usize, LoadError> {
    // SAFETY: isl_version has had this type in every isl.
    let function =
        unsafe { library.get::<unsafe extern "C" fn() -> *const c_char>(c"isl_version") };
    let function = function.map_err(|_| LoadError::Mismatched {
        path: path.to_owned(),
        cause: "it has no function isl_version, so it is not isl".into(),
    })?;
    // SAFETY: isl_version returns a static string.
    let version = unsafe { version_text(function()) };
    match parse_version(&version) {
        Some(found) if found >= MIN_VERSION => Ok(*function as usize),
        _ => Err(LoadError::TooOld { path: path.to_owned(), version }),
    }
}

/// A second isl with *exported* symbols (linked into the executable, say) would capture the calls
/// of libbarvinok.
#[cfg(unix)]
fn check_no_other_isl(path: &str, isl_version: usize) -> Result<(), LoadError> {
    let process: libloading::Library = libloading::os::unix::Library::this().into();
    match symbol_address(&process, c"isl_version") {
        Some(other) if other != isl_version => Err(LoadError::Mismatched {
            path: path.to_owned(),
            cause: "this program exports another isl, which would be called in its stead".into(),
        }),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_no_other_isl(_: &str, _: usize) -> Result<(), LoadError> {
    Ok(())
}

/// # Safety
/// `text` is null or a C string that stays valid for the call.
unsafe fn version_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
}

/// `isl-0.27-GMP` -> `(0, 27)`
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.strip_prefix("isl-")?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(path: &Path) -> [Place; 1] {
        [Place::Folder(path.to_owned())]
    }

    #[test]
    fn the_version_is_recent_and_barvinok_is_there() {
        let library = get().unwrap();
        assert!(parse_version(&library.version()).unwrap() >= MIN_VERSION, "{}", library.version());
        assert!(library.barvinok().is_ok(), "{}", library.barvinok().err().unwrap());
    }

    #[test]
    fn a_missing_library_says_where_it_looked_and_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let error = load(&folder(&dir.path().join("none"))).err().unwrap().to_string();
        assert!(error.starts_with("libisl not found; looked in "), "{error}");
        assert!(
            error.contains("none") && error.contains("./x setup") && error.contains(DIR_VARIABLE),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("libisl.so.23"), "not a library").unwrap();
        let error = load(&folder(dir.path())).err().unwrap();
        assert!(
            matches!(&error, LoadError::Unloadable { path, .. } if path.ends_with("libisl.so.23")),
            "{error}"
        );
        assert!(error.to_string().contains("./x setup"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn another_library_under_isls_name_does_not_fit() {
        let dir = tempfile::tempdir().unwrap();
        let isl = PathBuf::from(&get().unwrap().isl_path);
        let gmp = find(isl.parent().unwrap(), "libgmp").unwrap();
        fs::copy(gmp, dir.path().join("libisl.so")).unwrap();
        let error = load(&folder(dir.path())).err().unwrap();
        assert!(matches!(error, LoadError::Mismatched { .. }), "{error}");
    }

    #[test]
    fn isl_alone_loads_and_says_that_barvinok_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let isl = PathBuf::from(&get().unwrap().isl_path);
        for name in ["libisl", "libgmp"] {
            let file = find(isl.parent().unwrap(), name).unwrap();
            fs::copy(&file, dir.path().join(file.file_name().unwrap())).unwrap();
        }
        let library = load(&folder(dir.path())).unwrap();
        let error = library.barvinok().err().unwrap().to_string();
        assert!(error.starts_with("libbarvinok not found; looked in "), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_old_isl_is_called_old() {
        // gcc brings one on many systems; elsewhere there is nothing to see.
        let Some(file) = find(Path::new("/usr/lib/x86_64-linux-gnu"), "libisl") else { return };
        let dir = tempfile::tempdir().unwrap();
        fs::copy(file, dir.path().join("libisl.so.23")).unwrap();
        match load(&folder(dir.path())) {
            Ok(library) => assert!(parse_version(&library.version()).unwrap() >= MIN_VERSION),
            Err(LoadError::TooOld { version, .. }) => {
                assert!(parse_version(&version).unwrap() < MIN_VERSION);
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn the_variable_names_the_only_place() {
        let dir = tempfile::tempdir().unwrap();
        if env::var_os("ISL_VENDOR_TEST_CHILD").is_some() {
            let named = PathBuf::from(env::var_os(DIR_VARIABLE).unwrap());
            assert_eq!(places(), [Place::Folder(named.clone())]);
            let looked = vec![named.display().to_string()];
            assert_eq!(get().err(), Some(LoadError::NotFound { library: "libisl", looked }));
            return;
        }
        let output = std::process::Command::new(env::current_exe().unwrap())
            .args(["--exact", "tests::the_variable_names_the_only_place"])
            .env("ISL_VENDOR_TEST_CHILD", "1")
            .env(DIR_VARIABLE, dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(parse_version("isl-0.27-GMP"), Some((0, 27)));
        assert!(parse_version("isl-0.25-IMath-32").unwrap() < MIN_VERSION);
        assert!(parse_version("isl-1.3").unwrap() > MIN_VERSION);
        assert_eq!(parse_version("ISL"), None);
    }

    #[test]
    fn file_names_with_and_without_a_hash_are_found() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["libislands.so", "libisl.a", "libisl-cpp.txt"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(find(dir.path(), "libisl"), None);
        for name in ["libisl-77a25c89.so.23.4.0", "libisl.so", "libisl.so.23"] {
            fs::write(dir.path().join(name), "").unwrap();
            assert_eq!(find(dir.path(), "libisl").unwrap().file_name().unwrap(), name);
            fs::remove_file(dir.path().join(name)).unwrap();
        }
    }
}
