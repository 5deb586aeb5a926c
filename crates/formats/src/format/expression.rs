//! What levels store: quasi-affine expressions of a tensor's dimensions.

use std::fmt::Write as _;

use super::arithmetic::{Arithmetic, LinearFunction};

/// A quasi-affine expression of a tensor's dimensions: a sum of multiples of atoms and a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LevelExpr {
    /// Atoms in ascending order, each once, with factors that are not 0.
    pub(super) terms: Vec<(Atom, i64)>,
    pub(super) constant: i64,
}

/// What a sum adds up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// The coordinate of a dimension.
    Dimension(usize),
    /// A quotient, rounded toward minus infinity, by a number greater than 1.
    Quotient(Box<LevelExpr>, i64),
    /// The remainder of that quotient: from 0 on, less than the number.
    Remainder(Box<LevelExpr>, i64),
}

impl LevelExpr {
    /// The coordinate of a dimension.
    pub fn dimension(dimension: usize) -> LevelExpr {
        LevelExpr { terms: vec![(Atom::Dimension(dimension), 1)], constant: 0 }
    }

    /// A number.
    pub fn constant(constant: i64) -> LevelExpr {
        LevelExpr { terms: Vec::new(), constant }
    }

    /// A sum; nothing if it overflows.
    pub fn plus(&self, other: &LevelExpr) -> Option<LevelExpr> {
        let mut terms = self.terms.clone();
        for (atom, factor) in &other.terms {
            match terms.iter_mut().find(|(known, _)| known == atom) {
                Some((_, sum)) => *sum = sum.checked_add(*factor)?,
                None => terms.push((atom.clone(), *factor)),
            }
        }
        terms.retain(|(_, factor)| *factor != 0);
        terms.sort();
        Some(LevelExpr { terms, constant: self.constant.checked_add(other.constant)? })
    }

    /// A multiple; nothing if it overflows.
    pub fn times(&self, by: i64) -> Option<LevelExpr> {
        let terms =
            self.terms.iter().map(|(atom, factor)| Some((atom.clone(), factor.checked_mul(by)?)));
        let mut terms = terms.collect::<Option<Vec<_>>>()?;
        terms.retain(|(_, factor)| *factor != 0);
        Some(LevelExpr { terms, constant: self.constant.checked_mul(by)? })
    }

    /// `e / n`; `e / 4 / 2` is `e / 8`. Nothing by a number that is not positive.
    pub fn quotient(&self, by: i64) -> Option<LevelExpr> {
        match (by, &self.terms[..], self.constant) {
            (1, ..) => Some(self.clone()),
            (2.., [(Atom::Quotient(inner, first), 1)], 0) => inner.quotient(first.checked_mul(by)?),
            (2.., ..) => Some(LevelExpr::of(Atom::Quotient(Box::new(self.clone()), by))),
            _ => None,
        }
    }

    /// `e % n`. Nothing by a number that is not positive.
    pub fn remainder(&self, by: i64) -> Option<LevelExpr> {
        match by {
            1 => Some(LevelExpr::constant(0)),
            2.. => Some(LevelExpr::of(Atom::Remainder(Box::new(self.clone()), by))),
            _ => None,
        }
    }

    fn of(atom: Atom) -> LevelExpr {
        LevelExpr { terms: vec![(atom, 1)], constant: 0 }
    }

    /// The dimension, where it is nothing else.
    pub fn as_dimension(&self) -> Option<usize> {
        match &self.terms[..] {
            [(Atom::Dimension(dimension), 1)] if self.constant == 0 => Some(*dimension),
            _ => None,
        }
    }

    /// The sum as a linear function of dimensions; nothing where it has quotients or remainders.
    pub fn linear(&self) -> Option<LinearFunction> {
        let term = |(atom, factor): &(Atom, i64)| match atom {
            Atom::Dimension(dimension) => Some((*dimension, *factor)),
            Atom::Quotient(..) | Atom::Remainder(..) => None,
        };
        let terms: Option<Vec<(usize, i64)>> = self.terms.iter().map(term).collect();
        Some(LinearFunction { terms: terms?, constant: self.constant })
    }

    /// The same expression with one dimension in place of all.
    pub fn renamed(&self, to: usize) -> LevelExpr {
        let mut result = self.clone();
        for (atom, _) in &mut result.terms {
            match atom {
                Atom::Dimension(dimension) => *dimension = to,
                Atom::Quotient(inner, _) | Atom::Remainder(inner, _) => **inner = inner.renamed(to),
            }
        }
        result
    }

    /// The number, where it is nothing else.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom, where it is nothing else.
    pub fn as_atom(&self) -> Option<&Atom> {
        match &self.terms[..] {
            [(atom, 1)] if self.constant == 0 => Some(atom),
            _ => None,
        }
    }

