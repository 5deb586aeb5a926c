//! MLIR text down to the LLVM dialect.
//!
//! A [`Session`] has a context for one thread at a time. Only the dialects and passes that the pipeline needs are
//! registered.

mod context;

use std::cell::RefCell;
use std::rc::Rc;

use dastac_target::TargetError;
use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticHandlerId, DiagnosticSeverity};
use melior::ir::Module;
use melior::ir::operation::OperationLike;
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;

use crate::Result;
use crate::emit::{Emitted, IndexWidth};

/// Loops as MLIR knows them best, down to `scf`. (Not `affine-loop-invariant-code-motion`: it moves a loop
/// out of the one whose variable its bounds mention. Nor `canonicalize`, here or at the end: it takes more time than
/// all other passes together, and LLVM does again what it does.)
const STRUCTURED: &str = "cse,lower-affine,cse,loop-invariant-code-motion";

/// What is left, to the LLVM dialect; memory is asked for aligned where the system can (devices cannot). OpenMP must
/// come after functions: before them, the option for bare pointers is lost.
fn to_llvm(width: IndexWidth, aligned: bool) -> String {
    let (bits, aligned) = (width.bits(), u8::from(aligned));
    format!(
        "convert-scf-to-cf,finalize-memref-to-llvm{{use-aligned-alloc={aligned} index-bitwidth={bits}}},\
         convert-vector-to-llvm,convert-arith-to-llvm{{index-bitwidth={bits}}},\
         convert-func-to-llvm{{use-bare-ptr-memref-call-conv=1 index-bitwidth={bits}}},\
         convert-cf-to-llvm{{index-bitwidth={bits}}}"
    )
}

/// The end of the pipeline, with and without OpenMP.
const FINISH_OPENMP: &str = "convert-openmp-to-llvm,reconcile-unrealized-casts";
const FINISH: &str = "reconcile-unrealized-casts";

/// MLIR did not do what it was asked to.
fn failed(stage: &'static str, message: String) -> TargetError {
    TargetError::Generator { tool: "MLIR", stage, message }
}

/// A context in use by this thread; it collects diagnostics.
pub(crate) struct Session {
    context: Option<Context>,
    handler: Option<DiagnosticHandlerId>,
    diagnostics: Rc<RefCell<Vec<String>>>,
}

impl Session {
    pub fn new() -> Session {
        let context = context::take();
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

    fn error(&self, stage: &'static str) -> TargetError {
        failed(stage, self.diagnostics.take().join("; "))
    }

    /// Parses and verifies.
    pub fn parse(&self, emitted: &Emitted) -> Result<Module<'_>> {
        // Parsing verifies: a module that comes back obeys all invariants of its dialects.
        Module::parse(self.context(), &emitted.text).ok_or_else(|| self.error("read the module"))
    }

    /// Lowers to the LLVM dialect, in place.
    pub fn lower(&self, module: &mut Module<'_>, emitted: &Emitted) -> Result<()> {
        let finish = if emitted.threads { FINISH_OPENMP } else { FINISH };
        self.run(module, &format!("{STRUCTURED},{},{finish}", to_llvm(emitted.width, true)))
    }

    /// Lowers kernels of a device to the LLVM dialect, in place.
    pub fn lower_for_device(&self, module: &mut Module<'_>) -> Result<()> {
        let llvm = to_llvm(IndexWidth::Bits64, false);
        self.run(module, &format!("{STRUCTURED},{llvm},{FINISH}"))
    }

    fn run(&self, module: &mut Module<'_>, pipeline: &str) -> Result<()> {
        let manager = PassManager::new(self.context());
        // After each pass where defects are looked for; else once, at the end.
        manager.enable_verifier(cfg!(debug_assertions));
        let pipeline = format!("builtin.module({pipeline})");
        parse_pass_pipeline(manager.as_operation_pass_manager(), &pipeline)
            .map_err(|error| failed("set up the pipeline", error.to_string()))?;
        manager.run(module).map_err(|_| self.error("lower the module"))?;
        // A pass that breaks the module must end in an error: the translation to LLVM trusts its input.
        match module.as_operation().verify() {
            true => Ok(()),
            false => Err(self.error("verify the lowered module")),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(context) = self.context.take() {
            if let Some(handler) = self.handler.take() {
                context.detach_diagnostic_handler(handler);
            }
            context::give_back(context);
        }
    }
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
