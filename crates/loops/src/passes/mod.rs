//! Rewrites of a function that keep its meaning, as a table.
//!
//! A pass may reorder floating-point additions and products. It never makes a function access an element that the
//! function did not access before: what moves out of a loop is guarded where the loop may be empty. Each leaves
//! the invariants of [`crate::verify`](mod@crate::verify) as it found them.

mod contract;
mod fold;
mod hoist_factor;
mod merge_stores;
mod narrow;

use crate::ir::*;

/// What a pass may know of the module around a function.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The module's symbols.
    pub symbols: &'a [String],
    /// The module's buffers.
    pub buffers: &'a [Buffer],
}

/// A rewrite of a function.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Does it.
    pub run: fn(&mut Function, &Context),
}

/// All passes, in the order in which [`run_all`] runs them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "fold",
        about: "fold constants, drop what never or always happens",
        run: fold::run,
    },
    Pass {
        name: "contract",
        about: "turn loops that accumulate into one element into sums",
        run: contract::run,
    },
    Pass {
        name: "merge-stores",
        about: "combine stores to one element that follow each other",
        run: merge_stores::run,
    },
    Pass {
        name: "narrow",
        about: "turn conditions into loop bounds or move them out of loops",
        run: narrow::run,
    },
    Pass {
        name: "hoist-factor",
        about: "move factors that do not vary out of sums",
        run: hoist_factor::run,
    },
];

impl Pass {
    /// The pass of that name.
    pub fn find(name: &str) -> Option<&'static Pass> {
        PASSES.iter().find(|pass| pass.name == name)
    }

    /// Runs the pass on all functions of a module.
    pub fn apply(&self, module: &mut Module) {
        let context = Context { symbols: &module.symbols, buffers: &module.buffers };
        for function in &mut module.functions {
            (self.run)(function, &context);
        }
    }
}

/// Runs all passes on all functions of a module.
pub fn run_all(module: &mut Module) {
    PASSES.iter().for_each(|pass| pass.apply(module));
}

/// A pass left a module that violates the invariants.
#[derive(Clone, Debug, thiserror::Error)]
#[error("after pass `{pass}`: {}", .errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct PassError {
    /// The pass; `input` if it was so before.
    pub pass: &'static str,
    /// All violations.
    pub errors: Vec<crate::VerifyError>,
}

/// As [`run_all`], verifying the module before, and after each pass.
pub fn run_all_verified(module: &mut Module) -> Result<(), PassError> {
    let check =
        |module: &Module, pass| crate::verify(module).map_err(|errors| PassError { pass, errors });
    check(module, "input")?;
    for pass in PASSES {
        pass.apply(module);
        check(module, pass.name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::interp::{Data, InterpError, run_steps};
    use crate::passes::{PASSES, Pass, run_all_verified};
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
            Pass::find(name).unwrap().apply(&mut module);
            assert_eq!(verify(&module), Ok(()), "{module}");
        }
        for (n, m) in [(0, 0), (1, 3), (5, 2), (4, 5), (3, 0)] {
            let data = |len: i64, seed: i64| {
                Data::Float((0..len).map(|x| ((x * 7 + seed) % 11 - 4) as f64).collect())
            };
            let sizes = [data(n * n, 1), data(n, 2), data(n * m, 3), Data::Int(vec![5, 6])];
            compare(&before, &module, &[n, m], &sizes).unwrap();
        }
        let text = module.to_string();
        let body = &text[text.find("{\n").unwrap() + 2..text.len() - 2];
        body.lines().map(|line| format!("{}\n", &line[2..])).collect()
    }

    /// Whether two modules compute the same; what the first may do, the second may.
    fn compare(
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
        // Products may have been too large on the way: of small numbers they are not, while what is divided by zero stays so.
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
        let ints = |data: &[Data]| data.iter().filter_map(Data::as_int).flatten().sum::<i64>();
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
        let names: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
        expect_test::expect![[r#"
              parallel i = 0 to min(N, M) {
                for j = i to N {
                  A[i * N + j] = 2.0 * (sum(k = 0 to M) sum(l = 0 to j) B[i * M + k] * B[l * M + k])
                }
                C[i] += B[i * M] * (sum(l = 0 to min(N, i + 1)) B[l * M] * B[l * M])
              }
        "#]]
        .assert_eq(&check(&names, body));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

        #[test]
        fn passes_keep_the_meaning(seed: u64) {
            let before = random::module(seed, Style::Runnable);
            let data = |seed: i64| Data::Float((0..16).map(|x| ((x * 5 + seed) % 7 - 3) as f64).collect());
            let data = [data(1), data(2), data(3)];
            for symbols in [[4, 3], [0, 2]] {
                for pass in PASSES {
                    let mut after = before.clone();
                    pass.apply(&mut after);
                    prop_assert_eq!(verify(&after), Ok(()), "{}", pass.name);
                    compare(&before, &after, &symbols, &data)
                        .map_err(|why| TestCaseError::fail(format!("{}: {why}", pass.name)))?;
                }
                let mut after = before.clone();
                run_all_verified(&mut after).unwrap();
                compare(&before, &after, &symbols, &data).map_err(TestCaseError::fail)?;
            }
        }
    }
}
