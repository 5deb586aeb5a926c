//! Sets and maps in STUR's own notation: what `dastac infer` prints can be pasted into a program.

use dastac_poly::ast::{Expr, Op};
use dastac_poly::{AstBuild, Map, Set};

use super::InferError;
use crate::sets::{Affine, Sets};

/// A set as a sum of products of comparisons over `iterators`; `0` when empty.
pub fn set_to_stur(sets: &Sets, set: &Set, iterators: &[String]) -> Result<String, InferError> {
    let set = super::named(sets, set, iterators)?;
    if set.is_empty()? {
        return Ok("0".into());
    }
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
    Ok(regions.join(" + "))
}

/// A redundancy piece as a product of comparisons, the target of `i` called `ip`.
pub fn map_to_stur(
    sets: &Sets,
    map: &Map,
    coefficient: f64,
    iterators: &[String],
) -> Result<String, InferError> {
    let mut regions = Vec::new();
    for (domain, outputs) in map.as_pieces()? {
        let mut text = set_to_stur(sets, &domain, iterators)?;
        for (iterator, output) in iterators.iter().zip(&outputs) {
            let target = Affine::from_linear(&output.expr()?, iterators)
                .map_or_else(|| format!("{output}"), |target| stur_affine(&target));
            text += &format!(" * ({iterator}p = {target})");
        }
        if coefficient != 1.0 {
            text = format!("{coefficient} * {text}");
        }
        regions.push(text);
    }
    Ok(regions.join(" + "))
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

/// `x >= 0` and `x < N` become `0 <= x < N`; the rest is printed as it is.
fn merge_bounds(sets: &Sets, factors: &[&Expr]) -> Vec<String> {
    let mut lower: Vec<(String, String)> = Vec::new();
    let mut parts: Vec<(Option<String>, String)> = Vec::new();
    for factor in factors {
        if let Expr::Op(Op::Ge, sides) = factor
            && let [variable @ Expr::Id(_), bound] = sides.as_slice()
        {
            lower.push((expression(sets, variable), expression(sets, bound)));
            continue;
        }
        if let Expr::Op(op @ (Op::Lt | Op::Le), sides) = factor
            && let [variable @ Expr::Id(_), bound] = sides.as_slice()
        {
            let operator = if *op == Op::Lt { "<" } else { "<=" };
            let (operator, bound) = strict(sets, operator, bound);
            let name = expression(sets, variable);
            parts.push((Some(name.clone()), format!("{name} {operator} {bound}")));
            continue;
        }
        parts.push((None, expression(sets, factor)));
    }
    let mut result = Vec::new();
    for (variable, text) in parts {
        let bound = variable
            .as_ref()
            .and_then(|variable| lower.iter().position(|(name, _)| name == variable));
        match bound {
            Some(at) => result.push(format!("({} <= {text})", lower.remove(at).1)),
            None if variable.is_some() => result.push(format!("({text})")),
            None => result.push(text),
        }
    }
    let rest = lower.into_iter().map(|(variable, bound)| format!("({bound} <= {variable})"));
    rest.chain(result).collect()
}

/// `x <= N - 1` reads better as `x < N`.
fn strict(sets: &Sets, operator: &'static str, bound: &Expr) -> (&'static str, String) {
    match bound {
        Expr::Op(Op::Sub, sides) if operator == "<=" && sides.get(1) == Some(&Expr::Int(1)) => {
            ("<", expression(sets, &sides[0]))
        }
        Expr::Op(Op::Add, sides) if operator == "<=" && sides.get(1) == Some(&Expr::Int(-1)) => {
            ("<", expression(sets, &sides[0]))
        }
        _ => (operator, expression(sets, bound)),
    }
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
            Op::Minus => format!("(-{})", parts.first().map_or(String::new(), |p| expression(sets, p))),
            Op::Div | Op::FloorDiv | Op::PdivQ => binary(" / ", parts),
            Op::PdivR | Op::ZdivR => binary(" % ", parts),
            Op::Eq => binary(" = ", parts),
            Op::Le => binary(" <= ", parts),
            Op::Lt => binary(" < ", parts),
            Op::Ge => binary(" >= ", parts),
            Op::Gt => binary(" > ", parts),
            Op::Max | Op::Min | Op::Cond | Op::Select | Op::Call | Op::Access | Op::Member | Op::AddressOf => {
                format!("{expr}")
            }
        },
    }
}
