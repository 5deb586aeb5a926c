//! Checks rules whose results are no real floats, and rules over complex numbers.
//!
//! Integers have no quotients, fractions or infinities, so a rule with such a head must not have any either. Truth
//! values are the results of `or(..)`. What is computed of complex numbers is complex, but for their parts and absolute
//! values, and since they have no order, they are only added and multiplied.

use super::Checker;
use crate::ast::{CompareOp, Operation, PLACE, Span, is_product};
use crate::coefficient::Coefficient;
use crate::diagnostic::Diagnostic;
use crate::program::{
    Applied, Element, Product, Program, Role, Rule, Scalar, Structure, Tensor, TensorId,
};
use crate::semiring::Semiring;
use dastac_elements::{Function, Kind};

/// Larger integers are not exact in 64-bit floats, which numbers of programs are.
const MOST: f64 = (1u64 << 53) as f64;

/// What is wrong: where, and what it is.
type Wrong = (Span, String);

/// Makes inputs whose elements are subscripts integers, unless their type is given, and those whose elements are where
/// ranges of an iterator begin and end: `E(c(i), j)`, `(p(i) <= k) * (k < p(i + 1))`.
pub(super) fn choose_places(program: &mut Program, given: &[&str]) {
    let products = program.rules.iter().flat_map(|rule| &rule.products);
    let chosen: Vec<TensorId> =
        products.flat_map(|product| [product.places(), product.ends()].concat()).collect();
    for tensor in chosen {
        let tensor = &mut program.tensors[tensor.0];
        if tensor.role == Role::Input && !given.contains(&tensor.name.as_str()) {
            tensor.element = Element::I64;
        }
    }
}

impl Product {
    /// The tensors whose elements say where another one is read or stored to: `c` in `E(c(i), j)`, which is `sum(E.at1)
    /// E(E.at1, j) * (c(i) = E.at1)`.
    pub fn places(&self) -> Vec<TensorId> {
        let mut found = Vec::new();
        for Applied { value, .. } in &self.functions {
            value.visit(&mut |part| {
                if let Scalar::Apply(Operation::Compare(CompareOp::Eq), parts) = part
                    && let [place, Scalar::Index(name)] = parts.as_slice()
                    && name.contains(PLACE)
                {
                    elements(place, &mut |at| found.push(self.accesses[at].tensor));
                }
            });
        }
        found
    }

    /// The tensors whose elements bound an iterator from below and from above.
    fn ends(&self) -> Vec<TensorId> {
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for Applied { value, .. } in &self.functions {
            value.visit(&mut |part| {
                let Scalar::Apply(Operation::Compare(operator), parts) = part else { return };
                let (at, name, first) = match &parts[..] {
                    [Scalar::Element(at), Scalar::Index(name)] => (*at, name, true),
                    [Scalar::Index(name), Scalar::Element(at)] => (*at, name, false),
                    _ => return,
                };
                let list = match (operator, first) {
                    (CompareOp::Lt | CompareOp::Le, true) => &mut below,
                    (CompareOp::Gt | CompareOp::Ge, false) => &mut below,
                    (CompareOp::Lt | CompareOp::Le, false) => &mut above,
                    (CompareOp::Gt | CompareOp::Ge, true) => &mut above,
                    _ => return,
                };
                list.push((self.accesses[at].tensor, name.clone()));
            });
        }
        below.retain(|end| above.contains(end));
        below.into_iter().map(|(tensor, _)| tensor).collect()
    }
}

/// Calls `visit` with the elements of which an integer is made: those of `c(i) + 1`, `min(c(i), N - 1)`, `c(i) % N`.
fn elements(value: &Scalar, visit: &mut dyn FnMut(usize)) {
    use Function::{Abs, FloorDivide, Mod};
    match value {
        Scalar::Element(at) => visit(*at),
        Scalar::Apply(Operation::Where, parts) => {
            parts.iter().skip(1).for_each(|part| elements(part, visit));
        }
        Scalar::Apply(
            Operation::Min
            | Operation::Max
            | Operation::Divide
            | Operation::Function(Abs | FloorDivide | Mod),
            parts,
        ) => parts.iter().for_each(|part| elements(part, visit)),
        Scalar::Sum(parts) | Scalar::Product(parts) => {
            parts.iter().for_each(|part| elements(part, visit));
        }
        _ => {}
    }
}

