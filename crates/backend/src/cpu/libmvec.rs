//! Which functions glibc's library of vector functions has on this computer.
//!
//! Five of them are there since glibc 2.22, the others since 2.35. What is there is asked for by name, so that code
//! calls nothing that this computer does not have.

use std::sync::OnceLock;

use dastac_loops::MathFunction;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// The library's file.
const FILE: &str = "libmvec.so.1";

/// The functions of the library for floats of 64 and of 32 bits in vectors of all lengths; none where there is no such
/// library.
pub(super) fn functions() -> &'static [MathFunction] {
    static FOUND: OnceLock<Vec<MathFunction>> = OnceLock::new();
    FOUND.get_or_init(|| match cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        true => found().unwrap_or_default(),
        false => Vec::new(),
    })
}

fn found() -> Option<Vec<MathFunction>> {
    // SAFETY: the initialisers of this library of the system are sound to run at any time.
    let library = unsafe { Library::open(Some(FILE), RTLD_NOW | RTLD_LOCAL) }.ok()?;
    let has = |function: &&MathFunction| {
        ["d", "e"].iter().all(|width| {
            let lanes = if *width == "d" { 4 } else { 8 };
            [("", lanes), ("f", 2 * lanes)].iter().all(|(suffix, lanes)| {
                let numbers = "v".repeat(function.arity());
                let name = format!("_ZGV{width}N{lanes}{numbers}_{function}{suffix}\0");
                // SAFETY: the symbol is only asked for, not used.
                unsafe { library.get::<*const ()>(name.as_bytes()) }.is_ok()
            })
        })
    };
    let calls = MathFunction::ALL.iter().filter(|function| !function.is_instruction());
    Some(calls.filter(has).copied().collect())
}
