//! Statements, a `match` per kind; conditionals, loops with a condition, and integers that are read once.
//!
//! Before -> after: `let v = b[i] { body }` -> `v = load b[i]  body(v)`;
//! `while x = a if c { body } then n after { rest }` ->
//! `x = scf.while (x = a) { scf.condition(c) } do { body  scf.yield n }  rest`.

use super::writer::{Ssa, Writer, line};
use crate::Result;
use dastac_loops::{If, Index, Let, Mark, Stmt, VarId, While};

impl Writer<'_, '_> {
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) -> Result<()> {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::For(inner) if inner.mark == Mark::Unrolled => {
                Err(self.invalid(format_args!("an unrolled loop is left")))
            }
            Stmt::Store(_) => Err(self.invalid(format_args!("a store is left"))),
            Stmt::For(inner) if inner.mark.is_parallel() => self.parallel(inner),
            Stmt::For(inner) => self.sequential(inner),
            Stmt::Partitioned(_) => Err(self.invalid(format_args!("a partitioned range is left"))),
            Stmt::Partial(_) => Err(self.invalid(format_args!("sums in parts are left"))),
            Stmt::While(inner) => self.while_loop(inner),
            Stmt::CoIter(_) => Err(self.invalid(format_args!("a walk over coordinates is left"))),
            Stmt::Append(_) => Err(self.invalid(format_args!("a level to be assembled is left"))),
            Stmt::Team(inner) => self.team(inner),
            Stmt::Call(inner) => self.call_function(inner),
            Stmt::Register(inner) => self.register_stmt(inner),
            Stmt::Workspace(inner) => self.workspace(inner),
            Stmt::Let(inner) => self.element(inner),
            Stmt::Scan(inner) => self.scan(inner),
            Stmt::If(inner) => self.conditional(inner),
        }
    }

    fn while_loop(&mut self, inner: &While) -> Result<()> {
        let names =
            |writer: &mut Self| -> Vec<Ssa> { inner.vars.iter().map(|_| writer.fresh()).collect() };
        let mut starts = Vec::new();
        for (_, start) in &inner.vars {
            starts.push(self.index(start)?);
        }
        let vars: Vec<VarId> = inner.vars.iter().map(|(var, _)| *var).collect();
        let join =
            |names: &[Ssa]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let types = vec!["index"; vars.len()].join(", ");
        let (before, inside) = (names(self), names(self));
        let pairs: Vec<String> =
            before.iter().zip(&starts).map(|(name, start)| format!("{name} = {start}")).collect();
        let result = self.fresh();
        let count = vars.len();
        let results = if count > 0 { format!("{result}:{count} = ") } else { String::new() };
        line!(self, "{results}scf.while ({}) : ({types}) -> ({types}) {{", pairs.join(", "));
        self.block(|writer| {
            writer.bind_all(&vars, &before);
            let condition = writer.in_order(&inner.condition)?;
            line!(writer, "scf.condition({condition}) {} : {types}", join(&before));
            Ok(())
        })?;
        let arguments: Vec<String> = inside.iter().map(|name| format!("{name}: index")).collect();
        line!(self, "}} do {{");
        line!(self, "^bb0({}):", arguments.join(", "));
        self.block(|writer| {
            writer.bind_all(&vars, &inside);
            writer.stmts(&inner.body)?;
            let mut next = Vec::new();
            for index in &inner.next {
                next.push(writer.index(index)?);
            }
            line!(writer, "scf.yield {} : {types}", join(&next));
            Ok(())
        })?;
        line!(self, "}}");
        let last: Vec<Ssa> = (0..count).map(|at| Ssa(format!("{result}#{at}"))).collect();
        self.bind_all(&vars, &last);
        self.stmts(&inner.after)?;
        vars.iter().for_each(|var| drop(self.vars.remove(var)));
        Ok(())
    }

    fn conditional(&mut self, inner: &If) -> Result<()> {
        let keyword = self.branch(&inner.condition)?;
        line!(self, "{keyword} {{");
        self.block(|writer| writer.stmts(&inner.then))?;
        if !inner.otherwise.is_empty() {
            line!(self, "}} else {{");
            self.block(|writer| writer.stmts(&inner.otherwise))?;
        }
        line!(self, "}}");
        Ok(())
    }

    fn element(&mut self, inner: &Let) -> Result<()> {
        let value = self.index(&Index::Load(inner.buffer, Box::new(inner.index.clone())))?;
        self.bind_all(&[inner.var], &[value]);
        self.stmts(&inner.body)?;
        self.vars.remove(&inner.var);
        Ok(())
    }
}
