//! How far results are from what they should be.

use std::collections::BTreeMap;

use dastac_elements::{Complex, Scalar, Storage};
use dastac_stur::Program;
use dastac_stur::program::{Element, TensorId};

use super::check::Check;

/// The largest error of elements beside others of the same kind. `index` says which elements these are.
pub(super) fn worst_of(
    tensor: &str,
    index: &dyn Fn(usize) -> Vec<usize>,
    computed: &Storage,
    reference: &Storage,
    tolerance: f64,
) -> Verification {
    let mut worst = Verification { tolerance, ..Verification::exact() };
    let element = reference.element();
    let parts = element.parts();
    let (found, wanted) = (computed.view().parts(), reference.view().parts());
    let mut take = |at: usize, error: f64| {
        if error > worst.max_error {
            worst.max_error = error;
            let (expected, found) = (scalar(reference, at), scalar(computed, at));
            let (tensor, index) = (tensor.to_owned(), index(at));
            worst.at = Some(Difference { tensor, index, expected, found });
        }
    };
    if element.is_integer() {
        for (at, (found, wanted)) in computed.numbers().zip(reference.numbers()).enumerate() {
            let (found, wanted) = (found.to_i64(), wanted.to_i64());
            if found != wanted {
                let distance = |(a, b): (i64, i64)| (i128::from(a) - i128::from(b)).abs() as f64;
                let distance = found.zip(wanted).map_or(f64::INFINITY, distance);
                take(at, distance / (wanted.unwrap_or(0) as f64).abs().max(1.0));
            }
        }
        return worst;
    }
    for at in 0..reference.len() {
        let all = |view: dastac_elements::View<'_>| {
            [0, parts - 1].map(|part| view.number(at * parts + part))
        };
        take(at, error_of(&all(found)[..parts], &all(wanted)[..parts]));
    }
    worst
}

/// An element; floats as 64-bit ones.
fn scalar(array: &Storage, at: usize) -> Scalar {
    match array.element() {
        integer if integer.is_integer() => array.get(at).unwrap_or(Scalar::F64(f64::NAN)),
        other => {
            let parts = other.parts();
            let all = array.view().parts();
            match parts {
                2 => Scalar::C128(Complex::new(all.number(2 * at), all.number(2 * at + 1))),
                _ => Scalar::F64(all.number(at)),
            }
        }
    }
}

/// How far an element, in parts if it is complex, is from what it should be, relative to `max(1, |wanted|)`.
fn error_of(found: &[f64], wanted: &[f64]) -> f64 {
    let same = |(found, wanted): (&f64, &f64)| found == wanted || found.is_nan() && wanted.is_nan();
    // A complex number is none as soon as one of its parts is none.
    let none = |parts: &[f64]| parts.iter().any(|part| part.is_nan());
    if found.iter().zip(wanted).all(same) || none(found) && none(wanted) {
        return 0.0;
    }
    let magnitude = |parts: &[f64]| match parts {
        [one] => one.abs(),
        parts => parts.iter().map(|part| part * part).sum::<f64>().sqrt(),
    };
    let differences: Vec<f64> = found.iter().zip(wanted).map(|(x, y)| x - y).collect();
    let error = magnitude(&differences) / magnitude(wanted).max(1.0);
    // NaN on one side only must not pass as small.
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The errors of computed tensors that are rounding: of their own elements, and of those that they are computed from.
/// Integers have none.
pub(crate) fn tolerances(program: &Program) -> BTreeMap<TensorId, f64> {
    let mut tolerances = BTreeMap::new();
    for rule in &program.rules {
        let own = match program.tensor(rule.head).element.part() {
            Element::F32 => Verification::TOLERANCE_F32,
            short if short.is_short_float() => 4.0 * short.epsilon(),
            integer if integer.is_integer() => {
                tolerances.insert(rule.head, 0.0);
                continue;
            }
            _ => Verification::TOLERANCE,
        };
        let reads = rule.products.iter().flat_map(|product| &product.accesses);
        let read = reads.filter_map(|access| tolerances.get(&access.tensor).copied());
        let tolerance = read.fold(own, f64::max);
        tolerances.insert(rule.head, tolerance);
    }
    tolerances
}

/// An element that differs from the reference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The tensor.
    pub tensor: String,
    /// The element.
    pub index: Vec<usize>,
    /// The reference's value.
    pub expected: Scalar,
    /// What was computed.
    pub found: Scalar,
}

/// The outcome of a comparison with the reference.
#[derive(Clone, Debug)]
pub struct Verification {
    /// Largest error beside its tolerance, relative to `max(1, |reference|)`.
    pub max_error: f64,
    /// Up to where it is rounding.
    pub tolerance: f64,
    /// Where it is.
    pub at: Option<Difference>,
    /// An element of a result with `:F` that is stored but should not be, or (`false`) is not but should be. The error
    /// is infinite then.
    pub stored: Option<(String, Vec<usize>, bool)>,
    /// The tensor of which the error is that of a random functional, relative to the magnitudes that it adds up.
    pub functional: Option<String>,
    /// How each result was checked, where it was not computed as a whole by the dense evaluator.
    pub checks: Vec<Check>,
}

impl Verification {
    /// Errors up to this are rounding to 64 bits.
    pub const TOLERANCE: f64 = 1e-9;
    /// Errors up to this are rounding to 32 bits.
    pub const TOLERANCE_F32: f64 = 1e-4;

    /// No difference at all.
    pub(super) fn exact() -> Verification {
        Verification {
            max_error: 0.0,
            tolerance: Verification::TOLERANCE,
            at: None,
            stored: None,
            functional: None,
            checks: Vec::new(),
        }
    }

    /// Takes over the error of another tensor if it is larger beside its tolerance.
    pub(super) fn take(&mut self, other: Verification) {
        if other.beyond() > self.beyond() {
            let stored = other.stored.clone().or(self.stored.take());
            *self = Verification { stored, ..other };
        }
    }

    /// The error beside its tolerance; integers have none.
    fn beyond(&self) -> f64 {
        if self.max_error == 0.0 { 0.0 } else { self.max_error / self.tolerance }
    }

    /// Whether the results agree.
    pub fn agrees(&self) -> bool {
        self.max_error <= self.tolerance
    }
}
