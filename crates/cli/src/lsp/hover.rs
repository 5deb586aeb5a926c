//! What an editor shows for the word under the pointer.

use dastac::stur::ast::Item;

use super::document::{Document, Word};
use super::words;

/// A text in Markdown.
pub fn hover(document: &Document, byte: usize) -> Option<String> {
    let word = document.word(byte)?;
    let mut parts: Vec<String> = Vec::new();
    let at = |&(start, end, _): &(usize, usize, String)| (start..=end.max(start)).contains(&byte);
    if !word.comment {
        parts.extend(of_word(document, &word));
        let here = document.problems.iter().filter(|one| one.labels.first().is_some_and(at));
        parts.extend(here.filter_map(|problem| of_code(&problem.code)));
    }
    parts.extend(of_code(word.text));
    (!parts.is_empty()).then(|| parts.join("\n\n---\n\n"))
}

fn of_code(code: &str) -> Option<String> {
    words::code(code).map(|meaning| format!("**{code}**: {meaning}"))
}

fn of_word(document: &Document, word: &Word) -> Option<String> {
    let named = |meaning: &str| format!("`{}`: {meaning}", word.text);
    let begins_line = document.line_before(word.start).trim().is_empty();
    let directive = begins_line && word.behind == Some(':') || word.before == Some('@');
    if let Some(meaning) = words::directive(word.text).filter(|_| directive) {
        return Some(named(meaning));
    }
    let aspect = word.before == Some(':') && !begins_line;
    if let Some(meaning) = words::aspect(word.text).filter(|_| aspect) {
        return Some(named(meaning));
    }
    if let Some(text) = of_tensor(document, word) {
        return Some(text);
    }
    let of = |all: &[(&'static str, &'static str)]| words::meaning(all, word.text);
    let meaning = match document.item(word.start) {
        Some(Item::Format(_)) => of(&words::formats()),
        Some(Item::Types(..)) => of(&words::types()),
        _ if word.behind == Some('(') => of(&words::functions()),
        _ => None,
    };
    meaning.map(named).or_else(|| of_name(document, word))
}

/// Its structure, and where its elements are.
fn of_tensor(document: &Document, word: &Word) -> Option<String> {
    let structure = document.structures.get(word.text)?;
    let listed = matches!(
        document.item(word.start),
        Some(
            Item::Outputs(..)
                | Item::Iters(..)
                | Item::Layout(..)
                | Item::Schedule(..)
                | Item::Types(..)
        )
    );
    if !listed && !word.is_called() {
        return None; // an iterator may have the same name
    }
    let mut text = format!("```stur\n{}\n```", structure.trim_end());
    if let Some(layout) = document.layouts.get(word.text) {
        text += &format!("\n\n```text\n{}\n```", layout.trim_end());
    }
    Some(text)
}

/// A symbol or an iterator.
fn of_name(document: &Document, word: &Word) -> Option<String> {
    let is_symbol = document.file.items.iter().any(|item| match item {
        Item::Symbols(names, _) => names.iter().any(|name| name.text == word.text),
        _ => false,
    });
    if is_symbol {
        return Some(format!(
            "`{}`: a symbol, an integer that is given when the kernel runs",
            word.text
        ));
    }
    let Some(Item::Rule(rule)) = document.item(word.start) else { return None };
    let letter = word.text.starts_with(|c: char| c.is_ascii_alphabetic());
    if word.is_called() || !letter {
        return None;
    }
    let in_head = rule.iterators.iter().any(|name| name.text == word.text);
    let what =
        if in_head { "an iterator of the head" } else { "an iterator that is not in the head" };
    Some(format!("`{}`: {what}", word.text))
}
