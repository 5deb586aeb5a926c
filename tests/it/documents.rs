//! What documents name exists: files and folders of the repository, passes, subcommands and flags of `dastac`.
//!
//! `CHANGELOG.md` does not count, since it also speaks of what is no longer there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::root;
use crate::sources::{files, files_of, read};

/// A text in backquotes, or a line of a block of code, with the place where it stands.
struct Mention {
    document: PathBuf,
    line: usize,
    text: String,
    /// Whether it is a line of a block of code.
    fenced: bool,
}

impl Mention {
    /// The message for something that does not exist.
    fn wrong(&self, what: &str) -> String {
        let document = self.document.strip_prefix(root()).unwrap_or(&self.document);
        format!("{}:{}: {what} in `{}`", document.display(), self.line, self.text)
    }
}

/// All mentions of a document, in order.
fn mentions(document: &Path) -> Vec<Mention> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, line) in read(document).lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        let indented = line.starts_with("    ") && !line.trim_start().starts_with(['-', '|']);
        let texts: Vec<&str> = match fenced || indented {
            true if is_fence => Vec::new(),
            true => vec![line.trim()],
            false => line.split('`').skip(1).step_by(2).collect(),
        };
        found.extend(texts.into_iter().map(|text| Mention {
            document: document.to_path_buf(),
            line: at + 1,
            text: text.to_string(),
            fenced: fenced || indented,
        }));
    }
    found
}

/// The mentions of all documents but the list of changes.
fn all_mentions() -> Vec<Mention> {
    let documents = files_of(root(), "md").into_iter();
    documents
        .filter(|path| !path.ends_with("CHANGELOG.md"))
        .flat_map(|path| mentions(&path))
        .collect()
}

/// All texts that a pattern with braces stands for: `a.{b,c}` is `a.b` and `a.c`.
fn alternatives(pattern: &str) -> Vec<String> {
    let braces = pattern.split_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        Some((before, inside, after))
    });
    match braces {
        Some((before, inside, after)) => inside
            .split(',')
            .flat_map(|one| alternatives(&format!("{before}{}{after}", one.trim())))
            .collect(),
        None => vec![pattern.to_string()],
    }
}

/// The files and folders of the repository, relative to it.
fn tracked() -> BTreeSet<PathBuf> {
    let relative = |path: PathBuf| path.strip_prefix(root()).unwrap().to_path_buf();
    let files = files(root()).into_iter().map(relative);
    files.flat_map(|file| file.ancestors().map(Path::to_path_buf).collect::<Vec<_>>()).collect()
}

/// Whether a path is one of a file or folder of this repository, of its documents or sources. What a command writes, or
/// what is fetched, is not there at all times.
fn is_ours(path: &str) -> bool {
    let written = path.starts_with("isl-vendor/lib") || path.ends_with(".schedule");
    let first = path.split('/').next().unwrap_or_default();
    let folder =
        path.contains('/') && !first.is_empty() && root().join(first).is_dir() && first != "target";
    !written && (folder || path.ends_with(".rs"))
}

#[test]
fn files_that_documents_name_exist() {
    let tracked = tracked();
    let exists = |path: &str| {
        let path = Path::new(path.trim_start_matches("./").trim_end_matches('/'));
        tracked.contains(path) || tracked.iter().any(|known| known.ends_with(path))
    };
    let is_path = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_-./{},".contains(c));
    let mut wrong = Vec::new();
    for mention in all_mentions().iter().filter(|mention| !mention.fenced) {
        if is_path(&mention.text) {
            let paths = alternatives(&mention.text).into_iter();
            wrong.extend(
                paths
                    .filter(|path| is_ours(path) && !exists(path))
                    .map(|path| mention.wrong(&path)),
            );
        }
    }
    assert!(wrong.is_empty(), "files that are not there:\n{}", wrong.join("\n"));
}

/// What a command prints.
fn printed(arguments: &[&str]) -> String {
    let output = crate::dastac().args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The flags, `--name`, in a text.
fn flags(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    let is_flag =
        |word: &&str| word.len() > 2 && word.starts_with("--") && !word.starts_with("---");
    words.filter(is_flag).map(str::to_string).collect()
}

/// The subcommands of `dastac`, each with its flags.
fn commands() -> BTreeMap<String, BTreeSet<String>> {
    let help = printed(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.map(|name| (name.to_string(), flags(&printed(&[name, "--help"])))).collect()
}

#[test]
fn commands_that_documents_name_exist() {
    let commands = commands();
    assert!(commands["run"].contains("--verify"), "{commands:?}");
    let mut wrong = Vec::new();
    for mention in all_mentions() {
        let text = mention.text.strip_prefix("$ ").unwrap_or(&mention.text);
        let Some(line) = text.strip_prefix("dastac ") else { continue };
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        // Names of files and variables, and flags of the command itself, stand in the place of a subcommand too.
        if !name.chars().all(|c| c.is_ascii_lowercase() || c == '-') || name.starts_with("--") {
            continue;
        }
        match commands.get(name) {
            None => wrong.push(mention.wrong(name)),
            Some(known) => {
                let unknown = flags(rest).into_iter().filter(|flag| !known.contains(flag));
                wrong.extend(unknown.map(|flag| mention.wrong(&flag)));
            }
        }
    }
    assert!(wrong.is_empty(), "commands and flags that are not there:\n{}", wrong.join("\n"));
}

#[test]
fn passes_that_documents_name_exist() {
    let passes = printed(&["passes"]) + &printed(&["passes", "--target", "cuda"]);
    let known: BTreeSet<&str> = passes.split_whitespace().collect();
    let mut wrong = Vec::new();
    for path in files_of(root(), "md").iter().filter(|path| !path.ends_with("CHANGELOG.md")) {
        for (at, line) in read(path).lines().enumerate() {
            let named = line.split("pass `").skip(1).filter_map(|rest| rest.split('`').next());
            let unknown = named.filter(|name| !known.contains(name));
            wrong.extend(unknown.map(|name| format!("{}:{}: {name}", path.display(), at + 1)));
        }
    }
    for mention in all_mentions() {
        let after = mention.text.split("after:").skip(1);
        let names =
            after.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '-').next());
        let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
        let unknown = names.filter(is_name).filter(|name| !known.contains(name));
        wrong.extend(unknown.map(|name| mention.wrong(name)));
    }
    assert!(wrong.is_empty(), "passes that are not there:\n{}", wrong.join("\n"));
}

#[test]
fn braces_stand_for_several_paths() {
    assert_eq!(alternatives("a/{b,c}.rs"), ["a/b.rs", "a/c.rs"]);
    assert_eq!(alternatives("a.{b,c}.{d,e}"), ["a.b.d", "a.b.e", "a.c.d", "a.c.e"]);
    assert_eq!(
        flags("[--one-two <N>] --x, a--b ---"),
        ["--one-two", "--x"].map(String::from).into()
    );
}
