//! Checked code: every access asserts that its index lies within the buffer's size.
//!
//! Before -> after, `%x = memref.load %b[%i]`:
//! `%out = arith.cmpi uge, %i, %size; scf.if %out { llvm.call @kernel__outside0(%i, %size) }; %x = memref.load %b[%i]`.
//!
//! The called function writes one line to standard error (with `dprintf`, which needs no lock) and ends the process
//! with `abort`. It does not return, so no access outside of a buffer ever happens; an error return is not possible
//! from inside of OpenMP's threads. Arithmetic promises nothing about overflow then: what wraps around is caught as an
//! index like any other.

use std::fmt::Write;

use super::{Ssa, Unit, Writer, line};
use crate::Result;
use dastac_loops::BufferId;

/// Declarations that a checked module needs.
pub(super) const DECLARATIONS: &str =
    "  llvm.func @dprintf(i32, !llvm.ptr, ...) -> i32\n  llvm.func @abort()\n";

impl Writer<'_, '_> {
    /// Computes the size of each buffer of a checked function, at its entry.
    pub(super) fn sizes(&mut self) -> Result<()> {
        if !self.checked {
            return Ok(());
        }
        let buffers: Vec<BufferId> = self.buffers.keys().copied().collect();
        for id in buffers {
            let module = self.module;
            // Those of workspaces are known where they are made.
            if !self.sizes.contains_key(&id) {
                let size = self.index(&module.buffers[id.0 as usize].size)?;
                self.sizes.insert(id, size);
            }
        }
        Ok(())
    }

    /// Asserts that an index lies within a buffer.
    pub(super) fn check(&mut self, id: BufferId, index: &Ssa) {
        let Some(size) = self.sizes.get(&id).cloned() else { return };
        // A negative index is a large one without its sign.
        let outside = self.define(format_args!("arith.cmpi uge, {index}, {size} : index"));
        line!(self, "scf.if {outside} {{");
        let index = self.define(format_args!("arith.index_cast {index} : index to i64"));
        let size = self.define(format_args!("arith.index_cast {size} : index to i64"));
        let name = self.outside(id);
        line!(self, "llvm.call @{name}({index}, {size}) : (i64, i64) -> ()");
        line!(self, "}}");
    }

    /// The function that reports an access outside of a buffer; written when it is first needed.
    fn outside(&mut self, id: BufferId) -> String {
        let name = format!("{}__outside{}", self.name, id.0);
        if !self.unit.reports.insert(name.clone()) {
            return name;
        }
        // Names are letters, digits, `_` and `.`: nothing that a format or MLIR's strings would read.
        let buffer = &self.module.buffers[id.0 as usize].name;
        let function = self.owner;
        let text = format!(
            "dastac: `{function}` accesses index %ld of buffer `{buffer}`, which has %ld elements"
        );
        report(self.unit, &name, &text, &["index", "size"]);
        name
    }
}

/// A function that writes one line with these integers and ends the process.
pub(super) fn report(unit: &mut Unit, name: &str, text: &str, integers: &[&str]) {
    unit.reports_any = true;
    let length = text.len() + 2;
    let parameters: Vec<String> = integers.iter().map(|one| format!("%{one}: i64")).collect();
    let values: String = integers.iter().map(|one| format!(", %{one}")).collect();
    let (parameters, types) = (parameters.join(", "), ", i64".repeat(integers.len()));
    let _ = write!(
        unit.functions,
        "  llvm.mlir.global internal constant @{name}_text(\"{text}\\0A\\00\") : !llvm.array<{length} x i8>
  llvm.func @{name}({parameters}) attributes {{passthrough = [\"noinline\", \"cold\", \"noreturn\"]}} {{
    %stderr = llvm.mlir.constant(2 : i32) : i32
    %text = llvm.mlir.addressof @{name}_text : !llvm.ptr
    %written = llvm.call @dprintf(%stderr, %text{values}) vararg(!llvm.func<i32 (i32, ptr, ...)>) : (i32, !llvm.ptr{types}) -> i32
    llvm.call @abort() : () -> ()
    llvm.unreachable
  }}
"
    );
}
