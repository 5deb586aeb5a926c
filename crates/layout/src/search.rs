//! Finds coordinates: the order in which a tensor is packed, and the number of its parts.
//!
//! These candidates are tried in order. The first one with a *simple* index is taken or, if there is none, the
//! cheapest:
//! 1. the dimensions in loop order, as they are, counted in steps where they go in steps from a place that others say,
//!    or in digits if the description of the set has strides or blocks;
//! 2. digits with the leading ones first: block after block;
//! 3. skewed coordinates: diagonal after diagonal;
//! 4. *regions*: the sets of elements that accesses use (or the disjoint basic sets) are made disjoint and stored one
//!    after the other, each in its own coordinates. An access that stays in one region needs the index of that region
//!    only.
//!
//! The dimensions come first because they keep contiguous what the innermost loop reads.

use std::time::{Duration, Instant};

use dastac_poly::{Error, Set};

use crate::coordinates::{Coordinates, Skew};
use crate::density::is_better_than_nothing;
use crate::part::{Candidate, Part};
use crate::slices::Slices;
use crate::whole::{in_hull, in_places};
use crate::{LayoutError, Piecewise, family};

/// An index with more pieces is not simple.
const SIMPLE_PIECES: usize = 3;

/// An index whose pieces have more monomials with floors than this is not simple.
const SIMPLE_FLOORS: usize = 20;

/// The same limit if accesses use different regions: the index of a single region may be much simpler.
const SIMPLE_FLOORS_OF_REGIONS: usize = 6;

/// This many monomials with floors cost as much as another piece.
const FLOORS_A_PIECE: usize = 6;

/// A set with more basic sets than this is counted in parts if that is possible, because the pieces of a count
/// multiply.
const MANY: usize = 5;

/// The same limit for sets with strides, whose counts have even more pieces.
const MANY_STRIDED: usize = 2;

/// At most this many regions are made.
const MAX_REGIONS: usize = 4096;

/// An index that costs more is worse than places without an element.
const TANGLED: usize = 8;

/// The number of steps that isl may take at first for the candidates with a single part.
const FIRST_STEPS: u64 = 50_000;

/// The number of steps that isl may take for one candidate. A candidate that takes more is left out if there are
/// others.
const MAX_STEPS: u64 = 400_000;

/// Steps of isl for the plain candidate, if no other was found.
const LAST_STEPS: u64 = 4_000_000;

/// So many dimensions do not make a box so large that its places cannot be stored.
const MATRIX: usize = 2;

/// So long is looked for a layout, if elements may have places in all of a box.
pub(crate) const LONG: Duration = Duration::from_secs(3);

/// The same where no structure is declared: everybody else stores such tensors in their box.
pub(crate) const SOON: Duration = Duration::from_millis(800);

/// The cost of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// The number of pieces of the index, plus one for every [`FLOORS_A_PIECE`] monomials with floors.
    pieces: usize,
    floors: usize,
}

/// How a candidate orders the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// In lexicographic loop order.
    Lexicographic,
    /// In another order, which is only worth it if the index is simple.
    Reordered,
    /// In one part for each region of an access, so that an access needs the pieces of one region only.
    Regions,
}

impl Cost {
    fn of(parts: &[Part], kind: Kind) -> Cost {
        let floors = |index: &Piecewise| {
            index.pieces.iter().map(|piece| piece.polynomial.floors()).max().unwrap_or(0)
        };
        let pieces = parts.iter().map(|part| part.rank.pieces.len().max(1));
        Cost {
            pieces: if kind == Kind::Regions { pieces.max().unwrap_or(0) } else { pieces.sum() },
            floors: parts.iter().map(|part| floors(&part.rank)).max().unwrap_or(0),
        }
    }

    fn is_simple(self, floors: usize) -> bool {
        self.pieces <= SIMPLE_PIECES && self.floors <= floors
    }

    fn weight(self) -> usize {
        self.pieces + self.floors / FLOORS_A_PIECE
    }
}

