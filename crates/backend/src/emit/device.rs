//! Kernels: loops over the blocks and lanes of a grid, memory that a block's lanes share.
//!
//! Before -> after: `parallel(blocks) b = 0 to n { body }` -> `%b = ctaid  body`;
//! `parallel(lanes) t = 0 to 256 { body }` -> `%t = tid  body  barrier`, with `if %t < m { body }` where blocks have
//! more lanes than the loop has iterations. The barrier is left out where the loop is all that a block does, and is one
//! of warps where no lane reads what lanes of other warps wrote (`warps`).
//! `with S of 256 { body }`, `S` in shared memory -> a global variable in address space 3.

use super::names::{memref, name_of};
use super::warps::iterations;
use super::writer::{Ssa, Writer, line};
use crate::Result;
use dastac_loops::{BufferId, Element, Fetch, For, Function, Index, Mark, ParallelLevel, Stmt};
use dastac_target::launch::GRID_ROW;
use std::fmt::Write;

/// The identifier of a block in its row of the grid, of this row, and of a lane in its block.
const BLOCK: &str = "llvm.nvvm.read.ptx.sreg.ctaid.x";
const ROW: &str = "llvm.nvvm.read.ptx.sreg.ctaid.y";
const LANE: &str = "llvm.nvvm.read.ptx.sreg.tid.x";
/// All lanes of a block wait here for each other.
const BARRIER: &str = "llvm.nvvm.barrier.cta.sync.aligned.all";
/// All lanes of a warp wait here for each other.
const WARP_BARRIER: &str = "llvm.nvvm.bar.warp.sync";
/// Copies an element from the device's memory to that of a block.
const FETCH: &str = "llvm.nvvm.cp.async.ca.shared.global";
/// The copies that a lane began are a group.
const FETCH_GROUP: &str = "llvm.nvvm.cp.async.commit.group";
/// Waits for all groups of a lane but so many.
const FETCH_WAIT: &str = "llvm.nvvm.cp.async.wait.group";
/// Address space of the device's memory.
const GLOBAL: u32 = 1;
/// Address space of memory that is shared in a block.
const SHARED: u32 = 3;

/// Whether all that a block does is one loop over lanes.
fn is_simple(function: &Function) -> bool {
    let [Stmt::For(blocks)] = &function.body[..] else { return false };
    matches!(&blocks.body[..], [Stmt::For(inner)] if iterations(inner).is_some())
}

impl Writer<'_, '_> {
    /// A loop over blocks or lanes.
    pub(super) fn on_grid(&mut self, inner: &For) -> Result<()> {
        match inner.mark {
            Mark::Parallel(ParallelLevel::Blocks) => {
                let [block, row] = [BLOCK, ROW].map(|register| self.number_of(register));
                let length = self.index_constant(GRID_ROW);
                let first = self.define(format_args!("arith.muli {row}, {length} : index"));
                let block = self.define(format_args!("arith.addi {first}, {block} : index"));
                let lower = self.extremum(&inner.lower, "arith.maxsi")?;
                let upper = self.extremum(&inner.upper, "arith.minsi")?;
                let step = self.index_constant(inner.step);
                let from = self.define(format_args!("arith.muli {block}, {step} : index"));
                let value = self.define(format_args!("arith.addi {lower}, {from} : index"));
                self.bind_all(&[inner.var], std::slice::from_ref(&value));
                // Of several rows, the last one may have blocks that nobody asked for.
                let some = self.define(format_args!("arith.cmpi slt, {value}, {upper} : index"));
                line!(self, "scf.if {some} {{");
                self.block(|writer| writer.stmts(&inner.body))?;
                line!(self, "}}");
            }
            Mark::Parallel(ParallelLevel::Lanes) => self.on_lanes(inner)?,
            _ => return Err(self.invalid(format_args!("a loop of a kernel is on threads"))),
        }
        self.vars.remove(&inner.var);
        Ok(())
    }

