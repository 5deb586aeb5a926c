//! Computes products of complex matrices as four of real ones: real and imaginary parts stand in memory of their own.
//!
//! Before -> after, where `A`, `B` and `C` have complex elements:
//!
//! ```text
//! parallel i = 0 to N { parallel j = 0 to N { C[N * i + j] = sum(k = 0 to N) A[N * i + k] * B[N * k + j] } }
//!
//! with A.re, A.im, B.re, B.im of .. { with C.re, C.im of .. zero {
//!   parallel p = 0 to N * N { A.re[p] = real(A[p]) A.im[p] = imag(A[p]) }
//!   parallel p = 0 to N * N { B.re[p] = real(B[p]) B.im[p] = imag(B[p]) }
//!   parallel i .. { parallel j .. { C.re[..] += sum(k ..) A.re[..] * B.re[..] } }
//!   parallel i .. { parallel j .. { C.re[..] += sum(k ..) -1.0 * A.im[..] * B.im[..] } }
//!   parallel i .. { parallel j .. { C.im[..] += sum(k ..) A.re[..] * B.im[..] } }
//!   parallel i .. { parallel j .. { C.im[..] += sum(k ..) A.im[..] * B.re[..] } }
//!   parallel i .. { parallel j .. { C[..] = complex(C.re[..], C.im[..]) } }
//! } }
//! ```
//!
//! Then each of the four is what tiles and panels are for, while parts side by side are two strided sums. It is done
//! where each operand is read again for all iterations of some loop, so that copies are little beside the product. Of a
//! real operand there is one part.

use crate::ir::*;
use crate::passes::Context;

pub(super) fn run(module: &mut Module, context: &Context<'_>) {
    if !context.has_threads_only() {
        return;
    }
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        let mut body = std::mem::take(&mut function.body);
        block(&mut body, function, module);
        function.body = body;
    }
    module.functions = functions;
}

fn block(body: &mut [Stmt], function: &mut Function, module: &mut Module) {
    for stmt in body {
        let split = match stmt {
            Stmt::For(outer) => split(outer, function, module),
            Stmt::If(_) => {
                stmt.bodies_mut().into_iter().for_each(|inner| block(inner, function, module));
                None
            }
            _ => None,
        };
        if let Some(other) = split {
            *stmt = other;
        }
    }
}

/// An operand of a product: an element, and whether it is conjugated.
struct Operand {
    buffer: BufferId,
    index: Index,
    conjugate: bool,
}

/// A store of a sum of products of two elements.
struct Product<'a> {
    loops: Vec<&'a For>,
    store: &'a Store,
    /// Without bodies, the outermost first.
    sums: Vec<&'a Sum>,
    operands: [Operand; 2],
    /// Real numbers that they are multiplied with.
    number: f64,
}

fn product<'a>(outer: &'a For, module: &Module) -> Option<Product<'a>> {
    let (mut loops, mut body) = (vec![outer], &outer.body);
    let store = loop {
        match &body[..] {
            [Stmt::For(inner)] => {
                loops.push(inner);
                body = &inner.body;
            }
            [Stmt::Store(store)] => break store,
            _ => return None,
        }
    };
    let is_complex = |buffer: BufferId| module.buffers[buffer.0 as usize].element.is_complex();
    let (mut sums, mut number, mut factors) = (Vec::new(), 1.0, Vec::new());
    let mut left = vec![&store.value];
    while let Some(value) = left.pop() {
        match value {
            Value::Mul(one, other) => left.extend([&**other, &**one]),
            Value::Const(by) => number *= by,
            Value::Sum(sum) if sum.kind == Reduction::Sum => {
                sums.push(&**sum);
                left.push(&sum.body);
            }
            Value::Load(buffer, index) => {
                let (buffer, index, conjugate) = (*buffer, index.clone(), false);
                factors.push(Operand { buffer, index, conjugate });
            }
            Value::Apply(MathFunction::Conj, of) => {
                let [Value::Load(buffer, index)] = &of[..] else { return None };
                let (buffer, index, conjugate) = (*buffer, index.clone(), true);
                factors.push(Operand { buffer, index, conjugate });
            }
            _ => return None,
        }
    }
    let operands: [Operand; 2] = factors.try_into().ok()?;
    let mode = matches!(store.mode, StoreMode::Set | StoreMode::Add);
    let complex = operands.iter().any(|one| is_complex(one.buffer)) && is_complex(store.buffer);
    let apart = operands.iter().all(|one| one.buffer != store.buffer);
    // Each is read again, and each sum is long.
    let again = operands.iter().all(|one| {
        loops.iter().any(|outer| !one.index.mentions(outer.var))
            && sums.iter().any(|sum| one.index.mentions(sum.var))
    });
    // No two iterations store to one element.
    let distinct =
        loops.iter().all(|outer| outer.mark.is_parallel() && store.index.mentions(outer.var));
    (mode && complex && apart && again && distinct && loops.len() >= 2).then_some(Product {
        loops,
        store,
        sums,
        operands,
        number,
    })
}

