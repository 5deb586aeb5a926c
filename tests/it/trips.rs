//! Loop trips of compiled programs on random sparse tensors, against the bounds of sparse convolutions, sections 3.2
//! and 5.2.

use std::collections::BTreeMap;

use dastac::build::BuildOptions;
use dastac::driver::{Analysis, Iteration};
use dastac::iterate::Walking;
use dastac::run::Runner;
use dastac::stur::Role;
use dastac::trips::{FunctionTrips, GoesOver, LoopTrips};

use crate::sparse::{CONVOLUTIONS, RULES, programs};

/// The loops as they are: what is counted.
/// Loops as they are, on one thread.
fn plain() -> BuildOptions {
    BuildOptions { untiled: true, ..BuildOptions::default() }
}

fn runner(source: &str, walking: Walking, sizes: &[(&str, i64)]) -> Runner {
    let iteration = Iteration { walking, ..Iteration::default() };
    let lowered =
        Analysis::of(source).and_then(|analysis| analysis.lay_out()?.lower_for(iteration));
    let built = lowered.and_then(|lowered| lowered.build(plain()));
    let built = built.unwrap_or_else(|error| panic!("{error}\n{source}"));
    Runner::new(built, &named(sizes), 1).unwrap()
}

fn named(sizes: &[(&str, i64)]) -> BTreeMap<String, i64> {
    sizes.iter().map(|(name, size)| ((*name).to_string(), *size)).collect()
}

/// Draws inputs, computes and counts; the counting run gives the results of the others, bit by bit.
fn counted(runner: &mut Runner, density: f64, seed: u64) -> Vec<FunctionTrips> {
    runner.set_density(density);
    runner.random_inputs(seed, &BTreeMap::new()).unwrap();
    runner.execute().unwrap();
    let expected = results(runner);
    let trips = runner.trips().unwrap();
    assert_eq!(results(runner), expected);
    trips
}

/// The bits of all that is computed: values, and where they are.
fn results(runner: &mut Runner) -> Vec<(Vec<u64>, String)> {
    let program = runner.built().lowered.program().clone();
    let computed = program.tensor_ids().filter(|id| program.tensor(*id).role != Role::Input);
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    computed
        .map(|id| match program.tensor(id).format {
            None => (bits(&runner.packed(id).to_f64()), String::new()),
            Some(_) => {
                let found = runner.result(id).unwrap();
                let values: Vec<f64> = (0..found.values().len())
                    .filter_map(|at| Some(found.values().get(at)?.to_f64()))
                    .collect();
                (bits(&values), format!("{:?}", found.levels()))
            }
        })
        .collect()
}

/// Each loop with the one around it.
fn nested(function: &FunctionTrips) -> Vec<(&LoopTrips, Option<&LoopTrips>)> {
    let mut around: Vec<&LoopTrips> = Vec::new();
    let mut all = Vec::new();
    for one in &function.loops {
        around.truncate(one.depth);
        all.push((one, around.last().copied()));
        around.push(one);
    }
    all
}

/// Loops that run more often than they need to. A walk may look at one more element each time that it runs, where it
/// ends, and with strides of 2 at those between windows. Lists of entries have no windows: a loop may go over all of a
/// list each time, and loops around over all of their iterators.
fn beyond_bounds(functions: &[FunctionTrips], lists: &[String]) -> Vec<String> {
    let mut beyond = Vec::new();
    for (one, outside) in functions.iter().flat_map(nested) {
        let Some(bound) = &one.bound else { continue };
        let runs = u128::from(outside.map_or(1, |outside| outside.trips));
        let listed = bound.stored.iter().filter(|term| lists.contains(&term.tensor));
        let entries: u128 = listed.map(|term| term.elements).sum();
        if entries > 0 && one.over == GoesOver::Range {
            continue;
        }
        if u128::from(one.trips) > (2 * bound.value + runs).max(entries * runs) {
            beyond.push(format!("{one:?} in {outside:?}"));
        }
    }
    beyond
}

