//! In which order loops come to the elements of a result in a format: in the order of its levels, or in another one
//! with a workspace.
//!
//! Before -> after, `C(i, k) := A(i, j) * B(j, k)`, all in rows: for each `i` and `k` a walk over `j` that both have,
//! with `B` in columns -> for each `i`, all `j` of its row of `A` and all `k` of that row of `B`, into a workspace.

use dastac_formats::Format;
use dastac_iterate::{Factor, Gathers, Kernel, Product, appending};
use dastac_stur::program::Rule;

/// An order of loops.
pub(super) struct Form {
    /// All iterators, outermost first.
    pub(super) order: Vec<usize>,
    /// So many levels of the result stand outside, if a workspace has the others.
    pub(super) gathers: Option<Gathers>,
}

/// The orders of loops for a result, those that are wanted first.
pub(super) fn forms(rule: &Rule, kernel: &Kernel, format: &Format) -> Vec<Form> {
    let Some(last) = format.levels().iter().rposition(|level| !level.is_full()) else {
        return vec![Form { order: appending(kernel, format), gathers: None }];
    };
    let plain = Form { order: appending(kernel, format), gathers: None };
    let outer = plain.order[..=last].to_vec();
    let first = format.levels().iter().position(|level| !level.is_full()).unwrap_or(0);
    let least = first.max(usize::from(last > 0));
    let asked = !rule.order.is_empty() || !rule.schedule.order.is_empty();
    let wanted = kernel.order.clone();
    let gathered = |levels: usize, rest: &[usize]| {
        let order =
            outer[..levels].iter().chain(rest.iter().filter(|at| !outer[..levels].contains(at)));
        Form {
            order: order.copied().collect(),
            gathers: Some(Gathers::behind(levels, format, &kernel.head)),
        }
    };
    // Sums first, so that rows of operands are walked one after the other.
    let head = |at: &usize| kernel.head.contains(at);
    let block = wanted.iter().filter(|at| head(at) && !outer.contains(at));
    let sums = wanted.iter().filter(|at| !head(at));
    let rows: Vec<usize> = sums.chain(&outer).chain(block).copied().collect();
    let mut all = Vec::new();
    if asked {
        let same = outer.iter().zip(&wanted).take_while(|(own, wanted)| own == wanted).count();
        if same <= last {
            all.push(gathered(same.max(least), &wanted));
        }
    } else if kernel.products.iter().any(|product| meets(kernel, product, &outer)) {
        // More levels in a workspace would take as much memory as a dense tensor of them.
        all.push(gathered(last, &rows));
    }
    all.push(plain);
    for levels in (least..=last).rev() {
        all.push(gathered(levels, &rows));
        all.push(gathered(levels, &wanted));
    }
    all
}

/// The factors of a product whose elements are not all stored.
fn sparse<'a>(kernel: &'a Kernel, product: &'a Product) -> impl Iterator<Item = &'a Factor> {
    product.factors.iter().filter(|factor| {
        let format = &kernel.operands[factor.operand].format;
        format.levels().iter().any(|level| !level.is_full())
    })
}

fn mentions(factor: &Factor, iterator: usize) -> bool {
    factor.position == Some(iterator)
        || factor.subscripts.iter().any(|subscript| subscript.coefficient(iterator) != 0)
}

/// Whether several sparse factors meet in a sum of a product, and none of them says where the result's elements are: in
/// the order of the result's levels, loops would look for what they have in common at places where that is nothing.
fn meets(kernel: &Kernel, product: &Product, outer: &[usize]) -> bool {
    let is_sum = |at: &usize| !kernel.head.contains(at);
    let mut sums = (0..kernel.iterators.len()).filter(is_sum);
    let several = |at: usize| sparse(kernel, product).filter(|one| mentions(one, at)).count() > 1;
    let covers = |factor: &Factor| outer.iter().all(|at| mentions(factor, *at));
    // Loops over the positions of elements know where these are.
    let is_at = |factor: &Factor| factor.position.is_some();
    sums.any(several) && !sparse(kernel, product).any(|factor| covers(factor) || is_at(factor))
}
