//! What results with `:F` are where they store nothing.
//!
//! Functions act on what is stored of an operand, and on the 0 that stands for the rest of it: `exp(A(i, j))` is 1
//! there. If that is the same number for all elements of the result, the result stores what operands store, and carries
//! the number as its fill.

use crate::infer::fold;
use crate::program::{Access, Product, Program, Rule, Scalar};
use crate::semiring::Semiring;
use dastac_formats::Format;

/// Finds the fills of all rules, which are sorted.
pub(super) fn find(program: &mut Program) {
    for at in 0..program.rules.len() {
        let fill = of(program, &program.rules[at]);
        program.rules[at].fill = fill;
    }
}

/// The fill of a rule, if it has functions that make one.
fn of(program: &Program, rule: &Rule) -> Option<f64> {
    let head = program.tensor(rule.head);
    let format = &head.format.as_ref()?.format;
    if rule.semiring != Semiring::SumTimes || head.element.is_complex() || !is_plain(format) {
        return None;
    }
    let (mut sum, mut functions) = (0.0, false);
    for product in &rule.products {
        let Some(number) = elsewhere(program, rule, product)? else { continue };
        let of_nothing = |access: &Access| access.argument || program.fill(access.tensor) != 0.0;
        functions |= product.accesses.iter().any(of_nothing);
        sum += number;
    }
    // All that is stored of operands is stored of the result, at its own subscripts.
    let accesses = || rule.products.iter().flat_map(|product| &product.accesses);
    let mut dynamic = accesses().filter(|access| program.tensor(access.tensor).format.is_some());
    let placed = dynamic.all(|access| {
        let names = access.subscripts.iter().flat_map(crate::affine::names);
        let names: Vec<&str> = names.collect();
        access.position.is_none()
            && rule.iterators.iter().all(|name| names.contains(&name.as_str()))
    });
    (functions && placed).then(|| head.element.round(sum))
}

/// The value of a product where nothing is stored: nothing where it is zero.
///
/// `None` if it is not the same number everywhere.
#[allow(clippy::option_option)]
fn elsewhere(program: &Program, rule: &Rule, product: &Product) -> Option<Option<f64>> {
    let dynamic = |at: usize| {
        let access = &product.accesses[at];
        program.tensor(access.tensor).format.is_some().then(|| program.fill(access.tensor))
    };
    let mut number = product.coefficient;
    let mut varies = !product.symbols.is_empty() || !product.comparisons.is_empty();
    for (at, access) in product.accesses.iter().enumerate().filter(|(_, one)| !one.argument) {
        match dynamic(at) {
            Some(0.0) => return Some(None),
            Some(fill) => number *= if access.reciprocal { fill.recip() } else { fill },
            None => varies = true,
        }
    }
    for function in &product.functions {
        let value = fold(&function.value.map(&mut |leaf| match leaf {
            Scalar::Element(at) => dynamic(*at).map_or_else(|| leaf.clone(), Scalar::Number),
            leaf => leaf.clone(),
        }));
        match value {
            Scalar::Number(0.0) => return Some(None),
            Scalar::Number(value) => {
                number *= if function.reciprocal { value.recip() } else { value }
            }
            _ => varies = true,
        }
    }
    let inside = product.iterators.iter().all(|name| rule.iterators.contains(name));
    (!varies && inside).then_some(Some(number))
}

/// Whether a format stores no elements beside those that it is given: no dense level follows another one.
fn is_plain(format: &Format) -> bool {
    let levels = format.levels();
    let first = levels.iter().position(|level| !level.is_full());
    first.is_some_and(|first| levels[first..].iter().all(|level| !level.is_full()))
}
