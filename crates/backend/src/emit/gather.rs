//! Sums over stored elements in lanes, where the target loads elements at any places into lanes.
//!
//! Rows of a sparse matrix have few entries, and each another number: a loop over what is left of whole vectors ends where the processor does not expect it. So what is left,
//! from one entry to a whole vector, is computed under a mask, without asking.
//!
//! Before -> after, `sum(p = a to b) v[p] * x[crd[p]]` with 8 lanes:
//! `s = for p = a to a + (b - a - 1) / 8 * 8 step 8 { s += v[p..p + 8] * gather(x, crd[p..p + 8]) }  s += masked(..)  reduce(s)`.

use super::lanes::Lanes;
use super::{Ssa, Variable, Writer, memref};
use crate::Result;
use dastac_loops::unroll::Instance;
use dastac_loops::{Element, Index, Sum, lanes};

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
        let outer = self.lanes.replace(Lanes { var: sum.var, count, mask: None });
        let (ty, width) = (self.type_of(element, true), count as i64);
        let [one, whole] = [1, -width].map(|value| self.index_constant(value));
        let length = self.define(format_args!("arith.subi {upper}, {lower} : index"));
        let before = self.define(format_args!("arith.maxsi {length}, {one} : index"));
        let before = self.define(format_args!("arith.subi {before}, {one} : index"));
        let before = self.define(format_args!("arith.andi {before}, {whole} : index"));
        let last = self.define(format_args!("arith.addi {lower}, {before} : index"));
        let nothing = vec![self.all(sum.kind.neutral(), element); instances.len()];
        let (body, range) = (super::lanes::associate(&sum.body, instances), (&lower, &last, width));
        let term = (sum.kind, &body);
        let partial = self.carry(sum.var, range, (&nothing, &ty), |writer, _, partial| {
            writer.accumulate(term, instances, partial, element)
        })?;
        let rest = self.define(format_args!("arith.subi {length}, {before} : index"));
        let mask = self.define(format_args!("vector.create_mask {rest} : {}", self.mask_type()));
        self.lanes = Some(Lanes { var: sum.var, count, mask: Some(mask) });
        self.vars.insert(sum.var, Variable { name: last, affine: false });
        let vectors = self.accumulate(term, instances, &partial, element)?;
        self.vars.remove(&sum.var);
        let totals = self.lanes_joined(sum.kind, vectors, element, count);
        self.lanes = outer;
        Ok(totals)
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
                let cast = if from == Element::U32 { "index_castui" } else { "index_cast" };
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
        if !element.is_integer() {
            return self.all(0.0, element);
        }
        let ty = self.type_of(element, true);
        let count = self.lanes.as_ref().map_or(1, |lanes| lanes.count);
        self.constant(format!("dense<0> : {ty}"), format!("none{count}_{}", element.bytes()))
    }
}