/// Whether an index has few pieces, without many floors.
pub(crate) fn is_simple(index: &Piecewise) -> bool {
    let floors = index.pieces.iter().map(|piece| piece.polynomial.floors()).max();
    Cost { pieces: index.pieces.len(), floors: floors.unwrap_or(0) }.is_simple(SIMPLE_FLOORS)
}

/// The best candidate so far.
struct Best {
    floors: usize,
    /// Whether there may be places without an element.
    padding: bool,
    found: Option<(Cost, Vec<Part>)>,
    failed: Option<LayoutError>,
}

impl Best {
    /// Starts a search in which an index may have this many monomials with floors and still be simple.
    fn new(floors: usize, padding: bool) -> Best {
        Best { floors, padding, found: None, failed: None }
    }

    /// Considers a candidate, and says whether the search is over.
    fn offer(
        &mut self,
        kind: Kind,
        candidate: Result<Vec<Part>, LayoutError>,
    ) -> Result<bool, LayoutError> {
        match candidate {
            Ok(parts) => {
                let cost = Cost::of(&parts, kind);
                let better = match &self.found {
                    None => true,
                    Some((best, _)) => {
                        let worth = kind == Kind::Lexicographic || cost.is_simple(SIMPLE_FLOORS);
                        worth && cost.weight() < best.weight()
                    }
                };
                if better {
                    self.found = Some((cost, parts));
                }
            }
            Err(error) => {
                self.fail(error)?;
            }
        }
        Ok(self.found.as_ref().is_some_and(|(cost, _)| cost.is_simple(self.floors)))
    }

    /// Notes that a candidate was too hard in its coordinates; others may be easier.
    fn fail(&mut self, error: LayoutError) -> Result<bool, LayoutError> {
        if matches!(error, LayoutError::Poly(Error::Infinite { .. })) {
            return Err(error);
        }
        self.note(error);
        Ok(false)
    }

    /// Keeps the first error, or one that says that no candidate can be counted.
    fn note(&mut self, error: LayoutError) {
        let is_of_all = matches!(error, LayoutError::Poly(Error::Worker { .. }));
        if is_of_all || self.failed.is_none() {
            self.failed = Some(error);
        }
    }

    /// Whether there is a candidate that is better than places without an element.
    fn is_fair(&self) -> bool {
        self.found.as_ref().is_some_and(|(cost, _)| cost.weight() <= TANGLED)
    }

