//! Each construct of the loop IR, against the same computed in Rust.

use super::*;

/// Packed lower triangle times vector: `y[i] = sum(j in 0..=i) L[i*(i+1)/2 + j] * x[j]`.
pub(super) fn triangular() -> Module {
    triangular_rows(false)
}

/// The same, its rows parallel on demand.
pub(super) fn triangular_rows(parallel: bool) -> Module {
    let mut build = Build::new("trmv");
    let n = build.symbol("n");
    let packed = (n.clone() * (n.clone() + 1)).exact_div(2);
    let l = build.buffer("L", Element::F64, Mode::In, packed);
    let x = build.buffer("x", Element::F64, Mode::In, n.clone());
    let y = build.buffer("y", Element::F64, Mode::Out, n.clone());
    let (i, j) = (build.var("i"), build.var("j"));
    let row = (v(i) * (v(i) + 1)).exact_div(2);
    let body = Value::load(l, row + v(j)) * Value::load(x, v(j));
    let sum = Value::sum(j, c(0), v(i) + 1, body);
    let rows = For::new(i, c(0), n, vec![Stmt::set(y, v(i), sum)]);
    build.finish(vec![Stmt::For(if parallel { rows.parallel() } else { rows })])
}

#[test]
fn triangular_matrix_vector() {
    let module = triangular();
    for n in [0, 1, 2, 7, 65] {
        let (l, x) = (numbers(n * (n + 1) / 2), numbers(n));
        let expected: Vec<f64> =
            (0..n).map(|i| (0..=i).map(|j| l[i * (i + 1) / 2 + j] * x[j]).sum()).collect();
        assert_eq!(run(&module, &[n as i64], &[&l, &x], n), expected, "n = {n}");
    }
}

/// `C[i][j] = sum(k) A[i][k] * B[k][j]`, outer loop parallel.
pub(super) fn matmul(element: Element) -> Module {
    let mut build = Build::new("matmul");
    let (n, m, p) = (build.symbol("n"), build.symbol("m"), build.symbol("p"));
    let a = build.buffer("A", element, Mode::In, n.clone() * p.clone());
    let b = build.buffer("B", element, Mode::In, p.clone() * m.clone());
    let out = build.buffer("C", element, Mode::Out, n.clone() * m.clone());
    let (i, j, k) = (build.var("i"), build.var("j"), build.var("k"));
    let product = Value::load(a, v(i) * p.clone() + v(k)) * Value::load(b, v(k) * m.clone() + v(j));
    let store = Stmt::set(out, v(i) * m.clone() + v(j), Value::sum(k, c(0), p, product));
    let rows = For::new(i, c(0), n, vec![Stmt::for_range(j, c(0), m, vec![store])]).parallel();
    build.finish(vec![Stmt::For(rows)])
}

#[test]
fn matrix_product() {
    let (n, m, p) = (5, 9, 7);
    let (a, b) = (numbers(n * p), numbers(p * m));
    let expected: Vec<f64> =
        (0..n * m).map(|at| (0..p).map(|k| a[at / m * p + k] * b[k * m + at % m]).sum()).collect();
    let params = [n as i64, m as i64, p as i64];
    assert_eq!(run(&matmul(Element::F64), &params, &[&a, &b], n * m), expected);
}

#[test]
fn single_precision() {
    let (n, m, p) = (3, 17, 5);
    let single = |list: Vec<f64>| list.into_iter().map(|x| x as f32).collect::<Vec<_>>();
    let (a, b) = (single(numbers(n * p)), single(numbers(p * m)));
    let expected: Vec<f32> =
        (0..n * m).map(|at| (0..p).map(|k| a[at / m * p + k] * b[k * m + at % m]).sum()).collect();
    let mut out = vec![0.0; n * m];
    let buffers = &mut [Argument::read(&a), Argument::read(&b), Argument::write(&mut out)];
    jit(&matmul(Element::F32)).call("matmul", &[3, 17, 5], buffers).unwrap();
    assert_eq!(out, expected);
}

/// Stores an integer expression for each `i` in `-20..20`, called `x` and ranging with `n` as it is.
fn table(make: impl Fn(Index, Index) -> Index) -> Vec<i64> {
    let mut build = Build::new("table");
    let n = build.symbol("n");
    let out = build.buffer("out", Element::I64, Mode::Out, c(40));
    let i = build.var("i");
    let value = Value::FromIndex(make(v(i), n));
    let store = Stmt::set(out, v(i) + 20, value);
    let module = build.finish(vec![Stmt::for_range(i, c(-20), c(20), vec![store])]);
    let mut out = vec![99_i64; 40];
    jit(&module).call("table", &[3], &mut [Argument::write(&mut out)]).unwrap();
    out
}

