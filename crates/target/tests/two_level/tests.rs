//! Kernels on this target.

use dastac_loops::passes::{Context, PASSES, Pipeline, Registry, Verified};
use dastac_loops::{Data, Module, interp, parse};
use dastac_target::{CodeKind, CodeOptions, Target, TargetError};
use expect_test::expect;

use crate::{SMALL, simulate};

const HEAD: &str = "\
module(N, M)
buffer A : f32[N * M]
buffer B : f32[N * M]
buffer C : f32[M]
buffer rows : i64[N + 1]
buffer W : f32[16]
";

/// The module after the target's own passes, each verified.
fn mapped(module: &Module) -> Module {
    let options = CodeOptions::default();
    let registry = Registry::of(&[PASSES, SMALL.passes()]);
    let pipeline = Pipeline::of(&registry, &SMALL.sequences(&options)).unwrap();
    let mut after = module.clone();
    let machine = SMALL.machine(&options);
    pipeline.run(&mut after, &Context::of(&machine), &mut Verified).unwrap();
    after
}

fn kernel(body: &str) -> Module {
    parse(&format!("{HEAD}func f(inout A, in B, in C, in rows) {{ {body} }}")).unwrap()
}

fn data(n: i64, m: i64) -> Vec<Data> {
    let floats = |count: i64, seed: i64| {
        Data::Float((0..count).map(|at| ((at * 7 + seed) % 9 - 4) as f64).collect())
    };
    let rows = (0..=n).map(|row| row * m - (row * m) % 2).collect();
    vec![floats(n * m, 1), floats(n * m, 2), floats(m, 3), Data::Int(rows)]
}

/// The kernel means the same after the passes, and computes the same as code.
fn check(body: &str) -> String {
    let before = kernel(body);
    let after = mapped(&before);
    let generated = SMALL.generate(&after, &CodeOptions::default()).unwrap();
    let code = String::from_utf8(generated.artifact.code.bytes).unwrap();
    assert_eq!(generated.artifact.code.kind, CodeKind::Text);
    let small = [(0, 3), (1, 1), (5, 4)];
    let sizes = if simulate::possible() { &small[..] } else { &[] };
    for (n, m) in [(0, 3), (1, 1), (5, 4), (7, 6)] {
        let (mut expected, mut found) = (data(n, m), data(n, m));
        interp::run(&before, "f", &[n, m], &mut expected).unwrap();
        interp::run(&after, "f", &[n, m], &mut found).unwrap();
        assert_eq!(expected, found, "{after}");
        if sizes.contains(&(n, m)) {
            assert_eq!(
                expected,
                simulate::run(&SMALL, &code, &after, &[n, m], &data(n, m)),
                "{code}"
            );
        }
    }
    let text = after.to_string();
    text[text.find("buffer W").unwrap()..].to_owned()
}

