//! STUR text of a syntax tree, one item a line. Invariant: `parse(print(file)) == file`, so printing is idempotent.
//!
//! Comparisons are always printed in parentheses, even if the language does not require them; negative numbers are
//! after an operator.

use dastac_elements::Function;
use std::fmt::{self, Display, Formatter};

use crate::ast::{
    Aspect, BinaryOp, CompareOp, Comparison, Expr, ExprKind, File, FormatItem, GroupItem, Item,
    IterationOrder, LayoutItem, LayoutPart, Operation, Reduction, RuleItem, ScheduleItem,
    SchedulePart, Term,
};

/// `a, b, c`
fn list<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    separator: &str,
    mut print: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (k, item) in items.iter().enumerate() {
        if k > 0 {
            f.write_str(separator)?;
        }
        print(f, item)?;
    }
    Ok(())
}

impl Display for File {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.items.iter().try_for_each(|item| writeln!(f, "{item}"))
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = |f: &mut Formatter<'_>, word: &str, names: &[crate::ast::Name]| {
            write!(f, "{word}: ")?;
            list(f, names, ", ", |f, name| f.write_str(&name.text))
        };
        match self {
            Item::Symbols(symbols, _) => names(f, "symbols", symbols),
            Item::Outputs(outputs, _) => names(f, "outputs", outputs),
            Item::Iters(orders, _) => {
                f.write_str("iters: ")?;
                list(f, orders, "; ", |f, order| write!(f, "{order}"))
            }
            Item::Layout(entries, _) => {
                f.write_str("layout: ")?;
                list(f, entries, "; ", |f, entry| write!(f, "{entry}"))
            }
            Item::Schedule(entries, _) => {
                f.write_str("schedule: ")?;
                list(f, entries, "; ", |f, entry| write!(f, "{entry}"))
            }
            Item::Types(entries, _) => {
                f.write_str("types: ")?;
                list(f, entries, ", ", |f, entry| {
                    write!(f, "{} = {}", entry.tensor.text, entry.element.text)
                })
            }
            Item::PreprocessStart(_) => f.write_str("@preprocess_start"),
            Item::PreprocessEnd(_) => f.write_str("@preprocess_end"),
            Item::Format(format) => write!(f, "{format}"),
            Item::Define(text) => f.write_str(&text.text),
            Item::Rule(rule) => write!(f, "{rule}"),
        }
    }
}

impl Display for IterationOrder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> ", self.head.text)?;
        list(f, &self.iterators, ", ", |f, name| f.write_str(&name.text))
    }
}

impl Display for LayoutItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> ", self.tensor.text)?;
        list(f, &self.parts, ", ", |f, part| match part {
            LayoutPart::Order(names, _) => {
                f.write_str("order(")?;
                list(f, names, ", ", |f, name| f.write_str(&name.text))?;
                f.write_str(")")
            }
            LayoutPart::Align(elements, _) => write!(f, "align({elements})"),
        })
    }
}

impl Display for ScheduleItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> ", self.head.text)?;
        list(f, &self.parts, ", ", |f, part| write!(f, "{part}"))
    }
}

impl Display for SchedulePart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.directive.word())?;
        list(f, &self.loops, ", ", |f, (name, size)| {
            f.write_str(&name.text)?;
            size.map_or(Ok(()), |size| write!(f, "={size}"))
        })?;
        list(f, &self.groups, ", ", |f, group| write!(f, "{group}"))?;
        f.write_str(")")
    }
}

impl Display for GroupItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GroupItem::Factor(name) => f.write_str(&name.text),
            GroupItem::Group(parts, _) => {
                f.write_str("(")?;
                list(f, parts, ", ", |f, part| write!(f, "{part}"))?;
                f.write_str(")")
            }
        }
    }
}

impl Display for FormatItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:F", self.tensor.text)?;
        if let Some(iterators) = &self.iterators {
            f.write_str("(")?;
            list(f, iterators, ", ", |f, name| f.write_str(&name.text))?;
            f.write_str(")")?;
        }
        write!(f, " := {}", self.format.text)
    }
}

