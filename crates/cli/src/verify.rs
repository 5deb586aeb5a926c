//! Comparison with the reference evaluator, and what to say when it would take too long.

use std::collections::BTreeMap;

use dastac::runtime::Instance;
use dastac::stur::reference::{Array, Evaluator};
use dastac::stur::{Program, TensorId};
use dastac::verify::{MAX_REFERENCE_COST, Reference, Verification};

/// What `--verify` found.
pub enum Verdict {
    /// Not asked for.
    NotAsked,
    /// The size is too large; why, and what size would do.
    TooLarge(String),
    /// Compared.
    Compared(Verification),
}

impl Verdict {
    /// Compares all computed tensors with the reference, where it can.
    pub fn of(
        program: &Program,
        instance: &Instance<'_>,
        inputs: &BTreeMap<TensorId, Array>,
    ) -> Result<Verdict, dastac::Error> {
        let reference = Reference::of(program);
        match reference.limit(instance)? {
            None => reference.compare(instance, inputs).map(Verdict::Compared),
            Some(why) => {
                let would_do = match largest(program, instance.symbols()) {
                    Some(values) => {
                        let names = program.symbols.iter().map(|(name, _)| name);
                        let values: Vec<String> = names
                            .zip(values)
                            .map(|(name, value)| format!("-p {name}={value}"))
                            .collect();
                        format!(
                            "; about the largest size of these proportions is {}",
                            values.join(" ")
                        )
                    }
                    None => String::new(),
                };
                Ok(Verdict::TooLarge(format!(
                    "too large for the reference evaluator: {why}{would_do}"
                )))
            }
        }
    }

    /// Whether the results are known to be wrong.
    pub fn disagrees(&self) -> bool {
        matches!(self, Verdict::Compared(verification) if !verification.agrees())
    }
}

/// The largest sizes, in proportion to the given ones, that the evaluator takes.
fn largest(program: &Program, symbols: &[i64]) -> Option<Vec<i64>> {
    let scaled = |parts: i128| -> Vec<i64> {
        let scale =
            |value: &i64| i64::try_from(i128::from(*value) * parts / PARTS).unwrap_or(*value);
        symbols.iter().map(scale).collect()
    };
    let fits = |values: &[i64]| {
        let limit = MAX_REFERENCE_COST.min(dastac::verify::MAX_REFERENCE_CELLS);
        Evaluator::new(program, values).is_ok_and(|evaluator| {
            let cells = |id| {
                evaluator.shape(id).iter().fold(1u128, |all, e| all.saturating_mul(*e as u128))
            };
            let cells: u128 = program.tensor_ids().map(cells).fold(0, u128::saturating_add);
            cells <= limit && evaluator.cost() <= MAX_REFERENCE_COST
        })
    };
    let (mut low, mut high) = (0, PARTS);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if fits(&scaled(middle)) { low = middle } else { high = middle }
    }
    let values = scaled(low);
    (low > 0 && values != symbols && fits(&values)).then_some(values)
}

/// Steps between nothing and the given size.
const PARTS: i128 = 1 << 20;
