//! How many elements a mean is over, where the dimensions say it: the sum of `where(A(i, j), 1, 1)` over `j` is the
//! extent `N` if the file says `A:D(i, j) := (0 <= i < M) * (0 <= j < N)`.
//!
//! Elsewhere the sum stays, and counts.

use std::collections::BTreeMap;

use super::values::{divide, negated};
use crate::ast::{
    Aspect, BinaryOp, CompareOp, Comparison, Expr, ExprKind, File, Item, Name, Operation, ReduceOp,
    RuleItem, Term,
};

/// The bounds of a dimension: from `low` up to, and without, `high + beyond`.
#[derive(Clone)]
struct Bounds {
    low: Expr,
    high: Expr,
    beyond: i64,
}

/// Those of the dimensions of tensors.
type Boxes = BTreeMap<String, Vec<Option<Bounds>>>;

/// Writes extents in place of sums that count.
pub(super) fn resolve(file: &mut File) {
    let mut boxes = Boxes::new();
    for item in &file.items {
        if let Item::Rule(rule) = item
            && rule.aspect == Aspect::Domain
        {
            boxes.insert(rule.tensor.text.clone(), box_of(rule));
        }
    }
    for item in &mut file.items {
        if let Item::Rule(rule) = item
            && rule.aspect == Aspect::Value
        {
            rewrite(&mut rule.body, &boxes);
        }
    }
}

/// The bounds that a `:D` gives to its iterators, each by itself.
fn box_of(rule: &RuleItem) -> Vec<Option<Bounds>> {
    let factors = match &rule.body {
        Term::Product(factors, _) => &factors[..],
        other => std::slice::from_ref(other),
    };
    let bounds = rule.iterators.iter().map(|iterator| {
        let mut own = factors.iter().filter_map(|factor| match factor {
            Term::Comparison(comparison) => bounds_of(comparison, &iterator.text),
            _ => None,
        });
        own.next()
    });
    bounds.collect()
}

/// The bounds that a `:D` gives to one of its iterators by itself, as they are written: `0`, `< N`.
pub(crate) fn bounds(domain: &RuleItem, at: usize) -> Option<(String, String)> {
    let Bounds { low, high, beyond } = box_of(domain).into_iter().nth(at)??;
    let operator = if beyond == 0 { "<" } else { "<=" };
    Some((low.to_string(), format!("{operator} {high}")))
}

/// `low <= i < high`, or `low <= i <= last`.
fn bounds_of(comparison: &Comparison, iterator: &str) -> Option<Bounds> {
    let [low, middle, high] = &comparison.operands[..] else { return None };
    let is_iterator = matches!(&middle.kind, ExprKind::Name(name) if name == iterator);
    let [CompareOp::Le, upper] = comparison.operators[..] else { return None };
    let beyond = match upper {
        CompareOp::Lt => 0,
        CompareOp::Le => 1,
        _ => return None,
    };
    is_iterator.then(|| Bounds { low: low.clone(), high: high.clone(), beyond })
}

fn rewrite(term: &mut Term, boxes: &Boxes) {
    if let Some(count) = count(term, boxes) {
        *term = count;
        return;
    }
    term.parts_mut().iter_mut().for_each(|part| rewrite(part, boxes));
    let Term::Product(factors, span) = term else { return };
    let mut all = Vec::new();
    for factor in std::mem::take(factors) {
        match factor {
            // By a number, a symbol or several of them.
            Term::Call { operation: Operation::Divide, mut arguments, span }
                if matches!(
                    arguments[..],
                    [Term::Number { .. }, Term::Number { .. } | Term::Product(..)]
                ) =>
            {
                let divisor = arguments.pop().unwrap_or(Term::one(span));
                divide(&mut all, divisor, span);
            }
            other => all.push(other),
        }
    }
    *term = Term::Product(all, *span);
}

/// The extents of the iterators of `sum(j, k) where(value, 1, 1)`.
fn count(term: &Term, boxes: &Boxes) -> Option<Term> {
    let Term::Reduced { reduction, body, span } = term else { return None };
    let Term::Call { operation: Operation::Where, arguments, .. } = body.as_ref() else {
        return None;
    };
    let [value, one, other] = &arguments[..] else { return None };
    let is_one = |term: &Term| matches!(term, Term::Number { value, reciprocal: false, .. } if *value == 1.0);
    if reduction.operator != ReduceOp::Sum || !is_one(one) || !is_one(other) {
        return None;
    }
    let extents = reduction.iterators.iter().map(|name| extent(value, name, boxes));
    let mut extents = extents.collect::<Option<Vec<Term>>>()?;
    extents.iter_mut().for_each(|extent| extent.set_span(*span));
    match extents.len() {
        0 => None,
        1 => extents.pop(),
        _ => Some(Term::Product(extents, *span)),
    }
}

/// The extent of the dimension that an iterator goes along, in the first element with this iterator as a subscript.
fn extent(value: &Term, iterator: &Name, boxes: &Boxes) -> Option<Term> {
    if let Term::Access { position: None, tensor, subscripts, .. } = value {
        let is_iterator =
            |one: &Expr| matches!(&one.kind, ExprKind::Name(name) if *name == iterator.text);
        let at = subscripts.iter().position(is_iterator)?;
        let Bounds { low, high, beyond } = boxes.get(&tensor.text)?.get(at)?.clone()?;
        let span = high.span;
        let mut terms = vec![number_of(&high)?];
        let rest = match low.kind {
            ExprKind::Int(low) => beyond - low,
            _ => {
                terms.push(negated(number_of(&low)?, low.span));
                beyond
            }
        };
        if rest != 0 {
            terms.push(Term::Number { value: rest as f64, reciprocal: false, span });
        }
        return match terms.len() {
            1 => terms.pop(),
            _ => Some(Term::Sum(terms, span)),
        };
    }
    value.parts().iter().find_map(|part| extent(part, iterator, boxes))
}

/// An integer expression as a value.
fn number_of(expression: &Expr) -> Option<Term> {
    let span = expression.span;
    Some(match &expression.kind {
        ExprKind::Int(value) => Term::Number { value: *value as f64, reciprocal: false, span },
        ExprKind::Name(name) => Term::Index(Name { text: name.clone(), span }),
        ExprKind::Neg(inner) => negated(number_of(inner)?, span),
        ExprKind::Binary(operator, left, right) => {
            let (left, right) = (number_of(left)?, number_of(right)?);
            match operator {
                BinaryOp::Add => Term::Sum(vec![left, right], span),
                BinaryOp::Sub => Term::Sum(vec![left, negated(right, span)], span),
                BinaryOp::Mul => Term::Product(vec![left, right], span),
                _ => return None,
            }
        }
    })
}
