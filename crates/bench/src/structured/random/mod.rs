//! Random programs over structured operands.
//!
//! One to three operands of rank 2 to 4, one to three reductions, one or two products, and sometimes a mask. The same
//! seed gives the same programs. Sizes are symbols, so that the code that is measured can be checked at small sizes.

mod structure;

use std::fmt::Write;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use structure::{Component, Kind, declare};

/// How large programs may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Extents are at least and at most so large.
    pub extents: [i64; 2],
    /// Multiply-adds, estimated from above.
    pub multiply_adds: f64,
    /// Elements of each tensor.
    pub elements: f64,
    /// Points of the boxes that the dense evaluator goes over.
    pub check: f64,
}

impl Limits {
    /// What fifty programs can do in some minutes.
    pub const USUAL: Limits =
        Limits { extents: [64, 2048], multiply_adds: 2e9, elements: 3e7, check: 1.2e7 };

    /// As [`Limits::USUAL`], with no extent beyond this.
    pub fn up_to(extent: i64) -> Limits {
        let usual = Limits::USUAL;
        let extent = extent.max(2);
        let extents = [usual.extents[0].min(extent), usual.extents[1].min(extent)];
        Limits { extents, check: usual.check.min((extent as f64).powi(4)), ..usual }
    }
}

/// A program that was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Its text.
    pub source: String,
    /// Values of its symbols.
    pub symbols: Vec<(String, i64)>,
    /// Smaller values, at which it is compared with the dense evaluator.
    pub checks: Vec<Vec<(String, i64)>>,
}

/// An operand: its tensor, and the iterators that are its subscripts.
#[derive(Clone, Debug)]
struct Operand {
    tensor: usize,
    subscripts: Vec<usize>,
}

/// A tensor, with the class of extents that each position has.
#[derive(Clone, Debug)]
struct Shape {
    positions: Vec<usize>,
    components: Vec<Component>,
}

/// A program under construction. Iterators are numbers, those of the head first.
struct Draft {
    heads: usize,
    iterators: usize,
    /// The class of extents of each iterator: those of one class have one symbol.
    classes: Vec<usize>,
    tensors: Vec<Shape>,
    products: Vec<Vec<Operand>>,
    mask: Option<String>,
}

/// The program with this number.
pub fn draw(seed: u64, number: u64, limits: Limits) -> Drawn {
    let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let draft = Draft::draw(&mut rng);
    let extents = draft.extents(&mut rng, limits);
    draft.finish(&extents, limits)
}

impl Draft {
    fn draw(rng: &mut ChaCha8Rng) -> Draft {
        loop {
            let heads = rng.random_range(0..=3);
            let reductions = rng.random_range(1..=3);
            let iterators = heads + reductions;
            if !(2..=5).contains(&iterators) {
                continue;
            }
            let classes = (0..iterators).collect();
            let (tensors, products) = (Vec::new(), Vec::new());
            let mut draft = Draft { heads, iterators, classes, tensors, products, mask: None };
            let Some(first) = draft.product(rng) else { continue };
            draft.products.push(first);
            if rng.random_bool(0.3) {
                let second = draft.exchanged(rng);
                let Some(second) = second.or_else(|| draft.product(rng)) else { continue };
                draft.products.push(second);
            }
            if rng.random_bool(0.3) {
                draft.mask = draft.mask(rng);
            }
            return draft;
        }
    }

    /// Operands that have all iterators among their subscripts, if that works out.
    fn product(&mut self, rng: &mut ChaCha8Rng) -> Option<Vec<Operand>> {
        let count = [1, 2, 2, 2, 2, 2, 2, 3, 3][rng.random_range(0..9)];
        let mut all: Vec<usize> = (0..self.iterators).collect();
        let mut chosen: Vec<Vec<usize>> = Vec::new();
        for _ in 0..count {
            let rank = [2, 2, 2, 3, 3, 4][rng.random_range(0..6)].min(self.iterators);
            all.shuffle(rng);
            chosen.push(all[..rank].to_vec());
        }
        for iterator in 0..self.iterators {
            if !chosen.iter().any(|subscripts| subscripts.contains(&iterator)) {
                chosen.iter_mut().find(|subscripts| subscripts.len() < 4)?.push(iterator);
            }
        }
        let first = self.tensors.len();
        let mut operands: Vec<Operand> = Vec::new();
        for mut subscripts in chosen {
            subscripts.shuffle(rng);
            let again = operands.first().filter(|_| rng.random_bool(0.15));
            let again = again.filter(|known| known.subscripts.len() == subscripts.len()).cloned();
            if let Some(known) = again {
                for (one, other) in known.subscripts.iter().zip(&subscripts) {
                    self.tie(*one, *other);
                }
                operands.push(Operand { tensor: first, subscripts });
                continue;
            }
            let components = components(rng, subscripts.len());
            for component in &components {
                if component.kind.is_square() || rng.random_bool(0.8) {
                    let at = |k: usize| subscripts[component.positions[k]];
                    (1..component.positions.len()).for_each(|k| self.tie(at(0), at(k)));
                }
            }
            operands.push(Operand { tensor: self.tensors.len(), subscripts: subscripts.clone() });
            self.tensors.push(Shape { positions: subscripts, components });
        }
        Some(operands)
    }

    /// The first product with two tensors in each other's place, as in an update of rank 2k.
    fn exchanged(&self, rng: &mut ChaCha8Rng) -> Option<Vec<Operand>> {
        let mut product = self.products.first()?.clone();
        let classes = |operand: &Operand| -> Vec<usize> {
            operand.subscripts.iter().map(|iterator| self.classes[*iterator]).collect()
        };
        let [first, second, ..] = &mut product[..] else { return None };
        if classes(first) != classes(second) || rng.random_bool(0.2) {
            return None;
        }
        std::mem::swap(&mut first.tensor, &mut second.tensor);
        Some(product)
    }

