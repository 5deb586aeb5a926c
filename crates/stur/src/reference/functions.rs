//! Functions of elements: their values at a point, and whether these are structurally zero.

use dastac_elements::{Complex, Function as Named};

use crate::ast::{CompareOp, Operation, is_product};
use crate::normal::divided;
use crate::program::{Element, Product, Rule, Scalar};
use crate::semiring::Semiring;

use super::code::{Code, Relation, relations};
use super::number::{self, Kind, Number};
use super::{EvalError, Evaluator};

/// A function among the factors of a product, prepared for evaluation.
pub(super) struct Function {
    value: Tree,
    /// What its value is computed with.
    kind: Kind,
    /// Whether the product is divided by it.
    pub reciprocal: bool,
    /// Whether it compares an integer of an input with an iterator: there is no product where it is 0.
    chooses: bool,
}

#[derive(Clone)]
enum Tree {
    Number(f64),
    Symbol(i64),
    Index(Code),
    /// An element that the product reads, and whether it is an integer.
    Element(usize, bool),
    Holds(Vec<Relation>),
    Sum(Vec<Tree>),
    Product(Vec<Tree>),
    Apply(Operation, Vec<Tree>),
}

/// A value.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// It follows from numbers, comparisons, and from where elements are structurally zero.
    Known(Number),
    /// It depends on the values of elements.
    Computed(Number),
}

impl Value {
    /// Whether it is structurally zero.
    pub fn is_zero(self) -> bool {
        matches!(self, Value::Known(value) if value.is_zero())
    }

    pub fn number(self) -> Number {
        let (Value::Known(value) | Value::Computed(value)) = self;
        value
    }

    /// Of a number that follows from others, all of which are known or not.
    fn of(number: Number, from: &[Value]) -> Value {
        match from.iter().all(|value| matches!(value, Value::Known(_))) {
            true => Value::Known(number),
            false => Value::Computed(number),
        }
    }

    fn as_kind(self, kind: Kind) -> Value {
        match self {
            Value::Known(value) => Value::Known(value.as_kind(kind)),
            Value::Computed(value) => Value::Computed(value.as_kind(kind)),
        }
    }
}

impl Function {
    /// Whether it leaves out the product whose factor it is, with this value.
    pub fn leaves_out(&self, value: Number, semiring: Semiring) -> bool {
        self.chooses && semiring == Semiring::SumTimes && value.is_zero()
    }

    /// Its value at a point. `arguments` are the elements that the product reads, `None` where they are structurally
    /// zero.
    pub fn value(&self, point: &[i64], arguments: &[Option<Number>]) -> Result<Value, EvalError> {
        self.value.value(self.kind, point, arguments)
    }

    /// Whether it is structurally zero wherever some of the elements that the product reads are not stored, whatever
    /// the others are. `stored` says for each element whether it is among the others, and `slots` is how many iterators
    /// there are.
    pub fn vanishes(&self, stored: &[bool], slots: usize) -> bool {
        let one = |stored: &bool| stored.then_some(Number::Integer(1));
        let arguments: Vec<Option<Number>> = stored.iter().map(one).collect();
        let value = self.value.anywhere().value(self.kind, &vec![0; slots], &arguments);
        value.is_ok_and(Value::is_zero)
    }
}

