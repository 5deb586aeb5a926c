//! Sums in lanes and unrolled loops: machine code against the interpreter, at every length of a rest.

use super::*;
use crate::Processor;
use dastac_loops::{interp, parse};

const HEAD: &str = "module(N, M)\nbuffer A : f64[4096]\nbuffer F : f32[4096]\nbuffer B : f64[4096]\n\
    buffer G : f32[4096]\nbuffer S : i64[4]\n";

/// Runs a body both ways, for every `N` up to some vectors; with checks, too, where nothing is in lanes.
fn agree(body: &str) {
    let text = format!("{HEAD}func f(inout A, inout F, in B, in G, inout S) {{ {body} }}");
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = |name: Option<&str>, checked| Options {
        cpu: name.map_or(CpuTarget::host(), |name| CpuTarget::named(name).unwrap()),
        checked,
        ..Options::default()
    };
    let threads = Options { parallel: true, ..options(None, false) };
    let mut all = vec![options(None, false), threads, options(None, true)];
    if cfg!(target_arch = "x86_64") {
        all.push(options(Some("x86-64"), false));
        if Processor::host_has("avx2") && Processor::host_has("fma") {
            all.push(options(Some("x86-64-v3"), false));
        }
    }
    dastac_runtime::openmp::set_threads(3).unwrap();
    let jits: Vec<Code> = all
        .iter()
        .map(|options| load(&compile(&module, options).unwrap_or_else(|e| panic!("{e}\n{text}"))))
        .collect();
    let b = numbers(4096);
    let g: Vec<f32> = b.iter().rev().map(|x| *x as f32).collect();
    for n in (0..20).chain([31, 32, 33, 63, 64, 65, 67, 100]) {
        let widened = |list: &[f32]| list.iter().map(|x| f64::from(*x)).collect();
        let mut data = [
            interp::Data::Float(b.clone()),
            interp::Data::Float(widened(&g)),
            interp::Data::Float(b.clone()),
            interp::Data::Float(widened(&g)),
            interp::Data::Int(vec![1; 4]),
        ];
        let symbols = [n, 7];
        interp::run(&module, "f", &symbols, &mut data).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for jit in &jits {
            let (mut a, mut f, mut s) = (b.clone(), g.clone(), vec![1_i64; 4]);
            let buffers = &mut [
                Argument::write(&mut a),
                Argument::write(&mut f),
                Argument::read(&b),
                Argument::read(&g),
                Argument::write(&mut s),
            ];
            jit.call("f", &symbols, buffers).unwrap();
            let close = |got: f64, want: f64, bound: f64| {
                got == want
                    || got.is_nan() && want.is_nan()
                    || (got - want).abs() <= bound * want.abs().max(1e3)
            };
            let want = data[0].as_float().unwrap();
            let wrong = (0..4096).find(|at| !close(a[*at], want[*at], 1e-9));
            assert_eq!(wrong.map(|at| (at, a[at], want[at])), None, "N = {n}\n{text}");
            let want = data[1].as_float().unwrap();
            let wrong = (0..4096).find(|at| !close(f64::from(f[*at]), want[*at], 1e-4));
            assert_eq!(wrong.map(|at| (at, f[at], want[at])), None, "N = {n}\n{text}");
            assert_eq!(Some(&s[..]), data[4].as_int(), "N = {n}\n{text}");
        }
    }
}

#[test]
fn sums_that_are_the_same_for_all_instances() {
    for body in [
        // Instances one after the other, since they differ in what is executed.
        "unroll i = 0 to 3 { for k = i to N { A[i] += B[k] * (sum(j = 0 to M) B[j]) } }",
        "unroll i = 0 to 3 { for k = 0 to N { if k >= i { A[i] += B[k] * (sum(j = 0 to 30) B[j]) } } }",
        "unroll i = 0 to 3 { A[i] = sum(l = i to N) sum(k = l to N) B[k] }",
        "unroll i = 0 to 2 { unroll j = 0 to 2 { A[2 * i + j] = sum(l = i to M) sum(k = l to N) B[k] } }",
        // So many partial sums as wanted.
        "A[0] = sum(k = 0 to N unroll 1) B[k] * B[k + 9]  A[1] = sum(k = 0 to N unroll 5) B[k]",
        "unroll i = 0 to 3 { A[i] = sum(k = 0 to N unroll 2) B[k] * B[9 * i + k] }",
    ] {
        agree(body);
    }
}

