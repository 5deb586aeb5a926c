//! Levels of diagonals as loops: where a sparse level stores a sum of iterators, one of them gives way to the sum.
//!
//! Before -> after, `A` by diagonals (`dia`, level 0 is `j - i`, level 1 `i`): `y(i) += A(j - i, i) * x(j)`, walked by
//! rows, each of which looks for its place on every diagonal -> `y(i) += A(d, i) * x(i + d)` where `0 <= i + d < N`,
//! walked by diagonals, along which all elements are beside each other.

use std::collections::BTreeSet;

use dastac_formats::Level;
use dastac_loops::{Index, VarId};

use super::graph::order_on_levels;
use super::kernel::{Factor, Kernel, Linear, Product};
use super::space::simplified;

/// The sum that a level stores, and the iterator that it replaces.
struct Diagonal {
    /// The level's subscript.
    sum: Linear,
    /// The level's extent.
    extent: Index,
    /// An iterator of the sum, which others than the head's products do not need.
    replaced: usize,
    /// Which factor of its product has the level.
    factor: usize,
}

/// Replaces iterators of sums in a kernel over levels ([`super::on_levels`]) with a dense result, where the loops of a
/// product are over nothing but the elements of an operand that is `mapped`: whose index map stores something else than
/// dimensions. (Where a subscript is a sum, as in a convolution, the iterators stay.)
pub fn along_diagonals(kernel: &mut Kernel, mapped: &[bool]) {
    let mut known: Vec<(Diagonal, usize)> = Vec::new();
    for at in 0..kernel.products.len() {
        let Some(diagonal) = Diagonal::of(kernel, at, mapped) else { continue };
        let mut changed = kernel.clone();
        let same = known.iter().find(|(other, _)| diagonal.is_same(other)).map(|(_, own)| *own);
        let iterator = same.unwrap_or_else(|| {
            let iterator = changed.iterators.len();
            changed.iterators.push((format!("diagonal{iterator}"), diagonal.extent.clone()));
            let place = changed.order.iter().position(|other| *other == diagonal.replaced);
            changed.order.insert(place.unwrap_or(0), iterator);
            iterator
        });
        let last = changed.iterators[diagonal.replaced].1.clone() - 1;
        diagonal.apply(&mut changed.products[at], iterator, last);
        changed.order = along_levels(&changed, &changed.products[at].factors[diagonal.factor]);
        // Levels behind that of the sum may have to be walked before it now.
        if order_on_levels(&changed).is_ok() {
            *kernel = changed;
            known.push((diagonal, iterator));
        }
    }
    if known.is_empty() {
        rows_outside(kernel, mapped);
        return;
    }
    let products = &kernel.products;
    kernel.order.retain(|at| {
        let gone = known.iter().any(|(diagonal, _)| diagonal.replaced == *at);
        !gone || products.iter().any(|product| product.mentions(*at))
    });
}

impl Diagonal {
    /// Of a product: that of its only factor with levels that are not located.
    fn of(kernel: &Kernel, product: usize, mapped: &[bool]) -> Option<Diagonal> {
        let product = &kernel.products[product];
        let sparse =
            |factor: &&Factor| format(kernel, factor).iter().any(|level| !level.is_located());
        let number = product.factors.iter().position(|factor| sparse(&factor))?;
        let factor = &product.factors[number];
        if !mapped[factor.operand] {
            return None;
        }
        let mut walked = product.factors.iter().filter(sparse);
        let same = |other: &Factor| {
            other.subscripts == factor.subscripts
                && kernel.operands[other.operand].format == kernel.operands[factor.operand].format
        };
        if !product.absent.is_empty() || !product.defined.is_empty() || !walked.all(same) {
            return None;
        }
        let levels = format(kernel, factor);
        let level = levels.iter().position(|level| !level.is_located())?;
        let own = |at: usize| factor.subscripts.iter().any(|one| one.coefficient(at) != 0);
        let others = (0..kernel.iterators.len()).filter(|at| !own(*at));
        if others.into_iter().any(|at| product.mentions(at)) || !is_strict(&levels[level]) {
            return None;
        }
        let (before, after) = factor.subscripts.split_at(level);
        let (sum, after) = after.split_first()?;
        let alone = |at: usize, subscripts: &[Linear]| {
            subscripts.iter().any(|one| one.as_iterator() == Some(at))
        };
        let open = sum.terms().iter().filter(|(at, _)| !alone(*at, before));
        let positions = || product.factors.iter().filter_map(|factor| factor.position);
        let may = |at: usize, by: i64| {
            by.abs() == 1 && !kernel.head.contains(&at) && positions().all(|other| other != at)
        };
        let wanted = open.clone().filter(|(at, by)| may(*at, *by));
        let (replaced, _) = *wanted.min_by_key(|(at, _)| alone(*at, after))?;
        if open.count() < 2 {
            return None;
        }
        let extent = kernel.operands[factor.operand].extents[level].clone();
        let diagonal = Diagonal { sum: sum.clone(), extent, replaced, factor: number };
        // Levels behind it are located, or walked along an iterator.
        let by = diagonal.value(kernel.iterators.len());
        let follows = |(level, subscript): (&Level, &Linear)| {
            level.is_located() || subscript.replaced(replaced, &by).as_iterator().is_some()
        };
        levels[level + 1..].iter().zip(after).all(follows).then_some(diagonal)
    }