impl Tree {
    /// The value, in a computation of the given kind. What is compared, cast or decides is computed with what it is
    /// made of: see [`Tree::own_kind`].
    fn value(
        &self,
        kind: Kind,
        point: &[i64],
        arguments: &[Option<Number>],
    ) -> Result<Value, EvalError> {
        let all = |parts: &[Tree]| -> Result<Vec<Value>, EvalError> {
            parts.iter().map(|part| part.value(kind, point, arguments)).collect()
        };
        let join = |join: Joining, one: f64, parts: &[Value]| {
            let numbers = parts.iter().map(|part| part.number());
            numbers.fold(Number::of(kind, one), |a, b| join(Semiring::SumTimes, a, b))
        };
        Ok(match self {
            Tree::Number(number) => Value::Known(Number::of(kind, *number)),
            Tree::Symbol(number) => Value::Computed(Number::of_index(kind, *number)),
            Tree::Index(code) => Value::Computed(Number::of_index(kind, code.eval(point)?)),
            Tree::Element(at, _) => match arguments[*at] {
                Some(value) => Value::Computed(value.as_kind(kind)),
                None => Value::Known(Number::of(kind, 0.0)),
            },
            Tree::Holds(relations) => {
                let mut holds = true;
                for relation in relations {
                    holds &= relation.holds(point)?;
                }
                Value::Known(truth(holds).as_kind(kind))
            }
            Tree::Sum(parts) => {
                let parts = all(parts)?;
                Value::of(join(number::add, 0.0, &parts), &parts)
            }
            Tree::Product(parts) => {
                let parts = all(parts)?;
                match parts.iter().any(|part| part.is_zero()) {
                    true => Value::Known(Number::of(kind, 0.0)),
                    false => Value::of(join(number::multiply, 1.0, &parts), &parts),
                }
            }
            Tree::Apply(Operation::Function(Named::Pow), parts)
                if kind == Kind::Integers
                    && let [base, Tree::Number(by)] = &parts[..]
                    && is_product(*by) =>
            {
                let base = base.value(kind, point, arguments)?;
                let factors = vec![base; *by as usize];
                Value::of(join(number::multiply, 1.0, &factors), &factors)
            }
            Tree::Apply(operation, parts) => {
                let decides = match operation {
                    Operation::Compare(_) | Operation::Cast(_) => parts.len(),
                    Operation::Where => 1,
                    _ => 0,
                };
                let own = Tree::own_kind(&parts[..decides.min(parts.len())]);
                let mut values = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let kind = if at < decides { own } else { kind };
                    values.push(part.value(kind, point, arguments)?);
                }
                apply(*operation, &values).as_kind(kind)
            }
        })
    }

    /// With comparisons of iterators as if it was not known whether they hold.
    fn anywhere(&self) -> Tree {
        let all = |parts: &[Tree]| parts.iter().map(Tree::anywhere).collect();
        match self {
            Tree::Holds(_) => Tree::Symbol(1),
            Tree::Sum(parts) => Tree::Sum(all(parts)),
            Tree::Product(parts) => Tree::Product(all(parts)),
            Tree::Apply(operation, parts) => Tree::Apply(*operation, all(parts)),
            other => other.clone(),
        }
    }

    /// What values are computed with that are not stored, but compared, cast, or decide: integers where all elements
    /// in them are integers, and nothing makes fractions of them.
    fn own_kind(parts: &[Tree]) -> Kind {
        match parts.iter().all(Tree::is_integer) {
            true => Kind::Integers,
            false => Kind::Reals,
        }
    }

    fn is_integer(&self) -> bool {
        let all = |parts: &[Tree]| parts.iter().all(Tree::is_integer);
        match self {
            Tree::Number(number) => number.fract() == 0.0,
            Tree::Element(_, integer) => *integer,
            Tree::Symbol(_) | Tree::Index(_) | Tree::Holds(_) => true,
            Tree::Sum(parts) | Tree::Product(parts) => all(parts),
            Tree::Apply(operation, parts) => match operation {
                Operation::Compare(_) => true,
                Operation::Cast(element) => element.is_integer(),
                Operation::Divide => false,
                Operation::Where => all(&parts[1..]),
                Operation::Function(Named::Pow) => match &parts[..] {
                    [base, Tree::Number(by)] => is_product(*by) && base.is_integer(),
                    _ => false,
                },
                Operation::Function(function) => function.of_integers() && all(parts),
                Operation::Min | Operation::Max => all(parts),
            },
        }
    }
}

/// An operation of a semiring.
type Joining = fn(Semiring, Number, Number) -> Number;

fn apply(operation: Operation, parts: &[Value]) -> Value {
    if let (Operation::Where, [test, then, otherwise]) = (operation, parts) {
        let chosen = if test.number().is_zero() { *otherwise } else { *then };
        return match test {
            Value::Known(_) => chosen,
            // Zero both ways is zero whatever the test says.
            Value::Computed(_) if then.is_zero() && otherwise.is_zero() => *then,
            Value::Computed(_) => Value::Computed(chosen.number()),
        };
    }
    // A quotient is zero where either part is structurally zero, as a reciprocal is.
    if operation.is_quotient() && parts.iter().any(|part| part.is_zero()) {
        return Value::Known(Number::Real(0.0));
    }
    let numbers: Vec<Number> = parts.iter().map(|part| part.number()).collect();
    let integers: Option<Vec<i64>> = numbers
        .iter()
        .map(|number| match number {
            Number::Integer(value) => Some(*value),
            _ => None,
        })
        .collect();
    let number = match (operation, integers) {
        (Operation::Cast(element), Some(of)) => match of.first() {
            Some(value) => Number::Integer(*value).stored(element),
            None => Number::Real(f64::NAN),
        },
        (operation, Some(of)) => match of_integers(operation, &of) {
            Some(value) => Number::Integer(value),
            None => of_reals(operation, &numbers),
        },
        (operation, None) => of_reals(operation, &numbers),
    };
    Value::of(number, parts)
}

/// An operation on integers that gives an integer.
fn of_integers(operation: Operation, of: &[i64]) -> Option<i64> {
    Some(match (operation, of) {
        (Operation::Min, [a, b]) => *a.min(b),
        (Operation::Max, [a, b]) => *a.max(b),
        (Operation::Compare(operator), [a, b]) => operator.holds(a, b).into(),
        (Operation::Function(function), of) => return function.eval_integers(of),
        _ => return None,
    })
}

