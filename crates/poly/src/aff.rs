//! Affine expressions with floors, as isl objects and as plain trees.

use crate::handle::{Handle, collect_pair, pieces, to_ratio};
use crate::space::{IN, PARAM, Space};
use crate::{Aff, Error, PwAff, Result, Set};
use isl_vendor as sys;
use num_integer::Integer;
use num_rational::Ratio;

/// `(constant + sum of params + sum of dims + sum of floors) / denominator`, as a plain tree.
/// Invariants: `denominator > 0`, no zero coefficients, all in lowest terms, parameters and
/// dimensions in the order of their space.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinearExpr {
    /// The constant, before the division.
    pub constant: i64,
    /// Coefficients of parameters.
    pub params: Vec<(String, i64)>,
    /// Coefficients of dimensions, by position in the domain.
    pub dims: Vec<(usize, i64)>,
    /// Coefficients of floors.
    pub floors: Vec<(i64, Floor)>,
    /// What the sum is divided by.
    pub denominator: i64,
}

/// The text of a floor, with parentheses only around what needs them: `floor(i/4)`, `floor((i + 1)/4)`.
pub fn floor_text(
    numerator: impl std::fmt::Display,
    denominator: impl std::fmt::Display,
) -> String {
    let numerator = numerator.to_string();
    match numerator.contains(' ') || numerator.starts_with('-') {
        true => format!("floor(({numerator})/{denominator})"),
        false => format!("floor({numerator}/{denominator})"),
    }
}

/// `floor(numerator / denominator)`. Invariants: `denominator > 1`, `numerator.denominator == 1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Floor {
    /// What is divided.
    pub numerator: Box<LinearExpr>,
    /// What it is divided by.
    pub denominator: i64,
}

impl LinearExpr {
    /// The value, exact, at a point.
    pub fn eval(&self, params: &[(String, i64)], coords: &[i64]) -> Result<Ratio<i128>> {
        let overflow = || Error::Overflow { value: format!("{self:?} at {params:?}, {coords:?}") };
        let mut sum = i128::from(self.constant);
        let mut add = |coefficient: i64, value: i128| -> Result<()> {
            let product = i128::from(coefficient).checked_mul(value).ok_or_else(overflow)?;
            sum = sum.checked_add(product).ok_or_else(overflow)?;
            Ok(())
        };
        for (name, coefficient) in &self.params {
            let value = params.iter().find(|(param, _)| param == name);
            let value = value.ok_or_else(|| Error::MissingParameter { name: name.clone() })?.1;
            add(*coefficient, value.into())?;
        }
        for &(dim, coefficient) in &self.dims {
            let value = *coords.get(dim).ok_or_else(|| Error::Shape {
                expected: format!("at least {} coordinates", dim + 1),
                found: coords.len().to_string(),
            })?;
            add(coefficient, value.into())?;
        }
        for (coefficient, floor) in &self.floors {
            add(*coefficient, floor.eval(params, coords)?)?;
        }
        Ok(Ratio::new(sum, self.denominator.into()))
    }

    /// The expression as text, with these names of the dimensions: `(N + 2*i - 1)/2`.
    pub fn to_text(&self, dims: &[impl AsRef<str>]) -> String {
        let mut text = String::new();
        let mut add = |coefficient: i64, factor: &str| {
            let magnitude = coefficient.unsigned_abs();
            text += match (text.is_empty(), coefficient < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            match (magnitude, factor) {
                (_, "") => text += &magnitude.to_string(),
                (1, _) => text += factor,
                _ => text += &format!("{magnitude}*{factor}"),
            }
        };
        for (name, coefficient) in &self.params {
            add(*coefficient, name);
        }
        for &(dim, coefficient) in &self.dims {
            let name = dims.get(dim).map_or_else(|| format!("i{dim}"), |d| d.as_ref().to_owned());
            add(coefficient, &name);
        }
        for (coefficient, floor) in &self.floors {
            let numerator = floor.numerator.to_text(dims);
            add(*coefficient, &floor_text(&numerator, floor.denominator));
        }
        if self.constant != 0 {
            add(self.constant, "");
        }
        match (text.is_empty(), self.denominator) {
            (true, _) => "0".into(),
            (_, 1) => text,
            (_, denominator) => format!("({text})/{denominator}"),
        }
    }
}

impl Floor {
    /// The value at a point.
    pub fn eval(&self, params: &[(String, i64)], coords: &[i64]) -> Result<i128> {
        let numerator = self.numerator.eval(params, coords)?;
        Ok((numerator / i128::from(self.denominator)).floor().to_integer())
    }
}

impl Aff {
    fn coefficient(&self, kind: sys::isl_dim_type, pos: usize) -> Result<Ratio<i128>> {
        to_ratio(&isl!(
            self.context(),
            isl_aff_get_coefficient_val(self.0.keep(), kind, pos as i32)
        )?)
    }

