//! Loop IR expressions as text in isl's notation, and as exact polynomials.
//!
//! Before -> after: `exact((i + 1) * i, 2)` -> the polynomial `1/2*i^2 + 1/2*i`; `min(N, i + 1)` in a bound -> the text
//! `min(N, (i + 1))`.
//!
//! An exact division is taken for the rational number that it would be if it had no remainder. [`exact_divisions_hold`]
//! says where that is justified.

use dastac_layout::Polynomial;
use dastac_loops::{Compare, Condition, Index, VarId};
use dastac_stur::sets::{Affine, Atom};
use num_rational::Ratio;

/// Names of variables and symbols in isl's notation.
#[derive(Clone, Debug)]
pub(super) struct Naming {
    /// The isl parameter of each symbol.
    pub(super) params: Vec<String>,
    /// Parameters that are derived from symbols, each after the expression with which the loops compute it.
    derived: Vec<(Index, String)>,
    /// A prefix that the names of all variables have, and that no parameter has.
    prefix: String,
}

impl Naming {
    pub(super) fn new(params: Vec<String>, derived: Vec<(Index, String)>) -> Naming {
        let mut prefix = "v".to_string();
        while params.iter().any(|param| param.starts_with(&prefix)) {
            prefix.push('_');
        }
        Naming { params, derived, prefix }
    }

    /// The derived parameter that an expression computes.
    fn derived(&self, index: &Index) -> Option<&String> {
        self.derived.iter().find(|(value, _)| value == index).map(|(_, name)| name)
    }

    pub(super) fn var(&self, var: VarId) -> String {
        format!("{}{}", self.prefix, var.0)
    }

    /// The expression in isl's notation, if it is quasi-affine.
    pub(super) fn text(&self, index: &Index) -> Option<String> {
        let go = |index: &Index| self.text(index);
        if let Some(name) = self.derived(index) {
            return Some(name.clone());
        }
        Some(match index {
            Index::Const(value) => format!("({value})"),
            Index::Symbol(symbol) => self.params.get(symbol.0 as usize)?.clone(),
            Index::Var(var) => self.var(*var),
            Index::Add(a, b) => format!("({} + {})", go(a)?, go(b)?),
            Index::Sub(a, b) => format!("({} - {})", go(a)?, go(b)?),
            Index::Mul(a, b) => match (&**a, &**b) {
                (Index::Const(factor), other) | (other, Index::Const(factor)) => {
                    format!("({factor} * {})", go(other)?)
                }
                _ => return None,
            },
            // The quotient of an exact division is also its floor.
            Index::FloorDiv(a, by) | Index::ExactDiv(a, by) => {
                format!("floor(({})/{by})", go(a)?)
            }
            Index::Mod(a, by) => {
                let a = go(a)?;
                format!("({a} - {by} * floor(({a})/{by}))")
            }
            Index::Quotient(..) | Index::Load(..) | Index::Within(_) => return None,
            Index::Min(a, b) => format!("min({}, {})", go(a)?, go(b)?),
            Index::Max(a, b) => format!("max({}, {})", go(a)?, go(b)?),
            Index::Select(test, a, b) => {
                format!("(({}) ? ({}) : ({}))", self.condition(test)?, go(a)?, go(b)?)
            }
        })
    }

