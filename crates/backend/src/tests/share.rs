//! Many loop nests of few shapes.

use super::*;
use dastac_loops::interp::{Data, run};

/// `y[i + k + 1] += x[a*i + k + 1] * z[i]` over parts of `0..n`, for each k: the stride and the mark change the shape,
/// bounds and offsets do not; then `y[i + k + 1] += sum(j = 0 to min(n, k)) (if j >= k - 9) x[j]`, with `x` and `z` in
/// turn.
fn strips(count: i64) -> Module {
    let mut build = Build::new("strips");
    let n = build.symbol("n");
    let x = build.buffer("x", Element::F64, Mode::In, n.clone() * 2 + 2 * count);
    let z = build.buffer("z", Element::F32, Mode::In, n.clone() + count);
    let y = build.buffer("y", Element::F64, Mode::InOut, n.clone() + 2 * count);
    let mut body = Vec::new();
    for k in 0..count {
        let i = build.var("i");
        let value = Value::load(x, v(i) * (1 + k % 2) + (k + 1)) * Value::load(z, v(i));
        let store = Stmt::add(y, v(i) + (k + 1), value);
        let strip = For::new(i, c(k % 5), n.clone(), vec![store]);
        body.push(Stmt::For(if k % 4 < 2 { strip.parallel() } else { strip }));
    }
    for k in 0..count {
        let (i, j) = (build.var("i"), build.var("j"));
        let sum = Sum {
            kind: Reduction::Sum,
            fetch: Vec::new(),
            var: j,
            lower: vec![c(0)],
            upper: vec![n.clone(), c(k)],
            step: 1,
            unroll: None,
            condition: Some(Condition::compare(Compare::Ge, v(j), c(k - 9))),
            body: Value::load(if k % 2 == 0 { x } else { z }, v(j)),
        };
        let store = Stmt::add(y, v(i) + (k + 1), Value::Sum(Box::new(sum)));
        body.push(Stmt::for_range(i, c(0), n.clone(), vec![store]));
    }
    build.finish(body)
}

#[test]
fn nests_of_one_shape_are_compiled_once() {
    nests_are_shared(40, 0);
}

#[test]
fn very_many_calls_are_functions_of_a_few() {
    nests_are_shared(150, 5);
}

/// `lists`: functions of nothing but calls.
fn nests_are_shared(count: i64, lists: usize) {
    let module = strips(count);
    dastac_loops::verify(&module).unwrap();
    let serial = compiled(&module, false);
    let functions = serial.text("mlir").matches("func.func private").count();
    assert!((2..=8).contains(&(functions - lists)), "{}", serial.text("mlir"));
    assert_eq!(serial.text("mlir").matches("func.call").count(), 2 * count as usize + lists);
    let parallel = compiled(&module, true);
    assert!(parallel.needs_openmp() && !serial.needs_openmp());
    let (serial, parallel) = (load(&serial), load(&parallel));
    for n in [0, 1, 7, 50] {
        let (size, count) = (n as usize, count as usize);
        let x = numbers(2 * size + 2 * count);
        let z: Vec<f32> = numbers(size + count).into_iter().map(|number| number as f32).collect();
        let y = numbers(size + 2 * count);
        let mut data = vec![
            Data::Float(x.clone()),
            Data::Float(z.iter().map(|number| f64::from(*number)).collect()),
            Data::Float(y.clone()),
        ];
        run(&module, "strips", &[n], &mut data).unwrap();
        for jit in [&serial, &parallel] {
            let mut y = y.clone();
            let buffers = &mut [Argument::read(&x), Argument::read(&z), Argument::write(&mut y)];
            jit.call_on(Threads::Of(2), "strips", &[n], buffers).unwrap();
            assert_eq!(Data::Float(y), data[2], "n = {n}");
        }
    }
}

#[test]
fn few_nests_stay_where_they_are() {
    let text = compiled(&strips(3), false).text("mlir");
    assert!(!text.contains("func.call"), "{text}");
}
