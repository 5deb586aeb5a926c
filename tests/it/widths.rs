//! Lines of code, comments and Markdown have at most 120 columns.

use std::collections::BTreeSet;
use std::path::Path;

use crate::root;
use crate::sources::{code_of, files, read};

/// The most columns of a line.
const COLUMNS: usize = 120;

/// Files and folders with longer lines. This list only shrinks: what is mended is taken off it.
const LONGER: &[&str] = &["x"];

/// Whether a line of Markdown is data, such as a table's row, or cannot be broken, such as an address.
fn is_exempt(line: &str) -> bool {
    let prose = line.trim_start();
    let breakable = prose.chars().take(COLUMNS).any(|c| c == ' ');
    prose.starts_with('|') || prose.starts_with("![") || !breakable
}

/// The numbers of the long lines of a Markdown text, from 1; what stands between fences is data.
fn long_prose(text: &str) -> Vec<usize> {
    let mut fenced = false;
    let mut long = Vec::new();
    for (at, line) in text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced && line.chars().count() > COLUMNS && !is_exempt(line) {
            long.push(at + 1);
        }
    }
    long
}

/// The numbers of the long lines of a Rust source, from 1. The texts of literals over several lines are data, unless a
/// backslash at the end of a line says that it may be broken anywhere.
fn long_code(text: &str) -> Vec<usize> {
    let inside = lines_in_literals(text);
    let lines: Vec<&str> = text.lines().collect();
    let broken = |at: usize| lines.get(at).is_some_and(|line| line.ends_with('\\'));
    let is_data = |at: usize| {
        let literal = inside[at] || inside.get(at + 1).copied().unwrap_or(false);
        literal && !broken(at) && !(at > 0 && inside[at] && broken(at - 1))
    };
    let long = |at: &usize| lines[*at].chars().count() > COLUMNS && !is_data(*at);
    (0..lines.len()).filter(long).map(|at| at + 1).collect()
}

/// Of each line, whether its begin stands inside of a literal.
fn lines_in_literals(text: &str) -> Vec<bool> {
    // A marker survives `code_of` where it is code, and is dropped with the literal around it.
    let marker = '\u{1}';
    let marked: String = text.lines().map(|line| format!("{marker}{line}\n")).collect();
    code_of(&marked).lines().map(|line| !line.starts_with(marker)).collect()
}

/// The numbers of the lines of a file that are too long.
fn long_lines(path: &Path) -> Vec<usize> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
    match extension {
        Some("rs") => long_code(&read(path)),
        Some("md") => long_prose(&read(path)),
        _ if ["x", ".ci/run"].contains(&name) || name.starts_with("examples/") => {
            let text = read(path);
            // A rule of a program stands on one line.
            let data = |line: &&str| extension == Some("stur") && !line.starts_with('#');
            let long = |line: &&str| line.chars().count() > COLUMNS && !data(line);
            let lines = text.lines().enumerate();
            lines.filter(|(_, line)| long(line)).map(|(at, _)| at + 1).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn lines_have_at_most_120_columns() {
    let mut wrong = Vec::new();
    let mut longer = BTreeSet::new();
    for path in files(root()) {
        let long = long_lines(&path);
        let relative = path.strip_prefix(root()).unwrap();
        match LONGER.iter().find(|known| relative.starts_with(known)) {
            _ if long.is_empty() => {}
            Some(known) => longer.extend([*known]),
            None => wrong.push(format!("{}: lines {long:?}", relative.display())),
        }
    }
    assert!(wrong.is_empty(), "more than {COLUMNS} columns:\n{}", wrong.join("\n"));
    let gone: Vec<_> = LONGER.iter().filter(|known| !longer.contains(*known)).collect();
    assert!(gone.is_empty(), "no long line is left in {gone:?}: take them off the list");
}

#[test]
fn data_may_be_longer() {
    let long = "x".repeat(130) + " y";
    let code = |text: &str| long_code(&text.replace("LONG", &long));
    assert_eq!(code("// LONG\nlet a = \"LONG\";\n"), [1, 2]);
    assert_eq!(code("let a = r\"\nLONG\n\";\n// LONG"), [4]);
    assert_eq!(code("let a = \"x LONG \\\n  LONG\";"), [1, 2]);
    let prose = |text: &str| long_prose(&text.replace("LONG", &long));
    assert_eq!(prose("| LONG |\n```\na LONG\n```\na LONG"), [5]);
    assert_eq!(prose(&format!("[1]:{}", "https://".repeat(20))), [0; 0]);
}