    /// The condition in isl's notation, if it is quasi-affine.
    pub(super) fn condition(&self, condition: &Condition) -> Option<String> {
        let join = |parts: &[Condition], operator: &str, empty: &str| {
            let parts: Option<Vec<String>> =
                parts.iter().map(|part| Some(format!("({})", self.condition(part)?))).collect();
            let parts = parts?;
            Some(if parts.is_empty() { empty.into() } else { parts.join(operator) })
        };
        match condition {
            Condition::And(parts) => join(parts, " and ", "1 = 1"),
            Condition::Or(parts) => join(parts, " or ", "1 = 0"),
            Condition::Compare(op, a, b) => {
                let operator = match op {
                    Compare::Eq => "=",
                    Compare::Ne => "!=",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                Some(format!("{} {operator} {}", self.text(a)?, self.text(b)?))
            }
        }
    }

    /// The expression as a quasi-affine one. `None` for minima, selections and products, and if a number overflows.
    fn affine(&self, index: &Index) -> Option<Affine> {
        let floor = |inner: Affine, by: i64| Affine {
            terms: [(Atom::Floor(Box::new(inner), by), 1)].into(),
            constant: 0,
        };
        if let Some(name) = self.derived(index) {
            return Some(Affine::name(name));
        }
        match index {
            Index::Const(value) => Some(Affine::constant(*value)),
            Index::Symbol(symbol) => Some(Affine::name(self.params.get(symbol.0 as usize)?)),
            Index::Var(var) => Some(Affine::name(&self.var(*var))),
            Index::Add(a, b) => self.affine(a)?.add_scaled(&self.affine(b)?, 1),
            Index::Sub(a, b) => self.affine(a)?.add_scaled(&self.affine(b)?, -1),
            Index::Mul(a, b) => match (&**a, &**b) {
                (Index::Const(factor), other) | (other, Index::Const(factor)) => {
                    self.affine(other)?.scaled(*factor)
                }
                _ => None,
            },
            Index::FloorDiv(a, by) => Some(floor(self.affine(a)?, *by)),
            Index::Mod(a, by) => {
                let a = self.affine(a)?;
                a.add_scaled(&floor(a.clone(), *by), by.checked_neg()?)
            }
            Index::ExactDiv(..)
            | Index::Quotient(..)
            | Index::Load(..)
            | Index::Within(_)
            | Index::Min(..)
            | Index::Max(..)
            | Index::Select(..) => None,
        }
    }

    /// The polynomials that the expression may be, each with the conditions (in isl's notation) under which it is the
    /// value.
    pub(super) fn cases(&self, index: &Index) -> Option<Vec<PolynomialCase>> {
        let one = |polynomial| Some(vec![PolynomialCase { conditions: Vec::new(), polynomial }]);
        let both = |a: &Index, b: &Index, join: &dyn Fn(&Polynomial, &Polynomial) -> Polynomial| {
            let (left, right) = (self.cases(a)?, self.cases(b)?);
            let mut all = Vec::new();
            for x in &left {
                for y in &right {
                    let mut conditions = x.conditions.clone();
                    for condition in &y.conditions {
                        if !conditions.contains(condition) {
                            conditions.push(condition.clone());
                        }
                    }
                    let polynomial = join(&x.polynomial, &y.polynomial);
                    all.push(PolynomialCase { conditions, polynomial });
                }
            }
            (all.len() <= MAX_CASES).then_some(all)
        };
        let under = |condition: &Condition, index: &Index| {
            let mut cases = self.cases(index)?;
            let condition = self.condition(condition)?;
            cases.iter_mut().for_each(|case| case.conditions.push(condition.clone()));
            Some(cases)
        };
        let choose = |test: &Condition, a: &Index, b: &Index| {
            let mut cases = under(test, a)?;
            cases.extend(under(&test.clone().negate(), b)?);
            (cases.len() <= MAX_CASES).then_some(cases)
        };
        if let Some(name) = self.derived(index) {
            return one(Polynomial::from_affine(&Affine::name(name)));
        }
        match index {
            Index::Const(_)
            | Index::Symbol(_)
            | Index::Var(_)
            | Index::FloorDiv(..)
            | Index::Mod(..) => one(Polynomial::from_affine(&self.affine(index)?)),
            Index::Quotient(..) | Index::Load(..) | Index::Within(_) => None,
            Index::Add(a, b) => both(a, b, &|x, y| x + y),
            Index::Sub(a, b) => both(a, b, &|x, y| x + &y.scaled(-1)),
            Index::Mul(a, b) => both(a, b, &|x, y| x * y),
            Index::ExactDiv(a, by) => {
                let part = Polynomial::rational(Ratio::new(1, i128::from(*by)));
                let mut cases = self.cases(a)?;
                cases.iter_mut().for_each(|case| case.polynomial = &case.polynomial * &part);
                Some(cases)
            }
            Index::Min(a, b) => choose(&(**a).clone().at_most((**b).clone()), a, b),
            Index::Max(a, b) => choose(&(**b).clone().at_most((**a).clone()), a, b),
            Index::Select(test, a, b) => choose(test, a, b),
        }
    }
}

/// An expression with more cases than this is not followed.
const MAX_CASES: usize = 256;

/// A polynomial that is the value of an expression where some conditions hold.
pub(super) struct PolynomialCase {
    pub(super) conditions: Vec<String>,
    pub(super) polynomial: Polynomial,
}

/// Whether every exact division divides without a remainder, given that the whole expression is known to be an integer.
///
/// If there is only one division and it is outside of all products, it is exact, because the rest of the sum is an
/// integer. Any other division is tried for all residues of its variables.
pub(super) fn exact_divisions_hold(index: &Index) -> bool {
    let mut branches = Vec::new();
    selected(index, &mut branches);
    branches.iter().all(|branch| {
        let mut summands = Vec::new();
        summed(branch, &mut summands);
        let (divisions, rest): (Vec<&Index>, Vec<&Index>) =
            summands.into_iter().partition(|index| matches!(index, Index::ExactDiv(..)));
        let inner = |index: &&Index| match index {
            Index::ExactDiv(a, _) => divides_always(a),
            index => divides_always(index),
        };
        let nested = divisions.iter().all(inner) && rest.iter().all(inner);
        nested && (divisions.len() <= 1 || divisions.iter().all(|index| divides_always(index)))
    })
}

/// The branches of nested selections.
fn selected<'a>(index: &'a Index, all: &mut Vec<&'a Index>) {
    match index {
        Index::Select(_, a, b) => {
            selected(a, all);
            selected(b, all);
        }
        index => all.push(index),
    }
}

