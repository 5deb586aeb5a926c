//! Memory that statements have to themselves.
//!
//! Before -> after: `with W of n { body }` -> `w = alloc(max(n, 0))  body(w)  free(w)`; `w` is on the stack where its
//! space says so.
//! `with W of n or B if c { body }` -> `w = c ? B : alloc(max(n, 0))  body(w)  if !c { free(w) }`.
//!
//! Where there is no memory, one line says so and the process ends (`abort`): there is no way back from inside of
//! OpenMP's threads.

use super::checked::report;
use super::names::{memref, name_of};
use super::writer::{Ssa, Writer, line};
use crate::Result;
use dastac_loops::{BufferId, Condition, Element, Index, Space, Workspace};
use std::fmt::Write;

impl Writer<'_, '_> {
    pub(super) fn workspace(&mut self, inner: &Workspace) -> Result<()> {
        let Some(element) = self.module.buffers.get(inner.buffer.0 as usize) else {
            return Err(self.invalid(format_args!("buffer {} does not exist", inner.buffer.0)));
        };
        let (element, space) = (element.element, element.space);
        let (ty, count) = (memref(element), inner.size.clone().max(Index::Const(0)));
        if let Some((other, condition)) = &inner.instead {
            return self.either(inner, &count, (*other, condition));
        }
        let size = self.index(&count)?;
        let memory = match (space, count.as_const()) {
            (Space::Main, _) => self.allocated(element, &size),
            (Space::Stack, Some(count)) if self.unit.lanes.is_some() && !self.in_lane => {
                self.of_each_lane(inner.buffer, element, count)?
            }
            (Space::Stack, Some(count)) => self.on_the_stack(element, count.max(1)),
            (Space::Shared, Some(count)) if self.unit.lanes.is_some() && !inner.zero => {
                self.shared(element, count.max(1))
            }
            (space, _) => {
                let name = space.name();
                return Err(self.invalid(format_args!("a workspace is in memory `{name}`")));
            }
        };
        self.buffers.insert(inner.buffer, memory.clone());
        if inner.zero {
            let zero = self.number(0.0, element);
            let (first, one, at) = (self.index_constant(0), self.index_constant(1), self.fresh());
            line!(self, "scf.for {at} = {first} to {size} step {one} {{");
            line!(self, "  memref.store {zero}, {memory}[{at}] : {ty}");
            line!(self, "}}");
        }
        self.stmts(&inner.body)?;
        self.buffers.remove(&inner.buffer);
        if space == Space::Main {
            line!(self, "memref.dealloc {memory} : {ty}");
        }
        Ok(())
    }

    /// A workspace that another buffer may stand for.
    fn either(
        &mut self,
        inner: &Workspace,
        count: &Index,
        (id, condition): (BufferId, &Condition),
    ) -> Result<()> {
        if inner.zero {
            return Err(self.invalid(format_args!("what stands for a workspace is set to 0")));
        }
        let (other, element) = self.buffer(id)?;
        let ty = memref(element);
        let instead = self.in_order(condition)?;
        let size = self.index(count)?;
        let memory = self.fresh();
        line!(self, "{memory} = scf.if {instead} -> ({ty}) {{");
        line!(self, "  scf.yield {other} : {ty}");
        line!(self, "}} else {{");
        self.block(|writer| {
            let own = writer.allocated(element, &size);
            line!(writer, "scf.yield {own} : {ty}");
            Ok(())
        })?;
        line!(self, "}}");
        self.buffers.insert(inner.buffer, memory.clone());
        self.stmts(&inner.body)?;
        self.buffers.remove(&inner.buffer);
        line!(self, "scf.if {instead} {{");
        line!(self, "}} else {{");
        line!(self, "  memref.dealloc {memory} : {ty}");
        line!(self, "}}");
        Ok(())
    }

    /// Memory of the function that is written, the same whenever it is asked for here.
    pub(super) fn on_the_stack(&mut self, element: Element, count: i64) -> Ssa {
        let [memory, all] = [(); 2].map(|()| self.fresh());
        let (own, huge) = (format!("memref<{count}x{}>", name_of(element)), self.unit.width.huge());
        let ty = memref(element);
        let _ = write!(
            self.entry,
            "    {memory} = memref.alloca() {{alignment = 64 : i64}} : {own}
    {all} = memref.reinterpret_cast {memory} to offset: [0], sizes: [{huge}], strides: [1] : {own} to {ty}
"
        );
        all
    }

    /// Memory for so many elements. A function of its own asks for it: a size that is seen to be a constant would
    /// become part of the type.
    pub(super) fn allocated(&mut self, element: Element, size: &Ssa) -> Ssa {
        let (ty, name) = (memref(element), name_of(element));
        let (dynamic, huge) = (format!("memref<?x{name}>"), self.unit.width.huge());
        if self.unit.lanes.is_some() {
            return self.allocated_by_lane(element, size);
        }
        let function = match self.unit.allocates.get(name) {
            Some(function) => function.clone(),
            None => {
                let function = format!("{}__workspace_{name}", self.name);
                // Memory at the address 0 is none; aligned, it may be a little above.
                let _ = write!(
                    self.unit.functions,
                    "  func.func private @{function}(%size: index) -> {ty} {{
    %most = arith.constant {huge} : index
    %lowest = arith.constant 64 : index
    %memory = memref.alloc(%size) {{alignment = 64 : i64}} : {dynamic}
    %address = memref.extract_aligned_pointer_as_index %memory : {dynamic} -> index
    %large = arith.cmpi ugt, %size, %most : index
    %null = arith.cmpi ule, %address, %lowest : index
    %none = arith.ori %large, %null : i1
    scf.if %none {{
      %elements = arith.index_cast %size : index to i64
      llvm.call @{function}_none(%elements) : (i64) -> ()
    }}
    %workspace = memref.cast %memory : {dynamic} to {ty}
    return %workspace : {ty}
  }}
"
                );
                let text = format!("dastac: no memory for %ld elements of type {name}");
                report(self.unit, &format!("{function}_none"), &text, &["elements"]);
                self.unit.allocates.insert(name, function.clone());
                function
            }
        };
        self.define(format_args!("func.call @{function}({size}) : (index) -> {ty}"))
    }
}