/// The tensors of a program that are lists of entries.
fn lists(runner: &Runner) -> Vec<String> {
    let is_list = |format: &str| format.contains("coo") || format.contains('S');
    let facts = runner.facts().iter();
    let lists = facts.filter(|fact| fact.format.as_deref().is_some_and(is_list));
    lists.map(|fact| fact.name.clone()).collect()
}

#[test]
fn rules_in_all_formats_stay_within_their_bounds() {
    for source in [programs(RULES, 3), programs(CONVOLUTIONS, 4)].concat() {
        let mut runner = runner(&source, Walking::Subsections, &[("N", 0)]);
        let lists = lists(&runner);
        for (n, density) in [(0, 0.5), (7, 0.3), (6, 1.0), (12, 0.05)] {
            runner.resize(&named(&[("N", n)])).unwrap();
            let beyond = beyond_bounds(&counted(&mut runner, density, 5), &lists);
            assert_eq!(beyond, [""; 0], "N = {n}, density {density}\n{source}");
        }
    }
}

/// `O(p, ..) := I(p + r, ..) * F(r, ..)` in so many dimensions, `N` results and `R` elements of the filter in each.
fn convolution(rank: usize, format: &str, order: &str) -> String {
    let list = |names: [&str; 3]| names[..rank].join(", ");
    let extents = |names: [&str; 3], extent: &str| {
        let each = names[..rank].iter().map(|name| format!("(0 <= {name} < {extent})"));
        each.collect::<Vec<_>>().join(" * ")
    };
    let (outputs, filter, inputs) = (["p", "q", "o"], ["r", "s", "t"], ["x", "y", "z"]);
    format!(
        "symbols: N, R\niters: O -> {order}\nO({p}) := I({sums}) * F({r})\nO:D({p}) := {of_o}\n\
         I:D({x}) := {of_i}\nI:F({x}) := {format}\nF:D({r}) := {of_f}\n",
        p = list(outputs),
        sums = list(["p + r", "q + s", "o + t"]),
        r = list(filter),
        x = list(inputs),
        of_o = extents(outputs, "N"),
        of_i = extents(inputs, "N + R - 1"),
        of_f = extents(filter, "R"),
    )
}

/// Rank, format and order of loops, with numbers of results in each dimension.
const STORED: &[(usize, &str, &str, i64)] = &[
    (1, "C", "p, r", 400),
    (1, "C", "r, p", 400),
    (1, "coo", "r, p", 400),
    (2, "CC", "p, r, q, s", 30),
    (2, "CC", "p, q, r, s", 30),
    (2, "DC", "p, q, r, s", 30),
    (2, "CC", "r, s, p, q", 30),
    (2, "CD", "p, r, s, q", 30),
    (3, "CCC", "p, r, q, s, t, o", 10),
    (3, "CCC", "p, q, o, r, s, t", 10),
];

#[test]
fn convolutions_go_over_non_empty_subsections() {
    for (at, &(rank, format, order, n)) in STORED.iter().enumerate() {
        let source = convolution(rank, format, order);
        let sizes = [("N", n), ("R", 3)];
        let [results, filter] = [n, 3].map(|extent| extent.pow(rank as u32) as u64);
        let about = |density: f64| format!("density {density}\n{source}");
        let strategies = [Walking::Subsections, Walking::Search, Walking::Locate];
        let [mut reached, mut searched, mut located] =
            strategies.map(|walking| runner(&source, walking, &sizes));
        for density in [0.0, 0.002, 0.02, 0.2, 1.0] {
            let seed = at as u64;
            let functions = counted(&mut reached, density, seed);
            assert_eq!(beyond_bounds(&functions, &[]), [""; 0], "{}", about(density));
            let id = reached.built().lowered.program().find("I").unwrap();
            let stored = reached.facts()[id.0].unique as u64;
            for (one, outside) in functions.iter().flat_map(nested) {
                if matches!(one.over, GoesOver::Elements | GoesOver::Subsections) {
                    // What is stored is in this many windows; of all points of the loops there are as many as results
                    // and elements of the filter.
                    let most = (filter * stored).min(results * filter);
                    let runs = outside.map_or(1, |outside| outside.trips);
                    assert!(one.trips <= most + runs, "{one:?} {}", about(density));
                }
            }
            // With windows that are searched for, the first loop goes over all of the result or the filter.
            let functions = counted(&mut searched, density, seed);
            assert!(most_of(&functions, GoesOver::Range) >= n.min(3) as u64, "{}", about(density));
            // All points of the loops up to the first level that is not dense, whatever is stored; all points at all if
            // everything is.
            let functions = counted(&mut located, density, seed);
            let most = if density == 1.0 { results * filter } else { points(format, order, n) };
            assert!(most_of(&functions, GoesOver::Range) >= most, "{}", about(density));
        }
    }
}

