//! The trips of loops, for `dastac run --trips`.

use dastac::trips::{FunctionTrips, GoesOver, LoopTrips, TripBound};

use super::json::{Bound, Function, Loop, Stored};
use super::table::table;

/// The report that `--json` prints.
pub fn report(functions: &[FunctionTrips]) -> Vec<Function> {
    let functions = functions.iter().map(|one| Function {
        function: one.function.clone(),
        counts: one.counts.clone(),
        loops: one.loops.iter().map(loop_of).collect(),
    });
    functions.collect()
}

fn loop_of(one: &LoopTrips) -> Loop {
    Loop {
        name: one.name.clone(),
        depth: one.depth,
        over: one.over.name(),
        iterator: one.iterator.clone(),
        tensors: one.tensors.clone(),
        trips: one.trips,
        bound: one.bound.as_ref().map(bound_of),
    }
}

fn bound_of(bound: &TripBound) -> Bound {
    let stored = bound.stored.iter().map(|one| Stored {
        tensor: one.tensor.clone(),
        times: one.times,
        elements: one.elements,
    });
    Bound { value: bound.value, all: bound.all, stored: stored.collect() }
}

/// The report for people: a table with a line for each loop. Where there are several functions, a line with the
/// function's name stands before its loops.
pub fn human(functions: &[FunctionTrips]) -> String {
    let mut rows = Vec::new();
    for one in functions {
        if functions.len() > 1 {
            let counts = one.counts.as_ref().map(|tensor| format!("counts `{tensor}`"));
            let line = [format!("{}:", one.function), counts.unwrap_or_default()];
            rows.push(line.into_iter().chain([const { String::new() }; 3]).collect());
        }
        let indent = usize::from(functions.len() > 1);
        rows.extend(one.loops.iter().map(|one| row(one, indent)));
    }
    let all: u64 = functions.iter().flat_map(|one| &one.loops).map(|one| one.trips).sum();
    let headings = ["loop", "goes over", ">trips", ">bound", "min(n, k nnz)"];
    format!(
        "{}{} in all, counted on one thread\n",
        table(&headings, rows),
        dastac::elements::count(all, "trip")
    )
}

fn row(one: &LoopTrips, indent: usize) -> Vec<String> {
    let bound = one.bound.as_ref();
    vec![
        format!("{}{}", "  ".repeat(one.depth + indent), one.name),
        what(one),
        one.trips.to_string(),
        bound.map_or_else(|| "-".into(), |bound| bound.value.to_string()),
        bound.map(formula).unwrap_or_default(),
    ]
}

/// What a loop goes over, in words.
fn what(one: &LoopTrips) -> String {
    let tensors: Vec<String> = one.tensors.iter().map(|name| format!("`{name}`")).collect();
    let tensors = tensors.join(", ");
    let along = one.iterator.as_ref().map_or_else(String::new, |name| format!(" along {name}"));
    match one.over {
        GoesOver::Range => {
            let of = one.iterator.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
            let with = if tensors.is_empty() { String::new() } else { format!(", with {tensors}") };
            format!("range{of}{with}")
        }
        GoesOver::Elements => format!("elements of {tensors}{along}"),
        GoesOver::Subsections => format!("subsections of {tensors}{along}"),
        GoesOver::Search => format!("search in {tensors}"),
        GoesOver::Clear => format!("clears {tensors}"),
        GoesOver::Insertion => format!("insertion into {tensors}"),
        GoesOver::Sort => format!("sort of {tensors}"),
        GoesOver::Contraction => format!("contraction of {tensors}"),
        GoesOver::Scan => format!("scan of {tensors}"),
        GoesOver::Upkeep => "upkeep".into(),
    }
}

fn formula(bound: &TripBound) -> String {
    let stored = bound.stored.iter().map(|one| match one.times {
        1 => one.elements.to_string(),
        times => format!("{times} x {}", one.elements),
    });
    let stored: Vec<String> = stored.collect();
    match stored.is_empty() {
        true => bound.all.to_string(),
        false => format!("min({}, {})", bound.all, stored.join(" + ")),
    }
}
