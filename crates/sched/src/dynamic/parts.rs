//! Rules over tensors in hybrid formats: the tensor is the sum of its parts.
//!
//! A product has a factor of the tensor where one of the parts stores the element, so it becomes one product for each
//! part; a product that has no such element is one that no part stores. The parts are disjoint, so nothing is counted
//! twice, whatever the semiring and the functions around. Before -> after, `A` in two parts:
//! `y(i) += A(i, j) * x(j)` -> `y(i) += A.part0(i, j) * x(j) + A.part1(i, j) * x(j)`
//!
//! A rule whose loops cannot walk the parts, or that asks where elements are among all of the tensor's, reads the whole
//! tensor.

use dastac_iterate::{Factor, Kernel, Operand, Product, obstacle};
use dastac_loops::Module;
use dastac_stur::program::TensorId;
use dastac_stur::semiring::Semiring;

use super::choose::has_position;
use super::operands::{self, Stored};
use super::walked::{Dynamic, Walked};

impl Dynamic<'_> {
    /// A rule that goes over the parts of its tensors; nothing where none has parts, or its loops cannot.
    pub(super) fn in_parts(
        &self,
        module: &mut Module,
        stored: &mut Vec<Stored>,
        walked: &Walked,
    ) -> Option<Walked> {
        let (mut scratch, mut all) = (module.clone(), stored.clone());
        let mut found = walked.clone();
        let mut divided = false;
        for operand in 0..walked.tensors.len() {
            let tensor = walked.tensors[operand];
            let storage = self.inferred.program.tensor(tensor).format.as_ref()?;
            let Some(hybrid) = &storage.hybrid else { continue };
            if has_position(&walked.kernel, operand) {
                return None;
            }
            // The zeros that fill up blocks are neutral in sums of products alone.
            let blocks = hybrid.parts.iter().any(|part| part.format.has_blocks());
            if blocks && !is_linear(&walked.kernel, operand) {
                return None;
            }
            let extents = walked.kernel.operands[operand].extents.clone();
            let parts = hybrid.parts.iter().enumerate().map(|(part, own)| {
                let known = |one: &&Stored| one.tensor == tensor && one.part == Some(part);
                if let Some(known) = all.iter().find(known) {
                    return known.operand.clone();
                }
                let (what, dimensions) = (format!("part{part}"), (&own.format, extents.clone()));
                let copy = (tensor, what.as_str());
                let own =
                    operands::copy(self.inferred, &mut scratch, copy, dimensions, self.indices);
                let (operand, converted_for) = (own.clone(), Some(walked.head));
                all.push(Stored { tensor, operand, converted_for, part: Some(part) });
                own
            });
            let parts: Vec<Operand> = parts.collect();
            divide(&mut found, operand, (tensor, parts));
            divided = true;
        }
        // Of a tensor that is several factors, no factor is the whole any more.
        let Walked { kernel: Kernel { products, operands, .. }, tensors, .. } = &mut found;
        products.retain(|product| !is_empty(product, tensors, operands));
        if !divided || obstacle(&scratch, &found.kernel).is_some() {
            return None;
        }
        (*module, *stored) = (scratch, all);
        found.divided = true;
        Some(found)
    }
}

/// Whether an operand's elements are factors of sums of products, and nothing else.
fn is_linear(kernel: &Kernel, operand: usize) -> bool {
    let own = |factor: &&Factor| factor.operand == operand;
    kernel.semiring == Semiring::SumTimes
        && kernel.products.iter().all(|product| {
            let mut factors = product.factors.iter().filter(own);
            !product.absent.iter().any(|factor| own(&factor)) && factors.all(|one| !one.argument)
        })
}

/// Has the parts of a tensor stand for an operand.
fn divide(walked: &mut Walked, operand: usize, (tensor, parts): (TensorId, Vec<Operand>)) {
    let Walked { kernel, tensors, .. } = walked;
    let mut numbers = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        match at {
            0 => {
                kernel.operands[operand] = part;
                numbers.push(operand);
            }
            _ => {
                numbers.push(kernel.operands.len());
                kernel.operands.push(part);
                tensors.push(tensor);
            }
        }
    }
    let products = &mut kernel.products;
    let divided = std::mem::take(products).into_iter();
    *products = divided.flat_map(|product| products_of(product, operand, &numbers)).collect();
}

/// A product for each part that may have its element.
fn products_of(mut product: Product, operand: usize, parts: &[usize]) -> Vec<Product> {
    let absent = std::mem::take(&mut product.absent);
    product.absent = absent
        .into_iter()
        .flat_map(|factor| match factor.operand == operand {
            true => parts.iter().map(|part| Factor { operand: *part, ..factor.clone() }).collect(),
            false => vec![factor],
        })
        .collect();
    if !product.factors.iter().any(|factor| factor.operand == operand) {
        return vec![product];
    }
    let of_part = |part: &usize| {
        let mut own = product.clone();
        for factor in own.factors.iter_mut().filter(|factor| factor.operand == operand) {
            factor.operand = *part;
        }
        own
    };
    parts.iter().map(of_part).collect()
}

/// Whether a product has one element in two parts, which are disjoint.
fn is_empty(product: &Product, tensors: &[TensorId], operands: &[Operand]) -> bool {
    product.factors.iter().enumerate().any(|(at, one)| {
        product.factors[..at].iter().any(|other| {
            tensors[one.operand] == tensors[other.operand]
                && operands[one.operand].values != operands[other.operand].values
                && one.subscripts == other.subscripts
        })
    })
}