    pub(crate) fn domain_space(&self) -> Result<Space> {
        isl!(self.context(), isl_aff_get_domain_space(self.0.keep()))
    }

    fn domain_rank(&self) -> Result<usize> {
        let space = self.domain_space()?;
        Ok(if space.is_params()? { 0 } else { space.dim(crate::space::OUT) })
    }

    /// The expression on the space of a set.
    pub(crate) fn on(space: &Space, expr: &LinearExpr) -> Result<Aff> {
        let context = space.context();
        let mut aff = isl!(context, isl_aff_zero_on_domain_space(space.take()))?;
        let constant = context.integer(expr.constant)?;
        aff = isl!(context, isl_aff_set_constant_val(aff.pass(), constant.pass()))?;
        let set = |aff: Handle<sys::isl_aff>, kind, pos: usize, coefficient: i64| {
            let value = context.integer(coefficient)?;
            isl!(context, isl_aff_set_coefficient_val(aff.pass(), kind, pos as i32, value.pass()))
        };
        for (name, coefficient) in &expr.params {
            let pos = space.find(PARAM, name)?;
            let pos = pos.ok_or_else(|| Error::MissingParameter { name: name.clone() })?;
            aff = set(aff, PARAM, pos, *coefficient)?;
        }
        for &(pos, coefficient) in &expr.dims {
            aff = set(aff, IN, pos, coefficient)?;
        }
        for (coefficient, floor) in &expr.floors {
            let mut inner = (*floor.numerator).clone();
            inner.denominator = floor.denominator;
            let factor = context.integer(*coefficient)?;
            let floor = Aff::floor_on(space, &inner)?;
            let scaled = isl!(context, isl_aff_scale_val(floor.0.take(), factor.pass()))?;
            aff = isl!(context, isl_aff_add(aff.pass(), scaled.pass()))?;
        }
        let denominator = context.integer(expr.denominator)?;
        isl!(context, isl_aff_scale_down_val(aff.pass(), denominator.pass())).map(Aff)
    }

    /// The floor of an expression, on the space of a set.
    pub(crate) fn floor_on(space: &Space, expr: &LinearExpr) -> Result<Aff> {
        let aff = Aff::on(space, expr)?;
        isl!(space.context(), isl_aff_floor(aff.0.take())).map(Aff)
    }

    /// The constant of the expression.
    pub fn constant(&self) -> Result<Ratio<i128>> {
        to_ratio(&isl!(self.context(), isl_aff_get_constant_val(self.0.keep()))?)
    }

    /// The coefficient of a parameter; 0 if there is no such parameter.
    pub fn param_coefficient(&self, name: &str) -> Result<Ratio<i128>> {
        match self.domain_space()?.find(PARAM, name)? {
            Some(pos) => self.coefficient(PARAM, pos),
            None => Ok(Ratio::from_integer(0)),
        }
    }

    /// The coefficient of a dimension of the domain.
    pub fn dim_coefficient(&self, idx: usize) -> Result<Ratio<i128>> {
        let rank = self.domain_rank()?;
        if idx >= rank {
            let expected = format!("a position below {rank}");
            return Err(Error::Shape { expected, found: idx.to_string() });
        }
        self.coefficient(IN, idx)
    }

    /// Whether it depends on no dimension and no parameter.
    pub fn is_constant(&self) -> Result<bool> {
        Ok(isl!(self.context(), isl_aff_is_cst(self.0.keep()))? != 0)
    }

