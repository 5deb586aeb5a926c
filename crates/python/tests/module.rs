//! The module that Python loads: `./x test` takes it from the folder of this test's program.

use std::collections::BTreeSet;

use object::{Object, ObjectSymbol};

#[test]
fn nothing_but_the_module_is_exported() {
    let program = std::env::current_exe().unwrap();
    let file = program.with_file_name("lib_dastac.so");
    let bytes = std::fs::read(&file).unwrap();
    let library = object::File::parse(&bytes[..]).unwrap();
    let defined = library.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let names: BTreeSet<&str> = defined.filter_map(|symbol| symbol.name().ok()).collect();
    assert!(names.contains("PyInit__dastac"), "{names:?}");
    // LLVM has symbols of isl's names; they must stay within.
    let foreign: Vec<_> = names.iter().filter(|name| name.starts_with("isl_")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}
