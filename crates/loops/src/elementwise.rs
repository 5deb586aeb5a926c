//! Values that functions, comparisons, selections and conversions give: constructors that fold constants, and what they
//! are of numbers.

use crate::ir::*;

impl Value {
    /// A function: `sqrt(4.0)` -> `2.0`.
    pub fn apply(function: MathFunction, of: Vec<Value>) -> Value {
        let constant =
            |value: &Value| if let Value::Const(value) = value { Some(*value) } else { None };
        match of.iter().map(constant).collect::<Option<Vec<f64>>>() {
            Some(constants) if of.len() == function.arity() => {
                Value::Const(function.eval(&constants))
            }
            _ => Value::Apply(function, of),
        }
    }

    /// `then` where the condition is not 0, else `otherwise`: `select(1.0, x, y)` -> `x`.
    pub fn select(condition: Value, then: Value, otherwise: Value) -> Value {
        match condition {
            Value::Const(value) if value != 0.0 => then,
            Value::Const(_) => otherwise,
            condition => Value::Select(Box::new([condition, then, otherwise])),
        }
    }

    /// 1 where `left how right`, else 0: `1.0 < 2.0` -> `1.0`.
    pub fn compare(how: Compare, left: Value, right: Value) -> Value {
        match (left, right) {
            (Value::Const(left), Value::Const(right)) => {
                Value::Const(f64::from(u8::from(how.holds_numbers(left, right))))
            }
            (left, right) => Value::Compare(how, Box::new(left), Box::new(right)),
        }
    }

    /// As an element of this type: `cast(i32, 1.5)` -> `1.0`.
    pub fn cast(element: Element, value: Value) -> Value {
        match value {
            Value::Const(value) if !element.is_complex() => {
                Value::Const(as_element(element, value))
            }
            value => Value::Cast(element, Box::new(value)),
        }
    }

    /// Whether the value has a sum.
    pub fn has_sums(&self) -> bool {
        let mut found = false;
        self.visit(&mut |value| found |= matches!(value, Value::Sum(_)));
        found
    }
}

/// A number as an element of a type that is not complex: see [`Value::Cast`].
pub fn as_element(element: Element, value: f64) -> f64 {
    match element {
        Element::Bool => f64::from(u8::from(value != 0.0)),
        _ if element.is_integer() => element.wrapped(value as i64) as f64,
        _ => element.round(value),
    }
}

impl Compare {
    /// Whether `left how right`, of numbers: what is not a number only differs.
    pub fn holds_numbers(self, left: f64, right: f64) -> bool {
        match self {
            Compare::Eq => left == right,
            Compare::Ne => left != right,
            Compare::Lt => left < right,
            Compare::Le => left <= right,
            Compare::Gt => left > right,
            Compare::Ge => left >= right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_fold() {
        let number = Value::constant;
        assert_eq!(Value::apply(MathFunction::Sqrt, vec![number(4.0)]), number(2.0));
        assert_eq!(Value::apply(MathFunction::Pow, vec![number(2.0), number(3.0)]), number(8.0));
        assert_eq!(Value::select(number(f64::NAN), number(1.0), number(2.0)), number(1.0));
        assert_eq!(Value::compare(Compare::Ne, number(f64::NAN), number(2.0)), number(1.0));
        assert_eq!(Value::compare(Compare::Le, number(f64::NAN), number(2.0)), number(0.0));
        let cast = |element, value| Value::cast(element, number(value));
        assert_eq!(cast(Element::I8, 300.9), number(44.0));
        assert_eq!(cast(Element::I32, -1.9), number(-1.0));
        assert_eq!(cast(Element::I64, f64::NAN), number(0.0));
        assert_eq!(cast(Element::U8, -1.0), number(255.0));
        assert_eq!(cast(Element::Bool, -0.5), number(1.0));
        assert_eq!(cast(Element::F32, 0.1), number(f64::from(0.1f32)));
    }
}
