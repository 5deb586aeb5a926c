//! The repository's own files, as the tests of its rules read them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below `folder` that is source, not something built or fetched.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let relative = path.strip_prefix(root()).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let skipped = [".git", ".peers"].contains(&name.as_ref())
            // The folder of builds, beside a `Cargo.toml` of a workspace; `crates/target` is a crate.
            || name == "target" && relative != Path::new("crates/target")
            || relative == Path::new("isl-vendor/lib")
            || relative == Path::new("isl-vendor/include")
            || relative == Path::new("shared")
            || name.starts_with(".lib.");
        if skipped || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

pub fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    files(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

/// `text` without comments and without what stands in string literals; line numbers stay.
pub fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let length = skipped_length(rest, bytes[..at].last().copied());
        if length > 0 {
            code.extend(rest[..length].chars().filter(|c| *c == '\n'));
            code.push(' ');
            at += length;
        } else {
            let c = rest.chars().next().unwrap();
            code.push(c);
            at += c.len_utf8();
        }
    }
    code
}

/// The length of the comment or literal at the start of `rest`, or 0 if there is none.
fn skipped_length(rest: &str, before: Option<u8>) -> usize {
    let end = |from: usize, pattern: &str| {
        rest[from..].find(pattern).map_or(rest.len(), |at| from + at + pattern.len())
    };
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        let (mut depth, mut at) = (1, 2);
        while depth > 0 && at < rest.len() {
            if rest[at..].starts_with("/*") {
                (depth, at) = (depth + 1, at + 2);
            } else if rest[at..].starts_with("*/") {
                (depth, at) = (depth - 1, at + 2);
            } else {
                at += rest[at..].chars().next().unwrap().len_utf8();
            }
        }
        return at;
    }
    let in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if rest.starts_with('r') && !in_word {
        let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
        if rest[1 + hashes..].starts_with('"') {
            return end(2 + hashes, &format!("\"{}", "#".repeat(hashes)));
        }
    }
    if rest.starts_with('"') {
        let mut escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                '"' if !escaped => return at + 1,
                '\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        return rest.len();
    }
    // A quote as a character would otherwise open a string; lifetimes have no closing quote.
    ["'\"'", "'\\\"'", "'\\''"]
        .iter()
        .find(|quote| rest.starts_with(**quote))
        .map_or(0, |quote| quote.len())
}

/// The lines of `code` on which `word` stands as a whole word.
pub fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let lines = code.lines().enumerate();
    lines
        .filter(|(_, line)| line.split(|c| !is_word(c)).any(|part| part == word))
        .map(|(at, _)| at + 1)
        .collect()
}

#[test]
fn code_is_told_from_comments_and_strings() {
    let text = "a // unsafe\nlet s = \"unsafe \\\" unsafe\"; /* unsafe /* unsafe */ unsafe */\n\
                r#\"unsafe\"# '\"' unsafe_code\n\
                unsafe {}";
    let code = code_of(text);
    assert_eq!(lines_with_word(&code, "unsafe"), [4], "{code}");
}
