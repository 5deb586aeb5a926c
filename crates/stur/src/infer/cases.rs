//! Products with functions of elements as products whose elements are all structurally there.
//!
//! An argument of a function need not be: where it is structurally zero, the function is that of 0. Before -> after,
//! for `A` below the diagonal, `exp(A(i, j)) * x(j)` is `exp(A(i, j)) * x(j)` where `j <= i`, and `x(j)` elsewhere.
//! `sqrt(A(i, j)) * x(j)` is zero elsewhere, so that one case is left. Comparisons in arguments are decided likewise.

use dastac_poly::Set;

use super::fold::fold;
use super::{InferError, Space, Structured, named};
use crate::ast::Comparison;
use crate::diagnostic::Diagnostic;
use crate::program::{Applied, Product, Rule, Scalar, TensorId};
use crate::sets::Sets;

/// More cases of one product exceed a limit, which is an error.
const MAX_CASES: usize = 256;

/// What a case knows of a leaf: that it is there, or holds; or that it is zero.
#[derive(Clone)]
struct Known {
    elements: Vec<Option<bool>>,
    comparisons: Vec<(Comparison, bool)>,
}

/// A leaf on which the cases of a product differ.
enum Leaf {
    Element(usize),
    Comparison(Comparison),
}

type Lookup<'a, 'b> = &'b dyn Fn(TensorId) -> Option<&'a Structured>;

/// The cases of a product with functions, each with its iteration space.
pub(super) fn cases<'a>(
    sets: &Sets,
    known: Lookup<'a, '_>,
    rule: &Rule,
    product: &Product,
    frame: &Space,
) -> Result<Vec<(Product, Space)>, InferError> {
    let nothing = Known { elements: vec![None; product.accesses.len()], comparisons: Vec::new() };
    let mut waiting = vec![(frame.domain.clone(), nothing)];
    let mut found = Vec::new();
    while let Some((domain, here)) = waiting.pop() {
        if domain.is_empty()? {
            continue;
        }
        if found.len() + waiting.len() > MAX_CASES {
            let message = format!("more than {MAX_CASES} cases of which arguments are zero");
            let error =
                Diagnostic::error("E0311", message, product.span, "each argument's cases multiply");
            return Err(error.hint("compute a part of it in a rule of its own").into());
        }
        let folded: Vec<Scalar> =
            product.functions.iter().map(|one| simplified(&one.value, &here)).collect();
        let zero = folded.contains(&Scalar::Number(0.0));
        if zero && !rule.semiring.is_of_values() {
            continue;
        }
        let Some(leaf) = folded.iter().find_map(|value| open(value, &here)) else {
            found.push(case(sets, rule, product, frame, (folded, domain))?);
            continue;
        };
        let there = match &leaf {
            Leaf::Comparison(comparison) => {
                sets.set(&product.iterators, &[], std::slice::from_ref(comparison))?
            }
            Leaf::Element(at) => match known(product.accesses[*at].tensor) {
                Some(operand) => {
                    let map = sets.access(&product.iterators, &frame.subscripts[*at])?;
                    map.intersect_range(&operand.support)?.domain()?
                }
                None => domain.clone(),
            },
        };
        for holds in [false, true] {
            let mut next = here.clone();
            match &leaf {
                Leaf::Element(at) => next.elements[*at] = Some(holds),
                Leaf::Comparison(one) => next.comparisons.push((one.clone(), holds)),
            }
            let part = match holds {
                true => domain.intersect(&there)?,
                false => domain.subtract(&there)?,
            };
            waiting.push((part.coalesce()?, next));
        }
    }
    Ok(found)
}

/// A value in a case.
fn simplified(value: &Scalar, here: &Known) -> Scalar {
    fold(&value.map(&mut |leaf| match leaf {
        Scalar::Element(at) if here.elements[*at] == Some(false) => Scalar::Number(0.0),
        Scalar::Holds(comparison) => {
            match here.comparisons.iter().find(|(other, _)| other == comparison) {
                Some((_, holds)) => Scalar::Number(f64::from(u8::from(*holds))),
                None => leaf.clone(),
            }
        }
        leaf => leaf.clone(),
    }))
}

/// A leaf that is not decided yet.
fn open(value: &Scalar, here: &Known) -> Option<Leaf> {
    let mut found = None;
    value.visit(&mut |part| match part {
        Scalar::Holds(comparison) => found = Some(Leaf::Comparison(comparison.clone())),
        Scalar::Element(at) if here.elements[*at].is_none() && found.is_none() => {
            found = Some(Leaf::Element(*at));
        }
        _ => {}
    });
    found
}

/// The product of a case, with the arguments that are left.
fn case(
    sets: &Sets,
    rule: &Rule,
    product: &Product,
    frame: &Space,
    (folded, domain): (Vec<Scalar>, Set),
) -> Result<(Product, Space), InferError> {
    let mut case = Product { functions: Vec::new(), ..product.clone() };
    let mut used: Vec<bool> = product.accesses.iter().map(|access| !access.argument).collect();
    for (value, of) in folded.into_iter().zip(&product.functions) {
        match value {
            Scalar::Number(number) => {
                case.coefficient *= if of.reciprocal { number.recip() } else { number };
            }
            value => {
                value.visit(&mut |part| {
                    if let Scalar::Element(at) = part {
                        used[*at] = true;
                    }
                });
                case.functions.push(Applied { value, ..of.clone() });
            }
        }
    }
    let places: Vec<usize> = used
        .iter()
        .scan(0, |next, used| Some(std::mem::replace(next, *next + usize::from(*used))))
        .collect();
    for function in &mut case.functions {
        function.value = function.value.map(&mut |leaf| match leaf {
            Scalar::Element(at) => Scalar::Element(places[*at]),
            leaf => leaf.clone(),
        });
    }
    let mut kept = used.iter();
    case.accesses.retain(|_| *kept.next().unwrap_or(&true));
    let subscripts = frame.subscripts.iter().zip(&used);
    let subscripts: Vec<_> =
        subscripts.filter(|(_, used)| **used).map(|(subscript, _)| subscript.clone()).collect();
    // Once is enough for a value that is the same at all points.
    let constant = case.accesses.is_empty() && case.functions.is_empty() && case.is_affine();
    let once = rule.semiring.is_of_values() && rule.semiring.is_idempotent(case.coefficient);
    let domain = match constant && once {
        true => {
            let head = domain.apply(&sets.access(&case.iterators, &rule.subscripts())?)?;
            case.iterators = rule.iterators.clone();
            case.comparisons.clear();
            head
        }
        false => domain,
    };
    let domain = named(sets, &domain.simplify()?, &case.iterators)?;
    Ok((case, Space { domain, subscripts }))
}
