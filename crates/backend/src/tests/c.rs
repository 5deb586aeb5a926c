//! Modules as C, compiled by a C compiler, against the interpreter's sums.

use crate::BufferArg;
use crate::c::{Compiler, source};
use dastac_loops::parse;
use expect_test::expect;

const MODULE: &str = "module(N, M)
buffer A : f64[N]
buffer B : f32[N * M]
func kernel(out A, in B) {
  parallel i = 0 to N {
    if i % 2 == 0 and i < 5 {
      A[i] = sum(j = max(i, 1) to min(M, 7) if j != 3) B[i * M + j] * 2.5
    } else {
      for k = 0 to 1 {
        A[i] = select(i / 2 < 1, index(i), index(N)) + -1e-3
      }
    }
  }
}
";

#[test]
fn text() {
    let text =
        MODULE.replace("select(i / 2 < 1, index(i), index(N))", "index(select(i / 2 < 1, i, N))");
    let module = parse(&text).unwrap();
    let text = source(&module, true);
    expect![[r#""#]]
        .assert_eq(text.split_once("greatest(int64_t").unwrap().1.split_once('\n').unwrap().1);
}

#[test]
fn calls() {
    let Some(compiler) = Compiler::find() else { return };
    let text =
        MODULE.replace("select(i / 2 < 1, index(i), index(N))", "index(select(i / 2 < 1, i, N))");
    let module = parse(&text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let native = compiler.load(&module, false, folder.path(), "test").unwrap();
    let (n, m) = (6usize, 9usize);
    let b: Vec<f32> = (0..n * m).map(|k| k as f32 * 0.5).collect();
    let mut a = vec![f64::NAN; n];
    let mut buffers = [BufferArg::F64(&mut a), BufferArg::F32In(&b)];
    native.call("kernel", &[n as i64, m as i64], &mut buffers).unwrap();
    let row = |i: usize| {
        let columns = i.max(1)..7;
        columns.filter(|j| *j != 3).map(|j| f64::from(b[i * m + j]) * 2.5).sum::<f64>()
    };
    let expected = [row(0), 1.0 - 1e-3, row(2), 6.0 - 1e-3, row(4), 6.0 - 1e-3];
    assert!(a.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9), "{a:?}");
    let short = &mut [BufferArg::F64(&mut a[..3]), BufferArg::F32In(&b)];
    assert!(native.call("kernel", &[6, 9], short).is_err());
    assert!(native.call("other", &[6, 9], &mut []).is_err());
}
