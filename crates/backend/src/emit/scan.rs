//! Loops over the marked places of a range, 64 places at a time.
//!
//! Before -> after: `scan k in marks[a .. b] { body }` ->
//! `for base = a to b step 64 { bits = marks[base .. base + 64] != 0  if bits != 0 { marks[base .. base + 64] = 0
//! while bits != 0 { k = base + cttz(bits)  body(k)  bits &= bits - 1 } } }`.
//!
//! Where fewer than 64 places are left, their bits are gathered one by one: nothing behind the range is accessed, and
//! the body is written once. Machines without vectors look at one place after the other.

use super::names::memref;
use super::writer::{Ssa, Writer, line};
use crate::Result;
use dastac_loops::linear::Linear;
use dastac_loops::{Element, Scan};

/// Places that are looked at together: the bits of an integer.
const PLACES: i64 = 64;
/// The type of so many elements.
const VECTOR: &str = "vector<64xi8>";

/// The elements that are scanned.
struct Marks {
    buffer: Ssa,
    element: Element,
}

impl Writer<'_, '_> {
    pub(super) fn scan(&mut self, inner: &Scan) -> Result<()> {
        let (buffer, element) = self.buffer(inner.buffer)?;
        if !Scan::can_scan(element) {
            return Err(
                self.invalid(format_args!("a buffer is scanned whose elements are no bytes"))
            );
        }
        let marks = Marks { buffer, element };
        if self.unit.vectors.bytes == 0 {
            return self.scan_one_by_one(inner, &marks);
        }
        let length = Linear::difference(&inner.upper, &inner.lower, 0);
        let lower = self.index(&inner.lower)?;
        if length.as_ref().and_then(Linear::as_const) == Some(PLACES) {
            let bits = self.marked_places(&marks, &lower);
            return self.marked(inner, &marks, &lower, &bits, None);
        }
        let upper = self.index(&inner.upper)?;
        let (places, base) = (self.index_constant(PLACES), self.fresh());
        line!(self, "scf.for {base} = {lower} to {upper} step {places} {{");
        self.block(|writer| {
            if length.is_some_and(|length| length.is_multiple_of(PLACES)) {
                let bits = writer.marked_places(&marks, &base);
                return writer.marked(inner, &marks, &base, &bits, None);
            }
            let left = writer.define(format_args!("arith.subi {upper}, {base} : index"));
            let full = writer.define(format_args!("arith.cmpi sge, {left}, {places} : index"));
            let bits = writer.fresh();
            line!(writer, "{bits} = scf.if {full} -> (i64) {{");
            writer.block(|writer| {
                let bits = writer.marked_places(&marks, &base);
                line!(writer, "scf.yield {bits} : i64");
                Ok(())
            })?;
            line!(writer, "}} else {{");
            writer.block(|writer| {
                let bits = writer.bits_one_by_one(&marks, &base, &left)?;
                line!(writer, "scf.yield {bits} : i64");
                Ok(())
            })?;
            line!(writer, "}}");
            writer.marked(inner, &marks, &base, &bits, Some(&full))
        })?;
        line!(self, "}}");
        Ok(())
    }

