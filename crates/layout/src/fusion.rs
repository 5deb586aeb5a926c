//! Piecewise fusion (dastac paper, Algorithm 2): drops a piece `(D', P')` if the polynomial of another piece takes the
//! same values on `D'`.
//!
//! Barvinok's count has special cases at boundaries (`j = 0`, the lexicographic minimum) that the general polynomial
//! covers. This goes beyond the paper in four points: domains are split into basic sets before the test, the points
//! that the count leaves out are a piece of value 0, the general polynomial is the one that covers the most pieces, and
//! thin domains are split into points.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use dastac_poly::{PwQPolynomial, QPolynomial, Set};

use num_rational::Ratio;

use crate::{LayoutError, polynomial::Polynomial};

/// One piece of a piecewise quasi-polynomial.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Where it applies.
    pub domain: Set,
    /// Its value there.
    pub polynomial: Polynomial,
}

/// A piecewise quasi-polynomial whose pieces have disjoint domains.
#[derive(Clone, Debug)]
pub struct Piecewise {
    /// Names of the dimensions; none for a size.
    pub dims: Vec<String>,
    /// The pieces, the most general first. Empty means 0 everywhere.
    pub pieces: Vec<Piece>,
}

impl Piecewise {
    /// 0 everywhere, over symbols.
    pub(crate) fn zero() -> Piecewise {
        Piecewise { dims: Vec::new(), pieces: Vec::new() }
    }
}

/// A dimension with at most this many values is split into points if its piece does not fuse as a whole.
const THIN: i64 = 4;

/// If there are more pieces than this, single points are used to rule polynomials out. Finding these points costs more
/// than a few proofs.
const MANY: usize = 8;

/// At most this many polynomials are tried as the general one in each round.
const MAX_CANDIDATES: usize = 24;

/// Fuses a count over `domain`, the set of all points of interest. Outside of it, the value does not matter.
pub fn fuse(
    count: &PwQPolynomial,
    domain: &Set,
    dims: &[String],
) -> Result<Piecewise, LayoutError> {
    struct Raw {
        domain: Set,
        handle: QPolynomial,
        polynomial: Polynomial,
        witnesses: Vec<Witness>,
        hulls: Hulls,
    }
    let mut raw: Vec<Raw> = Vec::new();
    let convert = |handle: &QPolynomial| -> Result<Polynomial, LayoutError> {
        Polynomial::from_terms(&handle.terms()?, dims).ok_or(LayoutError::Beyond128)
    };
    let counted = count.pieces_over(domain)?;
    let many = counted.len() > MANY;
    for (piece, handle) in counted {
        let polynomial = convert(&handle)?;
        for basic in disjoint_basic_sets(&piece)? {
            if !basic.is_empty()? {
                raw.push(Raw {
                    witnesses: if many {
                        witnesses(&basic, dims, &polynomial)?
                    } else {
                        Vec::new()
                    },
                    hulls: Hulls::default(),
                    domain: basic,
                    handle: handle.clone(),
                    polynomial: polynomial.clone(),
                });
            }
        }
    }
    raw.sort_by_key(|piece| {
        let degree: u32 = piece
            .polynomial
            .terms()
            .map(|(m, _)| m.iter().map(|(_, e)| *e).sum())
            .max()
            .unwrap_or(0);
        std::cmp::Reverse((degree, piece.polynomial.terms().count()))
    });
    let mut pieces: Vec<Piece> = Vec::new();
    while !raw.is_empty() {
        // The polynomial that covers the most other pieces becomes the general one.
        let mut best: (usize, Vec<bool>) = (0, Vec::new());
        let mut tried: Vec<Polynomial> = Vec::new();
        for (k, general) in raw.iter().enumerate() {
            // Zero is tried last: the general polynomial may vanish where nothing is counted, but not the other way
            // round.
            let zero = general.polynomial.is_zero() && raw.iter().any(|p| !p.polynomial.is_zero());
            if zero || tried.len() >= MAX_CANDIDATES || tried.contains(&general.polynomial) {
                continue;
            }
            tried.push(general.polynomial.clone());
            let mut covers = Vec::new();
            for other in &raw {
                let agrees = other.polynomial == general.polynomial
                    || (other.witnesses.iter().all(|witness| witness.admits(&general.polynomial))
                        && agrees(
                            &general.handle,
                            &other.handle,
                            &other.domain,
                            &other.hulls,
                            dims.len(),
                        )?);
                covers.push(agrees);
            }
            let count = |covers: &[bool]| covers.iter().filter(|c| **c).count();
            if count(&covers) > count(&best.1) {
                best = (k, covers);
            }
            if count(&best.1) == raw.len() {
                break;
            }
        }
        let (general, covers) = best;
        let polynomial = raw[general].polynomial.clone();
        if pieces.is_empty() && covers.iter().all(|covered| *covered) {
            // This is the usual case; the domain need not be put together again.
            pieces.push(Piece { domain: domain.clone(), polynomial });
            break;
        }
        let mut fused = raw[general].domain.clone();
        let mut rest = Vec::new();
        for (piece, covered) in raw.into_iter().zip(covers) {
            if covered {
                fused = fused.union(&piece.domain)?;
            } else {
                rest.push(piece);
            }
        }
        raw = rest;
        pieces.push(Piece { domain: fused.coalesce()?, polynomial });
    }
    Ok(Piecewise { dims: dims.to_vec(), pieces })
}

