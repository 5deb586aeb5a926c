//! Passes: rewrites of a module that keep its meaning, in one registry.
//!
//! A [`Pass`] has a name, one line that says what it does, an example and a function. Crates that have passes of their
//! own export a list of them; a [`Registry`] joins these lists. A [`Sequence`] is a named list of names of passes: what
//! a stage needs ([`SIMPLIFY`]), or what a target wants. A [`Pipeline`] is a sequence whose passes were found, and runs
//! them one after the other while an [`Observer`] looks on: it measures times, verifies the module, prints it or stops.
//!
//! A pass may reorder floating-point additions and products. It never makes a function access an element that the
//! function did not access before: what moves out of a loop is guarded where the loop may be empty. Each leaves
//! the invariants of [`crate::verify`](mod@crate::verify) as it found them.

mod accumulate;
mod check_bounds;
mod contract;
mod count_windows;
mod fold;
mod hoist_factor;
mod merge_stores;
mod narrow;
mod nearest;
mod observe;
mod once;
#[cfg(test)]
mod page;
mod panels;
mod part;
mod pass;
mod pick;
mod pipeline;
mod polyhedra;
mod registers;
mod scatter;
mod split_complex;
mod split_planes;
mod tabulate;
mod threads;
mod tile;
mod widen;

pub use check_bounds::{CHECK_BOUNDS, ROLL_LOOPS};
pub use observe::{Flow, Observer, StopAfter, Times, Verified};
pub use pass::{Context, Example, Pass, PassError};
pub use pipeline::{Pipeline, Registry, Sequence, UnknownPass};
pub use registers::{CHECKED_REGISTERS, REGISTERS};
pub use threads::{CHECKED_THREADS, THREADS};
pub use tile::TILE;

use crate::ir::*;
use crate::machine::Machine;

/// All passes of this crate.
pub const ALL: &[&[Pass]] = &[
    PASSES,
    once::PASSES,
    panels::PASSES,
    tile::PASSES,
    threads::PASSES,
    registers::PASSES,
    check_bounds::PASSES,
];

