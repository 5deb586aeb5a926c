//! Memory that statements have to themselves, and integers that a function reads after it wrote them.

use super::*;
use dastac_loops::interp::{self, Data};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// A matrix in rows as one in columns: how many elements columns have, where each begins, and its elements in the order
/// of rows.
const TRANSPOSE: &str = "module(N, M, Z)
buffer tpos : u32[M + 1]
buffer tcrd : INT[Z]
buffer tval : f64[Z]
buffer pos : u32[N + 1]
buffer crd : u32[Z]
buffer val : f64[Z]
buffer next : INT[0]
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
fn a_transpose() {
    for int in ["u32", "i64"] {
        let module = parse(&TRANSPOSE.replace("INT", int)).unwrap();
        assert_eq!(verify(&module), Ok(()));
        let (pos, crd) = ([0u32, 2, 2, 5, 6], [0u32, 3, 1, 3, 4, 0]);
        let (symbols, val) = ([4, 5, 6], numbers(6));
        let wide = |list: &[u32]| Data::Int(list.iter().map(|at| i64::from(*at)).collect());
        let mut expected = [
            Data::Int(vec![9; 6]),
            Data::Int(vec![9; 6]),
            Data::Float(vec![9.0; 6]),
            wide(&pos),
            wide(&crd),
            Data::Float(val.clone()),
        ];
        interp::run(&module, "f", &symbols, &mut expected).unwrap();
        assert_eq!(expected[0], Data::Int(vec![0, 2, 3, 3, 5, 6]));
        let check = |call: &dyn Fn(&mut [Argument<'_>])| {
            let (mut tpos, mut narrow, mut long, mut tval) =
                ([9u32; 6], [9u32; 6], [9i64; 6], [9.0; 6]);
            let tcrd = match int {
                "u32" => Argument::write(&mut narrow),
                _ => Argument::write(&mut long),
            };
            call(&mut [
                Argument::write(&mut tpos),
                tcrd,
                Argument::write(&mut tval),
                Argument::read(&pos),
                Argument::read(&crd),
                Argument::read(&val),
            ]);
            let tcrd = if int == "u32" { wide(&narrow) } else { Data::Int(long.to_vec()) };
            assert_eq!([wide(&tpos), tcrd, Data::Float(tval.to_vec())], expected[..3]);
        };
        for checked in [false, true] {
            let options = Options { checked, ..Options::default() };
            let jit = load(&compile(&module, &options).unwrap());
            check(&|buffers| jit.call("f", &symbols, buffers).unwrap());
        }
    }
}

/// Each row has a workspace, on the stack or not; all share another one.
const ROWS: &str = "module(N, M)
buffer A : f64[N]
buffer B : f64[N * M]
buffer W : f32[0]
buffer V : f64[0]
func f(out A, in B) {
  with V of M zero {
    parallel j = 0 to M { V[j] = index(j) }
    parallel i = 0 to N {
      with W of SIZE {
        for j = 0 to M { W[j] = B[M * i + j] * V[j] }
        A[i] = sum(j = 0 to M) W[M - 1 - j]
      }
    }
  }
}";

#[test]
fn each_iteration_has_its_own() {
    for size in ["M", "40", "M + i"] {
        let module = parse(&ROWS.replace("SIZE", size)).unwrap();
        assert_eq!(verify(&module), Ok(()));
        let (n, m) = (50usize, 40usize);
        let b = numbers(n * m);
        let mut expected = [Data::Float(vec![9.0; n]), Data::Float(b.clone())];
        let symbols = [n as i64, m as i64];
        interp::run(&module, "f", &symbols, &mut expected).unwrap();
        for (parallel, checked) in [(false, false), (true, false), (true, true)] {
            let options = Options { parallel, checked, ..Options::default() };
            let jit = load(&compile(&module, &options).unwrap());
            let mut a = vec![9.0; n];
            let buffers = &mut [Argument::write(&mut a), Argument::read(&b)];
            jit.call_on(Threads::Of(3), "f", &symbols, buffers).unwrap();
            assert_eq!(Data::Float(a), expected[0], "{size} {parallel} {checked}");
        }
    }
}

/// Set for the process that shall fail.
const CASE: &str = "DASTAC_WORKSPACE_CASE";

#[test]
fn too_little_memory_ends_the_process() {
    if std::env::var(CASE).is_ok() {
        let (mut a, b) = ([0.0; 2], [0.0; 2]);
        let module = parse(&ROWS.replace("SIZE", "N * 4611686018427387")).unwrap();
        let buffers = &mut [Argument::write(&mut a), Argument::read(&b)];
        jit(&module).call("f", &[2, 1], buffers).unwrap();
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::workspace::too_little_memory_ends_the_process", "--nocapture"])
        .env(CASE, "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(6), "{stderr}");
    let text = "dastac: no memory for 9223372036854774 elements of type f32\n";
    assert!(stderr.contains(text), "{stderr}");
}

/// A panel of `B` copied for all rows, or read where it is.
const PANEL: &str = "module(N, M)
buffer A : f64[N * M]
buffer B : f64[N * M]
buffer W : f64[0]
func f(out A, in B) {
  parallel i = 0 to N {
    with W of 2 * M or B if i <= 1 {
      if i >= 2 { for j = 0 to M { unroll k = 0 to 2 { W[2 * j + k] = B[M * k + j] } } }
      if i <= 1 { for j = 0 to M { A[M * i + j] = W[M * i + j] } } else { for j = 0 to M { A[M * i + j] = W[2 * j + 1] } }
    }
  }
}";

#[test]
fn another_buffer_instead() {
    let module = parse(PANEL).unwrap();
    assert_eq!(verify(&module), Ok(()));
    assert_eq!(parse(&module.to_string()).as_ref(), Ok(&module));
    let (n, m) = (5usize, 300usize);
    let b = numbers(n * m);
    let mut expected = [Data::Float(vec![9.0; n * m]), Data::Float(b.clone())];
    let symbols = [n as i64, m as i64];
    interp::run(&module, "f", &symbols, &mut expected).unwrap();
    assert_eq!(expected[0].as_float().unwrap()[..2 * m], b[..2 * m]);
    for (parallel, checked) in [(false, false), (true, false), (true, true)] {
        let options = Options { parallel, checked, ..Options::default() };
        let jit = load(&compile(&module, &options).unwrap());
        let mut a = vec![9.0; n * m];
        let buffers = &mut [Argument::write(&mut a), Argument::read(&b)];
        jit.call_on(Threads::Of(3), "f", &symbols, buffers).unwrap();
        assert_eq!(Data::Float(a), expected[0], "{parallel} {checked}");
    }
}
