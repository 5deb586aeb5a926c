//! Loops over elements become loops over diagonals, where all tensors are stored by diagonals.
//!
//! Where several iterators grow together, all elements that are loaded and stored are neighbours in memory, or the same
//! one; where only one of them grows, they are not. With the differences of these iterators as loops, and with one of
//! the iterators as the innermost loop, elements can be in lanes. Conditions of pieces, which compare iterators with
//! each other, then depend on the differences alone.
//!
//! Before -> after, of bands that are stored by diagonals, `p(d)`, `q(d)` and `r(d)` for what varies with diagonals
//! only: `i { j { C[i * j + ..] = sum(k = max(i, j) - 20 to ..) A[i * k + ..] * B[k * j + ..] } }` ->
//! `jd = -40 to 41 { i = max(0, -1 * jd) to .. { C[p(jd) + i] = sum(kd = max(jd, 0) - 20 to ..) A[q(kd) + i] *
//! B[r(jd - kd) + (i + kd)] } }`, inside of a loop over blocks of `i`, in which all diagonals stay in the cache.

use super::few::MANY;
use super::guarded::{Guarded, canonical, guarded};
use super::nest::{Level, Nest};
use super::undecided::Known;
use super::walk::each_statement;
use crate::ir::*;
use crate::linear::{Facts, Linear, flatten_max, flatten_min};
use crate::machine::Machine;
use crate::passes::Context;
use crate::passes::polyhedra::products::not_negative;
use crate::passes::polyhedra::scan::{self, Range, scan};
use crate::polynomial::Polynomial;

/// The most iterators of a nest whose directions are tried.
const ITERATORS: usize = 6;

/// How many diagonals a sum is taken to have if that is not known.
const DIAGONALS: i64 = 64;

/// Sizes from which on a tensor has no pieces that only small ones have.
const LARGE: i64 = 1024;

/// The most elements near an end of a diagonal that are computed one by one.
const EDGE: i64 = 256;

/// The most elements of a block.
const MOST: i64 = 4096;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_statement(module, context, |walk, stmt| {
        let Guarded { mut guards, nest, .. } =
            Guarded::of(stmt).filter(|_| walk.statements <= MANY)?;
        if nest.is_scheduled(&walk.function.hints) {
            return None;
        }
        let direction = direction(&nest)?;
        let known = walk.function.vars.len();
        let Some(blocks) = along(&nest, &direction, walk.machine, walk.function) else {
            walk.function.vars.truncate(known);
            return None;
        };
        guards.extend(blocks.around);
        Some(guarded(guards, blocks.statements))
    });
}

/// The iterators that grow together so that all that is loaded are neighbours, and what is stored too, if possible.
/// None if they are neighbours where one loop's iterator grows alone.
fn direction(nest: &Nest) -> Option<Vec<VarId>> {
    let loops: Vec<VarId> = nest.levels.iter().map(|level| level.var).collect();
    let mut sums = Vec::new();
    let mut plain = true;
    nest.store.value.visit(&mut |value| match value {
        Value::Sum(sum) => {
            plain &= sum.step == 1 && sum.condition.is_none();
            sums.push(sum.var);
        }
        Value::FromIndex(index) => plain &= index.free_vars().is_empty(),
        _ => {}
    });
    let vars = [&loops[..], &sums[..]].concat();
    if !plain || sums.is_empty() || loops.len() < 2 || vars.len() > ITERATORS {
        return None;
    }
    let store = of_large_sizes(nest)?;
    let mut places = Vec::new();
    store.value.visit(&mut |value| {
        if let Value::Load(_, index) = value {
            places.push(index);
        }
    });
    let moves = |direction: &[VarId]| {
        stride(&store.index, direction).is_some()
            && places.iter().all(|place| matches!(stride(place, direction), Some(0 | 1)))
    };
    if loops.iter().any(|var| moves(&[*var])) {
        return None;
    }
    let subsets = 1u32..1 << vars.len();
    let directions = subsets.map(|bits| {
        let bit = |at: &usize| bits >> at & 1 == 1;
        (0..vars.len()).filter(bit).map(|at| vars[at]).collect::<Vec<VarId>>()
    });
    let together = |direction: &[VarId]| loops.iter().filter(|var| direction.contains(var)).count();
    let mut found = directions.filter(|one| together(one) > 1 && moves(one)).collect::<Vec<_>>();
    found.sort_by_key(|one| stride(&store.index, one) != Some(1));
    found.into_iter().next()
}

