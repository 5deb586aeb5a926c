//! Exact quasi-polynomials over names, which indices and sizes are.
//!
//! Coefficients are rational ([`Ratio<i128>`]). A variable is a name, or a floor division of an affine expression (the
//! "quasi" part). Invariant: there are no zero coefficients, monomials are sorted, and each atom occurs once in a
//! monomial.

use std::collections::BTreeMap;
use std::fmt;

use dastac_poly::{Atom as PolyAtom, LinearExpr, Term, floor_text};
use dastac_stur::sets::{Affine, Atom};
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{One, Signed, Zero};

/// Powers of atoms, sorted by atom, with exponents of at least 1.
pub type Monomial = Vec<(Atom, u32)>;

/// A quasi-polynomial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial {
    terms: BTreeMap<Monomial, Ratio<i128>>,
}

impl Polynomial {
    /// The polynomial 0.
    pub fn zero() -> Self {
        Polynomial::default()
    }

    /// A constant.
    pub fn constant(value: i128) -> Self {
        let mut result = Polynomial::zero();
        result.add_term(Vec::new(), Ratio::from_integer(value));
        result
    }

    /// A rational constant.
    pub fn rational(value: Ratio<i128>) -> Self {
        let mut result = Polynomial::zero();
        result.add_term(Vec::new(), value);
        result
    }

    /// An affine expression.
    pub fn from_affine(affine: &Affine) -> Self {
        let mut result = Polynomial::constant(affine.constant.into());
        for (atom, coefficient) in &affine.terms {
            result.add_term(vec![(atom.clone(), 1)], Ratio::from_integer((*coefficient).into()));
        }
        result
    }

    /// From isl's terms, dimension `k` called `dims[k]`. `None` when a floor is not expressible or 128 bits overflow.
    pub fn from_terms(terms: &[Term], dims: &[String]) -> Option<Self> {
        let mut result = Polynomial::zero();
        for term in terms {
            let mut powers: BTreeMap<Atom, u32> = BTreeMap::new();
            for (atom, exponent) in &term.factors {
                let atom = match atom {
                    PolyAtom::Param(name) => Atom::Name(name.clone()),
                    PolyAtom::Dim(dim) => Atom::Name(dims.get(*dim)?.clone()),
                    PolyAtom::Floor(linear) => {
                        let numerator = LinearExpr { denominator: 1, ..(**linear).clone() };
                        Atom::Floor(
                            Box::new(Affine::from_linear(&numerator, dims)?),
                            linear.denominator,
                        )
                    }
                };
                *powers.entry(atom).or_insert(0) += exponent;
            }
            result.add_term(powers.into_iter().filter(|(_, e)| *e > 0).collect(), term.coefficient);
        }
        Some(result)
    }

    fn add_term(&mut self, monomial: Monomial, coefficient: Ratio<i128>) {
        let entry = self.terms.entry(monomial).or_insert_with(Ratio::zero);
        *entry += coefficient;
        self.terms.retain(|_, c| !c.is_zero());
    }

