//! Why the map of a format is none: two elements that it stores at one place.

use dastac_formats::format::NotOne;
use dastac_poly::{Context, Map, Result};

/// Two elements that have the same coordinates in all levels, in words; or that there are none, but the inverse is not
/// linear. Nothing where isl cannot tell.
pub fn collision(map: &NotOne) -> Option<String> {
    let found = elements(map).ok()?;
    let tuple = |coordinates: &[i64]| {
        let shown: Vec<String> = coordinates.iter().map(i64::to_string).collect();
        format!("({})", shown.join(", "))
    };
    Some(match found {
        Some(both) => {
            let (one, other) = both.split_at(map.rank);
            let at = |expr: &dastac_formats::format::LevelExpr| {
                let value = expr.value(&|dimension| i128::from(one[dimension]));
                i64::try_from(value).unwrap_or_default()
            };
            let stored: Vec<i64> = map.levels.iter().map(at).collect();
            format!(
                "the elements {} and {} both have the coordinates {} in the levels",
                tuple(one),
                tuple(other),
                tuple(&stored)
            )
        }
        None => "no two elements have the same coordinates, but an element's are no sums of multiples of the levels'"
            .into(),
    })
}

/// The smallest two elements, one behind the other, that a map does not tell apart.
fn elements(map: &NotOne) -> Result<Option<Vec<i64>>> {
    let names = |mark: &str| (0..map.rank).map(|at| format!("{mark}{at}")).collect::<Vec<_>>();
    let (own, others) = (names("a"), names("b"));
    let stored: Vec<String> = map.levels.iter().map(|expr| expr.isl(&own)).collect();
    let within: Vec<String> = own.iter().map(|name| format!("{name} >= 0")).collect();
    let before = (0..map.rank).map(|at| {
        let same = (0..at).map(|at| format!("{} = {} and ", own[at], others[at]));
        format!("({}{} < {})", same.collect::<String>(), own[at], others[at])
    });
    let before = before.collect::<Vec<_>>().join(" or ");
    let context = Context::new()?;
    let (own, others) = (own.join(", "), others.join(", "));
    let (stored, within) = (stored.join(", "), within.join(" and "));
    let stored = Map::parse(&context, &format!("{{ [{own}] -> [{stored}] : {within} }}"))?;
    let before = Map::parse(&context, &format!("{{ [{own}] -> [{others}] : {before} }}"))?;
    let same = stored.apply_range(&stored.reverse()?)?.intersect(&before)?;
    if same.is_empty()? {
        return Ok(None);
    }
    Ok(same.lexmin()?.wrap()?.lexmin()?.sample()?.map(|point| point.coords))
}
