//! Makes real numbers of complex ones: the real and the imaginary part of an element stand side by side.
//!
//! A buffer of complex elements becomes one of twice as many real elements, which is the same memory: element `p` is
//! the elements `2 * p` and `2 * p + 1`. What is computed with complex numbers is computed for both parts:
//!
//! - `y[i] = x[i]` -> `y[2 * i] = x[2 * i] y[2 * i + 1] = x[2 * i + 1]`
//! - `(a + b i) * (c + d i)` -> `a * c - b * d` and `a * d + b * c`
//! - `(a + b i) / (c + d i)` -> `(a * c + b * d) / n` and `(b * c - a * d) / n` with `n = c * c + d * d`
//! - a sum -> the sum of the real and the sum of the imaginary parts
//! - `conj(a + b i)` -> `a` and `-1 * b`; `real(a + b i)` -> `a`; `imag(a + b i)` -> `b`; `abs(a + b i)` ->
//!   `hypot(a, b)`; `complex(a, b)` has these parts; these functions are left nowhere, also of real numbers
//! - `exp`, `log`, `sqrt`, `sin`, `cos`, `sinh`, `cosh` and powers -> functions of both parts:
//!   `exp(a + b i)` -> `exp(a) * cos(b)` and `exp(a) * sin(b)`
//!
//! A real number has no imaginary part, so that products with it stay short. Both parts of what is stored are computed
//! before either of them is stored: where a value loads elements of the buffer that it is stored to, they stand in a
//! workspace of two elements in between.
//!
//! Passes after this one, and targets, see real numbers only. It runs before any pass that makes parts or registers.

mod functions;
mod parts;

use crate::build::free_name;
use crate::ir::*;
use parts::{Parts, product, quotient, selected, sum};

pub(super) fn run(module: &mut Module) {
    let complex: Vec<bool> = module.buffers.iter().map(|own| own.element.is_complex()).collect();
    if !complex.contains(&true) && !has_parts(module) {
        return;
    }
    for buffer in module.buffers.iter_mut().filter(|buffer| buffer.element.is_complex()) {
        buffer.size = twice(&buffer.size);
        buffer.element = buffer.element.part();
    }
    let mut splitting = Splitting { complex, buffers: &mut module.buffers };
    module.functions.iter_mut().for_each(|function| splitting.block(&mut function.body));
}

/// Whether functions of the parts of complex numbers occur.
fn has_parts(module: &Module) -> bool {
    let mut found = false;
    for stmt in module.functions.iter().flat_map(|function| &function.body) {
        stmt.visit_values(&mut |value| {
            found |= matches!(value, Value::Apply(function, _) if function.is_of_parts());
        });
    }
    found
}

struct Splitting<'a> {
    /// Which of the buffers that there were had complex elements.
    complex: Vec<bool>,
    buffers: &'a mut Vec<Buffer>,
}

/// Where the real part of an element is.
fn twice(index: &Index) -> Index {
    index.clone() * 2
}

