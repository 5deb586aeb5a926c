//! Parts of pairs in lanes: real and imaginary parts stand side by side, so that the real parts of neighbours are every
//! other element.
//!
//! Before -> after, with 2 lanes: the elements `A[2 * j]`, `A[2 * j + 2]` -> `$0 = load A[2 * j..2 * j + 2]
//! $1 = load A[2 * j + 2..2 * j + 4]  $2 = shuffle $0, $1 [0, 2]`. Where it is not known that all pairs are whole, and
//! under a mask, they are gathered.

use super::code::{minus, plus};
use super::{Lanes, Lowering};
use crate::ir::*;
use crate::linear::Linear;

/// Elements of a pair.
const PAIR: i64 = 2;

impl Lowering<'_> {
    /// Every other element from a place on, one for each lane; `index` is the place as the loops' variables say it.
    pub(super) fn parts_of_pairs(
        &mut self,
        (buffer, index): (BufferId, &Index),
        here: Index,
        lanes: &Lanes,
        ty: RegisterType,
    ) -> RegId {
        let size = self.module.buffers.get(buffer.0 as usize).map(|known| known.size.clone());
        let part = (0..PAIR).find(|part| is_multiple(&minus(index.clone(), (*part).into())));
        let whole = size.is_some_and(|size| is_multiple(&size));
        let (Some(part), true, None) = (part, whole, lanes.mask) else {
            let places = RegisterType::integer(lanes.count);
            let places = self.define(places, Operation::Lanes(here, PAIR));
            return self.define(ty, Operation::Gather(Gather { buffer, places, mask: lanes.mask }));
        };
        let first = minus(here, part.into());
        let halves = [0, lanes.count as i64].map(|shift| {
            let index = plus(first.clone(), shift.into());
            let load = VectorLoad { buffer, index, reversed: false, mask: None };
            self.define(ty, Operation::Load(load))
        });
        let chosen = (0..lanes.count).map(|lane| PAIR as usize * lane + part as usize).collect();
        self.define(ty, Operation::Shuffle(halves[0], halves[1], chosen))
    }
}

/// Whether an integer is known to be a number of whole pairs.
fn is_multiple(index: &Index) -> bool {
    match index {
        Index::Select(_, one, other) | Index::Max(one, other) | Index::Min(one, other) => {
            is_multiple(one) && is_multiple(other)
        }
        index => Linear::of(index).is_some_and(|linear| linear.is_multiple_of(PAIR)),
    }
}
