//! Complex numbers: the two parts of an element stand side by side in [`Data::Float`], the real part first.

use dastac_elements::Complex;

use super::{Content, Data, InterpError, Machine, Slot};
use crate::ir::*;

/// Why there is no value.
const NO_ORDER: InterpError =
    InterpError::Invalid("complex numbers have neither an order nor a truth value");

impl Slot<'_> {
    fn complex(&self, at: usize) -> Complex<f64> {
        match &*self.data {
            Data::Float(data) if self.buffer.element.is_complex() => {
                Complex::new(data[2 * at], data[2 * at + 1])
            }
            Data::Float(data) => data[at].into(),
            Data::Int(data) => (data[at] as f64).into(),
        }
    }

    fn set_complex(&mut self, at: usize, value: Complex<f64>) -> Result<(), InterpError> {
        let element = self.buffer.element;
        let data: &mut Data = match &mut self.data {
            Content::Given(data) => data,
            Content::Own(data) => data,
        };
        match data {
            Data::Float(data) if element.is_complex() => {
                (data[2 * at], data[2 * at + 1]) =
                    (element.round(value.re), element.round(value.im));
                Ok(())
            }
            _ => Err(InterpError::Kind(self.buffer.name.clone())),
        }
    }
}

impl Machine<'_> {
    /// A store of a value that is computed in complex numbers.
    pub(super) fn store_complex(&mut self, store: &Store) -> Result<(), InterpError> {
        let index = self.index(&store.index)?;
        let value = self.complex(&store.value)?;
        let (slot, loops) = self.slot(store.buffer)?;
        let at = slot.position(index)?;
        let value = match store.mode {
            StoreMode::Set => value,
            StoreMode::Add => {
                slot.touch(at, loops, false)?;
                slot.complex(at) + value
            }
            StoreMode::Multiply | StoreMode::Min | StoreMode::Max => return Err(NO_ORDER),
        };
        slot.touch(at, loops, true)?;
        slot.set_complex(at, value)
    }

    /// A real value that a function gives of a complex one, if it is that.
    pub(super) fn real_of_complex(
        &mut self,
        function: MathFunction,
        of: &[Value],
    ) -> Result<Option<f64>, InterpError> {
        let [only] = of else { return Ok(None) };
        if !function.is_real_of_complex() || !self.module.own_type(&[only]).is_complex() {
            return Ok(None);
        }
        let of = self.complex(only)?;
        Ok(function.eval_complex(&[of]).map(|value| value.re))
    }

    /// Whether a complex number is not 0.
    pub(super) fn is_not_zero(&mut self, value: &Value) -> Result<bool, InterpError> {
        Ok(self.complex(value)? != Complex::default())
    }

    fn complex(&mut self, value: &Value) -> Result<Complex<f64>, InterpError> {
        if self.module.is_complex(value) == Some(false) {
            return self.value(value).map(Complex::from);
        }
        match value {
            Value::Const(value) => Ok((*value).into()),
            Value::Load(buffer, index) => {
                let index = self.index(index)?;
                let (slot, loops) = self.slot(*buffer)?;
                let at = slot.position(index)?;
                slot.touch(at, loops, false)?;
                Ok(slot.complex(at))
            }
            Value::FromIndex(index) => Ok((self.index(index)? as f64).into()),
            Value::Add(left, right) => Ok(self.complex(left)? + self.complex(right)?),
            Value::Mul(left, right) => Ok(self.complex(left)? * self.complex(right)?),
            Value::Div(left, right) => Ok(self.complex(left)? / self.complex(right)?),
            Value::Min(..) | Value::Max(..) | Value::Truth(_) | Value::Compare(..) => Err(NO_ORDER),
            Value::Apply(MathFunction::Complex, of) if of.len() == 2 => {
                Ok(Complex::new(self.value(&of[0])?, self.value(&of[1])?))
            }
            Value::Apply(function, of) if function.of_complex() => {
                let of: Result<Vec<_>, _> = of.iter().map(|one| self.complex(one)).collect();
                let wrong = InterpError::Invalid("a function of too many or too few numbers");
                function.eval_complex(&of?).ok_or(wrong)
            }
            Value::Select(parts) => {
                let [condition, then, otherwise] = &**parts;
                let chosen = self.decides(condition)?;
                let (then, otherwise) = (self.complex(then)?, self.complex(otherwise)?);
                Ok(if chosen { then } else { otherwise })
            }
            Value::Apply(..) | Value::Cast(..) => {
                Err(InterpError::Invalid("functions and conversions are of real numbers"))
            }
            Value::Sum(sum) if sum.kind == Reduction::Sum => {
                let mut total = Complex::default();
                self.terms(sum, |machine| {
                    total += machine.complex(&sum.body)?;
                    Ok(())
                })?;
                Ok(total)
            }
            Value::Sum(_) => Err(NO_ORDER),
        }
    }
}
