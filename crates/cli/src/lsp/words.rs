//! What the words of the language mean: the tables of its documents, which have a row for each.

use dastac::elements::{Element, Function};
use dastac::formats::format::library;
use dastac::formats::level::KINDS;
use dastac::stur::ast::{Directive, ReduceOp};

const LANGUAGE: &str = include_str!("../../../../docs/language.md");
const SCHEDULES: &str = include_str!("../../../../docs/schedules.md");

/// Directives of a file.
pub const DIRECTIVES: [&str; 6] = ["symbols", "outputs", "iters", "layout", "schedule", "types"];

/// Block marks.
pub const BLOCKS: [&str; 2] = ["preprocess_start", "preprocess_end"];

/// What a rule may say about a tensor, behind its name.
pub const ASPECTS: [(&str, &str); 4] = [
    ("D", "dimensions: where the tensor is defined; indices start at 0"),
    ("U", "unique set: the elements with values of their own"),
    ("R", "redundancy map: element `(i, j)` equals element `(ip, jp)`, or a coefficient times it"),
    ("F", "format: how the elements of a dynamically sparse tensor are stored, level by level"),
];

/// The rest of the row of a table that begins so.
fn row<'a>(document: &'a str, first: &str) -> Option<&'a str> {
    let row = document
        .lines()
        .find(|line| line.strip_prefix("| ").is_some_and(|rest| rest.starts_with(first)))?;
    let (_, meaning) = row[2 + first.len()..].split_once(" | ")?;
    Some(meaning.trim_end_matches(['|', ' ']))
}

/// What a diagnostic's code means.
pub fn code(code: &str) -> Option<&'static str> {
    let digits = code.strip_prefix(['E', 'W'])?;
    let is_code = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then(|| row(LANGUAGE, code)).flatten()
}

/// What a directive or block mark means.
pub fn directive(word: &str) -> Option<&'static str> {
    if BLOCKS.contains(&word) {
        return row(LANGUAGE, "`@preprocess_start`");
    }
    DIRECTIVES.contains(&word).then(|| row(LANGUAGE, &format!("`{word}:"))).flatten()
}

/// What `:D` and the like mean.
pub fn aspect(word: &str) -> Option<&'static str> {
    ASPECTS.iter().find(|(aspect, _)| *aspect == word).map(|(_, meaning)| *meaning)
}

/// Words that take something in parentheses, and are no tensors.
pub fn functions() -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        (
            "pos",
            "`(k = pos(T(i, j)))` is 1 where `T` stores its element `(i, j)` as value number `k`, else 0",
        ),
        ("order", "which position of the packed buffer varies slowest, then the others"),
        ("align", "rows begin at multiples of so many elements: a power of two up to 512"),
    ];
    all.extend(ReduceOp::ALL.map(|operator| {
        let meaning = match operator {
            ReduceOp::Sum => "the sum over these iterators",
            ReduceOp::Min => "the least value over these iterators, infinity where there is none",
            ReduceOp::Max => "the largest value over these iterators",
            ReduceOp::MaxTimes => {
                "the largest product over these iterators, of numbers that are not negative"
            }
            ReduceOp::Prod => "the product over these iterators, 1 where there is nothing",
            ReduceOp::Or => "1 if there is a product without a zero factor, else 0",
        };
        (operator.word(), meaning)
    }));
    all.extend(Function::ALL.iter().map(|function| (function.name(), function.about())));
    all.extend([
        ("where", "`where(test, a, b)`: `a` where the test is not 0, else `b`"),
        ("relu", "the larger one of a value and 0"),
        ("sigmoid", "`1 / (1 + exp(-a))`"),
        ("silu", "`a / (1 + exp(-a))`, also named swish"),
        ("gelu", "`a * (1 + erf(a / sqrt(2))) / 2`"),
        ("softplus", "`log(1 + exp(a))`, without overflow"),
        ("square", "a value times itself"),
        ("clip", "`clip(a, low, high)`: the nearest value within these bounds"),
    ]);
    for directive in Directive::ALL {
        let word = directive.word();
        all.push((word, row(SCHEDULES, &format!("`{word}(")).unwrap_or_default()));
    }
    all
}

/// Formats of sparse tensors, and the levels that they are made of.
pub fn formats() -> Vec<(&'static str, &'static str)> {
    let named = library().iter().map(|format| (format.name.as_str(), format.about.as_str()));
    let mut all: Vec<_> = named.collect();
    for kind in &KINDS {
        let word = kind.word();
        if all.iter().all(|(known, _)| *known != word) {
            all.push((word, row(LANGUAGE, &format!("`{word}(")).unwrap_or_default()));
        }
    }
    all
}

/// Element types.
pub fn types() -> Vec<(&'static str, &'static str)> {
    Element::OF_TENSORS.iter().map(|element| (element.name(), element.about())).collect()
}

/// What a word means among such.
pub fn meaning(all: &[(&'static str, &'static str)], word: &str) -> Option<&'static str> {
    all.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
}
