//! Loops and statements that several threads execute, as OpenMP's operations.
//!
//! Before -> after: `parallel i = 0 to N { body }` ->
//! `omp.parallel { omp.wsloop { omp.loop_nest (%i) = (0) to (%N) step (1) { body } } }`, whose iterations are shared
//! out in equal parts; with `hint(guided)` it is `omp.wsloop schedule(guided)`, in pieces that shrink;
//! `team t in n { body }` -> `omp.parallel { t = omp_get_thread_num()  n = omp_get_num_threads()  body }`.

use super::writer::{Writer, line};
use crate::Result;
use dastac_loops::{For, Team};

/// OpenMP's number of a thread among those that a parallel region has, and how many it has.
const THIS_THREAD: &str = "omp_get_thread_num";
const THREADS: &str = "omp_get_num_threads";

/// What a module with teams declares.
pub(super) fn declarations() -> String {
    let declare = |name: &str| format!("  func.func private @{name}() -> i32\n");
    [THIS_THREAD, THREADS].map(declare).concat()
}

impl Writer<'_, '_> {
    pub(super) fn parallel(&mut self, inner: &For) -> Result<()> {
        if self.unit.lanes.is_some() {
            return self.on_grid(inner);
        }
        self.unit.parallel = true;
        let lower = self.extremum(&inner.lower, "arith.maxsi")?;
        let upper = self.extremum(&inner.upper, "arith.minsi")?;
        let step = self.step(inner.step)?;
        let step = self.index_constant(step);
        let guided = self.function.hints.get(inner.var).guided;
        let schedule = if guided { "schedule(guided) " } else { "" };
        self.region("omp.parallel", "omp.terminator", |writer| {
            line!(writer, "omp.wsloop {schedule}{{");
            writer.block(|writer| {
                let var = writer.bind(inner.var, false)?;
                let head =
                    format!("omp.loop_nest ({var}) : index = ({lower}) to ({upper}) step ({step})");
                writer.region(&head, "omp.yield", |writer| writer.stmts(&inner.body))
            })?;
            line!(writer, "}}");
            Ok(())
        })?;
        self.vars.remove(&inner.var);
        Ok(())
    }

    pub(super) fn team(&mut self, team: &Team) -> Result<()> {
        self.unit.parallel = true;
        self.unit.asks_threads = true;
        self.region("omp.parallel", "omp.terminator", |writer| {
            let numbers = [THIS_THREAD, THREADS].map(|function| {
                let number = writer.define(format_args!("func.call @{function}() : () -> i32"));
                writer.define(format_args!("arith.index_cast {number} : i32 to index"))
            });
            writer.bind_all(&[team.part, team.parts], &numbers);
            writer.stmts(&team.body)?;
            [team.part, team.parts].iter().for_each(|var| drop(writer.vars.remove(var)));
            Ok(())
        })
    }

    /// An operation around statements that ends with another one.
    fn region(
        &mut self,
        head: &str,
        end: &str,
        inside: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        line!(self, "{head} {{");
        self.block(|writer| {
            inside(writer)?;
            line!(writer, "{end}");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(())
    }
}
