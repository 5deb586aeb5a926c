//! Ranges in parts of equal work, one for each thread.
//!
//! The work before a point is an expression (see `dastac_loops::Share`), so each thread finds where its part begins and ends by bisection: no part is
//! handed out at run time, and a thread computes the same elements in each call.
//!
//! Before -> after: `share a, b = 0 to N step 4 by w(b) { body }` ->
//! `if w(N) is little { body(0, N) } else { parallel t = 0 to threads { a = edge(t)  b = edge(t + 1)  body(a, b) } }` with `edge(t)` the first
//! multiple of 4 before which there are at least `t / threads` of the work.
//!
//! Parts meet whatever the expression gives, even a number that does not grow: two bisections ask the same questions until one goes left
//! and the other right.

use super::{Outlined, Ssa, Variable, Writer, line};
use crate::Result;
use dastac_loops::{Element, Index, Share, Stmt, VarId};

/// OpenMP's number of a thread among those that a parallel region has, and how many it has.
const THIS_THREAD: &str = "omp_get_thread_num";
const THREADS: &str = "omp_get_num_threads";

/// Elements loaded that are worth waking threads, which takes microseconds.
const ENOUGH: f64 = 16384.0;

/// What is executed for a part.
pub(super) enum Inside<'a> {
    /// The body that it has.
    Body,
    /// A function of this body, and of these variables besides the part's.
    Call(&'a Outlined, &'a [VarId]),
}

impl Writer<'_, '_> {
    pub(super) fn parts(&mut self, stmt: &Stmt, share: &Share, inside: &Inside<'_>) -> Result<()> {
        if !self.threads || self.shared_out {
            return self.whole(share, inside);
        }
        let (lower, upper) = self.ends(share)?;
        let own = match inside {
            Inside::Body => &[],
            Inside::Call(_, own) => *own,
        };
        self.unit.parallel = true;
        self.unit.asks_threads = true;
        let little = self.little(share, (&lower, &upper))?;
        let [part, parts] = [(); 2].map(|()| self.fresh());
        let these = std::slice::from_ref(stmt);
        self.shared_out = true;
        let outlined = self.outline(these, (own, &[&part, &parts]), false, |body| {
            let (lower, upper) = (body.index(&lower)?, body.index(&upper)?);
            let some = body.define(format_args!("arith.cmpi slt, {lower}, {upper} : index"));
            line!(body, "scf.if {some} {{");
            body.block(|body| {
                let [begin, end] = body.edges(share, (&lower, &upper), (&part, &parts))?;
                body.bind_all(&[share.begin, share.end], &[begin, end]);
                match inside {
                    Inside::Body => body.stmts(&share.body),
                    Inside::Call(outlined, _) => {
                        body.call_outlined(outlined);
                        Ok(())
                    }
                }
            })?;
            line!(body, "}}");
            Ok(())
        })?;
        self.shared_out = false;
        let Some(little) = little else {
            return self.parallel_parts(&outlined, (&part, &parts));
        };
        line!(self, "scf.if {little} {{");
        self.block(|writer| {
            line!(writer, "{part} = arith.constant 0 : index");
            line!(writer, "{parts} = arith.constant 1 : index");
            writer.call_outlined(&outlined);
            Ok(())
        })?;
        line!(self, "}} else {{");
        self.block(|writer| writer.parallel_parts(&outlined, (&part, &parts)))?;
        line!(self, "}}");
        Ok(())
    }

