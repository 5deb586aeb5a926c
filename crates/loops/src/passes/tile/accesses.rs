//! The elements that a nest loads for each term of its sums.

use std::collections::BTreeSet;

use super::nest::Nest;
use crate::ir::*;

/// The loads of the innermost sums, by the loops of the nest that each varies with.
pub(super) struct Accesses {
    pub(super) loads: Vec<BTreeSet<VarId>>,
}

impl Accesses {
    pub(super) fn of(nest: &Nest) -> Accesses {
        let mut found = Found::default();
        found.collect(&nest.store.value);
        let levels = || nest.levels.iter().map(|level| level.var);
        let loads = found.loads.iter().map(|(_, index, apart)| {
            let vars = index.free_vars();
            levels().filter(|var| vars.contains(var) || apart.contains(var)).collect()
        });
        Accesses { loads: loads.collect() }
    }

    /// Loads and products of a step of the sum.
    pub(super) fn cost(&self, factors: &[(VarId, i64)]) -> (i64, i64) {
        let of = |vars: &BTreeSet<VarId>| -> i64 {
            factors.iter().filter(|(var, _)| vars.contains(var)).map(|(_, factor)| factor).product()
        };
        let loads = self.loads.iter().map(of).sum();
        (loads, factors.iter().map(|(_, factor)| factor).product())
    }
}

/// The loads that vary with the variable of an innermost sum, only once each, with what keeps their ranges apart.
#[derive(Default)]
struct Found {
    sums: Vec<VarId>,
    /// What the stored ranges of the sums around depend on: stored ranges, such as the rows of a matrix, have no
    /// element in common.
    apart: BTreeSet<VarId>,
    loads: Vec<(BufferId, Index, BTreeSet<VarId>)>,
}

impl Found {
    fn collect(&mut self, value: &Value) {
        match value {
            Value::Load(buffer, index) => {
                let load = (*buffer, index.clone(), self.apart.clone());
                let innermost = self.sums.last().is_some_and(|var| index.mentions(*var));
                if innermost && !self.loads.contains(&load) {
                    self.loads.push(load);
                }
            }
            Value::Sum(sum) => {
                let outer = self.apart.clone();
                let bounds = sum.lower.iter().chain(&sum.upper);
                bounds
                    .filter(|bound| bound.has_loads())
                    .for_each(|b| self.apart.extend(b.free_vars()));
                self.sums.push(sum.var);
                self.collect(&sum.body);
                self.sums.pop();
                self.apart = outer;
            }
            _ => value.parts().into_iter().for_each(|part| self.collect(part)),
        }
    }
}
