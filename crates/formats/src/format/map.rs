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
//!
//! A map with [indirect](super::indirect) functions is one of a tensor with one more dimension for each of them:
//! function `n` is dimension `rank + n` of its expressions and of its inverse.

use super::arithmetic::LinearFunction;
use super::expression::{Atom, LevelExpr};
use super::indirect::Indirect;

/// A map from a tensor's coordinates to those of its levels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexMap {
    levels: Vec<LevelExpr>,
    /// By dimension, the functions behind the tensor's own.
    inverse: Vec<LinearFunction>,
    /// Which levels' expressions follow from those of the levels before.
    derived: Vec<bool>,
    /// The functions that are computed from entries.
    functions: Vec<Indirect>,
    /// Which levels' expressions follow from those of the levels before, for the entries of one tensor.
    found: Vec<bool>,
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
        IndexMap::with_functions(rank, levels, Vec::new())
    }

    /// As [`IndexMap::new`], with functions that are dimensions from `rank` on.
    ///
    /// # Errors
    /// As [`IndexMap::new`].
    pub fn with_functions(
        rank: usize,
        levels: Vec<LevelExpr>,
        functions: Vec<Indirect>,
    ) -> Result<IndexMap, NotInvertible> {
        let all = rank + functions.len();
        let mut solved = Solved { inverse: vec![None; all], equations: Vec::new() };
        let (mut derived, mut found) = (Vec::new(), Vec::new());
        for (level, expr) in levels.iter().enumerate() {
            let known =
                |dimension: &usize| solved.inverse.get(*dimension).is_some_and(Option::is_some);
            derived.push(expr.dimensions().iter().all(known));
            found.push(!functions.is_empty() && solved.finds(rank, &functions, expr));
            solved.equations.push((expr.clone(), LinearFunction::level(level)));
            while solved.step() {}
        }
        let unknown = solved.inverse.iter().position(Option::is_none);
        match unknown {
            Some(dimension) => Err(NotInvertible { dimension }),
            None => Ok(IndexMap {
                levels,
                inverse: solved.inverse.into_iter().flatten().collect(),
                derived,
                functions,
                found,
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
        let inverse = (0..rank).map(LinearFunction::level).collect();
        let (derived, found) = (vec![false; rank], vec![false; rank]);
        IndexMap { levels, inverse, derived, functions: Vec::new(), found }
    }

    /// How many dimensions the tensor has.
    pub fn rank(&self) -> usize {
        self.inverse.len() - self.functions.len()
    }

    /// The functions that are computed from entries.
    pub fn functions(&self) -> &[Indirect] {
        &self.functions
    }

    /// Names of the tensor's dimensions, and the texts of functions.
    pub fn names(&self, names: &[impl AsRef<str>]) -> Vec<String> {
        let own = names.iter().map(|name| name.as_ref().to_owned());
        own.chain(self.functions.iter().map(|function| function.text(names))).collect()
    }

    /// The expression of each level.
    pub fn levels(&self) -> &[LevelExpr] {
        &self.levels
    }

    /// Each dimension's coordinate, of the levels'.
    pub fn inverse(&self) -> &[LinearFunction] {
        &self.inverse
    }

    /// Whether the coordinate of a level follows from those of the levels before it.
    pub fn is_derived(&self, level: usize) -> bool {
        self.derived[level]
    }

    /// Whether the entries of a tensor have one coordinate in a level below each position of the level before: it
    /// follows from the values of functions.
    pub fn is_found(&self, level: usize) -> bool {
        self.found[level] && !self.derived[level]
    }

    /// The dimension that each level stores, where each stores one.
    pub fn order(&self) -> Option<Vec<usize>> {
        let order: Option<Vec<usize>> = self.levels.iter().map(LevelExpr::as_dimension).collect();
        order.filter(|order| order.len() == self.rank() && self.functions.is_empty())
    }
}

/// What is known of a map's inverse.
struct Solved {
    inverse: Vec<Option<LinearFunction>>,
    /// Expressions whose values are linear functions of the levels' coordinates.
    equations: Vec<(LevelExpr, LinearFunction)>,
}

impl Solved {
    /// Whether an expression's value follows from those of the levels so far and from the values of functions.
    fn finds(&self, rank: usize, functions: &[Indirect], wanted: &LevelExpr) -> bool {
        let mut known: Vec<LevelExpr> =
            self.equations.iter().map(|(expr, _)| expr.clone()).collect();
        let dimensions = self.inverse.iter().enumerate().filter(|(_, inverse)| inverse.is_some());
        known.extend(dimensions.map(|(at, _)| LevelExpr::dimension(at)));
        let is_known = |known: &[LevelExpr], expr: &LevelExpr| {
            let has = |at: usize| known.contains(&LevelExpr::dimension(at));
            known.contains(expr) || expr.dimensions().into_iter().all(has)
        };
        loop {
            let before = known.len();
            for (at, function) in functions.iter().enumerate() {
                let value = LevelExpr::dimension(rank + at);
                if !known.contains(&value) {
                    if function.inputs().into_iter().all(|expr| is_known(&known, expr)) {
                        known.push(value);
                    }
                    continue;
                }
                let more = function.found(&|expr| is_known(&known, expr));
                let more = more.filter(|expr| !known.contains(expr)).cloned();
                known.extend(more);
            }
            if known.len() == before {
                return is_known(&known, wanted);
            }
        }
    }

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
            let Some(solved) = LinearFunction::default().plus(&rest, *factor) else { return false };
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
        let of = |inverse: &LinearFunction| format!("{:?} + {}", inverse.terms, inverse.constant);
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
