//! Folds constants and identities, and drops what never or always happens.
//!
//! - `x * 1 + 0` -> `x`, in all expressions
//! - `for i = 0 to N { }` -> nothing; `for i = 3 to 3 { S }` -> nothing
//! - `for i = a to a + 1 { S(i) }` -> `S(a)`; the same for sums, unless `a` is large and stands in many places of S:
//!   minima and maxima of each other, which sort subscripts, would grow exponentially
//! - `if 0 < 1 { S } else { T }` -> `S`; `if a { if b { S } }` -> `if a and b { S }`
//! - `for i = 0 to N { if i >= 0 { S } }` -> `for i = 0 to N { S }`: conditions, selections and bounds that the
//!   enclosing loops decide
//! - `A[i] += 0.0`, `A[i] min= inf` -> nothing

use crate::ir::*;
use crate::linear::{Facts, Linear, flatten_max, flatten_min, only_value, range_conditions};

pub(super) fn run(function: &mut Function, _: &[Buffer]) {
    let mut fold = Fold { facts: Facts::default() };
    function.body = fold.block(&function.body);
}

struct Fold {
    facts: Facts,
}

/// What a range is known to be.
enum Trips {
    Empty,
    /// One value, the given one.
    One(Index),
    Unknown,
}

fn trips(lower: &[Index], upper: &[Index], step: i64) -> Trips {
    let empty = |low: &Index| {
        upper.iter().any(|high| high.constant_difference(low).is_some_and(|length| length <= 0))
    };
    if lower.iter().any(empty) {
        return Trips::Empty;
    }
    only_value(lower, upper, step).map_or(Trips::Unknown, Trips::One)
}

/// An index without the summands that cancel in it: `k - e + e` -> `k`. What mentions a variable is taken to move with
/// it.
fn without_cancelled(index: Index) -> Index {
    fn summands<'i>(index: &'i Index, all: &mut Vec<&'i Index>) {
        match index {
            Index::Add(left, right) | Index::Sub(left, right) => {
                summands(left, all);
                summands(right, all);
            }
            Index::Mul(left, right) => {
                // The atom of `2 * e`, whatever stands before it.
                let atom = match (&**left, &**right) {
                    (Index::Const(_), atom) | (atom, Index::Const(_)) => atom,
                    _ => index,
                };
                all.push(atom);
            }
            Index::Const(_) => {}
            atom => all.push(atom),
        }
    }
    if !matches!(index, Index::Add(..) | Index::Sub(..)) {
        return index;
    }
    let mut all = Vec::new();
    summands(&index, &mut all);
    let is_again = |at: &usize| all[..*at].contains(&all[*at]);
    let again: Vec<&Index> = (1..all.len()).filter(is_again).map(|at| all[at]).collect();
    if again.is_empty() {
        return index;
    }
    let sum = Linear::of(&index).filter(|sum| again.iter().any(|atom| !sum.has(atom)));
    sum.map_or_else(|| index.clone(), |sum| sum.to_index())
}

/// Values of more operations are not substituted for variables in several places,
const MAX_SIZE: usize = 16;
/// nor are those that would add more operations in all.
const MAX_GROWTH: usize = 256;

/// Whether `value` may stand in this many places.
fn stays_small(value: &Index, places: usize) -> bool {
    let mut size: usize = 0;
    value.visit(&mut |_| size += 1);
    places <= 1 || size <= MAX_SIZE && size * places <= MAX_GROWTH
}

/// Counts the places of a variable.
fn places<'a>(var: VarId, visit: impl FnOnce(&mut dyn FnMut(&'a Index))) -> usize {
    let mut places = 0;
    visit(&mut |index| places += usize::from(*index == Index::Var(var)));
    places
}

impl Fold {
    /// Runs `inside` with more facts.
    fn under<T>(
        &mut self,
        learn: impl FnOnce(&mut Facts),
        inside: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let len = self.facts.len();
        learn(&mut self.facts);
        let result = inside(self);
        self.facts.truncate(len);
        result
    }

