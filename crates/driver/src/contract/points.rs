//! How many points come to results with formats at the sizes of a run: what workspaces are chosen by.

use std::collections::BTreeMap;

use dastac_stur::TensorId;
use dastac_stur::infer::Inferred;

use super::choose::reads_unknown;
use super::cost::Counted;
use super::steps::Sizes;
use crate::Error;

/// What is expected of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// How many points come to it, of which some are the same.
    pub points: f64,
    /// Its extents, by dimension.
    pub extents: Vec<f64>,
}

/// Of each result with a format, where it can be estimated: where what is stored of its operands is known. It is taken
/// to stand anywhere with the same probability, as far as nothing is known of where elements meet.
pub(super) fn expected(inferred: &Inferred, sizes: &Sizes) -> BTreeMap<TensorId, Expected> {
    let program = &inferred.program;
    let sizes = sizes.rounded();
    let Ok(counted) = Counted::new(inferred, &sizes) else { return BTreeMap::new() };
    let mut all: BTreeMap<TensorId, Option<Expected>> = BTreeMap::new();
    for rule in &inferred.rules {
        if program.tensor(rule.head).format.is_none() {
            continue;
        }
        let source = &program.rules[rule.rule.0];
        let unknown = source.products.iter().any(|product| reads_unknown(program, product));
        let points = || -> Result<f64, Error> {
            let each = rule.statements.iter().map(|statement| {
                let mut points = counted.statement(statement)?;
                // Iterators that are computed have one value.
                for definition in &statement.definitions {
                    points /= counted.extent(&[statement], &definition.iterator)?.max(1.0);
                }
                Ok(points)
            });
            Ok(each.collect::<Result<Vec<f64>, Error>>()?.iter().sum())
        };
        // What cannot be counted is not known.
        let points = if unknown { None } else { points().ok() };
        let times = sizes.meeting.get(&rule.head).copied().unwrap_or(1.0);
        let points = points.map(|points| points * times);
        let own = points.map(|points| Expected { points, extents: counted.extents(rule.head) });
        let one = all
            .entry(rule.head)
            .or_insert_with(|| own.as_ref().map(|own| Expected { points: 0.0, ..own.clone() }));
        *one = one
            .take()
            .zip(own)
            .map(|(one, own)| Expected { points: one.points + own.points, ..own });
    }
    all.into_iter().filter_map(|(head, one)| Some((head, one?))).collect()
}
