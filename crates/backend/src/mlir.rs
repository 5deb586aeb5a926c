//! MLIR text down to the LLVM dialect.
//!
//! A context is used by one thread at a time and kept for the next compilation: making one costs more than
//! lowering a small kernel. Only the dialects and passes that the pipeline needs are registered.

use crate::emit::Emitted;
use crate::{Error, Result};
use melior::Context;
use melior::StringRef;
use melior::diagnostic::{Diagnostic, DiagnosticHandlerId, DiagnosticSeverity};
use melior::dialect::DialectHandle;
use melior::dialect::DialectRegistry;
use melior::ir::{Attribute, AttributeLike, Module};
use melior::pass::PassManager;
use melior::utility::{parse_pass_pipeline, register_all_llvm_translations};
use mlir_sys::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{Mutex, Once, PoisonError};

/// Loops as MLIR knows them best, down to `scf`. (Not `affine-loop-invariant-code-motion`: it moves a loop
/// out of the one whose variable its bounds mention.)
const STRUCTURED: &str =
    "canonicalize,cse,lower-affine,canonicalize,cse,loop-invariant-code-motion";

/// Parallel loops to OpenMP's work sharing.
const OPENMP: &str = "convert-scf-to-openmp,canonicalize";

/// What is left, to the LLVM dialect. OpenMP must come after functions: before them, the option for bare
/// pointers is lost.
const LLVM: &str = "convert-scf-to-cf,finalize-memref-to-llvm{use-aligned-alloc=1},convert-vector-to-llvm,convert-arith-to-llvm,\
                    convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},convert-cf-to-llvm";

/// The end of the pipeline, with and without OpenMP.
const FINISH_OPENMP: &str = "convert-openmp-to-llvm,reconcile-unrealized-casts,canonicalize,cse";
const FINISH: &str = "reconcile-unrealized-casts,canonicalize,cse";

/// Contexts not in use.
static POOL: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// A context that nothing refers to.
struct Idle(Context);

// SAFETY: a context has no ties to the thread that made it (multithreading inside is off, diagnostic handlers
// are detached), and an idle one is owned by the pool alone.
unsafe impl Send for Idle {}

/// A context in use by this thread; it collects diagnostics.
pub(crate) struct Session {
    context: Option<Context>,
    handler: Option<DiagnosticHandlerId>,
    diagnostics: Rc<RefCell<Vec<String>>>,
}

impl Session {
    pub fn new() -> Session {
        let idle = POOL.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let context = idle.map_or_else(create, |idle| idle.0);
        let diagnostics = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&diagnostics);
        let handler = context.attach_diagnostic_handler(move |diagnostic| {
            if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
                sink.borrow_mut().push(text_of(&diagnostic));
            }
            true
        });
        Session { context: Some(context), handler: Some(handler), diagnostics }
    }

    fn context(&self) -> &Context {
        self.context.as_ref().expect("a session holds its context until it is dropped")
    }

    fn error(&self, stage: &'static str) -> Error {
        Error::Mlir { stage, diagnostics: self.diagnostics.take() }
    }

    /// Parses and verifies.
    pub fn parse(&self, emitted: &Emitted) -> Result<Module<'_>> {
        // Parsing verifies: a module that comes back obeys all invariants of its dialects.
        Module::parse(self.context(), &emitted.text).ok_or_else(|| self.error("read the module"))
    }

    /// Lowers to the LLVM dialect, in place.
    pub fn lower(&self, module: &mut Module<'_>, emitted: &Emitted) -> Result<()> {
        if !emitted.threads {
            return self.run(module, &format!("{STRUCTURED},{LLVM},{FINISH}"));
        }
        self.run(module, &format!("{STRUCTURED},{OPENMP}"))?;
        self.schedule(module, &emitted.uneven)?;
        self.run(module, &format!("{LLVM},{FINISH_OPENMP}"))
    }

    fn run(&self, module: &mut Module<'_>, pipeline: &str) -> Result<()> {
        let manager = PassManager::new(self.context());
        // A pass that breaks the module must end in an error: the translation to LLVM trusts its input.
        manager.enable_verifier(true);
        let pipeline = format!("builtin.module({pipeline})");
        parse_pass_pipeline(manager.as_operation_pass_manager(), &pipeline).map_err(|error| {
            Error::Mlir { stage: "set up the pipeline", diagnostics: vec![error.to_string()] }
        })?;
        manager.run(module).map_err(|_| self.error("lower the module"))
    }

    /// Loops whose iterations differ in work are shared out in shrinking pieces; the others keep OpenMP's
    /// equal shares.
    fn schedule(&self, module: &Module<'_>, uneven: &BTreeSet<String>) -> Result<()> {
        let guided = Attribute::parse(self.context(), "#omp<schedulekind guided>")
            .ok_or_else(|| self.error("choose a schedule"))?;
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
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(context) = self.context.take() {
            if let Some(handler) = self.handler.take() {
                context.detach_diagnostic_handler(handler);
            }
            POOL.lock().unwrap_or_else(PoisonError::into_inner).push(Idle(context));
        }
    }
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

/// A diagnostic with its notes, on one line.
fn text_of(diagnostic: &Diagnostic<'_>) -> String {
    let mut text = diagnostic.to_string();
    for at in 0..diagnostic.note_count() {
        if let Ok(note) = diagnostic.note(at) {
            text.push_str(&format!(" (note: {note})"));
        }
    }
    text
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
        mlirRegisterConversionConvertSCFToOpenMPPass();
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
