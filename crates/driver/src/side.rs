//! Sides of arrays that tell a symbol's value: `N`, `2 * N`, `N - 1`.

use dastac_loops::Index;
use dastac_stur::TensorId;
use dastac_stur::infer::Inferred;
use dastac_stur::sets::Atom;
use serde::{Deserialize, Serialize};

/// An extent that is a multiple of one symbol and a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side<S> {
    /// The symbol.
    pub symbol: S,
    /// How often it counts; positive.
    pub times: i64,
    /// What is added to it.
    pub more: i64,
}

impl<S> Side<S> {
    /// Whether it is the symbol alone, so that it decides before other sides do.
    pub fn is_plain(&self) -> bool {
        (self.times, self.more) == (1, 0)
    }

    /// The largest value of the symbol for which the extent is at most this one; never negative.
    pub fn value(&self, extent: i64) -> i64 {
        extent.saturating_sub(self.more).div_euclid(self.times).max(0)
    }

    /// The extent where the symbol has this value; never negative. `None` beyond 64 bits.
    pub fn extent(&self, value: i64) -> Option<i64> {
        value.checked_mul(self.times)?.checked_add(self.more).map(|extent| extent.max(0))
    }

    /// The same with another name of the symbol.
    pub fn map<T>(self, name: impl FnOnce(S) -> T) -> Side<T> {
        Side { symbol: name(self.symbol), times: self.times, more: self.more }
    }
}

impl Side<String> {
    /// The extent of a dimension of a tensor, if it is such a side.
    pub fn of(inferred: &Inferred, tensor: TensorId, dimension: usize) -> Option<Side<String>> {
        let extent = inferred.tensors[tensor.0].extents.get(dimension)?;
        let [bounds] = extent.regions.as_slice() else { return None };
        let [bound] = bounds.as_slice() else { return None };
        let mut terms = bound.terms.iter();
        let (Some((Atom::Name(name), times)), None) = (terms.next(), terms.next()) else {
            return None;
        };
        // Expressions of symbols have names of their own, but are no symbols of the program.
        let is_symbol = inferred.program.symbols.iter().any(|(symbol, _)| symbol == name);
        let side = Side { symbol: name.clone(), times: *times, more: bound.constant };
        (is_symbol && *times > 0).then_some(side)
    }
}

impl Side<usize> {
    /// An extent of compiled code, which has no more than what is at least 0, if it is such a side.
    pub fn of_index(extent: &Index) -> Option<Side<usize>> {
        let number = |index: &Index| match index {
            Index::Const(value) => Some(*value),
            _ => None,
        };
        let more = |side: Side<usize>, by: Option<i64>| {
            Some(Side { more: side.more.checked_add(by?)?, ..side })
        };
        match extent {
            Index::Symbol(symbol) => Some(Side { symbol: symbol.0 as usize, times: 1, more: 0 }),
            Index::Max(zero, side) | Index::Max(side, zero)
                if matches!(**zero, Index::Const(..=0)) =>
            {
                Side::of_index(side)
            }
            Index::Add(a, b) => match number(b) {
                Some(by) => more(Side::of_index(a)?, Some(by)),
                None => more(Side::of_index(b)?, number(a)),
            },
            Index::Sub(a, b) => more(Side::of_index(a)?, number(b)?.checked_neg()),
            Index::Mul(a, b) => {
                let (side, by) = match number(b) {
                    Some(by) => (Side::of_index(a)?, by),
                    None => (Side::of_index(b)?, number(a)?),
                };
                let (times, more) = (side.times.checked_mul(by)?, side.more.checked_mul(by)?);
                (by > 0).then_some(Side { times, more, ..side })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_tell_their_symbol() {
        let symbol = || Index::symbol(dastac_loops::SymbolId(3));
        let twice = Index::Mul(Box::new(Index::Const(2)), Box::new(symbol()));
        let less = Index::Sub(Box::new(twice), Box::new(Index::Const(1)));
        let side = Side::of_index(&Index::Max(Box::new(less), Box::new(Index::Const(0)))).unwrap();
        assert_eq!((side.symbol, side.times, side.more), (3, 2, -1));
        assert_eq!((side.value(9), side.value(8), side.extent(5)), (5, 4, Some(9)));
        assert_eq!((side.extent(0), side.extent(i64::MAX)), (Some(0), None));
        let product = Index::Mul(Box::new(symbol()), Box::new(symbol()));
        assert_eq!(Side::of_index(&product), None);
    }
}