impl Display for RuleItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}(", self.tensor.text, self.aspect)?;
        list(f, &self.iterators, ", ", |f, name| f.write_str(&name.text))?;
        f.write_str(") := ")?;
        let Some(reduction) = &self.reduction else { return term(f, &self.body, Place::Start) };
        reduced(f, reduction, &self.body)
    }
}

/// Whether the text of a term begins with such a factor.
fn starts(it: &Term, with: &dyn Fn(&Term) -> bool) -> bool {
    match it {
        Term::Sum(terms, _) | Term::Product(terms, _) => {
            terms.first().is_some_and(|first| starts(first, with))
        }
        Term::Call { operation: Operation::Divide, arguments, .. } => {
            arguments.first().is_some_and(|first| starts(first, with))
        }
        leaf => with(leaf),
    }
}

/// The text after the tensor's name in the head; empty for a value.
impl Display for Aspect {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Aspect::Value => "",
            Aspect::Domain => ":D",
            Aspect::Unique => ":U",
            Aspect::Redundancy => ":R",
        })
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        term(f, self, Place::Start)
    }
}

/// Where a term is, which determines whether it needs parentheses.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// At the beginning of a right-hand side.
    Start,
    /// Operand of a sum, the first one of a right-hand side or another.
    Summand { first: bool },
    /// Operand of a product; the very first of a right-hand side or another.
    Factor { first: bool },
}

fn term(f: &mut Formatter<'_>, it: &Term, place: Place) -> fmt::Result {
    let first = match place {
        Place::Start => true,
        Place::Summand { first } | Place::Factor { first } => first,
    };
    match it {
        Term::Sum(terms, _) => {
            let nested = place != Place::Start;
            f.write_str(if nested { "(" } else { "" })?;
            for (k, summand) in terms.iter().enumerate() {
                f.write_str(if k > 0 { " + " } else { "" })?;
                term(f, summand, Place::Summand { first: k == 0 })?;
            }
            f.write_str(if nested { ")" } else { "" })
        }
        Term::Product(factors, _) => {
            let nested = matches!(place, Place::Factor { .. });
            f.write_str(if nested { "(" } else { "" })?;
            for (k, factor) in factors.iter().enumerate() {
                f.write_str(if k > 0 { " * " } else { "" })?;
                term(f, factor, Place::Factor { first: k == 0 && (first || nested) })?;
            }
            f.write_str(if nested { ")" } else { "" })
        }
        Term::Access { tensor, subscripts, reciprocal, position, .. } => {
            if let Some(iterator) = position {
                write!(f, "({} = pos(", iterator.text)?;
            }
            write!(f, "{}{}(", tensor.text, if *reciprocal { "^-1" } else { "" })?;
            list(f, subscripts, ", ", |f, subscript| write!(f, "{subscript}"))?;
            f.write_str(if position.is_some() { ")))" } else { ")" })
        }
        Term::Number { value, reciprocal, .. } => {
            let nested = value.is_sign_negative() && !first;
            f.write_str(if nested { "(" } else { "" })?;
            write!(f, "{}", dastac_elements::Decimal(*value))?;
            f.write_str(if *reciprocal { "^-1" } else { "" })?;
            f.write_str(if nested { ")" } else { "" })
        }
        Term::Comparison(comparison) => write!(f, "({comparison})"),
        Term::Call { operation, arguments, .. } => call(f, *operation, arguments, place),
        Term::Index(name) => f.write_str(&name.text),
        Term::Reduced { reduction, body, .. } => {
            let nested = place != Place::Start;
            f.write_str(if nested { "(" } else { "" })?;
            reduced(f, reduction, body)?;
            f.write_str(if nested { ")" } else { "" })
        }
    }
}

