//! From where to where the iterators of a rule run, by isl's projections of its statements' domains.
//!
//! A kernel's iterators run from 0: one that begins elsewhere is shifted, `i = i' + lower`. What the ranges alone
//! guarantee need not be tested.

use dastac_layout::convert::membership;
use dastac_loops::{Condition, Index};
use dastac_poly::Set;
use dastac_stur::infer::Statement;
use dastac_stur::sets::Sets;

use super::linear::{iterator, linear, not_negative};
use crate::{SchedError, Unsupported};

/// An exact range is searched for in so many steps of isl for each operation.
const SHORT: u64 = 20_000;

/// The values of an iterator.
#[derive(Clone, Debug)]
pub(super) struct Range {
    /// The first.
    pub lower: Index,
    /// How many; negative where there are none.
    pub extent: Index,
    /// What they are known to be in, a set of one dimension.
    pub known: Option<Set>,
}

impl Range {
    /// Makes it begin at zero, as positions do: values from zero on that it does not have are tested.
    pub(super) fn begin_at_zero(&mut self) {
        if self.lower.as_const() != Some(0) {
            self.extent = self.extent.clone() + self.lower.clone();
            self.lower = Index::Const(0);
            self.known = None;
        }
    }
}

/// What names without the iterator stand for.
type Resolve<'a> = &'a dyn Fn(&str) -> Option<Index>;

/// The range of an iterator in all statements that have it.
pub(super) fn range(
    sets: &Sets,
    statements: &[Statement],
    name: &str,
    resolve: Resolve<'_>,
) -> Result<Range, SchedError> {
    let mut sides = Vec::new();
    for statement in statements {
        if let Some(at) = statement.iterators.iter().position(|other| other == name) {
            let after = statement.domain.rank() - at - 1;
            let side = statement.domain.project_out_at(at + 1, after)?.project_out_at(0, at)?;
            sides.push(side.with_dim_names(&[sets.names.isl(name)])?);
        }
    }
    let Some(all) = Set::union_of(&sides)? else {
        let zero = Index::Const(0);
        return Ok(Range { lower: zero.clone(), extent: zero, known: None });
    };
    let all = all.coalesce()?;
    let exact = all.context().limited(SHORT, || range_of(sets, &all, name, resolve));
    match exact {
        Ok(Some(range)) => return Ok(range),
        Ok(None) | Err(SchedError::Poly(dastac_poly::Error::TooComplex { .. })) => {}
        Err(error) => return Err(error),
    }
    // Rows in steps have floors in their bounds; without steps they hold more.
    if let Some(range) = range_of(sets, &all.remove_divs()?.coalesce()?, name, resolve)? {
        return Ok(Range { known: None, ..range });
    }
    // What other iterators say of it is not linear: what is said of it alone holds more.
    let mut found: Option<(Index, Index)> = None;
    for statement in statements.iter().filter(|one| one.iterators.iter().any(|it| it == name)) {
        for part in statement.domain.basic_sets()? {
            let bounds = alone(sets, statement, &part, name, resolve)?;
            let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) else {
                return Err(Unsupported::Bounds(name.to_string()).into());
            };
            found = Some(match found {
                None => (lower, upper),
                Some((least, most)) => (least.min(lower), most.max(upper)),
            });
        }
    }
    let (lower, upper) = found.unwrap_or((Index::Const(0), Index::Const(0)));
    Ok(Range { extent: upper - lower.clone(), lower, known: None })
}

/// What a part of a statement's domain says of one iterator alone.
fn alone(
    sets: &Sets,
    statement: &Statement,
    part: &Set,
    name: &str,
    resolve: Resolve<'_>,
) -> Result<Bounds, SchedError> {
    let names: Vec<&str> = statement.iterators.iter().map(|name| sets.names.isl(name)).collect();
    let part = part.with_dim_names(&names)?;
    let own = sets.names.isl(name);
    // The iterator is the first.
    let value = |other: &str| match names.iter().position(|known| *known == other) {
        Some(_) if other == own => Some(iterator(0)),
        Some(at) => Some(iterator(at + 1)),
        None => resolve(other),
    };
    let all = membership(&part, &part.universe_like()?, &value)?;
    let mut bounds = Bounds { lower: None, upper: None, exact: false };
    for condition in all.conjuncts() {
        let parts = not_negative(&condition).unwrap_or_default();
        let alone = |part: &Index| part.free_vars().iter().all(|var| var.0 == 0);
        if parts.iter().all(alone)
            && let Some(next) = bounds.with(&condition)
        {
            bounds = next;
        }
    }
    Ok(bounds)
}

/// The range of what a set of one dimension holds, where its bounds are linear.
fn range_of(
    sets: &Sets,
    all: &Set,
    name: &str,
    resolve: Resolve<'_>,
) -> Result<Option<Range>, SchedError> {
    let mut parts = Vec::new();
    let mut known = None;
    for part in all.basic_sets()? {
        let part =
            part.gist_params(&part.params_set()?)?.with_dim_names(&[sets.names.isl(name)])?;
        let bounds = bounds(sets, &part, name, resolve)?;
        known = bounds.exact.then_some(part);
        parts.push(bounds);
    }
    let lower = parts.iter().filter_map(|part| part.lower.clone()).reduce(Index::min);
    let upper = parts.iter().filter_map(|part| part.upper.clone()).reduce(Index::max);
    let bounded = parts.iter().all(|part| part.lower.is_some() && part.upper.is_some());
    let (Some(lower), Some(upper), true) = (lower, upper, bounded) else { return Ok(None) };
    // Several parts have gaps between them.
    let known = known.filter(|_| parts.len() == 1);
    Ok(Some(Range { extent: upper - lower.clone(), lower, known }))
}

/// The bounds of one dimension.
struct Bounds {
    lower: Option<Index>,
    /// Exclusive.
    upper: Option<Index>,
    /// Whether there is nothing else that its points have to be.
    exact: bool,
}

fn bounds(sets: &Sets, part: &Set, name: &str, resolve: Resolve<'_>) -> Result<Bounds, SchedError> {
    let isl = sets.names.isl(name);
    let value = |other: &str| if other == isl { Some(iterator(0)) } else { resolve(other) };
    let all = membership(part, &part.universe_like()?, &value)?;
    let mut bounds = Bounds { lower: None, upper: None, exact: true };
    for condition in all.conjuncts() {
        match bounds.with(&condition) {
            Some(next) => bounds = next,
            None => bounds.exact = false,
        }
    }
    Ok(bounds)
}

impl Bounds {
    /// With a condition that bounds the iterator; nothing for another one.
    fn with(&self, condition: &Condition) -> Option<Bounds> {
        let (mut lower, mut upper) = (self.lower.clone(), self.upper.clone());
        for part in not_negative(condition)? {
            let part = linear(&part)?;
            let rest = part.constant.clone();
            match part.coefficient(0) {
                0 => return None,
                by @ 1.. => {
                    let bound = Index::Const(0) - rest.floor_div(by);
                    lower = Some(lower.map_or(bound.clone(), |known| known.max(bound)));
                }
                by => {
                    let bound = rest.floor_div(-by) + 1;
                    upper = Some(upper.map_or(bound.clone(), |known| known.min(bound)));
                }
            }
        }
        Some(Bounds { lower, upper, exact: self.exact })
    }
}
