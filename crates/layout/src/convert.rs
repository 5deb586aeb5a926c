//! Converts isl's expressions (of ASTs and of the domains of pieces) to loop IR.

use dastac_loops::{Compare, Condition, Index};
use dastac_poly::ast::{Expr, Op};
use dastac_poly::{AstBuild, Set};

use crate::LayoutError;

/// The value of a name in generated code.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Option<Index>;

/// An integer expression.
///
/// # Errors
/// An unknown name, or an operation that the loop IR does not have (a division by an expression).
pub fn index(expr: &Expr, resolve: Resolve<'_>) -> Result<Index, LayoutError> {
    let unsupported = || LayoutError::Unsupported(format!("the index expression {expr}"));
    let (op, parts) = match expr {
        Expr::Int(value) => return Ok(Index::constant(*value)),
        Expr::Id(name) => {
            return resolve(name).ok_or_else(|| LayoutError::Unbound(name.clone()));
        }
        Expr::Op(op, parts) => (op, parts),
    };
    if let (Op::Cond | Op::Select, [test, then, otherwise]) = (op, parts.as_slice()) {
        let test = condition(test, resolve)?;
        return Ok(Index::select(test, index(then, resolve)?, index(otherwise, resolve)?));
    }
    let mut values = Vec::new();
    for part in parts {
        values.push(index(part, resolve)?);
    }
    let mut values = values.into_iter();
    let first = values.next().ok_or_else(unsupported)?;
    let rest: Vec<Index> = values.collect();
    let divisor =
        || rest.first().and_then(Index::as_const).filter(|d| *d > 0).ok_or_else(unsupported);
    Ok(match op {
        Op::Add => rest.into_iter().fold(first, |a, b| a + b),
        Op::Mul => rest.into_iter().fold(first, |a, b| a * b),
        Op::Max => rest.into_iter().fold(first, Index::max),
        Op::Min => rest.into_iter().fold(first, Index::min),
        Op::Sub => rest.into_iter().fold(first, |a, b| a - b),
        Op::Minus => -first,
        Op::Div => first.exact_div(divisor()?),
        Op::FloorDiv | Op::PdivQ => first.floor_div(divisor()?),
        // isl compares ZdivR only with 0, for which the sign of the remainder does not matter.
        Op::PdivR | Op::ZdivR => first.modulo(divisor()?),
        _ => return Err(unsupported()),
    })
}

/// A condition.
pub fn condition(expr: &Expr, resolve: Resolve<'_>) -> Result<Condition, LayoutError> {
    let unsupported = || LayoutError::Unsupported(format!("the condition {expr}"));
    let (op, parts) = match expr {
        Expr::Int(value) => return Ok(Condition::from(*value != 0)),
        Expr::Id(_) => return Err(unsupported()),
        Expr::Op(op, parts) => (op, parts),
    };
    let all = || parts.iter().map(|part| condition(part, resolve)).collect::<Result<Vec<_>, _>>();
    let compare = match op {
        Op::And | Op::AndThen => return Ok(Condition::all(all()?)),
        Op::Or | Op::OrElse => return Ok(Condition::any(all()?)),
        Op::Eq => Compare::Eq,
        Op::Le => Compare::Le,
        Op::Lt => Compare::Lt,
        Op::Ge => Compare::Ge,
        Op::Gt => Compare::Gt,
        _ => return Err(unsupported()),
    };
    let [left, right] = parts.as_slice() else { return Err(unsupported()) };
    Ok(Condition::compare(compare, index(left, resolve)?, index(right, resolve)?))
}

/// The condition that a point is in a set, given that it is in `known`. `resolve` gives the values of dimensions and
/// parameters.
pub fn membership(set: &Set, known: &Set, resolve: Resolve<'_>) -> Result<Condition, LayoutError> {
    let build = AstBuild::from_context(&set.universe_like()?.params_set()?)?;
    let names = set.dims()?;
    let set = set.gist(known)?.with_dim_names(&names)?;
    condition(&build.expr_from_set(&set)?, resolve)
}
