//! What may stand where somebody types.

use std::collections::BTreeSet;

use dastac::stur::ast::Item;
use lsp_types::{CompletionItem, CompletionItemKind, Documentation};

use super::document::Document;
use super::words;

/// What may stand at a byte.
pub fn complete(document: &Document, byte: usize) -> Vec<CompletionItem> {
    let line = document.line_before(byte);
    if line.contains('#') {
        return Vec::new();
    }
    let typed = line.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let begun = typed.trim();
    let word = line.split(':').next().unwrap_or("").trim();
    let of = |all: &[(&str, &str)], kind| {
        all.iter().map(|(word, about)| item(word, about, kind)).collect()
    };
    let names = Names::of(document, byte);
    if begun == "@" {
        let about = words::directive("preprocess_start").unwrap_or_default();
        return of(&words::BLOCKS.map(|word| (word, about)), CompletionItemKind::KEYWORD);
    }
    if begun.is_empty() {
        let directive = |word: &&str| {
            item(
                &format!("{word}:"),
                words::directive(word).unwrap_or_default(),
                CompletionItemKind::KEYWORD,
            )
        };
        let mut all: Vec<_> = words::DIRECTIVES.iter().map(directive).collect();
        all.extend(
            names.tensors.iter().map(|name| item(name, "tensor", CompletionItemKind::VARIABLE)),
        );
        return all;
    }
    if begun == format!("{word}:") && !words::DIRECTIVES.contains(&word) {
        return of(&words::ASPECTS, CompletionItemKind::KEYWORD);
    }
    if line.contains(":F") && line.contains(":=") {
        let mut all: Vec<_> = of(&words::formats(), CompletionItemKind::ENUM_MEMBER);
        all.extend(
            names
                .iterators
                .iter()
                .map(|name| item(name, "dimension", CompletionItemKind::VARIABLE)),
        );
        return all;
    }
    let is_directive = words::DIRECTIVES.contains(&word) && !line.contains(":=");
    if is_directive && word == "types" && begun.ends_with('=') {
        return of(&words::types(), CompletionItemKind::ENUM_MEMBER);
    }
    let functions = words::functions();
    let some = |wanted: &[&str]| -> Vec<CompletionItem> {
        let found = functions.iter().filter(|(word, _)| wanted.contains(word));
        found.map(|(word, about)| item(word, about, CompletionItemKind::FUNCTION)).collect()
    };
    let mut all = match word {
        "schedule" if is_directive => some(&["reorder", "tile", "unroll", "vectorize", "parallel"]),
        "layout" if is_directive => some(&["order", "align"]),
        _ if is_directive => Vec::new(),
        _ => some(&["min", "max", "max_times", "prod", "or", "pos"]),
    };
    all.extend(names.tensors.iter().map(|name| item(name, "tensor", CompletionItemKind::VARIABLE)));
    all.extend(names.symbols.iter().map(|name| item(name, "symbol", CompletionItemKind::CONSTANT)));
    all.extend(
        names.iterators.iter().map(|name| item(name, "iterator", CompletionItemKind::VARIABLE)),
    );
    all
}

fn item(label: &str, about: &str, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem {
        label: label.into(),
        kind: Some(kind),
        documentation: Some(Documentation::String(about.into())),
        ..CompletionItem::default()
    }
}

/// The names of a text. The line that is being typed may not be readable, so they are those of its words.
struct Names {
    tensors: BTreeSet<String>,
    symbols: BTreeSet<String>,
    /// Those of the line.
    iterators: BTreeSet<String>,
}

impl Names {
    fn of(document: &Document, byte: usize) -> Names {
        let mut names = Names {
            tensors: BTreeSet::new(),
            symbols: BTreeSet::new(),
            iterators: BTreeSet::new(),
        };
        for item in &document.file.items {
            if let Item::Symbols(symbols, _) = item {
                names.symbols.extend(symbols.iter().map(|name| name.text.clone()));
            }
        }
        let functions = words::functions();
        let known = |word: &str| {
            words::DIRECTIVES.contains(&word)
                || words::aspect(word).is_some()
                || words::meaning(&functions, word).is_some()
                || words::meaning(&words::formats(), word).is_some()
        };
        let line = byte - document.line_before(byte).len()..byte;
        let end = document.text[byte..].find('\n').map_or(document.text.len(), |at| byte + at);
        for word in document.words() {
            let letter = word.text.starts_with(|c: char| c.is_ascii_alphabetic());
            let typed = (word.start..=word.end()).contains(&byte);
            if word.comment || typed || !letter || known(word.text) {
                continue;
            }
            if word.is_called() {
                names.tensors.insert(word.text.into());
            } else if (line.start..end).contains(&word.start) && !names.symbols.contains(word.text)
            {
                names.iterators.insert(word.text.into());
            }
        }
        names
    }
}