    fn on_lanes(&mut self, inner: &For) -> Result<()> {
        let Some(count) = iterations(inner) else {
            return Err(self.invalid(format_args!("a loop over lanes has no constant length")));
        };
        let mut lane = self.number_of(LANE);
        if let Some(lanes) = self.unit.lanes.filter(|lanes| lanes.count_ones() == 1) {
            // What is known of its bits tells which part of a memory of lanes is its own.
            let mask = self.index_constant(lanes - 1);
            lane = self.define(format_args!("arith.andi {lane}, {mask} : index"));
        }
        let lower = self.extremum(&inner.lower, "arith.maxsi")?;
        let value = self.define(format_args!("arith.addi {lower}, {lane} : index"));
        self.bind_all(&[inner.var], &[value]);
        self.in_lane = true;
        let before = self.next;
        if self.unit.lanes == Some(count) {
            self.stmts(&inner.body)?;
        } else {
            let count = self.index_constant(count);
            let some = self.define(format_args!("arith.cmpi ult, {lane}, {count} : index"));
            line!(self, "scf.if {some} {{");
            self.block(|writer| writer.stmts(&inner.body))?;
            line!(self, "}}");
        }
        self.in_lane = false;
        self.inside.add(self.next - before);
        if !is_simple(self.function) {
            let (barrier, number) = match self.alone.contains(&inner.var) {
                true => (WARP_BARRIER, ("-1 : i32", "warp")),
                false => (BARRIER, ("0 : i32", "barrier0")),
            };
            let number = self.constant(number.0.to_owned(), number.1.to_owned());
            line!(self, "llvm.call_intrinsic \"{barrier}\"({number}) : (i32) -> ()");
        }
        Ok(())
    }

    fn number_of(&mut self, register: &str) -> Ssa {
        let number = self.define(format_args!("llvm.call_intrinsic \"{register}\"() : () -> i32"));
        self.define(format_args!("arith.index_castui {number} : i32 to index"))
    }

    /// A loop that is executed at most once, because a bound is one more than another, as a condition. Gives whether it
    /// is one.
    pub(super) fn once(&mut self, inner: &For) -> Result<bool> {
        let begins = inner.lower.iter().find(|lower| {
            inner.upper.iter().any(|upper| upper.constant_difference(lower) == Some(1))
        });
        let Some(first) = begins else { return Ok(false) };
        let value = self.index(first)?;
        let mut holds: Option<Ssa> = None;
        let lower = inner.lower.iter().map(|bound| (bound, "sle"));
        let upper = inner.upper.iter().map(|bound| (bound, "sgt"));
        for (bound, how) in lower.chain(upper) {
            let known = if how == "sle" { 0 } else { 1 };
            if bound.constant_difference(first) == Some(known) {
                continue;
            }
            let bound = self.index(bound)?;
            let one = self.define(format_args!("arith.cmpi {how}, {bound}, {value} : index"));
            holds = Some(match holds {
                None => one,
                Some(others) => self.define(format_args!("arith.andi {others}, {one} : i1")),
            });
        }
        self.bind_all(&[inner.var], &[value]);
        match holds {
            None => self.stmts(&inner.body)?,
            Some(holds) => {
                line!(self, "scf.if {holds} {{");
                self.block(|writer| writer.stmts(&inner.body))?;
                line!(self, "}}");
            }
        }
        self.vars.remove(&inner.var);
        Ok(true)
    }

    /// Memory that the lanes of a block share.
    pub(super) fn shared(&mut self, element: Element, count: i64) -> Ssa {
        let [memory, plain, all] = [(); 3].map(|()| self.fresh());
        let (name, huge) = (format!("{}__shared{}", self.name, self.next), self.unit.width.huge());
        let (ty, own) = (memref(element), format!("memref<{count}x{}", name_of(element)));
        let _ = writeln!(
            self.unit.functions,
            "  memref.global \"private\" @{name} : {own}, {SHARED}> = uninitialized {{alignment = 16 : i64}}"
        );
        let _ = write!(
            self.entry,
            "    {memory} = memref.get_global @{name} : {own}, {SHARED}>
    {plain} = memref.memory_space_cast {memory} : {own}, {SHARED}> to {own}>
    {all} = memref.reinterpret_cast {plain} to offset: [0], sizes: [{huge}], strides: [1] : {own}> to {ty}
"
        );
        all
    }