/// The store of a nest without the pieces that only small sizes have.
fn of_large_sizes(nest: &Nest) -> Option<Store> {
    let mut known = Known::default();
    let mut symbols = Vec::new();
    nest.store.value.visit_indices(&mut |index| {
        index.visit(&mut |index| {
            if matches!(index, Index::Symbol(_)) && !symbols.contains(index) {
                symbols.push(index.clone());
            }
        });
    });
    let large = |symbol| Condition::compare(Compare::Ge, symbol, Index::Const(LARGE));
    symbols.into_iter().for_each(|symbol| known.facts.assume(&large(symbol)));
    known.reduced(&nest.levels, &nest.store).map(|(_, store)| store)
}

/// By how much a place moves where these iterators grow by one, if that is the same in all of its pieces.
fn stride(place: &Index, direction: &[VarId]) -> Option<i64> {
    match place {
        Index::Select(_, then, otherwise) => {
            let (then, otherwise) = (stride(then, direction)?, stride(otherwise, direction)?);
            (then == otherwise).then_some(then)
        }
        piece => {
            let next = piece.rebuild(&|leaf| match leaf {
                Index::Var(var) if direction.contains(var) => leaf.clone() + 1,
                leaf => leaf.clone(),
            });
            let grown = Polynomial::of(&next)?.plus(&Polynomial::of(piece)?, -1)?;
            Linear::of(&grown.to_index(&[]))?.as_const()
        }
    }
}

/// Blocks of elements along a direction.
struct Blocks {
    /// What holds where there are elements.
    around: Vec<Condition>,
    statements: Vec<Stmt>,
}

/// The nest along a direction.
fn along(
    nest: &Nest,
    direction: &[VarId],
    machine: &Machine,
    function: &mut Function,
) -> Option<Blocks> {
    let pivot = nest.levels.iter().map(|level| level.var).find(|var| direction.contains(var))?;
    let others = direction.iter().filter(|var| **var != pivot);
    let moved = others.map(|var| (*var, function.fresh_like(*var, "d"))).collect();
    let (block, edge) = (function.fresh_like(pivot, "b"), function.fresh_like(pivot, "e"));
    let mut skew = Skew { pivot, moved, order: Vec::new() };
    let (apart, together): (Vec<VarId>, Vec<VarId>) =
        nest.levels.iter().map(|level| level.var).partition(|var| !direction.contains(var));
    let inner = together.iter().filter(|var| **var != pivot).map(|var| skew.renamed(*var));
    let inner: Vec<VarId> = inner.chain([pivot]).collect();
    skew.order = [&apart[..], &[block], &inner[..]].concat();
    let mut domain = Vec::new();
    for level in &nest.levels {
        let mut conditions = Vec::new();
        level.conditions(&mut conditions);
        for condition in conditions {
            not_negative(&skew.condition(&condition), &mut domain)?;
        }
    }
    let store = Store {
        index: skew.place(&nest.store.index),
        value: skew.value(&nest.store.value)?,
        ..nest.store.clone()
    };
    // Where blocks are: the elements without the differences.
    let outer = [&apart[..], &[pivot], &inner[..inner.len() - 1]].concat();
    let all = scan(&domain, &outer)?;
    let ranges: Vec<_> = all.bounded().collect();
    let around = all.around.iter().map(scan::not_negative).collect();
    let size = size(&store.value, machine);
    let (first, place) = (Index::Var(block), Index::Var(pivot));
    domain.push(place.clone() - first.clone());
    domain.push(first + (size - 1) - place);
    let within = scan(&domain, &skew.order)?;
    let inside = inner.iter().zip(within.bounded().skip(apart.len() + 1));
    let level = |(var, range): (&VarId, Range)| {
        let Range { lower, upper } = range;
        Level { var: *var, lower, upper }
    };
    let inside: Vec<Level> = inside.map(level).collect();
    let of_blocks = ranges.get(apart.len())?.clone();
    function.hints.update(edge, |hint| (hint.unroll, hint.vectorize) = (Some(1), Some(false)));
    let body = elements(&inside, store, edge);
    let (lower, upper) = (of_blocks.lower, of_blocks.upper);
    let (step, mark) = (size, Mark::THREADS);
    let blocks = Stmt::For(For { var: block, lower, upper, step, mark, body });
    let apart: Vec<Level> = apart.iter().zip(ranges).map(level).collect();
    Some(Blocks { around, statements: Nest::wrapped(&apart, vec![blocks]) })
}

