//! The choice of register tiles: which loops are cut into tiles, and how large the tiles are.
//!
//! With `f(v)` iterations of loop `v` side by side, a step of the innermost sum does `f(p) * f(q)` products and loads,
//! for each access, as many elements as the loops that it varies with have iterations. The choice is the one with
//! fewest loads for a product among those whose accumulators and operands fit the registers. A product costs as much as
//! two loads, so fewer loads for a product than that are not worth more rims.
//!
//! Where the terms of sums cannot be in the lanes of vectors, but elements can (see [`crate::lanes`]), the loop with
//! these elements is one of the loops unrolled, by whole vectors, and a vector counts as one load or product.

use super::accesses::Accesses;
use super::few::is_short;
use super::interchange::interchange;
use super::nest::Nest;
use super::walk::{Walk, each_nest};
use super::wishes::Wishes;
use crate::hints::Hints;
use crate::ir::*;
use crate::lanes;
use crate::passes::Context;

/// The pass.
pub(crate) fn run(module: &mut Module, context: &Context<'_>) {
    each_nest(module, context, |walk, nest| {
        let choice = choose(walk, nest)?;
        choice.note(&mut walk.function.hints);
        Some(choice.nest.statements())
    });
}

/// Loops to unroll.
#[derive(Clone, Debug)]
struct Choice {
    /// The nest with these loops innermost.
    nest: Nest,
    /// By how much the innermost loops are unrolled, the outer of them first: one or two.
    factors: Vec<i64>,
    /// The loop whose elements are in lanes, and their number.
    lanes: Option<(VarId, i64)>,
}

/// A sum of at most so many terms is not worth a rim.
const SHORT: i64 = 16;

impl Choice {
    /// Leaves the choice as hints of the loops.
    fn note(&self, hints: &mut Hints) {
        let Choice { nest: Nest { levels, .. }, factors, lanes } = self;
        levels.iter().take(1).for_each(|level| hints.update(level.var, |hint| hint.nest = true));
        for (level, factor) in levels.iter().rev().zip(factors.iter().rev()) {
            hints.update(level.var, |hint| hint.tile = Some(*factor));
        }
        if let Some((var, count)) = lanes {
            hints.update(*var, |hint| hint.lanes = Some(*count));
        }
    }
}

/// In which type the elements of a nest are computed.
fn computed_in(walk: &Walk<'_>, nest: &Nest) -> Option<Element> {
    Some(walk.buffers.get(nest.store.buffer.0 as usize)?.element.computed())
}