    /// Memory of all lanes that lasts beyond barriers, of which each keeps its own part: of places `n * r + t`, with
    /// `n` lanes, those with its number `t`, as element `r`.
    pub(super) fn of_each_lane(
        &mut self,
        buffer: BufferId,
        element: Element,
        count: i64,
    ) -> Result<Ssa> {
        let lanes = self.unit.lanes.unwrap_or(1);
        if count % lanes != 0 {
            return Err(self.invalid(format_args!("lanes have unequal parts of a memory")));
        }
        self.of_lanes.insert(buffer);
        self.held += count / lanes * element.bytes() as i64;
        Ok(self.on_the_stack(element, count / lanes))
    }

    /// An element that is copied to shared memory while the lane goes on.
    pub(super) fn fetch(&mut self, fetch: &Fetch) -> Result<()> {
        let (element, to) = self.address((fetch.buffer, &fetch.at), SHARED)?;
        let (_, from) = self.address((fetch.from, &fetch.source), GLOBAL)?;
        let bytes = element.bytes();
        line!(
            self,
            "llvm.call_intrinsic \"{FETCH}.{bytes}\"({to}, {from}) : (!llvm.ptr<{SHARED}>, !llvm.ptr<{GLOBAL}>) -> ()"
        );
        Ok(())
    }

    /// What was fetched is a group; waits for all groups but the last ones.
    pub(super) fn arrive(&mut self, left: i64) -> Result<()> {
        line!(self, "llvm.call_intrinsic \"{FETCH_GROUP}\"() : () -> ()");
        let left = self.constant(format!("{left} : i32"), format!("groups{left}"));
        line!(self, "llvm.call_intrinsic \"{FETCH_WAIT}\"({left}) : (i32) -> ()");
        Ok(())
    }

    /// The address of an element in an address space.
    fn address(&mut self, (id, at): (BufferId, &Index), space: u32) -> Result<(Element, Ssa)> {
        let (buffer, element) = self.buffer(id)?;
        let at = self.index(at)?;
        let (ty, own) = (memref(element), format!("!llvm.ptr<{space}>"));
        let base = self.define(format_args!(
            "memref.extract_aligned_pointer_as_index {buffer} : {ty} -> index"
        ));
        let base = self.define(format_args!("arith.index_cast {base} : index to i64"));
        let base = self.define(format_args!("llvm.inttoptr {base} : i64 to !llvm.ptr"));
        let base = self.define(format_args!("llvm.addrspacecast {base} : !llvm.ptr to {own}"));
        let at = self.define(format_args!("arith.index_cast {at} : index to i64"));
        let address = self.define(format_args!(
            "llvm.getelementptr {base}[{at}] : ({own}, i64) -> {own}, {}",
            name_of(element)
        ));
        Ok((element, address))
    }

    /// The place of an element of a buffer, in memory as the lane sees it.
    pub(super) fn place(&mut self, buffer: BufferId, index: &Index) -> Result<Ssa> {
        let place = self.index(index)?;
        match self.unit.lanes {
            Some(lanes) if self.of_lanes.contains(&buffer) => self.floor_div(&place, lanes),
            _ => Ok(place),
        }
    }

    /// Memory that a lane asks the device for; where there is none, the kernel ends in an error.
    pub(super) fn allocated_by_lane(&mut self, element: Element, size: &Ssa) -> Ssa {
        let (ty, name) = (memref(element), name_of(element));
        let dynamic = format!("memref<?x{name}>");
        let function = match self.unit.allocates.get(name) {
            Some(function) => function.clone(),
            None => {
                let function = format!("{}__workspace_{name}", self.name);
                // Not aligned beyond what the device does: what is given back must be what was got.
                let _ = write!(
                    self.unit.functions,
                    "  func.func private @{function}(%size: index) -> {ty} {{
    %memory = memref.alloc(%size) : {dynamic}
    %address = memref.extract_aligned_pointer_as_index %memory : {dynamic} -> index
    %null = arith.constant 0 : index
    %none = arith.cmpi eq, %address, %null : index
    scf.if %none {{
      \"llvm.intr.trap\"() : () -> ()
    }}
    %workspace = memref.cast %memory : {dynamic} to {ty}
    return %workspace : {ty}
  }}
"
                );
                self.unit.allocates.insert(name, function.clone());
                function
            }
        };
        // No memory at all is memory of one element: the device answers a request for nothing with no address.
        let one = self.index_constant(1);
        let some = self.define(format_args!("arith.maxsi {size}, {one} : index"));
        self.define(format_args!("func.call @{function}({some}) : (index) -> {ty}"))
    }
}
