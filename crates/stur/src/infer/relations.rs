//! Pairs of a tensor's elements that are known to satisfy `T(y) = c * T(y')`, by coefficient.

use dastac_poly::Map;

use super::{InferError, Redundancy, Structured};
use crate::coefficient::Coefficient;

/// For each `c` that occurs, the pairs `y -> y'` of elements of the support with `T(y) = c * T(y')`. The first `c` is
/// 1.
#[derive(Clone, Debug)]
pub(crate) struct Relations(pub Vec<(Coefficient, Map)>);

impl Relations {
    /// All pairs that have a unique element in common. If the tensor's elements are sorted, each element is only paired
    /// with itself.
    pub fn of(structured: &Structured) -> Result<Relations, InferError> {
        let one = Coefficient::one();
        let mut sources = vec![(one.clone(), structured.unique.identity()?)];
        let mut pairs = vec![(one.clone(), structured.support.identity()?)];
        let mut sorted = false;
        for piece in &structured.redundancy {
            match piece {
                Redundancy::Affine { map, coefficient } => join(&mut sources, coefficient, map)?,
                Redundancy::Sorted { .. } => sorted = true,
            }
        }
        if sorted || structured.redundancy.is_empty() {
            return Ok(Relations(pairs));
        }
        for (first, from) in &sources {
            for (second, to) in &sources {
                if let Some(ratio) = first.ratio(second) {
                    join(&mut pairs, &ratio, &from.apply_range(&to.reverse()?)?)?;
                }
            }
        }
        for (_, map) in &mut pairs {
            *map = map.simplify()?;
        }
        pairs.retain(|(c, map)| c.is_one() || !map.is_empty().unwrap_or(false));
        Ok(Relations(pairs))
    }

    /// Whether every element is known to equal itself only.
    pub fn is_trivial(&self, structured: &Structured) -> bool {
        structured.redundancy.is_empty()
            || structured.redundancy.iter().any(|piece| matches!(piece, Redundancy::Sorted { .. }))
    }
}

fn join(
    all: &mut Vec<(Coefficient, Map)>,
    coefficient: &Coefficient,
    map: &Map,
) -> Result<(), InferError> {
    match all.iter_mut().find(|(c, _)| c == coefficient) {
        Some((_, union)) => *union = union.union(map)?,
        None => all.push((coefficient.clone(), map.clone())),
    }
    Ok(())
}
