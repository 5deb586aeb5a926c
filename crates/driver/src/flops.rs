//! How much a run computes, from the iteration domains of its statements.

use dastac_stur::infer::Read;

use crate::run::Runner;

impl Runner {
    /// Floating-point operations of one run, without preprocess rules: iterations of every statement's domain times its
    /// multiplications, divisions and additions. `None` when Barvinok is not there, the count does not fit, or
    /// conditions that are not affine decide.
    pub fn flops(&self) -> Option<u128> {
        self.iterations()?.into_iter().try_fold(0u128, |total, (count, factors)| {
            // One addition, and one multiplication between each two factors.
            total.checked_add(count.checked_mul(u128::try_from(factors.max(1)).ok()?)?)
        })
    }

    /// The number of points of each statement's iteration domain, and the number of factors of its product, for all
    /// statements outside of preprocess rules; `None` where [`Runner::flops`] is `None`.
    pub fn iterations(&self) -> Option<Vec<(u128, usize)>> {
        let inferred = self.built().lowered.inferred();
        let names = &inferred.sets.names;
        let values: Vec<(String, i64)> = inferred
            .parameter_values(self.symbols())
            .ok()?
            .into_iter()
            .map(|(name, value)| (names.isl(&name).to_string(), value))
            .collect();
        let measured =
            inferred.rules.iter().filter(|rule| !inferred.program.rules[rule.rule.0].preprocess);
        let statements = measured.flat_map(|rule| &rule.statements);
        statements
            .map(|statement| {
                let dynamic = |read: &Read| self.facts()[read.tensor.0].format.is_some();
                if !statement.is_exact() || statement.reads.iter().any(dynamic) {
                    return None; // how often its tests hold, and what is stored, is not known
                }
                let count = statement.domain.fix_params(&values).ok()?.card().ok()?;
                let count = count.eval(&values, &[]).ok()?;
                let factors = statement.reads.len()
                    + statement.symbols.len()
                    + usize::from(statement.coefficient != 1.0);
                Some((u128::try_from(count.to_integer()).ok()?, factors))
            })
            .collect()
    }
}
