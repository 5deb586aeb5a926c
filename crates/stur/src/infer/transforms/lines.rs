//! Equalities of neighbours, joined along lines.
//!
//! Before -> after: `C(i, j) = C(i - 1, j - 1)` where both are in a triangle -> `C(i, j) = C(i - j, 0)`.

use dastac_poly::Map;

use super::super::InferError;
use crate::coefficient::Coefficient;
use crate::sets::Sets;

/// Each element with the last one that is reached by steps for which the equality holds, by coefficient. `step` is an
/// equality of elements with those that are one step before them.
pub(super) fn along(
    sets: &Sets,
    direction: &[i64],
    step: &Map,
    coefficient: &Coefficient,
) -> Result<Vec<(Map, Coefficient)>, InferError> {
    let alternates = *coefficient == Coefficient::sign(true);
    if step.is_empty()? || !coefficient.is_one() && !alternates {
        return Ok(Vec::new());
    }
    let valid = step.domain()?.coalesce()?;
    // The steps from an element end at the first one at which the equality does not hold.
    let all = line(sets, direction, "t >= 0")?;
    let more = line(sets, direction, "t >= 1")?;
    let broken = all.intersect_range(&valid.complement()?)?.apply_range(&more)?;
    let reached = more.intersect_domain(&valid)?.subtract(&broken)?.coalesce()?;
    let last = match reached.lexmin() {
        Err(dastac_poly::Error::Incomplete { .. }) => return Ok(Vec::new()),
        last => last?.coalesce()?,
    };
    if !alternates {
        return Ok(vec![(last, coefficient.clone())]);
    }
    let even = last.intersect(&line(sets, direction, "t % 2 = 0")?)?;
    let odd = last.intersect(&line(sets, direction, "t % 2 = 1")?)?;
    Ok(vec![(even, Coefficient::one()), (odd, coefficient.clone())])
}

/// `{ h -> h - t * direction }`
fn line(sets: &Sets, direction: &[i64], condition: &str) -> Result<Map, InferError> {
    let names = |letter: &str| -> Vec<String> {
        (0..direction.len()).map(|k| format!("{letter}{k}")).collect()
    };
    let (from, to) = (names("x"), names("y"));
    let steps: Vec<String> = direction
        .iter()
        .enumerate()
        .map(|(k, step)| format!("{} = {} - {step} * t", to[k], from[k]))
        .collect();
    let text = format!(
        "{{ [{}] -> [{}] : exists (t : {condition} and {}) }}",
        from.join(", "),
        to.join(", "),
        steps.join(" and ")
    );
    Ok(Map::parse(&sets.context, &text)?)
}
