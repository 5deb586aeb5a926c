//! The rule of a random program, with the structures of its operands.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::structure::{Component, Kind};

/// An operand: its tensor, and the iterators that are its subscripts.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) tensor: usize,
    pub(super) subscripts: Vec<usize>,
}

/// A tensor, with the class of extents that each position has.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) positions: Vec<usize>,
    pub(super) components: Vec<Component>,
}

/// A program under construction. Iterators are numbers, those of the head first.
pub(super) struct Draft {
    pub(super) heads: usize,
    pub(super) iterators: usize,
    /// The class of extents of each iterator: those of one class have one symbol.
    pub(super) classes: Vec<usize>,
    pub(super) tensors: Vec<Shape>,
    pub(super) products: Vec<Vec<Operand>>,
    pub(super) mask: Option<String>,
}

impl Draft {
    pub(super) fn draw(rng: &mut ChaCha8Rng) -> Draft {
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

    pub(super) fn iterator(&self, iterator: usize) -> String {
        match iterator < self.heads {
            true => ["i", "j", "k"][iterator].into(),
            false => ["p", "q", "r"][iterator - self.heads].into(),
        }
    }

    /// Classes in the order of the iterators.
    pub(super) fn known_classes(&self) -> Vec<usize> {
        let mut classes = self.classes.clone();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    pub(super) fn symbol(&self, class: usize) -> String {
        let at = self.known_classes().iter().position(|known| *known == class).unwrap_or(0);
        ["L", "M", "N", "K", "Q"][at].into()
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
