//! Quasi-affine expressions and comparisons of them, from which sets and maps are made.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use dastac_poly::{LinearExpr, floor_text};

use crate::ast::{BinaryOp, CompareOp, Comparison, Expr, ExprKind, Span};
use crate::diagnostic::Diagnostic;

/// One step of an affine expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// An iterator or a symbol.
    Name(String),
    /// `floor(numerator / denominator)`.
    Floor(Box<Affine>, i64),
}

/// A quasi-affine expression over names: `constant + sum of coefficient * atom`, no zero coefficients.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affine {
    /// Coefficient of each atom, never 0.
    pub terms: BTreeMap<Atom, i64>,
    /// The constant.
    pub constant: i64,
}

impl Affine {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Affine { terms: BTreeMap::new(), constant: value }
    }

    /// An iterator or symbol.
    pub fn name(name: &str) -> Self {
        Affine { terms: BTreeMap::from([(Atom::Name(name.into()), 1)]), constant: 0 }
    }

    /// Iterators or symbols, each as an expression.
    pub fn each(names: &[String]) -> Vec<Affine> {
        names.iter().map(|name| Affine::name(name)).collect()
    }

    /// `self + factor * other`. `None` on 64-bit overflow.
    pub fn add_scaled(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut result = self.clone();
        result.constant = result.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (atom, coefficient) in &other.terms {
            let entry = result.terms.entry(atom.clone()).or_insert(0);
            *entry = entry.checked_add(coefficient.checked_mul(factor)?)?;
        }
        result.terms.retain(|_, coefficient| *coefficient != 0);
        Some(result)
    }

    /// `self * factor`. `None` on 64-bit overflow.
    pub fn scaled(&self, factor: i64) -> Option<Affine> {
        Affine::default().add_scaled(self, factor)
    }

    /// The name, if the expression is just a name.
    pub fn as_name(&self) -> Option<&str> {
        match (self.constant, self.terms.iter().next()) {
            (0, Some((Atom::Name(name), 1))) if self.terms.len() == 1 => Some(name),
            _ => None,
        }
    }

    /// All names in it, also those under a floor.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.collect_names(&mut names);
        names
    }

    fn collect_names(&self, names: &mut BTreeSet<String>) {
        for atom in self.terms.keys() {
            match atom {
                Atom::Name(name) => {
                    names.insert(name.clone());
                }
                Atom::Floor(inner, _) => inner.collect_names(names),
            }
        }
    }

    /// The expression with names replaced; names that `rename` does not know stay.
    pub fn rename(&self, rename: &BTreeMap<String, String>) -> Affine {
        let mut result = Affine::constant(self.constant);
        for (atom, coefficient) in &self.terms {
            let atom = match atom {
                Atom::Name(name) => Atom::Name(rename.get(name).unwrap_or(name).clone()),
                Atom::Floor(inner, divisor) => {
                    Atom::Floor(Box::new(inner.rename(rename)), *divisor)
                }
            };
            *result.terms.entry(atom).or_insert(0) += coefficient;
        }
        result.terms.retain(|_, coefficient| *coefficient != 0);
        result
    }

    /// The expression with names replaced by expressions. `None` on overflow.
    pub fn substitute(&self, values: &BTreeMap<String, Affine>) -> Option<Affine> {
        let mut result = Affine::constant(self.constant);
        for (atom, coefficient) in &self.terms {
            let value = match atom {
                Atom::Name(name) => match values.get(name) {
                    Some(value) => value.clone(),
                    None => Affine::name(name),
                },
                Atom::Floor(inner, divisor) => Affine {
                    terms: BTreeMap::from([(
                        Atom::Floor(Box::new(inner.substitute(values)?), *divisor),
                        1,
                    )]),
                    constant: 0,
                },
            };
            result = result.add_scaled(&value, *coefficient)?;
        }
        Some(result)
    }

    /// Its value. `None` on overflow, or for an unknown name.
    pub fn eval(&self, value_of: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let mut sum = self.constant;
        for (atom, coefficient) in &self.terms {
            let value = match atom {
                Atom::Name(name) => value_of(name)?,
                Atom::Floor(inner, divisor) => inner.eval(value_of)?.div_euclid(*divisor),
            };
            sum = sum.checked_add(value.checked_mul(*coefficient)?)?;
        }
        Some(sum)
    }

    /// From isl's form of a function whose values are integers wherever it is used, dimension `k` called `dims[k]`: a
    /// quotient is the same as its floor there. The functions of a map's pieces are such.
    pub fn of_integers(linear: &LinearExpr, dims: &[String]) -> Option<Affine> {
        let numerator =
            Affine::from_linear(&LinearExpr { denominator: 1, ..linear.clone() }, dims)?;
        if linear.denominator == 1 {
            return Some(numerator);
        }
        let atom = Atom::Floor(Box::new(numerator), linear.denominator);
        Some(Affine { terms: BTreeMap::from([(atom, 1)]), constant: 0 })
    }

    /// From isl's form, dimension `k` called `dims[k]`. isl's quotient must be exact (denominator 1).
    pub fn from_linear(linear: &LinearExpr, dims: &[String]) -> Option<Affine> {
        if linear.denominator != 1 {
            return None;
        }
        let mut result = Affine::constant(linear.constant);
        for (name, coefficient) in &linear.params {
            result = result.add_scaled(&Affine::name(name), *coefficient)?;
        }
        for (dim, coefficient) in &linear.dims {
            result = result.add_scaled(&Affine::name(dims.get(*dim)?), *coefficient)?;
        }
        for (coefficient, floor) in &linear.floors {
            let numerator = LinearExpr { denominator: 1, ..(*floor.numerator).clone() };
            let inner = Affine::from_linear(&numerator, dims)?;
            let atom = Atom::Floor(Box::new(inner), floor.denominator);
            let value = Affine { terms: BTreeMap::from([(atom, 1)]), constant: 0 };
            result = result.add_scaled(&value, *coefficient)?;
        }
        Some(result)
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (atom, coefficient) in &self.terms {
            match (first, *coefficient < 0) {
                (true, true) => write!(f, "-")?,
                (true, false) => {}
                (false, true) => write!(f, " - ")?,
                (false, false) => write!(f, " + ")?,
            }
            first = false;
            if coefficient.unsigned_abs() != 1 {
                write!(f, "{}*", coefficient.unsigned_abs())?;
            }
            match atom {
                Atom::Name(name) => write!(f, "{name}")?,
                Atom::Floor(inner, divisor) => write!(f, "{}", floor_text(inner, divisor))?,
            }
        }
        match (first, self.constant) {
            (true, constant) => write!(f, "{constant}"),
            (false, 0) => Ok(()),
            (false, constant) if constant < 0 => write!(f, " - {}", constant.unsigned_abs()),
            (false, constant) => write!(f, " + {constant}"),
        }
    }
}