/// The loops to unroll, if it is worth it.
fn choose(walk: &Walk<'_>, nest: &Nest) -> Option<Choice> {
    let (tiling, facts) = (walk.machine, &walk.facts);
    let element = computed_in(walk, nest)?;
    if element.is_integer() && nest.store.is_index() || nest.first.is_some() {
        return None;
    }
    let wishes = Wishes::of(&walk.function.hints, nest);
    let accesses = Accesses::of(nest);
    if accesses.loads.is_empty() && wishes.unrolled.is_empty() {
        return None;
    }
    let (plain, _) = accesses.cost(&[]);
    // Accumulators; the rest holds what is loaded.
    let most = (tiling.registers * 3 / 4).max(4);
    let mut best: Option<(f64, usize, Choice)> = None;
    let mut consider = |score: f64, rims: usize, choice: Choice| {
        let better = best.as_ref().is_none_or(|(known, known_rims, _)| {
            score < known - 1e-9 || (score < known + 1e-9 && rims < *known_rims)
        });
        if better {
            best = Some((score, rims, choice));
        }
    };
    let vars: Vec<VarId> = nest.levels.iter().map(|level| level.var).collect();
    let lanes = in_lanes(walk, nest, element);
    // Factors count vectors where elements are in lanes.
    let times = |var: VarId| lanes.filter(|(lane, _)| *lane == var).map_or(1, |(_, count)| count);
    let with_lanes = |vars: &[VarId]| lanes.is_none_or(|(lane, _)| vars.contains(&lane));
    let short = short(&nest.store.value);
    // Beside elements in lanes, each row whose sums end elsewhere would be loops of its own.
    let ragged = |var: VarId| {
        lanes.is_some_and(|(lane, _)| lane != var) && nest.store.value.mentions_in_ranges(var)
    };
    // What a few iterations gain is less than their code costs.
    let few =
        |var: VarId| nest.levels.iter().any(|level| level.var == var && is_short(level, facts));
    let rimless = |var: VarId| {
        !(short && bounds(nest, var) || ragged(var) || few(var)) || wishes.unrolled.contains(&var)
    };
    for (at, &p) in vars.iter().enumerate().filter(|(_, p)| rimless(**p)) {
        // One loop: what is streamed once stays so, its rows side by side.
        let alone = lanes.map_or(at + 1 == vars.len(), |(lane, _)| lane == p);
        if alone {
            // Vectors of elements that share a load wait for each other's last addition, if they are few.
            let usual = if lanes.is_some() && 8 <= most { 8 } else { 4 };
            let factor = wishes.factor(p).unwrap_or(usual.min(wishes.most(p)));
            let (loads, products) = accesses.cost(&[(p, factor)]);
            let ratio = loads as f64 / products as f64;
            if (ratio < plain as f64 || wishes.unrolled == [p] || lanes.is_some())
                && factor > 1
                && wishes.allow(&[p])
                && let Some(ordered) = interchange(nest, &[p], facts)
                && wishes.keep(nest, &ordered)
            {
                let factors = vec![wishes.times(p, factor, times(p))];
                consider(ratio, 0, Choice { nest: ordered, factors, lanes });
            }
        }
        for &q in vars.iter().filter(|q| **q != p && rimless(**q)) {
            if !wishes.allow(&[p, q]) || !with_lanes(&[p, q]) {
                continue;
            }
            let given = wishes.unrolled.len() == 2;
            let mut pair: Option<(f64, [i64; 2])> = None;
            for fp in wishes.factors(p) {
                for fq in wishes.factors(q) {
                    let (loads, products) = accesses.cost(&[(p, fp), (q, fq)]);
                    // All loads of the smaller side are kept while the others pass.
                    let fits =
                        products <= most && products + loads.min(fp.min(fq)) < tiling.registers;
                    if !fits && !given {
                        continue;
                    }
                    let ratio = loads as f64 / products as f64;
                    // Of two shapes the one with the longer side outside.
                    let better = pair.is_none_or(|(known, [rows, _])| {
                        ratio < known - 1e-9 || (ratio < known + 1e-9 && fp > rows)
                    });
                    if better {
                        pair = Some((ratio, [fp, fq]));
                    }
                }
            }
            let Some((ratio, factors)) = pair else { continue };
            // A second loop has to gain something over one alone.
            let alone = [p, q].map(|var| {
                let (loads, products) = accesses.cost(&[(var, 4)]);
                loads as f64 / products as f64
            });
            if ratio >= 0.9 * alone[0].min(alone[1]) && !given {
                continue;
            }
            let Some(ordered) = interchange(nest, &[p, q], facts) else { continue };
            if !wishes.keep(nest, &ordered) {
                continue;
            }
            let Some(inner) = ordered.levels.last() else { continue };
            let rims = inner.lower.iter().chain(&inner.upper).filter(|b| b.mentions(p)).count();
            let [fp, fq] = factors;
            let factors = vec![wishes.times(p, fp, times(p)), wishes.times(q, fq, times(q))];
            consider(ratio, rims, Choice { nest: ordered, factors, lanes });
        }
    }
    best.map(|(_, _, choice)| choice)
}

/// Whether all innermost sums have few terms, whatever the symbols are.
fn short(value: &Value) -> bool {
    let mut short = true;
    value.visit(&mut |value| {
        if let Value::Sum(sum) = value {
            let pairs =
                sum.lower.iter().flat_map(|low| sum.upper.iter().map(move |high| (low, high)));
            let mut lengths = pairs.filter_map(|(low, high)| high.constant_difference(low));
            let mut inner = false;
            sum.body.visit(&mut |value| inner |= matches!(value, Value::Sum(_)));
            short &= inner || lengths.any(|length| length <= SHORT * sum.step);
        }
    });
    short
}

/// Whether the range of another loop or of a sum depends on a variable.
fn bounds(nest: &Nest, var: VarId) -> bool {
    let ranges = nest.levels.iter().flat_map(|level| level.lower.iter().chain(&level.upper));
    ranges.into_iter().any(|bound| bound.mentions(var)) || nest.store.value.mentions_in_ranges(var)
}

/// The loop whose elements are in lanes, those that are stored as neighbours if there are several, and the number of
/// lanes.
fn in_lanes(walk: &Walk<'_>, nest: &Nest, element: Element) -> Option<(VarId, i64)> {
    let count = walk.machine.vector_bytes / element.bytes() as i64;
    let vars = nest.levels.iter().rev().map(|level| level.var);
    let vars = vars.filter(|var| walk.hint(*var).vectorize != Some(false));
    let var = *lanes::choices(&nest.store, vars).first().filter(|_| count > 1)?;
    Some((var, count))
}
