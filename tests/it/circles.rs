//! Data flows one way inside crates too: no file imports, over others or directly, a file that imports it.
//!
//! A file imports another one if a path in it leads there: `use crate::set::Set`, `super::graph::order(..)`, or
//! `graph::order(..)` in the file that has `mod graph;`. A path to a re-export leads to the file that defines the item,
//! so a folder's `mod.rs` may re-export its children (`pub use set::Set`) and they may use each other through it. What
//! a child may not do is use an item that `mod.rs` defines beside its own use of the child. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::root;
use crate::sources::{code_of, files_of, read};

/// Folders and files that still have circles, with the reason. This list only shrinks: what has none is taken off it.
const CIRCLES: &[(&str, &str)] =
    &[("crates/formats/src", "levels build and walk the storage that is made of levels")];

/// A path of names, as `["crate", "set", "Set"]`.
type Names = Vec<String>;

/// What a file says about names.
#[derive(Default)]
struct Source {
    /// `mod graph;`: the files of its children, by name.
    children: BTreeMap<String, PathBuf>,
    /// The module that it is a child of.
    parent: Option<PathBuf>,
    /// `use a::b as c`: what each name stands for.
    imported: BTreeMap<String, Names>,
    /// `use a::b::*`.
    globs: Vec<Names>,
    /// All paths that are used, but for those that are only passed on (`pub use`).
    used: Vec<Names>,
    /// The items that it defines.
    defined: BTreeSet<String>,
}

/// The words and signs of a text: names, `::`, and single characters.
fn tokens(code: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        found.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    found
}

/// All paths of a `use`, from its first token on: `a::{b, c as d}` is `a::b` and `a::c`, with the names that they get.
fn leaves(tokens: &[String], prefix: &[String], at: &mut usize, found: &mut Vec<(Names, String)>) {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        match token.as_str() {
            "::" => {}
            "{" => loop {
                leaves(tokens, &path, at, found);
                *at += 1;
                if tokens.get(*at - 1).is_none_or(|token| token == "}") {
                    return;
                }
            },
            "," | "}" | ";" => {
                *at -= 1;
                break;
            }
            "as" => {
                found.push((path, tokens.get(*at).cloned().unwrap_or_default()));
                *at += 1;
                return;
            }
            name => path.push(name.to_string()),
        }
    }
    // `use a::{self}` imports `a`.
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    if path.len() > prefix.len() || !prefix.is_empty() && path == prefix {
        let name = path.last().cloned().unwrap_or_default();
        found.push((path, name));
    }
}

/// A file without its tests, which stand at its end or in a file of their own.
fn without_tests(code: &str) -> &str {
    let begins = code.match_indices("#[cfg(test)]\n").find(|(at, found)| {
        let item = code[at + found.len()..].split(['{', ';']).next().unwrap_or_default();
        let inline = code[at + found.len() + item.len()..].starts_with('{');
        inline && item.split_whitespace().any(|word| word == "mod")
    });
    begins.map_or(code, |(at, _)| &code[..at])
}