    /// On a machine without vectors, a place after the other.
    fn scan_one_by_one(&mut self, inner: &Scan, marks: &Marks) -> Result<()> {
        let (buffer, source) = (&marks.buffer, memref(marks.element));
        let (lower, upper) = (self.index(&inner.lower)?, self.index(&inner.upper)?);
        let (one, none) = (self.index_constant(1), self.number(0.0, marks.element));
        let place = self.fresh();
        line!(self, "scf.for {place} = {lower} to {upper} step {one} {{");
        self.block(|writer| {
            let mark = writer.define(format_args!("memref.load {buffer}[{place}] : {source}"));
            let marked = writer.define(format_args!("arith.cmpi ne, {mark}, {none} : i8"));
            line!(writer, "scf.if {marked} {{");
            writer.block(|writer| {
                line!(writer, "memref.store {none}, {buffer}[{place}] : {source}");
                writer.bind_all(&[inner.var], std::slice::from_ref(&place));
                writer.stmts(&inner.body)?;
                writer.vars.remove(&inner.var);
                Ok(())
            })?;
            line!(writer, "}}");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(())
    }

    fn wide(&mut self, value: i64) -> Ssa {
        self.constant(format!("{value} : i64"), format!("wide{}", value.unsigned_abs()))
    }

    fn zeros(&mut self) -> Ssa {
        self.constant(format!("dense<0> : {VECTOR}"), "marks0".into())
    }

    /// A bit for each place behind `base`: whether its element is not 0.
    fn marked_places(&mut self, marks: &Marks, base: &Ssa) -> Ssa {
        let (buffer, source, zeros) = (&marks.buffer, memref(marks.element), self.zeros());
        let all = self.define(format_args!("vector.load {buffer}[{base}] : {source}, {VECTOR}"));
        let marked = self.define(format_args!("arith.cmpi ne, {all}, {zeros} : {VECTOR}"));
        self.define(format_args!("llvm.bitcast {marked} : vector<64xi1> to i64"))
    }

    /// The same of fewer places, whose elements are set to 0.
    fn bits_one_by_one(&mut self, marks: &Marks, base: &Ssa, left: &Ssa) -> Result<Ssa> {
        let (buffer, source) = (&marks.buffer, memref(marks.element));
        let (first, one, none) =
            (self.index_constant(0), self.index_constant(1), self.number(0.0, marks.element));
        let (bits, before, at, nothing) = (self.fresh(), self.fresh(), self.fresh(), self.wide(0));
        line!(
            self,
            "{bits} = scf.for {at} = {first} to {left} step {one} iter_args({before} = {nothing}) -> (i64) {{"
        );
        self.block(|writer| {
            let place = writer.define(format_args!("arith.addi {base}, {at} : index"));
            let mark = writer.define(format_args!("memref.load {buffer}[{place}] : {source}"));
            line!(writer, "memref.store {none}, {buffer}[{place}] : {source}");
            let marked = writer.define(format_args!("arith.cmpi ne, {mark}, {none} : i8"));
            let bit = writer.define(format_args!("arith.extui {marked} : i1 to i64"));
            let by = writer.define(format_args!("arith.index_cast {at} : index to i64"));
            let bit = writer.define(format_args!("arith.shli {bit}, {by} : i64"));
            let after = writer.define(format_args!("arith.ori {before}, {bit} : i64"));
            line!(writer, "scf.yield {after} : i64");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(bits)
    }

    /// Executes the body for each bit that is set, after the elements are set to 0 at once, where they have not been
    /// (`full`, if that is not known here).
    fn marked(
        &mut self,
        inner: &Scan,
        marks: &Marks,
        base: &Ssa,
        bits: &Ssa,
        full: Option<&Ssa>,
    ) -> Result<()> {
        let (buffer, source, zeros) = (&marks.buffer, memref(marks.element), self.zeros());
        let (none, one) = (self.wide(0), self.wide(1));
        let some = self.define(format_args!("arith.cmpi ne, {bits}, {none} : i64"));
        let store = format!("vector.store {zeros}, {buffer}[{base}] : {source}, {VECTOR}");
        line!(self, "scf.if {some} {{");
        self.block(|writer| {
            match full {
                None => line!(writer, "{store}"),
                Some(full) => {
                    line!(writer, "scf.if {full} {{");
                    line!(writer, "  {store}");
                    line!(writer, "}}");
                }
            }
            let (last, before, now) = (writer.fresh(), writer.fresh(), writer.fresh());
            line!(writer, "{last} = scf.while ({before} = {bits}) : (i64) -> i64 {{");
            writer.block(|writer| {
                let more = writer.define(format_args!("arith.cmpi ne, {before}, {none} : i64"));
                line!(writer, "scf.condition({more}) {before} : i64");
                Ok(())
            })?;
            line!(writer, "}} do {{");
            line!(writer, "^bb0({now}: i64):");
            writer.block(|writer| {
                let at = writer.define(format_args!(
                    "\"llvm.intr.cttz\"({now}) <{{is_zero_poison = true}}> : (i64) -> i64"
                ));
                let at = writer.define(format_args!("arith.index_cast {at} : i64 to index"));
                let place = writer.define(format_args!("arith.addi {base}, {at} : index"));
                writer.bind_all(&[inner.var], &[place]);
                writer.stmts(&inner.body)?;
                writer.vars.remove(&inner.var);
                let less = writer.define(format_args!("arith.subi {now}, {one} : i64"));
                let next = writer.define(format_args!("arith.andi {now}, {less} : i64"));
                line!(writer, "scf.yield {next} : i64");
                Ok(())
            })?;
            line!(writer, "}}");
            Ok(())
        })?;
        line!(self, "}}");
        Ok(())
    }
}
