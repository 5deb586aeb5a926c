//! OpenMP's run-time library, which code for several threads calls. It is loaded, not linked: code for one
//! thread runs without it.

use crate::error::{Error, Result};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{OsString, c_int};
use std::sync::OnceLock;

/// The environment variable that names the library's file.
pub const VARIABLE: &str = "DASTAC_OMP";

/// Names and places tried after [`VARIABLE`]: the loader's path first, then where Debian's LLVM keeps its
/// own.
const PLACES: &[&str] = &[
    "libomp.so.5",
    "libomp.so",
    "/usr/lib/llvm-22/lib/libomp.so.5",
    "/usr/lib/llvm-22/lib/libomp.so",
];

/// A file that a program knows to be the library.
static KNOWN: OnceLock<OsString> = OnceLock::new();

/// Has this file tried first, unless [`VARIABLE`] names another one. The first file that is given counts, and it must
/// be given before code for several threads is loaded.
pub fn try_first(file: OsString) {
    let _ = KNOWN.set(file);
}

struct OpenMp {
    /// Never unloaded: its threads outlive every kernel.
    _library: Library,
    place: OsString,
    set_num_threads: unsafe extern "C" fn(c_int),
    get_max_threads: unsafe extern "C" fn() -> c_int,
}

/// Loads the library, once; an error says where it was looked for.
pub fn load() -> Result<()> {
    get().map(drop)
}

/// While it lives, parallel loops that its thread starts run on a number of threads. Threads do not see each other's
/// limits.
#[derive(Debug)]
pub(crate) struct Limit {
    before: usize,
    /// The limit is the thread's that set it.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Limit {
    pub(crate) fn new(threads: usize) -> Result<Limit> {
        let before = self::threads()?;
        set_threads(threads)?;
        Ok(Limit { before, _thread: std::marker::PhantomData })
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let _ = set_threads(self.before); // the library is there: `new` called it
    }
}

/// Makes parallel loops that the calling thread starts run on `threads` threads (at least 1).
pub fn set_threads(threads: usize) -> Result<()> {
    let threads = c_int::try_from(threads.max(1)).unwrap_or(c_int::MAX);
    // SAFETY: the function is libomp's, of this type; it accepts any positive number.
    unsafe { (get()?.set_num_threads)(threads) };
    Ok(())
}

/// On how many threads a parallel loop that the calling thread starts would run.
pub fn threads() -> Result<usize> {
    // SAFETY: the function is libomp's, of this type, and has no preconditions.
    let threads = unsafe { (get()?.get_max_threads)() };
    Ok(usize::try_from(threads).unwrap_or(1))
}

/// The name or path by which the library was found.
pub fn place() -> Result<OsString> {
    Ok(get()?.place.clone())
}

fn get() -> Result<&'static OpenMp> {
    static LIBRARY: OnceLock<std::result::Result<OpenMp, String>> = OnceLock::new();
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    LIBRARY
        .get_or_init(|| {
            let places = match named {
                Some(name) => vec![name],
                None => {
                    let usual = PLACES.iter().map(OsString::from);
                    KNOWN.get().cloned().into_iter().chain(usual).collect()
                }
            };
            open(&places).ok_or_else(|| {
                places.iter().map(|p| p.to_string_lossy()).collect::<Vec<_>>().join(", ")
            })
        })
        .as_ref()
        .map_err(|tried| Error::OpenMp { tried: tried.clone() })
}

fn open(places: &[OsString]) -> Option<OpenMp> {
    places.iter().find_map(|place| {
        // SAFETY: libomp's initialisers are sound to run at any time; the symbols have these types in every
        // version of its stable C interface. Global, since compiled kernels find `__kmpc_*` through the
        // process's symbols.
        unsafe {
            let library = Library::open(Some(place), RTLD_NOW | RTLD_GLOBAL).ok()?;
            // A libgomp under that name lacks the interface that LLVM's code calls.
            library.get::<unsafe extern "C" fn()>(b"__kmpc_fork_call\0").ok()?;
            if let Ok(quiet) = library.get::<unsafe extern "C" fn()>(b"kmp_set_warnings_off\0") {
                quiet();
            }
            let set_num_threads = *library.get(b"omp_set_num_threads\0").ok()?;
            let get_max_threads = *library.get(b"omp_get_max_threads\0").ok()?;
            let place = place.clone();
            Some(OpenMp { _library: library, place, set_num_threads, get_max_threads })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_none() {
        assert!(open(&["/nonexistent/libomp.so".into()]).is_none());
        // A library that is there but is not OpenMP.
        assert!(open(&["libm.so.6".into()]).is_none());
    }

    #[test]
    fn a_limit_ends() {
        set_threads(2).unwrap();
        let limit = Limit::new(5).unwrap();
        assert_eq!(threads().unwrap(), 5);
        drop(limit);
        assert_eq!(threads().unwrap(), 2);
    }

    #[test]
    fn the_error_says_what_to_do() {
        let error = Error::OpenMp { tried: "libomp.so.5".to_owned() }.to_string();
        assert!(error.contains("libomp-22-dev") && error.contains("one thread"), "{error}");
    }
}