/// `max(a, b)`, `(a < b)`, `a / (b)`
fn call(
    f: &mut Formatter<'_>,
    operation: Operation,
    arguments: &[Term],
    place: Place,
) -> fmt::Result {
    let infix = match operation {
        Operation::Function(Function::FloorDivide) => Some(" // ".into()),
        Operation::Function(Function::Mod) => Some(" % ".into()),
        Operation::Compare(operator) => Some(format!(" {operator} ")),
        Operation::Divide => Some(" / ".into()),
        _ => None,
    };
    let Some(infix) = infix else {
        let name = match operation {
            Operation::Function(function) => function.name(),
            Operation::Min => "min",
            Operation::Max => "max",
            Operation::Where => "where",
            Operation::Cast(element) => element.name(),
            Operation::Compare(_) | Operation::Divide => "",
        };
        write!(f, "{name}(")?;
        list(f, arguments, ", ", |f, argument| term(f, argument, Place::Start))?;
        return f.write_str(")");
    };
    // Comparisons always stand in parentheses, quotients where they are not all there is.
    let nested = place != Place::Start || infix != " / ";
    f.write_str(if nested { "(" } else { "" })?;
    for (k, argument) in arguments.iter().enumerate() {
        f.write_str(if k > 0 { &infix } else { "" })?;
        let first = k == 0;
        let place = match operation {
            Operation::Compare(_) => Place::Summand { first: true },
            _ => Place::Factor { first },
        };
        // A product as a divisor, or a quotient, is one factor.
        term(f, argument, place)?;
    }
    f.write_str(if nested { ")" } else { "" })
}

/// `max(j) A(i, j)`
fn reduced(f: &mut Formatter<'_>, reduction: &Reduction, body: &Term) -> fmt::Result {
    write!(f, "{}(", reduction.operator.word())?;
    list(f, &reduction.iterators, ", ", |f, name| f.write_str(&name.text))?;
    f.write_str(") ")?;
    // `max(j) -1` would be a subtraction.
    let negative = |it: &Term| matches!(it, Term::Number { value, .. } if value.is_sign_negative());
    if starts(body, &negative) {
        f.write_str("(")?;
        term(f, body, Place::Start)?;
        return f.write_str(")");
    }
    term(f, body, Place::Start)
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (k, operand) in self.operands.iter().enumerate() {
            if let Some(operator) = k.checked_sub(1).and_then(|k| self.operators.get(k)) {
                write!(f, " {operator} ")?;
            }
            write!(f, "{operand}")?;
        }
        Ok(())
    }
}

impl Display for CompareOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CompareOp::Eq => "=",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
        })
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
        })
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Int(value) => write!(f, "{value}"),
            ExprKind::Name(name) => f.write_str(name),
            // `-3` is a number: the negation of 3 needs parentheses to stay one.
            ExprKind::Neg(inner) => match inner.kind {
                ExprKind::Name(_) => write!(f, "-{inner}"),
                _ => write!(f, "-({inner})"),
            },
            ExprKind::Binary(op, left, right) => {
                operand(f, left, *op, false)?;
                write!(f, " {op} ")?;
                operand(f, right, *op, true)
            }
        }
    }
}

fn operand(f: &mut Formatter<'_>, it: &Expr, parent: BinaryOp, right: bool) -> fmt::Result {
    let plain = match &it.kind {
        // A sign after an operator is easily overlooked.
        ExprKind::Int(value) => *value >= 0 || !right,
        ExprKind::Name(_) => true,
        ExprKind::Neg(_) => !right,
        ExprKind::Binary(op, ..) => match (rank(parent), rank(*op)) {
            (parent, child) if parent == child => !right,
            // `%` beside `*` is read differently elsewhere: always parenthesised.
            (2, 3) | (3, 2) => false,
            (parent, child) => child > parent,
        },
    };
    if plain { write!(f, "{it}") } else { write!(f, "({it})") }
}

/// How tightly an operator binds.
fn rank(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Add | BinaryOp::Sub => 1,
        BinaryOp::Mul | BinaryOp::Div => 2,
        BinaryOp::Mod => 3,
    }
}
