//! The files for editors know the words of the language.

use std::collections::BTreeSet;

use dastac::elements::{Element, Function};
use dastac::formats::format::library;
use dastac::formats::level::KINDS;
use dastac::stur::ast::{Directive, ReduceOp};
use serde_json::Value;

use crate::root;
use crate::sources::read;

/// The words of one kind, and one of them, by which a pattern with them is found.
fn words() -> Vec<(&'static str, BTreeSet<String>)> {
    let set = |words: &mut dyn Iterator<Item = &str>| words.map(str::to_owned).collect();
    // A line that begins with a word that is no directive says which there are.
    let (_, found) = dastac::stur::parse("nothing: x");
    let hint = found[0].hint.clone().unwrap();
    let (hint, _) = hint.split_once(';').unwrap();
    let directives = hint.split('`').skip(1).step_by(2).map(|word| word.trim_end_matches(':'));
    let functions = ["pos", "order", "align"].into_iter();
    let functions = functions.chain(ReduceOp::ALL.map(ReduceOp::word));
    let functions = functions.chain(Function::ALL.iter().map(|function| function.name()));
    let functions =
        functions.chain(["where", "relu", "sigmoid", "silu", "gelu", "softplus", "square", "clip"]);
    let mut functions = functions.chain(Directive::ALL.map(Directive::word));
    let formats = library().iter().map(|one| one.name.as_str());
    let formats = formats.chain(KINDS.iter().map(|kind| kind.word()));
    vec![
        ("outputs", set(&mut { directives })),
        ("vectorize", set(&mut functions)),
        ("singleton", set(&mut formats.chain(["nonunique", "unordered"]))),
        ("bf16", set(&mut Element::OF_TENSORS.iter().map(|element| element.name()))),
    ]
}

fn words_of(pattern: &str, separators: &[char]) -> BTreeSet<String> {
    pattern.split(separators).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
fn the_grammar_has_all_words() {
    let text = read(&root().join("editors/vscode/syntaxes/stur.tmLanguage.json"));
    let grammar: Value = serde_json::from_str(&text).unwrap();
    let patterns = grammar["patterns"].as_array().unwrap().iter();
    let patterns: Vec<&str> = patterns.map(|one| one["match"].as_str().unwrap()).collect();
    let vim = read(&root().join("editors/vim/syntax/stur.vim"));
    for (one, words) in words() {
        let pattern = patterns.iter().find(|pattern| pattern.contains(one)).unwrap();
        let (_, list) = pattern.split_once('(').unwrap();
        let (list, _) = list.split_once(')').unwrap();
        assert_eq!(words_of(list, &['|']), words, "VS Code");
        let line = vim.lines().find(|line| line.contains(one)).unwrap();
        let list = match line.split_once("\\(") {
            Some((_, list)) => words_of(list.split_once("\\)").unwrap().0, &['\\', '|']),
            None => line.split_whitespace().skip(3).map(str::to_owned).collect(),
        };
        assert_eq!(list, words, "Vim");
    }
}

#[test]
fn the_extension_is_whole() {
    let folder = root().join("editors/vscode");
    let package: Value = serde_json::from_str(&read(&folder.join("package.json"))).unwrap();
    let contributes = &package["contributes"];
    for path in [
        &package["main"],
        &contributes["languages"][0]["configuration"],
        &contributes["grammars"][0]["path"],
    ] {
        assert!(folder.join(path.as_str().unwrap()).is_file(), "{path}");
    }
    let _: Value =
        serde_json::from_str(&read(&folder.join("language-configuration.json"))).unwrap();
}