#[test]
fn sums() {
    for body in [
        "A[0] = sum(k = 0 to N) B[k] * B[k + 200]",
        "F[0] = sum(k = 0 to N) G[k] * G[2 * 200 + k]",
        // Both precisions, one factor that does not vary, one that is no element.
        "A[0] += sum(k = 3 to N) B[k] * G[k] * B[7]  F[1] += sum(k = 0 to N) B[k] * index(N)",
        // Not in lanes: strides, conditions, positions, other buffers' order.
        "A[0] = sum(k = 0 to N) B[2 * k] * B[k]  A[1] = sum(k = 0 to N if k % 3 == 1) B[k]",
        "A[0] = sum(k = 0 to N) B[k] * index(k)  A[1] = sum(k = 0 to N) B[150 - k]  A[3] = sum(k = 2 to N) B[N - k] * \
        G[k]  A[2] = sum(k = 0 to N step 2) B[k]",
        // Inside each other, quotients, several terms.
        "A[0] = sum(l = 0 to M) B[l] * (sum(k = l to N) B[k] / (B[k + 1] + 9.0)) + sum(k = 0 to N) (B[k] + 1.0)",
        // A factor that is infinite where the sum has no terms.
        "A[0] = sum(k = 0 to N) B[k] * (1.0 / (0.0 * B[7]))  A[1] = sum(k = N to N - 3) B[k]",
        // Short sums.
        "A[0] = sum(k = N to N + 3) B[k] + sum(k = 0 to 5 step 2) B[k * k]",
    ] {
        agree(body);
    }
}

#[test]
fn side_by_side() {
    for body in [
        // A rectangle, a triangle, both with sums of common and of own ranges.
        "unroll i = 0 to 4 { unroll j = 0 to 3 { A[i * 10 + j] = sum(k = 0 to N) B[100 * i + k] * B[100 * j + k + \
        500] } }",
        "for t = 0 to 5 { unroll i = t to t + 3 { unroll j = i to t + 3 {
           A[100 * t + 10 * i + j] += sum(k = 0 to N) B[100 * i + k] * B[100 * j + k] * B[k + 9] } } }",
        "unroll i = 0 to 4 { A[i] = sum(k = i to 4) B[k] * B[100 * i + k] + sum(k = 4 to N) B[k] * B[100 * i + k] }",
        "unroll i = 0 to 4 { F[i] = sum(k = i to N) G[k] * G[100 * i + k] }",
        // No common condition, loops inside, several stores, integers.
        "unroll i = 0 to 4 { if i < N { A[i] = B[i] } else { A[i] = B[0] * 2.0 } }",
        "unroll i = 0 to 4 { for j = 0 to N { A[100 * i + j] = B[j] * index(i) } for j = i to N { A[100 * i + j] += \
        1.0 } }",
        "unroll i = 0 to 2 { A[i] = B[i]  F[i] = B[i + 1]  S[i] = index(3 * i + N)  S[i + 2] += index(i) }",
        // What is independent inside of a tile stays on one thread.
        "unroll i = 0 to 2 { for k = 0 to M { parallel j = 0 to N { A[100 * i + j] += B[k] * B[j] } } }",
        // Nothing at all; a range by steps.
        "unroll i = 3 to 0 { A[i] = 5.0 }  unroll i = N to N + 7 step 3 { A[i] = index(i) }",
        // Sums that differ in conditions and in what they do not vary with.
        "unroll i = 0 to 3 { A[i] = sum(k = 0 to N if k < i + 2) B[k] + B[i] * (sum(k = 0 to N) B[k]) }",
        "parallel i = 0 to N { parallel j = 0 to 3 { unroll l = 0 to 2 { A[6 * i + 2 * j + l] = sum(k = 0 to i) B[k + \
        l] * B[k + j] } } }",
    ] {
        agree(body);
    }
}

#[test]
fn past_the_caches() {
    for at in 0..8 {
        // Wherever a buffer begins, one of these begins at a line. Rows of half a line, two lines and a part of one.
        agree(&format!(
            "unroll i = 0 to 16 {{ A[{at} + i] = B[i] * 2.0 stream if N >= 3 }}
             for t = 0 to M {{ unroll i = 32 * t to 32 * t + 32 {{ F[{at} + i] = B[i] * B[t] stream if t < N }} }}
             unroll i = 0 to 3 {{ unroll j = 0 to 16 {{ A[100 * i + j + 404] = sum(k = 0 to N) B[30 * k + j] * B[i + k] stream if N >= 2 }} }}
             for l = 0 to N step 40 {{ unroll i = 0 to 2 {{ unroll j = 0 to 16 {{
               if l <= 0 {{ A[104 * i + j + {at} + 800] = 0.0 }}
               A[104 * i + j + {at} + 800] += sum(k = l to min(N, l + 40)) B[30 * k + j] * B[i + k] stream if N <= 40 }} }} }}"
        ));
    }
}

