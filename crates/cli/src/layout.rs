//! `dastac layout`.

use std::collections::BTreeMap;

use dastac::contract::{At, Sizes};
use dastac::driver::{Analysis, Laid};
use dastac::human;
use dastac::layout::text::{self, PieceText};
use dastac::layout::{Layout, LayoutError, Proof};
use dastac::run::facts;
use dastac::runtime::TensorFacts;
use dastac::stur::TensorId;
use dastac::stur::infer::Inferred;

use super::args::{LayoutArgs, SymbolArgs};
use super::check::analyse;
use super::failure::Failure;
use super::infer::role;
use super::inputs;
use super::output::stdout;
use super::progress::Progress;
use super::source::Source;
use super::table::{ratio, table};
use super::{Outcome, Result, Terminal};

/// Shows packed layouts.
pub fn layout(terminal: &Terminal, args: &LayoutArgs) -> Result<Outcome> {
    let source = Source::of(&args.file)?;
    let progress = Progress::new(terminal.interactive);
    let analysis = analyse(terminal, &source, &progress)?;
    let values = known_sizes(&analysis, &args.symbols)?;
    progress.stage("finding layouts");
    let known = values.clone().map(|symbols| Sizes { symbols, density: 0.1, ..Sizes::default() });
    let at = known.as_ref().map_or(At::All, At::Sizes);
    let laid = analysis.contracted(at).and_then(Analysis::lay_out);
    let laid = laid.map_err(|error| Failure::of(error, &source))?;
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let sizes = match values {
        None => String::new(),
        Some(values) => "\n".to_string() + &sizes(&facts(&laid, &values).map_err(failed)?),
    };
    progress.stage("proving layouts");
    let text = polynomials(&laid).map_err(failed)? + &sizes;
    drop(progress);
    stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// Values of all symbols, or nothing when none is given (but some would be needed).
fn known_sizes(analysis: &Analysis, args: &SymbolArgs) -> Result<Option<Vec<i64>>> {
    let program = &analysis.inferred.program;
    if args.params.is_empty() && !program.symbols.is_empty() {
        return Ok(None);
    }
    inputs::symbols(program, args, &BTreeMap::new()).map(Some)
}

/// Index and size polynomials of every tensor, for symbols of at least 1, and whether the index is proven to be a
/// bijection.
pub fn polynomials(laid: &Laid) -> std::result::Result<String, dastac::Error> {
    let inferred = laid.inferred();
    let mut parts = Vec::new();
    for id in inferred.program.tensor_ids() {
        parts.push(of_tensor(laid, id)?);
    }
    let derived: Vec<String> = laid
        .analysis
        .inferred
        .sets
        .names
        .all_derived()
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect();
    if !derived.is_empty() {
        parts.push(derived.concat());
    }
    parts.extend(steps(laid)?);
    Ok(parts.join("\n"))
}

/// Rules with products in steps, with the points that each step visits.
fn steps(laid: &Laid) -> std::result::Result<Vec<String>, dastac::Error> {
    let (inferred, mut parts) = (laid.inferred(), Vec::new());
    for copy in laid.analysis.expanded() {
        parts.push(format!("{copy}\n"));
    }
    for plan in laid.analysis.plans() {
        let mut lines = format!("{} in steps, {}\n", plan.head, plan.contract.join(", "));
        for (rule, text) in plan.rules(inferred).zip(&plan.rules) {
            lines += &format!("  {text}\n");
            for statement in &rule.statements {
                use dastac::poly::Error::{TooComplex, TooSlow, Uncounted};
                match text::count(inferred, &statement.domain) {
                    Err(LayoutError::Poly(
                        TooComplex { .. } | TooSlow { .. } | Uncounted { .. },
                    )) => {
                        lines += &format!("  {:8}  too complex to count\n", "points");
                    }
                    count => lines += &pieces("points", &count?),
                }
            }
        }
        parts.push(lines);
    }
    Ok(parts)
}

/// The lines about one tensor.
pub fn of_tensor(laid: &Laid, id: TensorId) -> std::result::Result<String, dastac::Error> {
    let (inferred, layout) = (laid.inferred(), &laid.layouts[id.0]);
    let tensor = inferred.program.tensor(id);
    let iterators = &inferred.tensors[id.0].iterators;
    let head =
        if iterators.is_empty() { "()".into() } else { format!("({})", iterators.join(", ")) };
    if let Some(storage) = &tensor.format {
        let levels = storage.format.spelled(iterators);
        let kind = role(tensor.role);
        let fill = match inferred.program.fill(id) {
            0.0 => String::new(),
            fill => format!("; {fill} where nothing is stored"),
        };
        return Ok(format!("{}{head}: {kind}, dynamic, levels {levels}{fill}\n", tensor.name));
    }
    let packing = packing(layout);
    let mut lines = format!("{}{head}: {}{packing}\n", tensor.name, role(tensor.role));
    lines += &parts_of(inferred, id, layout);
    let index = layout.index.for_positive_symbols()?;
    lines += &pieces("position", &text::index(inferred, id, layout, &index));
    let size = layout.size.for_positive_symbols()?;
    lines += &pieces("elements", &text::size(inferred, &size));
    let proof = match layout.prove_bijection()? {
        Proof::Proven => "proven for all sizes".into(),
        Proof::Undecided(why) => format!("not decided ({why})"),
        Proof::Refuted(at) => format!("REFUTED {at}: a defect of dastac"),
    };
    let gaps = if layout.padded { "" } else { ", without gaps" };
    lines += &format!("  one place for each element{gaps}: {proof}\n");
    Ok(lines)
}

/// What a layout of one part is ordered by, if it is more than one coordinate, and where rows begin:
/// `, packed with j, i slowest to fastest, each row at a multiple of 8 elements`.
fn packing(layout: &Layout) -> String {
    let [part] = layout.parts.as_slice() else { return String::new() };
    let order: Vec<String> = part.coordinates.iter().map(coordinate).collect();
    let align = layout.align;
    match (order.len() > 1, align > 1) {
        (false, false) => String::new(),
        (false, true) => format!(", padded to a multiple of {align} elements"),
        (true, aligned) => {
            let mut text = format!(", packed with {} slowest to fastest", order.join(", "));
            if aligned {
                text += &format!(", each row at a multiple of {align} elements");
            }
            text
        }
    }
}

/// `i`, `floor(i/16)`, `j - i`.
fn coordinate(coordinate: &dastac::layout::Coordinate) -> String {
    coordinate.value.to_string()
}

/// Parts of a layout that has several: which elements, and what they are ordered by.
fn parts_of(inferred: &Inferred, id: TensorId, layout: &Layout) -> String {
    if layout.parts.len() < 2 {
        return String::new();
    }
    let mut text = format!("  {:8}  {}, one after the other\n", "parts", layout.parts.len());
    for part in layout.parts.iter().take(MAX_PARTS) {
        let order: Vec<String> = part.coordinates.iter().map(coordinate).collect();
        let elements = text::elements(inferred, id, layout, &part.domain);
        text += &format!("  {:8}  by {} where {elements}\n", "", order.join(", "));
    }
    if layout.parts.len() > MAX_PARTS {
        text += &format!("  {:8}  and {} more\n", "", layout.parts.len() - MAX_PARTS);
    }
    text
}

/// At most this many parts of a layout are printed.
const MAX_PARTS: usize = 8;

/// A polynomial, one line a piece.
fn pieces(what: &str, pieces: &[PieceText]) -> String {
    let width = pieces.iter().map(|piece| piece.polynomial.len()).max().unwrap_or(0);
    let lines: Vec<String> = pieces
        .iter()
        .map(|piece| match &piece.condition {
            None => piece.polynomial.clone(),
            Some(condition) => format!("{:width$}  if {condition}", piece.polynomial),
        })
        .collect();
    let indent = format!("\n  {:8}  ", "");
    let text = if lines.is_empty() { "0".into() } else { lines.join(&indent) };
    format!("  {what:8}  {text}\n")
}

fn sizes(facts: &[TensorFacts]) -> String {
    let mut rows = Vec::new();
    for fact in facts {
        rows.push(vec![
            fact.name.clone(),
            shape(&fact.shape),
            fact.unique.to_string(),
            fact.packed_bytes.to_string(),
            fact.dense_bytes.to_string(),
            ratio(fact.dense_bytes, fact.packed_bytes),
        ]);
    }
    let text =
        table(&["tensor", "shape", ">stored", ">bytes", ">dense bytes", ">dense/packed"], rows);
    text + "\n" + &total(facts)
}

/// One line on all tensors together.
pub fn total(facts: &[TensorFacts]) -> String {
    let packed: u128 = facts.iter().map(|fact| fact.packed_bytes).sum();
    let dense: u128 = facts.iter().map(|fact| fact.dense_bytes).fold(0, u128::saturating_add);
    format!(
        "all tensors: {} packed, {} dense, dense/packed {}\n",
        human(packed),
        human(dense),
        ratio(dense, packed)
    )
}

/// `3 x 4`.
pub fn shape(extents: &[i64]) -> String {
    if extents.is_empty() {
        return "scalar".into();
    }
    extents.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ")
}
