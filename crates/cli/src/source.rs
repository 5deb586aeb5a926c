//! A program as text, with its name.

use std::path::{Path, PathBuf};

/// A program's text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its file; `-` for standard input.
    pub path: PathBuf,
    /// What to call it in messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// What exported names begin with: the file's name as an identifier, and an underscore.
    pub fn prefix(&self) -> String {
        let stem = if self.path == Path::new("-") { None } else { self.path.file_stem() };
        let Some(stem) = stem else { return String::new() };
        let mut prefix: String = stem
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if !prefix.starts_with(|c: char| c.is_ascii_alphabetic()) {
            prefix.insert(0, 'k');
        }
        prefix + "_"
    }
}

/// Whether names that begin with this can be names of C functions.
pub fn is_prefix(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// An operating system's error without its number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
