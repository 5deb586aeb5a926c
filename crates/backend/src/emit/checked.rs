//! Indices that are asserted to lie within a buffer.
//!
//! Before -> after, `load b[within(i, b, size)]`:
//! `%out = arith.cmpi uge, %i, %size; scf.if %out { llvm.call @kernel__outside0(%i, %size) }; %x = memref.load %b[%i]`.
//!
//! The called function writes one line to standard error (with `dprintf`, which needs no lock) and ends the process
//! with `abort`. It does not return, so no access outside of a buffer ever happens; an error return is not possible
//! from inside of OpenMP's threads.

use std::fmt::Write;

use super::writer::{Ssa, Unit, Writer, line};
use crate::Result;
use dastac_loops::{BufferId, Within};

/// Declarations that a checked module needs.
pub(super) const DECLARATIONS: &str =
    "  llvm.func @dprintf(i32, !llvm.ptr, ...) -> i32\n  llvm.func @abort()\n";

impl Writer<'_, '_> {
    /// An index that is asserted to lie within a buffer.
    pub(super) fn within(&mut self, within: &Within) -> Result<Ssa> {
        let (index, size) = (self.index(&within.index)?, self.index(&within.size)?);
        // A negative index is a large one without its sign.
        let outside = self.define(format_args!("arith.cmpi uge, {index}, {size} : index"));
        line!(self, "scf.if {outside} {{");
        let place = self.define(format_args!("arith.index_cast {index} : index to i64"));
        let size = self.define(format_args!("arith.index_cast {size} : index to i64"));
        let name = self.outside(within.buffer);
        line!(self, "llvm.call @{name}({place}, {size}) : (i64, i64) -> ()");
        line!(self, "}}");
        Ok(index)
    }

    /// The function that reports an access outside of a buffer; written when it is first needed.
    fn outside(&mut self, id: BufferId) -> String {
        let name = format!("{}__outside{}", self.name, id.0);
        if !self.unit.reports.insert(name.clone()) {
            return name;
        }
        // Names are letters, digits, `_` and `.`: nothing that a format or MLIR's strings would read.
        let buffer = &self.module.buffers[id.0 as usize].name;
        let reported =
            self.function.checked.and_then(|id| self.module.functions.get(id.0 as usize));
        let function = reported.map_or(&self.function.name, |reported| &reported.name);
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