/// A loop over all of a buffer, of which bounds may not select the size; `None` where a part of the size does.
fn over(at: VarId, size: &Index, body: &[Stmt]) -> Option<Stmt> {
    if let Index::Select(condition, one, other) = size {
        let (then, otherwise) = (vec![over(at, one, body)?], vec![over(at, other, body)?]);
        return Some(Stmt::If(If { condition: (**condition).clone(), then, otherwise }));
    }
    let mut selects = false;
    size.visit(&mut |part| selects |= matches!(part, Index::Select(..)));
    let copy = For::new(at, Index::Const(0), size.clone(), body.to_vec()).parallel();
    (!selects).then_some(Stmt::For(copy))
}

/// What a loop nest with a product of complex elements is equal to.
fn split(outer: &For, function: &mut Function, module: &mut Module) -> Option<Stmt> {
    let Product { loops, store, sums, operands, number } = product(outer, module)?;
    // Before anything is made.
    for one in &operands {
        over(outer.var, &module.buffers[one.buffer.0 as usize].size, &[])?;
    }
    let mut planes: Vec<(BufferId, [Option<BufferId>; 2])> = Vec::new();
    let (mut copies, mut fresh) = (Vec::new(), Vec::new());
    for one in &operands {
        let Buffer { name, element, size, .. } = module.buffers[one.buffer.0 as usize].clone();
        if planes.iter().any(|(known, _)| *known == one.buffer) {
            continue;
        }
        if !element.is_complex() {
            planes.push((one.buffer, [Some(one.buffer), None]));
            continue;
        }
        let at = function.fresh_var("p");
        let mut parts = [None, None];
        let mut body = Vec::new();
        let names = [("re", MathFunction::Real), ("im", MathFunction::Imag)];
        for (part, (end, of)) in parts.iter_mut().zip(names) {
            let own = module.fresh_buffer(format!("{name}.{end}"), element.part(), size.clone());
            let value = Value::Apply(of, vec![Value::load(one.buffer, Index::var(at))]);
            body.push(Stmt::set(own, Index::var(at), value));
            fresh.push((own, size.clone(), false));
            *part = Some(own);
        }
        copies.push(over(at, &size, &body)?);
        planes.push((one.buffer, parts));
    }
    let Buffer { name, element, size, .. } = module.buffers[store.buffer.0 as usize].clone();
    let of_result = ["re", "im"].map(|end| {
        let own = module.fresh_buffer(format!("{name}.{end}"), element.part(), size.clone());
        fresh.push((own, size.clone(), true));
        own
    });
    let part = |one: &Operand, at: usize| {
        let (_, parts) = planes.iter().find(|(known, _)| *known == one.buffer)?;
        Some(Value::load(parts[at]?, one.index.clone()))
    };
    let around = |stmt: Stmt| {
        loops.iter().rev().fold(stmt, |inner, one| {
            let (lower, upper) = (one.lower.clone(), one.upper.clone());
            Stmt::For(For { lower, upper, body: vec![inner], ..**one })
        })
    };
    let [first, second] = &operands;
    for (one, other) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
        let (Some(left), Some(right)) = (part(first, one), part(second, other)) else { continue };
        let signs =
            [one == 1 && first.conjugate, other == 1 && second.conjugate, one == 1 && other == 1];
        let negative = signs.iter().filter(|sign| **sign).count() % 2 == 1;
        let factor = if negative { -number } else { number };
        let product = match factor == 1.0 {
            true => left * right,
            false => Value::Const(factor) * left * right,
        };
        let value = sums
            .iter()
            .rev()
            .fold(product, |body, sum| Value::Sum(Box::new(Sum { body, ..(*sum).clone() })));
        let buffer = of_result[usize::from(one != other)];
        copies.push(around(Stmt::add(buffer, store.index.clone(), value)));
    }
    let [re, im] = of_result.map(|own| Value::load(own, store.index.clone()));
    let value = Value::Apply(MathFunction::Complex, vec![re, im]);
    copies.push(around(Stmt::Store(Store { value, ..store.clone() })));
    let body = fresh.into_iter().rev().fold(copies, |body, (buffer, size, zero)| {
        vec![Stmt::Workspace(Workspace { buffer, size, zero, instead: None, body })]
    });
    body.into_iter().next()
}

