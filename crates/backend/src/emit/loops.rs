//! Counted loops and the heads of conditionals.
//!
//! One rule chooses between two dialects, by form alone: what MLIR's `affine` dialect can say is said in it
//! ([`crate::affine`]), so that MLIR folds and simplifies it; all else is computed with `arith` for `scf`.

use super::writer::{Ssa, Writer, line};
use crate::Result;
use crate::affine::{self, List};
use dastac_loops::{Condition, For, Index, VarId};

/// The bounds of a loop as operands.
pub(super) enum Range {
    Affine { lower: List, upper: List },
    Values { lower: Ssa, upper: Ssa, step: Ssa },
}

impl Writer<'_, '_> {
    pub(super) fn sequential(&mut self, inner: &For) -> Result<()> {
        if self.unit.lanes.is_some() && self.once(inner)? {
            return Ok(());
        }
        let range = self.range(&inner.lower, &inner.upper, inner.step)?;
        let var = self.loop_head(inner.var, &range, inner.step, None)?;
        self.block(|writer| writer.stmts(&inner.body))?;
        self.vars.remove(&var);
        line!(self, "}}");
        Ok(())
    }

    /// The head of a conditional: `affine.if #set(operands)` or `scf.if %condition`.
    pub(super) fn branch(&mut self, condition: &Condition) -> Result<String> {
        Ok(match affine::constraints(condition, &|var| self.is_dim(var)) {
            Some(list) => format!(
                "affine.if affine_set<{} : ({})>{}",
                list.signature(),
                list.expressions.join(", "),
                self.operands(&list)?
            ),
            None => format!("scf.if {}", self.in_order(condition)?),
        })
    }

    /// Writes `for var = range {` and binds the variable.
    pub(super) fn loop_head(
        &mut self,
        var: VarId,
        range: &Range,
        step: i64,
        carried: Option<(String, String)>,
    ) -> Result<VarId> {
        let (result, arguments) = match carried {
            Some((result, arguments)) => (format!("{result} = "), arguments),
            None => Default::default(),
        };
        match range {
            Range::Affine { lower, upper } => {
                let lower = self.bound(lower, "max ")?;
                let upper = self.bound(upper, "min ")?;
                let name = self.bind(var, true)?;
                let step = if step == 1 { String::new() } else { format!(" step {step}") };
                line!(self, "{result}affine.for {name} = {lower} to {upper}{step}{arguments} {{");
            }
            Range::Values { lower, upper, step } => {
                let name = self.bind(var, false)?;
                line!(
                    self,
                    "{result}scf.for {name} = {lower} to {upper} step {step}{arguments} {{"
                );
            }
        }
        Ok(var)
    }

    fn bound(&self, list: &List, extremum: &str) -> Result<String> {
        // MLIR's short forms of a constant and of a symbol alone.
        if let [only] = list.expressions.as_slice() {
            match (list.dims.as_slice(), list.symbols.as_slice()) {
                ([], []) if only.parse::<i64>().is_ok() => return Ok(only.clone()),
                ([], [symbol]) if only == "s0" => return Ok(self.symbol(*symbol)?.to_string()),
                _ => {}
            }
        }
        let extremum = if list.expressions.len() > 1 { extremum } else { "" };
        let expressions = list.expressions.join(", ");
        let signature = list.signature();
        let operands = self.operands(list)?;
        Ok(format!("{extremum}affine_map<{signature} -> ({expressions})>{operands}"))
    }

    /// `(%i, %j)[%n]`, what a map or set is applied to.
    fn operands(&self, list: &List) -> Result<String> {
        let dims: Vec<_> = list.dims.iter().map(|var| self.vars[var].name.to_string()).collect();
        let mut symbols = Vec::new();
        for symbol in &list.symbols {
            symbols.push(self.symbol(*symbol)?.to_string());
        }
        let symbols =
            if symbols.is_empty() { String::new() } else { format!("[{}]", symbols.join(", ")) };
        Ok(format!("({}){symbols}", dims.join(", ")))
    }

    /// The range of a loop: affine if all of its bounds are.
    pub(super) fn range(&mut self, lower: &[Index], upper: &[Index], step: i64) -> Result<Range> {
        if lower.is_empty() || upper.is_empty() {
            return Err(self.invalid(format_args!("a loop has no bounds")));
        }
        let step = self.step(step)?;
        let is_dim = |var| self.is_dim(var);
        let maps = affine::bounds(&affine::maxima(lower), &is_dim)
            .zip(affine::bounds(&affine::minima(upper), &is_dim));
        Ok(match maps {
            Some((lower, upper)) => Range::Affine { lower, upper },
            None => Range::Values {
                lower: self.extremum(lower, "arith.maxsi")?,
                upper: self.extremum(upper, "arith.minsi")?,
                step: self.index_constant(step),
            },
        })
    }
}
