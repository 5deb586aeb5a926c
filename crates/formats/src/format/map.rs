//! Index maps: from the coordinates of a tensor to those of the levels that store it.
//!
//! A map has one quasi-affine expression for each level (sums of multiples of dimensions, floor quotients and
//! remainders by constants), as in UniSparse: `(i, j) -> (j, i)` stores columns first,
//! `(i, j) -> (i / 4, j / 4, i % 4, j % 4)` blocks of 4 x 4, `(i, j) -> (j - i, i)` diagonals.
//!
//! Invariant of an [`IndexMap`]: it is injective, and its inverse is a linear function of the level coordinates. A
//! level coordinate counts from the smallest value that its expression has in the tensor's box ([`LevelExpr::range`]),
//! so it is never negative. Coordinates of levels that no element has (behind the end of a block at the border) are
//! *padding*.

use std::fmt::Write as _;

use dastac_loops::Index;

/// A quasi-affine expression of a tensor's dimensions: a sum of multiples of atoms and a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LevelExpr {
    /// Atoms in ascending order, each once, with factors that are not 0.
    terms: Vec<(Atom, i64)>,
    constant: i64,
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

/// An operation of an expression on its atoms' values, so that numbers and expressions of the loop IR are computed
/// alike.
pub trait Arithmetic: Clone {
    /// An integer.
    fn constant(value: i64) -> Self;
    /// A sum.
    fn plus(self, other: Self) -> Self;
    /// A multiple.
    fn times(self, factor: i64) -> Self;
    /// A quotient, rounded toward minus infinity.
    fn quotient(self, by: i64) -> Self;
    /// The remainder of that quotient.
    fn remainder(self, by: i64) -> Self;
}

impl Arithmetic for i128 {
    fn constant(value: i64) -> i128 {
        i128::from(value)
    }

    fn plus(self, other: i128) -> i128 {
        self.saturating_add(other)
    }

    fn times(self, factor: i64) -> i128 {
        self.saturating_mul(i128::from(factor))
    }

    fn quotient(self, by: i64) -> i128 {
        self.div_euclid(i128::from(by))
    }

    fn remainder(self, by: i64) -> i128 {
        self.rem_euclid(i128::from(by))
    }
}

impl Arithmetic for Index {
    fn constant(value: i64) -> Index {
        Index::Const(value)
    }

    fn plus(self, other: Index) -> Index {
        self + other
    }

    fn times(self, factor: i64) -> Index {
        if factor == 1 { self } else { self * factor }
    }

    fn quotient(self, by: i64) -> Index {
        self.floor_div(by)
    }

    fn remainder(self, by: i64) -> Index {
        self.modulo(by)
    }
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
    pub fn linear(&self) -> Option<Linear> {
        let term = |(atom, factor): &(Atom, i64)| match atom {
            Atom::Dimension(dimension) => Some((*dimension, *factor)),
            Atom::Quotient(..) | Atom::Remainder(..) => None,
        };
        let terms: Option<Vec<(usize, i64)>> = self.terms.iter().map(term).collect();
        Some(Linear { terms: terms?, constant: self.constant })
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
    fn as_atom(&self) -> Option<&Atom> {
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

/// A linear function of numbered variables: of the dimensions of a tensor, or, in the inverse of a map, of the values
/// of the levels' expressions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Linear {
    /// Variables, ascending, with factors that are not 0.
    pub terms: Vec<(usize, i64)>,
    /// The rest.
    pub constant: i64,
}

impl Linear {
    fn level(level: usize) -> Linear {
        Linear { terms: vec![(level, 1)], constant: 0 }
    }

    fn plus(&self, other: &Linear, times: i64) -> Option<Linear> {
        let mut terms = self.terms.clone();
        for (level, factor) in &other.terms {
            let factor = factor.checked_mul(times)?;
            match terms.iter_mut().find(|(known, _)| known == level) {
                Some((_, sum)) => *sum = sum.checked_add(factor)?,
                None => terms.push((*level, factor)),
            }
        }
        terms.retain(|(_, factor)| *factor != 0);
        terms.sort_unstable();
        Some(Linear {
            terms,
            constant: self.constant.checked_add(other.constant.checked_mul(times)?)?,
        })
    }

    /// Its value, given those of the levels' expressions.
    pub fn value<A: Arithmetic>(&self, level: &dyn Fn(usize) -> A) -> A {
        let terms = self.terms.iter().map(|(at, factor)| level(*at).times(*factor));
        terms.fold(A::constant(self.constant), A::plus)
    }
}

/// A map from a tensor's coordinates to those of its levels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexMap {
    levels: Vec<LevelExpr>,
    /// By dimension.
    inverse: Vec<Linear>,
    /// Which levels' expressions follow from those of the levels before.
    derived: Vec<bool>,
}

/// A map that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInvertible {
    /// A dimension whose coordinate does not follow from those of the levels.
    pub dimension: usize,
}

impl IndexMap {
    /// A map with one expression for each level, of the dimensions below `rank`.
    ///
    /// # Errors
    /// A dimension whose coordinate is no linear function of the levels' coordinates.
    pub fn new(rank: usize, levels: Vec<LevelExpr>) -> Result<IndexMap, NotInvertible> {
        let mut solved = Solved { inverse: vec![None; rank], equations: Vec::new() };
        let mut derived = Vec::new();
        for (level, expr) in levels.iter().enumerate() {
            let known =
                |dimension: &usize| solved.inverse.get(*dimension).is_some_and(Option::is_some);
            derived.push(expr.dimensions().iter().all(known));
            solved.equations.push((expr.clone(), Linear::level(level)));
            while solved.step() {}
        }
        let unknown = solved.inverse.iter().position(Option::is_none);
        match unknown {
            Some(dimension) => Err(NotInvertible { dimension }),
            None => Ok(IndexMap {
                levels,
                inverse: solved.inverse.into_iter().flatten().collect(),
                derived,
            }),
        }
    }