impl Splitting<'_> {
    fn is_complex(&self, buffer: BufferId) -> bool {
        self.complex.get(buffer.0 as usize).copied().unwrap_or(false)
    }

    fn block(&mut self, body: &mut Vec<Stmt>) {
        for mut stmt in std::mem::take(body) {
            stmt.bodies_mut().into_iter().for_each(|inside| self.block(inside));
            match stmt {
                Stmt::Store(store) if self.is_complex(store.buffer) => {
                    body.extend(self.store(&store));
                }
                Stmt::Workspace(mut inner) if self.is_complex(inner.buffer) => {
                    inner.size = twice(&inner.size);
                    body.push(Stmt::Workspace(inner));
                }
                Stmt::Store(store) => {
                    let value = self.value(&store.value).real;
                    body.push(Stmt::Store(Store { value, ..store }));
                }
                stmt => body.push(stmt),
            }
        }
    }

    fn store(&mut self, store: &Store) -> Vec<Stmt> {
        let Parts { real, imaginary } = self.value(&store.value);
        let to = |index, value| Stmt::Store(Store { index, value, ..store.clone() });
        let places = [twice(&store.index), twice(&store.index) + 1];
        let imaginary = match store.mode {
            StoreMode::Set => imaginary.or(Some(Value::constant(0.0))),
            _ => imaginary,
        };
        let [first, second] = places;
        match imaginary {
            None => vec![to(first, real)],
            Some(imaginary) if !store.value.loads(store.buffer) => {
                vec![to(first, real), to(second, imaginary)]
            }
            Some(imaginary) => {
                let parts = self.workspace(store.buffer);
                let place = |at: i64| Index::constant(at);
                let body = vec![
                    Stmt::set(parts, place(0), real),
                    Stmt::set(parts, place(1), imaginary),
                    to(first, Value::load(parts, place(0))),
                    to(second, Value::load(parts, place(1))),
                ];
                let size = Index::constant(2);
                vec![Stmt::Workspace(Workspace {
                    buffer: parts,
                    size,
                    zero: false,
                    instead: None,
                    body,
                })]
            }
        }
    }

    /// Two real elements, of the type of a buffer's.
    fn workspace(&mut self, like: BufferId) -> BufferId {
        let own = &self.buffers[like.0 as usize];
        let (element, name) = (own.element, format!("{}.parts", own.name));
        let name = free_name(self.buffers, name);
        let (size, space) = (Index::constant(2), Space::Main);
        self.buffers.push(Buffer { name, element, size, space });
        BufferId(self.buffers.len() as u32 - 1)
    }

    fn value(&self, value: &Value) -> Parts {
        match value {
            Value::Load(buffer, index) if self.is_complex(*buffer) => Parts {
                real: Value::load(*buffer, twice(index)),
                imaginary: Some(Value::load(*buffer, twice(index) + 1)),
            },
            Value::Add(left, right) => sum(self.value(left), self.value(right)),
            Value::Mul(left, right) => product(self.value(left), self.value(right)),
            Value::Div(left, right) => quotient(self.value(left), self.value(right)),
            Value::Sum(sum) => {
                let body = self.value(&sum.body);
                Parts {
                    real: self.sum_of(sum, body.real),
                    imaginary: body.imaginary.map(|body| self.sum_of(sum, body)),
                }
            }
            Value::Apply(function, of) => {
                let of: Vec<Parts> = of.iter().map(|one| self.value(one)).collect();
                functions::applied(*function, of)
            }
            Value::Select(parts) => {
                let [test, then, otherwise] = parts.each_ref().map(|part| self.value(part));
                selected(test, then, otherwise)
            }
            // Of real numbers: complex ones have neither an order nor a truth value.
            real => {
                Parts { real: real.map_parts(&mut |part| self.value(part).real), imaginary: None }
            }
        }
    }

    fn sum_of(&self, sum: &Sum, body: Value) -> Value {
        let place = |(buffer, index): &(BufferId, Index)| match self.is_complex(*buffer) {
            true => (*buffer, twice(index)),
            false => (*buffer, index.clone()),
        };
        let fetch = sum.fetch.iter().map(place).collect();
        Value::Sum(Box::new(Sum { body, fetch, ..sum.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use crate::interp::Data;
    use crate::machine::Machine;
    use crate::passes::tests::compare;
    use crate::passes::{Context, find};
    use crate::random::{self, Style};
    use crate::*;
    use proptest::prelude::*;

    fn split(before: &Module) -> Module {
        let mut after = before.clone();
        (find("split-complex").unwrap().run)(&mut after, &Context::of(&Machine::PLAIN));
        assert_eq!(verify(&after), Ok(()), "{before}\n{after}");
        after
    }

    #[test]
    fn parts_stand_side_by_side() {
        let text = "module(N)\nbuffer A : complex64[N * N]\nbuffer x : complex64[N]\nbuffer s : f64[N]\n\
            buffer y : complex128[N]\nfunc f(in A, inout x, in s, inout y) {\n\
            for i = 0 to N { y[i] = sum(j = 0 to N) A[N * i + j] * x[j] y[i] += s[i] x[i] = 2.0 / x[i] } }";
        let module = parse(text).unwrap();
        assert_eq!(verify(&module), Ok(()));
        expect_test::expect![[r#"
            module(N)
            buffer A : f32[N * N * 2]
            buffer x : f32[N * 2]
            buffer s : f64[N]
            buffer y : f64[N * 2]
            buffer x.parts : f32[2]
            func f(in A, inout x, in s, inout y) {
              for i = 0 to N {
                y[i * 2] = sum(j = 0 to N) (A[(N * i + j) * 2] * x[j * 2] + -1.0 * A[(N * i + j) * 2 + 1] * x[j * 2 + 1])
                y[i * 2 + 1] = sum(j = 0 to N) (A[(N * i + j) * 2] * x[j * 2 + 1] + A[(N * i + j) * 2 + 1] * x[j * 2])
                y[i * 2] += s[i]
                with x.parts of 2 {
                  x.parts[0] = 2.0 * x[i * 2] / (x[i * 2] * x[i * 2] + x[i * 2 + 1] * x[i * 2 + 1])
                  x.parts[1] = -2.0 * x[i * 2 + 1] / (x[i * 2] * x[i * 2] + x[i * 2 + 1] * x[i * 2 + 1])
                  x[i * 2] = x.parts[0]
                  x[i * 2 + 1] = x.parts[1]
                }
              }
            }
        "#]]
        .assert_eq(&split(&module).to_string());
        let data = |count: i32, by: i32| {
            Data::Float((0..count).map(|x| f64::from((x * by + 1) % 7 - 3) + 0.5).collect())
        };
        for n in [0, 1, 3, 5] {
            let all = [data(2 * n * n, 3), data(2 * n, 2), data(n, 5), data(2 * n, 1)];
            compare(&module, &split(&module), &[i64::from(n)], &all).unwrap();
        }
    }

    #[test]
    fn functions_are_of_parts() {
        let text = "module(N)\nbuffer x : complex64[N]\nbuffer y : complex64[N]\nbuffer s : f32[N]\n\
            func f(in x, inout y, inout s) { for i = 0 to N {\n\
            y[i] = conj(x[i]) * x[i] + conj(s[i])\n\
            y[i] += select(compare(abs(x[i]) > real(x[i])), conj(x[i]), 2.0)\n\
            s[i] = abs(x[i] * y[i]) + real(y[i]) * imag(sum(j = 0 to N) x[j]) + abs(s[i]) + imag(s[i])\n\
            s[i] max= select(x[i], real(s[i]), abs(conj(x[i]))) } }";
        let module = parse(text).unwrap();
        assert_eq!(verify(&module), Ok(()));
        let after = split(&module).to_string();
        assert!(!["conj", "real", "imag"].iter().any(|name| after.contains(name)), "{after}");
        let data = |count: i32, by: i32| {
            Data::Float((0..count).map(|x| f64::from((x * by + 1) % 7 - 3)).collect())
        };
        for n in [0, 1, 3, 5] {
            let all = [data(2 * n, 3), data(2 * n, 2), data(n, 5)];
            compare(&module, &split(&module), &[i64::from(n)], &all).unwrap();
        }
        for wrong in
            ["exp(x[i])", "min(x[i], 1.0)", "compare(x[i] < 1.0)", "cast(f32, x[i])", "x[i]"]
        {
            let module = parse(&text.replace("abs(x[i] * y[i])", wrong)).unwrap();
            assert!(verify(&module).is_err(), "{wrong}");
        }
    }

    /// Sums in place of minima and maxima, numbers in place of truth values.
    fn without_order(value: &Value) -> Value {
        match value.map_parts(&mut without_order) {
            Value::Min(left, right) | Value::Max(left, right) => Value::Add(left, right),
            Value::Truth(inside) | Value::Cast(_, inside) => *inside,
            Value::Compare(_, left, right) => Value::Add(left, right),
            Value::Select(parts) => parts[1].clone(),
            Value::Apply(_, mut of) => Value::Apply(MathFunction::Conj, vec![of.remove(0)]),
            Value::Sum(sum) => Value::Sum(Box::new(Sum { kind: Reduction::Sum, ..*sum })),
            value => value,
        }
    }

    fn make_complex(body: &mut [Stmt]) {
        for stmt in body {
            stmt.bodies_mut().into_iter().for_each(|inside| make_complex(inside));
            if let Stmt::Store(store) = stmt
                && store.buffer.0 < 4
            {
                store.value = without_order(&store.value);
                if store.mode != StoreMode::Set {
                    store.mode = StoreMode::Add;
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

        #[test]
        fn random_complex_programs_keep_their_meaning(seed: u64) {
            let mut before = random::module(seed, Style::Runnable);
            before.functions.iter_mut().for_each(|function| make_complex(&mut function.body));
            let real = seed % 4;
            for (at, buffer) in before.buffers.iter_mut().enumerate().take(4) {
                buffer.element = match buffer.element {
                    // One of the buffers that are only read may stay real.
                    Element::F32 if real == 0 => Element::F32,
                    Element::F32 => Element::C64,
                    _ => Element::C128,
                };
                prop_assert!(at < 4);
            }
            prop_assert_eq!(verify(&before), Ok(()), "{}", before);
            let after = split(&before);
            prop_assert!(!after.buffers.iter().any(|buffer| buffer.element.is_complex()));
            let data = |seed: i32, count: i32| {
                Data::Float((0..count).map(|x| f64::from((x * 5 + seed) % 7 - 3)).collect())
            };
            let last = if real == 0 { 16 } else { 32 };
            for symbols in [[4, 3], [0, 2]] {
                compare(&before, &after, &symbols, &[data(1, 32), data(2, 32), data(3, last)])
                    .map_err(TestCaseError::fail)?;
            }
        }
    }
}
