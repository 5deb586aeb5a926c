//! Partial sums and lanes become one number.

use super::Lowering;
use super::values::joining;
use crate::ir::*;

impl Lowering<'_> {
    /// Partial sums of which there are several for each of `count`, joined pairwise.
    pub(super) fn chains_joined(
        &mut self,
        kind: Reduction,
        mut partial: Vec<RegId>,
        count: usize,
    ) -> Vec<RegId> {
        while partial.len() > count {
            let half = partial.split_off(partial.len() / 2);
            for (left, right) in partial.iter_mut().zip(half) {
                *left = self.binary(joining(kind), *left, right);
            }
        }
        partial
    }

    /// The sum of the lanes of each vector: two vectors become one with half of the lanes of each added to the other
    /// half, until a lane is left of each.
    ///
    /// Before -> after, of 2 vectors with 4 lanes: `[a0 + a2, a1 + a3, b0 + b2, b1 + b3]`, then
    /// `[a0 + a2 + a1 + a3, b0 + b2 + b1 + b3]`.
    pub(super) fn lanes_joined(
        &mut self,
        kind: Reduction,
        vectors: &[RegId],
        lanes: usize,
    ) -> Vec<RegId> {
        let mut totals = Vec::new();
        for group in vectors.chunks(lanes) {
            totals.extend(self.group_joined(kind, group, lanes));
        }
        totals
    }

    /// The lanes of as many vectors as there are lanes, or fewer.
    fn group_joined(&mut self, kind: Reduction, group: &[RegId], lanes: usize) -> Vec<RegId> {
        // Vectors, and how many lanes each of the sums in them has.
        let (mut vectors, mut each) = (group.to_vec(), lanes);
        while each > 1 {
            let width = self.type_in(vectors[0]).lanes;
            let mut next: Vec<RegId> =
                vectors.chunks(2).map(|pair| self.halves_joined(kind, pair, each)).collect();
            // The last of an odd number is as wide as the others.
            if next.len() > 1
                && vectors.len() % 2 == 1
                && let Some(last) = next.last_mut()
            {
                let ty = RegisterType { lanes: width, ..self.type_in(*last) };
                let order = (0..width).map(|at| at % (width / 2)).collect();
                *last = self.define(ty, Operation::Shuffle(*last, *last, order));
            }
            (vectors, each) = (next, each / 2);
        }
        let places = vectors
            .iter()
            .flat_map(|vector| (0..self.type_in(*vector).lanes).map(move |lane| (*vector, lane)));
        let places: Vec<(RegId, usize)> = places.take(group.len()).collect();
        let extract = |(vector, lane): (RegId, usize)| match self.type_in(vector) {
            RegisterType { lanes: 1, .. } => vector,
            ty => {
                let ty = RegisterType { lanes: 1, ..ty };
                self.define(ty, Operation::Extract(vector, lane))
            }
        };
        places.into_iter().map(extract).collect()
    }

    /// A vector or two whose sums have `each` lanes: half of these lanes joined to the other half.
    fn halves_joined(&mut self, kind: Reduction, pair: &[RegId], each: usize) -> RegId {
        let (left, right) = (pair[0], pair[pair.len() - 1]);
        let ty = self.type_in(left);
        // Alone, half of the lanes are needed.
        let total = if pair.len() == 2 { 2 * ty.lanes } else { ty.lanes };
        let half = each / 2;
        let all: Vec<usize> =
            (0..total / each).flat_map(|sum| sum * each..sum * each + half).collect();
        let ty = RegisterType { lanes: total / 2, ..ty };
        let [low, high] = [0, half].map(|shift| {
            let order: Vec<usize> = all.iter().map(|at| at + shift).collect();
            match order[..] {
                [lane] => self.define(ty, Operation::Extract(left, lane)),
                _ => self.define(ty, Operation::Shuffle(left, right, order)),
            }
        });
        self.binary(joining(kind), low, high)
    }
}
