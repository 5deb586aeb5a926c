//! Comparison with the reference evaluator, and what to say of it.

use std::collections::BTreeMap;

use dastac::elements::count;
use dastac::runtime::Instance;
use dastac::stur::TensorId;
use dastac::stur::reference::Array;
use dastac::verify::{Check, Difference, Method, Reference, Verification};

use super::json;
use super::progress::Progress;

/// What `--verify` found.
pub enum Verdict {
    /// Not asked for.
    NotAsked,
    /// Nothing could be checked; why.
    NotCompared(String),
    /// Compared.
    Compared(Verification),
}

impl Verdict {
    /// Compares all computed tensors with the reference, where it can.
    pub fn of(
        reference: Reference<'_>,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Array>,
        progress: &Progress,
    ) -> Result<Verdict, dastac::Error> {
        progress.stage("comparing with the reference evaluator");
        let mut told = |what| progress.stage(what);
        let found = reference.compare_telling(instance, inputs, &mut told)?;
        let is_checked = |check: &Check| !matches!(check.method, Method::None { .. });
        if found.checks.is_empty() || found.checks.iter().any(is_checked) {
            return Ok(Verdict::Compared(found));
        }
        Ok(Verdict::NotCompared(found.checks.iter().map(described).collect::<Vec<_>>().join("; ")))
    }

    /// Whether the results are known to be wrong.
    pub fn disagrees(&self) -> bool {
        matches!(self, Verdict::Compared(verification) if !verification.agrees())
    }

    /// How results were checked that are too large for dense arrays, for JSON.
    pub fn checks(&self) -> Vec<json::Check> {
        let Verdict::Compared(verification) = self else { return Vec::new() };
        let check = |Check { tensor, method }: &Check| {
            let (method, number, note) = match method {
                Method::Walk { products } => ("walk", Some(*products), None),
                Method::Functionals { functionals } => ("functionals", Some(*functionals), None),
                Method::Stored { elements, others } => {
                    let note = format!("and {} elsewhere, at random", count(*others, "element"));
                    ("stored", Some(*elements), Some(note))
                }
                Method::Samples { elements } => ("samples", Some(*elements), None),
                Method::None { why } => ("none", None, Some(why.clone())),
            };
            json::Check { tensor: tensor.clone(), method, count: number, note }
        };
        verification.checks.iter().map(check).collect()
    }

    /// For people.
    pub fn human(&self) -> String {
        match self {
            Verdict::NotAsked => String::new(),
            Verdict::NotCompared(note) => format!("not verified: {note}\n"),
            Verdict::Compared(verification) => {
                let mut text = judged(verification);
                for check in &verification.checks {
                    text += &format!("  {}\n", described(check));
                }
                text
            }
        }
    }
}

fn judged(verification: &Verification) -> String {
    if verification.agrees() {
        let error = match verification.max_error {
            0.0 => "0".to_string(),
            error => format!("{error:.1e}"),
        };
        return format!("agrees with the reference evaluator (largest error {error})\n");
    }
    let what = match verification {
        Verification { stored: Some((tensor, index, stored)), .. } => {
            let (is, should) = if *stored { ("is", "should not") } else { ("is not", "should") };
            format!("{tensor}{index:?} {is} stored, but {should} be")
        }
        Verification { functional: Some(tensor), max_error, tolerance, .. } => format!(
            "a random sum of all elements of {tensor} is off by {max_error:.1e} of their magnitude, and rounding is \
            up to {tolerance:.1e}"
        ),
        Verification { at: Some(Difference { tensor, index, expected, found }), .. } => {
            let error = verification.max_error;
            format!("{tensor}{index:?} is {found}, but should be {expected} (error {error:.1e})")
        }
        _ => return "DISAGREES with the reference evaluator\n".into(),
    };
    format!("DISAGREES with the reference evaluator: {what}\n")
}

/// How a result was checked.
fn described(check: &Check) -> String {
    let tensor = &check.tensor;
    match &check.method {
        Method::Walk { products } => {
            let products = count(*products, "product");
            format!("`{tensor}`: all elements, by a walk of up to {products}")
        }
        Method::Functionals { functionals } => {
            let sums = count(*functionals, "random sum");
            format!(
                "`{tensor}`: by {sums} of all of its elements; which are stored was not checked"
            )
        }
        Method::Stored { elements, others } => {
            let (stored, others) = (count(*elements, "element"), count(*others, "other"));
            format!("`{tensor}`: all {stored} that it stores, and {others} chosen at random")
        }
        Method::Samples { elements } => {
            format!("`{tensor}`: only {} chosen at random", count(*elements, "element"))
        }
        Method::None { why } => format!("`{tensor}` was not checked: {why}"),
    }
}
