//! MLIR's contexts, which are kept for the next compilation: making one costs more than lowering a small kernel.

use std::sync::{Mutex, Once, PoisonError};

use melior::Context;
use melior::dialect::{DialectHandle, DialectRegistry};
use melior::utility::register_all_llvm_translations;
use mlir_sys::*;

/// Contexts not in use.
static POOL: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// A context that nothing refers to.
struct Idle(Context);

// SAFETY: a context has no ties to the thread that made it (multithreading inside is off, diagnostic handlers
// are detached), and an idle one is owned by the pool alone.
unsafe impl Send for Idle {}

/// A context for this thread alone.
pub fn take() -> Context {
    let idle = POOL.lock().unwrap_or_else(PoisonError::into_inner).pop();
    idle.map_or_else(create, |idle| idle.0)
}

/// Keeps a context that nothing refers to.
pub fn give_back(context: Context) {
    POOL.lock().unwrap_or_else(PoisonError::into_inner).push(Idle(context));
}

fn create() -> Context {
    static PASSES: Once = Once::new();
    // SAFETY: registration has no preconditions but must not run twice or at the same time, which `Once`
    // excludes.
    PASSES.call_once(|| unsafe {
        mlirRegisterTransformsCanonicalizer();
        mlirRegisterTransformsCSE();
        mlirRegisterTransformsLoopInvariantCodeMotion();
        mlirRegisterConversionLowerAffinePass();
        mlirRegisterConversionSCFToControlFlowPass();
        mlirRegisterConversionFinalizeMemRefToLLVMConversionPass();
        mlirRegisterConversionConvertVectorToLLVMPass();
        mlirRegisterConversionArithToLLVMConversionPass();
        mlirRegisterConversionConvertFuncToLLVMPass();
        mlirRegisterConversionConvertControlFlowToLLVMPass();
        mlirRegisterConversionConvertOpenMPToLLVMPass();
        mlirRegisterConversionReconcileUnrealizedCastsPass();
    });
    let registry = DialectRegistry::new();
    // SAFETY: the getters of dialect handles have no preconditions and return handles of static lifetime.
    let (cf, omp, vector) = unsafe {
        (
            DialectHandle::from_raw(mlirGetDialectHandle__cf__()),
            DialectHandle::from_raw(mlirGetDialectHandle__omp__()),
            DialectHandle::from_raw(mlirGetDialectHandle__vector__()),
        )
    };
    for handle in [
        DialectHandle::affine(),
        DialectHandle::arith(),
        DialectHandle::func(),
        DialectHandle::llvm(),
        DialectHandle::memref(),
        DialectHandle::scf(),
        cf,
        omp,
        vector,
    ] {
        handle.insert_dialect(&registry);
    }
    let context = Context::new_with_registry(&registry, false);
    register_all_llvm_translations(&context);
    context
}
