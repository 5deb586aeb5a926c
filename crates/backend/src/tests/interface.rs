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
            %cm16 = arith.constant -16 : index
            %cm2 = arith.constant -2 : index
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c10 = arith.constant 10 : index
            %c12 = arith.constant 12 : index
            %c14 = arith.constant 14 : index
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
              %t5 = arith.andi %t4, %cm16 : index
              %t6 = arith.addi %c0, %t5 : index
              %t16:8 = scf.for %j_7 = %c0 to %t6 step %c16 iter_args(%t8 = %v2xf64_, %t9 = %v2xf64_, %t10 = %v2xf64_, %t11 = %v2xf64_, %t12 = %v2xf64_, %t13 = %v2xf64_, %t14 = %v2xf64_, %t15 = %v2xf64_) -> (vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>) {
                %t17 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t18 = arith.muli %i_1, %t17 overflow<nsw> : index
                %t19 = arith.shrsi %t18, %c1 exact : index
                %t20 = arith.addi %t19, %j_7 overflow<nsw> : index
                %t21 = vector.load %b0_L[%t20] : !f64s, vector<2xf64>
                %t22 = vector.load %b1_x[%j_7] : !f64s, vector<2xf64>
                %t23 = arith.mulf %t21, %t22 : vector<2xf64>
                %t24 = arith.addf %t8, %t23 : vector<2xf64>
                %t25 = arith.addi %j_7, %c2 : index
                %t26 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t27 = arith.muli %i_1, %t26 overflow<nsw> : index
                %t28 = arith.shrsi %t27, %c1 exact : index
                %t29 = arith.addi %t28, %t25 overflow<nsw> : index
                %t30 = vector.load %b0_L[%t29] : !f64s, vector<2xf64>
                %t31 = vector.load %b1_x[%t25] : !f64s, vector<2xf64>
                %t32 = arith.mulf %t30, %t31 : vector<2xf64>
                %t33 = arith.addf %t9, %t32 : vector<2xf64>
                %t34 = arith.addi %j_7, %c4 : index
                %t35 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t36 = arith.muli %i_1, %t35 overflow<nsw> : index
                %t37 = arith.shrsi %t36, %c1 exact : index
                %t38 = arith.addi %t37, %t34 overflow<nsw> : index
                %t39 = vector.load %b0_L[%t38] : !f64s, vector<2xf64>
                %t40 = vector.load %b1_x[%t34] : !f64s, vector<2xf64>
                %t41 = arith.mulf %t39, %t40 : vector<2xf64>
                %t42 = arith.addf %t10, %t41 : vector<2xf64>
                %t43 = arith.addi %j_7, %c6 : index
                %t44 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t45 = arith.muli %i_1, %t44 overflow<nsw> : index
                %t46 = arith.shrsi %t45, %c1 exact : index
                %t47 = arith.addi %t46, %t43 overflow<nsw> : index
                %t48 = vector.load %b0_L[%t47] : !f64s, vector<2xf64>
                %t49 = vector.load %b1_x[%t43] : !f64s, vector<2xf64>
                %t50 = arith.mulf %t48, %t49 : vector<2xf64>
                %t51 = arith.addf %t11, %t50 : vector<2xf64>
                %t52 = arith.addi %j_7, %c8 : index
                %t53 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t54 = arith.muli %i_1, %t53 overflow<nsw> : index
                %t55 = arith.shrsi %t54, %c1 exact : index
                %t56 = arith.addi %t55, %t52 overflow<nsw> : index
                %t57 = vector.load %b0_L[%t56] : !f64s, vector<2xf64>
                %t58 = vector.load %b1_x[%t52] : !f64s, vector<2xf64>
                %t59 = arith.mulf %t57, %t58 : vector<2xf64>
                %t60 = arith.addf %t12, %t59 : vector<2xf64>
                %t61 = arith.addi %j_7, %c10 : index
                %t62 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t63 = arith.muli %i_1, %t62 overflow<nsw> : index
                %t64 = arith.shrsi %t63, %c1 exact : index
                %t65 = arith.addi %t64, %t61 overflow<nsw> : index
                %t66 = vector.load %b0_L[%t65] : !f64s, vector<2xf64>
                %t67 = vector.load %b1_x[%t61] : !f64s, vector<2xf64>
                %t68 = arith.mulf %t66, %t67 : vector<2xf64>
                %t69 = arith.addf %t13, %t68 : vector<2xf64>
                %t70 = arith.addi %j_7, %c12 : index
                %t71 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t72 = arith.muli %i_1, %t71 overflow<nsw> : index
                %t73 = arith.shrsi %t72, %c1 exact : index
                %t74 = arith.addi %t73, %t70 overflow<nsw> : index
                %t75 = vector.load %b0_L[%t74] : !f64s, vector<2xf64>
                %t76 = vector.load %b1_x[%t70] : !f64s, vector<2xf64>
                %t77 = arith.mulf %t75, %t76 : vector<2xf64>
                %t78 = arith.addf %t14, %t77 : vector<2xf64>
                %t79 = arith.addi %j_7, %c14 : index
                %t80 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t81 = arith.muli %i_1, %t80 overflow<nsw> : index
                %t82 = arith.shrsi %t81, %c1 exact : index
                %t83 = arith.addi %t82, %t79 overflow<nsw> : index
                %t84 = vector.load %b0_L[%t83] : !f64s, vector<2xf64>
                %t85 = vector.load %b1_x[%t79] : !f64s, vector<2xf64>
                %t86 = arith.mulf %t84, %t85 : vector<2xf64>
                %t87 = arith.addf %t15, %t86 : vector<2xf64>
                scf.yield %t24, %t33, %t42, %t51, %t60, %t69, %t78, %t87 : vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>
              }
              %t88 = arith.addf %t16#0, %t16#4 : vector<2xf64>
              %t89 = arith.addf %t16#1, %t16#5 : vector<2xf64>
              %t90 = arith.addf %t16#2, %t16#6 : vector<2xf64>
              %t91 = arith.addf %t16#3, %t16#7 : vector<2xf64>
              %t92 = arith.addf %t88, %t90 : vector<2xf64>
              %t93 = arith.addf %t89, %t91 : vector<2xf64>
              %t94 = arith.addf %t92, %t93 : vector<2xf64>
              %t95 = arith.andi %t4, %cm2 : index
              %t96 = arith.addi %c0, %t95 : index
              %t99 = scf.for %j_97 = %t6 to %t96 step %c2 iter_args(%t98 = %t94) -> (vector<2xf64>) {
                %t100 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t101 = arith.muli %i_1, %t100 overflow<nsw> : index
                %t102 = arith.shrsi %t101, %c1 exact : index
                %t103 = arith.addi %t102, %j_97 overflow<nsw> : index
                %t104 = vector.load %b0_L[%t103] : !f64s, vector<2xf64>
                %t105 = vector.load %b1_x[%j_97] : !f64s, vector<2xf64>
                %t106 = arith.mulf %t104, %t105 : vector<2xf64>
                %t107 = arith.addf %t98, %t106 : vector<2xf64>
                scf.yield %t107 : vector<2xf64>
              }
              %t108 = arith.andi %t4, %c1 : index
              %t109 = arith.cmpi ne, %t108, %c0 : index
              %t110 = scf.if %t109 -> (vector<2xf64>) {
                %t111 = vector.create_mask %t108 : vector<2xi1>
                %t112 = arith.addi %i_1, %c1 overflow<nsw> : index
                %t113 = arith.muli %i_1, %t112 overflow<nsw> : index
                %t114 = arith.shrsi %t113, %c1 exact : index
                %t115 = arith.addi %t114, %t96 overflow<nsw> : index
                %t116 = vector.maskedload %b0_L[%t115], %t111, %v2xf64_ : !f64s, vector<2xi1>, vector<2xf64> into vector<2xf64>
                %t117 = vector.maskedload %b1_x[%t96], %t111, %v2xf64_ : !f64s, vector<2xi1>, vector<2xf64> into vector<2xf64>
                %t118 = arith.mulf %t116, %t117 : vector<2xf64>
                %t119 = arith.addf %t99, %t118 : vector<2xf64>
                %t120 = arith.select %t111, %t119, %t99 : vector<2xi1>, vector<2xf64>
                scf.yield %t120 : vector<2xf64>
              } else {
                scf.yield %t99 : vector<2xf64>
              }
              %t121 = vector.shuffle %t110, %t110 [0] : vector<2xf64>, vector<2xf64>
              %t122 = vector.shuffle %t110, %t110 [1] : vector<2xf64>, vector<2xf64>
              %t123 = arith.addf %t121, %t122 : vector<1xf64>
              %t124 = vector.extract %t123[0] : f64 from vector<1xf64>
              memref.store %t124, %b2_y[%i_1] : !f64s
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
            %c2 = arith.constant 2 : index
            %t0 = memref.load %params[%c0] : !i64s
            %s0_n = arith.index_cast %t0 : i64 to index
            %t1 = memref.load %params[%c1] : !i64s
            %s1_m = arith.index_cast %t1 : i64 to index
            %t2 = memref.load %params[%c2] : !i64s
            %s2_p = arith.index_cast %t2 : i64 to index
            affine.parallel (%i_3) = (max(0)) to (min(symbol(%s0_n))) step (1) {
              func.call @matmul__body1(%i_3, %s1_m, %s2_p, %b0_A, %b1_B, %b2_C) : (index, index, index, !f32s, !f32s, !f32s) -> ()
            }
            return
          }
          func.func private @matmul__body1(%i_v0: index, %s1_m: index, %s2_p: index, %b0_A: !f32s {llvm.noalias, llvm.readonly}, %b1_B: !f32s {llvm.noalias, llvm.readonly}, %b2_C: !f32s {llvm.noalias}) attributes {passthrough = ["noinline"]} {
            %f32_00000000 = arith.constant 0.0 : f32
            affine.for %j_0 = 0 to %s1_m {
              %t1 = affine.for %k_3 = 0 to %s2_p iter_args(%t2 = %f32_00000000) -> (f32) {
                %t4 = arith.muli %i_v0, %s2_p overflow<nsw> : index
                %t5 = arith.addi %t4, %k_3 overflow<nsw> : index
                %t6 = memref.load %b0_A[%t5] : !f32s
                %t7 = arith.muli %k_3, %s1_m overflow<nsw> : index
                %t8 = arith.addi %t7, %j_0 overflow<nsw> : index
                %t9 = memref.load %b1_B[%t8] : !f32s
                %t10 = llvm.intr.fma(%t6, %t9, %t2) : (f32, f32, f32) -> f32
                affine.yield %t10 : f32
              }
              %t11 = arith.muli %i_v0, %s1_m overflow<nsw> : index
              %t12 = arith.addi %t11, %j_0 overflow<nsw> : index
              memref.store %t1, %b2_C[%t12] : !f32s
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