/// The affine form of an expression.
///
/// # Errors
/// A product of two names, a division by anything but a positive constant, or a constant beyond 64 bits.
pub fn affine(expr: &Expr) -> Result<Affine, Diagnostic> {
    let overflow = || {
        Diagnostic::error("E0310", "integer overflow in an expression", expr.span, "beyond 64 bits")
    };
    match &expr.kind {
        ExprKind::Int(value) => Ok(Affine::constant(*value)),
        ExprKind::Name(name) => Ok(Affine::name(name)),
        ExprKind::Neg(inner) => affine(inner)?.scaled(-1).ok_or_else(overflow),
        ExprKind::Binary(op, left, right) => {
            let (a, b) = (affine(left)?, affine(right)?);
            match op {
                BinaryOp::Add => a.add_scaled(&b, 1).ok_or_else(overflow),
                BinaryOp::Sub => a.add_scaled(&b, -1).ok_or_else(overflow),
                BinaryOp::Mul if b.terms.is_empty() => a.scaled(b.constant).ok_or_else(overflow),
                BinaryOp::Mul if a.terms.is_empty() => b.scaled(a.constant).ok_or_else(overflow),
                BinaryOp::Mul => Err(not_affine(expr.span)),
                BinaryOp::Div | BinaryOp::Mod if b.terms.is_empty() && b.constant > 0 => {
                    let divisor = b.constant;
                    let floor = if a.terms.is_empty() {
                        Affine::constant(a.constant.div_euclid(divisor))
                    } else {
                        let atom = Atom::Floor(Box::new(a.clone()), divisor);
                        Affine { terms: BTreeMap::from([(atom, 1)]), constant: 0 }
                    };
                    match op {
                        BinaryOp::Div => Ok(floor),
                        _ => divisor
                            .checked_neg()
                            .and_then(|factor| a.add_scaled(&floor, factor))
                            .ok_or_else(overflow),
                    }
                }
                BinaryOp::Div | BinaryOp::Mod => Err(not_affine(right.span)),
            }
        }
    }
}