/// An operation on numbers of which one is complex, if there is one.
fn of_complex(operation: Operation, of: &[Number]) -> Option<Number> {
    let times = |a: Number, b: Number| number::multiply(Semiring::SumTimes, a, b);
    match (operation, of) {
        (Operation::Divide, [a, b]) => Some(times(*a, b.reciprocal())),
        (Operation::Function(Named::Complex), _) => None,
        (Operation::Function(function), of) => {
            let of: Vec<Complex<f64>> = of.iter().map(|number| number.complex()).collect();
            let value = function.eval_complex(&of)?;
            Some(match function.is_real_of_complex() {
                true => Number::Real(value.re),
                false => Number::Complex(value),
            })
        }
        _ => None,
    }
}

fn of_reals(operation: Operation, of: &[Number]) -> Number {
    if let (Operation::Function(Named::Complex), [re, im]) = (operation, of) {
        return Number::Complex(Complex::new(re.real(), im.real()));
    }
    let is_complex = |number: &Number| matches!(number, Number::Complex(_));
    if of.iter().any(is_complex)
        && let Some(number) = of_complex(operation, of)
    {
        return number;
    }
    let numbers: Vec<f64> = of.iter().map(|number| number.real()).collect();
    let nan = numbers.iter().any(|number| number.is_nan());
    Number::Real(match (operation, &numbers[..]) {
        (Operation::Divide, [a, b]) => a / b,
        (Operation::Min | Operation::Max, _) if nan => f64::NAN,
        (Operation::Min, [a, b]) => a.min(*b),
        (Operation::Max, [a, b]) => a.max(*b),
        (Operation::Compare(operator), [a, b]) => return truth(operator.holds(a, b)),
        (Operation::Cast(element), [a]) => return Number::Real(*a).stored(element),
        (Operation::Function(function), all) => function.eval(all),
        _ => f64::NAN,
    })
}

fn truth(holds: bool) -> Number {
    Number::Integer(holds.into())
}

impl Evaluator<'_> {
    /// The functions among the factors of a product, which is computed for a head with such elements. A truth value
    /// is that of integers or floats, whichever its operands are.
    pub(super) fn functions(
        &self,
        rule: &Rule,
        product: &Product,
    ) -> Result<Vec<Function>, EvalError> {
        let tensor = self.program.tensor(rule.head);
        let (head, has_format) = (tensor.element, tensor.format.is_some());
        let by_value = |at: usize| self.divides_by_value(product.accesses[at].tensor);
        let all = product.functions.iter().map(|function| {
            let value = self.tree(product, &divided(&function.value, &by_value))?;
            let kind = match head {
                Element::Bool => Tree::own_kind(std::slice::from_ref(&value)),
                head => Kind::of(head),
            };
            let iterator = match &function.value {
                Scalar::Apply(Operation::Compare(CompareOp::Eq), parts) => match &parts[..] {
                    [Scalar::Element(at), Scalar::Index(name)]
                    | [Scalar::Index(name), Scalar::Element(at)] => {
                        Some(name).filter(|_| self.chooses(product, *at))
                    }
                    _ => None,
                },
                _ => None,
            };
            // Of a result without a format all elements are there, so that others are infinite with what divides them.
            let is_there = |name: &String| has_format || !rule.iterators.contains(name);
            let chooses = iterator.is_some_and(is_there) && !function.reciprocal;
            Ok(Function { value, kind, reciprocal: function.reciprocal, chooses })
        });
        all.collect()
    }

    /// Whether an element that a product reads is an integer of an input, all of whose elements are stored.
    fn chooses(&self, product: &Product, at: usize) -> bool {
        let read = &product.accesses[at];
        !read.reciprocal && self.program.tensor(read.tensor).chooses()
    }

    fn tree(&self, product: &Product, scalar: &Scalar) -> Result<Tree, EvalError> {
        let all = |parts: &[Scalar]| {
            parts.iter().map(|part| self.tree(product, part)).collect::<Result<Vec<_>, _>>()
        };
        let slots = &product.iterators;
        Ok(match scalar {
            Scalar::Number(number) => Tree::Number(*number),
            Scalar::Symbol(symbol) => Tree::Symbol(self.symbols[*symbol].1),
            Scalar::Index(name) => match slots.iter().position(|slot| slot == name) {
                Some(slot) => Tree::Index(Code::Slot(slot)),
                None => return Err(EvalError::UnknownName { name: name.clone() }),
            },
            Scalar::Element(at) => {
                let read = &product.accesses[*at];
                let is_integer = self.program.tensor(read.tensor).element.is_integer();
                Tree::Element(*at, is_integer && !read.reciprocal)
            }
            Scalar::Holds(comparison) => {
                let one = std::slice::from_ref(comparison);
                Tree::Holds(relations(one, slots, &self.symbols)?)
            }
            Scalar::Sum(parts) => Tree::Sum(all(parts)?),
            Scalar::Product(parts) => Tree::Product(all(parts)?),
            Scalar::Apply(operation, parts) => Tree::Apply(*operation, all(parts)?),
        })
    }
}
