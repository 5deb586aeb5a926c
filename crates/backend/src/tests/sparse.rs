//! Loops over the positions of sparse tensors: bounds and subscripts that are loaded.

use super::*;
use dastac_loops::passes;

/// A matrix in rows of positions (`csr`) times a matrix, and times a vector.
const TEXT: &str = "module(N, M, K, Z)
buffer C : f64[N * K]
buffer y : f64[N]
buffer pos : INT[N + 1]
buffer crd : INT[Z]
buffer val : f64[Z]
buffer B : f64[M * K]
func f(out C, out y, in pos, in crd, in val, in B) {
  parallel i = 0 to N {
    parallel k = 0 to K { C[K * i + k] = sum(p = pos[i] to pos[i + 1]) val[p] * B[K * crd[p] + k] }
  }
  parallel i = 0 to N { y[i] = sum(p = pos[i] to pos[i + 1]) val[p] * B[crd[p]] }
}";

#[test]
fn rows_of_positions() {
    for int in ["u32", "i64"] {
        let module = parse(&TEXT.replace("INT", int)).unwrap();
        assert_eq!(verify(&module), Ok(()));
        for (tiled, parallel, checked) in
            [(false, false, false), (true, false, false), (true, true, false), (true, true, true)]
        {
            let mut module = module.clone();
            let options = Options { parallel, checked, ..Options::default() };
            if tiled {
                passes::tile(&mut module, &options.cpu.machine(&options.code()));
                assert_eq!(verify(&module), Ok(()));
            }
            let jit = load(&compile(&module, &options).unwrap());
            for (n, m, k) in [(0, 0, 0), (1, 1, 1), (7, 5, 3), (13, 40, 37), (5, 90, 64)] {
                check(&jit, &module, int == "u32", (n, m, k));
            }
        }
    }
}

/// Two sorted lists in one: positions that the loop carries, and what is left of each list after it.
const MERGE: &str = "module(N, P, Q)
buffer A : f64[N]
buffer B : u32[P]
buffer C : i64[Q]
func f(inout A, in B, in C) {
  while p = 0, q = 0 if p < P and q < Q {
    if B[p] == C[q] { A[B[p]] += index(p + q) } else if B[p] < C[q] { A[B[p]] += index(p) } else { A[C[q]] += index(q) }
  } then select(B[p] <= C[q], p + 1, p), select(C[q] <= B[p], q + 1, q) after {
    for r = p to P { A[B[r]] += index(r) }
    for r = q to Q { A[C[r]] += index(r) }
  }
}";

#[test]
fn lists_merge() {
    let module = parse(MERGE).unwrap();
    assert_eq!(verify(&module), Ok(()));
    for (parallel, checked) in [(false, false), (true, true)] {
        let options = Options { parallel, checked, ..Options::default() };
        let jit = load(&compile(&module, &options).unwrap());
        for (p, q) in [(0, 0), (0, 3), (4, 0), (5, 5), (7, 3), (20, 40)] {
            let (b, c): (Vec<u32>, Vec<i64>) = (
                (0..p).map(|at| at * 3).collect(),
                (0..q).map(|at| i64::from(at) * 2 + 1).collect(),
            );
            let symbols = [100, i64::from(p), i64::from(q)];
            let wide = b.iter().map(|at| i64::from(*at)).collect();
            let mut expected = [Data::Float(numbers(100)), Data::Int(wide), Data::Int(c.clone())];
            interp::run(&module, "f", &symbols, &mut expected).unwrap();
            let mut a = numbers(100);
            let buffers = &mut [Argument::write(&mut a), Argument::read(&b), Argument::read(&c)];
            jit.call("f", &symbols, buffers).unwrap();
            assert_eq!(Data::Float(a), expected[0], "{p} {q}");
        }
    }
}

/// Conditions and selections whose later parts may not be asked: `B` is empty where `p < P` never holds.
const GUARDED: &str = "module(N, P)
buffer A : f64[N]
buffer B : u32[P]
func f(inout A, in B) {
  for i = 0 to N {
    if i < P and B[i - 4] == 1 { A[i] += 1.0 }
    if i >= P or B[i] == 2 { A[i] += 2.0 }
    if i < N and (i >= P or B[i] == 3) { A[i] += 4.0 }
    A[i] += index(select(i < P, B[i - 4], i))
  }
}";

