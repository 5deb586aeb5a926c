//! Index-set splitting: nests are cut where their selections change, so that the sums inside have no selections.
//!
//! A packed tensor's index may come in pieces: `B[select(j + 8 >= N, p, 8 * j + i)]`. In a sum over `j`, such an index
//! prevents vectors and tiles, though nearly all terms use the same piece. The variables of the condition decide where
//! the nest is cut:
//! - If the condition has no variable of the nest, an `if` is put around the nest.
//! - If it has variables of loops, the range of the innermost of them is cut.
//! - If it has the variable of a sum, the sum is cut in two. If the threshold lies outside of the sum's range for many
//!   iterations of the loops around, these loops are cut first.
//!
//! Selections whose pieces differ by a constant of the sum need no cut: the common part is moved out of them, unless
//! the sum can go along diagonals (`skew`), which is decided before, while an index is still one selection.
//!
//! Before -> after:
//! ```text
//! parallel i = 0 to N { A[i] = sum(j = max(0, i - 8) to i) B[select(j + 8 >= N, p, q)] }
//! ```
//! becomes
//! ```text
//! parallel i = 0 to min(N, N - 7) { A[i] = sum(j = max(0, i - 8) to i) B[q] }
//! parallel i = max(0, N - 7) to N { A[i] = sum(j = .. to N - 8) B[q] + sum(j = .. to i) B[p] }
//! ```
//! A nest that would have to be cut too often is cut for large sizes only: not where a symbol is less than a constant.
//! A nest with a selection that cannot be decided is left as it was.

mod cuts;
#[cfg(test)]
mod tests;

use self::cuts::{Cut, in_parts, parts};
use super::few::{MANY, is_short, is_small};
use super::guarded::{Guarded, guarded};
use super::nest::{Level, Nest};
use super::selections::{in_order, written_outside};
use super::skew::along_diagonals;
use super::undecided::Known;
use crate::hints::Hints;
use crate::ir::*;
use crate::linear::bounds_of;
use crate::passes::Context;

/// The most cuts of one nest.
const MOST: usize = 10;

/// The most cuts of one nest for large sizes.
const MOST_LARGE: usize = 16;

/// Sums in parts have their terms twice: at most so many values and parts of indices of one store.
const MOST_PARTS: usize = 1 << 13;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    for Function { body, vars, hints, .. } in &mut module.functions {
        if body.len() <= MANY {
            let known = Known::default();
            let mut pieces =
                Splitter { hints, vars, known, left: 0, undecided: false, sizes: Sizes::All };
            *body = pieces.block(std::mem::take(body));
        }
    }
}

/// For which sizes a nest is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    All,
    /// Not for those that are known to be smaller than a constant, such as a band's width.
    Large,
}

struct Splitter<'a> {
    hints: &'a Hints,
    /// Names of variables.
    vars: &'a mut Vec<String>,
    known: Known,
    /// How many more cuts of the current nest are allowed.
    left: usize,
    /// Whether a selection stays within a sum of many elements.
    undecided: bool,
    /// For which sizes the current nest is cut.
    sizes: Sizes,
}

