//! The calls' checks, the errors, the text forms.

use super::*;
use crate::OptLevel;

fn message<T>(result: crate::Result<T>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn wrong_calls_are_errors() {
    let jit = jit(&kernels::triangular());
    let (l, x, mut y) = (vec![0.0; 6], vec![0.0; 3], vec![0.0; 3]);
    let mut call = |name: &str, params: &[i64], which: &[usize]| {
        let mut buffers = Vec::new();
        let mut y = Some(&mut y);
        for at in which {
            buffers.push(match at {
                0 => BufferArg::F64In(&l),
                1 => BufferArg::F64In(&x),
                2 => BufferArg::F64(y.take().unwrap()),
                _ => BufferArg::F32In(&[]),
            });
        }
        jit.call(name, params, &mut buffers)
    };
    call("trmv", &[3], &[0, 1, 2]).unwrap();
    // More elements than needed are fine.
    call("trmv", &[2], &[0, 1, 2]).unwrap();
    call("trmv", &[0], &[1, 1, 2]).unwrap();
    let found = [
        message(call("trmm", &[3], &[0, 1, 2])),
        message(call("trmv", &[3, 4], &[0, 1, 2])),
        message(call("trmv", &[3], &[0, 1])),
        message(call("trmv", &[3], &[0, 3, 2])),
        message(call("trmv", &[3], &[0, 1, 1])),
        message(call("trmv", &[4], &[0, 1, 2])),
        message(call("trmv", &[-5], &[0, 1, 2])),
        message(call("trmv", &[i64::MAX], &[0, 1, 2])),
    ];
    expect_test::expect![[r#"
        no function `trmm`; there are trmv
        `trmv` takes 1 parameters, 2 given
        `trmv` takes 3 buffers, 2 given
        buffer `x` has elements of type f64, f32 given
        buffer `y` is stored to by `trmv`, a read-only slice was given
        buffer `L` needs 10 elements, 6 given
        buffer `L` needs 10 elements, 6 given
        the size of buffer `L` has no value: integer overflow"#]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn invalid_modules_are_errors() {
    let check = |change: &dyn Fn(&mut Module)| {
        let mut module = kernels::triangular();
        change(&mut module);
        message(compile(&module, &Options::default()))
    };
    fn outer(module: &mut Module) -> &mut For {
        match &mut module.functions[0].body[0] {
            Stmt::For(inner) => inner,
            _ => panic!("the kernel starts with a loop"),
        }
    }
    let found = [
        check(&|module| outer(module).step = 0),
        check(&|module| outer(module).lower.clear()),
        check(&|module| outer(module).upper = vec![Index::FloorDiv(Box::new(c(4)), 0)]),
        check(&|module| outer(module).upper = vec![v(VarId(1))]),
        check(&|module| outer(module).var = VarId(7)),
        check(&|module| module.symbols.clear()),
        check(&|module| module.functions[0].args.truncate(2)),
        check(&|module| module.buffers[2].element = Element::I64),
        check(&|module| module.functions[0].args[2].1 = Mode::In),
        check(&|module| module.functions[0].name = "a-b".to_owned()),
    ];
    expect_test::expect![[r#"
        invalid loop module: function `trmv`: `for i = 0 to n step 0`: the step 0 is not positive
        invalid loop module: function `trmv`: `for i = max() to n`: a range has no bounds
        invalid loop module: function `trmv`: `for i = 0 to 4 / 0`: the divisor 0 is not positive
        invalid loop module: function `trmv`: `for i = 0 to j`: variable `j` is not bound here
        invalid loop module: function `trmv`: `for v7 = 0 to n`: variable 7 does not exist; function `trmv`: `y[i] = sum(j = 0 to i + 1) L[exact(i * (i + 1), 2) + j] * x[j]`: variable `i` is not bound here
        invalid loop module: symbol 0 does not exist; symbol 0 does not exist; symbol 0 does not exist; symbol 0 does not exist; function `trmv`: `for i = 0 to p0`: symbol 0 does not exist
        invalid loop module: function `trmv`: `y[i] = sum(j = 0 to i + 1) L[exact(i * (i + 1), 2) + j] * x[j]`: buffer `y` is not an argument
        invalid loop module: function `trmv`: `y[i] = sum(j = 0 to i + 1) L[exact(i * (i + 1), 2) + j] * x[j]`: a value that is not an integer is stored to integer buffer `y`
        invalid loop module: function `trmv`: `y[i] = sum(j = 0 to i + 1) L[exact(i * (i + 1), 2) + j] * x[j]`: input `y` is written to
        invalid loop module: `a-b` is not a valid name"#]].assert_eq(&found.join("\n"));
}

#[test]
fn mlir_text() {
    expect_test::expect![[r#"
        !f64s = memref<281474976710656xf64>
        !f32s = memref<281474976710656xf32>
        !i64s = memref<281474976710656xi64>
        module {
          func.func @trmv(%params: !i64s {llvm.noalias, llvm.readonly}, %b0_L: !f64s {llvm.noalias, llvm.readonly}, %b1_x: !f64s {llvm.noalias, llvm.readonly}, %b2_y: !f64s {llvm.noalias}) {
            %c0 = arith.constant 0 : index
            %f64_0000000000000000 = arith.constant 0.0 : f64
            %c1 = arith.constant 1 : index
            %t0 = memref.load %params[%c0] : !i64s
            %s0_n = arith.index_cast %t0 : i64 to index
            affine.for %i_1 = 0 to %s0_n {
              %t2 = affine.for %j_4 = 0 to affine_map<(d0) -> ((d0 + 1))>(%i_1) iter_args(%t3 = %f64_0000000000000000) -> (f64) {
                %t5 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t6 = arith.muli %i_1, %t5 overflow<nsw> : index
                %t7 = arith.shrsi %t6, %c1 exact : index
                %t8 = arith.addi %t7, %j_4 overflow<nsw> : index
                %t9 = memref.load %b0_L[%t8] : !f64s
                %t10 = memref.load %b1_x[%j_4] : !f64s
                %t11 = arith.mulf %t9, %t10 fastmath<reassoc,nsz,contract> : f64
                %t12 = arith.addf %t3, %t11 fastmath<reassoc,nsz,contract> : f64
                affine.yield %t12 : f64
              }
              memref.store %t2, %b2_y[%i_1] : !f64s
            }
            return
          }
        }
    "#]].assert_eq(compiled(&kernels::triangular(), false).mlir());
    expect_test::expect![[r#"
        !f64s = memref<281474976710656xf64>
        !f32s = memref<281474976710656xf32>
        !i64s = memref<281474976710656xi64>
        module {
          func.func private @matmul__parallel0(%i_3: index, %s1_m: index, %s2_p: index, %b0_A: !f32s {llvm.noalias, llvm.readonly}, %b1_B: !f32s {llvm.noalias, llvm.readonly}, %b2_C: !f32s {llvm.noalias}) attributes {passthrough = ["noinline"]} {
            %f32_00000000 = arith.constant 0.0 : f32
            affine.for %j_0 = 0 to %s1_m {
              %t1 = affine.for %k_3 = 0 to %s2_p iter_args(%t2 = %f32_00000000) -> (f32) {
                %t4 = arith.muli %i_3, %s2_p overflow<nsw> : index
                %t5 = arith.addi %t4, %k_3 overflow<nsw> : index
                %t6 = memref.load %b0_A[%t5] : !f32s
                %t7 = arith.muli %k_3, %s1_m overflow<nsw> : index
                %t8 = arith.addi %t7, %j_0 overflow<nsw> : index
                %t9 = memref.load %b1_B[%t8] : !f32s
                %t10 = arith.mulf %t6, %t9 fastmath<reassoc,nsz,contract> : f32
                %t11 = arith.addf %t2, %t10 fastmath<reassoc,nsz,contract> : f32
                affine.yield %t11 : f32
              }
              %t12 = arith.muli %i_3, %s1_m overflow<nsw> : index
              %t13 = arith.addi %t12, %j_0 overflow<nsw> : index
              memref.store %t1, %b2_C[%t13] : !f32s
            }
            return
          }
          func.func @matmul(%params: !i64s {llvm.noalias, llvm.readonly}, %b0_A: !f32s {llvm.noalias, llvm.readonly}, %b1_B: !f32s {llvm.noalias, llvm.readonly}, %b2_C: !f32s {llvm.noalias}) {
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c2 = arith.constant 2 : index
            %t0 = memref.load %params[%c0] : !i64s
            %s0_n = arith.index_cast %t0 : i64 to index
            %t1 = memref.load %params[%c1] : !i64s
            %s1_m = arith.index_cast %t1 : i64 to index
            %t2 = memref.load %params[%c2] : !i64s
            %s2_p = arith.index_cast %t2 : i64 to index
            affine.parallel (%i_3) = (max(0)) to (min(symbol(%s0_n))) step (1) {
              func.call @matmul__parallel0(%i_3, %s1_m, %s2_p, %b0_A, %b1_B, %b2_C) : (index, index, index, !f32s, !f32s, !f32s) -> ()
            }
            return
          }
        }
    "#]].assert_eq(compiled(&kernels::matmul(Element::F32), true).mlir());
}

#[test]
fn other_text_forms() {
    let compiled = compiled(&kernels::triangular(), false);
    assert!(compiled.mlir_lowered().unwrap().contains("llvm.func @trmv("));
    let ir = compiled.llvm_ir().unwrap();
    assert!(ir.contains("define void @trmv(ptr noalias"), "{ir}");
    assert!(ir.contains("define void @trmv__packed("), "{ir}");
    assert!(compiled.assembly().unwrap().contains("trmv:"));
    let stages: Vec<_> = compiled.timings().iter().map(|(stage, _)| *stage).collect();
    assert_eq!(stages, ["verify", "emit", "parse", "lower", "translate", "optimise", "codegen"]);
}

#[test]
fn output_is_the_same_each_time() {
    let module = kernels::matmul(Element::F64);
    let (first, second) = (compiled(&module, true), compiled(&module, true));
    assert_eq!(first.mlir(), second.mlir());
    assert_eq!(first.object(), second.object());
}

#[test]
fn levels_agree() {
    let module = kernels::triangular();
    let (l, x) = (numbers(21), numbers(6));
    let mut results = Vec::new();
    for opt_level in [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
        let jit =
            Jit::load(&compile(&module, &Options { opt_level, ..Options::default() }).unwrap());
        let mut y = vec![0.0; 6];
        let buffers = &mut [BufferArg::F64In(&l), BufferArg::F64In(&x), BufferArg::F64(&mut y)];
        jit.unwrap().call("trmv", &[6], buffers).unwrap();
        results.push(y);
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
}

#[test]
fn compiling_on_several_threads() {
    let results: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let make = || compiled(&kernels::triangular(), false).object().to_vec();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
