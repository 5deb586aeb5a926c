//! Extents of a random program: as large as limits allow.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::draft::{Draft, Operand};
use super::limits::Limits;
use super::structure::Component;

impl Draft {
    /// Extents by class: as large as they may be, but for the first tries.
    pub(super) fn extents(&self, rng: &mut ChaCha8Rng, limits: Limits) -> Vec<i64> {
        let [least, most] = limits.extents;
        let mut top = most as f64;
        loop {
            let draw = |_| {
                let (low, high) = ((least as f64).ln(), top.max(least as f64).ln());
                let extent = rng.random_range(low..=high).exp() as i64;
                // Odd ones: no multiples of vectors.
                (extent | 1).clamp(least, most.max(least))
            };
            let extents: Vec<i64> = (0..self.iterators).map(draw).collect();
            let fits = self.work(&extents) <= limits.multiply_adds
                && self.elements(&extents).iter().all(|count| *count <= limits.elements);
            if fits || top < least as f64 {
                return extents;
            }
            top *= 0.98;
        }
    }

    /// Points of the iteration domains, about.
    fn work(&self, extents: &[i64]) -> f64 {
        let all: f64 = self.classes.iter().map(|class| extents[*class] as f64).product();
        let part = |operands: &Vec<Operand>| {
            let densities = operands.iter().map(|operand| self.density(operand.tensor, extents));
            densities.fold(1.0, f64::min)
        };
        self.products.iter().map(|operands| all * part(operands)).sum()
    }

    fn density(&self, tensor: usize, extents: &[i64]) -> f64 {
        let shape = &self.tensors[tensor];
        let of = |component: &Component| {
            let iterator = shape.positions[component.positions[0]];
            component.kind.density(extents[self.classes[iterator]])
        };
        shape.components.iter().map(of).product()
    }

    /// Elements of the operands and of the result, about.
    fn elements(&self, extents: &[i64]) -> Vec<f64> {
        let extent = |iterator: &usize| extents[self.classes[*iterator]] as f64;
        let operands = self.tensors.iter().enumerate().map(|(at, shape)| {
            shape.positions.iter().map(extent).product::<f64>() * self.density(at, extents)
        });
        let result: f64 = (0..self.heads).map(|iterator| extent(&iterator)).product();
        operands.chain([result]).collect()
    }

    pub(super) fn values(&self, extents: &[i64]) -> Vec<(String, i64)> {
        let classes = self.known_classes().into_iter();
        classes.map(|class| (self.symbol(class), extents[class])).collect()
    }

    /// Extents that are all different, as large as the dense evaluator can take.
    pub(super) fn check(&self, limits: Limits) -> Vec<i64> {
        let each = |top: f64| -> Vec<i64> {
            (0..self.iterators).map(|class| (top as i64 - 6 * class as i64).max(3)).collect()
        };
        let mut top = limits.extents[1].min(250) as f64;
        loop {
            let extents = each(top);
            let work: f64 = self.classes.iter().map(|class| extents[*class] as f64).product();
            let extent = |iterator: &usize| extents[self.classes[*iterator]] as f64;
            let cells: f64 = self
                .tensors
                .iter()
                .map(|shape| shape.positions.iter().map(extent).product::<f64>())
                .sum();
            let result: f64 = (0..self.heads).map(|iterator| extent(&iterator)).product();
            let fits = work * self.products.len() as f64 <= limits.check && cells + result <= 3e6;
            if fits || top < 4.0 {
                return extents;
            }
            top *= 0.95;
        }
    }
}
