//! Quasi-polynomials: polynomials over parameters, dimensions and floors, with rational
//! coefficients; and piecewise ones, which are 0 outside of their pieces.

use crate::handle::{Handle, collect, collect_pair, pieces, to_ratio};
use crate::space::{OUT, PARAM, Space};
use crate::{Aff, Error, LinearExpr, PwQPolynomial, QPolynomial, Result, Set};
use isl_vendor as sys;
use num_rational::Ratio;
use std::fmt;

/// A coefficient times powers of atoms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The coefficient; not 0.
    pub coefficient: Ratio<i128>,
    /// What is multiplied, with exponents above 0; empty for the constant term.
    pub factors: Vec<(Atom, u32)>,
}

/// What a term multiplies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A parameter.
    Param(String),
    /// A dimension of the domain, by position.
    Dim(usize),
    /// The floor of an affine expression (which has the divisor as its denominator).
    Floor(Box<LinearExpr>),
}

impl Term {
    /// The degree: the sum of the exponents.
    pub fn degree(&self) -> u32 {
        self.factors.iter().map(|(_, exponent)| exponent).sum()
    }
}

impl QPolynomial {
    /// The context that the object belongs to.
    pub fn context(&self) -> &crate::Context {
        self.0.context()
    }

    fn domain_space(&self) -> Result<Space> {
        isl!(self.context(), isl_qpolynomial_get_domain_space(self.0.keep()))
    }

    /// A constant, on the space of a set.
    pub fn constant(like: &Set, value: i64) -> Result<QPolynomial> {
        let (context, space) = (like.context(), like.space()?);
        let value = context.integer(value)?;
        isl!(context, isl_qpolynomial_val_on_domain(space.take(), value.take())).map(QPolynomial)
    }

    /// The sum of terms over the parameters and dimensions of the space of a set.
    pub fn from_terms(like: &Set, terms: &[Term]) -> Result<QPolynomial> {
        let mut atoms: Vec<&Atom> =
            terms.iter().flat_map(|term| &term.factors).map(|(atom, _)| atom).collect();
        atoms.sort_unstable();
        atoms.dedup();
        let space = like.space()?;
        let values = atoms.iter().map(|atom| atom_on(&space, atom)).collect::<Result<Vec<_>>>()?;
        let mut numbered: Vec<(Vec<u32>, Ratio<i128>)> = Vec::new();
        for term in terms {
            let mut exponents = vec![0; atoms.len()];
            for (atom, exponent) in &term.factors {
                if let Ok(position) = atoms.binary_search(&atom) {
                    exponents[position] += exponent;
                }
            }
            numbered.push((exponents, term.coefficient));
        }
        numbered.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        nested(&space, &values, 0, &numbered)
    }

    /// Both with the parameters of both, which isl asks for here.
    fn aligned(&self, other: &QPolynomial) -> Result<(QPolynomial, QPolynomial)> {
        self.0.same(&other.0)?;
        let first = self.align(&other.domain_space()?)?;
        let second = other.align(&first.domain_space()?)?;
        Ok((first, second))
    }

    fn align(&self, model: &Space) -> Result<QPolynomial> {
        isl!(self.context(), isl_qpolynomial_align_params(self.0.take(), model.take()))
            .map(QPolynomial)
    }

    /// The sum.
    pub fn add(&self, other: &QPolynomial) -> Result<QPolynomial> {
        let (a, b) = self.aligned(other)?;
        isl!(self.context(), isl_qpolynomial_add(a.0.take(), b.0.take())).map(QPolynomial)
    }

    /// The difference.
    pub fn sub(&self, other: &QPolynomial) -> Result<QPolynomial> {
        let (a, b) = self.aligned(other)?;
        isl!(self.context(), isl_qpolynomial_sub(a.0.take(), b.0.take())).map(QPolynomial)
    }

    /// The product.
    pub fn mul(&self, other: &QPolynomial) -> Result<QPolynomial> {
        let (a, b) = self.aligned(other)?;
        isl!(self.context(), isl_qpolynomial_mul(a.0.take(), b.0.take())).map(QPolynomial)
    }

    /// A quasi-polynomial that has the same values within `context`: the equalities that hold
    /// there are substituted.
    pub fn gist(&self, context: &Set) -> Result<QPolynomial> {
        self.0.same(&context.0)?;
        let aligned = self.align(&context.space()?)?;
        let space = aligned.domain_space()?;
        let set = isl!(self.context(), isl_set_align_params(context.0.take(), space.take()))?;
        isl!(self.context(), isl_qpolynomial_gist(aligned.0.take(), set.take())).map(QPolynomial)
    }

