//! Scans of a superset without floors, with a test at each point, for sets of which isl makes no loops that visit all
//! their points.
//!
//! Before -> after, `{ [i, j] : 0 <= i, j < N and i % 2 = j % 3 }`: `for i = 0 to N { for j = 0 to N { if (i % 2 == j %
//! 3) .. } }`.

use dastac_poly::ast::{Expr, Node};
use dastac_poly::{AstBuild, Set};

use crate::SchedError;

/// Loops over the shadows of the parts of a set, one part after the other, with the whole condition inside. `None`
/// where there is no such superset that is simple. `generate` makes loops over a set; conditions hold in `context`.
pub(crate) fn guarded(
    domain: &Set,
    context: &Set,
    generate: &dyn Fn(&Set) -> Result<Node, SchedError>,
) -> Result<Option<Node>, SchedError> {
    let build = AstBuild::from_context(context)?;
    let mut nodes = Vec::new();
    for part in domain.make_disjoint()?.basic_sets()? {
        let Some(shadow) = part.shadow()? else { return Ok(None) };
        // Every one of these names is replaced by a coordinate, so that they may be those of loops.
        let names = part.fresh_dims("point_")?;
        let part = part.compute_divs()?.with_dim_names(&names)?;
        let test = build.expr_from_set(&part)?;
        nodes.push(tested(&generate(&shadow)?, &test, &names));
    }
    Ok(Some(Node::Block(nodes)))
}

/// A node whose points are tested. In the test, points have these names.
fn tested(node: &Node, test: &Expr, names: &[String]) -> Node {
    let inner = |node: &Node| Box::new(tested(node, test, names));
    match node {
        Node::User { args, .. } => {
            let (cond, otherwise) = (placed(test, names, args), None);
            Node::If { cond, then: Box::new(node.clone()), otherwise }
        }
        Node::Block(children) => {
            Node::Block(children.iter().map(|node| tested(node, test, names)).collect())
        }
        Node::Mark { name, body } => Node::Mark { name: name.clone(), body: inner(body) },
        Node::If { cond, then, otherwise } => Node::If {
            cond: cond.clone(),
            then: inner(then),
            otherwise: otherwise.as_deref().map(inner),
        },
        Node::For { iterator, init, cond, inc, degenerate, body } => Node::For {
            iterator: iterator.clone(),
            init: init.clone(),
            cond: cond.clone(),
            inc: inc.clone(),
            degenerate: *degenerate,
            body: inner(body),
        },
    }
}

/// A test of a point with these coordinates.
fn placed(test: &Expr, names: &[String], point: &[Expr]) -> Expr {
    match test {
        Expr::Id(name) => {
            let at = names.iter().position(|other| other == name);
            at.and_then(|at| point.get(at)).unwrap_or(test).clone()
        }
        Expr::Int(_) => test.clone(),
        Expr::Op(op, parts) => {
            Expr::Op(*op, parts.iter().map(|part| placed(part, names, point)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use dastac_poly::{Context, Set, UnionMap};

    use super::*;
    use crate::visited::visits;

    #[test]
    fn sets_with_floors_are_scanned_with_tests() {
        let context = Context::new().unwrap();
        for text in [
            "[N] -> { [i, j] : 0 <= i < N and 0 <= j < N and i mod 2 = j mod 3 }",
            "[N] -> { [i, j, k] : 0 <= i, j, k < N and k mod 2 = j mod 3 and floor(i/2) <= floor(j/3) }",
            "[N, M] -> { [i, j] : 0 <= i < N and floor(i/2) <= floor(j/3) and 0 <= j < M and (i + 2j) mod 3 >= 1 }",
            "[N] -> { [i, j] : exists (q: i = 3q and 0 <= q < N and 0 <= j <= q and (j + q) mod 2 = 0) }",
            "[N] -> { [i] : (0 <= i < N and i mod 3 = 1) or (0 <= i < N and i mod 2 = 0) }",
            "[N] -> { [i, j] : 0 <= i < N and j = floor(i/2) and i mod 4 >= 2 }",
        ] {
            let set = Set::parse(&context, text).unwrap();
            let params = set.universe_like().unwrap().params_set().unwrap();
            let build = AstBuild::from_context(&params).unwrap();
            let generate = |set: &Set| -> Result<Node, SchedError> {
                let order = set.identity()?.with_in_tuple_name(Some("S"))?;
                Ok(build.node_from_schedule_map(&UnionMap::from_map(&order)?)?)
            };
            let node = guarded(&set, &params, &generate).unwrap().expect(text);
            assert!(visits(&node, &set).unwrap(), "{text}\n{node}");
        }
    }
}