#[test]
fn ranges_in_parts() {
    for body in [
        "partition a, b = 0 to N by b { parallel i = a to b { A[i] = B[i] + 1.0 } }",
        // The last part ends where the range does, not at a multiple.
        "partition a, b = 3 to N step 4 by b * b { for i = a to b step 4 { A[i] = index(b - a) * 0.0 + B[i] } }",
        // Work that does not grow, or shrinks, or is none.
        "partition a, b = 0 to N step 2 by 0 { for i = a to b { A[i] += 1.0 } } partition a, b = 0 to N by 0 - b { \
        for i = a \
        to b { F[i] += 1.0 } }",
        // Inside of a loop, with its variable and symbols; a part inside of parallel iterations is one.
        "for k = 0 to 3 { partition a, b = max(k, 0) to min(N, 10 * M) step 3 by b * (k + M) { A[k] = 2.0 for i = a \
        to b \
        { A[10 + i] += index(k) } } }",
        "parallel k = 0 to 3 { partition a, b = k to N by b { for i = a to b { A[k * 100 + i] = B[i] * index(k) } } }",
        // Statements that no iteration executes.
        "partition a, b = N to 0 by b { A[0] = 7.0 for i = a to b { A[i] = 1.0 } }",
    ] {
        // Parts that write the same are not run.
        agree(&body.replace("A[k] = 2.0 ", ""));
    }
}

#[test]
fn elements_in_lanes() {
    for body in [
        // Stored as neighbours, or not; with a factor that all share, or each has its own.
        "for b = 0 to 4 { unroll i = 16 * b to 16 * b + 16 { A[i] = sum(k = 0 to N) B[k * 17 + i] * B[k] } }",
        "for b = 0 to 4 { unroll i = 16 * b to 16 * b + 16 { A[3 * i] += B[i] * (sum(k = 0 to N) B[k * 17 + i] * \
        B[k]) + B[5] } }",
        "for b = 0 to 4 { unroll i = 16 * b to 16 * b + 16 { F[63 - i] = 2.0 * (sum(k = 0 to N step 2) G[k * 17 + i] \
        * G[k]) } }",
        // In reverse; two loops, the outer one in lanes; both precisions.
        "unroll i = 0 to 16 { A[i] = sum(k = 0 to N) B[k * 17 + 16 - i] }",
        "for b = 0 to 2 { unroll i = 16 * b to 16 * b + 16 { unroll j = 0 to 3 { A[10 * i + j] = sum(k = 0 to N) B[k \
        * 17 + i] * B[k + 100 * j] } } }",
        "for b = 0 to 2 { unroll i = 16 * b to 16 * b + 16 { F[i] += sum(k = 0 to N) B[k * 17 + i] * G[k]  A[i] += \
        sum(k = 0 to N) G[k * 17 + i] * G[k] } }",
        // Bounds that move with the lanes; a sum inside of another one, of which one moves.
        "for b = 0 to 3 { unroll i = 16 * b to 16 * b + 16 { A[i] = sum(k = 0 to min(N, i)) B[k * 17 + i] * B[k] } }",
        "for b = 0 to 3 { unroll i = 16 * b to 16 * b + 16 { A[i] = sum(k = i to max(N, 50 - 2 * i)) B[k * 17 + i] } }",
        "for b = 0 to 3 { unroll i = 16 * b to 16 * b + 16 { A[i] = sum(l = 0 to 3) (sum(k = i - l to N) B[k * 17 + i \
        + 60 * l] * B[l]) * B[i] } }",
        // Elements that are set by the first block.
        "for b = 0 to max(N, 1) step 7 { unroll i = 0 to 16 { if b <= 0 { A[i] = 0.0 } A[i] += sum(k = b to min(N, b \
        + 7)) B[k * 17 + i] } }",
        "for b = 0 to max(N, 1) step 7 { unroll i = 0 to 16 { if b <= 0 { F[5 * i] = 0.0 } F[5 * i] += sum(k = b to \
        min(N, b + 7)) G[k * 17 + i] } }",
    ] {
        agree(body);
    }
}