    /// Whether it is 0, as a polynomial.
    pub fn is_zero(&self) -> Result<bool> {
        Ok(isl!(self.context(), isl_qpolynomial_is_zero(self.0.keep()))? != 0)
    }

    /// Whether it is plus or minus infinity, or undefined.
    pub(crate) fn is_infinite(&self) -> Result<bool> {
        let context = self.context();
        Ok(isl!(context, isl_qpolynomial_is_infty(self.0.keep()))? != 0
            || isl!(context, isl_qpolynomial_is_neginfty(self.0.keep()))? != 0
            || isl!(context, isl_qpolynomial_is_nan(self.0.keep()))? != 0)
    }

    /// Whether it has no term with a parameter, dimension or floor.
    pub fn is_constant(&self) -> Result<bool> {
        Ok(self.terms()?.iter().all(|term| term.factors.is_empty()))
    }

    /// The terms, in isl's order. The terms of 0 are none.
    pub fn terms(&self) -> Result<Vec<Term>> {
        let context = self.context();
        let mut raw: Vec<*mut sys::isl_term> = Vec::new();
        let user = (&raw mut raw).cast();
        let status =
            isl!(context, isl_qpolynomial_foreach_term(self.0.keep(), Some(collect), user));
        let terms: Vec<Handle<sys::isl_term>> = raw
            .into_iter()
            .map(|term| context.call("isl_qpolynomial_foreach_term", |_| term))
            .collect::<Result<_>>()?;
        status?;
        let space = self.domain_space()?;
        let params = space.names(PARAM)?;
        let rank = if space.is_params()? { 0 } else { space.dim(OUT) };
        terms.iter().map(|term| read_term(term, &params, rank)).collect()
    }

    /// The same on all of its space, as a piecewise quasi-polynomial.
    pub fn on_universe(&self) -> Result<PwQPolynomial> {
        isl!(self.context(), isl_pw_qpolynomial_from_qpolynomial(self.0.take())).map(PwQPolynomial)
    }

    /// The value at a point.
    pub fn eval(&self, params: &[(String, i64)], coords: &[i64]) -> Result<Ratio<i128>> {
        let point = self.domain_space()?.point(params, coords)?;
        let value = isl!(self.context(), isl_qpolynomial_eval(self.0.take(), point.take()))?;
        to_ratio(&value)
    }
}

