//! How much a run computes, from the iteration domains of its statements.

use std::collections::BTreeSet;

use dastac_stur::affine::names;
use dastac_stur::ast::{CompareOp, Operation};
use dastac_stur::infer::{Inferred, InferredRule, Read, Statement};
use dastac_stur::program::{Applied, Scalar};
use dastac_stur::sets::Affine;

use crate::contract::{Stepped, Steps};
use crate::driver::Analysis;
use crate::run::Runner;

impl Runner {
    /// As [`Analysis::flops`], at the sizes of the run. `None` too where elements share terms, as those of cumulative
    /// sums do: loops do not compute each by itself.
    pub fn flops(&self) -> Option<u128> {
        let analysis = &self.built().lowered.laid.analysis;
        let mut all = analysis.inferred.rules.iter().flat_map(|rule| {
            let heads = &analysis.inferred.program.rules[rule.rule.0].iterators;
            rule.statements.iter().map(move |statement| (heads, statement))
        });
        let share = all.any(|(heads, statement)| shares_terms(statement, heads));
        if share { None } else { analysis.flops(self.symbols()) }
    }

    /// As [`Analysis::iterations`], at the sizes of the run.
    pub fn iterations(&self) -> Option<Vec<(u128, usize)>> {
        self.built().lowered.laid.analysis.iterations(self.symbols())
    }

    /// As [`Analysis::stepped`], at the sizes of the run.
    pub fn steps(&self) -> Vec<Stepped> {
        self.built().lowered.laid.analysis.stepped(self.symbols())
    }
}

impl Analysis {
    /// Floating-point operations of one run at these sizes, without preprocess rules and copies of operands: iterations
    /// of every statement's domain times its multiplications, divisions and additions. `None` when Barvinok is not
    /// there, the count does not fit, or conditions that are not affine decide.
    pub fn flops(&self, symbols: &[i64]) -> Option<u128> {
        operations(self.iterations(symbols)?)
    }

    /// The number of points of each statement's iteration domain, and the number of factors of its product, for all
    /// statements outside of preprocess rules and copies of operands; `None` where [`Analysis::flops`] is `None`.
    pub fn iterations(&self, symbols: &[i64]) -> Option<Vec<(u128, usize)>> {
        let copies = self.expanded();
        // What is around the elements of a result is no work that anybody asked for.
        let inferred = match &self.steps {
            Steps::Cut(cut) if copies.iter().any(|copy| copy.is_result) => {
                cut.packed.as_ref().unwrap_or(&self.inferred)
            }
            _ => &self.inferred,
        };
        let is_copy = |rule: &InferredRule| {
            let name = &inferred.program.tensor(rule.head).name;
            copies.iter().any(|one| one.copy == *name)
        };
        let measured = inferred
            .rules
            .iter()
            .filter(|rule| !inferred.program.rules[rule.rule.0].preprocess && !is_copy(rule));
        iterations_of(inferred, symbols, measured)
    }

    /// The rules with products in steps, and the operations of these at these sizes beside those of the rules as they
    /// are written.
    pub fn stepped(&self, symbols: &[i64]) -> Vec<Stepped> {
        let Steps::Cut(cut) = &self.steps else { return Vec::new() };
        let (inferred, written) = (&self.inferred, &cut.written);
        let plans = cut.plans(&inferred.program).into_iter();
        let stepped = plans.map(|plan| {
            let counted = iterations_of(inferred, symbols, plan.rules(inferred));
            let head = written.program.find(&plan.head);
            let own = written.rules.iter().filter(|rule| Some(rule.head) == head);
            let direct = iterations_of(written, symbols, own).and_then(operations);
            Stepped { plan: plan.clone(), operations: counted.and_then(operations), direct }
        });
        stepped.collect()
    }
}

/// Whether a statement adds up terms for an iterator of the head that says only which of them.
fn shares_terms(statement: &Statement, heads: &[String]) -> bool {
    let mut read: BTreeSet<String> =
        statement.reads.iter().flat_map(|read| &read.subscripts).flat_map(Affine::names).collect();
    for function in &statement.functions {
        function.value.visit(&mut |part| match part {
            Scalar::Index(name) => read.extend([name.clone()]),
            Scalar::Holds(comparison) => {
                read.extend(comparison.operands.iter().flat_map(names).map(String::from));
            }
            _ => {}
        });
    }
    let sums = statement.iterators.iter().any(|name| !heads.contains(name));
    sums && statement.iterators.iter().any(|name| heads.contains(name) && !read.contains(name))
}

fn iterations_of<'r>(
    inferred: &Inferred,
    symbols: &[i64],
    rules: impl Iterator<Item = &'r InferredRule>,
) -> Option<Vec<(u128, usize)>> {
    let names = &inferred.sets.names;
    let values: Vec<(String, i64)> = inferred
        .parameter_values(symbols)
        .ok()?
        .into_iter()
        .map(|(name, value)| (names.isl(&name).to_string(), value))
        .collect();
    let counted = |statement: &Statement| {
        let dynamic = |read: &Read| inferred.program.tensor(read.tensor).format.is_some();
        let chosen = |one: &Applied| {
            let mut found = false;
            one.value.visit(&mut |part| {
                if let Scalar::Apply(Operation::Compare(CompareOp::Eq), parts) = part {
                    found |= parts.iter().any(|part| matches!(part, Scalar::Index(_)));
                }
            });
            found
        };
        if !statement.is_exact()
            || statement.reads.iter().any(dynamic)
            || statement.functions.iter().any(chosen)
        {
            return None; // how often its tests hold, and what is stored, is not known
        }
        let count = statement.domain.fix_params(&values).ok()?.card().ok()?;
        let count = count.eval(&values, &[]).ok()?;
        let factors = statement.reads.len()
            + statement.symbols.len()
            + usize::from(statement.coefficient != 1.0);
        Some((u128::try_from(count.to_integer()).ok()?, factors))
    };
    rules.flat_map(|rule| &rule.statements).map(counted).collect()
}

/// One addition, and one multiplication between each two factors, at each point.
fn operations(iterations: Vec<(u128, usize)>) -> Option<u128> {
    iterations.into_iter().try_fold(0u128, |total, (count, factors)| {
        total.checked_add(count.checked_mul(u128::try_from(factors.max(1)).ok()?)?)
    })
}