/// Makes comparisons of floats, and of what is a float of integers, integers in rules that count them, and rounded
/// quotients too: `(A(i) > 0)` -> `i64((A(i) > 0))`, `floor(k(i) / 3)` -> `i64(floor(k(i) / 3))`.
pub(super) fn count_comparisons(program: &mut Program) {
    let Program { tensors, rules, .. } = program;
    let floats = |product: &Product, at: usize| {
        let element = tensors[product.accesses[at].tensor.0].element;
        element.is_float() || element.is_complex()
    };
    for rule in rules {
        if !matches!(tensors[rule.head.0].element.kind(), Kind::Signed | Kind::Unsigned) {
            continue;
        }
        for product in &mut rule.products {
            let functions = std::mem::take(&mut product.functions);
            let counted = functions.into_iter().map(|function| {
                let value = counted(&function.value, &|at| floats(product, at));
                Applied { value, ..function }
            });
            product.functions = counted.collect();
        }
    }
}

/// A value with its comparisons of floats as integers.
fn counted(value: &Scalar, is_float: &dyn Fn(usize) -> bool) -> Scalar {
    let all = |parts: &[Scalar]| parts.iter().map(|part| counted(part, is_float)).collect();
    match value {
        Scalar::Apply(Operation::Compare(operator), parts) => {
            let mut floats = false;
            value.visit(&mut |part| {
                floats |= match part {
                    Scalar::Element(at) => is_float(*at),
                    Scalar::Number(value) => value.fract() != 0.0,
                    Scalar::Apply(Operation::Divide, _) => true,
                    Scalar::Apply(Operation::Function(function), of) => {
                        let is_power = *function == Function::Pow && is_whole(of);
                        !function.of_integers() && !is_power
                    }
                    _ => false,
                };
            });
            match floats {
                true => Scalar::Apply(Operation::Cast(Element::I64), vec![value.clone()]),
                false => Scalar::Apply(Operation::Compare(*operator), all(parts)),
            }
        }
        Scalar::Apply(Operation::Function(function), parts)
            if function.of_integers()
                && matches!(parts[..], [Scalar::Apply(Operation::Divide, _)]) =>
        {
            Scalar::Apply(Operation::Cast(Element::I64), vec![value.clone()])
        }
        Scalar::Apply(Operation::Cast(_), _) => value.clone(),
        Scalar::Apply(operation, parts) => Scalar::Apply(*operation, all(parts)),
        Scalar::Sum(parts) => Scalar::Sum(all(parts)),
        Scalar::Product(parts) => Scalar::Product(all(parts)),
        leaf => leaf.clone(),
    }
}

impl Checker<'_> {
    /// Rules whose heads are integers, truth values or complex numbers, rules over complex numbers, and redundancy maps
    /// of integers and truth values.
    pub(super) fn element_types(&mut self, program: &Program) {
        for rule in &program.rules {
            let head = program.tensor(rule.head);
            let found = match head.element.kind() {
                Kind::Float => only_real(program, rule),
                Kind::Complex => complex(program, rule),
                Kind::Truth => only_real(program, rule).or_else(|| truth(rule)),
                Kind::Signed | Kind::Unsigned => {
                    only_real(program, rule).or_else(|| integers(program, rule))
                }
            };
            if let Some(((span, label), hint)) = found {
                let Tensor { name, element, .. } = head;
                let message = format!("`{name}` has elements of type {}", element.name());
                self.report(Diagnostic::error("E0131", message, span, label).hint(hint));
            }
        }
        for tensor in program.tensors.iter().filter(|tensor| tensor.element.is_integer()) {
            let signed = tensor.element.is_signed();
            let Some((span, label)) = tensor.redundancy.as_ref().and_then(|r| scaled(r, signed))
            else {
                continue;
            };
            let message =
                format!("`{}` has elements of type {}", tensor.name, tensor.element.name());
            let hint = match tensor.element.kind() {
                Kind::Truth => "redundant truth values equal unique ones",
                _ if signed => "redundant integers equal unique ones or their negatives",
                _ => "redundant integers without a sign equal unique ones",
            };
            self.report(Diagnostic::error("E0131", message, span, label).hint(hint));
        }
    }
}

