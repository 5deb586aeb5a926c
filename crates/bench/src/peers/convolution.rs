//! Describes a rule as a convolution of the kind that libraries compute, of pictures and filters with channels first.

use dastac_runtime::Role;
use dastac_stur::infer::{Read, Statement};
use dastac_stur::program::TensorId;
use dastac_stur::sets::{Affine, Atom};
use serde_json::{Value, json};

use dastac_driver::driver::Laid;
use dastac_driver::run::Runner;

/// What a dimension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    /// Of the pictures.
    Picture,
    /// What is summed over, beside the window.
    Channel,
    /// Of the filters.
    Filter,
    /// A direction in which the window moves.
    Space(usize),
}

/// Iterators with their factors.
fn terms(subscript: &Affine) -> Vec<(&str, i64)> {
    let terms = subscript.terms.iter().filter_map(|(atom, by)| match atom {
        Atom::Name(name) => Some((name.as_str(), *by)),
        Atom::Floor(..) => None,
    });
    terms.collect()
}

fn mentions(read: &Read, name: &str) -> bool {
    read.subscripts.iter().flat_map(terms).any(|(own, _)| own == name)
}

/// Strides, and of picture, filters and result (`tensors`) the extents as they are stored (`shape`), at which of these
/// each of the library's dimensions stands (`axes`, -1 where there is none), and of inputs which file has them
/// (`file`).
pub(super) fn described(laid: &Laid, shared: &Runner) -> Result<Value, String> {
    let inferred = laid.inferred();
    let [rule] = &inferred.rules[..] else { return Err("it is given rules alone".into()) };
    let [Statement { reads, .. }] = &rule.statements[..] else {
        return Err("it is given one product".into());
    };
    let [one, other] = &reads[..] else { return Err("it is given two tensors".into()) };
    let moves = |read: &Read| read.subscripts.iter().any(|subscript| terms(subscript).len() == 2);
    let (picture, filters) = if moves(one) { (one, other) } else { (other, one) };
    let head = &inferred.program.rules[rule.rule.0].iterators;
    let in_head = |name: &str| head.iter().any(|own| own == name);
    let space: Vec<Vec<(&str, i64)>> =
        picture.subscripts.iter().map(terms).filter(|terms| terms.len() == 2).collect();
    let strides: Vec<i64> =
        space.iter().flatten().filter(|(name, _)| in_head(name)).map(|(_, by)| *by).collect();
    if space.is_empty() || strides.len() != space.len() {
        return Err("it is given convolutions only".into());
    }
    if !laid.layouts[rule.head.0].order.is_sorted() {
        return Err("its result does not stand in C order".into());
    }
    let axis = |name: &str| {
        let along = space.iter().position(|terms| terms.iter().any(|(own, _)| *own == name));
        match along {
            Some(at) => Axis::Space(at),
            None if !in_head(name) => Axis::Channel,
            None if mentions(filters, name) => Axis::Filter,
            None => Axis::Picture,
        }
    };
    let of = |read: &Read| -> Vec<Axis> {
        let first = |subscript| terms(subscript).first().map(|(name, _)| axis(name));
        read.subscripts.iter().filter_map(first).collect()
    };
    let inputs = || shared.facts().iter().map(|fact| fact.role == Role::Input);
    let about = |tensor: TensorId, first: [Axis; 2], own: &[Axis]| {
        let wanted = first.into_iter().chain((0..space.len()).map(Axis::Space));
        let place = |axis: Axis| own.iter().position(|other| *other == axis);
        let axes: Vec<i64> = wanted.map(|axis| place(axis).map_or(-1, |at| at as i64)).collect();
        let file = inputs().take(tensor.0).filter(|input| *input).count();
        json!({ "shape": shared.facts()[tensor.0].shape, "axes": axes, "file": file })
    };
    let result: Vec<Axis> = head.iter().map(|name| axis(name)).collect();
    Ok(json!({
        "strides": strides,
        "tensors": [
            about(picture.tensor, [Axis::Picture, Axis::Channel], &of(picture)),
            about(filters.tensor, [Axis::Filter, Axis::Channel], &of(filters)),
            about(rule.head, [Axis::Picture, Axis::Filter], &result),
        ],
    }))
}
