//! Comparisons, conditions and conversions: values that are computed in a type of their own.

use super::{InterpError, Machine, Number};
use crate::elementwise::as_element;
use crate::ir::*;

impl Machine<'_> {
    /// A value that is computed in this type.
    fn number(&mut self, value: &Value, element: Element) -> Result<Number, InterpError> {
        match element {
            _ if element.is_complex() => {
                Err(InterpError::Invalid("complex numbers are neither compared nor converted"))
            }
            _ if element.is_integer() => Ok(Number::Int(self.integer(value)?)),
            _ => Ok(Number::Float(element.round(self.value(value)?))),
        }
    }

    /// Whether a condition holds.
    pub(super) fn decides(&mut self, condition: &Value) -> Result<bool, InterpError> {
        if self.module.is_complex(condition) == Some(true) {
            return self.is_not_zero(condition);
        }
        let own = self.module.own_type(&[condition]);
        Ok(match self.number(condition, own)? {
            Number::Int(value) => value != 0,
            Number::Float(value) => value != 0.0,
        })
    }

    /// Whether two values compare so.
    pub(super) fn compares(
        &mut self,
        how: Compare,
        left: &Value,
        right: &Value,
    ) -> Result<bool, InterpError> {
        let own = self.module.own_type(&[left, right]);
        match (self.number(left, own)?, self.number(right, own)?) {
            (Number::Int(left), Number::Int(right)) => Ok(how.holds(left, right)),
            (Number::Float(left), Number::Float(right)) => Ok(how.holds_numbers(left, right)),
            _ => Err(InterpError::Invalid("numbers of two kinds are compared")),
        }
    }

    /// A value as an element of this type.
    pub(super) fn cast(&mut self, element: Element, value: &Value) -> Result<Number, InterpError> {
        let own = self.module.own_type(&[value]);
        let number = self.number(value, own)?;
        Ok(match number {
            _ if element.is_complex() => {
                return Err(InterpError::Invalid("a number is converted to a complex one"));
            }
            Number::Int(value) if element.is_integer() => Number::Int(element.wrapped(value)),
            Number::Int(value) => Number::Float(element.round(value as f64)),
            Number::Float(value) if element.is_integer() => {
                Number::Int(as_element(element, value) as i64)
            }
            Number::Float(value) => Number::Float(element.round(value)),
        })
    }
}
