//! The calls' checks, the errors, the text forms.

use super::*;
use crate::{Error, OptLevel};

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
    // More elements than needed are fine; nothing needed for a size of zero or less.
    call("trmv", &[2], &[0, 1, 2]).unwrap();
    call("trmv", &[-5], &[0, 1, 2]).unwrap_err();
    call("trmv", &[0], &[1, 1, 2]).unwrap();
    let found = [
        message(call("trmm", &[3], &[0, 1, 2])),
        message(call("trmv", &[3, 4], &[0, 1, 2])),
        message(call("trmv", &[3], &[0, 1])),
        message(call("trmv", &[3], &[0, 3, 2])),
        message(call("trmv", &[3], &[0, 1, 1])),
        message(call("trmv", &[4], &[0, 1, 2])),
        message(call("trmv", &[i64::MAX], &[0, 1, 2])),
    ];
    expect_test::expect![[r#"
        no function `trmm`; there are trmv
        `trmv` takes 1 parameters, 2 given
        `trmv` takes 3 buffers, 2 given
        buffer `x` has elements of type f64, f32 given
        buffer `y` is stored to by `trmv`, a read-only slice was given
        buffer `L` needs 10 elements, 6 given
        the size of buffer `L` has no value: integer overflow"#]].assert_eq(&found.join("\n"));
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
        check(&|module| drop(module.functions[0].args.pop())),
        check(&|module| module.buffers[2].element = Element::I64),
        check(&|module| module.functions[0].name = "a-b".to_owned()),
    ];
    expect_test::expect![[r#"
        invalid loop module: step 0, in `trmv`
        invalid loop module: a loop has no bounds, in `trmv`
        invalid loop module: divisor 0, in `trmv`
        invalid loop module: variable 1 is not bound, in `trmv`
        invalid loop module: variable 7 does not exist, in `trmv`
        invalid loop module: symbol 0 does not exist, in `trmv`
        invalid loop module: buffer 2 is no argument, in `trmv`
        invalid loop module: an integer buffer stores a number, in `trmv`
        `a-b` is not a C identifier"#]].assert_eq(&found.join("\n"));
}

#[test]
fn mlir_text() {
    expect_test::expect![[r#"
        module {
          func.func @trmv(%params: memref<281474976710656xi64> {llvm.noalias, llvm.readonly}, %b0_L: memref<281474976710656xf64> {llvm.noalias, llvm.readonly}, %b1_x: memref<281474976710656xf64> {llvm.noalias, llvm.readonly}, %b2_y: memref<281474976710656xf64> {llvm.noalias}) {
            %c0 = arith.constant 0 : index
            %f64_0000000000000000 = arith.constant 0.0 : f64
            %c1 = arith.constant 1 : index
            %t0 = memref.load %params[%c0] : memref<281474976710656xi64>
            %s0_n = arith.index_cast %t0 : i64 to index
            affine.for %v0_i_1 = affine_map<() -> (0)>() to affine_map<()[s0] -> (s0)>()[%s0_n] step 1 {
              %t2 = affine.for %v1_j_4 = affine_map<() -> (0)>() to affine_map<(d0) -> ((d0 + 1))>(%v0_i_1) step 1 iter_args(%t3 = %f64_0000000000000000) -> (f64) {
                %t5 = arith.addi %v0_i_1, %c1 overflow<nsw> : index
                %t6 = arith.muli %v0_i_1, %t5 overflow<nsw> : index
                %t7 = arith.shrsi %t6, %c1 exact : index
                %t8 = arith.addi %t7, %v1_j_4 overflow<nsw> : index
                %t9 = memref.load %b0_L[%t8] : memref<281474976710656xf64>
                %t10 = memref.load %b1_x[%v1_j_4] : memref<281474976710656xf64>
                %t11 = arith.mulf %t9, %t10 fastmath<reassoc,nsz,contract> : f64
                %t12 = arith.addf %t3, %t11 fastmath<reassoc,nsz,contract> : f64
                affine.yield %t12 : f64
              }
              memref.store %t2, %b2_y[%v0_i_1] : memref<281474976710656xf64>
            }
            return
          }
        }
    "#]].assert_eq(compiled(&kernels::triangular(), false).mlir());
    expect_test::expect![[r#"
        module {
          func.func private @matmul__parallel0(%v0_i_3: index, %s1_m: index, %s2_p: index, %b0_A: memref<281474976710656xf32> {llvm.noalias, llvm.readonly}, %b1_B: memref<281474976710656xf32> {llvm.noalias, llvm.readonly}, %b2_C: memref<281474976710656xf32> {llvm.noalias}) {
            %f32_00000000 = arith.constant 0.0 : f32
            affine.for %v1_j_0 = affine_map<() -> (0)>() to affine_map<()[s0] -> (s0)>()[%s1_m] step 1 {
              %t1 = affine.for %v2_k_3 = affine_map<() -> (0)>() to affine_map<()[s0] -> (s0)>()[%s2_p] step 1 iter_args(%t2 = %f32_00000000) -> (f32) {
                %t4 = arith.muli %v0_i_3, %s2_p overflow<nsw> : index
                %t5 = arith.addi %t4, %v2_k_3 overflow<nsw> : index
                %t6 = memref.load %b0_A[%t5] : memref<281474976710656xf32>
                %t7 = arith.muli %v2_k_3, %s1_m overflow<nsw> : index
                %t8 = arith.addi %t7, %v1_j_0 overflow<nsw> : index
                %t9 = memref.load %b1_B[%t8] : memref<281474976710656xf32>
                %t10 = arith.mulf %t6, %t9 fastmath<reassoc,nsz,contract> : f32
                %t11 = arith.addf %t2, %t10 fastmath<reassoc,nsz,contract> : f32
                affine.yield %t11 : f32
              }
              %t12 = arith.muli %v0_i_3, %s1_m overflow<nsw> : index
              %t13 = arith.addi %t12, %v1_j_0 overflow<nsw> : index
              memref.store %t1, %b2_C[%t13] : memref<281474976710656xf32>
            }
            return
          }
          func.func @matmul(%params: memref<281474976710656xi64> {llvm.noalias, llvm.readonly}, %b0_A: memref<281474976710656xf32> {llvm.noalias, llvm.readonly}, %b1_B: memref<281474976710656xf32> {llvm.noalias, llvm.readonly}, %b2_C: memref<281474976710656xf32> {llvm.noalias}) {
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c2 = arith.constant 2 : index
            %t0 = memref.load %params[%c0] : memref<281474976710656xi64>
            %s0_n = arith.index_cast %t0 : i64 to index
            %t1 = memref.load %params[%c1] : memref<281474976710656xi64>
            %s1_m = arith.index_cast %t1 : i64 to index
            %t2 = memref.load %params[%c2] : memref<281474976710656xi64>
            %s2_p = arith.index_cast %t2 : i64 to index
            affine.parallel (%v0_i_3) = (max(0)) to (min(symbol(%s0_n))) step (1) {
              func.call @matmul__parallel0(%v0_i_3, %s1_m, %s2_p, %b0_A, %b1_B, %b2_C) : (index, index, index, memref<281474976710656xf32>, memref<281474976710656xf32>, memref<281474976710656xf32>) -> ()
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
    assert_eq!(stages, ["emit", "parse", "lower", "translate", "optimise", "codegen"]);
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
        let jit = Jit::load(&compile(&module, &Options { opt_level, ..Options::default() }).unwrap());
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
