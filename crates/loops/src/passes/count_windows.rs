//! Counts the iterations of loops whose conditions leave windows of a period, so that no others are visited.
//!
//! Of a matrix in which two of four columns are stored, neighbours in memory are counted, and a loop that visits all
//! columns asks of each whether it is one of them. Where each access is linear in how many columns of windows came
//! before, that is counted:
//!
//! `for k = 0 to N { if k % 4 <= 1 { C[i] += A[N * i + k - 2 * (k / 4)] } }` ->
//! `for ks = 0 to 2 * (N / 4) + min(N % 4, 2) { C[i] += A[N * i + ks] }`
//!
//! Elsewhere there is a loop over periods around one over a window:
//!
//! `for k = 0 to N { if k % 4 <= 1 { C[i] += A[N * i + k] } }` ->
//! `for ks = 0 to (N + 3) / 4 { for kr = 0 to min(2, N - 4 * ks) { C[i] += A[N * i + 4 * ks + kr] } }`

use crate::ir::*;
use crate::linear::{Linear, differences, reduced};
use crate::polynomial::Polynomial;

pub(super) fn run(function: &mut Function, _: &[Buffer]) {
    let mut body = std::mem::take(&mut function.body);
    block(&mut body, function);
    function.body = body;
}

fn block(body: &mut [Stmt], function: &mut Function) {
    for stmt in body {
        stmt.bodies_mut().into_iter().for_each(|body| block(body, function));
        if let Stmt::For(inner) = stmt
            && let Some(counted) = counted(inner, function)
        {
            *stmt = counted;
        }
    }
}

/// The values of a variable that are left: those with a remainder within a window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    period: i64,
    /// The first remainder.
    first: i64,
    /// How many remainders there are, at least one and less than the period.
    width: i64,
}

impl Window {
    /// The window of a variable that some of a list of conditions are, and the others.
    fn of(var: VarId, conditions: Vec<Condition>) -> Option<(Window, Vec<Condition>)> {
        let mut found: Option<(i64, i64, i64)> = None;
        let mut others = Vec::new();
        for condition in conditions {
            let bounds = bounds(&condition, var);
            let same = |period| found.is_none_or(|(known, ..)| known == period);
            match bounds.filter(|(period, ..)| same(*period)) {
                Some((period, low, high)) => {
                    let (_, first, last) = found.unwrap_or((period, 0, period - 1));
                    found = Some((period, first.max(low), last.min(high)));
                }
                None => others.push(condition),
            }
        }
        let (period, first, last) = found?;
        let width = last - first + 1;
        (1..period).contains(&width).then_some((Window { period, first, width }, others))
    }

    /// How many values there are from 0 to a bound.
    fn before(self, bound: &Index) -> Index {
        let Window { period, first, width } = self;
        if width == 1 {
            return (bound.clone() + (period - 1 - first)).floor_div(period);
        }
        let beyond = bound.clone().modulo(period) - first;
        let beyond = if first == 0 { beyond } else { beyond.max(0.into()) };
        bound.clone().floor_div(period) * width + beyond.min(width.into())
    }
}

/// What a condition says of the remainder of a variable: the period, the smallest and the largest.
fn bounds(condition: &Condition, var: VarId) -> Option<(i64, i64, i64)> {
    let Condition::Compare(op, left, right) = condition else { return None };
    let mut found: Option<(i64, i64, i64)> = None;
    for difference in differences(*op, left, right) {
        let (atom, coefficient, constant) = difference?.as_one()?;
        let Index::Mod(value, period) = atom else { return None };
        if *value != Index::Var(var) || found.is_some_and(|(known, ..)| known != period) {
            return None;
        }
        let (_, low, high) = found.unwrap_or((period, 0, period - 1));
        found = Some(match coefficient {
            1 => (period, low.max(constant.checked_neg()?), high),
            -1 => (period, low, high.min(constant)),
            _ => return None,
        });
    }
    found
}

/// The loop that a loop over windows is.
fn counted(inner: &For, function: &mut Function) -> Option<Stmt> {
    let [Stmt::If(only)] = &inner.body[..] else { return None };
    let scheduled = function.hints.get(inner.var).scheduled;
    if !only.otherwise.is_empty() || inner.step != 1 || scheduled || !is_plain(&only.then) {
        return None;
    }
    let (window, rest) = Window::of(inner.var, only.condition.clone().conjuncts())?;
    let mut body = only.then.clone();
    if !rest.is_empty() {
        body = vec![Stmt::when(Condition::all(rest), body)];
    }
    let Window { period, first, width } = window;
    let (periods, within) =
        (function.fresh_like(inner.var, "s"), function.fresh_like(inner.var, "r"));
    let value = Index::Var(periods) * period + Index::Var(within) + first;
    let known = |index: &Index| of_window(&reduced(index), within, window).rebuild(&Index::clone);
    each_index(&mut body, &mut |index| known(&index.substitute(inner.var, &value)));
    let mut linear = true;
    each_index(&mut body.clone(), &mut |index| {
        linear &= is_linear(index, (periods, within), width);
        index.clone()
    });
    let mark = inner.mark;
    let bounds = |of: &dyn Fn(&Index) -> Index, list: &[Index]| list.iter().map(of).collect();
    if linear || width == 1 {
        let here = Index::Var(periods);
        each_index(&mut body, &mut |index| match width {
            1 => index.substitute(within, &0.into()),
            _ => index.substitute(periods, &0.into()).substitute(within, &here),
        });
        let before = |bound: &Index| window.before(bound);
        let (lower, upper) = (bounds(&before, &inner.lower), bounds(&before, &inner.upper));
        return Some(Stmt::For(For { var: periods, lower, upper, step: 1, mark, body }));
    }
    // `period * periods + first + within` is from the lower bounds on, and below the upper ones.
    let start = Index::Var(periods) * period + first;
    let mut low: Vec<Index> = vec![0.into()];
    let others = inner.lower.iter().filter(|bound| bound.as_const() != Some(0));
    low.extend(others.map(|bound| bound.clone() - start.clone()));
    let mut high: Vec<Index> = vec![width.into()];
    high.extend(inner.upper.iter().map(|bound| bound.clone() - start.clone()));
    let body = vec![Stmt::For(For { var: within, lower: low, upper: high, step: 1, mark, body })];
    let begin = |bound: &Index| (bound.clone() - first - width + period).floor_div(period);
    let end = |bound: &Index| (bound.clone() - first + (period - 1)).floor_div(period);
    let (lower, upper) = (bounds(&begin, &inner.lower), bounds(&end, &inner.upper));
    Some(Stmt::For(For { var: periods, lower, upper, step: 1, mark, body }))
}