/// A set as basic sets that do not overlap.
fn disjoint_basic_sets(set: &Set) -> Result<Vec<Set>, LayoutError> {
    let basics = set.basic_sets()?;
    if basics.len() <= 1 {
        return Ok(basics);
    }
    Ok(set.make_disjoint()?.basic_sets()?)
}

/// A point of a piece with the value there. Most polynomials disagree at this point, which saves a proof.
struct Witness {
    values: BTreeMap<String, i64>,
    value: Option<Ratio<i128>>,
}

impl Witness {
    fn admits(&self, polynomial: &Polynomial) -> bool {
        let at = |polynomial: &Polynomial| polynomial.eval(&|name| self.values.get(name).copied());
        match (self.value, at(polynomial)) {
            (Some(value), Some(other)) => value == other,
            _ => true,
        }
    }
}

/// Up to three points of a basic set, for growing values of the symbols.
fn witnesses(
    domain: &Set,
    dims: &[String],
    polynomial: &Polynomial,
) -> Result<Vec<Witness>, LayoutError> {
    let mut witnesses: Vec<Witness> = Vec::new();
    let mut rest = domain.clone();
    while let Some(point) = rest.sample()? {
        let mut values: BTreeMap<String, i64> = point.params.iter().cloned().collect();
        values.extend(dims.iter().cloned().zip(point.coords.iter().copied()));
        let value = polynomial.eval(&|name| values.get(name).copied());
        witnesses.push(Witness { values, value });
        if witnesses.len() == 3 || point.params.is_empty() {
            break;
        }
        let (names, values): (Vec<String>, Vec<i64>) = point.params.into_iter().unzip();
        let total = values.into_iter().fold(5, i64::saturating_add);
        let text = format!("[{}] -> {{ : {} >= {total} }}", names.join(", "), names.join(" + "));
        rest = rest.intersect_params(&Set::parse(domain.context(), &text)?)?;
    }
    Ok(witnesses)
}

/// The affine hulls that restrict a polynomial on a basic set: that of the set, and those of its slices.
#[derive(Default)]
struct Hulls {
    whole: OnceCell<Set>,
    slices: OnceCell<Vec<Vec<Set>>>,
}

impl Hulls {
    fn whole(&self, domain: &Set) -> Result<&Set, LayoutError> {
        match self.whole.get() {
            Some(hull) => Ok(hull),
            None => {
                let hull = domain.affine_hull()?;
                Ok(self.whole.get_or_init(|| hull))
            }
        }
    }

    fn slices(&self, domain: &Set, rank: usize) -> Result<&[Vec<Set>], LayoutError> {
        if let Some(slices) = self.slices.get() {
            return Ok(slices);
        }
        let mut all = Vec::new();
        for dim in 0..rank {
            let Some(slices) = thin_slices(domain, dim)? else { continue };
            let mut hulls = Vec::new();
            for slice in slices {
                if !slice.is_empty()? {
                    hulls.push(slice.affine_hull()?);
                }
            }
            all.push(hulls);
        }
        Ok(self.slices.get_or_init(|| all))
    }
}

/// Whether two quasi-polynomials take the same values on a basic set.
fn agrees(
    a: &QPolynomial,
    b: &QPolynomial,
    domain: &Set,
    hulls: &Hulls,
    rank: usize,
) -> Result<bool, LayoutError> {
    let difference = a.sub(b)?;
    if difference.gist(hulls.whole(domain)?)?.is_zero()? {
        return Ok(true);
    }
    for slices in hulls.slices(domain, rank)? {
        let mut all = true;
        for slice in slices {
            all = all && difference.gist(slice)?.is_zero()?;
        }
        if all {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A basic set split by the values of a dimension, if these are few: `x = min`, `x = min + 1`, ..
fn thin_slices(domain: &Set, dim: usize) -> Result<Option<Vec<Set>>, LayoutError> {
    if !domain.has_dim_lower_bound(dim)? || !domain.has_dim_upper_bound(dim)? {
        return Ok(None);
    }
    let low = domain.dim_min(dim)?.pieces()?;
    let high = domain.dim_max(dim)?.pieces()?;
    let ([(_, low)], [(_, high)]) = (low.as_slice(), high.as_slice()) else { return Ok(None) };
    let (low, high) = (low.expr()?, high.expr()?);
    let constant = |e: &dastac_poly::LinearExpr| {
        (e.params.iter().all(|(_, c)| *c == 0) && e.floors.is_empty() && e.denominator == 1)
            .then_some(e.constant)
    };
    let (Some(low), Some(high)) = (constant(&low), constant(&high)) else { return Ok(None) };
    if high.saturating_sub(low) >= THIN {
        return Ok(None);
    }
    let slices: Result<Vec<Set>, _> =
        (low..=high).map(|value| domain.fix_dim_at(dim, value)).collect();
    Ok(Some(slices?))
}