/// What a rule into real numbers or truth values computes that is complex. That an element is there is no number.
fn only_real(program: &Program, rule: &Rule) -> Option<(Wrong, &'static str)> {
    let hint = "what is computed of complex numbers is complex: make its elements complex128, or take `real(..)`, \
        `imag(..)` or `abs(..)`";
    for product in &rule.products {
        let read = product.accesses.iter().find(|access| {
            access.position.is_none()
                && !access.argument
                && program.tensor(access.tensor).element.is_complex()
        });
        if let Some(read) = read {
            let Tensor { name, element, .. } = program.tensor(read.tensor);
            let label = format!("`{name}` has elements of type {}", element.name());
            return Some(((read.span, label), hint));
        }
        for function in &product.functions {
            match is_complex(program, product, &function.value) {
                Ok(false) => {}
                Ok(true) => return Some(((function.span, "a complex number".into()), hint)),
                Err(what) => return Some(((function.span, what), OF_REALS)),
            }
        }
    }
    None
}

/// What to do about functions of complex numbers.
const OF_REALS: &str = "complex numbers are added, multiplied and divided, and have `conj`, `real`, `imag`, `abs`, \
    `exp`, `log`, `sqrt`, `sin`, `cos`, `sinh`, `cosh` and powers; `complex(a, b)` is `a + b i`";

fn complex(program: &Program, rule: &Rule) -> Option<(Wrong, &'static str)> {
    let wrong = (rule.span, format!("a rule of {}", rule.semiring));
    let hint =
        "complex numbers have neither an order nor a truth value: they are added and multiplied";
    if rule.semiring != Semiring::SumTimes {
        return Some((wrong, hint));
    }
    rule.products.iter().find_map(|product| {
        product.functions.iter().find_map(|function| {
            let what = is_complex(program, product, &function.value).err()?;
            Some(((function.span, what), OF_REALS))
        })
    })
}

/// Whether a value is complex; what is wrong with it, if complex numbers have no such function.
fn is_complex(program: &Program, product: &Product, value: &Scalar) -> Result<bool, String> {
    let mut kinds = Vec::new();
    for part in value.parts() {
        kinds.push(is_complex(program, product, part)?);
    }
    let any = kinds.contains(&true);
    let Scalar::Apply(operation, _) = value else {
        return Ok(match value {
            Scalar::Element(at) => {
                program.tensor(product.accesses[*at].tensor).element.is_complex()
            }
            _ => any,
        });
    };
    let what = match operation {
        Operation::Divide => return Ok(any),
        Operation::Function(Function::Complex) if !any => return Ok(true),
        Operation::Function(function) if function.of_complex() => {
            return Ok(any && !function.is_real_of_complex());
        }
        // Which of two numbers it is may be decided by whether a third one is 0.
        Operation::Where => return Ok(kinds[1..].contains(&true)),
        Operation::Cast(element) if element.is_complex() => "a cast to complex numbers".into(),
        _ if !any => return Ok(false),
        Operation::Function(function) => format!("`{}` of complex numbers", function.name()),
        Operation::Compare(_) => "a comparison of complex numbers".into(),
        Operation::Min => "a minimum of complex numbers".into(),
        Operation::Max => "a maximum of complex numbers".into(),
        Operation::Cast(_) => "a cast of complex numbers".into(),
    };
    Err(what)
}

fn truth(rule: &Rule) -> Option<(Wrong, &'static str)> {
    let wrong = (rule.span, format!("a rule of {}", rule.semiring));
    let hint = "truth values are computed with `or(..)`: whether a product has no factor that is 0";
    (rule.semiring != Semiring::OrAnd).then_some((wrong, hint))
}

