//! The iteration graph: in which order loops walk the levels of all tensors.
//!
//! An edge leads from the iterator of a level to that of the next (sparse convolutions, section 4). A dense level
//! behind nothing but dense ones can be located at any time, so only levels from the first sparse one on are ordered:
//! each comes after all levels before it.
//!
//! A tensor that is searched orders nothing.
//!
//! An iterator that is the position of an element comes after all iterators of the element's subscripts, and one that
//! others define after these.
//!
//! Of a subscript of several iterators one is the last, which resolves its level: that which is wanted last. The others
//! reduce it before.

use std::collections::BTreeSet;

use super::kernel::{IterateError, Kernel};
use super::space::on_levels;

/// The order of loops that is nearest to the wanted one: one after the other as they are wanted, each behind those that
/// have to come before it. Where a position is wanted, so are the iterators of its element.
///
/// # Errors
/// Tensors whose levels contradict each other.
pub fn order(kernel: &Kernel) -> Result<Vec<usize>, IterateError> {
    order_on_levels(&on_levels(kernel)?)
}

/// The order of loops of a kernel over levels.
pub(super) fn order_on_levels(kernel: &Kernel) -> Result<Vec<usize>, IterateError> {
    let mut edges: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    for factor in kernel.products.iter().flat_map(|product| &product.factors) {
        let format = &kernel.operands[factor.operand].format;
        let mut before: Vec<usize> = Vec::new();
        let mut dense = true;
        let mut above: BTreeSet<usize> = BTreeSet::new();
        for (level, subscript) in format.levels().iter().zip(&factor.subscripts) {
            let iterators = || subscript.terms().iter().map(|(at, _)| *at);
            let wanted = |at: &usize| kernel.order.iter().position(|other| other == at);
            let Some(last) = iterators().max_by_key(wanted) else { continue };
            dense &= level.is_located();
            // A level whose coordinate follows from those above is located as soon as they are.
            let follows = level.is_located() && iterators().all(|at| above.contains(&at));
            above.extend(iterators());
            if !dense && !factor.searched && !follows {
                let others = before.iter().copied().chain(iterators());
                let others = others.filter(|other| *other != last);
                edges.extend(others.map(|other| (other, last, factor.operand)));
            }
            before.push(last);
        }
        if let Some(position) = factor.position {
            let terms = factor.subscripts.iter().flat_map(|subscript| subscript.terms());
            edges.extend(terms.map(|(at, _)| (*at, position, factor.operand)));
        }
    }
    for product in &kernel.products {
        // Whose fault it is that there is no order, if there is none.
        let operand = product.factors.first().map_or(0, |factor| factor.operand);
        for (iterator, value) in &product.defined {
            let of = value.free_vars().into_iter().map(|var| (var.0 as usize, *iterator, operand));
            edges.extend(of);
        }
    }
    let around = kernel.order.iter().flat_map(|at| places(kernel, *at).into_iter().chain([*at]));
    let mut seen = BTreeSet::new();
    let mut left: Vec<usize> = around.filter(|at| seen.insert(*at)).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        // What has to come before the first one, and itself.
        let mut needed = BTreeSet::from([left[0]]);
        loop {
            let mut before = edges.iter().filter(|(before, after, _)| {
                needed.contains(after) && left.contains(before) && !needed.contains(before)
            });
            let Some((before, ..)) = before.next() else { break };
            needed.insert(*before);
        }
        let free = left.iter().position(|iterator| {
            let waits = |(before, after, _): &_| after == iterator && left.contains(before);
            needed.contains(iterator) && !edges.iter().any(waits)
        });
        let Some(free) = free else {
            let within = |(before, after, _): &&(usize, usize, usize)| {
                left.contains(before) && left.contains(after)
            };
            let operands: BTreeSet<usize> =
                edges.iter().filter(within).map(|(.., operand)| *operand).collect();
            return Err(IterateError::Cycle { operands: operands.into_iter().collect() });
        };
        order.push(left.remove(free));
    }
    Ok(order)
}

/// The iterators that say where the element is whose position an iterator is, in the order of its tensor's levels; none
/// of another iterator.
fn places(kernel: &Kernel, iterator: usize) -> Vec<usize> {
    let mut factors = kernel.products.iter().flat_map(|product| &product.factors);
    let Some(factor) = factors.find(|factor| factor.position == Some(iterator)) else {
        return Vec::new();
    };
    factor.subscripts.iter().flat_map(|subscript| subscript.terms()).map(|(at, _)| *at).collect()
}

impl Kernel {
    /// An order of loops for a kernel of which nobody wants a particular one.
    ///
    /// Where a sparse level's subscript has several iterators (a convolution), the levels of that tensor decide: all
    /// are resolved from the outside in, so that the begins of windows need no memory. Iterators of the result reduce,
    /// so that these loops are shared among threads, but for the last such level: there the result's iterator resolves,
    /// and the innermost loop is along the stored coordinates and elements of the result that follow each other, not
    /// over the few of a filter.
    pub fn chosen_order(&self) -> Vec<usize> {
        let factors = self.products.iter().flat_map(|product| &product.factors);
        let walked = factors.filter(|factor| {
            let format = &self.operands[factor.operand].format;
            format.levels().iter().any(|level| !level.is_located())
                && factor.subscripts.iter().any(|subscript| subscript.terms().len() > 1)
        });
        let Some(factor) = walked.max_by_key(|factor| factor.subscripts.len()) else {
            return self.order.clone();
        };
        let Some(levels) = self.operands[factor.operand].format.order() else {
            return self.order.clone();
        };
        let last = levels.iter().rposition(|at| factor.subscripts[*at].terms().len() > 1);
        let mut order: Vec<usize> = Vec::new();
        for (level, dimension) in levels.iter().enumerate() {
            let terms = factor.subscripts[*dimension].terms();
            let wanted = self.order.iter().filter(|at| terms.iter().any(|(other, _)| other == *at));
            let (heads, others): (Vec<usize>, Vec<usize>) =
                wanted.partition(|at| self.head.contains(at));
            let [first, then] = if Some(level) == last { [others, heads] } else { [heads, others] };
            order.extend(first.into_iter().chain(then));
        }
        order.extend(&self.order);
        let mut seen = BTreeSet::new();
        order.retain(|at| seen.insert(*at));
        order
    }
}