fn expected(make: impl Fn(i64) -> i64) -> Vec<i64> {
    (-20..20).map(make).collect()
}

#[test]
fn floor_division_and_remainder() {
    for by in [1, 2, 3, 7, 8, 64] {
        let quotient = table(|x, _| Index::FloorDiv(Box::new(x), by));
        assert_eq!(quotient, expected(|x| x.div_euclid(by)), "by {by}");
        let remainder = table(|x, _| Index::Mod(Box::new(x), by));
        assert_eq!(remainder, expected(|x| x.rem_euclid(by)), "by {by}");
    }
    // At the ends of the range, where a sign or an intermediate result could overflow.
    let shifted = table(|x, _| Index::FloorDiv(Box::new(x * 461168601842738790), 3));
    assert_eq!(shifted, expected(|x| (x * 461168601842738790).div_euclid(3)));
}

#[test]
fn exact_division() {
    for by in [1, 2, 3, 6, 8] {
        let quotient = table(|x, _| Index::ExactDiv(Box::new(x.clone() * x.clone() * x * by), by));
        assert_eq!(quotient, expected(|x| x * x * x), "by {by}");
    }
    // A polynomial that only whole is divisible.
    let binomial = table(|x, _| (x.clone() * (x.clone() - 1) * (x - 2)).exact_div(6));
    assert_eq!(binomial, expected(|x| x * (x - 1) * (x - 2) / 6));
}

#[test]
fn minimum_maximum_and_selection() {
    assert_eq!(table(|x, n| x.clone().min(n - x)), expected(|x| x.min(3 - x)));
    assert_eq!(table(|x, n| (x.clone() * x).max(n * 9)), expected(|x| (x * x).max(27)));
    for (op, holds) in [
        (Compare::Eq, i64::eq as fn(&i64, &i64) -> bool),
        (Compare::Ne, i64::ne),
        (Compare::Lt, i64::lt),
        (Compare::Le, i64::le),
        (Compare::Gt, i64::gt),
        (Compare::Ge, i64::ge),
    ] {
        let found = table(|x, n| {
            let condition = Condition::Compare(op, x.clone(), n);
            Index::Select(Box::new(condition), Box::new(x.clone() + 100), Box::new(x))
        });
        assert_eq!(found, expected(|x| if holds(&x, &3) { x + 100 } else { x }), "{op:?}");
    }
}

/// Marks with 1 (2 otherwise) each `i` in `0..20` where the condition holds.
fn marks(make: impl Fn(Index, Index) -> Condition) -> Vec<i64> {
    let mut build = Build::new("marks");
    let n = build.symbol("n");
    let out = build.buffer("out", Element::I64, Mode::Out, c(20));
    let i = build.var("i");
    let condition = make(v(i), n);
    let set = |value: i64| vec![Stmt::set(out, v(i), Value::FromIndex(c(value)))];
    let branch = Stmt::If(If { condition, then: set(1), otherwise: set(2) });
    let module = build.finish(vec![Stmt::for_range(i, c(0), c(20), vec![branch])]);
    let mut out = vec![99_i64; 20];
    jit(&module).call("marks", &[7], &mut [Argument::write(&mut out)]).unwrap();
    out
}

fn marked(holds: impl Fn(i64) -> bool) -> Vec<i64> {
    (0..20).map(|i| if holds(i) { 1 } else { 2 }).collect()
}

#[test]
fn conditions() {
    use Compare::*;
    let compare = |op, left: Index, right: Index| Condition::Compare(op, left, right);
    // Affine: `affine.if`.
    let found = marks(|i, n| {
        Condition::And(vec![
            compare(Ge, i.clone() * 2, n.clone() - 2),
            compare(Eq, Index::Mod(Box::new(i.clone() + n), 3), c(0)),
            compare(Lt, i.clone(), c(17)),
            compare(Gt, i.clone(), c(-1)),
            compare(Le, i, c(15)),
        ])
    });
    assert_eq!(found, marked(|i| 2 * i >= 5 && (i + 7) % 3 == 0 && i <= 15));
    // Not a conjunction, not affine: `scf.if`.
    let found = marks(|i, n| {
        Condition::Or(vec![
            compare(Lt, i.clone(), c(3)),
            Condition::And(vec![
                compare(Ne, i.clone(), c(12)),
                compare(Gt, i.clone().max(c(4)), n.clone()),
            ]),
            compare(Eq, (i * 2).min(n + 4), c(10)),
        ])
    });
    assert_eq!(found, marked(|i| i < 3 || (i != 12 && i.max(4) > 7) || i * 2 == 10));
    assert_eq!(marks(|_, _| Condition::And(vec![])), marked(|_| true));
    assert_eq!(marks(|_, _| Condition::Or(vec![])), marked(|_| false));
}