    fn block(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        body.iter().flat_map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        match stmt {
            Stmt::For(inner) => {
                let (lower, upper) = self.bounds(&inner.lower, &inner.upper);
                let places = || {
                    places(inner.var, |f| inner.body.iter().for_each(|stmt| stmt.visit_indices(f)))
                };
                match trips(&lower, &upper, inner.step) {
                    Trips::Empty => return Vec::new(),
                    Trips::One(value) if stays_small(&value, places()) => {
                        let once = inner.body.iter().map(|stmt| stmt.substitute(inner.var, &value));
                        return self.block(&once.collect::<Vec<_>>());
                    }
                    Trips::One(_) | Trips::Unknown => {}
                }
                let body = self.under(
                    |facts| facts.assume_range(inner.var, &lower, &upper),
                    |fold| fold.block(&inner.body),
                );
                if body.is_empty() {
                    return Vec::new();
                }
                vec![Stmt::For(For { lower, upper, body, ..*inner })]
            }
            Stmt::Partitioned(inner) => {
                let (lower, upper) = self.bounds(&inner.lower, &inner.upper);
                let work = inner.work.as_ref().map(|work| self.index(work));
                let partitioned =
                    PartitionedRange { lower, upper, work, body: Vec::new(), ..*inner };
                let body = self.under(
                    |facts| facts.assume_partitioned(&partitioned),
                    |fold| fold.block(&inner.body),
                );
                if body.is_empty() {
                    return Vec::new();
                }
                vec![Stmt::Partitioned(PartitionedRange { body, ..partitioned })]
            }
            Stmt::While(inner) => vec![Stmt::While(While {
                vars: inner.vars.iter().map(|(var, start)| (*var, self.index(start))).collect(),
                condition: self.condition(&inner.condition),
                body: self.block(&inner.body),
                next: inner.next.iter().map(|next| self.index(next)).collect(),
                after: self.block(&inner.after),
            })],
            Stmt::CoIter(inner) => vec![Stmt::CoIter(CoIter {
                var: inner.var,
                lower: self.index(&inner.lower),
                upper: self.index(&inner.upper),
                cursors: inner
                    .cursors
                    .iter()
                    .map(|cursor| Cursor {
                        start: self.index(&cursor.start),
                        end: self.index(&cursor.end),
                        place: self.index(&cursor.place),
                        width: self.index(&cursor.width),
                        ..cursor.clone()
                    })
                    .collect(),
                cases: inner
                    .cases
                    .iter()
                    .map(|case| Case {
                        cursors: case.cursors.clone(),
                        body: self.block(&case.body),
                    })
                    .collect(),
            })],
            Stmt::Partial(inner) => {
                let (lower, upper) = self.bounds(&inner.lower, &inner.upper);
                vec![Stmt::Partial(Partial {
                    lower,
                    upper,
                    condition: self.condition(&inner.condition),
                    base: self.index(&inner.base),
                    extent: self.index(&inner.extent),
                    body: self.block(&inner.body),
                    finish: self.block(&inner.finish),
                    ..*inner
                })]
            }
            Stmt::Team(inner) => match self.block(&inner.body) {
                body if body.is_empty() => body,
                body => vec![Stmt::Team(Team { body, ..*inner })],
            },
            Stmt::Call(inner) => vec![Stmt::Call(Call {
                integers: inner.integers.iter().map(|integer| self.index(integer)).collect(),
                ..inner.clone()
            })],
            Stmt::Append(inner) => vec![Stmt::Append(Append {
                coordinate: self.index(&inner.coordinate),
                body: self.block(&inner.body),
                ..*inner
            })],
            Stmt::Workspace(inner) => match self.block(&inner.body) {
                body if body.is_empty() => body,
                body => {
                    let size = self.index(&inner.size);
                    let instead = inner.instead.as_ref();
                    let instead = instead.map(|(other, when)| (*other, self.condition(when)));
                    vec![Stmt::Workspace(Workspace { size, instead, body, ..*inner })]
                }
            },
            Stmt::Let(inner) => match self.block(&inner.body) {
                body if body.is_empty() => body,
                body => {
                    let index = self.index(&inner.index);
                    vec![Stmt::Let(Let { index, body, ..*inner })]
                }
            },
            // It stores, even with an empty body.
            Stmt::Scan(inner) => vec![Stmt::Scan(Scan {
                lower: self.index(&inner.lower),
                upper: self.index(&inner.upper),
                body: self.block(&inner.body),
                ..*inner
            })],
            Stmt::If(inner) => self.conditional(inner),
            Stmt::Register(RegisterStmt::Fetch(inner)) => {
                let inner = inner.map(&mut |index| self.index(index));
                vec![Stmt::Register(RegisterStmt::Fetch(Box::new(inner)))]
            }
            // Made of what is folded already.
            Stmt::Register(_) => vec![stmt.clone()],
            Stmt::Store(store) => {
                let value = match &store.value {
                    // Which is what it stays: its overflow is excluded.
                    Value::FromIndex(index) => Value::FromIndex(self.index(index)),
                    value => self.value(value),
                };
                let nothing = store.mode.reduction().map(|kind| Value::Const(kind.neutral()));
                if nothing.is_some_and(|nothing| value == nothing) {
                    return Vec::new();
                }
                let stream = store.stream.as_ref().map(|condition| self.condition(condition));
                vec![Stmt::Store(Store {
                    index: self.index(&store.index),
                    value,
                    stream,
                    ..*store
                })]
            }
        }
    }