/// The elements of a block: those whose sums begin and end where those of their neighbours do, and before and after
/// them the others, one by one, if they are few. These have a variable of their own, `edge`.
fn elements(levels: &[Level], store: Store, edge: VarId) -> Vec<Stmt> {
    let common = levels.last().and_then(|pivot| Common::of(&store.value, pivot));
    let Some(Common { from, to, value }) = common else {
        return Nest::wrapped(levels, vec![Stmt::Store(store)]);
    };
    let part = |lower: &[Index], upper: &[Index]| {
        let mut levels = levels.to_vec();
        if let Some(last) = levels.last_mut() {
            last.lower.extend_from_slice(lower);
            last.upper.extend_from_slice(upper);
        }
        levels
    };
    let alone = |mut levels: Vec<Level>| {
        let mut store = store.clone();
        if let Some(last) = levels.last_mut() {
            let by = Index::Var(edge);
            store.index = store.index.substitute(last.var, &by);
            store.value = store.value.substitute(last.var, &by);
            last.var = edge;
        }
        Nest::wrapped(&levels, vec![Stmt::Store(store)])
    };
    let same = Store { value, ..store.clone() };
    let mut parts = Nest::wrapped(&part(&from, &to), vec![Stmt::Store(same)]);
    if let Some(first) = from.iter().cloned().reduce(Index::max) {
        parts.extend(alone(part(&[], &[first])));
    }
    if let Some(end) = to.iter().cloned().reduce(Index::min) {
        parts.extend(alone(part(&[&[end], &from[..]].concat(), &[])));
    }
    parts
}

/// The elements along a diagonal whose sums have the same bounds.
struct Common {
    /// The largest of these is the first of them: none where they begin with the diagonal.
    from: Vec<Index>,
    /// The smallest of these is their end.
    to: Vec<Index>,
    /// What is computed for them.
    value: Value,
}

impl Common {
    /// None if no bound moves along the diagonal, or if it does so for more than some elements near the ends.
    fn of(value: &Value, pivot: &Level) -> Option<Common> {
        let mut common = Common { from: Vec::new(), to: Vec::new(), value: Value::Const(0.0) };
        common.value = common.without(value, pivot.var)?;
        let few = |high: &Index, low: &Index| {
            high.constant_difference(low).is_some_and(|number| number <= EDGE)
        };
        let first = common.from.iter().all(|from| pivot.lower.iter().any(|low| few(from, low)));
        let last = common.to.iter().all(|to| pivot.upper.iter().any(|high| few(high, to)));
        let some = !common.from.is_empty() || !common.to.is_empty();
        (some && first && last).then_some(common)
    }

    /// A value without the bounds that move.
    fn without(&mut self, value: &Value, pivot: VarId) -> Option<Value> {
        match value {
            Value::Sum(sum) => {
                let lower = self.fixed(&sum.lower, pivot, 1)?;
                let upper = self.fixed(&sum.upper, pivot, -1)?;
                let body = self.without(&sum.body, pivot)?;
                Some(Value::Sum(Box::new(Sum { lower, upper, body, ..(**sum).clone() })))
            }
            other => other.try_map_parts(&mut |part| self.without(part, pivot)),
        }
    }

    /// The bounds that do not move, where the others are never beyond them: a lower one is beyond another if it is
    /// larger (`by` is 1), an upper one if it is smaller (-1).
    fn fixed(&mut self, bounds: &[Index], pivot: VarId, by: i64) -> Option<Vec<Index>> {
        let (moving, fixed): (Vec<Index>, Vec<Index>) =
            bounds.iter().cloned().partition(|bound| bound.mentions(pivot));
        for bound in moving {
            // `coefficient * i + rest` is how far the bound is beyond a fixed one: no farther than it, where that is
            // not positive.
            let apart = fixed.iter().find_map(|other| {
                let difference = match by {
                    1 => Linear::difference(&bound, other, 0)?,
                    _ => Linear::difference(other, &bound, 0)?,
                };
                let (coefficient, rest) = difference.isolate(pivot)?;
                (coefficient.abs() == 1).then(|| (coefficient, rest.to_index()))
            });
            match apart? {
                (-1, rest) => self.from.push(rest),
                (_, rest) => self.to.push(Index::Const(1) - rest),
            }
        }
        Some(fixed)
    }
}

/// How many elements of a diagonal are a block: so many that the diagonals that a sum runs over stay in the first
/// cache, but as many as registers hold.
fn size(value: &Value, machine: &Machine) -> i64 {
    let mut bytes = 0;
    value.visit(&mut |value| {
        let Value::Sum(sum) = value else { return };
        let pairs = sum.lower.iter().flat_map(|low| sum.upper.iter().map(move |high| (low, high)));
        let known = pairs.filter_map(|(low, high)| high.constant_difference(low)).min();
        let mut loads = 0;
        sum.body.visit(&mut |value| loads += i64::from(matches!(value, Value::Load(..))));
        bytes += known.unwrap_or(DIAGONALS).max(1) * loads * 8;
    });
    let least = machine.vector_bytes;
    (machine.l1 / bytes.max(1) / least * least).clamp(least, MOST)
}