fn integers(program: &Program, rule: &Rule) -> Option<(Wrong, &'static str)> {
    if rule.semiring.zero().is_infinite() && !rule.semiring.is_of_values() {
        let label = format!("the zero of {} is infinite", rule.semiring);
        return Some(((rule.span, label), "elements of type f64 can be infinite"));
    }
    let wrong = rule.products.iter().find_map(|product| fraction(program, product))?;
    Some((
        wrong,
        "integers are sums and products of integers (`a // b` rounds quotients down): make its elements f64, or say \
         how values become integers, as in `floor(x(i))`",
    ))
}

/// The first part of a product that is not an integer.
fn fraction(program: &Program, product: &Product) -> Option<Wrong> {
    if product.coefficient.fract() != 0.0 || product.coefficient.abs() > MOST {
        return Some((
            product.span,
            format!("the number {} among its factors", product.coefficient),
        ));
    }
    let reciprocal = product.symbols.iter().find(|factor| factor.reciprocal);
    if let Some(factor) = reciprocal {
        return Some((factor.span, "a reciprocal".into()));
    }
    if let Some(wrong) = product.functions.iter().find_map(of_reals) {
        return Some(wrong);
    }
    // What is cast may be of any type; `of_reals` has looked at the rest.
    product.accesses.iter().enumerate().filter(|(at, _)| !cast(product, *at)).find_map(
        |(_, access)| {
            let Tensor { name, element, .. } = program.tensor(access.tensor);
            if access.reciprocal {
                return Some((access.span, "a reciprocal".into()));
            }
            let label = || format!("`{name}` has elements of type {}", element.name());
            (element.is_float() || element.is_complex()).then(|| (access.span, label()))
        },
    )
}

/// A function that has no integer value of integers.
fn of_reals(function: &Applied) -> Option<Wrong> {
    let mut wrong = function.reciprocal.then(|| "a quotient".to_string());
    fn within(value: &Scalar, wrong: &mut Option<String>) {
        let label = match value {
            Scalar::Apply(Operation::Divide, _) => Some("a quotient".to_string()),
            Scalar::Apply(Operation::Function(Function::Pow), parts) if is_whole(parts) => None,
            Scalar::Apply(Operation::Function(function), _) if !function.of_integers() => {
                Some(format!("`{}` of integers", function.name()))
            }
            // What is cast to an integer may be anything.
            Scalar::Apply(Operation::Cast(element), _) if element.is_integer() => return,
            Scalar::Apply(Operation::Cast(_), _) => Some("a cast to a float".to_string()),
            Scalar::Number(number) if number.fract() != 0.0 || number.abs() > MOST => {
                Some(format!("the number {number}"))
            }
            _ => None,
        };
        *wrong = wrong.take().or(label);
        value.parts().iter().for_each(|part| within(part, wrong));
    }
    within(&function.value, &mut wrong);
    wrong.map(|label| (function.span, label))
}

/// Whether a power is a product.
fn is_whole(parts: &[Scalar]) -> bool {
    matches!(parts, [_, Scalar::Number(by)] if is_product(*by))
}

/// Whether an element is only read where it is cast to an integer.
fn cast(product: &Product, at: usize) -> bool {
    fn outside(value: &Scalar, at: usize) -> bool {
        match value {
            Scalar::Element(other) => *other == at,
            Scalar::Apply(Operation::Cast(element), _) if element.is_integer() => false,
            other => other.parts().iter().any(|part| outside(part, at)),
        }
    }
    product.accesses[at].argument && !product.functions.iter().any(|one| outside(&one.value, at))
}

/// The coefficients of a redundancy map that are not 1 or, if the type has signs, -1.
fn scaled(redundancy: &Structure, signed: bool) -> Option<Wrong> {
    let allowed = |coefficient: &Coefficient| {
        coefficient.is_one() || signed && *coefficient == Coefficient::sign(true)
    };
    let region = redundancy.regions.iter().find(|region| !allowed(&region.coefficient))?;
    Some((region.span, "a multiple".into()))
}