/// The passes that make elements of other types real numbers of 32 or 64 bits, and loops simple.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "split-planes",
        about: "compute products of complex matrices as four of real ones",
        example: Example {
            before: "parallel i = 0 to N { parallel j = 0 to N { C[N * i + j] = sum(k = 0 to N) A[N * i + k] * \
                B[N * k + j] } }",
            after: "with A.re of N * N { .. C.re[N * i + j] += sum(k = 0 to N) A.re[N * i + k] * B.re[N * k + j] .. }",
        },
        run: split_planes::run,
    },
    Pass {
        name: "split-complex",
        about: "make two real numbers of each complex one",
        example: Example {
            before: "buffer x : complex64[N] .. y[i] += 2.0 * x[i]",
            after: "buffer x : f32[2 * N] .. y[2 * i] += 2.0 * x[2 * i] \
                y[2 * i + 1] += 2.0 * x[2 * i + 1]",
        },
        run: |module, _| split_complex::run(module),
    },
    Pass {
        name: "fold",
        about: "fold constants, drop what never or always happens",
        example: Example { before: "if 1 < 2 { A[i + 0] += 1.0 * B[i] }", after: "A[i] += B[i]" },
        run: |module, _| on_functions(module, fold::run),
    },
    Pass {
        name: "part",
        about: "give each piece that a loop adds to one element a loop of its own",
        example: Example {
            before: "for j = 0 to N { if i <= j { A[i] max= B[j] } if j < i { A[i] max= C[j] } }",
            after: "for j = 0 to N { if i <= j { A[i] max= B[j] } } for j = 0 to N { if j < i { A[i] max= C[j] } }",
        },
        run: |module, _| on_functions(module, part::run),
    },
    Pass {
        name: "count-windows",
        about: "count what conditions on remainders leave of a loop",
        example: Example {
            before: "for k = 0 to N { if k % 4 <= 1 { A[i] += B[k - 2 * (k / 4)] } }",
            after: "for ks = 0 to 2 * (N / 4) + min(N % 4, 2) { A[i] += B[ks] }",
        },
        run: |module, _| on_functions(module, count_windows::run),
    },
    Pass {
        name: "contract",
        about: "turn loops that accumulate into one element into sums",
        example: Example {
            before: "for l = 0 to 3 { A[i] += B[l] }",
            after: "A[i] += sum(l = 0 to 3) B[l]",
        },
        run: |module, _| on_functions(module, contract::run),
    },
    Pass {
        name: "merge-stores",
        about: "combine stores to one element that follow each other",
        example: Example { before: "A[i] = B[i] A[i] += C[i]", after: "A[i] = B[i] + C[i]" },
        run: |module, _| on_functions(module, merge_stores::run),
    },
    Pass {
        name: "narrow",
        about: "turn conditions into loop bounds or move them out of loops",
        example: Example {
            before: "for i = 0 to N { if i < M { A[i] = 0.0 } }",
            after: "for i = 0 to min(N, M) { A[i] = 0.0 }",
        },
        run: |module, _| on_functions(module, narrow::run),
    },
    Pass {
        name: "hoist-factor",
        about: "move factors that do not vary out of sums",
        example: Example {
            before: "A[i] = sum(k = 0 to M) C[i] * B[k]",
            after: "A[i] = C[i] * (sum(k = 0 to M) B[k])",
        },
        run: |module, _| on_functions(module, hoist_factor::run),
    },
    Pass {
        name: "pick",
        about: "take the one term of a sum that an integer in memory chooses",
        example: Example {
            before: "C[i] = sum(k = 0 to M) A[k] * compare(K[i] == index(k))",
            after: "C[i] = sum(k = max(0, K[i]) to min(M, min(K[i], M - 1) + 1)) A[k]",
        },
        run: |module, _| on_functions(module, pick::run),
    },
    Pass {
        name: "scatter",
        about: "add terms where integers in memory send them",
        example: Example {
            before: "parallel k = 0 to M { C[k] = sum(i = 0 to N) A[i] * compare(K[i] == index(k)) }",
            after: "parallel k = 0 to M { C[k] = 0.0 } if 0 < M { for i = 0 to N { let k = K[i] { \
                if 0 <= k and k < M { C[k] += A[i] } } } }",
        },
        run: scatter::run,
    },
    Pass {
        name: "accumulate",
        about: "add up sums over what is before or behind as they grow",
        example: Example {
            before: "parallel i = 0 to N { C[i] = sum(j = 0 to i + 1) A[j] }",
            after: "with C.so_far of 1 zero { for i = 0 to N { C.so_far[0] += A[i] C[i] = C.so_far[0] } }",
        },
        run: accumulate::run,
    },
    Pass {
        name: "tabulate",
        about: "compute functions once for all iterations of loops that they do not depend on",
        example: Example {
            before: "parallel i = 0 to N { for j = 0 to N { A[N * i + j] = exp(C[j]) } }",
            after: "if 4 <= N and .. { with A.table of N { parallel at = 0 to N { A.table[at] = exp(C[at]) } \
                parallel i = 0 to N { for j = 0 to N { A[N * i + j] = A.table[j] } } } } else { .. }",
        },
        run: tabulate::run,
    },
    Pass {
        name: "widen",
        about: "add up sums into 16-bit floats in 32 bits",
        example: Example {
            before: "for k = 0 to M { A[k % N] += B[k] }",
            after: "with A.wide of N zero { for k = 0 to M { A.wide[k % N] += B[k] } \
                parallel w = 0 to N { A[w] = A.wide[w] } }",
        },
        run: |module, _| widen::run(module),
    },
];

/// What complex numbers need before anything else is done with loops, and what computes values once.
pub const SPLIT_COMPLEX: Sequence =
    Sequence { name: "split-complex", passes: &["split-planes", "split-complex", "tabulate"] };