#[test]
fn loops_are_mapped_to_cores_and_lanes() {
    let text = check(
        "parallel i = 0 to N { parallel j = 0 to M {
           A[M * i + j] = sum(k = 0 to M if k <= j) B[M * i + k] * C[k] } }",
    );
    expect![[r#"
        buffer W : f32[16]
        func f(inout A, in B, in C, in rows) {
          parallel(cores) i = 0 to N {
            parallel(lanes) j = 0 to M {
              A[M * i + j] = sum(k = 0 to min(M, j + 1)) B[M * i + k] * C[k]
            }
          }
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn workspaces_go_to_scratchpads_while_they_fit() {
    let text = check(
        "parallel i = 0 to N { with W of 16 zero {
           parallel j = 0 to min(M, 16) { W[j] = B[M * i + j] + 1.0 }
           for k = 0 to min(M, 16) { A[M * i + k] += W[k] } } }",
    );
    expect![[r#"
        buffer W : f32[16] in scratchpad
        func f(inout A, in B, in C, in rows) {
          parallel(cores) i = 0 to N {
            with W of 16 zero {
              parallel(lanes) j = 0 to min(M, 16) {
                W[j] = B[M * i + j] + 1.0
              }
              for k = 0 to min(M, 16) {
                A[M * i + k] += W[k]
              }
            }
          }
        }
    "#]]
    .assert_eq(&text);
    // One that is as large as a row may be too large.
    let text = check(
        "parallel i = 0 to N { with W of M { for j = 0 to M { W[j] = B[M * i + j] A[M * i + j] += W[j] } } }",
    );
    assert!(text.contains("buffer W : f32[16]\n") && text.contains("parallel(cores)"), "{text}");
}

#[test]
fn everything_else_is_text() {
    check(
        "for i = 0 to N { A[M * i] min= min(j = 0 to M) B[M * i + j] A[M * i] += max(2.0, C[0]) / 2.0 }",
    );
    check(
        "for i = 0 to N { while p = 0, q = M if p < q { A[M * i + p] += C[p] } then p + 1, q
           after { if q > 2 and i / 2 < 2 { A[M * i + p - 1] = index(p + i) } else { A[M * i] = 0.5 } } }",
    );
    check("parallel i = 0 to N step 2 { A[M * i] = sum(p = rows[i] to rows[i + 1]) B[p] }");
}

#[test]
fn the_code() {
    let after = mapped(&kernel(
        "parallel i = 0 to N { with W of 16 {
           parallel j = 0 to 16 { W[j] = 0.0 } A[M * i] = sum(k = 0 to M) B[M * i + k] * W[k % 16] } }",
    ));
    expect![[r#"
        void f(long N, long M, float *A, float *B, float *C, long *rows) {
          CORES(i_0, 0, N, 1) {
            {
              SCRATCHPAD(float, W, 16);
              LANES(j_1, 0, 16, 1) {
                W[j_1] = 0.0f;
              }
              {
                float sum0 = 0.0f;
                for (long k_2 = 0; k_2 < M; k_2 += 1) {
                  sum0 += (B[((M * i_0) + k_2)] * W[floormod(k_2, 16)]);
                }
                A[(M * i_0)] = sum0;
              }
            }
          }
        }
    "#]]
    .assert_eq(&SMALL.text(&after, &CodeOptions::default(), "c").unwrap());
}

#[test]
fn what_it_refuses() {
    let refusal = |text: &str| {
        let module = parse(text).unwrap();
        SMALL.generate(&module, &CodeOptions::default()).map(|_| ()).unwrap_err().to_string()
    };
    let texts = [
        "module()\nbuffer A : f64[1]\nfunc f(out A) { A[0] = 1.0 }",
        "module()\nbuffer A : f32[1]\nbuffer W : f32[65] in scratchpad\nfunc f(out A) { with W of 65 { A[0] = 1.0 } }",
        "module()\nbuffer A : f32[9]\nfunc f(out A) { parallel(blocks) i = 0 to 9 { A[i] = 1.0 } }",
        "module()\nbuffer A : f32[9]\nfunc f(out A) { parallel i = 0 to 9 { A[i] = 1.0 } }",
        "module()\nbuffer A : f32[9]\nfunc f(out A) { partition b, e = 0 to 9 { A[b] = 1.0 } }",
        "module()\nbuffer A : f32[9]\nfunc f(in A) { A[1] = 1.0 }",
    ];
    expect![[r#"
        no code for two-level: buffer `A` has elements of type f64, which the machine does not have
        no code for two-level: function `f` needs 260 bytes of scratchpad memory at once, of 256
        no code for two-level: a loop of function `f` is parallel on blocks, which the machine does not have
        no code for two-level: function `f` has a statement that no pass has lowered: a loop that is neither sequential nor on cores or lanes
        no code for two-level: function `f` has a statement that no pass has lowered: one of a kind that it does not know
        invalid loop module: function `f`: `A[1] = 1.0`: input `A` is written to"#]].assert_eq(&texts.map(refusal).join("\n"));
    let module = kernel("A[0] = 1.0");
    let stage = SMALL.text(&module, &CodeOptions::default(), "asm");
    assert!(matches!(stage, Err(TargetError::UnknownStage { .. })));
}