    /// Whether it is a sum of multiples of dimensions: it has neither quotients nor remainders.
    pub fn is_affine(&self) -> bool {
        self.terms.iter().all(|(atom, _)| matches!(atom, Atom::Dimension(_)))
    }

    /// The dimensions in it, ascending, each once.
    pub fn dimensions(&self) -> Vec<usize> {
        let mut all: Vec<usize> = Vec::new();
        for (atom, _) in &self.terms {
            match atom {
                Atom::Dimension(dimension) => all.push(*dimension),
                Atom::Quotient(inner, _) | Atom::Remainder(inner, _) => {
                    all.extend(inner.dimensions())
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Its value, given those of dimensions.
    pub fn value<A: Arithmetic>(&self, coordinate: &dyn Fn(usize) -> A) -> A {
        let mut sum = A::constant(self.constant);
        for (atom, factor) in &self.terms {
            let value = match atom {
                Atom::Dimension(dimension) => coordinate(*dimension),
                Atom::Quotient(inner, by) => inner.value(coordinate).quotient(*by),
                Atom::Remainder(inner, by) => inner.value(coordinate).remainder(*by),
            };
            sum = sum.plus(value.times(*factor));
        }
        sum
    }

    /// Its smallest and its largest value in a box, given the largest coordinate of each dimension. Both may be rough
    /// for sums of several atoms of one dimension, in the same way for numbers and for expressions.
    pub fn range<A: Arithmetic>(&self, largest: &dyn Fn(usize) -> A) -> (A, A) {
        let (mut low, mut high) = (A::constant(self.constant), A::constant(self.constant));
        for (atom, factor) in &self.terms {
            let (least, most) = match atom {
                Atom::Dimension(dimension) => (A::constant(0), largest(*dimension)),
                Atom::Quotient(inner, by) => {
                    let (least, most) = inner.range(largest);
                    (least.quotient(*by), most.quotient(*by))
                }
                Atom::Remainder(_, by) => (A::constant(0), A::constant(by - 1)),
            };
            let (least, most) = if *factor > 0 { (least, most) } else { (most, least) };
            low = low.plus(least.times(*factor));
            high = high.plus(most.times(*factor));
        }
        (low, high)
    }

    /// As text, with names for the dimensions: `j - i`, `i / 4`.
    pub fn text(&self, names: &[impl AsRef<str>]) -> String {
        let mut text = String::new();
        for (positive, (atom, factor)) in self.written() {
            let sign = match (text.is_empty(), positive) {
                (true, true) => "",
                (true, false) => "-",
                (false, true) => " + ",
                (false, false) => " - ",
            };
            text += sign;
            if factor.unsigned_abs() != 1 {
                let _ = write!(text, "{} * ", factor.unsigned_abs());
            }
            text += &atom.text(names);
        }
        match (text.is_empty(), self.constant) {
            (true, constant) => constant.to_string(),
            (false, 0) => text,
            (false, constant) if constant > 0 => format!("{text} + {constant}"),
            (false, constant) => format!("{text} - {}", constant.unsigned_abs()),
        }
    }

    /// As isl writes it, with names for the dimensions: `floor((i) / 4)`.
    pub fn isl(&self, names: &[impl AsRef<str>]) -> String {
        let mut text = self.constant.to_string();
        for (atom, factor) in &self.terms {
            let atom = match atom {
                Atom::Dimension(dimension) => {
                    names.get(*dimension).map_or("?", AsRef::as_ref).into()
                }
                Atom::Quotient(inner, by) => format!("floor(({}) / {by})", inner.isl(names)),
                Atom::Remainder(inner, by) => format!("(({}) mod {by})", inner.isl(names)),
            };
            let sign = if *factor > 0 { '+' } else { '-' };
            let _ = match factor.unsigned_abs() {
                1 => write!(text, " {sign} {atom}"),
                factor => write!(text, " {sign} {factor} * {atom}"),
            };
        }
        text
    }

    /// Terms in the order in which they are written: those that are added first.
    fn written(&self) -> impl Iterator<Item = (bool, &(Atom, i64))> {
        let added = self.terms.iter().filter(|(_, factor)| *factor > 0).map(|term| (true, term));
        let rest = self.terms.iter().filter(|(_, factor)| *factor < 0).map(|term| (false, term));
        added.chain(rest)
    }
}

impl Atom {
    fn text(&self, names: &[impl AsRef<str>]) -> String {
        let inside = |inner: &LevelExpr| match inner.as_atom() {
            Some(atom) => atom.text(names),
            None => format!("({})", inner.text(names)),
        };
        match self {
            Atom::Dimension(dimension) => names.get(*dimension).map_or("?", AsRef::as_ref).into(),
            Atom::Quotient(inner, by) => format!("{} / {by}", inside(inner)),
            Atom::Remainder(inner, by) => format!("{} % {by}", inside(inner)),
        }
    }
}
