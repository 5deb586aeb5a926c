//! How OpenMP shares out the iterations of a loop.

use std::collections::BTreeSet;
use std::ffi::c_void;

use melior::ir::{Attribute, AttributeLike, Module};
use melior::{Context, StringRef};
use mlir_sys::*;

/// Loops whose iterations differ in work are shared out in shrinking pieces; the others keep OpenMP's
/// equal shares.
pub fn schedule(context: &Context, module: &Module<'_>, uneven: &BTreeSet<String>) -> Option<()> {
    let guided = Attribute::parse(context, "#omp<schedulekind guided>")?;
    let mut visitor = Visitor { uneven, guided: guided.to_raw(), in_loop: None };
    // SAFETY: the operation is alive, the callback matches the type of its data, and the walk only sets
    // attributes.
    unsafe {
        mlirOperationWalk(
            module.as_operation().to_raw(),
            Some(visit_loops),
            (&raw mut visitor).cast(),
            MlirWalkOrder_MlirWalkPreOrder,
        );
    }
    Some(())
}

struct Visitor<'a> {
    uneven: &'a BTreeSet<String>,
    guided: MlirAttribute,
    /// The work-sharing loop being walked: in pre-order, a loop comes before the call inside it.
    in_loop: Option<MlirOperation>,
}

unsafe extern "C" fn visit_loops(operation: MlirOperation, data: *mut c_void) -> MlirWalkResult {
    // SAFETY: `data` is the visitor that `schedule` borrows for the walk; `operation` and what is asked of it
    // are alive, and MLIR's strings are ASCII names that live as long as the operation.
    unsafe {
        let visitor = &mut *data.cast::<Visitor>();
        let name = mlirIdentifierStr(mlirOperationGetName(operation));
        match StringRef::from_raw(name).as_str() {
            Ok("omp.wsloop") => visitor.in_loop = Some(operation),
            Ok("func.call") => {
                let callee = StringRef::new("callee");
                let callee = mlirOperationGetAttributeByName(operation, callee.to_raw());
                let callee = StringRef::from_raw(mlirFlatSymbolRefAttrGetValue(callee));
                let uneven = callee.as_str().is_ok_and(|callee| visitor.uneven.contains(callee));
                if let Some(outer) = visitor.in_loop.take().filter(|_| uneven) {
                    let kind = StringRef::new("schedule_kind");
                    mlirOperationSetAttributeByName(outer, kind.to_raw(), visitor.guided);
                }
            }
            _ => {}
        }
    }
    MlirWalkResult_MlirWalkResultAdvance
}