/// A loop, and a sum, over the given range; counts visits of each `i` and the sum of `i`s at the end.
fn visits(lower: &[Index], upper: &[Index], step: i64, params: &[i64]) -> Vec<f64> {
    let mut build = Build::new("visits");
    build.symbol("n");
    build.symbol("m");
    let out = build.buffer("out", Element::F64, Mode::InOut, c(31));
    let (i, j) = (build.var("i"), build.var("j"));
    let (lower, upper) = (lower.to_vec(), upper.to_vec());
    let body = vec![Stmt::add(out, v(i), 1.0.into())];
    let sum = Sum {
        kind: Reduction::Sum,
        fetch: Vec::new(),
        var: j,
        lower: lower.clone(),
        upper: upper.clone(),
        step,
        unroll: None,
        condition: None,
        body: Value::FromIndex(v(j)),
    };
    let module = build.finish(vec![
        Stmt::For(For { var: i, lower, upper, step, mark: Mark::Sequential, body }),
        Stmt::set(out, c(30), Value::Sum(Box::new(sum))),
    ]);
    let mut out = vec![0.0; 31];
    jit(&module).call("visits", params, &mut [Argument::write(&mut out)]).unwrap();
    out
}

#[test]
fn ranges() {
    let (n, m) = (|| Index::Symbol(SymbolId(0)), || Index::Symbol(SymbolId(1)));
    let check = |lower: &[Index], upper: &[Index], step: i64, params: [i64; 2]| {
        let range = (lower.iter().map(|x| x.eval_symbols(&params).unwrap()).max().unwrap())
            ..(upper.iter().map(|x| x.eval_symbols(&params).unwrap()).min().unwrap());
        let mut expected = vec![0.0; 31];
        for i in range.step_by(step as usize) {
            expected[i as usize] = 1.0;
            expected[30] += i as f64;
        }
        assert_eq!(visits(lower, upper, step, &params), expected);
    };
    for params in [[0, 0], [3, 20], [20, 3], [13, 13], [5, 29]] {
        check(&[c(0)], &[n()], 1, params);
        check(&[n()], &[m()], 1, params);
        check(&[n(), c(4)], &[m(), n() + 9, c(30)], 3, params);
        check(&[n().floor_div(2)], &[Index::Mod(Box::new(m()), 7) + 4], 2, params);
        // Flattened into lists.
        check(&[n().max(m())], &[c(30).min(n() + 10)], 1, params);
        // Not affine: `scf.for`.
        check(&[n().min(m())], &[n().max(m())], 2, params);
        check(&[c(0)], &[n().max(m()).floor_div(3) * 2 + 1], 4, params);
    }
}

#[test]
fn variables_of_loops_with_other_bounds() {
    // The middle loop is not affine, so neither are the bounds and conditions that mention its variable.
    let mut build = Build::new("nest");
    let n = build.symbol("n");
    let out = build.buffer("out", Element::F64, Mode::InOut, c(1));
    let (i, j, k, l) = (build.var("i"), build.var("j"), build.var("k"), build.var("l"));
    let term = Sum {
        kind: Reduction::Sum,
        fetch: Vec::new(),
        var: l,
        lower: vec![v(j)],
        upper: vec![v(k) + 1],
        step: 1,
        unroll: None,
        condition: Some(Condition::Compare(Compare::Le, v(j) + v(l), n.clone())),
        body: Value::FromIndex(v(l) + 1),
    };
    let add = Stmt::add(out, c(0), Value::Sum(Box::new(term)));
    let branch = Stmt::when(Condition::Compare(Compare::Ne, v(j), v(i)), vec![add]);
    let inner = Stmt::for_range(k, v(j), n.clone(), vec![branch]);
    let middle = Stmt::for_range(j, v(i).min(n.clone() - v(i)), n.clone(), vec![inner]);
    let module = build.finish(vec![Stmt::for_range(i, c(0), n, vec![middle])]);

    let n = 9;
    let mut expected = 0;
    for i in 0..n {
        for j in i.min(n - i)..n {
            for k in j..n {
                for l in j..=k {
                    if j != i && j + l <= n {
                        expected += l + 1;
                    }
                }
            }
        }
    }
    let mut out = [0.0];
    jit(&module).call("nest", &[n], &mut [Argument::write(&mut out)]).unwrap();
    assert_eq!(out, [expected as f64]);
}