/// Whether statements are loops, conditions and stores alone.
fn is_plain(body: &[Stmt]) -> bool {
    let mut plain = true;
    let check = &mut |stmt: &Stmt| {
        plain &= matches!(stmt, Stmt::For(_) | Stmt::If(_) | Stmt::Store(_));
    };
    body.iter().for_each(|stmt| stmt.visit(check));
    plain
}

/// Replaces all integer expressions of statements.
fn each_index(body: &mut [Stmt], f: &mut dyn FnMut(&Index) -> Index) {
    for stmt in body {
        stmt.map_indices(f);
        stmt.bodies_mut().into_iter().for_each(|body| each_index(body, f));
    }
}

/// An expression with what is known of remainders in a window.
fn of_window(index: &Index, within: VarId, window: Window) -> Index {
    let index = index.map_parts(&mut |part| of_window(part, within, window));
    let least = |value: &Index| {
        let (atom, coefficient, constant) = Linear::of(value)?.as_one()?;
        (atom == Index::Var(within) && coefficient == 1 && constant >= 0).then_some(constant)
    };
    match &index {
        Index::FloorDiv(value, by) | Index::Mod(value, by) => {
            let inside = least(value).is_some_and(|first| first + window.width <= *by);
            match (inside, matches!(index, Index::Mod(..))) {
                (true, true) => (**value).clone(),
                (true, false) => 0.into(),
                (false, _) => index,
            }
        }
        _ => index,
    }
}

/// Whether an expression goes on from one window to the next as it does within one.
fn is_linear(index: &Index, (periods, within): (VarId, VarId), width: i64) -> bool {
    let strides = || {
        let (outer, inner) = (index.stride(periods)?, index.stride(within)?);
        Polynomial::of(&outer)?.plus(&Polynomial::of(&inner)?, -width)
    };
    strides().is_some_and(|difference| difference.is_zero())
}

#[cfg(test)]
mod tests {
    use crate::passes::tests::check;

    #[test]
    fn windows_are_counted() {
        expect_test::expect![[r#"
            for i = 0 to N {
              for ks = 0 to N / 4 * 2 + min(N % 4, 2) {
                A[i * N + ks] += C[ks]
              }
            }
            for i = 0 to N {
              for ks = 0 to (N + 3) / 4 {
                for kr = 0 to min(2, N - ks * 4) {
                  A[i * N + (ks * 4 + kr)] += C[ks * 4 + kr - 2 * ks]
                }
              }
            }
            for i = 0 to N {
              for ks = (i + 1) / 5 to (N + 3) / 5 {
                for kr = max(0, i - (ks * 5 + 1)) to min(3, N - (ks * 5 + 1)) {
                  if ks * 5 + kr + 1 < M {
                    A[ks * 5 + kr - 2 * ks] += C[i]
                  }
                }
              }
            }
            for ks = 0 to min((N + 1) / 3, (M + 1) / 3) {
              for kr = max(0, 2 - (ks * 3 + 1)) to min(2, N - (ks * 3 + 1), M - (ks * 3 + 1)) {
                C[ks * 3 + kr + 1] += 1.0
              }
            }
            for ks = 0 to (N + 1) / 3 {
              C[ks * 3 + 1] += 2.0
            }
            for k = 0 to N {
              if k % 3 <= 2 {
                C[k] += 3.0
              }
            }
            for ks = 0 to (N + 2) / 3 {
              for kr = 0 to min(2, N - ks * 3) {
                if (3 * ks + kr) % 2 < 1 {
                  C[ks * 3 + kr] += 4.0
                }
              }
            }
        "#]].assert_eq(&check(
            &["count-windows"],
            "for i = 0 to N { for k = 0 to N { if k % 4 <= 1 { A[i * N + k - 2 * (k / 4)] += C[k - 2 * (k / 4)] } } }
             for i = 0 to N { for k = 0 to N { if k % 4 <= 1 { A[i * N + k] += C[k - 2 * (k / 4)] } } }
             for i = 0 to N { for k = i to N {
                 if 1 <= k % 5 and k % 5 < 4 and k < M { A[k - 1 - 2 * (k / 5)] += C[i] }
             } }
             for k = 2 to min(N, M) { if 1 <= k % 3 { C[k] += 1.0 } }
             for k = 0 to N { if k % 3 == 1 { C[k] += 2.0 } }
             for k = 0 to N { if k % 3 <= 2 { C[k] += 3.0 } }
             for k = 0 to N { if k % 3 <= 1 and k % 2 < 1 { C[k] += 4.0 } }",
        ));
    }
}
