//! The calls' checks, the errors, the text forms.

use super::*;

fn message<T, E: ToString>(result: Result<T, E>) -> String {
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
                0 => Argument::read(&l),
                1 => Argument::read(&x),
                2 => Argument::write(y.take().unwrap()),
                _ => Argument::read::<f32>(&[]),
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
        `trmv` takes 1 parameter, 2 given
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

/// Compiled for a processor whose vectors are the same on every machine.
fn plain(module: &Module) -> Compiled {
    let cpu = CpuTarget::named("x86-64").unwrap();
    compile(module, &Options { cpu, ..Options::default() }).unwrap()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn mlir_text() {
    expect_test::expect![[r#"
        !f64s = memref<281474976710656xf64>
        !f32s = memref<281474976710656xf32>
        !i64s = memref<281474976710656xi64>
        !i32s = memref<281474976710656xi32>
        !i8s = memref<281474976710656xi8>
        module {
          func.func @trmv(%params: !i64s {llvm.noalias, llvm.readonly}, %b0_L: !f64s {llvm.noalias, llvm.readonly}, %b1_x: !f64s {llvm.noalias, llvm.readonly}, %b2_y: !f64s {llvm.noalias}) {
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c10 = arith.constant 10 : index
            %c12 = arith.constant 12 : index
            %c14 = arith.constant 14 : index
            %c15 = arith.constant 15 : index
            %c16 = arith.constant 16 : index
            %c2 = arith.constant 2 : index
            %c4 = arith.constant 4 : index
            %c6 = arith.constant 6 : index
            %c8 = arith.constant 8 : index
            %v2xf64_ = arith.constant dense<0.0> : vector<2xf64>
            %t0 = memref.load %params[%c0] : !i64s
            %s0_n = arith.index_cast %t0 : i64 to index
            affine.for %i_1 = 0 to %s0_n {
              %t2 = arith.addi %i_1, %c1 overflow<nsw> : index
              %t3 = arith.subi %t2, %c0 : index
              %t4 = arith.maxsi %t3, %c0 : index
              %t5 = arith.andi %t4, %c15 : index
              %t6 = arith.subi %t4, %t5 : index
              %t7 = arith.addi %c0, %t6 : index
              %t16:8 = scf.for %j_17 = %c0 to %t7 step %c16 iter_args(%t8 = %v2xf64_, %t9 = %v2xf64_, %t10 = %v2xf64_, %t11 = %v2xf64_, %t12 = %v2xf64_, %t13 = %v2xf64_, %t14 = %v2xf64_, %t15 = %v2xf64_) -> (vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>) {
                %t18 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t19 = arith.muli %i_1, %t18 overflow<nsw> : index
                %t20 = arith.shrsi %t19, %c1 exact : index
                %t21 = arith.addi %t20, %j_17 overflow<nsw> : index
                %t22 = vector.load %b0_L[%t21] : !f64s, vector<2xf64>
                %t23 = vector.load %b1_x[%j_17] : !f64s, vector<2xf64>
                %t24 = arith.mulf %t22, %t23 : vector<2xf64>
                %t25 = arith.addf %t8, %t24 : vector<2xf64>
                %t26 = arith.addi %j_17, %c2 : index
                %t27 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t28 = arith.muli %i_1, %t27 overflow<nsw> : index
                %t29 = arith.shrsi %t28, %c1 exact : index
                %t30 = arith.addi %t29, %t26 overflow<nsw> : index
                %t31 = vector.load %b0_L[%t30] : !f64s, vector<2xf64>
                %t32 = vector.load %b1_x[%t26] : !f64s, vector<2xf64>
                %t33 = arith.mulf %t31, %t32 : vector<2xf64>
                %t34 = arith.addf %t9, %t33 : vector<2xf64>
                %t35 = arith.addi %j_17, %c4 : index
                %t36 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t37 = arith.muli %i_1, %t36 overflow<nsw> : index
                %t38 = arith.shrsi %t37, %c1 exact : index
                %t39 = arith.addi %t38, %t35 overflow<nsw> : index
                %t40 = vector.load %b0_L[%t39] : !f64s, vector<2xf64>
                %t41 = vector.load %b1_x[%t35] : !f64s, vector<2xf64>
                %t42 = arith.mulf %t40, %t41 : vector<2xf64>
                %t43 = arith.addf %t10, %t42 : vector<2xf64>
                %t44 = arith.addi %j_17, %c6 : index
                %t45 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t46 = arith.muli %i_1, %t45 overflow<nsw> : index
                %t47 = arith.shrsi %t46, %c1 exact : index
                %t48 = arith.addi %t47, %t44 overflow<nsw> : index
                %t49 = vector.load %b0_L[%t48] : !f64s, vector<2xf64>
                %t50 = vector.load %b1_x[%t44] : !f64s, vector<2xf64>
                %t51 = arith.mulf %t49, %t50 : vector<2xf64>
                %t52 = arith.addf %t11, %t51 : vector<2xf64>
                %t53 = arith.addi %j_17, %c8 : index
                %t54 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t55 = arith.muli %i_1, %t54 overflow<nsw> : index
                %t56 = arith.shrsi %t55, %c1 exact : index
                %t57 = arith.addi %t56, %t53 overflow<nsw> : index
                %t58 = vector.load %b0_L[%t57] : !f64s, vector<2xf64>
                %t59 = vector.load %b1_x[%t53] : !f64s, vector<2xf64>
                %t60 = arith.mulf %t58, %t59 : vector<2xf64>
                %t61 = arith.addf %t12, %t60 : vector<2xf64>
                %t62 = arith.addi %j_17, %c10 : index
                %t63 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t64 = arith.muli %i_1, %t63 overflow<nsw> : index
                %t65 = arith.shrsi %t64, %c1 exact : index
                %t66 = arith.addi %t65, %t62 overflow<nsw> : index
                %t67 = vector.load %b0_L[%t66] : !f64s, vector<2xf64>
                %t68 = vector.load %b1_x[%t62] : !f64s, vector<2xf64>
                %t69 = arith.mulf %t67, %t68 : vector<2xf64>
                %t70 = arith.addf %t13, %t69 : vector<2xf64>
                %t71 = arith.addi %j_17, %c12 : index
                %t72 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t73 = arith.muli %i_1, %t72 overflow<nsw> : index
                %t74 = arith.shrsi %t73, %c1 exact : index
                %t75 = arith.addi %t74, %t71 overflow<nsw> : index
                %t76 = vector.load %b0_L[%t75] : !f64s, vector<2xf64>
                %t77 = vector.load %b1_x[%t71] : !f64s, vector<2xf64>
                %t78 = arith.mulf %t76, %t77 : vector<2xf64>
                %t79 = arith.addf %t14, %t78 : vector<2xf64>
                %t80 = arith.addi %j_17, %c14 : index
                %t81 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t82 = arith.muli %i_1, %t81 overflow<nsw> : index
                %t83 = arith.shrsi %t82, %c1 exact : index
                %t84 = arith.addi %t83, %t80 overflow<nsw> : index
                %t85 = vector.load %b0_L[%t84] : !f64s, vector<2xf64>
                %t86 = vector.load %b1_x[%t80] : !f64s, vector<2xf64>
                %t87 = arith.mulf %t85, %t86 : vector<2xf64>
                %t88 = arith.addf %t15, %t87 : vector<2xf64>
                scf.yield %t25, %t34, %t43, %t52, %t61, %t70, %t79, %t88 : vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>
              }
              %t89 = arith.addf %t16#0, %t16#4 : vector<2xf64>
              %t90 = arith.addf %t16#1, %t16#5 : vector<2xf64>
              %t91 = arith.addf %t16#2, %t16#6 : vector<2xf64>
              %t92 = arith.addf %t16#3, %t16#7 : vector<2xf64>
              %t93 = arith.addf %t89, %t91 : vector<2xf64>
              %t94 = arith.addf %t90, %t92 : vector<2xf64>
              %t95 = arith.addf %t93, %t94 : vector<2xf64>
              %t96 = arith.andi %t4, %c1 : index
              %t97 = arith.subi %t4, %t96 : index
              %t98 = arith.addi %c0, %t97 : index
              %t100 = scf.for %j_101 = %t7 to %t98 step %c2 iter_args(%t99 = %t95) -> (vector<2xf64>) {
                %t102 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t103 = arith.muli %i_1, %t102 overflow<nsw> : index
                %t104 = arith.shrsi %t103, %c1 exact : index
                %t105 = arith.addi %t104, %j_101 overflow<nsw> : index
                %t106 = vector.load %b0_L[%t105] : !f64s, vector<2xf64>
                %t107 = vector.load %b1_x[%j_101] : !f64s, vector<2xf64>
                %t108 = arith.mulf %t106, %t107 : vector<2xf64>
                %t109 = arith.addf %t99, %t108 : vector<2xf64>
                scf.yield %t109 : vector<2xf64>
              }
              %t110 = arith.andi %t4, %c1 : index
              %t111 = arith.cmpi ne, %t110, %c0 : index
              %t112 = scf.if %t111 -> (vector<2xf64>) {
                %t113 = vector.create_mask %t110 : vector<2xi1>
                %t114 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t115 = arith.muli %i_1, %t114 overflow<nsw> : index
                %t116 = arith.shrsi %t115, %c1 exact : index
                %t117 = arith.addi %t116, %t98 overflow<nsw> : index
                %t118 = vector.maskedload %b0_L[%t117], %t113, %v2xf64_ : !f64s, vector<2xi1>, vector<2xf64> into vector<2xf64>
                %t119 = vector.maskedload %b1_x[%t98], %t113, %v2xf64_ : !f64s, vector<2xi1>, vector<2xf64> into vector<2xf64>
                %t120 = arith.mulf %t118, %t119 : vector<2xf64>
                %t121 = arith.addf %t100, %t120 : vector<2xf64>
                %t122 = arith.select %t113, %t121, %t100 : vector<2xi1>, vector<2xf64>
                scf.yield %t122 : vector<2xf64>
              } else {
                scf.yield %t100 : vector<2xf64>
              }
              %t123 = vector.extract %t112[0] : f64 from vector<2xf64>
              %t124 = vector.extract %t112[1] : f64 from vector<2xf64>
              %t125 = arith.addf %t123, %t124 : f64
              memref.store %t125, %b2_y[%i_1] : !f64s
            }
            return
          }
        }
    "#]].assert_eq(&plain(&kernels::triangular()).text("mlir"));
    expect_test::expect![[r#"
        !f64s = memref<281474976710656xf64>
        !f32s = memref<281474976710656xf32>
        !i64s = memref<281474976710656xi64>
        !i32s = memref<281474976710656xi32>
        !i8s = memref<281474976710656xi8>
        module {
          func.func @matmul(%params: !i64s {llvm.noalias, llvm.readonly}, %b0_A: !f32s {llvm.noalias, llvm.readonly}, %b1_B: !f32s {llvm.noalias, llvm.readonly}, %b2_C: !f32s {llvm.noalias}) {
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c16384 = arith.constant 16384 : index
            %c2 = arith.constant 2 : index
            %t0 = memref.load %params[%c0] : !i64s
            %s0_n = arith.index_cast %t0 : i64 to index
            %t1 = memref.load %params[%c1] : !i64s
            %s1_m = arith.index_cast %t1 : i64 to index
            %t2 = memref.load %params[%c2] : !i64s
            %s2_p = arith.index_cast %t2 : i64 to index
            %t3 = arith.maxsi %s0_n, %c0 : index
            %t4 = arith.maxsi %s1_m, %c0 : index
            %t5 = arith.maxsi %s2_p, %c0 : index
            %t6 = arith.muli %t5, %c2 overflow<nsw> : index
            %t7 = arith.addi %t6, %c2 overflow<nsw> : index
            %t8 = arith.maxsi %t7, %c1 : index
            %t9 = arith.muli %t4, %t8 overflow<nsw> : index
            %t10 = arith.maxsi %t9, %c1 : index
            %t11 = arith.muli %t3, %t10 overflow<nsw> : index
            %t12 = arith.cmpi slt, %t11, %c16384 : index
            scf.if %t12 {
              affine.for %i_13 = 0 to %s0_n {
                func.call @matmul__body1(%i_13, %s1_m, %s2_p, %b0_A, %b1_B, %b2_C) : (index, index, index, !f32s, !f32s, !f32s) -> ()
              }
            } else {
              omp.parallel {
                omp.wsloop {
                  omp.loop_nest (%i_14) : index = (%c0) to (%s0_n) step (%c1) {
                    func.call @matmul__body1(%i_14, %s1_m, %s2_p, %b0_A, %b1_B, %b2_C) : (index, index, index, !f32s, !f32s, !f32s) -> ()
                    omp.yield
                  }
                }
                omp.terminator
              }
            }
            return
          }
          func.func private @matmul__body1(%i_v0: index, %s1_m: index, %s2_p: index, %b0_A: !f32s {llvm.noalias, llvm.readonly}, %b1_B: !f32s {llvm.noalias, llvm.readonly}, %b2_C: !f32s {llvm.noalias}) attributes {passthrough = ["noinline"]} {
            %f32_00000000 = arith.constant 0.0 : f32
            affine.for %j_0 = 0 to %s1_m {
              %t2 = affine.for %k_3 = 0 to %s2_p iter_args(%t1 = %f32_00000000) -> (f32) {
                %t4 = arith.muli %i_v0, %s2_p overflow<nsw> : index
                %t5 = arith.addi %t4, %k_3 overflow<nsw> : index
                %t6 = memref.load %b0_A[%t5] : !f32s
                %t7 = arith.muli %k_3, %s1_m overflow<nsw> : index
                %t8 = arith.addi %t7, %j_0 overflow<nsw> : index
                %t9 = memref.load %b1_B[%t8] : !f32s
                %t10 = llvm.intr.fma(%t6, %t9, %t1) : (f32, f32, f32) -> f32
                affine.yield %t10 : f32
              }
              %t11 = arith.muli %i_v0, %s1_m overflow<nsw> : index
              %t12 = arith.addi %t11, %j_0 overflow<nsw> : index
              memref.store %t2, %b2_C[%t12] : !f32s
            }
            return
          }
        }
    "#]].assert_eq(&compiled(&kernels::matmul(Element::F32), true).text("mlir"));
}

#[test]
fn other_text_forms() {
    let compiled = compiled(&kernels::triangular(), false);
    assert!(compiled.text("mlir-llvm").contains("llvm.func @trmv("));
    let ir = compiled.text("llvm");
    assert!(ir.contains("define void @trmv(ptr noalias"), "{ir}");
    assert!(ir.contains("define void @trmv__packed("), "{ir}");
    assert!(compiled.text("asm").contains("trmv:"));
    let stages: Vec<_> = compiled.generated.timings.iter().map(|(stage, _)| *stage).collect();
    assert_eq!(stages, ["verify", "emit", "parse", "lower", "translate", "optimise", "codegen"]);
}

#[test]
fn output_is_the_same_each_time() {
    let module = kernels::matmul(Element::F64);
    let (first, second) = (compiled(&module, true), compiled(&module, true));
    assert_eq!(first.text("mlir"), second.text("mlir"));
    assert_eq!(first.object(), second.object());
}

#[test]
fn levels_agree() {
    let module = kernels::triangular();
    let (l, x) = (numbers(21), numbers(6));
    let mut results = Vec::new();
    for opt_level in [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
        let jit = load(&compile(&module, &Options { opt_level, ..Options::default() }).unwrap());
        let mut y = vec![0.0; 6];
        let buffers = &mut [Argument::read(&l), Argument::read(&x), Argument::write(&mut y)];
        jit.call("trmv", &[6], buffers).unwrap();
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