/// What visits only those terms and elements of sums that integers in memory choose.
pub const PICK: Sequence = Sequence { name: "pick", passes: &["pick", "scatter", "accumulate"] };

/// What short floats need before anything is cut into tiles.
pub const WIDEN: Sequence = Sequence { name: "widen", passes: &["widen"] };

/// What lowering leaves behind, made simple: the loops that everything else takes.
pub const SIMPLIFY: Sequence = Sequence {
    name: "simplify",
    passes: &["fold", "part", "contract", "merge-stores", "narrow", "hoist-factor"],
};

/// What drops the code of other sizes, once symbols have values ([`Module::fix_symbols`]).
pub const FIXED: Sequence = Sequence { name: "fixed", passes: &["fold"] };

/// Runs a rewrite of functions that reads the module's buffers and makes none.
fn on_functions(module: &mut Module, run: fn(&mut Function, &[Buffer])) {
    module.functions.iter_mut().for_each(|function| run(function, &module.buffers));
}

/// The pass of this crate that has that name.
pub fn find(name: &str) -> Option<&'static Pass> {
    ALL.iter().copied().flatten().find(|pass| pass.name == name)
}

/// Runs [`SIMPLIFY`] on a module.
pub fn simplify(module: &mut Module) {
    run(SIMPLIFY, module, &Machine::PLAIN);
}

/// Runs [`TILE`] on a module.
pub fn tile(module: &mut Module, machine: &Machine) {
    run(TILE, module, machine);
}

/// Runs a sequence of passes of this crate.
fn run(sequence: Sequence, module: &mut Module, machine: &Machine) {
    let passes = sequence.passes.iter().filter_map(|name| find(name));
    passes.for_each(|pass| (pass.run)(module, &Context::of(machine)));
}

#[cfg(test)]
mod tests {
    use crate::interp::{Data, InterpError, run_steps};
    use crate::machine::Machine;
    use crate::passes::{ALL, Context, PASSES, Pipeline, Registry, SIMPLIFY, Verified, find};
    use crate::random::{self, Style};
    use crate::*;
    use proptest::prelude::*;

    pub(super) const HEAD: &str = "module(N, M)\nbuffer A : f64[N * N]\nbuffer C : f64[N]\n\
                                   buffer B : f64[N * M]\nbuffer s : i64[2]\n";

    /// Runs passes on a function body over [`HEAD`], compares what it computes at some sizes, and prints it.
    pub(super) fn check(passes: &[&str], body: &str) -> String {
        let text = format!("{HEAD}func f(inout A, inout C, in B, inout s) {{ {body} }}");
        let mut module = parse(&text).unwrap();
        verify(&module).unwrap();
        let before = module.clone();
        for name in passes {
            (find(name).unwrap().run)(&mut module, &Context::of(&Machine::PLAIN));
            assert_eq!(verify(&module), Ok(()), "{module}");
        }
        for (n, m) in [(0, 0), (1, 3), (5, 2), (4, 5), (3, 0)] {
            let data = |len: i64, seed: i64| {
                Data::Float((0..len).map(|x| ((x * 7 + seed) % 11 - 4) as f64).collect())
            };
            let sizes = [data(n * n, 1), data(n, 2), data(n * m, 3), Data::Int(vec![5, 6])];
            compare(&before, &module, &[n, m], &sizes).unwrap();
        }
        body_of(&module)
    }

    /// The statements of a module's one function, as they are printed.
    pub(super) fn body_of(module: &Module) -> String {
        let text = module.to_string();
        let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
        body.lines().map(|line| format!("{}\n", &line[2..])).collect()
    }