    fn is_same(&self, other: &Diagonal) -> bool {
        (&self.sum, &self.extent, self.replaced) == (&other.sum, &other.extent, other.replaced)
    }

    /// What stands for the iterator that is replaced, given the one of the sum.
    fn value(&self, iterator: usize) -> Linear {
        let by = self.sum.coefficient(self.replaced);
        let others = self.sum.terms().iter().filter(|(at, _)| *at != self.replaced);
        let others = others.map(|(at, factor)| (*at, -by * factor));
        let constant = simplified(self.sum.constant.clone() * -by);
        Linear::new(others.chain([(iterator, by)]), constant)
    }

    /// Replaces the iterator, whose `last` value is given, in a product.
    fn apply(&self, product: &mut Product, iterator: usize, last: Index) {
        let value = self.value(iterator);
        let replaced = |linear: &Linear| {
            let mut new = linear.replaced(self.replaced, &value);
            new.constant = simplified(new.constant);
            new
        };
        let factors = product.factors.iter_mut().flat_map(|factor| &mut factor.subscripts);
        for linear in factors.chain(&mut product.conditions) {
            *linear = replaced(linear);
        }
        let own = Index::Var(VarId(self.replaced as u32));
        let index = value.terms().iter().fold(value.constant.clone(), |sum, (at, by)| {
            sum + Index::Var(VarId(*at as u32)) * *by
        });
        let leaf = |leaf: &Index| if *leaf == own { index.clone() } else { leaf.clone() };
        for one in &mut product.values {
            *one = one.rebuild(&leaf);
        }
        for test in &mut product.tests {
            *test = test.rebuild(&leaf);
        }
        let mut rest = value.times(-1).plus(&Linear::new([], last));
        rest.constant = simplified(rest.constant);
        product.conditions.extend([value, rest]);
    }
}

/// Has the loops over what a tensor stores alone outside of those over what it stores in sums only.
///
/// Before -> after, `A` in `bdia(64)`, which stores `i / 64`, `j - i`, `i % 64`: `Y(j, k) := A(i, j) * X(i, k)` with
/// the loops `j, k, i0, i1`, of which the first looks for `j` in all blocks of rows -> `i0, i1, j, k`.
fn rows_outside(kernel: &mut Kernel, mapped: &[bool]) {
    let factors = kernel.products.iter().flat_map(|product| &product.factors);
    let order = factors.filter(|factor| mapped[factor.operand]).find_map(|factor| {
        let alone: BTreeSet<usize> =
            factor.subscripts.iter().filter_map(|one| one.as_iterator()).collect();
        let in_sum = |at: &usize| {
            !alone.contains(at) && factor.subscripts.iter().any(|one| one.coefficient(*at) != 0)
        };
        let first = kernel.order.iter().position(in_sum)?;
        let last = kernel.order.iter().rposition(|at| alone.contains(at))?;
        if last < first {
            return None;
        }
        let rank = |at: &usize| match (alone.contains(at), in_sum(at)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => 2,
        };
        let mut order = kernel.order.clone();
        order.sort_by_key(rank);
        Some(order)
    });
    let Some(order) = order else { return };
    let changed = Kernel { order, ..kernel.clone() };
    if order_on_levels(&changed).is_ok() {
        *kernel = changed;
    }
}

/// An order of loops in which a factor's levels come first, in their order: a head whose loops are outside of them
/// looks for its places on all diagonals.
fn along_levels(kernel: &Kernel, factor: &Factor) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    for subscript in &factor.subscripts {
        let own = kernel.order.iter().filter(|at| subscript.coefficient(**at) != 0);
        order.extend(own);
    }
    order.extend(&kernel.order);
    let mut seen = BTreeSet::new();
    order.retain(|at| seen.insert(*at));
    order
}

/// The levels of a factor's operand.
fn format<'a>(kernel: &'a Kernel, factor: &Factor) -> &'a [Level] {
    kernel.operands[factor.operand].format.levels()
}

/// Whether a level's coordinates ascend, each once.
fn is_strict(level: &Level) -> bool {
    level.ordered && level.unique
}