#[test]
fn conditional_sum_does_not_load_outside() {
    // `y[i] = sum(j in i-2..=i+2 if 0 <= j < n) x[j]`: loads outside would be of another array here.
    let mut build = Build::new("window");
    let n = build.symbol("n");
    let x = build.buffer("x", Element::F64, Mode::In, n.clone());
    let y = build.buffer("y", Element::F64, Mode::Out, n.clone());
    let (i, j) = (build.var("i"), build.var("j"));
    let sum = Sum {
        kind: Reduction::Sum,
        fetch: Vec::new(),
        var: j,
        lower: vec![v(i) - 2],
        upper: vec![v(i) + 3],
        step: 1,
        unroll: None,
        condition: Some(Condition::And(vec![
            Condition::Compare(Compare::Ge, v(j), c(0)),
            Condition::Compare(Compare::Lt, v(j), n.clone()),
        ])),
        body: Value::load(x, v(j)),
    };
    let store = Stmt::set(y, v(i), Value::Sum(Box::new(sum)));
    let module = build.finish(vec![Stmt::for_range(i, c(0), n, vec![store])]);
    let padded = [vec![f64::NAN; 4], numbers(23), vec![f64::NAN; 4]].concat();
    let x = &padded[4..27];
    let expected: Vec<f64> =
        (0..23usize).map(|i| x[i.saturating_sub(2)..(i + 3).min(23)].iter().sum()).collect();
    assert_eq!(run(&module, &[23], &[x], 23), expected);
}

#[test]
fn values() {
    // Quotients, conversions, constants without an exact decimal, accumulation, mixed precision.
    let mut build = Build::new("values");
    let n = build.symbol("n");
    let single = build.buffer("single", Element::F32, Mode::InOut, c(2));
    let out = build.buffer("out", Element::F64, Mode::InOut, c(6));
    let module = build.finish(vec![
        Stmt::set(out, c(0), Value::Const(0.1) / Value::Const(3.0) / Value::FromIndex(n.clone())),
        Stmt::add(out, c(1), Value::Const(-2.0) * Value::FromIndex(c(0) - n)),
        Stmt::set(out, c(2), Value::Const(f64::NEG_INFINITY)),
        Stmt::set(out, c(3), Value::Const(1e300)),
        Stmt::set(out, c(4), Value::Const(f64::NAN)),
        Stmt::set(out, c(5), Value::load(single, c(0)) + Value::load(out, c(0))),
        Stmt::set(single, c(1), Value::load(out, c(0)) * Value::Const(0.1)),
    ]);
    let (mut single, mut out) = ([0.5, 0.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let buffers = &mut [Argument::write(&mut single), Argument::write(&mut out)];
    jit(&module).call("values", &[7], buffers).unwrap();
    let first = 0.1 / 3.0 / 7.0;
    assert_eq!(out[..4], [first, 16.0, f64::NEG_INFINITY, 1e300]);
    assert!(out[4].is_nan());
    assert_eq!(out[5], first + 0.5);
    assert_eq!(single, [0.5, (first * 0.1) as f32]);
}

#[test]
fn integer_accumulation() {
    let mut build = Build::new("count");
    let out = build.buffer("out", Element::I64, Mode::InOut, c(2));
    let i = build.var("i");
    let add = Stmt::add(out, Index::Mod(Box::new(v(i)), 2), Value::FromIndex(v(i)));
    let module = build.finish(vec![Stmt::for_range(i, c(0), c(10), vec![add])]);
    let mut out = [100_i64, 200];
    jit(&module).call("count", &[], &mut [Argument::write(&mut out)]).unwrap();
    assert_eq!(out, [120, 225]);
}

#[test]
fn several_functions_share_symbols_and_buffers() {
    let mut build = Build::new("fill");
    let n = build.symbol("n");
    let x = build.buffer("x.0", Element::F64, Mode::Out, n.clone());
    let i = build.var("i j");
    let fill =
        Stmt::for_range(i, c(0), n.clone(), vec![Stmt::set(x, v(i), Value::FromIndex(v(i)))]);
    let mut module = build.finish(vec![fill]);
    let y = module.buffer("y", Element::F64, c(1));
    let mut total = Function::new("total", vec![(y, Mode::InOut), (x, Mode::In)]);
    let i = total.fresh_var("i");
    let sum = Value::sum(i, c(0), n, Value::load(x, v(i)));
    total.body = vec![Stmt::add(y, c(0), sum)];
    module.functions.push(total);

    let options = Options { prefix: "my_".to_owned(), ..Options::default() };
    let jit = load(&compile(&module, &options).unwrap());
    let (mut x, mut y) = (vec![0.0; 100], [0.5]);
    jit.call("fill", &[100], &mut [Argument::write(&mut x)]).unwrap();
    jit.call("total", &[100], &mut [Argument::write(&mut y), Argument::read(&x)]).unwrap();
    assert_eq!(y, [4950.5]);
}
