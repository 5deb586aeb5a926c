//! Products of small matrices that the lanes of a warp compute together, by tensor cores.
//!
//! Before -> after: `multiply H[t of 256] += L[0] 2 by 1, 36 * R[0] 1 by 1, 36 in 4` -> each lane loads an element of
//! both factors for each fragment, `%t8 = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k4.row.col.f64"(..)`, and adds to
//! what it holds.

use super::names::memref;
use super::writer::{Ssa, Writer, line};
use crate::Result;
use dastac_loops::{Element, FRAGMENT, Factor, Index, Multiply};

/// The generation of devices whose tensor cores take larger fragments of 64-bit floats.
const LARGER: u32 = 90;

impl Writer<'_, '_> {
    pub(super) fn multiply(&mut self, inner: &Multiply) -> Result<()> {
        let element = self.buffer(inner.held)?.1;
        if self.unit.lanes != Some(inner.lanes) || element != Element::F64 {
            return Err(self.invalid(format_args!("there are no tensor cores for a product")));
        }
        let larger = self.unit.generation >= LARGER;
        // Where terms are two places apart (modulo 4), a lane has two neighbouring terms of every 8: these are in
        // different banks, and so are those that lanes write which copy terms next to each other.
        let apart = [&inner.left, &inner.right].iter().all(|factor| factor.term % 4 == 2);
        let own = if apart && inner.terms % 8 == 0 { 2 } else { 1 };
        let (row, term) = (inner.row(), inner.lane.clone().modulo(4) * own);
        let [left, right] = [&inner.left, &inner.right].map(|factor| {
            let own = row.clone() * factor.own + term.clone() * factor.term;
            factor.at.clone() + own
        });
        let (left, right) = (self.index(&left)?, self.index(&right)?);
        let mut done = 0;
        while done < inner.terms {
            let terms = match inner.terms - done {
                16.. if larger => 16,
                8.. if larger => 8,
                _ => 4,
            };
            let steps: Vec<i64> = (done / 4..(done + terms) / 4)
                .map(|step| step / own * 4 * own + step % own)
                .collect();
            let mut columns = Vec::new();
            for c in 0..inner.right.count {
                columns.push(self.fragment(&inner.right, &right, c, &steps)?);
            }
            let mut r = 0;
            while r < inner.left.count {
                let rows = if larger && r + 1 < inner.left.count { 2 } else { 1 };
                let mut parts = Vec::new();
                for part in 0..rows {
                    parts.push(self.fragment(&inner.left, &left, r + part, &steps)?);
                }
                for (c, column) in columns.iter().enumerate() {
                    let numbers = (r..r + rows)
                        .flat_map(|r| [0, 1].map(|e| 2 * (inner.right.count * r + c as i64) + e));
                    let numbers: Vec<i64> = numbers.collect();
                    if rows == 2 {
                        // Both rows of a term, then the next term.
                        let rows =
                            (0..steps.len()).flat_map(|at| parts.iter().map(move |p| &p[at]));
                        self.product(inner, terms, rows.collect(), column, &numbers)?;
                    } else {
                        for (row, column) in parts[0].iter().zip(column) {
                            let column = std::slice::from_ref(column);
                            self.product(inner, 4, vec![row], column, &numbers)?;
                        }
                    }
                }
                r += rows;
            }
            done += terms;
        }
        Ok(())
    }

    /// What a lane loads of a fragment, for each step, of 4 terms.
    fn fragment(
        &mut self,
        factor: &Factor,
        base: &Ssa,
        number: i64,
        steps: &[i64],
    ) -> Result<Vec<Ssa>> {
        let (buffer, element) = self.buffer(factor.buffer)?;
        let mut all = Vec::new();
        for step in steps {
            let by = self.index_constant(FRAGMENT * number * factor.own + step * factor.term);
            let at = self.define(format_args!("arith.addi {base}, {by} : index"));
            all.push(self.define(format_args!("memref.load {buffer}[{at}] : {}", memref(element))));
        }
        Ok(all)
    }

    /// One instruction: fragments of 8 rows or 16, whose products are added to elements that the lane holds.
    fn product(
        &mut self,
        inner: &Multiply,
        terms: i64,
        left: Vec<&Ssa>,
        right: &[Ssa],
        numbers: &[i64],
    ) -> Result<()> {
        let (held, element) = self.buffer(inner.held)?;
        let ty = memref(element);
        let mut sums = Vec::new();
        for number in numbers {
            let at = self.place(inner.held, &Index::Const(number * inner.lanes))?;
            let sum = self.define(format_args!("memref.load {held}[{at}] : {ty}"));
            sums.push((at, sum));
        }
        let rows = 4 * numbers.len();
        let operands: Vec<String> = left
            .into_iter()
            .chain(right)
            .chain(sums.iter().map(|(_, sum)| sum))
            .map(ToString::to_string)
            .collect();
        let types = vec!["f64"; operands.len()].join(", ");
        let results = vec!["f64"; numbers.len()].join(", ");
        let all = self.define(format_args!(
            "llvm.call_intrinsic \"llvm.nvvm.mma.m{rows}n8k{terms}.row.col.f64\"({}) : ({types}) -> \
             !llvm.struct<({results})>",
            operands.join(", ")
        ));
        for (number, (at, _)) in sums.iter().enumerate() {
            let one = self.define(format_args!(
                "llvm.extractvalue {all}[{number}] : !llvm.struct<({results})>"
            ));
            line!(self, "memref.store {one}, {held}[{at}] : {ty}");
        }
        Ok(())
    }
}
