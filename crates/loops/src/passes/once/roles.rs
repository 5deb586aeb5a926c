//! Products that load the same stored elements, with their iterators renamed so that they do so in the same order.
//!
//! Before -> after, of the two halves of a symmetric matrix times a vector: `S[N * i + k] * x[k]`, added to `y[i]`, and
//! `S[N * k + i] * x[k]`, added to `y[i]` -> at `S[N * a + b]`, `x[b]` is added to `y[a]` and `x[a]` to `y[b]`.

use crate::ir::*;
use crate::passes::polyhedra::products::{Product, rename};
use crate::passes::polyhedra::scan::{Nested, scan};
use crate::polynomial::Polynomial;

/// What is added somewhere at each stored element.
#[derive(Clone, Debug)]
pub(super) struct Role {
    /// The product, with the iterators of the group in place of its own, and the load as a factor.
    pub(super) product: Product,
    /// Its points.
    pub(super) nested: Nested,
}

/// Products with loads from the same elements.
pub(super) struct Group {
    /// The buffer loaded from.
    pub(super) stored: BufferId,
    /// Where, but for a constant.
    at: Index,
    /// The iterators, the outermost first: elements are neighbours for neighbouring values of the last.
    pub(super) vars: Vec<VarId>,
    /// What is done at the elements, with the number of the statement that it is from.
    pub(super) roles: Vec<(usize, Role)>,
    /// The points that all roles have.
    pub(super) common: Nested,
    domain: Vec<Index>,
}

/// Puts the products of statements into groups.
pub(super) fn groups(products: &[(usize, Product)], function: &mut Function) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (stmt, product) in products {
        let Some((stored, at, order)) = visited(product) else { continue };
        let place = groups.iter_mut().find_map(|group| {
            let role = joins(group, (stored, &at), product, &order)?;
            Some((group, role))
        });
        if let Some((group, (role, common, domain))) = place {
            group.roles.push((*stmt, role));
            (group.common, group.domain) = (common, domain);
            continue;
        }
        let vars: Vec<VarId> = order.iter().map(|var| function.fresh_like(*var, "")).collect();
        let product = in_order(product, &order, &vars);
        let at = rename(&at, &order, &vars);
        let Some(nested) = scan(&product.domain, &vars) else { continue };
        let (common, domain) = (nested.clone(), product.domain.clone());
        let role = Role { product: stored_first(product, stored), nested };
        groups.push(Group { stored, at, vars, roles: vec![(*stmt, role)], common, domain });
    }
    groups
}

/// The only element that a product loads, once or to a power, which depends on all of its iterators: no other loop
/// reads these elements again. With it are the iterators in the order of the elements, the one that moves fastest last.
fn visited(product: &Product) -> Option<(BufferId, Index, Vec<VarId>)> {
    let mut found = None;
    for factor in &product.factors {
        let Value::Load(buffer, index) = factor else { continue };
        if product.vars.iter().all(|var| index.mentions(*var)) {
            let here = Some((*buffer, index.clone()));
            if found.is_some() && found != here {
                return None;
            }
            found = here;
        }
    }
    let (buffer, at) = found?;
    let known = Polynomial::of(&at)?;
    let mut order: Vec<(usize, VarId)> =
        product.vars.iter().map(|var| (known.degree(*var), *var)).collect();
    order.sort_by(|left, right| right.cmp(left));
    let apart = order.windows(2).all(|pair| pair[0].0 != pair[1].0);
    (product.vars.len() >= 2 && apart)
        .then(|| (buffer, at, order.into_iter().map(|(_, var)| var).collect()))
}

/// The role of a product in a group, what all of them have in common then, if that is worth a visit.
fn joins(
    group: &Group,
    (stored, at): (BufferId, &Index),
    product: &Product,
    order: &[VarId],
) -> Option<(Role, Nested, Vec<Index>)> {
    let first = &group.roles.first()?.1.product;
    if stored != group.stored || product.buffer != first.buffer || order.len() != group.vars.len() {
        return None;
    }
    let at = rename(at, order, &group.vars);
    let beyond = Polynomial::of(&at)?.plus(&Polynomial::of(&group.at)?, -1)?;
    let beyond = beyond.to_index(&[]).as_const()?;
    let mut product = in_order(product, order, &group.vars);
    // One expression for one place.
    let place = Value::Load(stored, at);
    for factor in &mut product.factors {
        if *factor == place {
            *factor = Value::Load(stored, group.at.clone() + beyond);
        }
    }
    let nested = scan(&product.domain, &group.vars)?;
    let domain = [&group.domain[..], &product.domain[..]].concat();
    let common = scan(&domain, &group.vars)?;
    let product = stored_first(product, stored);
    (!is_thin(&common)).then_some((Role { product, nested }, common, domain))
}

/// The product with the stored element as its first factor, as in all roles.
fn stored_first(mut product: Product, stored: BufferId) -> Product {
    let first = |factor: &Value| matches!(factor, Value::Load(buffer, _) if *buffer == stored);
    product.factors.sort_by_key(|factor| !first(factor));
    product
}

/// Whether a polyhedron has no points, or a known number of them in some direction: a diagonal, or a narrow band.
pub(super) fn is_thin(nested: &Nested) -> bool {
    let negative = |index: &Index| index.as_const().is_some_and(|value| value < 0);
    nested.around.iter().any(negative)
        || nested.bounded().any(|range| {
            range
                .upper
                .iter()
                .any(|high| range.lower.iter().any(|low| high.constant_difference(low).is_some()))
        })
}

/// The product with other iterators, in the order of elements.
fn in_order(product: &Product, order: &[VarId], to: &[VarId]) -> Product {
    let place = |var: &VarId| order.iter().position(|other| other == var).map_or(*var, |at| to[at]);
    let vars: Vec<VarId> = product.vars.iter().map(place).collect();
    Product { vars: to.to_vec(), ..product.renamed(&vars) }
}
