//! Sums in parts with results of their own (see `dastac_loops::Partial`).
//!
//! Before -> after: `partial b, e = 0 to n step s in 16 if c with A as W at h from 0 of m { body } then { finish }` ->
//! ```text
//! if c { w = alloc(16 * m)  parallel p = 0 to 16 { body(edge(p), edge(p + 1), p * m, w) }  finish(w)  free(w) } else { body(0, n, 0, A) }
//! ```
//! with `edge(p) = min(n, s * floor(p * ceil(n / s) / 16))`. The body is one function for both. Where it is a range in parts itself, that is one part if
//! there are parts of terms, and shared out if there are none.

use super::parts::Inside;
use super::{Outlined, Ssa, Variable, Writer, line, memref};
use crate::Result;
use dastac_loops::{Index, Partial, Share, Stmt, VarId};

impl Writer<'_, '_> {
    pub(super) fn partial(&mut self, partial: &Partial) -> Result<()> {
        let range = (
            partial.lower.iter().map(|bound| self.here(bound)).reduce(Index::max),
            partial.upper.iter().map(|bound| self.here(bound)).reduce(Index::min),
        );
        let (Some(lower), Some(upper)) = range else {
            return Err(self.invalid(format_args!("a range has no bounds")));
        };
        // A range that ends before it begins is empty.
        let (lower, upper) = (self.index(&lower)?, self.index(&upper)?);
        let upper = self.define(format_args!("arith.maxsi {lower}, {upper} : index"));
        let (buffer, element) = self.buffer(partial.buffer)?;
        let ty = memref(element);
        let own = [partial.begin, partial.end, partial.shift];
        let shared = match &partial.body[..] {
            [stmt @ Stmt::Share(share)] => Some((stmt, share)),
            _ => None,
        };
        // The names are the function's own.
        let names = own.map(|_| self.fresh());
        self.bind_all(&own, &names);
        self.buffers.insert(partial.workspace, buffer.clone());
        let body = self.part(partial, &own, shared.map(|(_, share)| share))?;

        let condition = self.condition(&self.holds_here(&partial.condition))?;
        line!(self, "scf.if {condition} {{");
        self.block(|writer| {
            let extent = writer.index(&partial.extent)?;
            let base = writer.index(&partial.base)?;
            let [zero, one, parts, step, less] =
                [0, 1, partial.parts, partial.step, partial.step - 1]
                    .map(|value| writer.index_constant(value));
            let size = writer.define(format_args!("arith.muli {extent}, {parts} : index"));
            let workspace = writer.allocated(element, &size);
            let memory = workspace.clone();
            writer.enter(partial.workspace, workspace, size);
            let length = writer.define(format_args!("arith.subi {upper}, {lower} : index"));
            let units = writer.define(format_args!("arith.addi {length}, {less} : index"));
            let units = writer.define(format_args!("arith.divui {units}, {step} : index"));
            let part = writer.fresh();
            let threads = writer.threads && writer.can_share();
            match threads {
                true => {
                    writer.unit.parallel = true;
                    line!(writer, "scf.parallel ({part}) = ({zero}) to ({parts}) step ({one}) {{");
                }
                false => line!(writer, "scf.for {part} = {zero} to {parts} step {one} {{"),
            }
            writer.block(|writer| {
                let next = writer.define(format_args!("arith.addi {part}, {one} : index"));
                let [begin, end] = [&part, &next].map(|part| {
                    let edge = writer.define(format_args!("arith.muli {part}, {units} : index"));
                    let edge = writer.define(format_args!("arith.divui {edge}, {parts} : index"));
                    let edge = writer.define(format_args!("arith.muli {edge}, {step} : index"));
                    let edge = writer.define(format_args!("arith.addi {lower}, {edge} : index"));
                    writer.define(format_args!("arith.minsi {edge}, {upper} : index"))
                });
                let shift = writer.define(format_args!("arith.muli {part}, {extent} : index"));
                let shift = writer.define(format_args!("arith.subi {shift}, {base} : index"));
                writer.bind_all(&own, &[begin, end, shift]);
                match shared {
                    Some((_, share)) => writer.whole(share, &Inside::Call(&body, &own)),
                    None => {
                        writer.call_outlined(&body);
                        Ok(())
                    }
                }
            })?;
            if threads {
                line!(writer, "  scf.reduce");
            }
            line!(writer, "}}");
            writer.stmts(&partial.finish)?;
            line!(writer, "memref.dealloc {memory} : {ty}");
            Ok(())
        })?;
        line!(self, "}} else {{");
        self.block(|writer| {
            let zero = writer.index_constant(0);
            writer.bind_all(&own, &[lower, upper, zero.clone()]);
            let size = match writer.sizes.get(&partial.buffer) {
                Some(size) => size.clone(),
                None => zero.clone(),
            };
            writer.enter(partial.workspace, buffer, size);
            match shared {
                Some((stmt, share)) => writer.parts(stmt, share, &Inside::Call(&body, &own)),
                None => {
                    writer.call_outlined(&body);
                    Ok(())
                }
            }
        })?;
        line!(self, "}}");
        own.iter().for_each(|var| drop(self.vars.remove(var)));
        self.leave(partial.workspace);
        Ok(())
    }

    /// The function of a part, given by its variables and, if its body is shared out, by those of a share.
    fn part(
        &mut self,
        partial: &Partial,
        own: &[VarId],
        share: Option<&Share>,
    ) -> Result<Outlined> {
        let Some(share) = share else {
            return self
                .outline(&partial.body, (own, &[]), false, |body| body.stmts(&partial.body));
        };
        let edges = [share.begin, share.end];
        let names = edges.map(|_| self.fresh());
        self.bind_all(&edges, &names);
        let own: Vec<VarId> = own.iter().copied().chain(edges).collect();
        let outlined =
            self.outline(&share.body, (&own, &[]), false, |body| body.stmts(&share.body));
        edges.iter().for_each(|var| drop(self.vars.remove(var)));
        outlined
    }

    /// Gives variables values that MLIR takes for no dimensions.
    pub(super) fn bind_all(&mut self, vars: &[VarId], values: &[Ssa]) {
        for (var, value) in vars.iter().zip(values) {
            self.vars.insert(*var, Variable { name: value.clone(), affine: false });
        }
    }
}
