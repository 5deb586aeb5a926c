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
//! Selections whose pieces differ by a constant of the sum need no cut: the common part is moved out of them.
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
//! A nest with a selection that cannot be decided is left as it was.

use super::few::{has_few, is_short};
use super::guarded::Guarded;
use super::nest::{Level, Nest};
use super::selections::{comparisons, in_order, written_outside};
use super::skew::along_diagonals;
use super::strip_mine::strip_mined;
use super::undecided::Known;
use crate::hints::Hints;
use crate::ir::*;
use crate::linear::bounds_of;
use crate::passes::Context;

/// The most cuts of one nest.
const MOST: usize = 10;

/// Functions of more statements than this share code between them.
const MANY: usize = 32;

/// The pass.
pub(crate) fn run(module: &mut Module, _: &Context<'_>) {
    for Function { body, vars, hints, .. } in &mut module.functions {
        if body.len() <= MANY {
            let known = Known::default();
            let mut pieces = Splitter { hints, vars, known, left: 0, undecided: false };
            *body = pieces.block(std::mem::take(body));
        }
    }
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
}

/// How a nest is cut.
enum Cut {
    /// By a condition that does not vary within it.
    Outside(Condition),
    /// A loop, by a bound of it.
    Level(usize, Condition),
    /// The sums over a variable, before it reaches these values.
    Sums(VarId, Vec<Index>),
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
        let digits = strip_mined(&nest, self.vars);
        let moved = moved || digits.is_some();
        let nest = digits.unwrap_or(nest);
        let (mut sums, mut selects, mut curved) = (false, false, false);
        nest.store.value.visit(&mut |value| {
            if let Value::Sum(sum) = value {
                sums = true;
                sum.body.visit(&mut |value| {
                    if let Value::Load(_, index) = value {
                        curved |= index.stride(sum.var).is_none();
                    }
                });
            }
        });
        nest.store.value.visit_indices(&mut |index| selects |= matches!(index, Index::Select(..)));
        if !sums || !(selects || moved || curved) {
            return None;
        }
        (self.left, self.undecided) = (MOST, false);
        let len = self.known.facts.len();
        guards.iter().for_each(|guard| self.known.facts.assume(guard));
        let body = self.region(&nest.levels, &nest.store);
        self.known.facts.truncate(len);
        if self.undecided {
            return None;
        }
        if !moved && body == Nest::wrapped(&nest.levels, vec![Stmt::Store(nest.store)]) {
            return None;
        }
        Some(match guards.is_empty() || body.is_empty() {
            true => body,
            false => vec![Stmt::when(Condition::all(guards), body)],
        })
    }

    /// The elements of these loops.
    fn region(&mut self, levels: &[Level], store: &Store) -> Vec<Stmt> {
        let len = self.known.facts.len();
        let Some((levels, store)) = self.known.reduced(levels, store) else {
            self.known.facts.truncate(len);
            return Vec::new();
        };
        let short = levels.iter().any(|level| is_short(level, &self.known.facts));
        let cut = self.cut(&levels, &store);
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

    /// The next cut; `Ok(None)` if no sum has a selection that matters, an error if there is one that no cut decides.
    fn cut(&mut self, levels: &[Level], store: &Store) -> Result<Option<Cut>, ()> {
        let mut found = Vec::new();
        comparisons(&store.value, &mut Vec::new(), &mut found);
        let mut best: Option<(usize, Cut)> = None;
        let some = !found.is_empty();
        for (comparison, sums) in found {
            if let Some((cost, cut)) = self.cut_at(&comparison, &sums, levels)
                && best.as_ref().is_none_or(|(known, _)| cost < *known)
            {
                best = Some((cost, cut));
            }
        }
        match best {
            Some((_, cut)) => Ok(Some(cut)),
            None if some => Err(()),
            None => Ok(None),
        }
    }

    /// The cut that decides a comparison, and a rank among cuts.
    fn cut_at(
        &self,
        comparison: &Condition,
        sums: &[Sum],
        levels: &[Level],
    ) -> Option<(usize, Cut)> {
        let Condition::Compare(op, ..) = comparison else { return None };
        let point = usize::from(matches!(op, Compare::Eq | Compare::Ne));
        if let Some(sum) = sums.iter().rev().find(|sum| comparison.mentions(sum.var)) {
            let equal = match comparison {
                Condition::Compare(Compare::Ne, left, right) => {
                    &Condition::Compare(Compare::Eq, left.clone(), right.clone())
                }
                other => other,
            };
            let (lower, upper) = bounds_of(equal, sum.var)?;
            if sum.step != 1 || sum.condition.is_some() {
                return None;
            }
            let at: Vec<Index> = lower.into_iter().chain(upper).collect();
            let beyond = at.first().filter(|_| point == 0).and_then(|at| {
                let below = sum.upper.iter().map(|high| high.clone().at_most(at.clone()));
                let above = sum.lower.iter().map(|low| at.clone().at_most(low.clone()));
                below.chain(above).find_map(|condition| self.worth(condition, levels))
            });
            return Some(match beyond {
                Some(cut) => (4, cut),
                None => (5, Cut::Sums(sum.var, at)),
            });
        }
        match levels.iter().rposition(|level| comparison.mentions(level.var)) {
            Some(at) => {
                parts(comparison)
                    .iter()
                    .try_for_each(|part| bounds_of(part, levels[at].var).map(|_| ()))?;
                Some((2 + point, Cut::Level(at, comparison.clone())))
            }
            None => Some((point, Cut::Outside(comparison.clone()))),
        }
    }

    /// The cut of a loop into iterations whose sums lie on one side of a threshold and others, if the former are many.
    fn worth(&self, condition: Condition, levels: &[Level]) -> Option<Cut> {
        let at = levels.iter().rposition(|level| condition.mentions(level.var))?;
        let known = |condition: &Condition| self.known.facts.imply(condition);
        if known(&condition) || known(&condition.clone().negate()) {
            return None;
        }
        let outside = condition.free_vars();
        if outside.iter().any(|var| levels.iter().all(|level| level.var != *var)) {
            return None;
        }
        parts(&condition)
            .iter()
            .try_for_each(|part| bounds_of(part, levels[at].var).map(|_| ()))?;
        let (lower, upper) = bounds_of(&condition, levels[at].var)?;
        let mut one_sided = levels[at].clone();
        one_sided.lower.extend(lower);
        one_sided.upper.extend(upper);
        (!has_few(&one_sided, &self.known.facts)).then_some(Cut::Level(at, condition))
    }
}

