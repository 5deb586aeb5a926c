//! Integer expressions as polynomials in variables and symbols, with rational coefficients: two of them are equal where
//! their coefficients are.
//!
//! All answers are safe: an overflow, or an expression that is no polynomial, gives "not known".

use crate::ir::*;
use std::collections::BTreeMap;

/// What a monomial is a product of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atom {
    /// A symbol.
    Symbol(SymbolId),
    /// A variable.
    Var(VarId),
}

impl Atom {
    pub(crate) fn to_index(self) -> Index {
        match self {
            Atom::Symbol(symbol) => Index::Symbol(symbol),
            Atom::Var(var) => Index::Var(var),
        }
    }
}

/// `sum of coefficient / divisor * product of atoms`: monomials sorted, coefficients not zero, nothing divides all of
/// them and the divisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    terms: BTreeMap<Vec<Atom>, i64>,
    divisor: i64,
}

impl Polynomial {
    /// The polynomial that `index` is.
    pub fn of(index: &Index) -> Option<Polynomial> {
        match index {
            Index::Const(value) => Some(Polynomial::monomial(Vec::new(), *value)),
            Index::Symbol(symbol) => Some(Polynomial::monomial(vec![Atom::Symbol(*symbol)], 1)),
            Index::Var(var) => Some(Polynomial::monomial(vec![Atom::Var(*var)], 1)),
            Index::Add(left, right) => Polynomial::of(left)?.plus(&Polynomial::of(right)?, 1),
            Index::Sub(left, right) => Polynomial::of(left)?.plus(&Polynomial::of(right)?, -1),
            Index::Mul(left, right) => Polynomial::of(left)?.times(&Polynomial::of(right)?),
            Index::ExactDiv(value, by) if *by > 0 => {
                let mut value = Polynomial::of(value)?;
                value.divisor = value.divisor.checked_mul(*by)?;
                Some(value.reduced())
            }
            _ => None,
        }
    }

    fn monomial(atoms: Vec<Atom>, coefficient: i64) -> Polynomial {
        let terms = [(atoms, coefficient)].into_iter().filter(|(_, by)| *by != 0).collect();
        Polynomial { terms, divisor: 1 }
    }

    /// `self + factor * other`.
    pub fn plus(&self, other: &Polynomial, factor: i64) -> Option<Polynomial> {
        let common = gcd(self.divisor, other.divisor);
        let (left, right) = (other.divisor / common, self.divisor / common);
        let divisor = self.divisor.checked_mul(left)?;
        let mut terms = BTreeMap::new();
        for (atoms, coefficient) in &self.terms {
            terms.insert(atoms.clone(), coefficient.checked_mul(left)?);
        }
        for (atoms, coefficient) in &other.terms {
            let more = coefficient.checked_mul(right)?.checked_mul(factor)?;
            let sum = terms.entry(atoms.clone()).or_insert(0);
            *sum = sum.checked_add(more)?;
        }
        Some(Polynomial { terms, divisor }.reduced())
    }

    pub(crate) fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut terms: BTreeMap<Vec<Atom>, i64> = BTreeMap::new();
        for (left, by) in &self.terms {
            for (right, times) in &other.terms {
                let mut atoms = [&left[..], &right[..]].concat();
                atoms.sort();
                let sum = terms.entry(atoms).or_insert(0);
                *sum = sum.checked_add(by.checked_mul(*times)?)?;
            }
        }
        let divisor = self.divisor.checked_mul(other.divisor)?;
        Some(Polynomial { terms, divisor }.reduced())
    }

    fn reduced(mut self) -> Polynomial {
        self.terms.retain(|_, coefficient| *coefficient != 0);
        let common = self.terms.values().fold(self.divisor, |so_far, by| gcd(so_far, *by));
        if common > 1 {
            self.divisor /= common;
            self.terms.values_mut().for_each(|by| *by /= common);
        }
        self
    }

    /// The terms with whole coefficients, and the others.
    pub fn whole(self) -> (Polynomial, Polynomial) {
        let Polynomial { terms, divisor } = self;
        let (whole, rest) = terms.into_iter().partition(|(_, by)| by % divisor == 0);
        let part = |terms| Polynomial { terms, divisor }.reduced();
        (part(whole), part(rest))
    }

    /// The terms that are the same in both.
    pub fn common(&self, other: &Polynomial) -> Polynomial {
        let same = |(atoms, by): &(&Vec<Atom>, &i64)| {
            other.terms.get(*atoms).is_some_and(|times| {
                i128::from(**by) * i128::from(other.divisor)
                    == i128::from(*times) * i128::from(self.divisor)
            })
        };
        let terms = self.terms.iter().filter(same);
        let terms = terms.map(|(atoms, by)| (atoms.clone(), *by)).collect();
        Polynomial { terms, divisor: self.divisor }.reduced()
    }

    /// Whether a variable occurs.
    pub fn mentions(&self, var: VarId) -> bool {
        self.terms.keys().any(|atoms| atoms.contains(&Atom::Var(var)))
    }

    /// The largest number of factors of a term that has this variable: 0 if none has.
    pub fn degree(&self, var: VarId) -> usize {
        let with = self.terms.keys().filter(|atoms| atoms.contains(&Atom::Var(var)));
        with.map(Vec::len).max().unwrap_or(0)
    }

    /// What products of two factors and more in it are made of, each once.
    pub(crate) fn factors(&self) -> Vec<Atom> {
        let products = self.terms.keys().filter(|atoms| atoms.len() > 1);
        let mut all: Vec<Atom> = products.flatten().copied().collect();
        all.sort();
        all.dedup();
        all
    }

    /// Whether both have a product of two factors or more, with coefficients of one sign.
    pub(crate) fn shares_product(&self, other: &Polynomial) -> bool {
        self.terms.iter().any(|(atoms, by)| {
            let same = |times: &i64| (*times > 0) == (*by > 0);
            atoms.len() > 1 && other.terms.get(atoms).is_some_and(same)
        })
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The expression that equals this polynomial. Its products are nested so that the last of `order` is outermost,
    /// because expressions that vary more slowly can then be moved out of inner loops. If the polynomial is an integer,
    /// so is the expression: terms with fractional coefficients are one exact division.
    pub fn to_index(&self, order: &[VarId]) -> Index {
        let (whole, rest) = self.clone().whole();
        let divided = nested(&rest.terms, order).exact_div(rest.divisor);
        let outer = |part: &Polynomial| {
            order.iter().rposition(|var| part.mentions(*var)).map_or(0, |at| at + 1)
        };
        // Which of the two varies faster comes last.
        match outer(&rest) > outer(&whole) {
            true => nested(&whole.terms, order) + divided,
            false => divided + nested(&whole.terms, order),
        }
    }
}