    /// Calls a function for the part of each thread.
    fn parallel_parts(&mut self, outlined: &Outlined, (part, parts): (&Ssa, &Ssa)) -> Result<()> {
        line!(self, "omp.parallel {{");
        self.block(|writer| {
            for (name, function) in [(part, THIS_THREAD), (parts, THREADS)] {
                let number = writer.define(format_args!("func.call @{function}() : () -> i32"));
                line!(writer, "{name} = arith.index_cast {number} : i32 to index");
            }
            writer.call_outlined(outlined);
            line!(writer, "omp.terminator");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(())
    }

    /// Whether there is less to do than waking threads is worth; none if that is not known. Checked code, which is to find mistakes, shares out all there is.
    fn little(&mut self, share: &Share, (lower, upper): (&Index, &Index)) -> Result<Option<Ssa>> {
        if share.work.is_none() || self.checked {
            return Ok(None);
        }
        let (lower, upper) = (self.index(lower)?, self.index(upper)?);
        let some = self.define(format_args!("arith.cmpi slt, {lower}, {upper} : index"));
        let little = self.fresh();
        // Where there is nothing to do there is nothing to load either.
        line!(self, "{little} = scf.if {some} -> (i1) {{");
        self.block(|writer| {
            let work = writer.work_before(share, (&lower, upper))?;
            let enough = writer.number(ENOUGH, Element::F64);
            let less = writer.define(format_args!("arith.cmpf olt, {work}, {enough} : f64"));
            line!(writer, "scf.yield {less} : i1");
            Ok(())
        })?;
        line!(self, "}} else {{");
        self.block(|writer| {
            let nothing = writer.define(format_args!("arith.constant true"));
            line!(writer, "scf.yield {nothing} : i1");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(Some(little))
    }

    /// A range as one part.
    pub(super) fn whole(&mut self, share: &Share, inside: &Inside<'_>) -> Result<()> {
        let (lower, upper) = self.ends(share)?;
        match inside {
            Inside::Body => {
                let body = share
                    .body
                    .iter()
                    .map(|stmt| stmt.substitute(share.begin, &lower).substitute(share.end, &upper));
                let whole = Stmt::when(lower.clone().less(upper.clone()), body.collect());
                self.stmt(&whole)
            }
            Inside::Call(outlined, _) => {
                // A part may be empty.
                let (lower, upper) = (self.index(&lower)?, self.index(&upper)?);
                let upper = self.define(format_args!("arith.maxsi {lower}, {upper} : index"));
                self.bind_all(&[share.begin, share.end], &[lower, upper]);
                self.call_outlined(outlined);
                [share.begin, share.end].iter().for_each(|var| drop(self.vars.remove(var)));
                Ok(())
            }
        }
    }

    /// Where a range begins, and where it ends.
    fn ends(&self, share: &Share) -> Result<(Index, Index)> {
        let ends = |list: &[Index], extreme: fn(Index, Index) -> Index| {
            list.iter().map(|bound| self.here(bound)).reduce(extreme)
        };
        let lower = ends(&share.lower, Index::max);
        lower
            .zip(ends(&share.upper, Index::min))
            .ok_or_else(|| self.invalid(format_args!("a range has no bounds")))
    }

    /// The work between the begin of a range and `end`, as a number that does not overflow in products.
    fn work_before(&mut self, share: &Share, (lower, end): (&Ssa, Ssa)) -> Result<Ssa> {
        let work = match &share.work {
            Some(work) => {
                self.vars.insert(share.end, Variable { name: end, affine: false });
                let work = self.here(work);
                let work = self.index(&work)?;
                self.vars.remove(&share.end);
                work
            }
            None => self.define(format_args!("arith.subi {end}, {lower} : index")),
        };
        let work = self.define(format_args!("arith.index_cast {work} : index to i64"));
        Ok(self.define(format_args!("arith.sitofp {work} : i64 to f64")))
    }

    /// Where a part begins, and where it ends.
    fn edges(
        &mut self,
        share: &Share,
        (lower, upper): (&Ssa, &Ssa),
        (part, parts): (&Ssa, &Ssa),
    ) -> Result<[Ssa; 2]> {
        // What a part is to have grows from part to part.
        let total = self.work_before(share, (lower, upper.clone()))?;
        let nothing = self.number(0.0, Element::F64);
        let total = self.define(format_args!("arith.maximumf {total}, {nothing} : f64"));
        let step = self.step(share.step)?;
        let [zero, one, two] = [0, 1, 2].map(|value| self.index_constant(value));
        let (less, step) = (self.index_constant(step - 1), self.index_constant(step));
        let length = self.define(format_args!("arith.subi {upper}, {lower} : index"));
        let length = self.define(format_args!("arith.addi {length}, {less} : index"));
        let units = self.define(format_args!("arith.divui {length}, {step} : index"));
        let stop = self.define(format_args!("arith.addi {part}, {two} : index"));
        let [edges, at, before, last] = [(); 4].map(|()| self.fresh());
        line!(
            self,
            "{edges}:2 = scf.for {at} = {part} to {stop} step {one} iter_args({before} = {lower}, {last} = {lower}) -> (index, index) {{"
        );
        self.block(|writer| {
            let float = |writer: &mut Self, value: &Ssa| {
                let value = writer.define(format_args!("arith.index_cast {value} : index to i64"));
                writer.define(format_args!("arith.sitofp {value} : i64 to f64"))
            };
            let (share_of, all) = (float(writer, &at), float(writer, parts));
            let goal = writer.define(format_args!("arith.mulf {total}, {share_of} : f64"));
            let goal = writer.define(format_args!("arith.divf {goal}, {all} : f64"));
            let [found, low, high, left, right] = [(); 5].map(|()| writer.fresh());
            line!(
                writer,
                "{found}:2 = scf.while ({low} = {zero}, {high} = {units}) : (index, index) -> (index, index) {{"
            );
            writer.block(|writer| {
                let open = writer.define(format_args!("arith.cmpi slt, {low}, {high} : index"));
                line!(writer, "scf.condition({open}) {low}, {high} : index, index");
                Ok(())
            })?;
            line!(writer, "}} do {{");
            line!(writer, "^bb0({left}: index, {right}: index):");
            writer.block(|writer| {
                let middle = writer.define(format_args!("arith.addi {left}, {right} : index"));
                let middle = writer.define(format_args!("arith.divui {middle}, {two} : index"));
                let end = writer.define(format_args!("arith.muli {middle}, {step} : index"));
                let end = writer.define(format_args!("arith.addi {lower}, {end} : index"));
                let work = writer.work_before(share, (lower, end))?;
                let enough = writer.define(format_args!("arith.cmpf oge, {work}, {goal} : f64"));
                let next = writer.define(format_args!("arith.addi {middle}, {one} : index"));
                let left = writer
                    .define(format_args!("arith.select {enough}, {left}, {next} : index"));
                let right = writer
                    .define(format_args!("arith.select {enough}, {middle}, {right} : index"));
                line!(writer, "scf.yield {left}, {right} : index, index");
                Ok(())
            })?;
            line!(writer, "}}");
            let edge = writer.define(format_args!("arith.muli {found}#0, {step} : index"));
            let edge = writer.define(format_args!("arith.addi {lower}, {edge} : index"));
            let edge = writer.define(format_args!("arith.minsi {edge}, {upper} : index"));
            // All there is belongs to a part, however work is rounded.
            let first = writer.define(format_args!("arith.cmpi eq, {at}, {zero} : index"));
            let edge = writer.define(format_args!("arith.select {first}, {lower}, {edge} : index"));
            let end = writer.define(format_args!("arith.cmpi sge, {at}, {parts} : index"));
            let edge = writer.define(format_args!("arith.select {end}, {upper}, {edge} : index"));
            line!(writer, "scf.yield {last}, {edge} : index, index");
            Ok(())
        })?;
        line!(self, "}}");
        Ok([Ssa(format!("{edges}#0")), Ssa(format!("{edges}#1"))])
    }
}
