//! Vectors on their way to memory: joined with what is there, set, or set past the caches.
//!
//! Whole lines go past the caches where a store says that it is worth it ([`Store::stream`]) and they are aligned, which is known when the code runs. Other
//! threads see them after the fence at the end of the function.
//!
//! Before -> after, of four vectors `v`: `A[i..i + 32] = v stream if c` ->
//! `if c and (A + 8 * i) % 64 == 0 { nontemporal A[i..i + 32] = v } else { A[i..i + 32] = v }`.

use super::{Ssa, Writer, line, memref};
use crate::Result;
use dastac_loops::unroll::Instance;
use dastac_loops::{BufferId, Element, Reduction, Store, VarId};

/// Bytes of a line of memory.
const LINE: usize = 64;

/// The vectors that a store consists of: `count` lanes of a variable from each instance on.
pub(super) struct Vectors<'a> {
    pub(super) var: VarId,
    pub(super) count: usize,
    pub(super) instances: &'a [Instance],
}

impl Vectors<'_> {
    /// The first vectors of runs of neighbours, where all runs consist of whole lines if they begin at one.
    fn runs(&self, element: Element) -> Option<Vec<usize>> {
        let mut first: Vec<usize> = Vec::new();
        let mut lengths: Vec<usize> = Vec::new();
        for (at, instance) in self.instances.iter().enumerate() {
            let follows = at > 0 && self.follows(&self.instances[at - 1], instance);
            match lengths.last_mut().filter(|_| follows) {
                Some(length) => *length += 1,
                None => {
                    first.push(at);
                    lengths.push(1);
                }
            }
        }
        let bytes = self.count * element.bytes();
        lengths.iter().all(|length| (length * bytes).is_multiple_of(LINE)).then_some(first)
    }

    /// Whether a vector stands right behind another one.
    fn follows(&self, before: &Instance, instance: &Instance) -> bool {
        let far = |var: &VarId| instance.get(var)?.constant_difference(before.get(var)?);
        let other = |var: &VarId| *var == self.var || far(var) == Some(0);
        instance.keys().all(other) && far(&self.var) == Some(self.count as i64)
    }
}

impl Writer<'_, '_> {
    /// Sets elements, whole vectors or single ones, to what is computed.
    pub(super) fn set(
        &mut self,
        store: &Store,
        (parts, together): (&[(Ssa, Ssa)], bool),
        vectors: &Vectors<'_>,
        (element, computed): (Element, Element),
    ) -> Result<()> {
        let (buffer, _) = self.buffer(store.buffer)?;
        let source = memref(element);
        let mut converted = Vec::new();
        for (place, part) in parts {
            let part = self.converted(part.clone(), together, computed, element);
            converted.push((place, part));
        }
        let kind = self.type_of(element, together);
        let write = |writer: &mut Self, how: &str| {
            for (place, part) in &converted {
                match together {
                    true => line!(
                        writer,
                        "vector.store {part}, {buffer}[{place}]{how} : {source}, {kind}"
                    ),
                    false => line!(writer, "memref.store {part}, {buffer}[{place}] : {source}"),
                }
            }
        };
        let runs = vectors.runs(element).filter(|_| together);
        let (Some(runs), Some(stream)) = (runs, &store.stream) else {
            write(self, "");
            return Ok(());
        };
        let worth = self.condition(&self.holds_here(stream))?;
        let aligned = self.aligned(&buffer, element, runs.iter().map(|run| &parts[*run].0));
        let both = self.define(format_args!("arith.andi {worth}, {aligned} : i1"));
        self.streams = true;
        let alignment = LINE.min(vectors.count * element.bytes());
        line!(self, "scf.if {both} {{");
        self.block(|writer| {
            write(writer, &format!(" {{nontemporal = true, alignment = {alignment} : i64}}"));
            Ok(())
        })?;
        line!(self, "}} else {{");
        self.block(|writer| {
            write(writer, "");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(())
    }

    /// Joins elements with what is computed, as if they were 0 where `first` holds.
    pub(super) fn join(
        &mut self,
        (how, id): (Reduction, BufferId),
        (parts, together): (&[(Ssa, Ssa)], bool),
        first: Option<&Ssa>,
        (element, computed): (Element, Element),
    ) -> Result<()> {
        let (buffer, _) = self.buffer(id)?;
        let (source, kind) = (memref(element), self.type_of(element, together));
        let (load, write, tail) = match together {
            true => ("vector.load", "vector.store", format!(", {kind}")),
            false => ("memref.load", "memref.store", String::new()),
        };
        for (place, part) in parts {
            let mut old = self.define(format_args!("{load} {buffer}[{place}] : {source}{tail}"));
            if let Some(first) = first {
                let zero = match together {
                    true => self.all(0.0, element),
                    false => self.number(0.0, element),
                };
                old = self.define(format_args!("arith.select {first}, {zero}, {old} : {kind}"));
            }
            let part = self.joined(how, (old, part.clone()), together, (element, computed));
            let part = self.converted(part, together, computed, element);
            line!(self, "{write} {part}, {buffer}[{place}] : {source}{tail}");
        }
        Ok(())
    }

    /// Whether elements at these places begin lines of memory.
    fn aligned<'p>(
        &mut self,
        buffer: &Ssa,
        element: Element,
        places: impl Iterator<Item = &'p Ssa>,
    ) -> Ssa {
        let source = memref(element);
        let base = self.define(format_args!(
            "memref.extract_aligned_pointer_as_index {buffer} : {source} -> index"
        ));
        let bytes = self.index_constant(element.bytes() as i64);
        let mut all: Option<Ssa> = None;
        for place in places {
            let place = self.define(format_args!("arith.muli {place}, {bytes} : index"));
            let place = self.define(format_args!("arith.addi {base}, {place} : index"));
            all = Some(match all {
                Some(others) => self.define(format_args!("arith.ori {others}, {place} : index")),
                None => place,
            });
        }
        let (mask, zero) = (self.index_constant(LINE as i64 - 1), self.index_constant(0));
        let all = all.unwrap_or(base);
        let rest = self.define(format_args!("arith.andi {all}, {mask} : index"));
        self.define(format_args!("arith.cmpi eq, {rest}, {zero} : index"))
    }

    /// Makes other threads see what went past the caches.
    pub(super) fn fence(&mut self) {
        if self.streams {
            line!(self, "llvm.fence seq_cst");
        }
    }
}