/// The words that begin an item's definition.
const DEFINING: &[&str] =
    &["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

impl Source {
    /// Reads a file; `children` are the files that its modules may be in.
    fn of(path: &Path) -> Source {
        let code = code_of(&read(path));
        let tokens = tokens(without_tests(&code));
        let mut source = Source::default();
        let mut at = 0;
        while at < tokens.len() {
            let before = if at == 0 { "" } else { tokens[at - 1].as_str() };
            match tokens[at].as_str() {
                "use" if ["", ";", "}", "{", "pub", ")", "]"].contains(&before) => {
                    let passed_on = before == "pub";
                    at += 1;
                    source.import(&tokens, &mut at, passed_on);
                }
                "mod" if tokens.get(at + 2).is_some_and(|token| token == ";") => {
                    source.child(path, &tokens[at + 1]);
                    at += 2;
                }
                word if DEFINING.contains(&word) => {
                    let name =
                        tokens[at + 1..].iter().find(|token| *token != "!" && *token != "mut");
                    source.defined.extend(name.cloned());
                    at += 1;
                }
                _ => at = source.path(&tokens, at, before),
            }
        }
        source
    }

    fn import(&mut self, tokens: &[String], at: &mut usize, passed_on: bool) {
        let mut found = Vec::new();
        leaves(tokens, &[], at, &mut found);
        for (mut path, name) in found {
            if path.last().is_some_and(|last| last == "*") {
                path.pop();
                self.globs.push(path.clone());
            } else {
                self.imported.insert(name, path.clone());
            }
            if !passed_on {
                self.used.push(path);
            }
        }
    }

    fn child(&mut self, path: &Path, name: &str) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let own = path.parent().unwrap();
        let folder =
            if ["lib", "main", "mod"].contains(&stem) { own.to_path_buf() } else { own.join(stem) };
        let files = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
        if let Some(file) = files.into_iter().find(|file| file.exists()) {
            self.children.insert(name.to_string(), file);
        }
    }

    /// Takes up the path at a place, if there is one of several names; the place behind it.
    fn path(&mut self, tokens: &[String], at: usize, before: &str) -> usize {
        let mut path = Vec::new();
        let mut end = at;
        while end + 2 < tokens.len() && tokens[end + 1] == "::" {
            path.push(tokens[end].clone());
            end += 2;
        }
        if path.is_empty() || before == "::" {
            return at + 1;
        }
        path.push(tokens[end].clone());
        self.used.push(path);
        end + 1
    }
}

/// The files of a crate.
struct Crate {
    root: PathBuf,
    sources: BTreeMap<PathBuf, Source>,
}

impl Crate {
    fn of(root: &Path) -> Crate {
        let mut found = Crate { root: root.to_path_buf(), sources: BTreeMap::new() };
        found.add(root, None);
        found
    }

    fn add(&mut self, path: &Path, parent: Option<&Path>) {
        let source = Source { parent: parent.map(Path::to_path_buf), ..Source::of(path) };
        let children: Vec<PathBuf> = source.children.values().cloned().collect();
        self.sources.insert(path.to_path_buf(), source);
        for child in children {
            self.add(&child, Some(path));
        }
    }

    /// The file that a path in a file leads to, if it is one of this crate.
    fn resolve(&self, file: &Path, path: &[String], depth: usize) -> Option<PathBuf> {
        let source = self.sources.get(file)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(&self.root, rest, depth),
            "self" => self.descend(file, rest, depth),
            "super" => self.descend(source.parent.as_deref()?, rest, depth),
            name if source.children.contains_key(name) => self.descend(file, path, depth),
            name => {
                let known = source.imported.get(name)?;
                let whole: Names = known.iter().chain(rest).cloned().collect();
                (depth > 0 && known != path).then(|| self.resolve(file, &whole, depth - 1))?
            }
        }
    }

    /// The file that the rest of a path leads to from a module on.
    fn descend(&self, module: &Path, rest: &[String], depth: usize) -> Option<PathBuf> {
        let here = Some(module.to_path_buf());
        let source = self.sources.get(module)?;
        let Some((name, more)) = rest.split_first() else { return here };
        if name == "super" {
            return self.descend(source.parent.as_deref()?, more, depth);
        }
        if let Some(child) = source.children.get(name) {
            return self.descend(child, more, depth);
        }
        if source.defined.contains(name) || depth == 0 {
            return here;
        }
        if let Some(known) = source.imported.get(name) {
            let whole: Names = known.iter().chain(more).cloned().collect();
            let outside = !["crate", "self", "super"].contains(&known[0].as_str())
                && !source.children.contains_key(&known[0]);
            return if outside { None } else { self.resolve(module, &whole, depth - 1) };
        }
        // A glob passes on what it finds.
        let through = |glob: &Names| {
            let target = self.resolve(module, glob, depth - 1)?;
            let defines = self.sources.get(&target)?.defined.contains(name);
            defines.then_some(target)
        };
        source.globs.iter().find_map(through).or(here)
    }

    /// Which files each file imports.
    fn imports(&self) -> BTreeMap<&Path, BTreeSet<PathBuf>> {
        let of = |(file, source): (&'_ PathBuf, &Source)| {
            let targets = source.used.iter().filter_map(|path| self.resolve(file, path, 8));
            targets.filter(|target| target != file).collect::<BTreeSet<_>>()
        };
        self.sources.iter().map(|one| (one.0.as_path(), of(one))).collect()
    }
}