fn summed<'a>(index: &'a Index, all: &mut Vec<&'a Index>) {
    match index {
        Index::Add(a, b) | Index::Sub(a, b) => {
            summed(a, all);
            summed(b, all);
        }
        index => all.push(index),
    }
}

/// A division is tried for at most this many combinations of residues.
const MAX_RESIDUES: u64 = 1 << 18;

/// Whether every exact division in an expression divides for all integer values of its variables and symbols.
fn divides_always(index: &Index) -> bool {
    let mut fine = true;
    index.visit(&mut |part| {
        if let Index::ExactDiv(numerator, by) = part {
            fine = fine && divisible(numerator, *by);
        }
    });
    fine
}

/// Whether a numerator divides for all integer values of its variables and symbols.
pub(super) fn divisible(numerator: &Index, by: i64) -> bool {
    let mut names: Vec<&Index> = Vec::new();
    let mut polynomial = true;
    numerator.visit(&mut |part| match part {
        Index::Var(_) | Index::Symbol(_) if !names.contains(&part) => names.push(part),
        Index::FloorDiv(..) | Index::Mod(..) | Index::ExactDiv(..) => polynomial = false,
        Index::Quotient(..) | Index::Load(..) | Index::Within(_) => polynomial = false,
        Index::Min(..) | Index::Max(..) | Index::Select(..) => polynomial = false,
        _ => {}
    });
    let count =
        u64::try_from(by).ok().and_then(|by| by.checked_pow(u32::try_from(names.len()).ok()?));
    let Some(count) = count.filter(|count| polynomial && *count <= MAX_RESIDUES) else {
        return false;
    };
    // An integer polynomial modulo `by` depends only on its variables modulo `by`.
    (0..count).all(|case| {
        let value_of = |leaf: &Index| {
            let place = names.iter().position(|name| *name == leaf)?;
            let mut rest = case;
            for _ in 0..place {
                rest /= by.unsigned_abs();
            }
            i64::try_from(rest % by.unsigned_abs()).ok()
        };
        residue(numerator, by, &value_of) == Some(0)
    })
}

fn residue(index: &Index, by: i64, value_of: &dyn Fn(&Index) -> Option<i64>) -> Option<i64> {
    let go = |index: &Index| residue(index, by, value_of).map(i128::from);
    let value = match index {
        Index::Const(value) => i128::from(*value),
        Index::Var(_) | Index::Symbol(_) => i128::from(value_of(index)?),
        Index::Add(a, b) => go(a)? + go(b)?,
        Index::Sub(a, b) => go(a)? - go(b)?,
        Index::Mul(a, b) => go(a)? * go(b)?,
        _ => return None,
    };
    i64::try_from(value.rem_euclid(i128::from(by))).ok()
}