impl Splitter<'_> {
    fn block(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut result = Vec::new();
        for mut stmt in body {
            if let Some(pieces) = Guarded::of(&stmt).and_then(|nest| self.nest(nest)) {
                result.extend(pieces);
                continue;
            }
            let len = self.known.facts.len();
            match &mut stmt {
                Stmt::For(inner) => {
                    self.known.facts.assume_range(inner.var, &inner.lower, &inner.upper);
                    inner.body = self.block(std::mem::take(&mut inner.body));
                }
                Stmt::If(inner) => {
                    self.known.facts.assume(&inner.condition);
                    inner.then = self.block(std::mem::take(&mut inner.then));
                    self.known.facts.truncate(len);
                    self.known.facts.assume(&inner.condition.clone().negate());
                    inner.otherwise = self.block(std::mem::take(&mut inner.otherwise));
                }
                Stmt::Partitioned(_)
                | Stmt::Partial(_)
                | Stmt::Team(_)
                | Stmt::Call(_)
                | Stmt::While(_)
                | Stmt::CoIter(_)
                | Stmt::Append(_)
                | Stmt::Workspace(_)
                | Stmt::Let(_)
                | Stmt::Scan(_)
                | Stmt::Store(_)
                | Stmt::Register(_) => {}
            }
            self.known.facts.truncate(len);
            result.push(stmt);
        }
        result
    }

    /// The pieces of a nest, if there is something to cut.
    fn nest(&mut self, Guarded { guards, nest, moved }: Guarded) -> Option<Vec<Stmt>> {
        if nest.is_scheduled(self.hints) {
            return None;
        }
        let (mut sums, mut selects) = (false, false);
        nest.store.value.visit(&mut |value| sums |= matches!(value, Value::Sum(_)));
        nest.store.value.visit_indices(&mut |index| selects |= matches!(index, Index::Select(..)));
        if !sums || !(selects || moved || nest.is_curved()) {
            return None;
        }
        let mut cut = |sizes: Sizes| {
            let most = if sizes == Sizes::All { MOST } else { MOST_LARGE };
            (self.left, self.undecided, self.sizes) = (most, false, sizes);
            let len = self.known.facts.len();
            guards.iter().for_each(|guard| self.known.facts.assume(guard));
            let body = self.region(&nest.levels, &nest.store);
            self.known.facts.truncate(len);
            (!self.undecided).then_some(body)
        };
        let body = cut(Sizes::All).or_else(|| cut(Sizes::Large))?;
        if !moved && body == Nest::wrapped(&nest.levels, vec![Stmt::Store(nest.store)]) {
            return None;
        }
        Some(guarded(guards, body))
    }

    /// The elements of these loops.
    fn region(&mut self, levels: &[Level], store: &Store) -> Vec<Stmt> {
        // Nothing is left of nests with selections that cannot be decided.
        self.undecided |= size(&store.value) > MOST_PARTS;
        if self.undecided {
            return Vec::new();
        }
        let len = self.known.facts.len();
        let Some((levels, store)) = self.known.reduced(levels, store) else {
            self.known.facts.truncate(len);
            return Vec::new();
        };
        let short = levels.iter().any(|level| is_short(level, &self.known.facts));
        let cut = cuts::next(&levels, &store, &self.known.facts);
        self.known.facts.truncate(len);
        let cut = match cut {
            _ if short => None,
            Ok(Some(cut)) if self.left > 0 => Some(cut),
            Ok(None) => None,
            _ => {
                self.undecided = true;
                None
            }
        };
        match cut {
            None => {
                let along = match short {
                    true => None,
                    false => along_diagonals(&levels, &store, self.vars),
                };
                let store = along.unwrap_or_else(|| {
                    let order = in_order(&levels, &store);
                    let outside = |index: &Index| match index {
                        Index::Select(..) => written_outside(index, &order),
                        index => index.clone(),
                    };
                    Store { value: store.value.map_loads(&outside), ..store }
                });
                Nest::wrapped(&levels, vec![Stmt::Store(store)])
            }
            Some(Cut::Outside(condition)) => {
                self.left -= 1;
                let mut parts = [condition.clone(), condition.clone().negate()].map(|holds| {
                    if self.sizes == Sizes::Large && is_small(&holds) {
                        return Nest::wrapped(&levels, vec![Stmt::Store(store.clone())]);
                    }
                    self.known.facts.assume(&holds);
                    let part = self.region(&levels, &store);
                    self.known.facts.truncate(len);
                    part
                });
                let (then, otherwise) =
                    (std::mem::take(&mut parts[0]), std::mem::take(&mut parts[1]));
                vec![match then.is_empty() {
                    true => Stmt::when(condition.negate(), otherwise),
                    false => Stmt::If(If { condition, then, otherwise }),
                }]
            }
            Some(Cut::Level(at, condition)) => {
                self.left -= 1;
                let mut result = Vec::new();
                for part in parts(&condition) {
                    let mut levels = levels.clone();
                    let Some((lower, upper)) = bounds_of(&part, levels[at].var) else {
                        self.undecided = true;
                        continue;
                    };
                    levels[at].lower.extend(lower);
                    levels[at].upper.extend(upper);
                    result.extend(self.region(&levels, &store));
                }
                result
            }
            Some(Cut::Sums(var, at)) => {
                self.left -= 1;
                let value = store.value.map_sums(&|sum| match sum.var == var {
                    true => in_parts(sum, &at),
                    false => Value::Sum(Box::new(sum)),
                });
                self.region(&levels, &Store { value, ..store })
            }
        }
    }
}

/// How many values and parts of indices a value has.
fn size(value: &Value) -> usize {
    let mut parts = 0;
    value.visit(&mut |_| parts += 1);
    value.visit_indices(&mut |_| parts += 1);
    parts
}
