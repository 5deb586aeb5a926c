//! Functions of other libraries that code calls, by name: those of the C library, of OpenMP's, and of compilers'
//! support libraries.

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::load_error::LoadError;

/// Libraries that a process need not have loaded, but that code may call: mathematical functions, and conversions that
/// processors lack.
const SUPPORT: &[&str] = &["libm.so.6", "libmvec.so.1", "libgcc_s.so.1"];

/// How the names of functions of vectors begin, by the vector function ABI.
const VECTOR: &str = "_ZGV";

/// The address of another library's symbol; that of a weak one is 0 where no library has it.
pub(super) fn address(name: &str, weak: bool) -> Result<u64, LoadError> {
    match lookup(name) {
        Some(address) => Ok(address),
        None if weak => Ok(0),
        None if name.starts_with(VECTOR) => Err(LoadError::VectorFunction(name.to_owned())),
        None => Err(LoadError::Missing(name.to_owned())),
    }
}

/// The address of a symbol, in the order in which the system would look for it.
fn lookup(name: &str) -> Option<u64> {
    static OTHERS: OnceLock<Vec<Library>> = OnceLock::new();
    let name = CString::new(name).ok()?;
    let own = Library::this();
    find(&own, &name).or_else(|| {
        let open = |name: &&str| {
            // SAFETY: the initialisers of these libraries of the system are sound to run at any time.
            unsafe { Library::open(Some(*name), RTLD_NOW | RTLD_GLOBAL) }.ok()
        };
        let others = OTHERS.get_or_init(|| SUPPORT.iter().filter_map(open).collect());
        others.iter().find_map(|library| find(library, &name))
    })
}

fn find(library: &Library, name: &CString) -> Option<u64> {
    // SAFETY: the symbol is only asked for its address.
    let symbol = unsafe { library.get::<*const c_void>(name.as_c_str()) }.ok()?;
    let address = symbol.into_raw().addr() as u64;
    (address != 0).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_numbers_are_found() {
        for name in ["exp", "tanhf", "erf", "hypot"] {
            assert!(address(name, false).unwrap() != 0, "{name}");
        }
        assert_eq!(address("_ZGVbN2v_nothing", true).unwrap(), 0);
        let error = address("_ZGVbN2v_nothing", false).unwrap_err().to_string();
        assert!(error.contains("_ZGVbN2v_nothing") && error.contains("libmvec"), "{error}");
    }

    #[test]
    #[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
    fn functions_of_vectors_are_found() {
        // There since glibc 2.22.
        for name in ["_ZGVbN2v_exp", "_ZGVdN4v_sin", "_ZGVeN8v_log", "_ZGVeN16vv_powf"] {
            assert!(address(name, false).unwrap() != 0, "{name}");
        }
    }
}