/// The cases of a comparison, exactly one of which holds: it and its negation, or less, equal and greater.
fn parts(comparison: &Condition) -> Vec<Condition> {
    match comparison {
        Condition::Compare(Compare::Eq | Compare::Ne, left, right) => {
            [Compare::Lt, Compare::Eq, Compare::Gt]
                .map(|op| Condition::Compare(op, left.clone(), right.clone()))
                .to_vec()
        }
        condition => vec![condition.clone(), condition.clone().negate()],
    }
}

/// A sum in parts that begin at these values. Parts may be empty.
fn in_parts(sum: Sum, at: &[Index]) -> Value {
    let mut parts = Vec::new();
    let mut lower = sum.lower.clone();
    for at in at {
        let mut upper = sum.upper.clone();
        upper.push(at.clone());
        parts.push(Value::Sum(Box::new(Sum { lower, upper, ..sum.clone() })));
        lower = sum.lower.clone();
        lower.push(at.clone());
    }
    let rest = Value::Sum(Box::new(Sum { lower, ..sum }));
    parts.into_iter().rev().fold(rest, |rest, part| part + rest)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{HEAD, SMALL, compare};
    use super::*;
    use crate::passes::tile;
    use crate::{Module, parse, verify};
    use proptest::prelude::*;

    /// The nests that are made of a function's body; they compute the same, in tiles too.
    pub(in crate::passes::tile) fn check(body: &str) -> String {
        let before = parse(&format!("{HEAD}func f(inout A, in B, in C) {{ {body} }}")).unwrap();
        assert_eq!(verify(&before), Ok(()), "{before}");
        let mut after = before.clone();
        run(&mut after, &Context::of(&SMALL));
        assert_eq!(verify(&after), Ok(()), "{after}");
        let mut tiled: Vec<Module> = Vec::new();
        for shared in [false, true] {
            tiled.push(before.clone());
            tile(tiled.last_mut().unwrap(), &SMALL.with_threads(shared));
        }
        for symbols in [[0, 0], [1, 1], [2, 5], [5, 2], [7, 9], [9, 0], [0, 9], [10, 3], [10, 10]] {
            compare(&before, &after, &symbols);
            for tiled in &tiled {
                compare(&before, tiled, &symbols);
            }
        }
        let text = after.to_string();
        let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
        body.lines().map(|line| format!("{}\n", &line[2..])).collect()
    }

    #[test]
    fn a_mirrored_band() {
        // The last rows are shorter than the others, and stored in another way.
        expect_test::expect![[r#"
            parallel i = 0 to N - 2 {
              A[i] = sum(j = max(0, i - 3) to i) B[4 * j + i] * C[j]
            }
            parallel i = max(0, N - 2) to N {
              A[i] = sum(j = max(0, i - 3) to i) B[select(j + 3 >= N, N * j, 4 * j) + i] * C[j]
            }
        "#]].assert_eq(&check(
            "parallel i = 0 to N { A[i] = sum(j = max(0, i - 3) to i) B[select(j + 3 >= N, N * j + i, 4 * j + i)] * \
            C[j] }",
        ));
    }

    #[test]
    fn above_and_below() {
        expect_test::expect![[r#"
            if -2 * M - 1 < 0 {
              parallel i = 0 to N {
                A[i] = sum(j = max(0, i - M) to i) B[10 * j + 2 * i] * C[j] + sum(j = i to min(N, i + M + 1)) B[10 * i + j] * C[j]
              }
            }
        "#]].assert_eq(&check(
            "parallel i = 0 to N { if i - M < M + i + 1 {
               A[i] = sum(j = max(0, i - M) to min(N, i + M + 1)) B[select(j >= i, 10 * i + j, 10 * j + 2 * i)] * C[j]
             } }",
        ));
    }

    #[test]
    fn pieces_that_move_alike_stay() {
        expect_test::expect![[r#"
            parallel i = 0 to N {
              A[i] = sum(j = 0 to i) B[select(i >= M, N * i, 2 * i + 3) + j] * C[j]
            }
        "#]].assert_eq(&check(
            "parallel i = 0 to N { A[i] = sum(j = 0 to i) B[select(i >= M, N * i + j, 2 * i + j + 3)] * C[j] }",
        ));
    }

    #[test]
    fn a_point_that_both_pieces_have() {
        expect_test::expect![[r#"
            if N <= 3 {
              parallel i = 0 to N {
                A[i] = sum(j = 0 to N) B[select(j >= 1, N * j, 10 * j) + i] * C[j]
              }
            } else {
              parallel i = 0 to N {
                A[i] = sum(j = 0 to N) B[10 * j + i] * C[j]
              }
            }
        "#]].assert_eq(&check(
            "parallel i = 0 to N { A[i] = sum(j = 0 to N) B[select(N <= 3 and j >= 1 or j == 0, N * j + i, 10 * j + \
            i)] * C[j] }",
        ));
    }

    #[test]
    fn what_cannot_be_decided() {
        let body =
            "parallel i = 0 to N { A[i] = sum(j = 0 to N) B[select(j * j < i, i, j)] * C[j] }";
        expect_test::expect![[r#"
            parallel i = 0 to N {
              A[i] = sum(j = 0 to N) B[select(j * j < i, i, j)] * C[j]
            }
        "#]]
        .assert_eq(&check(body));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        #[test]
        fn pieces_keep_the_meaning(choices in prop::collection::vec(0usize..1000, 60)) {
            let mut choices = choices.into_iter().cycle();
            let mut choose = |n: usize| choices.next().unwrap_or(0) % n;
            let term = |choose: &mut dyn FnMut(usize) -> usize| {
                let name = ["i", "k", "j", "j", "N", "M"][choose(6)];
                match choose(3) {
                    0 => format!("{name} + {}", choose(4)),
                    1 => format!("{name} - {}", choose(4)),
                    _ => name.to_owned(),
                }
            };
            let compared = |choose: &mut dyn FnMut(usize) -> usize| {
                let op = ["<", "<=", ">", ">=", "==", "!="][choose(6)];
                format!("{} {op} {}", term(choose), term(choose))
            };
            let mut condition = || match choose(4) {
                0 => format!("{} and {}", compared(&mut choose), compared(&mut choose)),
                1 => format!("{} and {} or {}", compared(&mut choose), compared(&mut choose), compared(&mut choose)),
                _ => compared(&mut choose),
            };
            let conditions = [condition(), condition(), condition()];
            let mut index = |stride: usize| {
                format!("{} * i + {} * k + {} * j", choose(stride), choose(3), choose(10))
            };
            let places = [index(10), index(10), index(9), index(4), index(4)];
            let bound = |choose: &mut dyn FnMut(usize) -> usize, upper: bool| match choose(5) {
                0 => term(choose).replace('j', "i"),
                1 if upper => "M".to_owned(),
                _ if upper => "N".to_owned(),
                _ => "0".to_owned(),
            };
            let (low, high) = (bound(&mut choose, false), bound(&mut choose, true));
            let (first, last) = (bound(&mut choose, false), bound(&mut choose, true));
            let (first, last) = (first.replace('k', "i"), last.replace('k', "i"));
            check(&format!(
                "parallel i = 0 to N {{ if {} {{ parallel k = max(0, {first}) to min(10, {last}) {{
                   A[10 * i + k] += sum(j = max(0, {low}) to min(10, {high}))
                     B[select({}, {}, select({}, {}, {}))] * C[select({}, {}, {})]
                 }} }} }}",
                ["N > 3", "i >= M"][choose(2)],
                conditions[0], places[0], conditions[1], places[1], places[2],
                conditions[2], places[3], places[4],
            ));
        }
    }
}
