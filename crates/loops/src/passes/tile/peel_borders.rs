//! Border peeling: nests whose windows reach beyond an operand's ends are cut into what is near the ends and the rest.
//!
//! A window that slides over an operand is cut off at both ends, so that each element's sum has a range of its own, and
//! no vector of elements has one in common. Away from the ends all windows are whole.
//!
//! Before -> after:
//! ```text
//! parallel p = 0 to N { o[p] = sum(r = max(0, 2 - p) to min(5, N + 2 - p)) x[p + r - 2] * f[r] }
//! ```
//! becomes
//! ```text
//! parallel p = 0 to min(N, 2) { o[p] = sum(r = max(0, 2 - p) to min(5, N + 2 - p)) x[p + r - 2] * f[r] }
//! parallel p = 2 to min(N, N - 2) { o[p] = sum(r = 0 to 5) x[p + r - 2] * f[r] }
//! parallel p = max(2, N - 2) to N { o[p] = sum(r = max(0, 2 - p) to min(5, N + 2 - p)) x[p + r - 2] * f[r] }
//! ```

use super::nest::Nest;
use super::walk::each_nest;
use crate::ir::*;
use crate::linear::{bounds_of, flatten_max, flatten_min};
use crate::passes::Context;

/// Windows move by so many of their steps, or have steps of so many elements.
const MOST_STRIDES: i64 = 4;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_nest(module, context, |walk, nest| {
        if nest.is_scheduled(&walk.function.hints) {
            return None;
        }
        let (mut borders, mut middle) = (Vec::new(), nest.clone());
        for at in (0..nest.levels.len()).rev() {
            if let Some((around, inner)) = peeled(&middle, at) {
                borders.extend(around);
                middle = inner;
            }
        }
        if borders.is_empty() {
            return None;
        }
        borders.push(middle);
        Some(borders.iter().flat_map(Nest::statements).collect())
    });
}

/// What a nest is near the ends of a loop, and what it is in the middle, where windows are whole.
fn peeled(nest: &Nest, at: usize) -> Option<(Vec<Nest>, Nest)> {
    let var = nest.levels[at].var;
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    // Where a loop begins and ends is decided before the loops and the sums inside of it.
    let mut inside: Vec<VarId> = nest.levels[at..].iter().map(|level| level.var).collect();
    nest.store.value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            inside.push(sum.var);
            for (lowers, uppers) in Window::of(sum, var).iter().flat_map(|window| window.whole(var))
            {
                extend(&mut lower, lowers);
                extend(&mut upper, uppers);
            }
        }
    });
    let mut bounds = lower.iter().chain(&upper);
    if bounds.any(|bound| inside.iter().any(|var| bound.mentions(*var))) {
        return None;
    }
    let with = |lower: Vec<Index>, upper: Vec<Index>| {
        let mut nest = nest.clone();
        extend(&mut nest.levels[at].lower, lower);
        extend(&mut nest.levels[at].upper, upper);
        nest
    };
    let begin = lower.iter().cloned().reduce(Index::max);
    let end = upper.iter().cloned().reduce(Index::min);
    let before = begin.iter().map(|begin| with(Vec::new(), vec![begin.clone()]));
    let after = end.iter().map(|end| {
        let from = begin.iter().cloned().chain([end.clone()]);
        with(from.collect(), Vec::new())
    });
    let around: Vec<Nest> = before.chain(after).collect();
    if around.is_empty() {
        return None;
    }
    let mut middle = with(lower, upper);
    middle.store.value = nest.store.value.map_sums(&|mut sum| {
        if let Some(window) = Window::of(&sum, var) {
            (sum.lower, sum.upper) = (window.lower.own, window.upper.own);
        }
        Value::Sum(Box::new(sum))
    });
    Some((around, middle))
}

/// Adds bounds that a list does not have.
fn extend(list: &mut Vec<Index>, more: Vec<Index>) {
    for bound in more {
        if !list.contains(&bound) {
            list.push(bound);
        }
    }
}

/// Bounds of a sum's range on one side.
struct Side {
    /// Those of the window itself.
    own: Vec<Index>,
    /// Those that cut it off, which vary with a loop.
    cut: Vec<Index>,
}

/// The range of a sum over a window.
struct Window {
    lower: Side,
    upper: Side,
}

impl Window {
    /// The bounds on a loop's variable of where the window is whole.
    fn whole(&self, var: VarId) -> impl Iterator<Item = (Vec<Index>, Vec<Index>)> {
        let Window { lower, upper } = self;
        let before = lower.cut.iter().map(|cut| cut.clone().at_most(lower.own[0].clone()));
        let after = upper.cut.iter().map(|cut| upper.own[0].clone().at_most(cut.clone()));
        before.chain(after).filter_map(move |condition| bounds_of(&condition, var))
    }

