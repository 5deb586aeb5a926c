//! Sets and maps in STUR's own notation: what `dastac infer` prints can be pasted into a program.

use dastac_poly::ast::{Expr, Op};
use dastac_poly::{AstBuild, Map, Set};

use super::InferError;
use crate::coefficient::Coefficient;
use crate::sets::{Affine, Sets};

/// A set as a sum of products of comparisons over `iterators`; `0` when empty.
pub fn set_to_stur(sets: &Sets, set: &Set, iterators: &[String]) -> Result<String, InferError> {
    let regions = regions(sets, set, iterators)?;
    Ok(if regions.is_empty() { "0".into() } else { regions.join(" + ") })
}

/// The products whose sum is a set.
fn regions(sets: &Sets, set: &Set, iterators: &[String]) -> Result<Vec<String>, InferError> {
    let set = super::named(sets, set, iterators)?;
    let set = set.gist(&sets.universe(iterators)?)?.coalesce()?;
    let build = AstBuild::from_context(&sets.universe(&[])?.params_set()?)?;
    let mut regions = Vec::new();
    for basic in set.basic_sets()? {
        let mut factors = Vec::new();
        let condition = build.expr_from_set(&basic)?;
        flatten(&condition, &mut factors);
        let mut text: Vec<String> = Vec::new();
        for factor in merge_bounds(sets, &factors) {
            if !text.contains(&factor) {
                text.push(factor);
            }
        }
        regions.push(if text.is_empty() { "1".to_string() } else { text.join(" * ") });
    }
    Ok(regions)
}

/// A redundancy piece as a product of comparisons, the target of `i` called `ip`.
pub fn map_to_stur(
    sets: &Sets,
    map: &Map,
    coefficient: &Coefficient,
    iterators: &[String],
) -> Result<String, InferError> {
    let mut products = Vec::new();
    for (domain, outputs) in map.as_pieces()? {
        for mut text in regions(sets, &domain, iterators)? {
            for (iterator, output) in iterators.iter().zip(&outputs) {
                let target = Affine::from_linear(&output.expr()?, iterators)
                    .map_or_else(|| format!("{output}"), |target| stur_affine(&target));
                text += &format!(" * ({iterator}p = {target})");
            }
            if !coefficient.is_one() {
                let coefficient = coefficient.to_stur(&|symbol| sets.names.symbol(symbol));
                text = format!("{coefficient} * {text}");
            }
            products.push(text);
        }
    }
    Ok(if products.is_empty() { "0".into() } else { products.join(" + ") })
}

/// Floors are written `(a / b)` in STUR.
fn stur_affine(expression: &Affine) -> String {
    expression.to_string().replace("floor(", "(").replace('*', " * ")
}

fn flatten<'a>(expr: &'a Expr, factors: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Op(Op::And | Op::AndThen, parts) => parts.iter().for_each(|p| flatten(p, factors)),
        Expr::Int(1) => {}
        _ => factors.push(expr),
    }
}

/// A comparison `left < right` or `left <= right`, as text.
struct Bound {
    left: String,
    strict: bool,
    right: String,
}

/// `x >= 0` and `x + 1 <= N` become `0 <= x < N`, longer chains (`0 <= i <= j < N`) likewise; the rest is printed as it is.
fn merge_bounds(sets: &Sets, factors: &[&Expr]) -> Vec<String> {
    let mut bounds: Vec<Bound> = Vec::new();
    let mut rest = Vec::new();
    for factor in factors {
        match factor {
            Expr::Op(op @ (Op::Ge | Op::Gt | Op::Lt | Op::Le), sides) if sides.len() == 2 => {
                let (low, high) = match op {
                    Op::Ge | Op::Gt => (&sides[1], &sides[0]),
                    _ => (&sides[0], &sides[1]),
                };
                let strict = matches!(op, Op::Gt | Op::Lt);
                bounds.push(bound(sets, low, strict, high));
            }
            _ => rest.push(expression(sets, factor)),
        }
    }
    // Chains: start at bounds whose left side no other bound ends in, follow each bound once.
    let mut chains = Vec::new();
    while !bounds.is_empty() {
        let start = (0..bounds.len())
            .find(|&k| !bounds.iter().any(|other| other.right == bounds[k].left))
            .unwrap_or(0);
        let first = bounds.remove(start);
        let mut text = format!("{} {} {}", first.left, operator(&first), first.right);
        let mut end = first.right;
        while let Some(next) = bounds.iter().position(|bound| bound.left == end) {
            let next = bounds.remove(next);
            text += &format!(" {} {}", operator(&next), next.right);
            end = next.right;
        }
        chains.push(format!("({text})"));
    }
    chains.extend(rest);
    chains
}

fn operator(bound: &Bound) -> &'static str {
    if bound.strict { "<" } else { "<=" }
}

/// `x + 1 <= N` and `x <= N - 1` read better as `x < N`.
fn bound(sets: &Sets, low: &Expr, strict: bool, high: &Expr) -> Bound {
    let plain = |expr: &Expr| {
        let text = expression(sets, expr);
        match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(inner) if !inner.contains(['(', ')']) => inner.to_string(),
            _ => text,
        }
    };
    if !strict {
        match low {
            Expr::Op(Op::Add, sides) if sides.len() == 2 && sides[1] == Expr::Int(1) => {
                return Bound { left: plain(&sides[0]), strict: true, right: plain(high) };
            }
            Expr::Int(1) => return Bound { left: "0".into(), strict: true, right: plain(high) },
            _ => {}
        }
        match high {
            Expr::Op(Op::Sub, sides) if sides.len() == 2 && sides[1] == Expr::Int(1) => {
                return Bound { left: plain(low), strict: true, right: plain(&sides[0]) };
            }
            _ => {}
        }
    }
    Bound { left: plain(low), strict, right: plain(high) }
}

fn expression(sets: &Sets, expr: &Expr) -> String {
    let binary = |operator: &str, parts: &[Expr]| {
        let parts: Vec<String> = parts.iter().map(|part| expression(sets, part)).collect();
        format!("({})", parts.join(operator))
    };
    match expr {
        Expr::Id(name) => sets.names.original(name).to_string(),
        Expr::Int(value) => value.to_string(),
        Expr::Op(op, parts) => match op {
            Op::And | Op::AndThen => binary(" * ", parts),
            Op::Or | Op::OrElse => binary(" + ", parts),
            Op::Add => binary(" + ", parts),
            Op::Sub => binary(" - ", parts),
            Op::Mul => binary(" * ", parts),
            Op::Minus => {
                format!("(-{})", parts.first().map_or(String::new(), |p| expression(sets, p)))
            }
            Op::Div | Op::FloorDiv | Op::PdivQ => binary(" / ", parts),
            Op::PdivR | Op::ZdivR => binary(" % ", parts),
            Op::Eq => binary(" = ", parts),
            Op::Le => binary(" <= ", parts),
            Op::Lt => binary(" < ", parts),
            Op::Ge => binary(" >= ", parts),
            Op::Gt => binary(" > ", parts),
            Op::Max
            | Op::Min
            | Op::Cond
            | Op::Select
            | Op::Call
            | Op::Access
            | Op::Member
            | Op::AddressOf => {
                format!("{expr}")
            }
        },
    }
}
