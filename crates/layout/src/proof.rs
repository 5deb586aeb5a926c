//! Proof that an index polynomial is a bijection onto `0..size`, for all values of the symbols.
//!
//! Walk the stored elements in packing order: the first has position 0, and the successor of every element has the next position. Both are
//! statements about polynomials on isl sets; with the size being the number of elements, they make the index a bijection.

use dastac_poly::{Map, PwQPolynomial, Set};
use dastac_stur::sets::{Affine, Atom};

use crate::{Layout, LayoutError, Polynomial};

/// The outcome of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Holds for all values of the symbols.
    Proven,
    /// isl could not decide it; why. Not a refutation.
    Undecided(String),
    /// Does not hold; where.
    Refuted(String),
}

impl Layout {
    /// Proves that the index is a bijection from the stored elements onto `0..size`.
    pub fn prove_bijection(&self) -> Result<Proof, LayoutError> {
        if self.dims.is_empty() {
            return Ok(Proof::Proven);
        }
        let stored = self.stored.permute(&self.order)?;
        let dims = &self.index.dims;
        let first = stored.lexmin()?;
        for piece in &self.index.pieces {
            let here = first.intersect(&piece.domain)?;
            if let Some(failure) = vanishes(&piece.polynomial, &here, dims)? {
                return Ok(failure);
            }
        }
        let successor = after(&stored, dims)?.lexmin()?;
        for (domain, outputs) in successor.as_pieces()? {
            let mut images = std::collections::BTreeMap::new();
            for (dim, output) in dims.iter().zip(&outputs) {
                let Some(image) = Affine::from_linear(&output.expr()?, dims) else {
                    return Ok(Proof::Undecided(format!("the successor in {dim} is {output}")));
                };
                images.insert(dim.clone(), image);
            }
            for from in &self.index.pieces {
                for to in &self.index.pieces {
                    let reach = successor.intersect_range(&to.domain)?.domain()?;
                    let here = domain.intersect(&from.domain)?.intersect(&reach)?;
                    if here.is_empty()? {
                        continue;
                    }
                    let Some(next) = to.polynomial.substitute(&images) else {
                        return Ok(Proof::Undecided("a floor in the index".into()));
                    };
                    let step = &(&next + &from.polynomial.scaled(-1)) + &Polynomial::constant(-1);
                    if let Some(failure) = vanishes(&step, &here, dims)? {
                        return Ok(failure);
                    }
                }
            }
        }
        Ok(Proof::Proven)
    }
}

/// Each element to all that come after it.
fn after(stored: &Set, dims: &[String]) -> Result<Map, LayoutError> {
    let mut cases = Vec::new();
    for k in 0..dims.len() {
        let mut case: Vec<String> = (0..k).map(|e| format!("a{e} = b{e}")).collect();
        case.push(format!("a{k} < b{k}"));
        cases.push(case.join(" and "));
    }
    let tuple = |letter: &str| {
        let names: Vec<String> = (0..dims.len()).map(|k| format!("{letter}{k}")).collect();
        names.join(", ")
    };
    let text = format!("{{ [{}] -> [{}] : {} }}", tuple("a"), tuple("b"), cases.join(" or "));
    let order = Map::parse(stored.context(), &text)?;
    Ok(order.intersect_domain(stored)?.intersect_range(stored)?)
}

/// Nothing if the polynomial, over the set's dimensions by these names and parameters, is 0 on the set.
///
/// # Errors
/// Failures of isl.
pub fn vanishes(
    polynomial: &Polynomial,
    set: &Set,
    dims: &[String],
) -> Result<Option<Proof>, LayoutError> {
    if polynomial.is_zero() || set.is_empty()? {
        return Ok(None);
    }
    let params = set.params()?;
    let text =
        format!("[{}] -> {{ [{}] -> {} }}", params.join(", "), dims.join(", "), polynomial.isl());
    let value = PwQPolynomial::parse(set.context(), &text)?;
    for basic in set.make_disjoint()?.basic_sets()? {
        if basic.is_empty()? {
            continue;
        }
        let rest = value.intersect_domain(&basic)?.gist(&basic)?;
        if !rest.is_zero()? {
            // A non-zero remainder refutes only if some point shows it: equalities may hide behind floors.
            if let Some(point) = basic.sample()? {
                let at = value.eval(&point.params, &point.coords)?;
                if at != 0.into() {
                    return Ok(Some(Proof::Refuted(format!(
                        "at {:?} with {:?}",
                        point.coords, point.params
                    ))));
                }
            }
            return Ok(Some(Proof::Undecided(format!("whether {polynomial} is 0 on {basic}"))));
        }
    }
    Ok(None)
}

impl Polynomial {
    /// The polynomial with names replaced by affine expressions; nothing on overflow.
    pub fn substitute(
        &self,
        images: &std::collections::BTreeMap<String, Affine>,
    ) -> Option<Polynomial> {
        let mut sum = Polynomial::zero();
        for (monomial, coefficient) in self.terms() {
            let mut product = Polynomial::rational(*coefficient);
            for (atom, exponent) in monomial {
                let image = match atom {
                    Atom::Name(name) => {
                        images.get(name).cloned().unwrap_or_else(|| Affine::name(name))
                    }
                    Atom::Floor(inner, divisor) => {
                        let inner = inner.substitute(images)?;
                        let floor = Atom::Floor(Box::new(inner), *divisor);
                        Affine { terms: [(floor, 1)].into(), constant: 0 }
                    }
                };
                let image = Polynomial::from_affine(&image);
                for _ in 0..*exponent {
                    product = &product * &image;
                }
            }
            sum = &sum + &product;
        }
        Some(sum)
    }
}
