//! Answers to an editor's questions, in its terms.

use dastac::stur::ast::{Aspect, Item, Name, Span};
use lsp_types::{
    CompletionParams, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity,
    DocumentSymbolParams, GotoDefinitionParams, Hover, HoverContents, HoverParams, Location,
    MarkupContent, MarkupKind, NumberOrString, Position, Range, SymbolKind,
    TextDocumentPositionParams, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::lines::Lines;
use super::document::{Document, Word};
use super::worker::{Problem, SECONDS};
use super::{complete, hover};

/// The answer to a request; `None` for one that is not known.
pub fn answer<'a>(
    method: &str,
    params: Value,
    document: &dyn Fn(&Uri) -> Option<&'a Document>,
) -> Option<Result<Value, String>> {
    Some(
        match method {
            "textDocument/hover" => read::<HoverParams>(params).map(|params| {
                at(&params.text_document_position_params, document).and_then(|(document, byte)| {
                    let value = hover::hover(document, byte)?;
                    let contents = MarkupContent { kind: MarkupKind::Markdown, value };
                    Some(json!(Hover { contents: HoverContents::Markup(contents), range: None }))
                })
            }),
            "textDocument/definition" => read::<GotoDefinitionParams>(params).map(|params| {
                let place = params.text_document_position_params;
                let (document, byte) = at(&place, document)?;
                let span = declaration(document, &document.word(byte)?)?;
                let range = range(span.start, span.end, &Lines::of(&document.text));
                Some(json!(Location { uri: place.text_document.uri, range }))
            }),
            "textDocument/documentSymbol" => read::<DocumentSymbolParams>(params).map(|params| {
                document(&params.text_document.uri).map(|document| json!(symbols(document)))
            }),
            "textDocument/completion" => read::<CompletionParams>(params).map(|params| {
                let (document, byte) = at(&params.text_document_position, document)?;
                Some(json!(complete::complete(document, byte)))
            }),
            _ => return None,
        }
        .map(|answer| answer.unwrap_or(Value::Null)),
    )
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}

/// A document and the byte at a place.
fn at<'a>(
    place: &TextDocumentPositionParams,
    document: &dyn Fn(&Uri) -> Option<&'a Document>,
) -> Option<(&'a Document, usize)> {
    let document = document(&place.text_document.uri)?;
    let Position { line, character } = place.position;
    Some((document, Lines::of(&document.text).byte(line, character)))
}

fn range(start: usize, end: usize, lines: &Lines) -> Range {
    let position = |byte| {
        let (line, character) = lines.utf16(byte);
        Position { line, character }
    };
    Range { start: position(start), end: position(end.max(start)) }
}

/// Where a tensor is computed or else declared, a symbol is declared, or an iterator is first named.
fn declaration(document: &Document, word: &Word) -> Option<Span> {
    if word.comment {
        return None;
    }
    let items = || document.file.items.iter();
    let is = |name: &Name| name.text == word.text;
    let symbol = items().find_map(|item| match item {
        Item::Symbols(names, _) => names.iter().find(|name| is(name)).map(|name| name.span),
        _ => None,
    });
    let of_tensor = |wanted: &dyn Fn(Aspect) -> bool| {
        items().find_map(|item| match item {
            Item::Rule(rule) if is(&rule.tensor) && wanted(rule.aspect) => Some(rule.tensor.span),
            _ => None,
        })
    };
    let tensor = || {
        of_tensor(&|aspect| aspect == Aspect::Value)
            .or_else(|| of_tensor(&|aspect| aspect == Aspect::Domain))
            .or_else(|| of_tensor(&|_| true))
    };
    let here = document.item(word.start);
    match here {
        _ if symbol.is_some() => symbol,
        Some(Item::Rule(rule)) if !word.is_called() => {
            let reduced = rule.reduction.iter().flat_map(|reduction| &reduction.iterators);
            let named = rule.iterators.iter().chain(reduced).find(|name| is(name));
            named.map(|name| name.span).or_else(|| {
                let mut words = document.words().into_iter();
                let first = words.find(|one| {
                    one.start >= rule.span.start
                        && one.text == word.text
                        && !one.is_called()
                        && !one.comment
                })?;
                Some(Span::new(first.start, first.end()))
            })
        }
        _ => tensor(),
    }
}

/// All rules and directives, in order.
fn symbols(document: &Document) -> Vec<Value> {
    let lines = Lines::of(&document.text);
    let mut found = Vec::new();
    for item in &document.file.items {
        let (name, kind, selected) = match item {
            Item::Symbols(names, _) => {
                for name in names {
                    found.push((name.text.clone(), SymbolKind::CONSTANT, name.span, name.span));
                }
                continue;
            }
            Item::Rule(rule) if rule.aspect == Aspect::Value => {
                let iterators: Vec<&str> =
                    rule.iterators.iter().map(|name| &name.text[..]).collect();
                let head = format!("{}({})", rule.tensor.text, iterators.join(", "));
                (head, SymbolKind::FUNCTION, rule.tensor.span)
            }
            Item::Rule(rule) => {
                let name = format!("{}{}", rule.tensor.text, rule.aspect);
                (name, SymbolKind::VARIABLE, rule.tensor.span)
            }
            Item::Format(format) => {
                (format!("{}:F", format.tensor.text), SymbolKind::VARIABLE, format.tensor.span)
            }
            _ => continue,
        };
        found.push((name, kind, item.span(), selected));
    }
    let symbol = |(name, kind, whole, selected): (String, SymbolKind, Span, Span)| {
        json!({
            "name": name,
            "kind": kind,
            "range": range(whole.start, whole.end, &lines),
            "selectionRange": range(selected.start, selected.end, &lines),
        })
    };
    found.into_iter().map(symbol).collect()
}

/// What is wrong with a document.
pub fn diagnostics(document: &Document, uri: &Uri) -> Vec<Diagnostic> {
    let lines = Lines::of(&document.text);
    let mut all: Vec<Diagnostic> =
        document.problems.iter().map(|problem| diagnostic(problem, &lines, uri)).collect();
    if document.gave_up {
        all.push(Diagnostic {
            severity: Some(DiagnosticSeverity::INFORMATION),
            source: Some("dastac".into()),
            message: format!(
                "structures were not inferred: that took more than {SECONDS} s or failed; `dastac check` may go on \
                for longer"
            ),
            ..Diagnostic::default()
        });
    }
    all
}

fn diagnostic(problem: &Problem, lines: &Lines, uri: &Uri) -> Diagnostic {
    let mut labels = problem.labels.iter();
    let mut message = problem.message.clone();
    let mut place = Range::default();
    if let Some((start, end, text)) = labels.next() {
        place = range(*start, *end, lines);
        if !text.is_empty() {
            message += &format!("\n{text}");
        }
    }
    if let Some(hint) = &problem.hint {
        message += &format!("\nhelp: {hint}");
    }
    let related = labels.map(|(start, end, text)| DiagnosticRelatedInformation {
        location: Location { uri: uri.clone(), range: range(*start, *end, lines) },
        message: text.clone(),
    });
    let related: Vec<_> = related.collect();
    Diagnostic {
        range: place,
        severity: Some(match problem.error {
            true => DiagnosticSeverity::ERROR,
            false => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(problem.code.clone())),
        source: Some("dastac".into()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    }
}