    fn conditional(&mut self, inner: &If) -> Vec<Stmt> {
        let condition = self.condition(&inner.condition);
        match condition.as_bool() {
            Some(true) => return self.block(&inner.then),
            Some(false) => return self.block(&inner.otherwise),
            None => {}
        }
        let negated = condition.clone().negate();
        let mut then = self.under(|facts| facts.assume(&condition), |fold| fold.block(&inner.then));
        let otherwise =
            self.under(|facts| facts.assume(&negated), |fold| fold.block(&inner.otherwise));
        if then.is_empty() && otherwise.is_empty() {
            return Vec::new();
        }
        if then.is_empty() {
            return vec![Stmt::when(negated, otherwise)];
        }
        if otherwise.is_empty()
            && let [Stmt::If(nested)] = &mut then[..]
            && nested.otherwise.is_empty()
        {
            let both = condition.and(nested.condition.clone());
            return vec![Stmt::when(both, std::mem::take(&mut nested.then))];
        }
        vec![Stmt::If(If { condition, then, otherwise })]
    }

    /// Folds bounds and drops those that another implies.
    fn bounds(&self, lower: &[Index], upper: &[Index]) -> (Vec<Index>, Vec<Index>) {
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        lower.iter().for_each(|bound| flatten_max(&self.index(bound), &mut lowers));
        upper.iter().for_each(|bound| flatten_min(&self.index(bound), &mut uppers));
        let at_most = |facts: &Facts, low: &Index, high: &Index| {
            facts.imply(&low.clone().at_most(high.clone()))
        };
        // A range that is empty without a bound stays so.
        let within = |lowers: &[Index], uppers: &[Index]| {
            let mut facts = self.facts.clone();
            range_conditions(lowers, uppers).iter().for_each(|condition| facts.assume(condition));
            facts
        };
        retain_strongest(&mut lowers, |weak, strong| {
            at_most(&self.facts, weak, strong)
                || at_most(&within(std::slice::from_ref(strong), &uppers), weak, strong)
        });
        retain_strongest(&mut uppers, |weak, strong| {
            at_most(&self.facts, strong, weak)
                || at_most(&within(&lowers, std::slice::from_ref(strong)), strong, weak)
        });
        (lowers, uppers)
    }

    fn index(&self, index: &Index) -> Index {
        without_cancelled(self.summands(index))
    }

    /// An index whose summands may cancel.
    fn summands(&self, index: &Index) -> Index {
        let go = |index: &Index| self.index(index);
        match index {
            Index::Const(_) | Index::Symbol(_) | Index::Var(_) => index.clone(),
            Index::Add(left, right) => self.summands(left) + self.summands(right),
            Index::Sub(left, right) => self.summands(left) - self.summands(right),
            Index::Mul(left, right) => go(left) * go(right),
            Index::FloorDiv(value, by) => go(value).floor_div(*by),
            Index::Mod(value, by) => go(value).modulo(*by),
            Index::Quotient(left, right) => go(left).quotient(go(right)),
            Index::ExactDiv(value, by) => go(value).exact_div(*by),
            Index::Min(left, right) => go(left).min(go(right)),
            Index::Max(left, right) => go(left).max(go(right)),
            Index::Load(buffer, index) => Index::Load(*buffer, Box::new(go(index))),
            Index::Select(condition, then, otherwise) => {
                Index::select(self.condition(condition), go(then), go(otherwise))
            }
            Index::Within(_) => index.map_parts(&mut |part| go(part)),
        }
    }

