//! Parallel loops on one thread and on several.

use super::*;

/// `y[i] = sum(j in i..n) (x[j] + i*m + k)` for each `k` in turn, with an outer sequential loop, so that the
/// body uses variables of both loops, symbols and buffers.
fn wedge(bound: impl Fn(Index) -> Index) -> Module {
    let mut build = Build::new("wedge");
    let (n, m) = (build.symbol("n"), build.symbol("m"));
    let x = build.buffer("x", Element::F64, Mode::In, n.clone());
    let y = build.buffer("y", Element::F64, Mode::InOut, n.clone() * m.clone());
    let (k, i, j) = (build.var("k"), build.var("i"), build.var("j"));
    let term = Value::load(x, v(j)) + Value::FromIndex(v(i) * m.clone() + v(k));
    let store = Stmt::add(y, v(k) * n.clone() + v(i), Value::sum(j, v(i), n.clone(), term));
    let inner = For::new(i, c(0), bound(n), vec![store]).parallel();
    build.finish(vec![Stmt::for_range(k, c(0), m, vec![Stmt::For(inner)])])
}

fn call(threads: usize, jit: &Code, n: usize, m: usize) -> Vec<f64> {
    let x = numbers(n);
    let mut y = numbers(n * m);
    let buffers = &mut [Argument::read(&x), Argument::write(&mut y)];
    jit.call_on(Threads::Of(threads), "wedge", &[n as i64, m as i64], buffers).unwrap();
    y
}

fn expected(n: usize, m: usize) -> Vec<f64> {
    let x = numbers(n);
    let mut y = numbers(n * m);
    for k in 0..m {
        for i in 0..n {
            y[k * n + i] += (i..n).map(|j| x[j] + (i * m + k) as f64).sum::<f64>();
        }
    }
    y
}

#[test]
fn threads_change_nothing() {
    // The second bound is not affine.
    for module in [wedge(|n| n), wedge(|n| n.clone().max(n - 4))] {
        let serial = jit(&module);
        let compiled = compiled(&module, true);
        assert!(compiled.needs_openmp());
        let parallel = load(&compiled);
        for (n, m) in [(0, 0), (1, 1), (5, 0), (37, 3), (200, 2)] {
            let expected = expected(n, m);
            assert_eq!(call(1, &serial, n, m), expected);
            for threads in [1, 2, 5] {
                let found = call(threads, &parallel, n, m);
                assert_eq!(found, expected, "{threads} threads, n = {n}, m = {m}");
            }
        }
    }
}

#[test]
fn code_for_one_thread_needs_no_library() {
    let module = wedge(|n| n);
    let compiled = compiled(&module, false);
    assert!(!compiled.needs_openmp());
    assert!(!compiled.text("llvm").contains("__kmpc"));
    // Without a parallel loop, threads make no difference.
    let build = Build::new("empty").finish(vec![]);
    assert!(!super::compiled(&build, true).needs_openmp());
}

#[test]
fn uneven_work_is_shared_out_in_pieces() {
    // Static is 34, guided 36 (plus a flag) in OpenMP's interface; only the wedge has rows of different
    // length.
    let schedule = |module: &Module| compiled(module, true).text("llvm");
    assert!(schedule(&wedge(|n| n)).contains("__kmpc_dispatch_next"));
    let even = schedule(&kernels::matmul(Element::F64));
    assert!(even.contains("__kmpc_for_static_init") && !even.contains("__kmpc_dispatch_next"));
}

/// `C[i*m + j] += x[j]`, rows parallel: an inner loop that vectorises with a store.
pub(super) fn rows() -> Module {
    let mut build = Build::new("rows");
    let (n, m) = (build.symbol("n"), build.symbol("m"));
    let x = build.buffer("x", Element::F64, Mode::In, m.clone());
    let out = build.buffer("C", Element::F64, Mode::InOut, n.clone() * m.clone());
    let (i, j) = (build.var("i"), build.var("j"));
    let add = Stmt::add(out, v(i) * m.clone() + v(j), Value::load(x, v(j)));
    let rows = For::new(i, c(0), n, vec![Stmt::for_range(j, c(0), m, vec![add])]).parallel();
    build.finish(vec![Stmt::For(rows)])
}

#[test]
fn buffers_stay_apart_inside_parallel_loops() {
    // Were the promise lost, the vectoriser would compare addresses at run time before the inner loop.
    for parallel in [false, true] {
        let ir = compiled(&rows(), parallel).text("llvm");
        assert!(ir.contains("vector.body") && !ir.contains("vector.memcheck"), "{ir}");
    }
}