#[test]
fn what_is_not_asked_is_not_loaded() {
    let mut text = GUARDED.replace("B[i - 4]", "B[i]");
    for emptied in [false, true] {
        if emptied {
            // Far outside of the buffer, but never asked.
            text = GUARDED.replace("B[i - 4]", "B[i - 4000000000]");
        }
        let module = parse(&text).unwrap();
        for checked in [false, true] {
            let options = Options { checked, ..Options::default() };
            let jit = load(&compile(&module, &options).unwrap());
            let b: Vec<u32> = if emptied { Vec::new() } else { vec![1, 2, 3, 0, 1] };
            let symbols = [9, b.len() as i64];
            let wide = b.iter().map(|at| i64::from(*at)).collect();
            let mut expected = [Data::Float(numbers(9)), Data::Int(wide)];
            interp::run(&module, "f", &symbols, &mut expected).unwrap();
            let mut a = numbers(9);
            let buffers = &mut [Argument::write(&mut a), Argument::read(&b)];
            jit.call("f", &symbols, buffers).unwrap();
            assert_eq!(Data::Float(a), expected[0], "{emptied}");
        }
    }
}

fn check(jit: &Code, module: &Module, narrow: bool, (n, m, k): (usize, usize, usize)) {
    // Rows of 0 to 10 elements.
    let mut pos = vec![0usize];
    let mut crd = Vec::new();
    for i in 0..n {
        crd.extend((0..m).filter(|j| (i * 7 + j * 5) % (2 + i % 9) == 0).take(10));
        pos.push(crd.len());
    }
    let z = crd.len();
    let small = |len: usize, by: usize| -> Vec<f64> {
        (0..len).map(|at| ((at * by) % 11) as f64 - 4.0).collect()
    };
    let (val, b) = (small(z, 7), small(m * k, 5));
    let symbols = [n, m, k, z].map(|x| x as i64);
    let ints = |list: &[usize]| Data::Int(list.iter().map(|x| *x as i64).collect());
    let mut expected = [
        Data::Float(vec![9.0; n * k]),
        Data::Float(vec![9.0; n]),
        ints(&pos),
        ints(&crd),
        Data::Float(val.clone()),
        Data::Float(b.clone()),
    ];
    interp::run(module, "f", &symbols, &mut expected).unwrap();
    let (mut c, mut y) = (vec![9.0; n * k], vec![9.0; n]);
    let [pos32, crd32]: [Vec<u32>; 2] =
        [&pos, &crd].map(|list| list.iter().map(|x| *x as u32).collect());
    let [pos64, crd64]: [Vec<i64>; 2] =
        [&pos, &crd].map(|list| list.iter().map(|x| *x as i64).collect());
    let (pos, crd) = match narrow {
        true => (Argument::read(&pos32), Argument::read(&crd32)),
        false => (Argument::read(&pos64), Argument::read(&crd64)),
    };
    let buffers = &mut [
        Argument::write(&mut c),
        Argument::write(&mut y),
        pos,
        crd,
        Argument::read(&val),
        Argument::read(&b),
    ];
    jit.call("f", &symbols, buffers).unwrap();
    assert_eq!([Data::Float(c), Data::Float(y)], [expected[0].clone(), expected[1].clone()]);
}

#[test]
fn iterations_are_counted() {
    let mut module = parse(MERGE).unwrap();
    let counted = trips::count_trips(&mut module, "f").unwrap();
    let (b, c, symbols) = ([1u32, 4, 5, 9], [2i64, 4, 7, 8, 9, 11, 12], [20, 4, 7]);
    let wide = b.iter().map(|at| i64::from(*at)).collect();
    let mut expected = [
        Data::Float(vec![0.0; 20]),
        Data::Int(wide),
        Data::Int(c.to_vec()),
        Data::Int(vec![9; counted.len()]),
    ];
    interp::run(&module, "f", &symbols, &mut expected).unwrap();
    let (mut a, mut trips) = (vec![0.0; 20], vec![9i64; counted.len()]);
    let buffers = &mut [
        Argument::write(&mut a),
        Argument::read(&b),
        Argument::read(&c),
        Argument::write(&mut trips),
    ];
    load(&compiled(&module, true)).call("f", &symbols, buffers).unwrap();
    // Up to 9 in both lists; then there are two more in one.
    assert_eq!(trips, [7, 0, 2]);
    assert_eq!([Data::Float(a), Data::Int(trips)], [expected[0].clone(), expected[3].clone()]);
}