    fn condition(&self, condition: &Condition) -> Condition {
        let folded = match condition {
            Condition::Compare(op, left, right) => {
                Condition::compare(*op, self.index(left), self.index(right))
            }
            Condition::And(list) => Condition::all(list.iter().map(|c| self.condition(c))),
            Condition::Or(list) => Condition::any(list.iter().map(|c| self.condition(c))),
        };
        if self.facts.imply(&folded) {
            Condition::TRUE
        } else if self.facts.imply(&folded.clone().negate()) {
            Condition::FALSE
        } else {
            folded
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Const(_) => value.clone(),
            Value::Load(buffer, index) => Value::Load(*buffer, self.index(index)),
            Value::FromIndex(index) => match self.index(index) {
                Index::Const(value) => Value::Const(value as f64),
                index => Value::FromIndex(index),
            },
            Value::Add(left, right) => self.value(left) + self.value(right),
            Value::Mul(left, right) => self.value(left) * self.value(right),
            Value::Div(left, right) => self.value(left) / self.value(right),
            Value::Min(left, right) => self.value(left).min(self.value(right)),
            Value::Max(left, right) => self.value(left).max(self.value(right)),
            Value::Truth(inside) => self.value(inside).truth(),
            Value::Apply(function, of) => {
                Value::apply(*function, of.iter().map(|one| self.value(one)).collect())
            }
            Value::Select(parts) => {
                let [condition, then, otherwise] = parts.each_ref().map(|part| self.value(part));
                Value::select(condition, then, otherwise)
            }
            Value::Compare(how, left, right) => {
                Value::compare(*how, self.value(left), self.value(right))
            }
            Value::Cast(element, inside) => Value::cast(*element, self.value(inside)),
            Value::Sum(sum) => self.sum(sum),
        }
    }

    fn sum(&mut self, sum: &Sum) -> Value {
        let (lower, upper) = self.bounds(&sum.lower, &sum.upper);
        let places = || {
            places(sum.var, |f| {
                sum.condition.iter().for_each(|condition| condition.visit(f));
                sum.body.visit_indices(f);
            })
        };
        let nothing = Value::Const(sum.kind.neutral());
        match trips(&lower, &upper, sum.step) {
            Trips::Empty => return nothing,
            Trips::One(value) if stays_small(&value, places()) => {
                let at = sum.condition.as_ref().map(|c| c.substitute(sum.var, &value));
                match at.map_or(Some(true), |condition| self.condition(&condition).as_bool()) {
                    Some(true) => return self.value(&sum.body.substitute(sum.var, &value)),
                    Some(false) => return nothing,
                    None => {}
                }
            }
            Trips::One(_) | Trips::Unknown => {}
        }
        let (condition, body) = self.under(
            |facts| facts.assume_range(sum.var, &lower, &upper),
            |fold| {
                let condition = sum.condition.as_ref().map(|condition| fold.condition(condition));
                condition.iter().for_each(|condition| fold.facts.assume(condition));
                (condition, fold.value(&sum.body))
            },
        );
        let decided = condition.as_ref().and_then(Condition::as_bool);
        if decided == Some(false) || body == nothing {
            return nothing;
        }
        let condition = if decided == Some(true) { None } else { condition };
        let fetch = sum.fetch.clone();
        Value::Sum(Box::new(Sum { lower, upper, condition, fetch, body, ..*sum }))
    }
}

