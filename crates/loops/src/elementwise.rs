//! Values that functions, comparisons, selections and conversions give: constructors that fold constants, and what they
//! are of numbers.

use crate::ir::*;

impl Value {
    /// A function: `sqrt(4.0)` -> `2.0`.
    pub fn apply(function: MathFunction, of: Vec<Value>) -> Value {
        let constant =
            |value: &Value| if let Value::Const(value) = value { Some(*value) } else { None };
        match of.iter().map(constant).collect::<Option<Vec<f64>>>() {
            // A constant is a real number.
            Some(constants)
                if of.len() == function.arity() && function != MathFunction::Complex =>
            {
                // What is divided by 0 is another number for integers than for floats.
                match function.is_quotient() && constants[1] == 0.0 {
                    true => Value::Apply(function, of),
                    false => Value::Const(function.eval(&constants)),
                }
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

    /// Whether the value has a function that is a call, not an instruction.
    pub fn has_calls(&self) -> bool {
        let mut found = false;
        self.visit(&mut |value| {
            found |= matches!(value, Value::Apply(function, _) if !function.is_instruction());
        });
        found
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
    use crate::{parse, verify};

    #[test]
    fn constants_fold() {
        let number = Value::constant;
        assert_eq!(Value::apply(MathFunction::Sqrt, vec![number(4.0)]), number(2.0));
        assert_eq!(Value::apply(MathFunction::Pow, vec![number(2.0), number(3.0)]), number(8.0));
        assert_eq!(Value::apply(MathFunction::Mod, vec![number(7.0), number(4.0)]), number(3.0));
        let by_zero = Value::apply(MathFunction::Mod, vec![number(7.0), number(0.0)]);
        assert!(matches!(by_zero, Value::Apply(..)));
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

    #[test]
    fn functions_are_printed_read_and_verified() {
        let of = |value: &str| {
            let text = format!(
                "module(N)\nbuffer A : f64[N]\nbuffer Z : complex64[N]\nbuffer s : i32[N]\nbuffer p : bool[N]\n\
                 func f(inout A, inout Z, inout s, inout p) {{ {value} }}"
            );
            let module = parse(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(parse(&module.to_string()).unwrap(), module.canonical());
            let errors = verify(&module).err().into_iter().flatten();
            let errors: Vec<String> = errors.map(|error| error.violation.to_string()).collect();
            format!("{value} -> {}\n", errors.join("; "))
        };
        let all = [
            of("A[0] = pow(A[1], exp(index(N))) + cast(f16, s[0])"),
            of("A[0] = select(compare(A[0] + 1.0 >= index(N)), min(1.0, A[1]), -1.0) * 2.0"),
            of("s[0] = cast(i32, exp(s[1])) + abs(s[2]) + compare(A[0] == 0.5)"),
            of("p[0] = compare(sqrt(s[0]) > 1.5)"),
            of("A[0] = atan2(A[1])"),
            of("s[0] = exp(s[1])"),
            of("s[0] = cast(f32, s[1])"),
            of("s[0] = select(A[0], 1.0, 0.5)"),
            of("Z[0] = exp(Z[1])"),
            of("Z[0] = tan(Z[1])"),
            of("A[0] = cast(complex64, A[1])"),
            of("Z[0] = Z[1] * min(abs(Z[0]), Z[1])"),
        ];
        expect_test::expect![[r#"
            A[0] = pow(A[1], exp(index(N))) + cast(f16, s[0]) -> 
            A[0] = select(compare(A[0] + 1.0 >= index(N)), min(1.0, A[1]), -1.0) * 2.0 -> 
            s[0] = cast(i32, exp(s[1])) + abs(s[2]) + compare(A[0] == 0.5) -> 
            p[0] = compare(sqrt(s[0]) > 1.5) -> 
            A[0] = atan2(A[1]) -> `atan2` takes 2 numbers, not 1
            s[0] = exp(s[1]) -> a value that is not an integer is stored to integer buffer `s`
            s[0] = cast(f32, s[1]) -> a value that is not an integer is stored to integer buffer `s`
            s[0] = select(A[0], 1.0, 0.5) -> a value that is not an integer is stored to integer buffer `s`
            Z[0] = exp(Z[1]) -> 
            Z[0] = tan(Z[1]) -> a function, comparison, order, truth value or conversion of complex numbers
            A[0] = cast(complex64, A[1]) -> a function, comparison, order, truth value or conversion of complex numbers
            Z[0] = Z[1] * min(abs(Z[0]), Z[1]) -> a function, comparison, order, truth value or conversion of complex numbers
        "#]]
        .assert_eq(&all.concat());
    }

    #[test]
    fn casts_and_comparisons_have_types_of_their_own() {
        let run = |value: &str| {
            let text = format!(
                "module(N)\nbuffer A : f64[1]\nbuffer x : f32[1]\nbuffer s : i64[1]\n\
                 func f(out A, in x, in s) {{ A[0] = {value} }}"
            );
            let module = parse(&text).unwrap();
            assert_eq!(verify(&module), Ok(()), "{value}");
            let of = [vec![0.0], vec![f64::from(0.1f32)]].map(crate::Data::Float);
            let mut data = [of[0].clone(), of[1].clone(), crate::Data::Int(vec![(1 << 60) + 1])];
            crate::interp::run(&module, "f", &[1], &mut data).unwrap();
            data[0].as_float().unwrap()[0]
        };
        assert_eq!(run("compare(x[0] == 0.1)"), 1.0);
        assert_eq!(run("compare(x[0] == 0.1 * index(N))"), 1.0);
        assert_eq!(run("cast(i8, s[0])"), 1.0);
        assert_eq!(run("compare(s[0] > 1152921504606846976.0)"), 1.0);
        assert_eq!(run("cast(f32, 0.1)"), f64::from(0.1f32));
        assert_eq!(run("select(x[0] * 0.0, 3.0, 4.0)"), 4.0);
    }
}
