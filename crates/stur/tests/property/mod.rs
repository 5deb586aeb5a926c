//! What must hold for every text, valid or not; shared by the replay of the corpus and the fuzz target.

use dastac_stur::{Severity, load, parse};

/// The parser and the checker end with a program or with errors, and what is printed reads back as the same.
pub fn holds(source: &str) -> Result<(), String> {
    let (file, diagnostics) = parse(source);
    let wrong =
        |list: &[dastac_stur::Diagnostic]| list.iter().any(|d| d.severity == Severity::Error);
    if !wrong(&diagnostics) {
        let printed = file.to_string();
        let (again, diagnostics) = parse(&printed);
        if let Some(first) = diagnostics.first() {
            return Err(format!("printed as {printed:?}, which has an error: {}", first.message));
        }
        if again.to_string() != printed {
            return Err(format!("printed as {printed:?}, then as {:?}", again.to_string()));
        }
    }
    match load(source) {
        Err(list) if !wrong(&list) => Err("refused without an error".into()),
        Ok(_) if wrong(&diagnostics) => Err("accepted with a syntax error".into()),
        _ => Ok(()),
    }
}
