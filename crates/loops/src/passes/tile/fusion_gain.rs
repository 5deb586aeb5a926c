//! Whether statements gain by being fused: all of them can have the same in the lanes of vectors, their sums fit the
//! registers together, and none of them can be cut into blocks.

use super::nest::Level;
use crate::ir::*;
use crate::lanes;

/// More sums of one element would not fit the registers.
const SUMS: usize = 4;

/// What of a store can be in the lanes of vectors.
#[derive(Debug, PartialEq)]
enum Lanes {
    /// It has no sums.
    Any,
    Terms,
    Elements(VarId),
    None,
}

impl Lanes {
    fn of(store: &Store, levels: &[Level]) -> Lanes {
        // Of pieces, the last is that of the inner elements.
        let value = store.value.map_loads(&|index| {
            let mut index = index;
            while let Index::Select(_, _, otherwise) = index {
                index = otherwise;
            }
            index.clone()
        });
        let (mut sums, mut terms) = (false, true);
        value.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                let mut inner = false;
                sum.body.visit(&mut |value| inner |= matches!(value, Value::Sum(_)));
                sums = true;
                terms &= inner || lanes::of_terms(sum);
            }
        });
        let store = Store { value, ..store.clone() };
        let vars = levels.iter().rev().map(|level| level.var);
        match lanes::choices(&store, vars).first() {
            _ if !sums => Lanes::Any,
            _ if terms => Lanes::Terms,
            Some(var) => Lanes::Elements(*var),
            None => Lanes::None,
        }
    }
}

/// Whether neither of two stores loses by being computed with the other.
pub(super) fn alike(first: &Store, second: &Store, levels: &[Level]) -> bool {
    let count = |store: &Store| {
        let mut sums = 0;
        store.value.visit(&mut |value| sums += usize::from(matches!(value, Value::Sum(_))));
        sums
    };
    // Zeros are set before anything is added.
    if matches!(first.value, Value::Const(_)) {
        return true;
    }
    // Without sums, an element that is stored twice costs more than lanes gain.
    if count(first) + count(second) == 0 {
        return true;
    }
    let long = |store: &Store| {
        let mut long = false;
        store.value.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                let bounds = || sum.lower.iter().chain(&sum.upper);
                let varies = |bound: &Index| levels.iter().any(|level| bound.mentions(level.var));
                let constant = |bound: &Index| bound.as_const().is_some();
                long |= !bounds().any(varies) && !bounds().all(constant);
            }
        });
        long
    };
    let lanes = [first, second].map(|store| Lanes::of(store, levels));
    count(first) + count(second) <= SUMS
        && !long(first)
        && !long(second)
        && (lanes[0] == lanes[1] || lanes.contains(&Lanes::Any))
}
