//! NVIDIA's libdevice: functions of numbers for devices, as LLVM's bitcode. It is read from where NVIDIA's tools are
//! installed, for programs that use functions which are not written here.

use std::path::PathBuf;

use dastac_loops::{Module, Operation, RegisterStmt, Stmt, Value};
use dastac_target::Illegal;

use crate::emit::is_built_in;

/// The environment variable that names the file.
pub(crate) const VARIABLE: &str = "DASTAC_LIBDEVICE";
/// What its name is where the tools are installed.
const NAME: &str = "nvvm/libdevice/libdevice.10.bc";
/// What a message says about it.
const WHAT: &str =
    "NVIDIA's libdevice.10.bc, which the environment variable DASTAC_LIBDEVICE may name";

/// The file, if there is one.
pub(crate) fn place() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        return Some(named.into());
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    let usual = ["/usr/local/cuda", "/usr/lib/cuda", "/opt/cuda"].map(Into::into);
    let mut places = homes.chain(usual).map(|home| PathBuf::from(home).join(NAME));
    places.find(|place| place.is_file())
}

/// Functions of a module that are in the library, if that is not there.
pub(super) fn missing(module: &Module) -> Vec<Illegal> {
    let mut functions = std::collections::BTreeSet::new();
    for stmt in module.functions.iter().flat_map(|function| &function.body) {
        stmt.visit_values(&mut |value| {
            if let Value::Apply(function, _) = value {
                functions.insert(*function);
            }
        });
        stmt.visit(&mut |stmt| {
            if let Stmt::Register(RegisterStmt::Define(_, Operation::Apply(function, _))) = stmt {
                functions.insert(*function);
            }
        });
    }
    functions.retain(|function| !is_built_in(*function));
    if place().is_some() {
        return Vec::new();
    }
    let missing = functions.into_iter();
    missing.map(|one| Illegal::Function { function: one.to_string(), library: WHAT }).collect()
}
