//! Elements as the reference evaluator's walks take them.

use dastac_elements::{Element, Number, Storage};
use dastac_formats::Tensor;
use dastac_stur::reference::Entries;

/// Coordinates as places in an array.
pub(super) fn as_places(index: &[i64]) -> Vec<usize> {
    index.iter().map(|at| *at as usize).collect()
}

/// Numbers as elements of a type, which all of them are values of.
pub(super) fn storage(element: Element, numbers: impl Iterator<Item = Number>) -> Storage {
    match element.is_integer() {
        true => {
            let all: Vec<i64> = numbers.map(|number| number.to_i64().unwrap_or(0)).collect();
            Storage::from(all)
        }
        false if element.is_complex() => numbers.map(Number::to_complex).collect(),
        false => numbers.map(Number::to_f64).collect(),
    }
}

/// What a tensor stores, entries of one element added up.
pub(super) fn entries(tensor: &Tensor) -> Entries {
    let element = tensor.values().element();
    let rank = tensor.shape().len();
    let mut found: Vec<(Vec<i64>, Number)> = Vec::new();
    tensor.for_each_place(|index, at| {
        let value = tensor.values().get(at).map_or(Number::Float(f64::NAN), |one| one.number());
        found.push((index.iter().map(|at| *at as i64).collect(), value));
    });
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let mut coordinates = Vec::with_capacity(found.len() * rank);
    let mut values: Vec<Number> = Vec::new();
    let mut last: Option<Vec<i64>> = None;
    for (index, value) in found {
        match (last.as_ref() == Some(&index), values.last_mut()) {
            (true, Some(sum)) => *sum = plus(*sum, value),
            _ => {
                coordinates.extend_from_slice(&index);
                values.push(value);
                last = Some(index);
            }
        }
    }
    let shape = tensor.shape().iter().map(|extent| *extent as usize).collect();
    Entries { shape, coordinates, values: storage(element, values.into_iter()) }
}

fn plus(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Truth(a), Number::Truth(b)) => Number::Truth(a || b),
        (Number::Integer(a), Number::Integer(b)) => Number::Integer(a.wrapping_add(b)),
        (Number::Complex(_), _) | (_, Number::Complex(_)) => {
            Number::Complex(a.to_complex() + b.to_complex())
        }
        (a, b) => Number::Float(a.to_f64() + b.to_f64()),
    }
}

/// A random weight: odd numbers for integers, so that no difference vanishes modulo a power of two; small numbers that
/// are not 0 for floats.
pub(super) fn weight(element: Element, seed: u64, dimension: usize, at: i64) -> i64 {
    // The finaliser of splitmix64, by Steele, Lea and Flood.
    let mut bits = at.cast_unsigned().wrapping_add((seed << 8 | dimension as u64) << 48);
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    match element.is_integer() {
        true => (bits | 1).cast_signed(),
        false => {
            let size = 1 + (bits >> 1 & 7).cast_signed();
            if bits & 1 == 0 { size } else { -size }
        }
    }
}
