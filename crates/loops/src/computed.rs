//! The types in which values are computed.

use crate::ir::*;

/// What a value loads, outside of comparisons and conditions, which give numbers of any type.
#[derive(Default)]
struct Loads {
    /// A float or a complex number.
    float: bool,
    /// Something that 32-bit floats do not hold; so do integers.
    wide: bool,
    complex: bool,
    /// Something that no integer is: a quotient, a fraction or a function that gives none.
    fraction: bool,
}

impl Loads {
    fn element(&mut self, element: Element) {
        self.float |= !element.is_integer();
        self.wide |= element.computed().part() != Element::F32;
        self.complex |= element.is_complex();
    }

    fn add(&mut self, value: &Value, buffers: &[Buffer]) {
        match value {
            Value::Load(id, _) => {
                if let Some(buffer) = buffers.get(id.0 as usize) {
                    self.element(buffer.element);
                }
            }
            Value::Cast(element, _) => self.element(*element),
            Value::Compare(..) => {}
            Value::Select(parts) => parts[1..].iter().for_each(|part| self.add(part, buffers)),
            // Parts of complex numbers are real.
            Value::Apply(function, of) if function.is_real_of_complex() => {
                let complex = self.complex;
                of.iter().for_each(|part| self.add(part, buffers));
                self.complex = complex;
            }
            _ => {
                self.complex |= matches!(value, Value::Apply(MathFunction::Complex, _));
                self.fraction |= match value {
                    Value::Const(value) => value.is_nan() || value.fract() != 0.0,
                    Value::Div(..) => true,
                    Value::Apply(function, _) => !function.of_integers(),
                    _ => false,
                };
                value.parts().into_iter().for_each(|part| self.add(part, buffers));
            }
        }
    }
}

impl Module {
    /// Whether a value is a complex number; none where complex numbers have no such function, order or truth value.
    pub fn is_complex(&self, value: &Value) -> Option<bool> {
        let of = |parts: &[&Value]| -> Option<bool> {
            let mut found = false;
            for part in parts {
                found |= self.is_complex(part)?;
            }
            Some(found)
        };
        let real = |parts: &[&Value]| (!of(parts)?).then_some(false);
        match value {
            Value::Load(id, _) => {
                Some(self.buffers.get(id.0 as usize).is_some_and(|own| own.element.is_complex()))
            }
            Value::Apply(function, _) if function.of_complex() => {
                Some(of(&value.parts())? && !function.is_real_of_complex())
            }
            Value::Apply(MathFunction::Complex, _) => real(&value.parts()).map(|_| true),
            Value::Select(parts) => {
                self.is_complex(&parts[0])?;
                of(&[&parts[1], &parts[2]])
            }
            Value::Sum(sum) if sum.kind == Reduction::Sum => self.is_complex(&sum.body),
            Value::Const(_) | Value::FromIndex(_) => Some(false),
            Value::Add(..) | Value::Mul(..) | Value::Div(..) => of(&value.parts()),
            Value::Cast(element, _) if element.is_complex() => None,
            Value::Sum(_)
            | Value::Cast(..)
            | Value::Min(..)
            | Value::Max(..)
            | Value::Truth(_)
            | Value::Apply(..)
            | Value::Compare(..) => real(&value.parts()),
        }
    }

    /// The type in which a value is computed that is stored as an element: 64-bit integers for integers; else the
    /// widest float of the element and of what is loaded, of 32 bits at least, where integers count as wide; complex
    /// numbers of two such floats where the element or something that is loaded is complex. A truth value is that of a
    /// number of either kind.
    pub fn computed_in(&self, value: &Value, element: Element) -> Element {
        let mut loads = Loads::default();
        loads.add(value, &self.buffers);
        loads.complex |= element.is_complex();
        loads.wide |= element.part() == Element::F64;
        let floats = !element.is_integer() || element == Element::Bool && loads.float;
        computed(&loads, floats)
    }

    /// The type in which values are computed that are compared, converted or decide: the widest of what they load.
    /// Where they load only integers it is that of 64-bit integers, or of 64-bit floats if they have quotients,
    /// fractions or functions that give none.
    pub fn own_type(&self, values: &[&Value]) -> Element {
        let mut loads = Loads::default();
        values.iter().for_each(|value| loads.add(value, &self.buffers));
        loads.wide |= !loads.float;
        computed(&loads, loads.float || loads.fraction)
    }
}

fn computed(loads: &Loads, floats: bool) -> Element {
    match (floats, loads.wide) {
        (_, true) if loads.complex => Element::C128,
        (_, false) if loads.complex => Element::C64,
        (false, _) => Element::I64,
        (true, true) => Element::F64,
        (true, false) => Element::F32,
    }
}