/// Drops each element than which another is stronger; of equal ones the first stays.
fn retain_strongest(list: &mut Vec<Index>, weaker: impl Fn(&Index, &Index) -> bool) {
    let mut at = 0;
    while at < list.len() {
        let others = list.iter().enumerate().filter(|(other, _)| *other != at);
        let redundant = others.into_iter().any(|(other, strong)| {
            weaker(&list[at], strong) && (other < at || !weaker(strong, &list[at]))
        });
        if redundant {
            list.remove(at);
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tests::check;
    use expect_test::expect;

    fn fold(body: &str) -> String {
        check(&["fold"], body)
    }

    #[test]
    fn expressions() {
        expect![[r#"
              if N > 1 {
                C[N - 1] = A[0] + 6.0 * (A[0] * 0.0)
              }
              s[0] = index(6)
              s[1] += index(0)
        "#]].assert_eq(&fold(
            "if N > 1 { C[N * 1 + 0 - 1] = A[0] * 1.0 + 0.0 + index(2 * 3) * (A[0] * 0.0) C[0] += 0.0 }
             s[0] = index(2 * 3) s[1] += index(N - N)",
        ));
    }

    #[test]
    fn loops_and_conditions() {
        expect![[r#"
              for i = 0 to N {
                C[i] += 1.0
                C[i] += 2.0
              }
              for i = 0 to N {
                if i > 2 {
                  C[i] = 1.0
                }
              }
              for i = 1 to N {
                for j = i to N {
                  C[j] += 1.0
                }
              }
              if N >= 2 {
                C[0] = 1.0
              }
        "#]].assert_eq(&fold(
            "for i = 0 to N { for j = 0 to M { if N < N { C[i] = 1.0 } } }
             for i = N to N { C[i] = 1.0 }
             for i = 0 to N { for j = i to i + 1 { C[j] += 1.0 } for j = i to i + 2 step 2 { C[j] += 2.0 } }
             for i = 0 to N { if i < N and i >= 0 { if i > 2 { C[i] = 1.0 } } }
             for i = max(0, 1) to min(N, N + 1) { for j = max(0, i) to N { C[select(i <= j, j, i)] += 1.0 } }
             if N < 2 { } else { C[0] = 1.0 }",
        ));
    }

    #[test]
    fn sums() {
        expect![[r#"
              for i = 0 to N {
                C[i] = A[0] * 0.0
                C[i] = 0.0
                C[i] = sum(l = i to i + 1 if l < 3) 1.0
                C[i] = sum(l = 0 to N) index(l)
              }
        "#]]
        .assert_eq(&fold(
            "for i = 0 to N {
               C[i] = sum(l = i to i + 1) A[l * M - l * M] * 0.0 + sum(l = N to 0 - 1 + N) B[l]
               C[i] = sum(l = 0 to N) sum(m = l to N) 0.0
               C[i] = sum(l = i to i + 1 if l < 3) 1.0
               C[i] = sum(l = 0 to N if l >= 0) index(select(l < N, l, 0))
             }",
        ));
    }

    /// Lets of maxima and minima: substituted while that is small, kept where the last ones would have hundreds of
    /// operations.
    #[test]
    fn large_values_stay_variables() {
        let lets: String = (0..6)
            .map(|k| {
                let before = |c: &str| if k == 0 { c.to_string() } else { format!("{c}{}", k - 1) };
                let (a, b) = (before("i"), before("j"));
                format!(
                    "for i{k} = max({a}, {b}) to max({a}, {b}) + 1 {{ for j{k} = min({a}, {b} + i{k}) to min({a}, {b} \
                    + i{k}) + 1 {{ "
                )
            })
            .collect();
        let text = fold(&format!(
            "for i = 0 to N {{ for j = 0 to N {{ {lets} C[0] += index(i5 * j5 + j5) {} }} }}",
            "}}".repeat(6)
        ));
        assert!(text.len() < 3_000, "{} bytes: {text}", text.len());
        assert!(text.contains("for j4 = "), "{text}");
        assert!(!text.contains("for i0 = "), "{text}");
    }

    #[test]
    fn variables_that_cancel() {
        expect![[r#"
            for i = 0 to N {
              for j = 0 to N {
                C[j] += A[i] * A[min(i, j)]
              }
            }
        "#]].assert_eq(&fold(
            "for i = 0 to N { for j = 0 to N { C[j - i + i] += A[2 * j + i - j - j] * A[min(i + j - j, j)] } }",
        ));
    }

    #[test]
    fn products_of_ranges_are_bounds() {
        expect![[r#"
            for i = 0 to N {
              for j = 0 to M {
                C[0] += B[i * M + j]
              }
            }
            for i = 0 to N {
              for j = 0 to min(M, N * M - 2 * (M * i)) {
                C[0] += B[i * M + j] * 2.0
              }
            }
            for i = 0 to N {
              for j = 0 to M {
                C[0] += B[i * M + j]
              }
            }
            for i = -1 to N {
              for j = 0 to M {
                if 0 <= i * M + j {
                  C[0] += B[i * M + j]
                }
              }
            }
        "#]].assert_eq(&fold(
            "for i = 0 to N { for j = max(0, -1 * (i * M)) to min(M, N * M - M * i) { C[0] += B[i * M + j] * 1.0 } }
             for i = 0 to N { for j = 0 to min(M, N * M - 2 * (M * i)) { C[0] += B[i * M + j] * 2.0 } }
             for i = 0 to N { for j = 0 to M { if i * M + j < M * N and 0 <= M * i { C[0] += B[i * M + j] * 1.0 } } }
             for i = -1 to N { for j = 0 to M { if 0 <= i * M + j { C[0] += B[i * M + j] * 1.0 } } }",
        ));
    }
}
