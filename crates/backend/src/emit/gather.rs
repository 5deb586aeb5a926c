//! Sums over stored elements in lanes, where the target loads elements at any places into lanes.
//!
//! Rows of a sparse matrix have few entries, and each another number: a loop over what is left of whole vectors ends where the processor does not expect it. So what is left,
//! from one entry to a whole vector, is computed under a mask, without asking.
//!
//! Before -> after, `sum(p = a to b) v[p] * x[crd[p]]` with 8 lanes:
//! `if b - a <= 8 { reduce(masked(..)) } else { s = for p = a to a + (b - a - 1) / 8 * 8 step 8 { s += v[p..p + 8] * gather(x, crd[p..p + 8]) }  reduce(s + masked(..)) }`.
//! Rows of at most a vector have code of their own, which waits for no loop.

use super::convert::is_stored_as_integer;
use super::lanes::{Lanes, associate, results};
use super::{Ssa, Variable, Writer, line, memref};
use crate::Result;
use dastac_loops::unroll::Instance;
use dastac_loops::{Element, Index, Sum, Value, lanes};

/// The terms of a sum at each instance.
#[derive(Clone, Copy)]
struct Terms<'a> {
    sum: &'a Sum,
    body: &'a Value,
    instances: &'a [Instance],
    element: Element,
    count: usize,
}

impl Writer<'_, '_> {
    /// How many lanes a sum's terms are gathered in, if they can be.
    pub(super) fn lanes_to_gather(&self, sum: &Sum, element: Element) -> Option<usize> {
        let can = self.unit.gathers && !self.checked && self.lanes.is_none();
        let count = self.unit.vector_bytes / element.bytes();
        (can && count > 1 && lanes::of_stored_terms(sum)).then_some(count)
    }

    /// The total of a sum at each instance; the bounds are the same at all of them.
    pub(super) fn sums_gathered(
        &mut self,
        sum: &Sum,
        (lower, upper): (Ssa, Ssa),
        instances: &[Instance],
        (element, count): (Element, usize),
    ) -> Result<Vec<Ssa>> {
        let ty = self.type_of(element, false);
        let [nothing, whole] = [0, count as i64].map(|value| self.index_constant(value));
        let length = self.define(format_args!("arith.subi {upper}, {lower} : index"));
        let short = self.define(format_args!("arith.cmpi sle, {length}, {whole} : index"));
        let result = self.fresh();
        let types = vec![ty; instances.len()].join(", ");
        let arity = match instances.len() {
            1 => String::new(),
            several => format!(":{several}"),
        };
        line!(self, "{result}{arity} = scf.if {short} -> ({types}) {{");
        let outer = self.lanes.replace(Lanes { var: sum.var, count, mask: None });
        let none = vec![self.all(sum.kind.neutral(), element); instances.len()];
        let body = associate(&sum.body, instances);
        let terms = Terms { sum, body: &body, instances, element, count };
        self.block(|writer| {
            let rest = writer.define(format_args!("arith.maxsi {length}, {nothing} : index"));
            writer.rest_gathered(&terms, (lower.clone(), rest), None)
        })?;
        line!(self, "}} else {{");
        self.block(|writer| {
            let (one, mask) = (writer.index_constant(1), writer.index_constant(-(count as i64)));
            let before = writer.define(format_args!("arith.subi {length}, {one} : index"));
            let before = writer.define(format_args!("arith.andi {before}, {mask} : index"));
            let last = writer.define(format_args!("arith.addi {lower}, {before} : index"));
            let rest = writer.define(format_args!("arith.subi {length}, {before} : index"));
            let (range, ty) = ((&lower, &last, count as i64), writer.type_of(element, true));
            let partial = writer.carry(sum.var, range, (&none, &ty), |writer, _, partial| {
                writer.accumulate((sum.kind, &body), instances, partial, element)
            })?;
            writer.rest_gathered(&terms, (last, rest), Some(&partial))
        })?;
        line!(self, "}}");
        self.lanes = outer;
        Ok(results(&result, instances.len()))
    }

