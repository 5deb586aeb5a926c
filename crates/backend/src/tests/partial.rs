//! Long sums in parts with results of their own.

use super::*;

/// Products of columns, and a sum without loops around it; in parts from four terms on.
const TEXT: &str = "module(N, M)
buffer A : ELEMENT[N * N]
buffer B : ELEMENT[(N + 1) * M]
buffer A.parts : ELEMENT[N * N * 5]
buffer D : ELEMENT[N + 1]
buffer D.parts : ELEMENT[max(3, N + 1)]
func f(out A, in B, out D) {
  partial b, e = 0 to M step 2 in 5 if M >= 4 with A as A.parts at s from 0 of N * N {
    partition ib, ie = 0 to N step 2 by ie {
      parallel i = ib to ie {
        parallel j = 0 to N { A.parts[N * i + j + s] = sum(x = b to e) B[M * i + x] * B[M * j + x] }
      }
    }
  } then {
    for i = 0 to N { for j = 0 to N { A[N * i + j] = sum(p = 0 to 5) A.parts[N * i + j + p * N * N] } }
  }
  partial b, e = 1 to M step 1 in 3 if M >= 4 with D as D.parts at s from N of 1 {
    D.parts[N + s] = sum(x = b to e) B[x]
  } then {
    D[N] = sum(p = 0 to 3) D.parts[p]
  }
}";

#[test]
fn parts_add_up() {
    for element in ["f64", "f32"] {
        let module = parse(&TEXT.replace("ELEMENT", element)).unwrap();
        assert_eq!(verify(&module), Ok(()));
        for (parallel, checked) in [(false, false), (true, false), (false, true), (true, true)] {
            let options = Options { parallel, checked, ..Options::default() };
            let jit = load(&compile(&module, &options).unwrap());
            for (n, m) in [(0, 0), (0, 7), (1, 0), (1, 1), (3, 3), (3, 4), (5, 29), (7, 64)] {
                check(&jit, &module, (n, m), element == "f32");
            }
        }
    }
}

/// Against the interpreter, which always forms parts.
fn check(jit: &Code, module: &Module, (n, m): (usize, usize), narrow: bool) {
    let symbols = [n as i64, m as i64];
    // Small integers: exact in any order.
    let b: Vec<f64> = (0..(n + 1) * m).map(|at| ((at * 7) % 11) as f64 - 4.0).collect();
    let mut expected = [vec![9.0; n * n], b.clone(), vec![9.0; n + 1]].map(Data::Float);
    interp::run(module, "f", &symbols, &mut expected).unwrap();
    let (a, d) = if narrow {
        let b: Vec<f32> = b.iter().map(|x| *x as f32).collect();
        let (mut a, mut d) = (vec![9.0f32; n * n], vec![9.0f32; n + 1]);
        let buffers = &mut [Argument::write(&mut a), Argument::read(&b), Argument::write(&mut d)];
        jit.call("f", &symbols, buffers).unwrap();
        (a.into_iter().map(f64::from).collect(), d.into_iter().map(f64::from).collect())
    } else {
        let (mut a, mut d) = (vec![9.0; n * n], vec![9.0; n + 1]);
        let buffers = &mut [Argument::write(&mut a), Argument::read(&b), Argument::write(&mut d)];
        jit.call("f", &symbols, buffers).unwrap();
        (a, d)
    };
    assert_eq!(
        [Data::Float(a), Data::Float(d)],
        [expected[0].clone(), expected[2].clone()],
        "{n} {m}"
    );
}