    fn take(self) -> Result<Vec<Part>, LayoutError> {
        match (self.found, self.failed) {
            (Some((_, parts)), _) => Ok(parts),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// The parts of a layout of `stored`. The accesses use `regions`, which may be any sets of its elements. Places without
/// an element are allowed within `around`, if that is given, where `padding` says so also along edges; and for all of
/// it where other layouts are not found in the time that is given with it.
pub(crate) fn search(
    stored: &Set,
    dims: &[String],
    order: &[usize],
    regions: &[Set],
    around: Option<(&Set, Duration)>,
    padding: bool,
) -> Result<Vec<Part>, LayoutError> {
    let context = stored.context();
    let given = context.deadline();
    let Some((whole, long)) = around else {
        return candidates(stored, dims, order, regions, None, padding);
    };
    let around = Some(whole);
    let end = Instant::now() + long;
    context.set_deadline(Some(given.map_or(end, |given| given.min(end))));
    let found = candidates(stored, dims, order, regions, around, padding);
    context.set_deadline(given);
    match found {
        Err(LayoutError::Poly(error)) if is_hard(&error) => {
            // Matrices are stored like this by everybody else.
            let may_be_sparse = dims.len() <= MATRIX || is_better_than_nothing(stored, whole)?;
            if may_be_sparse
                && let Some(part) = in_places(stored, &Coordinates::plain(dims, order), whole)?
            {
                return Ok(vec![part]);
            }
            match error {
                Error::Deadline { .. } => candidates(stored, dims, order, regions, around, padding),
                error => Err(error.into()),
            }
        }
        found => found,
    }
}

/// Whether an error says that a layout was not found in a while, not that there is none.
fn is_hard(error: &Error) -> bool {
    matches!(
        error,
        Error::Deadline { .. }
            | Error::TooComplex { .. }
            | Error::TooSlow { .. }
            | Error::Uncounted { .. }
            | Error::Overflow { .. }
    )
}

/// The parts of a layout, as [`search`] finds them at first.
fn candidates(
    stored: &Set,
    dims: &[String],
    order: &[usize],
    regions: &[Set],
    around: Option<&Set>,
    padding: bool,
) -> Result<Vec<Part>, LayoutError> {
    let context = stored.context();
    let basics = stored.basic_set_count()?;
    let several = if regions.len() > 1 { SIMPLE_FLOORS_OF_REGIONS } else { SIMPLE_FLOORS };
    let mut best = Best::new(several, padding);
    let strided = stored.existentials()? > 0;
    let tangled = basics > if strided { MANY_STRIDED } else { MANY };
    let simplest = |steps: u64, best: &mut Best| -> Result<bool, LayoutError> {
        if !tangled && whole(stored, dims, order, steps, best)? {
            return Ok(true);
        }
        let parts = || -> Result<bool, LayoutError> {
            let Some(parts) = regions_of(regions)? else { return Ok(false) };
            best.offer(Kind::Regions, concatenated(&parts, (dims, order), padding))
        };
        context.budgeted(steps, parts)
    };
    // Counting sets with strides takes long.
    let long = strided;
    if let Some(around) = around {
        let found = match long {
            false => simplest(FIRST_STEPS, &mut best)?,
            true => context
                .budgeted(FIRST_STEPS, || lexicographic(stored, dims, order, &mut best, false))
                .or_else(|error| best.fail(error))?,
        };
        if found {
            return best.take();
        }
        if !best.is_fair()
            && let Some(part) = in_hull(stored, (dims, order), around, long)?
        {
            return Ok(vec![part]);
        }
    }
    if simplest(MAX_STEPS, &mut best)? {
        return best.take();
    }
    if tangled || dims.len() <= 2 || !strided || best.found.is_none() {
        let basic_sets = context.budgeted(MAX_STEPS, || -> Result<_, LayoutError> {
            by_symbols(stored.make_disjoint()?.basic_sets()?)
        });
        match basic_sets {
            Ok(parts) if (2..=MAX_REGIONS).contains(&parts.len()) => {
                if best.offer(Kind::Reordered, concatenated(&parts, (dims, order), padding))? {
                    return best.take();
                }
            }
            Ok(_) => {}
            Err(error) => {
                best.note(error);
            }
        }
    }
    if best.found.is_none() {
        whole(stored, dims, order, MAX_STEPS, &mut best)?;
    }
    if best.found.is_none() {
        // No candidate was cheap enough, so the plain one may take long.
        let coordinates = Coordinates::plain(dims, order);
        let plain = context.budgeted(LAST_STEPS, || single(stored, &coordinates));
        best.offer(Kind::Lexicographic, plain)?;
    }
    best.take()
}

/// The regions as disjoint parts, if there are several but not too many.
fn regions_of(regions: &[Set]) -> Result<Option<Vec<Set>>, LayoutError> {
    let parts = by_symbols(disjoint(regions)?)?;
    Ok(Some(parts).filter(|parts| (2..=MAX_REGIONS).contains(&parts.len())))
}

/// All parts, one after the other, each in its own coordinates.
fn concatenated(
    parts: &[Set],
    (dims, order): (&[String], &[usize]),
    padding: bool,
) -> Result<Vec<Part>, LayoutError> {
    let named: Result<Vec<Set>, _> = parts.iter().map(|part| part.with_dim_names(dims)).collect();
    let found = family::parts(&named?, &|part| {
        let mut best = Best::new(SIMPLE_FLOORS, padding);
        whole(part, dims, order, MAX_STEPS, &mut best)?;
        if best.found.is_none() {
            best.offer(Kind::Lexicographic, single(part, &Coordinates::plain(dims, order)))?;
        }
        best.take()
    });
    Ok(found?.into_iter().flatten().collect())
}

/// The part of a layout in exactly this order of the dimensions, which are counted in digits or as they are.
pub(crate) fn in_order(
    stored: &Set,
    dims: &[String],
    order: &[usize],
) -> Result<Vec<Part>, LayoutError> {
    let mut best = Best::new(SIMPLE_FLOORS, false);
    lexicographic(stored, dims, order, &mut best, true)?;
    best.take()
}

/// Tries the candidates with a single part in exactly the loop order; only those that need no counting unless `count`.
fn lexicographic(
    stored: &Set,
    dims: &[String],
    order: &[usize],
    best: &mut Best,
    count: bool,
) -> Result<bool, LayoutError> {
    let plain = Coordinates::plain(dims, order);
    let digits = Coordinates::digits(stored, dims, order, false)?;
    let hard = digits.is_some() && stored.existentials()? > 1;
    let plain_first = if hard { None } else { Some(Candidate::new(stored, &plain)?) };
    let digits = digits.map(|digits| Candidate::new(stored, &digits)).transpose()?;
    let steps = |from_zero: bool| -> Result<Option<Candidate>, LayoutError> {
        let steps = Coordinates::strided(stored, dims, order, from_zero)?;
        steps.map(|steps| Candidate::new(stored, &steps)).transpose()
    };
    let (strided, rows) = (steps(false)?, steps(true)?);
    let candidates = [&plain_first, &strided, &digits];
    for candidate in candidates.into_iter().flatten() {
        if let Some(part) = candidate.summed()? {
            return best.offer(Kind::Lexicographic, Ok(vec![part]));
        }
    }
    let padding = |best: &mut Best| -> Result<bool, LayoutError> {
        for candidate in candidates.into_iter().flatten().filter(|_| best.padding) {
            if let Some(part) = candidate.relaxed()? {
                return best.offer(Kind::Lexicographic, Ok(vec![part]));
            }
        }
        Ok(false)
    };
    // Bands in steps have a piece for each of their ends, and rows in steps dozens of floors.
    if let Some(strided) = strided.as_ref().filter(|_| best.padding) {
        if let Some(part) = strided.relaxed()? {
            return best.offer(Kind::Lexicographic, Ok(vec![part]));
        }
        for candidate in [&rows, &digits].into_iter().flatten().filter(|_| count) {
            let Some(simpler) = candidate.without_turns()? else { continue };
            if let Some(part) = simpler.relaxed()? {
                return best.offer(Kind::Lexicographic, Ok(vec![part]));
            }
            if best.offer(Kind::Lexicographic, simpler.counted().map(|part| vec![part]))? {
                return Ok(true);
            }
        }
    }
    // Exact counts of matrices are fast and mostly simple; others have a piece for each end of each band and block.
    let late = dims.len() <= 2;
    if !late && padding(best)? {
        return Ok(true);
    }
    // Digits of several basic sets, or of more than two dimensions, take longer to count than the dimensions
    // themselves.
    if !count {
        return padding(best);
    }
    let countable = digits.as_ref().filter(|digits| hard || digits.is_countable());
    let countable = [plain_first.as_ref(), strided.as_ref(), countable];
    for candidate in countable.into_iter().flatten() {
        if best.offer(Kind::Lexicographic, candidate.counted().map(|part| vec![part]))? {
            return Ok(true);
        }
    }
    if late && padding(best)? {
        return Ok(true);
    }
    if hard { best.offer(Kind::Lexicographic, single(stored, &plain)) } else { Ok(false) }
}

fn single(stored: &Set, coordinates: &Coordinates) -> Result<Vec<Part>, LayoutError> {
    Ok(vec![Candidate::new(stored, coordinates)?.counted()?])
}

/// Tries the candidates with a single part in loop order.
fn whole(
    stored: &Set,
    dims: &[String],
    order: &[usize],
    steps: u64,
    best: &mut Best,
) -> Result<bool, LayoutError> {
    let context = stored.context();
    if context
        .budgeted(steps, || lexicographic(stored, dims, order, best, true))
        .or_else(|error| best.fail(error))?
    {
        return Ok(true);
    }
    context
        .budgeted(steps, || reordered(stored, dims, order, best))
        .or_else(|error| best.fail(error))
}

/// Tries the candidates with a single part in another order.
fn reordered(
    stored: &Set,
    dims: &[String],
    order: &[usize],
    best: &mut Best,
) -> Result<bool, LayoutError> {
    let found = best.found.as_ref().map_or(0, |(cost, _)| cost.pieces);
    if found == 1 || stored.basic_set_count()? > 2 {
        return Ok(false);
    }
    if let Some(blocks) = Coordinates::digits(stored, dims, order, true)? {
        let blocks = Candidate::new(stored, &blocks)?;
        if blocks.is_countable()
            && best.offer(Kind::Reordered, blocks.counted().map(|part| vec![part]))?
        {
            return Ok(true);
        }
    }
    if stored.existentials()? > 0 {
        return Ok(false);
    }
    for second in 0..dims.len() {
        for first in 0..second {
            let skew = Skew { first, second };
            let Some(skewed) = Coordinates::skewed(stored, dims, order, skew)? else {
                continue;
            };
            if best.offer(Kind::Reordered, single(stored, &skewed))?
                || best.offer(Kind::Reordered, halves(stored, dims, &skewed, skew))?
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Makes one part of the diagonals `d >= 0` and one of those with `d < 0`, because the beginning of a diagonal is
/// affine in `d` on either side.
fn halves(
    stored: &Set,
    dims: &[String],
    skewed: &Coordinates,
    skew: Skew,
) -> Result<Vec<Part>, LayoutError> {
    let mut parts = Vec::new();
    for operator in [">=", "<"] {
        let (tuple, first, second) = (dims.join(", "), &dims[skew.first], &dims[skew.second]);
        let half = format!("{{ [{tuple}] : {second} {operator} {first} }}");
        let half = stored.intersect(&Set::parse(stored.context(), &half)?)?;
        if !half.is_empty()? {
            parts.extend(single(&half.with_dim_names(dims)?, skewed)?);
        }
    }
    Ok(parts)
}

/// Disjoint sets with the same union: each set without the sets before it. Empty sets are left out.
fn disjoint(sets: &[Set]) -> Result<Vec<Set>, LayoutError> {
    let mut parts: Vec<(Set, Slices)> = Vec::new();
    for set in sets {
        let mut rest = set.clone();
        let mut slices = Slices::of(&rest)?;
        for (part, others) in &parts {
            if !slices.disjoint(others) && !rest.is_disjoint(part)? {
                rest = rest.subtract(part)?;
                slices = Slices::of(&rest)?;
            }
        }
        if !rest.is_empty()? {
            let rest = rest.coalesce()?;
            parts.push((rest, slices));
        }
    }
    Ok(parts.into_iter().map(|(part, _)| part).collect())
}

/// Puts parts first that have elements for more values of the symbols. Then the sum of the sizes before a part is one
/// polynomial wherever that part has elements.
fn by_symbols(parts: Vec<Set>) -> Result<Vec<Set>, LayoutError> {
    if parts.len() > MANY {
        return Ok(parts);
    }
    let mut domains = Vec::new();
    for part in &parts {
        domains.push(part.params_set()?);
    }
    let mut keyed = Vec::new();
    for (part, domain) in parts.into_iter().zip(&domains) {
        let mut within = 0;
        for other in &domains {
            within += usize::from(other.is_subset(domain)?);
        }
        keyed.push((std::cmp::Reverse(within), part));
    }
    keyed.sort_by_key(|(key, _)| *key);
    Ok(keyed.into_iter().map(|(_, part)| part).collect())
}