/// All that is reached from a file.
fn reached<'a>(imports: &'a BTreeMap<&Path, BTreeSet<PathBuf>>, from: &Path) -> BTreeSet<&'a Path> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Path> = imports[from].iter().map(PathBuf::as_path).collect();
    while let Some(file) = open.pop() {
        if found.insert(file) {
            open.extend(imports[file].iter().map(PathBuf::as_path));
        }
    }
    found
}

/// The groups of files that import each other, with what each imports of its group.
fn circles(root: &Path) -> Vec<BTreeMap<PathBuf, Vec<PathBuf>>> {
    let files = Crate::of(root);
    let imports = files.imports();
    let reach: BTreeMap<&Path, BTreeSet<&Path>> =
        imports.keys().map(|file| (*file, reached(&imports, file))).collect();
    let mut groups: BTreeMap<&Path, BTreeMap<PathBuf, Vec<PathBuf>>> = BTreeMap::new();
    for (file, own) in &reach {
        let group: BTreeSet<&Path> =
            own.iter().filter(|one| reach[*one].contains(file)).copied().collect();
        if let Some(first) = group.first() {
            let inside = imports[file].iter().filter(|one| group.contains(one.as_path()));
            groups.entry(first).or_default().insert(file.to_path_buf(), inside.cloned().collect());
        }
    }
    groups.into_values().collect()
}

/// The main files of all crates.
fn crates() -> Vec<PathBuf> {
    let all = ["src", "crates", "isl-vendor/src"]
        .iter()
        .flat_map(|folder| files_of(&root().join(folder), "rs"));
    all.filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs")).collect()
}

fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn no_file_imports_in_a_circle() {
    let (mut wrong, mut found) = (Vec::new(), BTreeSet::new());
    for group in crates().iter().flat_map(|root| circles(root)) {
        for (file, imported) in &group {
            match CIRCLES.iter().find(|(known, _)| name(file).starts_with(known)) {
                Some((known, _)) => drop(found.insert(*known)),
                None => {
                    let imported: Vec<String> = imported.iter().map(|file| name(file)).collect();
                    wrong.push(format!("{} imports {}", name(file), imported.join(", ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "files that import each other:\n{}", wrong.join("\n"));
    let gone: Vec<_> =
        CIRCLES.iter().map(|(known, _)| *known).filter(|known| !found.contains(known)).collect();
    assert!(gone.is_empty(), "no circle is left in {gone:?}: take them off the list");
}

/// Writes the files of a crate, and says which groups there are.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let name = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().display().to_string();
    let groups = circles(&folder.path().join("lib.rs"));
    groups.iter().map(|group| group.keys().map(name).collect()).collect()
}

#[test]
fn circles_are_found() {
    let none: Vec<Vec<String>> = Vec::new();
    let root = ("lib.rs", "mod a; mod b; pub use a::A; use b::B; fn f() { b::g(); }");
    // Re-exports are followed to the file that defines the item.
    let b = ("b.rs", "use crate::A; pub struct B; pub fn g() {}");
    assert_eq!(circles_of(&[root, ("a.rs", "pub struct A;"), b]), none);
    assert_eq!(circles_of(&[root, ("a.rs", "pub struct A(super::b::B);"), b]), [["a.rs", "b.rs"]]);
    // A child that uses what the root defines, which uses the child.
    let up = ("b.rs", "use super::f; pub struct B; pub fn g() {}");
    assert_eq!(circles_of(&[root, ("a.rs", "pub struct A;"), up]), [["b.rs", "lib.rs"]]);
    // Tests may.
    let tests = ("a.rs", "pub struct A;\n#[cfg(test)]\nmod tests { use crate::b::B; }");
    assert_eq!(circles_of(&[root, tests, b]), none);
    let grouped =
        ("a.rs", "use crate::{b::{self as other, B}}; pub struct A; fn h() { other::g() }");
    assert_eq!(circles_of(&[root, grouped, b]), [["a.rs", "b.rs"]]);
}
