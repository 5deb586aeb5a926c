//! Which points an AST visits, read back from it: for some sets with floors, isl (0.27) makes ASTs that leave points
//! out, and nobody else would notice.
//!
//! Before -> after: `for (i = 0; i < N; i += 2) S(i, i / 3)` -> `{ [a0, a1] : exists (i: i >= 0 and i < N and i mod 2 =
//! 0 and a0 = i and a1 = floor(i/3)) }`.

use dastac_poly::ast::{Expr, Node, Op};
use dastac_poly::{Error, Set};

/// Steps of isl for one comparison, all of its operations together. What takes more is believed.
const STEPS: u64 = 100_000;

/// Whether an AST visits just the points of a set, each of them once, as far as isl can tell in so many steps.
pub(crate) fn visits(node: &Node, domain: &Set) -> Result<bool, Error> {
    let found = domain.context().budgeted(STEPS, || compare(node, domain));
    match found {
        Ok(agrees) => Ok(agrees.unwrap_or(true)),
        Err(error @ Error::Deadline { .. }) => Err(error),
        Err(_) => Ok(true),
    }
}

/// Whether an AST visits just the points of a set, each of them once. `None` for an AST that has no text as a set.
fn compare(node: &Node, domain: &Set) -> Result<Option<bool>, Error> {
    let mut texts = Vec::new();
    if points(node, &mut Vec::new(), &mut Vec::new(), &mut texts).is_none() {
        return Ok(None);
    }
    let params = domain.params()?.join(", ");
    let mut visited: Option<Set> = None;
    for text in texts {
        let points = Set::parse(domain.context(), &format!("[{params}] -> {{ {text} }}"))?;
        let points = points.intersect_params(&domain.params_set()?)?;
        visited = Some(match visited {
            Some(before) if !before.is_disjoint(&points)? => return Ok(Some(false)),
            Some(before) => before.union(&points)?,
            None => points,
        });
    }
    let domain = domain.with_tuple_name(None)?;
    Ok(Some(match visited {
        Some(visited) => visited.is_subset(&domain)? && domain.is_subset(&visited)?,
        None => domain.is_empty()?,
    }))
}

/// Adds the points of each statement's instances.
fn points(
    node: &Node,
    loops: &mut Vec<String>,
    conditions: &mut Vec<String>,
    texts: &mut Vec<String>,
) -> Option<()> {
    let depth = (loops.len(), conditions.len());
    match node {
        Node::Block(children) => {
            children.iter().try_for_each(|child| points(child, loops, conditions, texts))?;
        }
        Node::Mark { body, .. } => points(body, loops, conditions, texts)?,
        Node::If { cond, then, otherwise } => {
            let condition = text(cond)?;
            conditions.push(condition.clone());
            points(then, loops, conditions, texts)?;
            conditions.truncate(depth.1);
            if let Some(otherwise) = otherwise {
                conditions.push(format!("not ({condition})"));
                points(otherwise, loops, conditions, texts)?;
            }
        }
        Node::For { iterator, init, cond, inc, degenerate, body } => {
            let init = text(init)?;
            loops.push(iterator.clone());
            if *degenerate {
                conditions.push(format!("{iterator} = {init}"));
            } else {
                conditions.extend([format!("{iterator} >= {init}"), text(cond)?]);
                match inc {
                    Expr::Int(1) => {}
                    Expr::Int(step) => {
                        conditions.push(format!("({iterator} - ({init})) mod {step} = 0"));
                    }
                    _ => return None,
                }
            }
            points(body, loops, conditions, texts)?;
        }
        Node::User { args, .. } => {
            let names: Vec<String> = (0..args.len()).map(|k| format!("point_{k}")).collect();
            let mut all = conditions.clone();
            for (name, arg) in names.iter().zip(args) {
                all.push(format!("{name} = {}", text(arg)?));
            }
            let all = if all.is_empty() { "0 = 0".to_string() } else { all.join(" and ") };
            let all = match loops.is_empty() {
                true => all,
                false => format!("exists ({}: {all})", loops.join(", ")),
            };
            texts.push(format!("[{}] : {all}", names.join(", ")));
        }
    }
    loops.truncate(depth.0);
    conditions.truncate(depth.1);
    Some(())
}

/// An expression in isl's notation for sets.
fn text(expr: &Expr) -> Option<String> {
    let (op, args) = match expr {
        Expr::Id(name) => return Some(name.clone()),
        Expr::Int(value) => return Some(format!("({value})")),
        Expr::Op(op, args) => (op, args),
    };
    let parts: Vec<String> = args.iter().map(text).collect::<Option<_>>()?;
    let joined = |operator: &str| Some(format!("({})", parts.join(operator)));
    match (op, parts.as_slice()) {
        (Op::And | Op::AndThen, _) => joined(" and "),
        (Op::Or | Op::OrElse, _) => joined(" or "),
        (Op::Max, _) => Some(format!("max({})", parts.join(", "))),
        (Op::Min, _) => Some(format!("min({})", parts.join(", "))),
        (Op::Minus, [value]) => Some(format!("(-{value})")),
        (Op::Add, _) => joined(" + "),
        (Op::Sub, _) => joined(" - "),
        // isl reads a number before or behind `*`, but not in parentheses.
        (Op::Mul, [value, factor]) => match args.as_slice() {
            [Expr::Int(factor), _] => Some(format!("({factor} * {})", parts[1])),
            [_, Expr::Int(_)] => Some(format!("({value} * {})", factor.trim_matches(['(', ')']))),
            _ => None,
        },
        // An exact quotient is its own floor.
        (Op::Div | Op::FloorDiv | Op::PdivQ, [value, divisor]) => {
            Some(format!("floor(({value})/{})", divisor.trim_matches(['(', ')'])))
        }
        (Op::PdivR | Op::ZdivR, [value, divisor]) => {
            Some(format!("(({value}) mod {})", divisor.trim_matches(['(', ')'])))
        }
        (Op::Eq, _) => joined(" = "),
        (Op::Le, _) => joined(" <= "),
        (Op::Lt, _) => joined(" < "),
        (Op::Ge, _) => joined(" >= "),
        (Op::Gt, _) => joined(" > "),
        _ => None,
    }
}