#[cfg(test)]
mod tests {
    use crate::interp::Data;
    use crate::machine::{Machine, Processors};
    use crate::passes::tests::compare;
    use crate::passes::{Context, find};
    use crate::{Module, ParallelLevel, parse, verify};

    const BUFFERS: &str = "module(N, M)
        buffer A : complex128[N * M]
        buffer B : complex128[select(M >= 1, M * N, 0)]
        buffer R : f64[M * N]
        buffer C : complex128[select(N >= 1, N * N, 0)]";

    fn module(body: &str) -> Module {
        parse(&format!("{BUFFERS}\nfunc f(in A, in B, in R, inout C) {{ {body} }}")).unwrap()
    }

    fn run(name: &str, module: &mut Module) {
        (find(name).unwrap().run)(module, &Context::of(&Machine::PLAIN));
        assert_eq!(verify(module), Ok(()), "{module}");
    }

    /// How many stores the pass makes of one, after which both parts are what they are without it.
    fn stores(body: &str) -> usize {
        let mut before = module(body);
        let mut after = before.clone();
        run("split-planes", &mut after);
        let text = after.to_string();
        run("split-complex", &mut before);
        run("split-complex", &mut after);
        let floats = |count: i64, by: i64| {
            Data::Float((0..count).map(|x| ((x * by + 1) % 7 - 3) as f64).collect())
        };
        for [n, m] in [[0, 0], [1, 1], [3, 5], [4, 0], [5, 2]] {
            let data = [
                floats(2 * n * m, 2),
                floats(2 * m * n, 3),
                floats(m * n, 5),
                floats(2 * n * n, 1),
            ];
            compare(&before, &after, &[n, m], &data).unwrap();
        }
        text.matches("] += sum").count() + text.matches("] = sum").count()
    }

    const LOOPS: &str = "parallel i = 0 to N { parallel j = 0 to N {";

    #[test]
    fn products_are_four_of_real_numbers() {
        let of = |sum: &str| stores(&format!("{LOOPS} C[N * i + j] {sum} }} }}"));
        assert_eq!(of("= sum(k = 0 to M) A[M * i + k] * B[N * k + j]"), 4);
        assert_eq!(of("+= sum(k = 0 to M) -2.0 * A[M * i + k] * conj(B[N * k + j])"), 4);
        assert_eq!(of("= sum(k = 0 to M) conj(A[M * i + k]) * A[M * j + k]"), 4);
        assert_eq!(of("= sum(k = 0 to M) A[M * i + k] * R[N * k + j]"), 2);
        assert_eq!(of("= 0.5 * (sum(k = 0 to min(M, i + 1)) R[N * k + i] * B[N * k + j])"), 2);
    }

    #[test]
    fn what_is_read_once_stays() {
        for body in [
            "parallel i = 0 to N { C[i] = sum(k = 0 to M) A[M * i + k] * B[N * k] }",
            "parallel i = 0 to N { parallel j = 0 to N { C[N * i + j] = A[M * i] * B[j] } }",
            "parallel i = 0 to N { for j = 0 to N { C[i] += sum(k = 0 to M) A[M * i + k] * B[N * k + j] } }",
            "parallel i = 0 to N { parallel j = 0 to N {
                C[N * i + j] = sum(k = 0 to M) R[N * k + j] * R[N * k + i]
            } }",
        ] {
            let before = module(body);
            let mut after = before.clone();
            run("split-planes", &mut after);
            assert_eq!(after, before, "{after}");
        }
    }

    #[test]
    fn lanes_and_blocks_keep_parts_side_by_side() {
        let before = module(&format!(
            "{LOOPS} C[N * i + j] = sum(k = 0 to M) A[M * i + k] * B[N * k + j] }} }}"
        ));
        let levels = vec![Processors { level: ParallelLevel::Blocks, count: None }];
        let mut after = before.clone();
        let machine = Machine { levels, ..Machine::PLAIN };
        (find("split-planes").unwrap().run)(&mut after, &Context::of(&machine));
        assert_eq!(after, before);
    }
}