fn not_affine(span: Span) -> Diagnostic {
    let label = "a product of two names, or a division by something that is not a positive number";
    Diagnostic::error("E0312", "an expression that is not affine", span, label)
}

/// One operator between two expressions, affine on both sides.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Left side.
    pub left: Affine,
    /// The operator.
    pub operator: CompareOp,
    /// Right side.
    pub right: Affine,
}

/// A chained comparison as pairwise relations.
pub fn relations(comparison: &Comparison) -> Result<Vec<Relation>, Diagnostic> {
    let sides: Vec<Affine> = comparison.operands.iter().map(affine).collect::<Result<_, _>>()?;
    Ok(comparison
        .operators
        .iter()
        .enumerate()
        .map(|(k, operator)| Relation {
            left: sides[k].clone(),
            operator: *operator,
            right: sides[k + 1].clone(),
        })
        .collect())
}

/// Upper bounds (exclusive) that the comparisons put on `iterator` by itself, over symbols only.
pub fn upper_bounds(
    comparisons: &[Comparison],
    iterator: &str,
    is_symbol: &dyn Fn(&str) -> bool,
) -> Result<Vec<Affine>, Diagnostic> {
    let mut bounds = Vec::new();
    for comparison in comparisons {
        let sides: Vec<Affine> =
            comparison.operands.iter().map(affine).collect::<Result<_, _>>()?;
        // In a chain every operand to the right of `iterator <` bounds it: 0 <= i <= j < N.
        for from in 0..sides.len() {
            for to in 0..sides.len() {
                if from == to {
                    continue;
                }
                let Some(strict) = chain_order(&comparison.operators, from, to) else { continue };
                let Some(difference) = sides[from].add_scaled(&sides[to], -1) else { continue };
                // difference < 0 (strict) or <= 0, linear in the iterator (or its quotient) with coefficient 1.
                let found = difference.terms.iter().find_map(|(atom, coefficient)| match atom {
                    Atom::Name(name) if name == iterator && *coefficient == 1 => Some((atom, 1)),
                    Atom::Floor(inner, divisor)
                        if inner.as_name() == Some(iterator) && *coefficient == 1 =>
                    {
                        Some((atom, *divisor))
                    }
                    _ => None,
                });
                let Some((atom, divisor)) = found else { continue };
                let mut rest = difference.clone();
                rest.terms.remove(atom);
                if !rest.names().iter().all(|name| is_symbol(name)) {
                    continue;
                }
                let bound = rest
                    .scaled(-1)
                    .and_then(|b| b.add_scaled(&Affine::constant(i64::from(!strict)), 1))
                    // floor(i / c) < b means i < c * b.
                    .and_then(|b| b.scaled(divisor));
                if let Some(bound) = bound
                    && !bounds.contains(&bound)
                {
                    bounds.push(bound);
                }
            }
        }
    }
    Ok(bounds)
}

/// Whether operand `from` is known to be below (`Some(true)`) or at most (`Some(false)`) operand `to` of a chain.
fn chain_order(operators: &[CompareOp], from: usize, to: usize) -> Option<bool> {
    let (range, forward) = if from < to { (from..to, true) } else { (to..from, false) };
    let mut strict = false;
    for operator in &operators[range] {
        match (operator, forward) {
            (CompareOp::Lt, true) | (CompareOp::Gt, false) => strict = true,
            (CompareOp::Le, true) | (CompareOp::Ge, false) | (CompareOp::Eq, _) => {}
            _ => return None,
        }
    }
    Some(strict)
}