    /// The expression as a plain tree.
    pub fn expr(&self) -> Result<LinearExpr> {
        let zero = Ratio::from_integer(0);
        let constant = self.constant()?;
        let mut params = Vec::new();
        for (pos, name) in self.domain_space()?.names(PARAM)?.into_iter().enumerate() {
            params.push((name, self.coefficient(PARAM, pos)?));
        }
        params.retain(|(_, coefficient)| *coefficient != zero);
        let mut dims = Vec::new();
        for pos in 0..self.domain_rank()? {
            dims.push((pos, self.coefficient(IN, pos)?));
        }
        dims.retain(|(_, coefficient)| *coefficient != zero);
        let mut floors = Vec::new();
        let context = self.context();
        for pos in 0..isl!(context, isl_aff_dim(self.0.keep(), sys::isl_dim_div))? {
            let coefficient = self.coefficient(sys::isl_dim_div, pos as usize)?;
            if coefficient == zero {
                continue;
            }
            let inner = isl!(context, isl_aff_get_div(self.0.keep(), pos)).map(Aff)?;
            floors.push((coefficient, inner.expr()?));
        }

        let coefficients = params.iter().map(|(_, c)| c).chain(dims.iter().map(|(_, c)| c));
        let coefficients = coefficients.chain(floors.iter().map(|(c, _)| c)).chain([&constant]);
        let denominator = coefficients.fold(1, |lcm: i128, c| lcm.lcm(c.denom()));
        let scaled = |c: Ratio<i128>| to_integer(c * denominator);
        let mut expr = LinearExpr {
            constant: scaled(constant)?,
            params: Vec::new(),
            dims: Vec::new(),
            floors: Vec::new(),
            denominator: to_integer(Ratio::from_integer(denominator))?,
        };
        for (name, c) in params {
            expr.params.push((name, scaled(c)?));
        }
        for (pos, c) in dims {
            expr.dims.push((pos, scaled(c)?));
        }
        for (c, mut inner) in floors {
            let denominator = std::mem::replace(&mut inner.denominator, 1);
            let floor = Floor { numerator: Box::new(inner), denominator };
            expr.floors.push((scaled(c)?, floor));
        }
        Ok(expr)
    }
}

fn to_integer(value: Ratio<i128>) -> Result<i64> {
    let overflow = || Error::Overflow { value: value.to_string() };
    if !value.is_integer() {
        return Err(overflow());
    }
    i64::try_from(value.to_integer()).map_err(|_| overflow())
}

impl PwAff {
    methods! {
        /// The sum, where both are defined.
        add(other: PwAff) -> PwAff = isl_pw_aff_add;
        /// The difference, where both are defined.
        sub(other: PwAff) -> PwAff = isl_pw_aff_sub;
        /// The larger of both, where both are defined.
        max(other: PwAff) -> PwAff = isl_pw_aff_max;
        /// The smaller of both, where both are defined.
        min(other: PwAff) -> PwAff = isl_pw_aff_min;
        /// Where it is defined.
        domain() -> Set = isl_pw_aff_domain;
        /// The same values in fewer pieces, where they fit together.
        coalesce(same) -> PwAff = isl_pw_aff_coalesce;
        /// An expression that has the same values within `context`.
        gist(context: Set) -> PwAff = isl_pw_aff_gist;
        /// Whether both are defined at the same points, with the same values.
        is_equal(? other: PwAff) = isl_pw_aff_is_equal;
    }

    /// The pieces: domains that do not overlap, and an expression on each.
    pub fn pieces(&self) -> Result<Vec<(Set, Aff)>> {
        let found = pieces(
            self.context(),
            "isl_pw_aff_foreach_piece",
            // SAFETY: `self` is live, and the callback matches the vector behind `user`.
            |isl, user| unsafe {
                isl.isl_pw_aff_foreach_piece(self.0.keep(), Some(collect_pair), user)
            },
        )?;
        Ok(found.into_iter().map(|(domain, aff)| (Set(domain), Aff(aff))).collect())
    }

    /// The value at a point, or `None` outside of the domain.
    pub fn eval(&self, params: &[(String, i64)], coords: &[i64]) -> Result<Option<Ratio<i128>>> {
        let context = self.context();
        let space = isl!(context, isl_pw_aff_get_domain_space(self.0.keep()))?;
        let point = space.point(params, coords)?;
        let value = isl!(context, isl_pw_aff_eval(self.0.take(), point.take()))?;
        if isl!(context, isl_val_is_nan(value.keep()))? != 0 {
            return Ok(None);
        }
        to_ratio(&value).map(Some)
    }
}