fn nested(terms: &BTreeMap<Vec<Atom>, i64>, order: &[VarId]) -> Index {
    // The fastest first.
    let fast = order.iter().rev().map(|var| Atom::Var(*var));
    let mut others: Vec<Atom> = terms.keys().flatten().copied().collect();
    others.sort();
    let first = fast.chain(others).find(|atom| terms.keys().any(|atoms| atoms.contains(atom)));
    let Some(atom) = first else {
        return Index::Const(terms.get(&Vec::new()).copied().unwrap_or(0));
    };
    let (mut with, mut without) = (BTreeMap::new(), BTreeMap::new());
    for (atoms, by) in terms {
        match atoms.iter().position(|other| *other == atom) {
            Some(at) => {
                let mut atoms = atoms.clone();
                atoms.remove(at);
                with.insert(atoms, *by);
            }
            None => {
                without.insert(atoms.clone(), *by);
            }
        }
    }
    nested(&without, order) + nested(&with, order) * atom.to_index()
}

fn gcd(left: i64, right: i64) -> i64 {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    i64::try_from(left).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_collected() {
        let [i, j] = [0, 1].map(|n| Index::Var(VarId(n)));
        let n = Index::Symbol(SymbolId(0));
        let row = |i: Index| n.clone() * i.clone() - ((i.clone() + 1) * i).exact_div(2);
        let of = |index: &Index| Polynomial::of(index).unwrap();
        // The next row is one shorter.
        let next = of(&row(i.clone() + 1)).plus(&of(&row(i.clone())), -1).unwrap();
        assert_eq!(next, of(&(n.clone() - i.clone() - 1)));
        assert_eq!(of(&row(Index::Const(0))), of(&Index::Const(0)));
        let position = of(&(row(i.clone()) + j.clone()));
        let order = [VarId(0), VarId(1)];
        assert_eq!(
            position.to_index(&order).to_string(),
            "exact((-1 * v0 - 1) * v0, 2) + (p0 * v0 + v1)"
        );
        assert_eq!(of(&position.to_index(&order)), position);
        let shared = position.common(&of(&(i.clone() * 8 + j.clone())));
        assert_eq!(shared, of(&j));
        assert_eq!(Polynomial::of(&i.floor_div(2)), None);
    }

    #[test]
    fn diagonals() {
        // A band by diagonals: `j = i + d` leaves neighbours for neighbouring `i`.
        let [i, d] = [0, 1].map(|n| Index::Var(VarId(n)));
        let n = Index::Symbol(SymbolId(0));
        let j = i.clone() + d.clone();
        let squares = |x: Index| (Index::Const(1) - x.clone()) * x;
        let place = (Index::Const(-1) * n.clone() * i.clone() + (n + i.clone()) * j.clone())
            + (squares(i.clone()) + squares(j)).exact_div(2);
        let place = Polynomial::of(&place).unwrap().to_index(&[VarId(1), VarId(0)]);
        assert_eq!(place.constant_stride(VarId(0)), Some(1));
        assert_eq!(place.to_string(), "exact((-1 * v1 + 1) * v1, 2) + (p0 * v1 + v0)");
    }
}