impl fmt::Display for QPolynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // isl prints only piecewise ones to a string.
        match self.on_universe() {
            Ok(piecewise) => write!(f, "{piecewise}"),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

impl fmt::Debug for QPolynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A parameter, dimension or floor as a polynomial.
fn atom_on(space: &Space, atom: &Atom) -> Result<QPolynomial> {
    let context = space.context();
    let variable = |kind, pos: usize| {
        isl!(context, isl_qpolynomial_var_on_domain(space.take(), kind, pos as u32))
    };
    match atom {
        Atom::Param(name) => {
            let pos = space.find(PARAM, name)?;
            variable(PARAM, pos.ok_or_else(|| Error::MissingParameter { name: name.clone() })?)
        }
        Atom::Dim(pos) => variable(OUT, *pos),
        Atom::Floor(inner) => {
            let floor = Aff::floor_on(space, inner)?;
            isl!(context, isl_qpolynomial_from_aff(floor.0.take()))
        }
    }
    .map(QPolynomial)
}

/// The sum of terms with these exponents of `values[first..]` (sorted from high to low), by Horner's rule in the first
/// of them, with coefficients that are such sums in the others.
fn nested(
    space: &Space,
    values: &[QPolynomial],
    first: usize,
    terms: &[(Vec<u32>, Ratio<i128>)],
) -> Result<QPolynomial> {
    let context = space.context();
    let Some(value) = values.get(first) else {
        let sum: Ratio<i128> = terms.iter().map(|(_, coefficient)| *coefficient).sum();
        let text = crate::context::c_string(&sum.to_string())?;
        let sum = isl!(context, isl_val_read_from_str(context.raw(), text.as_ptr()))?;
        return isl!(context, isl_qpolynomial_val_on_domain(space.take(), sum.take()))
            .map(QPolynomial);
    };
    let mut sum: Option<(u32, QPolynomial)> = None;
    let raised = |sum: Option<(u32, QPolynomial)>, to: u32| -> Result<Option<QPolynomial>> {
        let Some((from, mut sum)) = sum else { return Ok(None) };
        for _ in to..from {
            sum = QPolynomial(isl!(context, isl_qpolynomial_mul(sum.0.pass(), value.0.take()))?);
        }
        Ok(Some(sum))
    };
    for same in terms.chunk_by(|(a, _), (b, _)| a[first] == b[first]) {
        let exponent = same[0].0[first];
        let part = nested(space, values, first + 1, same)?;
        let part = match raised(sum.take(), exponent)? {
            None => part,
            Some(sum) => {
                QPolynomial(isl!(context, isl_qpolynomial_add(sum.0.pass(), part.0.pass()))?)
            }
        };
        sum = Some((exponent, part));
    }
    match raised(sum, 0)? {
        Some(sum) => Ok(sum),
        None => nested(space, &[], 0, &[]),
    }
}

fn read_term(term: &Handle<sys::isl_term>, params: &[String], rank: usize) -> Result<Term> {
    let context = term.context();
    let exponent = |kind, pos: usize| -> Result<u32> {
        Ok(isl!(context, isl_term_get_exp(term.keep(), kind, pos as u32))? as u32)
    };
    let coefficient = isl!(context, isl_term_get_coefficient_val(term.keep()))?;
    let mut factors = Vec::new();
    for (pos, name) in params.iter().enumerate() {
        factors.push((Atom::Param(name.clone()), exponent(PARAM, pos)?));
    }
    for pos in 0..rank {
        factors.push((Atom::Dim(pos), exponent(OUT, pos)?));
    }
    for pos in 0..isl!(context, isl_term_dim(term.keep(), sys::isl_dim_div))? {
        let power = exponent(sys::isl_dim_div, pos as usize)?;
        if power > 0 {
            let inner = isl!(context, isl_term_get_div(term.keep(), pos as u32)).map(Aff)?;
            factors.push((Atom::Floor(Box::new(inner.expr()?)), power));
        }
    }
    factors.retain(|(_, exponent)| *exponent > 0);
    Ok(Term { coefficient: to_ratio(&coefficient)?, factors })
}

impl PwQPolynomial {
    methods! {
        /// The sum.
        add(other: PwQPolynomial) -> PwQPolynomial = isl_pw_qpolynomial_add;
        /// The difference.
        sub(other: PwQPolynomial) -> PwQPolynomial = isl_pw_qpolynomial_sub;
        /// The product.
        mul(other: PwQPolynomial) -> PwQPolynomial = isl_pw_qpolynomial_mul;
        /// The negative.
        neg() -> PwQPolynomial = isl_pw_qpolynomial_neg;
        /// The union of the domains of the pieces; elsewhere it is 0.
        domain() -> Set = isl_pw_qpolynomial_domain;
        /// The same within the set, 0 outside.
        intersect_domain(domain: Set) -> PwQPolynomial = isl_pw_qpolynomial_intersect_domain;
        /// The same for parameters in the parameter domain, 0 for others.
        intersect_params(params: Set) -> PwQPolynomial = isl_pw_qpolynomial_intersect_params;
        /// The same outside of the set, 0 within.
        subtract_domain(domain: Set) -> PwQPolynomial = isl_pw_qpolynomial_subtract_domain;
        /// One that has the same values within `context`, with simpler pieces and polynomials.
        gist(context: Set) -> PwQPolynomial = isl_pw_qpolynomial_gist;
        /// One that has the same values for parameters in `params`.
        gist_params(params: Set) -> PwQPolynomial = isl_pw_qpolynomial_gist_params;
        /// The same in fewer pieces, where equal polynomials fit together.
        coalesce(same) -> PwQPolynomial = isl_pw_qpolynomial_coalesce;
        /// Without the parameters that are not mentioned.
        drop_unused_params() -> PwQPolynomial = isl_pw_qpolynomial_drop_unused_params;
    }

    fn domain_space(&self) -> Result<Space> {
        isl!(self.context(), isl_pw_qpolynomial_get_domain_space(self.0.keep()))
    }

    /// 0 on the space of a set.
    pub fn zero_on(like: &Set) -> Result<PwQPolynomial> {
        QPolynomial::constant(like, 0)?.on_universe()
    }

    /// The names of the parameters.
    pub fn params(&self) -> Result<Vec<String>> {
        self.domain_space()?.names(PARAM)
    }

    /// The names of the dimensions of the domain.
    pub fn dims(&self) -> Result<Vec<String>> {
        let space = self.domain_space()?;
        if space.is_params()? { Ok(Vec::new()) } else { space.names(OUT) }
    }

    /// A multiple.
    pub fn scale(&self, numerator: i64, denominator: i64) -> Result<PwQPolynomial> {
        let context = self.context();
        let up = context.integer(numerator)?;
        let scaled = isl!(context, isl_pw_qpolynomial_scale_val(self.0.take(), up.take()))?;
        let down = context.integer(denominator)?;
        isl!(context, isl_pw_qpolynomial_scale_down_val(scaled.take(), down.take()))
            .map(PwQPolynomial)
    }

    /// Whether it is 0 everywhere, as far as the polynomials of the pieces show it.
    pub fn is_zero(&self) -> Result<bool> {
        for (domain, polynomial) in self.pieces()? {
            if !polynomial.is_zero()? && !polynomial.gist(&domain)?.is_zero()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether both have the same values everywhere, as far as their difference shows it: true is
    /// sure; false can be wrong for polynomials that agree only on the integer points of a piece.
    pub fn is_equal(&self, other: &PwQPolynomial) -> Result<bool> {
        self.sub(other)?.is_zero()
    }

    /// The pieces: domains that do not overlap, and a polynomial (not 0) on each.
    pub fn pieces(&self) -> Result<Vec<(Set, QPolynomial)>> {
        let found = pieces(
            self.context(),
            "isl_pw_qpolynomial_foreach_piece",
            // SAFETY: `self` is live, and the callback matches the vector behind `user`.
            |isl, user| unsafe {
                isl.isl_pw_qpolynomial_foreach_piece(self.0.keep(), Some(collect_pair), user)
            },
        )?;
        Ok(found.into_iter().map(|(set, poly)| (Set(set), QPolynomial(poly))).collect())
    }

    /// The pieces within `domain`, and a piece of value 0 for the rest of `domain`, if there is a
    /// rest: every point of `domain` is in exactly one.
    pub fn pieces_over(&self, domain: &Set) -> Result<Vec<(Set, QPolynomial)>> {
        let mut covered = domain.empty_like()?;
        let mut all = Vec::new();
        for (piece, polynomial) in self.pieces()? {
            let piece = piece.intersect(domain)?.coalesce()?;
            if !piece.is_empty()? {
                covered = covered.union(&piece)?;
                all.push((piece, polynomial));
            }
        }
        // Joined pieces are few and simple, and so is what they leave.
        let rest = domain.subtract(&covered.coalesce()?)?;
        if !rest.is_empty()? {
            all.push((rest.simplify()?, QPolynomial::constant(domain, 0)?));
        }
        Ok(all)
    }

    /// The sum of the pieces, each 0 outside of its domain; at least one piece, for its space.
    pub fn from_pieces(pieces: &[(Set, QPolynomial)]) -> Result<PwQPolynomial> {
        let mut sum: Option<PwQPolynomial> = None;
        for (set, polynomial) in pieces {
            set.0.same(&polynomial.0)?;
            let polynomial = polynomial.align(&set.space()?)?;
            let space = polynomial.domain_space()?;
            let context = set.context();
            let set = isl!(context, isl_set_align_params(set.0.take(), space.take()))?;
            let piece = isl!(context, isl_pw_qpolynomial_alloc(set.take(), polynomial.0.take()))?;
            let piece = PwQPolynomial(piece);
            sum = Some(match sum {
                Some(sum) => sum.add(&piece)?,
                None => piece,
            });
        }
        sum.ok_or_else(|| Error::Shape {
            expected: "at least one piece".into(),
            found: "none".into(),
        })
    }

    /// The value at a point; 0 outside of the domain. Every parameter needs a value.
    pub fn eval(&self, params: &[(String, i64)], coords: &[i64]) -> Result<Ratio<i128>> {
        let point = self.domain_space()?.point(params, coords)?;
        let value = isl!(self.context(), isl_pw_qpolynomial_eval(self.0.take(), point.take()))?;
        to_ratio(&value)
    }

    /// Replaces parameters by values; those that it does not have are ignored.
    pub fn fix_params(&self, params: &[(String, i64)]) -> Result<PwQPolynomial> {
        let context = self.context();
        let mut fixed = self.clone();
        for (name, value) in params {
            let Some(pos) = fixed.domain_space()?.find(PARAM, name)? else { continue };
            // `fix_val` restricts only the domains; the gist puts the value into the polynomials.
            let space = fixed.domain_space()?;
            let universe = Set(isl!(context, isl_set_universe(space.take()))?);
            let value = context.integer(*value)?;
            let pos = pos as u32;
            let only =
                Set(isl!(context, isl_set_fix_val(universe.0.take(), PARAM, pos, value.take()))?);
            let gist = fixed.intersect_domain(&only)?.gist(&only)?;
            fixed = isl!(context, isl_pw_qpolynomial_drop_dims(gist.0.take(), PARAM, pos, 1))
                .map(PwQPolynomial)?;
        }
        Ok(fixed)
    }
}
