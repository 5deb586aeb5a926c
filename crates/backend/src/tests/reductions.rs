//! Minima, maxima and truth values: one by one, in lanes, in tiles.

use super::*;
use dastac_loops::interp::{self, Data};

/// Rows with rows, rows with columns, a loop that keeps the smallest, truth values, integers.
const TEXT: &str = "module(N, M)
buffer A : FLOAT[N * N]
buffer B : FLOAT[N * M]
buffer C : FLOAT[N * M]
buffer R : FLOAT[N * N]
buffer T : FLOAT[N * N]
buffer x : FLOAT[N]
buffer last : u32[N]
func f(out A, out R, out T, out x, inout last, in B, in C) {
  parallel i = 0 to N { parallel j = 0 to N { A[N * i + j] = min(k = 0 to M) (B[M * i + k] + C[N * k + j]) } }
  parallel i = 0 to N { parallel j = 0 to N { R[N * i + j] = max(0.5, max(k = 0 to M) B[M * i + k] * C[M * j + k]) } }
  parallel i = 0 to N { parallel j = 0 to N {
    T[N * i + j] = truth(max(k = 0 to M) truth(B[M * i + k]) * truth(C[N * k + j]))
  } }
  parallel i = 0 to N {
    x[i] = B[M * i]
    for k = 0 to M { if k % 3 != i % 3 { x[i] min= B[M * i + k] } }
    for k = 0 to M { last[i] max= index((k * 7 + i) % 11) }
    for k = 0 to M { last[i] min= index(k + 5) }
  }
}";

#[test]
fn each_kind() {
    for float in ["f64", "f32"] {
        let module = parse(&TEXT.replace("FLOAT", float)).unwrap();
        assert_eq!(verify(&module), Ok(()));
        for (tiled, parallel, checked) in
            [(false, false, false), (true, false, false), (true, true, false), (true, true, true)]
        {
            let options = Options { parallel, checked, ..Options::default() };
            let mut module = module.clone();
            passes::simplify(&mut module);
            if tiled {
                passes::tile(&mut module, &options.cpu.machine(&options.code()));
                assert_eq!(verify(&module), Ok(()));
            }
            let jit = load(&compile(&module, &options).unwrap());
            for (n, m) in [(1, 1), (3, 17), (20, 33), (37, 5)] {
                check(&jit, &module, float == "f32", (n, m));
            }
        }
    }
}

fn check(jit: &Code, module: &Module, narrow: bool, (n, m): (usize, usize)) {
    // Quarters, many of them zero.
    let list = |by: usize| -> Vec<f64> {
        (0..n * m).map(|at| ((at * by) % 13) as f64 / 4.0 - 1.0).map(|x| x.max(0.0)).collect()
    };
    let (b, c) = (list(5), list(7));
    let sizes = [n * n, n * n, n * n, n];
    let float = |len: usize| Data::Float(vec![9.0; len]);
    let mut expected: Vec<Data> = sizes.map(float).to_vec();
    expected.extend([Data::Int(vec![3; n]), Data::Float(b.clone()), Data::Float(c.clone())]);
    interp::run(module, "f", &[n as i64, m as i64], &mut expected).unwrap();
    let mut last = vec![3u32; n];
    let results: Vec<Data> = if narrow {
        let mut out = sizes.map(|len| vec![9.0f32; len]);
        let [b, c] = [&b, &c].map(|list| list.iter().map(|x| *x as f32).collect::<Vec<_>>());
        let mut buffers: Vec<_> = out.iter_mut().map(|list| Argument::write(list)).collect();
        buffers.extend([Argument::write(&mut last), Argument::read(&b), Argument::read(&c)]);
        jit.call("f", &[n as i64, m as i64], &mut buffers).unwrap();
        out.map(|list| Data::Float(list.into_iter().map(f64::from).collect())).to_vec()
    } else {
        let mut out = sizes.map(|len| vec![9.0; len]);
        let mut buffers: Vec<_> = out.iter_mut().map(|list| Argument::write(list)).collect();
        buffers.extend([Argument::write(&mut last), Argument::read(&b), Argument::read(&c)]);
        jit.call("f", &[n as i64, m as i64], &mut buffers).unwrap();
        out.map(Data::Float).to_vec()
    };
    assert_eq!(results, expected[..4], "{module}");
    assert_eq!(Data::Int(last.into_iter().map(i64::from).collect()), expected[4]);
}

#[test]
fn what_is_no_number_stays_visible() {
    let text = "module(N)\nbuffer x : f64[4]\nbuffer y : f64[N]\nfunc f(out x, in y) {\n\
                x[0] = min(i = 0 to N) y[i]\nx[1] = max(i = 0 to N if i != 3) y[i]\n\
                x[2] = 5.0\nx[2] min= y[9]\nx[3] = min(i = 0 to N - 8) truth(y[i + 8]) }";
    let module = parse(text).unwrap();
    let jit = jit(&module);
    for place in [3, 9, 19] {
        let mut y = numbers(20);
        y[place] = f64::NAN;
        let mut expected = [Data::Float(vec![0.0; 4]), Data::Float(y.clone())];
        interp::run(&module, "f", &[20], &mut expected).unwrap();
        let mut x = vec![0.0_f64; 4];
        let buffers = &mut [Argument::write(&mut x), Argument::read(&y)];
        jit.call("f", &[20], buffers).unwrap();
        assert!(x[0].is_nan() && x[1].is_nan() == (place != 3) && x[2].is_nan() == (place == 9));
        assert_eq!(format!("{:?}", expected[0]), format!("{:?}", Data::Float(x)));
    }
}