    /// Monomials with their coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, &Ratio<i128>)> {
        self.terms.iter()
    }

    /// Whether it is 0 as a polynomial.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Number of monomials with a floor.
    pub fn floors(&self) -> usize {
        let floor = |atom: &Atom| matches!(atom, Atom::Floor(..));
        self.terms.keys().filter(|m| m.iter().any(|(atom, _)| floor(atom))).count()
    }

    /// The least common denominator of the coefficients.
    pub fn denominator(&self) -> i128 {
        self.terms.values().fold(1, |lcm, c| lcm.lcm(c.denom()))
    }

    /// Splits the polynomial by a property of its terms.
    pub fn partition(&self, keep: impl Fn(&Monomial, &Ratio<i128>) -> bool) -> (Self, Self) {
        let (mut yes, mut no) = (Polynomial::zero(), Polynomial::zero());
        for (monomial, coefficient) in &self.terms {
            let part = if keep(monomial, coefficient) { &mut yes } else { &mut no };
            part.terms.insert(monomial.clone(), *coefficient);
        }
        (yes, no)
    }

    /// Multiplied by a constant.
    pub fn scaled(&self, factor: i128) -> Self {
        let mut result = self.clone();
        result.terms.values_mut().for_each(|c| *c *= factor);
        result.terms.retain(|_, c| !c.is_zero());
        result
    }

    /// The coefficients of the polynomial in `atom`, by exponent.
    pub fn coefficients_of(&self, atom: &Atom) -> BTreeMap<u32, Polynomial> {
        let mut result: BTreeMap<u32, Polynomial> = BTreeMap::new();
        for (monomial, coefficient) in &self.terms {
            let exponent = monomial.iter().find(|(a, _)| a == atom).map_or(0, |(_, e)| *e);
            let rest = monomial.iter().filter(|(a, _)| a != atom).cloned().collect();
            result.entry(exponent).or_default().terms.insert(rest, *coefficient);
        }
        result
    }

    /// The exact value, if every name has one and 128 bits suffice.
    pub fn eval(&self, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<Ratio<i128>> {
        let denominator = self.denominator();
        let mut sum: i128 = 0;
        for (monomial, coefficient) in &self.terms {
            let mut value = coefficient.numer().checked_mul(denominator / coefficient.denom())?;
            for (atom, exponent) in monomial {
                let base = match atom {
                    Atom::Name(name) => value_of(name)?,
                    Atom::Floor(inner, divisor) => inner.eval(value_of)?.div_euclid(*divisor),
                };
                value = value.checked_mul(i128::from(base).checked_pow(*exponent)?)?;
            }
            sum = sum.checked_add(value)?;
        }
        Some(Ratio::new(sum, denominator))
    }

    /// A bound on the absolute value of the numerator over [`Self::denominator`], and of every partial sum and product
    /// on the way, given bounds on the absolute values of names. `None` when a name has none; saturates.
    pub fn magnitude(&self, bound_of: &dyn Fn(&str) -> Option<u64>) -> Option<u128> {
        let denominator = self.denominator();
        let mut sum: u128 = 0;
        for (monomial, coefficient) in &self.terms {
            let scale = denominator / coefficient.denom();
            let mut value = coefficient.numer().unsigned_abs().saturating_mul(scale.unsigned_abs());
            for (atom, exponent) in monomial {
                let base = match atom {
                    Atom::Name(name) => u128::from(bound_of(name)?),
                    Atom::Floor(inner, _) => affine_magnitude(inner, bound_of)?,
                };
                value = value.saturating_mul(base.max(1).saturating_pow(*exponent));
            }
            sum = sum.saturating_add(value);
        }
        Some(sum)
    }

    /// isl's notation.
    pub fn isl(&self) -> String {
        if self.is_zero() {
            return "0".into();
        }
        let terms: Vec<String> = self
            .terms
            .iter()
            .map(|(monomial, coefficient)| {
                let mut text = format!("({}/{})", coefficient.numer(), coefficient.denom());
                for (atom, exponent) in monomial {
                    let atom = match atom {
                        Atom::Name(name) => name.clone(),
                        Atom::Floor(inner, divisor) => format!("floor(({inner})/{divisor})"),
                    };
                    for _ in 0..*exponent {
                        text += &format!(" * {atom}");
                    }
                }
                text
            })
            .collect();
        terms.join(" + ")
    }
}

fn affine_magnitude(affine: &Affine, bound_of: &dyn Fn(&str) -> Option<u64>) -> Option<u128> {
    let mut sum = u128::from(affine.constant.unsigned_abs());
    for (atom, coefficient) in &affine.terms {
        let value = match atom {
            Atom::Name(name) => u128::from(bound_of(name)?),
            Atom::Floor(inner, _) => affine_magnitude(inner, bound_of)?,
        };
        sum = sum.saturating_add(value.saturating_mul(u128::from(coefficient.unsigned_abs())));
    }
    Some(sum)
}

/// Sum.
impl std::ops::Add for &Polynomial {
    type Output = Polynomial;

    fn add(self, other: &Polynomial) -> Polynomial {
        let mut result = self.clone();
        for (monomial, coefficient) in &other.terms {
            result.add_term(monomial.clone(), *coefficient);
        }
        result
    }
}

/// Product.
impl std::ops::Mul for &Polynomial {
    type Output = Polynomial;

    fn mul(self, other: &Polynomial) -> Polynomial {
        let mut result = Polynomial::zero();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut powers: BTreeMap<Atom, u32> = a.iter().cloned().collect();
                for (atom, exponent) in b {
                    *powers.entry(atom.clone()).or_insert(0) += exponent;
                }
                result.add_term(powers.into_iter().collect(), x * y);
            }
        }
        result
    }
}

/// Math notation: `1/2*N^2 + 1/2*N`.
impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return write!(f, "0");
        }
        // Longest products first, the constant last.
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_by_key(|(monomial, _)| {
            std::cmp::Reverse(monomial.iter().map(|(_, e)| *e).sum::<u32>())
        });
        for (position, (monomial, coefficient)) in terms.into_iter().enumerate() {
            match (position, coefficient.is_negative()) {
                (0, true) => write!(f, "-")?,
                (0, false) => {}
                (_, true) => write!(f, " - ")?,
                (_, false) => write!(f, " + ")?,
            }
            let magnitude = coefficient.abs();
            let mut factors: Vec<String> = Vec::new();
            if !magnitude.is_one() || monomial.is_empty() {
                factors.push(magnitude.to_string());
            }
            for (atom, exponent) in monomial {
                let atom = match atom {
                    Atom::Name(name) => name.clone(),
                    Atom::Floor(inner, divisor) => floor_text(inner, divisor),
                };
                factors.push(if *exponent == 1 { atom } else { format!("{atom}^{exponent}") });
            }
            write!(f, "{}", factors.join("*"))?;
        }
        Ok(())
    }
}
