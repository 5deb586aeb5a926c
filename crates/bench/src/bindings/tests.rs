//! Modules as C, compiled by a C compiler, against the interpreter's sums.

use super::c::{Compiler, source};
use dastac_loops::parse;
use dastac_runtime::Argument;
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
        A[i] = index(select(i / 2 < 1, i, N)) + -1e-3
      }
    }
  }
}
";

#[test]
fn text() {
    let module = parse(MODULE).unwrap();
    let text = source(&module, true);
    expect![[r#"
        static void kernel_(int64_t N_0, int64_t M_1, double *restrict b_A_0, const float *restrict b_B_1) {
          #pragma omp parallel for schedule(static)
          for (int64_t i_i_0 = INT64_C(0); i_i_0 < N_0; i_i_0 += 1) {
            if ((floor_mod(i_i_0, 2) == INT64_C(0) && i_i_0 < INT64_C(5))) {
              b_A_0[i_i_0] = ({ double sum_0 = 0; for (int64_t i_j_1 = greatest(i_i_0, INT64_C(1)); i_j_1 < least(M_1, INT64_C(7)); i_j_1 += 1) if (i_j_1 != INT64_C(3)) sum_0 = (sum_0 + ((double)b_B_1[((i_i_0 * M_1) + i_j_1)] * (double)2.5)); sum_0; });
            } else {
              for (int64_t i_k_2 = INT64_C(0); i_k_2 < INT64_C(1); i_k_2 += 1) {
                b_A_0[i_i_0] = ((double)(floor_div(i_i_0, 2) < INT64_C(1) ? i_i_0 : N_0) + (double)-0.001);
              }
            }
          }
        }
        void kernel__packed(const int64_t *p, void *const *b) { kernel_(p[0], p[1], (double *)b[0], (const float *)b[1]); }
    "#]]
        .assert_eq(text.split_once("greatest(int64_t").unwrap().1.split_once('\n').unwrap().1);
}

#[test]
fn calls() {
    let Some(compiler) = Compiler::find() else { return };
    let module = parse(MODULE).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let native = compiler.load(&module, false, folder.path(), "test").unwrap();
    let (n, m) = (6usize, 9usize);
    let b: Vec<f32> = (0..n * m).map(|k| k as f32 * 0.5).collect();
    let mut a = vec![f64::NAN; n];
    let mut buffers = [Argument::write(&mut a), Argument::read(&b)];
    native.call("kernel", &[n as i64, m as i64], &mut buffers).unwrap();
    let row = |i: usize| {
        let columns = i.max(1)..7;
        columns.filter(|j| *j != 3).map(|j| f64::from(b[i * m + j]) * 2.5).sum::<f64>()
    };
    let expected = [row(0), 1.0 - 1e-3, row(2), 6.0 - 1e-3, row(4), 6.0 - 1e-3];
    assert!(a.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-9), "{a:?}");
    let short = &mut [Argument::write(&mut a[..3]), Argument::read(&b)];
    assert!(native.call("kernel", &[6, 9], short).is_err());
    assert!(native.call("other", &[6, 9], &mut []).is_err());
}

/// What TACO writes for a compressed matrix times a vector, with a compressed result of one level more than it needs.
const TACO: &str = "
int assemble(taco_tensor_t *A, taco_tensor_t *B, taco_tensor_t *C) {
  int32_t* pos = (int32_t*)malloc(sizeof(int32_t) * 2);
  pos[0] = 0;
  pos[1] = B->dimensions[0];
  int32_t* crd = (int32_t*)malloc(sizeof(int32_t) * pos[1]);
  for (int32_t i = 0; i < pos[1]; i++) crd[i] = i;
  A->indices[0][0] = (uint8_t*)pos;
  A->indices[0][1] = (uint8_t*)crd;
  A->vals = (uint8_t*)malloc(sizeof(double) * pos[1]);
  return 0;
}
int compute(taco_tensor_t *A, taco_tensor_t *B, taco_tensor_t *C) {
  int32_t* pos = (int32_t*)(B->indices[1][0]);
  int32_t* crd = (int32_t*)(B->indices[1][1]);
  for (int32_t i = 0; i < *(int32_t*)(B->indices[0][0]); i++) {
    double sum = 0.0;
    for (int32_t p = pos[i]; p < pos[i + 1]; p++) sum += ((double*)B->vals)[p] * ((double*)C->vals)[crd[p]];
    ((double*)A->vals)[i] = sum;
  }
  return 0;
}
";

#[test]
fn tensors_go_to_taco_and_back() {
    use super::taco::{Input, Level, TacoKernel};
    let Some(compiler) = Compiler::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let matrix = Level::Compressed { positions: vec![0, 2, 2, 3], coordinates: vec![0, 3, 1] };
    let (b, c) = ([1.0, 2.0, 5.0], [1.0, 10.0, 100.0, 1000.0]);
    let inputs = vec![
        Input { dimensions: vec![3, 4], levels: vec![Level::Dense, matrix], values: &b },
        Input { dimensions: vec![4], levels: vec![Level::Dense], values: &c },
    ];
    let place = (folder.path(), "test");
    let mut kernel =
        TacoKernel::new(&compiler, TACO, place, false, (vec![3], &[true]), inputs).unwrap();
    kernel.run();
    assert_eq!(kernel.values(), [2001.0, 0.0, 50.0]);
}

/// A matrix in rows as one in columns: how many elements columns have, where each begins, and its elements in the order
/// of rows.
const TRANSPOSE: &str = "module(N, M, Z)
buffer tpos : u32[M + 1]
buffer tcrd : u32[Z]
buffer tval : f64[Z]
buffer pos : u32[N + 1]
buffer crd : u32[Z]
buffer val : f64[Z]
buffer next : u32[0]
func f(out tpos, out tcrd, out tval, in pos, in crd, in val) {
  with next of M + 1 zero {
    for p = 0 to Z { next[crd[p]] += index(1) }
    tpos[0] = index(0)
    for j = 0 to M {
      let first = tpos[j] {
        let count = next[j] {
          tpos[j + 1] = index(first + count)
          next[j] = index(first)
        }
      }
    }
    for i = 0 to N {
      for p = pos[i] to pos[i + 1] {
        let q = next[crd[p]] {
          tcrd[q] = index(i)
          tval[q] = val[p]
        }
        next[crd[p]] += index(1)
      }
    }
  }
}";

#[test]
fn a_transpose_in_workspaces() {
    let Some(compiler) = Compiler::find() else { return };
    let module = parse(TRANSPOSE).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let native = compiler.load(&module, false, folder.path(), "transpose").unwrap();
    let (pos, crd) = ([0u32, 2, 2, 5, 6], [0u32, 3, 1, 3, 4, 0]);
    let val = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (mut tpos, mut tcrd, mut tval) = ([9u32; 6], [9u32; 6], [9.0; 6]);
    let mut buffers = [
        Argument::write(&mut tpos),
        Argument::write(&mut tcrd),
        Argument::write(&mut tval),
        Argument::read(&pos),
        Argument::read(&crd),
        Argument::read(&val),
    ];
    native.call("f", &[4, 5, 6], &mut buffers).unwrap();
    assert_eq!(tpos, [0, 2, 3, 3, 5, 6]);
    assert_eq!(tcrd, [0, 3, 2, 0, 2, 2]);
    assert_eq!(tval, [1.0, 6.0, 3.0, 2.0, 4.0, 5.0]);
}