/// Iterators as sums of one of them and of what they are apart.
struct Skew {
    /// The iterator that stays.
    pivot: VarId,
    /// Others, and their differences from it.
    moved: Vec<(VarId, VarId)>,
    /// The new loops, the outermost first.
    order: Vec<VarId>,
}

impl Skew {
    fn renamed(&self, var: VarId) -> VarId {
        self.moved.iter().find(|(old, _)| *old == var).map_or(var, |(_, new)| *new)
    }

    fn index(&self, index: &Index) -> Index {
        index.rebuild(&|leaf| match leaf {
            Index::Var(var) if self.renamed(*var) != *var => {
                Index::Var(self.pivot) + Index::Var(self.renamed(*var))
            }
            leaf => leaf.clone(),
        })
    }

    fn condition(&self, condition: &Condition) -> Condition {
        match condition {
            Condition::Compare(how, left, right) => {
                canonical(Condition::compare(*how, self.index(left), self.index(right)))
            }
            Condition::And(list) => Condition::all(list.iter().map(|one| self.condition(one))),
            Condition::Or(list) => Condition::any(list.iter().map(|one| self.condition(one))),
        }
    }

    /// A place with polynomials in the new order of iterators.
    fn place(&self, index: &Index) -> Index {
        match index {
            Index::Select(condition, then, otherwise) => {
                Index::select(self.condition(condition), self.place(then), self.place(otherwise))
            }
            piece => {
                let piece = self.index(piece);
                let mut order = self.order.clone();
                order.extend(piece.free_vars().into_iter().filter(|var| !self.order.contains(var)));
                Polynomial::of(&piece).map_or(piece, |polynomial| polynomial.to_index(&order))
            }
        }
    }

    fn value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Load(buffer, index) => Some(Value::Load(*buffer, self.place(index))),
            Value::Sum(sum) => {
                let var = self.renamed(sum.var);
                let (mut lower, mut upper) = (Vec::new(), Vec::new());
                sum.lower.iter().for_each(|bound| flatten_max(bound, &mut lower));
                sum.upper.iter().for_each(|bound| flatten_min(bound, &mut upper));
                let bound = |bound: &Index| {
                    let bound = self.index(bound);
                    let bound = match var == sum.var {
                        true => bound,
                        false => bound - Index::Var(self.pivot),
                    };
                    Linear::of(&bound).map(|linear| linear.to_index())
                };
                let bounds = |list: Vec<Index>| list.iter().map(bound).collect::<Option<Vec<_>>>();
                let known = Facts::default();
                Some(Value::Sum(Box::new(Sum {
                    var,
                    lower: scan::largest(bounds(lower)?, &known),
                    upper: scan::smallest(bounds(upper)?, &known),
                    body: self.value(&sum.body)?,
                    ..(**sum).clone()
                })))
            }
            Value::FromIndex(_) => Some(value.clone()),
            other => other.try_map_parts(&mut |part| self.value(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::pieces;

    #[test]
    fn bands_by_diagonals() {
        // `10 * (j - i) + i` of diagonals above the main one, and fewer near the ends.
        expect_test::expect![[r#"
            if N - 1 >= 0 {
              parallel ib = 0 to N step 32 {
                parallel jd = 0 to 7 {
                  parallel i = max(0, ib) to min(N - jd, ib + 32) {
                    A[10 * jd + i] = sum(kd = max(0, jd - 3) to min(N - i, 4, jd + 1)) B[i + 10 * kd] * C[10 * jd + i + -9 * kd]
                  }
                }
              }
            }
        "#]].assert_eq(&pieces(
            "follow-diagonals",
            "parallel i = 0 to N { parallel j = i to min(N, i + 7) {
               A[10 * j - 9 * i] = sum(k = max(i, j - 3) to min(N, i + 4, j + 1)) B[10 * k - 9 * i] * C[10 * j - 9 * k]
             } }",
        ));
    }

    #[test]
    fn neighbours_along_one_loop_stay() {
        let body = "parallel i = 0 to N { parallel j = 0 to N {
            A[10 * i + j] = sum(k = 0 to N) B[10 * i + k] * C[10 * k + j] } }";
        let same = pieces("follow-diagonals", body);
        assert!(!same.contains("jd"), "{same}");
    }
}