    /// A condition on two iterators of one class.
    fn mask(&self, rng: &mut ChaCha8Rng) -> Option<String> {
        let mut pairs = Vec::new();
        for one in 0..self.iterators {
            let others = (0..self.iterators).filter(|other| *other != one);
            pairs.extend(
                others.filter(|other| self.classes[*other] == self.classes[one]).map(|o| (one, o)),
            );
        }
        if pairs.is_empty() {
            return None;
        }
        let (one, other) = pairs[rng.random_range(0..pairs.len())];
        let (a, b) = (self.iterator(one), self.iterator(other));
        Some(match rng.random_range(0..6) {
            0 => format!("({b} <= {a})"),
            1 => format!("({a} < {b})"),
            2 => format!("({a} - {} < {b} <= {a})", rng.random_range(2..100)),
            3 => format!("({a} != {b})"),
            4 => format!("({b} <= {a} + {})", rng.random_range(1..60)),
            _ => format!("({a} + {b} < {})", self.symbol(self.classes[one])),
        })
    }

    /// Gives two iterators one extent.
    fn tie(&mut self, one: usize, other: usize) {
        let (from, to) = (self.classes[one], self.classes[other]);
        self.classes.iter_mut().filter(|class| **class == from).for_each(|class| *class = to);
    }

    fn iterator(&self, iterator: usize) -> String {
        match iterator < self.heads {
            true => ["i", "j", "k"][iterator].into(),
            false => ["p", "q", "r"][iterator - self.heads].into(),
        }
    }

    /// Classes in the order of the iterators.
    fn known_classes(&self) -> Vec<usize> {
        let mut classes = self.classes.clone();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    fn symbol(&self, class: usize) -> String {
        let at = self.known_classes().iter().position(|known| *known == class).unwrap_or(0);
        ["L", "M", "N", "K", "Q"][at].into()
    }

    /// Extents by class: as large as they may be, but for the first tries.
    fn extents(&self, rng: &mut ChaCha8Rng, limits: Limits) -> Vec<i64> {
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

    fn values(&self, extents: &[i64]) -> Vec<(String, i64)> {
        let classes = self.known_classes().into_iter();
        classes.map(|class| (self.symbol(class), extents[class])).collect()
    }

    /// Extents that are all different, as large as the dense evaluator can take.
    fn check(&self, limits: Limits) -> Vec<i64> {
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

    fn finish(&self, extents: &[i64], limits: Limits) -> Drawn {
        let names = ["A", "B", "C", "D", "E", "F"];
        let list = |iterators: &[usize]| {
            let names: Vec<String> = iterators.iter().map(|at| self.iterator(*at)).collect();
            names.join(", ")
        };
        let head: Vec<usize> = (0..self.heads).collect();
        let products = self.products.iter().map(|operands| {
            let factors = operands
                .iter()
                .map(|operand| format!("{}({})", names[operand.tensor], list(&operand.subscripts)));
            factors.chain(self.mask.clone()).collect::<Vec<String>>().join(" * ")
        });
        let products: Vec<String> = products.collect();
        let values = self.values(extents);
        let symbols: Vec<&str> = values.iter().map(|(name, _)| &name[..]).collect();
        let mut source = format!("symbols: {}\n", symbols.join(", "));
        let _ = writeln!(source, "Z({}) := {}", list(&head), products.join(" + "));
        let used = self.products.iter().flatten().map(|operand| operand.tensor);
        let count = used.max().map_or(0, |last| last + 1);
        for (shape, name) in self.tensors.iter().zip(names).take(count) {
            let extents: Vec<String> =
                shape.positions.iter().map(|at| self.symbol(self.classes[*at])).collect();
            source += &declare(name, &extents, &shape.components);
        }
        let tiny: Vec<i64> = (0..self.iterators).map(|class| 3 + 2 * class as i64).collect();
        let checks = vec![self.values(&tiny), self.values(&self.check(limits))];
        Drawn { source, symbols: values, checks }
    }
}

/// Structures of a tensor of this rank, of positions of their own.
fn components(rng: &mut ChaCha8Rng, rank: usize) -> Vec<Component> {
    if rng.random_bool(0.25) {
        return Vec::new();
    }
    let mut positions: Vec<usize> = (0..rank).collect();
    positions.shuffle(rng);
    let mut components = Vec::new();
    if rank >= 3 && rng.random_bool(0.35) {
        let mut three = positions.split_off(rank - 3);
        three.sort_unstable();
        components.push(Component { kind: Kind::draw(rng, 3), positions: three });
    }
    while positions.len() >= 2 {
        let two = positions.split_off(positions.len() - 2);
        if components.is_empty() || rng.random_bool(0.5) {
            components.push(Component { kind: Kind::draw(rng, 2), positions: two });
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_well_formed_and_the_same_for_a_seed() {
        for number in 0..200 {
            let drawn = draw(7, number, Limits::USUAL);
            assert_eq!(drawn, draw(7, number, Limits::USUAL));
            let (program, _) = dastac_stur::load(&drawn.source).unwrap_or_else(|found| {
                panic!("{}\n{}", found[0].message, drawn.source);
            });
            let declared: Vec<&str> = program.symbols.iter().map(|(name, _)| &name[..]).collect();
            let given: Vec<&str> = drawn.symbols.iter().map(|(name, _)| &name[..]).collect();
            assert_eq!(declared, given, "{}", drawn.source);
        }
        assert_ne!(draw(7, 0, Limits::USUAL), draw(8, 0, Limits::USUAL));
    }
}
