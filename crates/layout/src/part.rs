//! A part of a tensor's stored elements, packed in the lexicographic order of its own coordinates.

use std::collections::BTreeMap;

use dastac_poly::{PwQPolynomial, Set};
use dastac_stur::sets::Affine;

use crate::LayoutError;
use crate::coordinates::{Coordinate, Coordinates};
use crate::density::is_nearly_all;
use crate::fusion::{Piece, Piecewise, fuse};
use crate::nested::{Sums, nested};
use crate::polynomial::Polynomial;
use crate::relax::{Relaxed, relaxed};

/// A part of a layout. The position of one of its elements is `offset + rank`.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its elements, over the tensor's dimensions in their own order.
    pub domain: Set,
    /// The coordinates by which they are ordered, slowest first. They are injective on the domain.
    pub coordinates: Vec<Coordinate>,
    /// The places, over the coordinates: the image of the domain, and padding if there is any.
    pub span: Set,
    /// Number of places before a place of the span.
    pub rank: Piecewise,
    /// The number of places of all parts before this one, over the symbols.
    pub offset: Piecewise,
    /// Whether the span has places without an element.
    pub(crate) padded: bool,
    /// All coordinates, including those that follow from others.
    pub(crate) all: Vec<Coordinate>,
    /// Number of places.
    pub(crate) count: PwQPolynomial,
}

/// Coordinates, and the image of the elements under them, which can be counted.
#[derive(Clone)]
pub(crate) struct Candidate<'a> {
    domain: &'a Set,
    all: Vec<Coordinate>,
    coordinates: Coordinates,
    span: Set,
    padded: bool,
}

impl<'a> Candidate<'a> {
    /// Makes a candidate without the coordinates that follow from others.
    pub(crate) fn new(
        domain: &'a Set,
        coordinates: &Coordinates,
    ) -> Result<Candidate<'a>, LayoutError> {
        let all = coordinates.list().to_vec();
        let (coordinates, span) = coordinates.essential(domain)?;
        Ok(Candidate { domain, all, coordinates, span, padded: false })
    }

    /// Makes a candidate with a place for each point of a span that contains the image of the domain.
    pub(crate) fn within(domain: &'a Set, coordinates: &Coordinates, span: Set) -> Candidate<'a> {
        let all = coordinates.list().to_vec();
        Candidate { domain, all, coordinates: coordinates.clone(), span, padded: true }
    }

    /// The coordinates of the elements.
    pub(crate) fn elements(&self) -> &Set {
        &self.span
    }

    /// The part with some places that no element has, if that makes its rank one polynomial.
    pub(crate) fn relaxed(&self) -> Result<Option<Part>, LayoutError> {
        let Some(Relaxed { span, sums }) = relaxed(&self.span)? else { return Ok(None) };
        let padded = Candidate { span, padded: true, ..self.clone() };
        Ok(Some(padded.of_sums(sums)?))
    }

    /// The candidate with places that do not depend on what existential dimensions say, if nearly all of them have an
    /// element: rows in steps whose first elements take turns, so that they end one place later or earlier.
    pub(crate) fn without_turns(&self) -> Result<Option<Candidate<'a>>, LayoutError> {
        if self.span.existentials()? == 0 {
            return Ok(None);
        }
        let span = self.span.remove_divs()?.simplify()?;
        if span.basic_set_count()? > 1 || !is_nearly_all(&self.span, &span)? {
            return Ok(None);
        }
        let span = span.with_dim_names(&self.coordinates.names())?;
        Ok(Some(Candidate { span, padded: true, ..self.clone() }))
    }

    /// Whether counting will probably not take much longer than counting in the dimensions themselves.
    pub(crate) fn is_countable(&self) -> bool {
        self.span.rank() <= 4 && self.span.basic_sets().is_ok_and(|sets| sets.len() <= 1)
    }

    /// The part, if the image is a box, for which nothing has to be counted.
    pub(crate) fn boxed(&self) -> Result<Option<Part>, LayoutError> {
        Ok(boxed(&self.span, &self.coordinates.names())?.map(|counted| self.part(counted)))
    }

    /// The part, if its ranks are nested sums, for which nothing has to be counted either.
    pub(crate) fn summed(&self) -> Result<Option<Part>, LayoutError> {
        if let Some(part) = self.boxed()? {
            return Ok(Some(part));
        }
        let names = self.coordinates.names();
        nested(&self.span, &names)?.map(|sums| self.of_sums(sums)).transpose()
    }

    fn of_sums(&self, sums: Sums) -> Result<Part, LayoutError> {
        let params = self.span.params_set()?;
        let count = sums.count(&params)?;
        let pieces = vec![Piece { domain: self.span.clone(), polynomial: sums.rank }];
        let rank = Piecewise { dims: self.coordinates.names(), pieces };
        Ok(self.part(Counted { rank, count }))
    }

    /// The part, after counting.
    pub(crate) fn counted(&self) -> Result<Part, LayoutError> {
        match self.summed()? {
            Some(part) => Ok(part),
            None => {
                let rank = rank(&self.span, &self.coordinates.names())?;
                Ok(self.part(Counted { rank, count: self.span.card()? }))
            }
        }
    }

    fn part(&self, Counted { rank, count }: Counted) -> Part {
        Part {
            domain: self.domain.clone(),
            coordinates: self.coordinates.list().to_vec(),
            all: self.all.clone(),
            span: self.span.clone(),
            padded: self.padded,
            rank,
            offset: Piecewise::zero(),
            count,
        }
    }
}