    /// Whether two modules compute the same; what the first may do, the second may.
    pub(super) fn compare(
        before: &Module,
        after: &Module,
        symbols: &[i64],
        data: &[Data],
    ) -> Result<(), String> {
        let run = |module: &Module| {
            let mut data = data.to_vec();
            run_steps(module, "f", symbols, &mut data, 200_000).map(|()| data)
        };
        let expected = match run(before) {
            Ok(expected) => expected,
            Err(InterpError::Steps(_)) => return Ok(()),
            Err(error) => return Err(format!("before: {error}\n{before}")),
        };
        let found = run(after).map_err(|error| format!("{error}\n{before}\n{after}"))?;
        let floats = |data: &[Data]| -> Vec<f64> {
            data.iter().filter_map(Data::as_float).flatten().copied().collect()
        };
        let (x, y) = (floats(&expected), floats(&found));
        // Small integers and halves are exact in any order of operations; larger values say nothing.
        if x.iter().any(|x| !x.is_finite() || x.abs() > 1e9) {
            return Ok(());
        }
        // Products may have been too large on the way: of small numbers they are not, while what is divided by zero
        // stays so.
        let tiny = |x: &f64| x * f64::powi(2.0, -40);
        let large =
            |data: &Data| data.as_float().is_some_and(|all| all.iter().any(|x| x.abs() >= 0.5));
        if y.iter().any(|y| !y.is_finite()) && data.iter().any(large) {
            let floats = |data: &Data| data.as_float().map(|all| all.iter().map(tiny).collect());
            let scaled = data.iter().map(|data| floats(data).map_or(data.clone(), Data::Float));
            return compare(before, after, symbols, &scaled.collect::<Vec<_>>());
        }
        let close = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-6 * x.abs().max(1.0);
        if x.len() != y.len() || !x.iter().zip(&y).all(close) {
            return Err(format!("{x:?}\n{y:?}\n{symbols:?}\n{before}\n{after}"));
        }
        let ints = |data: &[Data]| -> Vec<i64> {
            data.iter().filter_map(Data::as_int).flatten().copied().collect()
        };
        if ints(&expected) != ints(&found) {
            return Err(format!("integers differ\n{before}\n{after}"));
        }
        Ok(())
    }

    #[test]
    fn names_are_unique() {
        let names = PASSES.iter().map(|pass| pass.name).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(names.len(), PASSES.len());
    }

    #[test]
    fn all_together() {
        let body = "
            parallel i = 0 to min(N, M) {
              for j = i to N {
                A[i * N + j] = 0.0
                for k = 0 to M { for l = 0 to j { A[i * N + j] += B[i * M + k] * 2.0 * B[l * M + k] } }
              }
              for l = 0 to N { if l <= i { C[i] += B[i * M] * B[l * M] * B[l * M] } }
            }";
        expect_test::expect![[r#"
              parallel i = 0 to min(N, M) {
                for j = i to N {
                  A[i * N + j] = 2.0 * (sum(k = 0 to M) sum(l = 0 to j) B[i * M + k] * B[l * M + k])
                }
                C[i] += B[i * M] * (sum(l = 0 to min(N, i + 1)) B[l * M] * B[l * M])
              }
        "#]]
        .assert_eq(&check(SIMPLIFY.passes, body));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

        #[test]
        fn passes_keep_the_meaning(seed: u64) {
            let before = random::module(seed, Style::Runnable);
            let data = |seed: i64| Data::Float((0..16).map(|x| ((x * 5 + seed) % 7 - 3) as f64).collect());
            let data = [data(1), data(2), data(3)];
            for symbols in [[4, 3], [0, 2]] {
                for pass in ALL.iter().copied().flatten() {
                    let mut after = before.clone();
                    (pass.run)(&mut after, &Context::of(&Machine::PLAIN));
                    prop_assert_eq!(verify(&after), Ok(()), "{}", pass.name);
                    compare(&before, &after, &symbols, &data)
                        .map_err(|why| TestCaseError::fail(format!("{}: {why}", pass.name)))?;
                }
                let mut after = before.clone();
                let registry = Registry::of(ALL);
                let pipeline = Pipeline::of(&registry, &[SIMPLIFY]).unwrap();
                pipeline.run(&mut after, &Context::of(&Machine::PLAIN), &mut Verified).unwrap();
                compare(&before, &after, &symbols, &data).map_err(TestCaseError::fail)?;
            }
        }
    }
}