    /// The window that a sum is over, if its bounds that vary with a loop's variable only cut off windows that slide
    /// with it: an operand is read at the sum of both variables, or at their difference.
    fn of(sum: &Sum, var: VarId) -> Option<Window> {
        if sum.step != 1 || sum.condition.is_some() || !slides(sum, var) {
            return None;
        }
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        sum.lower.iter().for_each(|bound| flatten_max(bound, &mut lower));
        sum.upper.iter().for_each(|bound| flatten_min(bound, &mut upper));
        let side = |bounds: Vec<Index>| {
            let (cut, own) = bounds.into_iter().partition(|bound| bound.mentions(var));
            Side { own, cut }
        };
        let (lower, upper) = (side(lower), side(upper));
        let cuts = || lower.cut.iter().chain(&upper.cut);
        let strides: Option<Vec<i64>> = cuts().map(|bound| bound.constant_stride(var)).collect();
        let strides = strides?;
        // Windows of any extent are whole somewhere only if it is them that move, not what they are cut off by.
        let few = upper.own.first()?.constant_difference(lower.own.first()?).is_some();
        let moves = few || strides.iter().all(|by| *by <= 0);
        (moves && !strides.is_empty()).then_some(Window { lower, upper })
    }
}

/// Whether an operand of a sum is read at places that move alike with a loop and with the sum.
fn slides(sum: &Sum, var: VarId) -> bool {
    let mut slides = false;
    sum.body.visit(&mut |value| {
        if let Value::Load(_, index) = value {
            let strides = (index.stride(var), index.stride(sum.var));
            let (Some(one), Some(other)) = strides else { return };
            slides |= match (one.as_const(), other.as_const()) {
                (Some(one), Some(other)) => {
                    let (one, other) = (one.abs(), other.abs());
                    one > 0 && other > 0 && one.max(other) <= one.min(other) * MOST_STRIDES
                }
                _ => one.constant_difference(&other) == Some(0),
            };
        }
    });
    slides
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn windows_in_the_middle_are_whole() {
        expect_test::expect![[r#"
            parallel p = 0 to min(N, 2) {
              A[p] = sum(r = max(0, 2 - p) to min(5, N + 2 - p)) B[p + r - 2] * C[r]
            }
            parallel p = max(0, 2, N - 2) to N {
              A[p] = sum(r = max(0, 2 - p) to min(5, N + 2 - p)) B[p + r - 2] * C[r]
            }
            parallel p = max(0, 2) to min(N, N - 2) {
              A[p] = sum(r = 0 to 5) B[p + r - 2] * C[r]
            }
            parallel i = 0 to N {
              parallel j = 0 to min(N, 1) {
                A[N * i + j] = sum(r = max(0, 1 - i) to min(3, N + 1 - i)) sum(s = max(0, 1 - j) to min(3, N + 1 - j)) B[N * i + N * r + j + s] * C[3 * r + s]
              }
            }
            parallel i = 0 to N {
              parallel j = max(0, 1, N - 1) to N {
                A[N * i + j] = sum(r = max(0, 1 - i) to min(3, N + 1 - i)) sum(s = max(0, 1 - j) to min(3, N + 1 - j)) B[N * i + N * r + j + s] * C[3 * r + s]
              }
            }
            parallel i = 0 to min(N, 1) {
              parallel j = max(0, 1) to min(N, N - 1) {
                A[N * i + j] = sum(r = max(0, 1 - i) to min(3, N + 1 - i)) sum(s = 0 to 3) B[N * i + N * r + j + s] * C[3 * r + s]
              }
            }
            parallel i = max(0, 1, N - 1) to N {
              parallel j = max(0, 1) to min(N, N - 1) {
                A[N * i + j] = sum(r = max(0, 1 - i) to min(3, N + 1 - i)) sum(s = 0 to 3) B[N * i + N * r + j + s] * C[3 * r + s]
              }
            }
            parallel i = max(0, 1) to min(N, N - 1) {
              parallel j = max(0, 1) to min(N, N - 1) {
                A[N * i + j] = sum(r = 0 to 3) sum(s = 0 to 3) B[N * i + N * r + j + s] * C[3 * r + s]
              }
            }
        "#]].assert_eq(&pieces(
            "peel-borders",
            "parallel p = 0 to N { A[p] = sum(r = max(0, 2 - p) to min(5, N + 2 - p)) B[p + r - 2] * C[r] } \
             parallel i = 0 to N { parallel j = 0 to N { \
             A[N * i + j] = sum(r = max(0, 1 - i) to min(3, N + 1 - i)) sum(s = max(0, 1 - j) to min(3, N + 1 - j)) \
             B[N * i + N * r + j + s] * C[3 * r + s] } }",
        ));
        // Where windows are whole from an inner loop's iteration on, the loop outside is not cut.
        let both = "parallel i = 1 to N { parallel j = max(0, i - 4) to i { A[N * i + j] += \
             sum(k = max(i - 2, j) to min(i, j + 3)) B[2 * k + i + 4] * C[30 * j + k] } }";
        assert!(!pieces("peel-borders", both).contains("j + 3) {"));
        // A band's rows are as long as its operand's, but for what is cut off.
        let band = "parallel i = 0 to N { A[i] = sum(k = max(0, i - 3) to min(N, i + 4)) B[i - k + 3] * C[k] }";
        assert!(!pieces("peel-borders", band).contains("parallel i = 3"));
    }
}
