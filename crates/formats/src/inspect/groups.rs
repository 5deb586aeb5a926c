//! Answers to queries.

use dastac_elements::{Complex, Element, Number};
use rayon::prelude::*;

use crate::format::{Aggregate, Query};
use crate::storage::Entries;

/// A group of entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The values of the query's expressions.
    pub key: Vec<i128>,
    /// What was asked.
    pub answer: Answer,
}

/// What was asked of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// A count, or of integers and truth values.
    Integer(i128),
    /// Of floats.
    Float(f64),
    /// Of complex numbers.
    Complex(Complex<f64>),
    /// Whether there is any.
    Truth(bool),
}

/// Numbers that are neither smaller nor larger than others: complex ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoOrder;

/// The groups that have entries, in the order of their keys. Those of one group are added up in the order in which they
/// are given, so that answers are the same in every run.
///
/// # Errors
/// The largest or smallest of complex numbers.
pub fn groups(query: &Query, entries: &Entries) -> Result<Vec<Group>, NoOrder> {
    let element = entries.values().element();
    let ordered = matches!(query.aggregate, Aggregate::Max | Aggregate::Min);
    if ordered && element.is_complex() {
        return Err(NoOrder);
    }
    let width = query.groups.len();
    let keys: Vec<i128> = (0..entries.len())
        .into_par_iter()
        .flat_map_iter(|entry| {
            let coordinates = entries.at(entry);
            let value = move |at: usize| i128::from(coordinates[at]);
            query.groups.iter().map(move |expr| expr.value(&value))
        })
        .collect();
    let key = |entry: usize| &keys[entry * width..][..width];
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.par_sort_by(|one, other| key(*one).cmp(key(*other)));
    let numbers: Vec<Number> = entries.values().numbers().collect();
    let group = |group: &[usize]| Group {
        key: group.first().map_or(Vec::new(), |first| key(*first).to_vec()),
        answer: answer(query.aggregate, element, group.iter().map(|entry| numbers[*entry])),
    };
    Ok(order.chunk_by(|one, other| key(*one) == key(*other)).map(group).collect())
}

/// What is asked of the numbers of one group, which has some.
fn answer(asked: Aggregate, element: Element, mut numbers: impl Iterator<Item = Number>) -> Answer {
    match asked {
        Aggregate::Count => Answer::Integer(numbers.count() as i128),
        Aggregate::Any => Answer::Truth(numbers.any(|number| !number.is(0.0))),
        Aggregate::Sum if element.is_complex() => {
            Answer::Complex(numbers.map(Number::to_complex).sum())
        }
        _ => {
            let first = numbers.next().map_or(Answer::Integer(0), real);
            numbers.map(real).fold(first, |so_far, number| both(asked, so_far, number))
        }
    }
}

fn real(number: Number) -> Answer {
    match number {
        Number::Integer(value) => Answer::Integer(value.into()),
        Number::Truth(value) => Answer::Integer(value.into()),
        Number::Float(_) | Number::Complex(_) => Answer::Float(number.to_f64()),
    }
}

/// The sum, or the larger or smaller one, of two real numbers of one kind; what is no number stays none.
fn both(asked: Aggregate, one: Answer, other: Answer) -> Answer {
    match (one, other) {
        (Answer::Integer(one), Answer::Integer(other)) => Answer::Integer(match asked {
            Aggregate::Max => one.max(other),
            Aggregate::Min => one.min(other),
            // Fewer than 2^64 numbers of 64 bits: the sum fits.
            _ => one + other,
        }),
        (Answer::Float(one), Answer::Float(other)) => Answer::Float(match asked {
            Aggregate::Max | Aggregate::Min if one.is_nan() || other.is_nan() => f64::NAN,
            Aggregate::Max => one.max(other),
            Aggregate::Min => one.min(other),
            _ => one + other,
        }),
        // Numbers of one tensor are of one kind.
        (one, _) => one,
    }
}