    /// Yields the totals of so many terms from a place on, and of what is known.
    fn rest_gathered(
        &mut self,
        terms: &Terms<'_>,
        (place, rest): (Ssa, Ssa),
        known: Option<&[Ssa]>,
    ) -> Result<()> {
        let Terms { sum, body, instances, element, count } = *terms;
        let mask = self.first_lanes(&rest, count);
        let outer = self.lanes.replace(Lanes { var: sum.var, count, mask: Some(mask) });
        self.vars.insert(sum.var, Variable { name: place, affine: false });
        let vectors = match known {
            Some(known) => self.accumulate((sum.kind, body), instances, known, element)?,
            None => self.first_terms((sum.kind, body), instances, element)?,
        };
        self.vars.remove(&sum.var);
        let totals = self.lanes_joined(sum.kind, vectors, element, count);
        self.lanes = outer;
        let list: Vec<String> = totals.iter().map(Ssa::to_string).collect();
        let types = vec![self.type_of(element, false); totals.len()].join(", ");
        line!(self, "scf.yield {} : {types}", list.join(", "));
        Ok(())
    }

    /// A mask of the first `many` lanes, at most all of `count`: the bits of a number, which takes less of what gathers are short of than comparing lanes.
    fn first_lanes(&mut self, many: &Ssa, count: usize) -> Ssa {
        let bits = format!("i{count}");
        let many = self.define(format_args!("arith.index_cast {many} : index to i32"));
        let one = self.constant("1 : i32".into(), "bit".into());
        let beyond = self.define(format_args!("arith.shli {one}, {many} : i32"));
        let within = self.define(format_args!("arith.subi {beyond}, {one} : i32"));
        let within = self.define(format_args!("arith.trunci {within} : i32 to {bits}"));
        let within =
            self.define(format_args!("vector.broadcast {within} : {bits} to vector<1x{bits}>"));
        let ty = self.mask_type();
        self.define(format_args!("vector.bitcast {within} : vector<1x{bits}> to {ty}"))
    }

    /// An element for each lane, at places that are elements of other buffers.
    pub(super) fn gathered(
        &mut self,
        (buffer, from): (&Ssa, Element),
        index: &Index,
        lanes: &Lanes,
    ) -> Result<Ssa> {
        let places = self.places(index, lanes)?;
        let (ty, bits, source) = (self.type_of(from, true), self.mask_type(), memref(from));
        let mask = match &lanes.mask {
            Some(mask) => mask.clone(),
            None => self.constant(format!("dense<true> : {bits}"), format!("all{}", lanes.count)),
        };
        let (first, none) = (self.index_constant(0), self.no_elements(from));
        let integers = format!("vector<{}xindex>", lanes.count);
        Ok(self.define(format_args!(
            "vector.gather {buffer}[{first}] [{places}], {mask}, {none} : {source}, {integers}, {bits}, {ty} into {ty}"
        )))
    }

    /// An integer for each lane.
    fn places(&mut self, index: &Index, lanes: &Lanes) -> Result<Ssa> {
        let ty = format!("vector<{}xindex>", lanes.count);
        if !index.mentions(lanes.var) {
            let one = self.index(index)?;
            return Ok(self.define(format_args!("vector.broadcast {one} : index to {ty}")));
        }
        let (operation, left, right) = match index {
            Index::Add(left, right) => ("arith.addi", left, right),
            Index::Sub(left, right) => ("arith.subi", left, right),
            Index::Mul(left, right) => ("arith.muli", left, right),
            Index::Load(id, at) => {
                let (buffer, from) = self.buffer(*id)?;
                let loaded = self.neighbours((&buffer, from), (at, false), lanes)?;
                let cast = if from.is_signed() { "index_cast" } else { "index_castui" };
                let own = self.type_of(from, true);
                return Ok(self.define(format_args!("arith.{cast} {loaded} : {own} to {ty}")));
            }
            _ => return Err(self.invalid(format_args!("places are not computed in lanes"))),
        };
        let (left, right) = (self.places(left, lanes)?, self.places(right, lanes)?);
        Ok(self.define(format_args!("{operation} {left}, {right} overflow<nsw> : {ty}")))
    }

    /// What stands in lanes that are not there.
    pub(super) fn no_elements(&mut self, element: Element) -> Ssa {
        if !is_stored_as_integer(element) {
            return self.all(0.0, element);
        }
        let ty = self.type_of(element, true);
        let count = self.lanes.as_ref().map_or(1, |lanes| lanes.count);
        self.constant(format!("dense<0> : {ty}"), format!("none{count}_{}", element.bytes()))
    }
}
