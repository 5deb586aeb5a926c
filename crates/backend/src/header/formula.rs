//! Sizes of buffers as formulas for people, and as expressions of C.

use dastac_loops::{Condition, Index, Module};

/// How names and operations are written.
pub(super) enum Style {
    /// As in the program.
    Text,
    /// In C; the names of symbols' places in `params`.
    C(Vec<String>),
}

impl Style {
    fn is_c(&self) -> bool {
        matches!(self, Style::C(_))
    }
}

/// The expression as a formula; `binding` is how tightly the place around it binds: 0 nothing, 1 a sum, 2 the
/// right side of a difference, 3 a factor.
pub(super) fn formula(module: &Module, index: &Index, binding: u8, style: &Style) -> String {
    let at = |index, binding| formula(module, index, binding, style);
    let (text, own) = match index {
        Index::Const(value) => (value.to_string(), if *value < 0 { 1 } else { 4 }),
        Index::Symbol(symbol) => match module.symbols.get(symbol.0 as usize) {
            Some(name) => match style {
                Style::Text => (name.clone(), 4),
                Style::C(parameters) => match parameters.get(symbol.0 as usize) {
                    Some(parameter) => (format!("params[{parameter}]"), 4),
                    None => (name.clone(), 4),
                },
            },
            None => (format!("symbol {}", symbol.0), 4),
        },
        Index::Var(var) => (format!("variable {}", var.0), 4),
        Index::Add(left, right) => (format!("{} + {}", at(left, 1), at(right, 2)), 1),
        Index::Sub(left, right) => (format!("{} - {}", at(left, 1), at(right, 2)), 1),
        Index::Mul(left, right) => (format!("{}*{}", at(left, 3), at(right, 4)), 3),
        Index::FloorDiv(value, by) | Index::ExactDiv(value, by) => {
            (format!("{}/{by}", at(value, 3)), 3)
        }
        Index::Mod(value, by) => (format!("{}%{by}", at(value, 3)), 3),
        Index::Quotient(value, by) => (format!("{}/{}", at(value, 3), at(by, 4)), 3),
        Index::Load(buffer, index) => (format!("buffer {}[{}]", buffer.0, at(index, 0)), 4),
        Index::Within(inner) => (at(&inner.index, 4), 4),
        Index::Min(left, right) if style.is_c() => {
            let (left, right) = (at(left, 2), at(right, 2));
            (format!("({left} < {right} ? {left} : {right})"), 4)
        }
        Index::Max(left, right) if style.is_c() => {
            let (left, right) = (at(left, 2), at(right, 2));
            (format!("({left} > {right} ? {left} : {right})"), 4)
        }
        Index::Min(left, right) => (format!("min({}, {})", at(left, 0), at(right, 0)), 4),
        Index::Max(left, right) => (format!("max({}, {})", at(left, 0), at(right, 0)), 4),
        Index::Select(condition, then, otherwise) => {
            let condition = condition_formula(module, condition, style);
            (format!("({condition} ? {} : {})", at(then, 1), at(otherwise, 1)), 4)
        }
    };
    if own < binding { format!("({text})") } else { text }
}

fn condition_formula(module: &Module, condition: &Condition, style: &Style) -> String {
    let join = |list: &[Condition], operator: &str, empty: &str| match list {
        [] => empty.to_owned(),
        list => {
            let parts: Vec<_> = list.iter().map(|c| condition_formula(module, c, style)).collect();
            format!("({})", parts.join(operator))
        }
    };
    match condition {
        Condition::Compare(op, left, right) => {
            let op = op.sign();
            format!("{} {op} {}", formula(module, left, 1, style), formula(module, right, 1, style))
        }
        Condition::And(list) => join(list, " && ", "1"),
        Condition::Or(list) => join(list, " || ", "0"),
    }
}
