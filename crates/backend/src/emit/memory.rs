//! Elements between memory and registers: one, neighbours, or at any places; past the caches; prefetched.
//!
//! Before -> after: `$0 : f64[8] = load x[i] where $1` ->
//! `%t0 = vector.maskedload %x[%i], %t1, %zeros : !f64s, vector<8xi1>, vector<8xf64> into vector<8xf64>`.

use super::names::{list, memref, type_name};
use super::writer::{Ssa, Writer, line};
use crate::Result;
use dastac_loops::{Aligned, BufferId, Gather, Index, LaneKind, RegisterType, VectorLoad, Write};

impl Writer<'_, '_> {
    /// One element.
    pub(super) fn load(&mut self, load: &VectorLoad, ty: RegisterType) -> Result<Ssa> {
        let (buffer, from) = self.buffer(load.buffer)?;
        let index = self.place(load.buffer, &load.index)?;
        let source = memref(from);
        let loaded = self.define(format_args!("memref.load {buffer}[{index}] : {source}"));
        self.as_register(loaded, from, ty)
    }

    /// An element for each lane, one after the other in memory, or in reverse.
    pub(super) fn vector_load(&mut self, load: &VectorLoad, ty: RegisterType) -> Result<Ssa> {
        let (buffer, from) = self.buffer(load.buffer)?;
        let last = ty.lanes as i64 - 1;
        let first = if load.reversed { load.index.clone() - last } else { load.index.clone() };
        let first = self.index(&first)?;
        let bits = type_name(RegisterType::truth(ty.lanes));
        let (own, source) = (type_name(RegisterType::number(from, ty.lanes)), memref(from));
        let order = list((0..=last).rev());
        let loaded = match load.mask {
            None => self.define(format_args!("vector.load {buffer}[{first}] : {source}, {own}")),
            Some(mask) => {
                let mut mask = self.register(mask)?;
                if load.reversed {
                    mask = self.define(format_args!(
                        "vector.shuffle {mask}, {mask} [{order}] : {bits}, {bits}"
                    ));
                }
                let none = self.no_elements(from, ty.lanes);
                self.define(format_args!(
                    "vector.maskedload {buffer}[{first}], {mask}, {none} : {source}, {bits}, {own} into {own}"
                ))
            }
        };
        let loaded = match load.reversed {
            true => self
                .define(format_args!("vector.shuffle {loaded}, {loaded} [{order}] : {own}, {own}")),
            false => loaded,
        };
        self.as_register(loaded, from, ty)
    }

    /// An element for each lane, at any places.
    pub(super) fn gather(&mut self, gather: &Gather, ty: RegisterType) -> Result<Ssa> {
        let (buffer, from) = self.buffer(gather.buffer)?;
        let places = self.register(gather.places)?;
        let bits = type_name(RegisterType::truth(ty.lanes));
        let (own, source) = (type_name(RegisterType::number(from, ty.lanes)), memref(from));
        let mask = match gather.mask {
            Some(mask) => self.register(mask)?,
            None => self.constant(format!("dense<true> : {bits}"), format!("all{}", ty.lanes)),
        };
        let (first, none) = (self.index_constant(0), self.no_elements(from, ty.lanes));
        let integers = type_name(RegisterType::integer(ty.lanes));
        let loaded = self.define(format_args!(
            "vector.gather {buffer}[{first}] [{places}], {mask}, {none} : {source}, {integers}, {bits}, {own} into \
            {own}"
        ));
        self.as_register(loaded, from, ty)
    }

    /// Writes all lanes.
    pub(super) fn write(&mut self, write: &Write) -> Result<()> {
        let (buffer, element) = self.buffer(write.buffer)?;
        let (value, ty) = (self.register(write.value)?, self.register_type(write.value)?);
        let index = self.place(write.buffer, &write.index)?;
        let LaneKind::Number(computed) = ty.kind else {
            return Err(self.invalid(format_args!("what is stored is no number")));
        };
        let value = self.converted(value, ty.lanes, computed, element);
        let source = memref(element);
        if ty.lanes == 1 {
            line!(self, "memref.store {value}, {buffer}[{index}] : {source}");
            return Ok(());
        }
        let how = match write.streamed {
            Some(alignment) => {
                format!(" {{nontemporal = true, alignment = {alignment} : i64}}")
            }
            None => String::new(),
        };
        let own = type_name(RegisterType::number(element, ty.lanes));
        line!(self, "vector.store {value}, {buffer}[{index}]{how} : {source}, {own}");
        Ok(())
    }

    pub(super) fn prefetch(&mut self, id: BufferId, index: &Index) -> Result<()> {
        let (buffer, element) = self.buffer(id)?;
        let (index, source) = (self.index(index)?, memref(element));
        // Into the second cache: the first one is full of what is used now (a sixth of the time of sums with their
        // terms in lanes).
        line!(self, "memref.prefetch {buffer}[{index}], read, locality<2>, data : {source}");
        Ok(())
    }

    /// Whether elements lie at multiples of so many bytes.
    pub(super) fn aligned(&mut self, aligned: &Aligned) -> Result<Ssa> {
        let (buffer, element) = self.buffer(aligned.buffer)?;
        let source = memref(element);
        let mut places = Vec::new();
        for index in &aligned.indices {
            places.push(self.index(index)?);
        }
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
        let mask = self.index_constant(aligned.bytes as i64 - 1);
        let zero = self.index_constant(0);
        let all = all.unwrap_or(base);
        let rest = self.define(format_args!("arith.andi {all}, {mask} : index"));
        Ok(self.define(format_args!("arith.cmpi eq, {rest}, {zero} : index")))
    }
}
