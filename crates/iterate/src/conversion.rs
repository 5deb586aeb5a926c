//! Results that are an operand in another format: no loops, since whoever holds the tensors converts them.
//!
//! `B(i, j) := A(j, i)` with `A` and `B` in rows stores the elements that `A` stores, with its dimensions in another
//! order. Conversions of storage sort nothing for many pairs of formats and count at most once, where loops would count
//! first and fill then.

use dastac_formats::Format;
use dastac_formats::storage::is_moved;
use dastac_loops::{Index, Module};
use dastac_stur::semiring::Semiring;

use super::assemble::Structure;
use super::kernel::{Kernel, Operand};

impl Kernel {
    /// What a result in a format is, if it is an operand with its dimensions in another order or in another format,
    /// and if its elements need not be sorted.
    pub fn conversion(
        &self,
        module: &Module,
        (format, extents): (&Format, &[Index]),
    ) -> Option<Structure> {
        let [product] = &self.products[..] else { return None };
        let [factor] = &product.factors[..] else { return None };
        let whole = product.values.is_empty()
            && product.defined.is_empty()
            && product.absent.is_empty()
            && product.conditions.is_empty()
            && product.tests.is_empty();
        // The truth of a number is another number.
        let scaled = product.coefficient != self.semiring.one() || self.semiring == Semiring::OrAnd;
        if !whole || scaled || factor.position.is_some() || factor.argument {
            return None;
        }
        let operand = &self.operands[factor.operand];
        let dimensions = factor.subscripts.iter().map(|subscript| {
            let iterator = subscript.as_iterator()?;
            self.head.iter().position(|at| *at == iterator)
        });
        let dimensions: Vec<usize> = dimensions.collect::<Option<_>>()?;
        let reaches = |dimension: usize| dimensions.contains(&dimension);
        let permuted = dimensions.len() == extents.len() && (0..extents.len()).all(reaches);
        let mut pairs = operand.extents.iter().zip(&dimensions);
        if !permuted || !pairs.all(|(extent, to)| *extent == extents[*to]) {
            return None;
        }
        let element = |operand: &Operand| module.buffers[operand.values.0 as usize].element;
        let own = module.buffers.get(self.result.0 as usize)?.element;
        let order = operand.format.order()?.into_iter().map(|own| dimensions[own]).collect();
        let from = operand.format.with_order(order).ok()?;
        (element(operand) == own && from != *format && is_moved(&from, format))
            .then_some(Structure::Converted { from: operand.values, dimensions })
    }
}
