//! The cases of a product with functions of elements: which arguments are structurally zero, and which comparisons in
//! functions hold.
//!
//! Before -> after, for `A` below the diagonal, `exp(A(i, j)) * x(j)` is `exp(A(i, j)) * x(j)` where `j <= i`, and
//! `x(j)` elsewhere.

use dastac_poly::Set;
use dastac_stur::ast::Comparison;
use dastac_stur::infer::{InferredRule, fold};
use dastac_stur::program::{Access, Product, Scalar};
use dastac_stur::sets::affine;

use super::{Stop, Validator};

/// A product with more cases is not followed.
const MAX_CASES: usize = 256;

/// A case of a product.
pub(super) struct Case<'p> {
    /// Its points, over `iterators`.
    pub(super) domain: Set,
    pub(super) iterators: &'p [String],
    /// The number that functions are in this case, among other factors.
    pub(super) coefficient: f64,
    /// The elements that are read, as positions among the product's accesses.
    pub(super) accesses: Vec<usize>,
    /// The functions that are left, and whether the product is divided by them. Elements are positions in `accesses`.
    pub(super) functions: Vec<(Scalar, bool)>,
}

/// What is known of leaves of functions in a case.
#[derive(Clone)]
struct Known {
    elements: Vec<Option<bool>>,
    comparisons: Vec<(Comparison, bool)>,
}

impl Validator<'_> {
    /// The cases of a product whose points are `space`; one for a product without functions.
    pub(super) fn cases<'p>(
        &'p self,
        rule: &InferredRule,
        product: &'p Product,
        space: &Set,
    ) -> Result<Vec<Case<'p>>, Stop> {
        let source = &self.inferred.program.rules[rule.rule.0];
        let sets = &self.inferred.sets;
        let elements = vec![None; product.accesses.len()];
        let mut waiting = vec![(space.clone(), Known { elements, comparisons: Vec::new() })];
        let mut found = Vec::new();
        while let Some((domain, known)) = waiting.pop() {
            if domain.is_empty()? {
                continue;
            }
            if found.len() + waiting.len() > MAX_CASES {
                return Err(Stop::undecided("functions with many cases"));
            }
            let functions = product.functions.iter();
            let folded: Vec<Scalar> = functions.map(|one| decided(&one.value, &known)).collect();
            if folded.contains(&Scalar::Number(0.0)) && !source.semiring.is_of_values() {
                continue;
            }
            let mut next = |inside: Set, set: &dyn Fn(&mut Known, bool)| -> Result<(), Stop> {
                for holds in [false, true] {
                    let mut known = known.clone();
                    set(&mut known, holds);
                    let part = match holds {
                        true => domain.intersect(&inside)?,
                        false => domain.subtract(&inside)?,
                    };
                    waiting.push((part.coalesce()?, known));
                }
                Ok(())
            };
            match folded.iter().find_map(|value| open(value, &known)) {
                Some(Scalar::Holds(one)) => {
                    let inside = sets.set(&product.iterators, &[], std::slice::from_ref(one))?;
                    next(inside, &|known, holds| known.comparisons.push((one.clone(), holds)))?;
                }
                Some(Scalar::Element(at)) => {
                    let inside = self.supported(product, &product.accesses[*at])?;
                    next(inside, &|known, holds| known.elements[*at] = Some(holds))?;
                }
                _ => found.push(case(product, folded, domain)),
            }
        }
        // A value that is the same at all points is computed once.
        let to_head = sets.access(&product.iterators, &source.subscripts())?;
        for case in &mut found {
            let constant = case.accesses.is_empty() && case.functions.is_empty();
            let once = source.semiring.is_of_values()
                && source.semiring.is_idempotent(product.coefficient * case.coefficient);
            if once && constant && !product.functions.is_empty() {
                case.domain = case.domain.apply(&to_head)?;
                case.iterators = &source.iterators;
            }
        }
        Ok(found)
    }

    /// The points at which an access may be non-zero.
    pub(super) fn supported(&self, product: &Product, access: &Access) -> Result<Set, Stop> {
        let support = &self.inferred.tensors[access.tensor.0].support;
        let mut subscripts = Vec::new();
        for subscript in &access.subscripts {
            subscripts.push(affine(subscript)?);
        }
        let map = self.inferred.sets.access(&product.iterators, &subscripts)?;
        Ok(map.intersect_range(support)?.domain()?)
    }
}

fn case(product: &Product, folded: Vec<Scalar>, domain: Set) -> Case<'_> {
    let mut used: Vec<bool> = product.accesses.iter().map(|access| !access.argument).collect();
    let (mut coefficient, mut functions) = (1.0, Vec::new());
    for (value, of) in folded.into_iter().zip(&product.functions) {
        match value {
            Scalar::Number(number) => {
                coefficient *= if of.reciprocal { number.recip() } else { number };
            }
            value => {
                value.visit(&mut |part| {
                    if let Scalar::Element(at) = part {
                        used[*at] = true;
                    }
                });
                functions.push((value, of.reciprocal));
            }
        }
    }
    let accesses: Vec<usize> = (0..used.len()).filter(|at| used[*at]).collect();
    for (value, _) in &mut functions {
        *value = value.map(&mut |leaf| match leaf {
            Scalar::Element(at) => {
                Scalar::Element(accesses.iter().position(|other| other == at).unwrap_or(0))
            }
            leaf => leaf.clone(),
        });
    }
    Case { domain, iterators: &product.iterators, coefficient, accesses, functions }
}

/// A value in a case.
fn decided(value: &Scalar, known: &Known) -> Scalar {
    fold(&value.map(&mut |leaf| match leaf {
        Scalar::Element(at) if known.elements[*at] == Some(false) => Scalar::Number(0.0),
        Scalar::Holds(comparison) => {
            let found = known.comparisons.iter().find(|(other, _)| other == comparison);
            found.map_or_else(|| leaf.clone(), |(_, holds)| Scalar::Number(f64::from(*holds)))
        }
        leaf => leaf.clone(),
    }))
}

/// A leaf that is not decided: a comparison before an element.
fn open<'s>(value: &'s Scalar, known: &Known) -> Option<&'s Scalar> {
    let mut found = None;
    value.visit(&mut |part| match part {
        Scalar::Holds(_) => found = Some(part),
        Scalar::Element(at) if known.elements[*at].is_none() && found.is_none() => {
            found = Some(part);
        }
        _ => {}
    });
    found
}