impl Part {
    /// The rank as a function of the index: pieces within the domain, over the tensor's own dimensions.
    pub(crate) fn rank_of_index(&self, dims: &[String]) -> Result<Vec<Piece>, LayoutError> {
        let images: BTreeMap<String, Affine> =
            self.coordinates.iter().map(|c| (c.name.clone(), c.value.clone())).collect();
        let map = Coordinates::of(dims, &self.coordinates).map(&self.domain)?;
        let mut pieces = Vec::new();
        for piece in &self.rank.pieces {
            let domain = match self.rank.pieces.as_slice() {
                [_] => self.domain.clone(),
                _ => map.intersect_range(&piece.domain)?.domain()?.coalesce()?,
            };
            let polynomial = piece.polynomial.substitute(&images).ok_or(LayoutError::Beyond128)?;
            pieces.push(Piece { domain, polynomial });
        }
        if pieces.is_empty() {
            pieces.push(Piece { domain: self.domain.clone(), polynomial: Polynomial::zero() });
        }
        Ok(pieces)
    }
}

/// What counting finds out about the points of a set.
struct Counted {
    /// The number of points before each point.
    rank: Piecewise,
    /// The number of all points.
    count: PwQPolynomial,
}

/// Rank and number of the points of a box whose sides are affine in the symbols, as numbers in mixed radix. `None` for
/// other sets.
///
/// Counting would give the same, but for thin sides (`0 <= c < 2`) it makes a special case of each of their points.
fn boxed(span: &Set, names: &[String]) -> Result<Option<Counted>, LayoutError> {
    let mut conditions = Vec::new();
    let mut rank = Polynomial::zero();
    let mut count = Polynomial::constant(1);
    for (k, name) in names.iter().enumerate() {
        let mut ends = Vec::new();
        for end in [span.dim_min(k)?, span.dim_max(k)?] {
            let pieces = end.pieces()?;
            let [(_, end)] = pieces.as_slice() else { return Ok(None) };
            let Some(end) = Affine::from_linear(&end.expr()?, &[]) else { return Ok(None) };
            ends.push(end);
        }
        let [low, high] = ends.as_slice() else { return Ok(None) };
        conditions.push(format!("{low} <= {name} <= {high}"));
        let (low, high) = (Polynomial::from_affine(low), Polynomial::from_affine(high));
        let extent = &(&high + &low.scaled(-1)) + &Polynomial::constant(1);
        let digit = &Polynomial::from_affine(&Affine::name(name)) + &low.scaled(-1);
        rank = &(&rank * &extent) + &digit;
        count = &count * &extent;
    }
    let params = span.params_set()?;
    let text = format!(
        "[{}] -> {{ [{}] : {} }}",
        span.params()?.join(", "),
        names.join(", "),
        if conditions.is_empty() { "true".into() } else { conditions.join(" and ") }
    );
    let whole = Set::parse(span.context(), &text)?.intersect_params(&params)?;
    if !whole.is_subset(span)? {
        return Ok(None);
    }
    let pieces = vec![Piece { domain: span.clone(), polynomial: rank }];
    let count = count.on_params(&params)?.intersect_domain(&params)?;
    let rank = Piecewise { dims: names.to_vec(), pieces };
    Ok(Some(Counted { rank, count }))
}

/// The number of points before each point, fused. Each depth is fused by itself if that gives one piece, because the
/// pieces of a sum multiply (there are 256 for the simplex of dimension 8).
fn rank(span: &Set, names: &[String]) -> Result<Piecewise, LayoutError> {
    let mut sum = Polynomial::zero();
    let depths = span.rank_by_depth()?;
    for count in &depths {
        let fused = fuse(count, span, names)?;
        match fused.pieces.as_slice() {
            [] => {}
            [only] => sum = &sum + &only.polynomial,
            _ => {
                let mut total = PwQPolynomial::zero_on(span)?;
                for count in &depths {
                    total = total.add(count)?;
                }
                return fuse(&total.gist(span)?.coalesce()?, span, names);
            }
        }
    }
    let pieces = vec![Piece { domain: span.clone(), polynomial: sum }];
    Ok(Piecewise { dims: names.to_vec(), pieces })
}