/// How many points the loops have up to those that say where the first level is that is not dense.
fn points(format: &str, order: &str, n: i64) -> u64 {
    let dimension = format.chars().take_while(|kind| *kind == 'D').count();
    let names: Vec<&str> = order.split(", ").collect();
    let places = [["p", "q", "o"][dimension], ["r", "s", "t"][dimension]]
        .map(|name| names.iter().position(|other| *other == name).unwrap());
    let around = names.iter().take(1 + places[0].max(places[1]));
    around.map(|name| if ["p", "q", "o"].contains(name) { n as u64 } else { 3 }).product()
}

/// The most trips of a loop of one kind.
fn most_of(functions: &[FunctionTrips], over: GoesOver) -> u64 {
    let loops = functions.iter().flat_map(|function| &function.loops);
    loops.filter(|one| one.over == over).map(|one| one.trips).max().unwrap_or(0)
}

/// What reduces the values of rows, of which zeros that are not stored are some, visits what is stored, and no gaps.
#[test]
fn extremes_of_rows_visit_what_is_stored() {
    for rule in ["max(j) A(i, j) * x(j)", "min(j) A(i, j)", "prod(j) A(i, j)", "all(j) A(i, j)"] {
        let source = format!(
            "symbols: N, M\ny(i) := {rule}\nz() := x(j)\nA:D(i, j) := (0 <= i < N) * (0 <= j < M)\nA:F := csr\n\
            x:D(j) := (0 <= j < M)"
        );
        let mut runner = runner(&source, Walking::default(), &[("N", 40), ("M", 3000)]);
        let trips = counted(&mut runner, 0.01, 5);
        let id = runner.built().lowered.program().find("A").unwrap();
        let stored = runner.bound(id).unwrap().values().len() as u64;
        // Rows are passed a few times, and `x` once.
        let total: u64 = trips.iter().flat_map(|one| &one.loops).map(|one| one.trips).sum();
        assert!(total <= 2 * stored + 10 * 40 + 3000, "{rule}: {total} trips, {stored} stored");
    }
}

/// Products of matrices that are stored by diagonals go along these, whichever of the matrix's dimensions is added up.
#[test]
fn products_along_diagonals_visit_what_is_stored() {
    for format in ["dia", "dia_v", "bdia(16)"] {
        for rule in [
            "y(i) := A(i, j) * x(j)",
            "y(j) := A(i, j) * z(i)",
            "y() := A(i, j) * z(i) * x(j)",
            "y(i) := max(j) A(i, j)",
        ] {
            let source = format!(
                "symbols: N, M\n{rule}\nu() := x(j) * z(i)\nA:D(i, j) := (0 <= i < N) * (0 <= j < M)\n\
                A:F := {format}\nx:D(j) := (0 <= j < M)\nz:D(i) := (0 <= i < N)"
            );
            let mut runner = runner(&source, Walking::default(), &[("N", 70), ("M", 90)]);
            let trips = counted(&mut runner, 0.01, 5);
            let id = runner.built().lowered.program().find("A").unwrap();
            let stored = runner.bound(id).unwrap().values().len() as u64;
            let total: u64 = trips[0].loops.iter().map(|one| one.trips).sum();
            // Blocks of eight elements of the longest diagonals count too.
            assert!(
                total <= 2 * stored + 3 * 90,
                "{format}, {rule}: {total} trips, {stored} stored"
            );
        }
    }
}