    /// Each level stores one dimension.
    pub fn permutation(order: &[usize]) -> Result<IndexMap, NotInvertible> {
        IndexMap::new(order.len(), order.iter().map(|at| LevelExpr::dimension(*at)).collect())
    }

    /// Levels store the dimensions in their order.
    pub fn identity(rank: usize) -> IndexMap {
        let levels = (0..rank).map(LevelExpr::dimension).collect();
        let inverse = (0..rank).map(Linear::level).collect();
        IndexMap { levels, inverse, derived: vec![false; rank] }
    }

    /// How many dimensions the tensor has.
    pub fn rank(&self) -> usize {
        self.inverse.len()
    }

    /// The expression of each level.
    pub fn levels(&self) -> &[LevelExpr] {
        &self.levels
    }

    /// Each dimension's coordinate, of the levels'.
    pub fn inverse(&self) -> &[Linear] {
        &self.inverse
    }

    /// Whether the coordinate of a level follows from those of the levels before it.
    pub fn is_derived(&self, level: usize) -> bool {
        self.derived[level]
    }

    /// The dimension that each level stores, where each stores one.
    pub fn order(&self) -> Option<Vec<usize>> {
        let order: Option<Vec<usize>> = self.levels.iter().map(LevelExpr::as_dimension).collect();
        order.filter(|order| order.len() == self.rank())
    }
}

/// What is known of a map's inverse.
struct Solved {
    inverse: Vec<Option<Linear>>,
    /// Expressions whose values are linear functions of the levels' coordinates.
    equations: Vec<(LevelExpr, Linear)>,
}

impl Solved {
    /// Finds one more thing out; nothing more where that is not possible.
    fn step(&mut self) -> bool {
        self.dimension() || self.parts()
    }

    /// `2 * i - j = p`, where `i` is known -> `j = 2 * i - p`.
    fn dimension(&mut self) -> bool {
        for (expr, value) in &self.equations {
            let unknown = |(atom, _): &&(Atom, i64)| match atom {
                Atom::Dimension(dimension) => self.inverse[*dimension].is_none(),
                Atom::Quotient(..) | Atom::Remainder(..) => true,
            };
            let open: Vec<&(Atom, i64)> = expr.terms.iter().filter(unknown).collect();
            let [(Atom::Dimension(dimension), factor @ (1 | -1))] = open[..] else { continue };
            let mut rest = value.clone();
            rest.constant -= expr.constant;
            for (atom, by) in &expr.terms {
                let Atom::Dimension(known) = atom else { continue };
                let Some(known) = &self.inverse[*known] else { continue };
                let Some(next) = rest.plus(known, -by) else { return false };
                rest = next;
            }
            let Some(solved) = Linear::default().plus(&rest, *factor) else { return false };
            self.inverse[*dimension] = Some(solved);
            return true;
        }
        false
    }

    /// `e / n = p` and `e % n = q` -> `e = n * p + q`; of `e / m` in place of `e` too.
    fn parts(&mut self) -> bool {
        for (expr, remainder) in &self.equations {
            let Some(Atom::Remainder(inner, by)) = expr.as_atom() else { continue };
            let Some(whole) = inner.quotient(*by) else { continue };
            let Some((_, quotient)) = self.equations.iter().find(|(other, _)| *other == whole)
            else {
                continue;
            };
            let found = (**inner).clone();
            if self.equations.iter().any(|(known, _)| *known == found) {
                continue;
            }
            let Some(value) = remainder.plus(quotient, *by) else { continue };
            self.equations.push((found, value));
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(dimension: usize, by: i64) -> [LevelExpr; 2] {
        let own = LevelExpr::dimension(dimension);
        [own.quotient(by).unwrap(), own.remainder(by).unwrap()]
    }

    fn shown(map: &IndexMap) -> String {
        let of = |inverse: &Linear| format!("{:?} + {}", inverse.terms, inverse.constant);
        map.inverse().iter().map(of).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn inverses_are_linear() {
        let [bi, i] = block(0, 4);
        let [bj, j] = block(1, 3);
        let map = IndexMap::new(2, vec![bi.clone(), bj, i, j]).unwrap();
        assert_eq!(shown(&map), "[(0, 4), (2, 1)] + 0; [(1, 3), (3, 1)] + 0");
        assert_eq!(map.order(), None);
        let two = vec![
            LevelExpr::dimension(0).quotient(32).unwrap(),
            bi.remainder(8).unwrap(),
            LevelExpr::dimension(0).remainder(4).unwrap(),
        ];
        assert_eq!(shown(&IndexMap::new(1, two).unwrap()), "[(0, 32), (1, 4), (2, 1)] + 0");
        let (i, j) = (LevelExpr::dimension(0), LevelExpr::dimension(1));
        let diagonal = j.plus(&i.times(-1).unwrap()).unwrap();
        let map = IndexMap::new(2, vec![diagonal.clone(), i, j]).unwrap();
        assert_eq!(shown(&map), "[(1, 1)] + 0; [(0, 1), (1, 1)] + 0");
        assert_eq!((map.is_derived(1), map.is_derived(2)), (false, true));
        assert_eq!(diagonal.range::<i128>(&|at| [4, 9][at]), (-4, 9));
        assert_eq!(diagonal.text(&["i", "j"]), "j - i");
        assert_eq!(IndexMap::new(2, vec![diagonal]), Err(NotInvertible { dimension: 0 }));
        assert_eq!(IndexMap::new(1, vec![bi]), Err(NotInvertible { dimension: 0 }));
    }
}
