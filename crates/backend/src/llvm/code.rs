//! An LLVM module on its way: translation, entries, attributes, optimisation, code.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::*;
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMDiagnosticSeverity, LLVMLinkage};
use melior::ir::Module;

use super::machine::TargetMachine;
use super::message::{c_string, check, failed, take_message};
use super::pipeline::pipeline;
use super::spec::Spec;
use crate::Result;

/// An LLVM module in a context of its own.
pub(crate) struct Code {
    pub(super) module: LLVMModuleRef,
    pub(super) context: LLVMContextRef,
    // Boxed, since LLVM keeps its address.
    diagnostics: Box<RefCell<Vec<String>>>,
}

extern "C" fn collect(info: LLVMDiagnosticInfoRef, data: *mut c_void) {
    // SAFETY: `data` is the boxed list of the `Code` that owns the context; LLVM calls this from within calls
    // that `Code` makes.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError {
            let text = take_message(LLVMGetDiagInfoDescription(info));
            (*data.cast::<RefCell<Vec<String>>>()).borrow_mut().push(text);
        }
    }
}

/// Instructions and operands of a function that is long.
const LONG: usize = 2000;

impl Code {
    /// Translates a module in the LLVM dialect; `exported` functions get a packed entry, all others become
    /// internal.
    pub fn translate(
        module: &Module<'_>,
        exported: &[(String, usize)],
        machine: &TargetMachine,
    ) -> Result<Code> {
        let code = Code::read(module, machine)?;
        code.drop_stack_scopes();
        code.internalize(exported.iter().map(|(name, _)| name.as_str()));
        for (name, buffers) in exported {
            code.packed_entry(name, *buffers);
        }
        code.long_lists_of_calls();
        if machine.spec.embedded {
            code.convention();
        }
        code.attributes(&machine.spec);
        code.verify()?;
        Ok(code)
    }

    /// Translates a module in the LLVM dialect, as it is.
    pub(super) fn read(module: &Module<'_>, machine: &TargetMachine) -> Result<Code> {
        let stage = "translate the module";
        // SAFETY: plain creation.
        let context = unsafe { LLVMContextCreate() };
        let mut code = Code { module: null_mut(), context, diagnostics: Box::default() };
        // SAFETY: the context is alive; the list outlives it, since `drop` disposes of the context first. The
        // MLIR module is alive, its LLVM types are opaque structs of the same C interface in both crates.
        unsafe {
            let sink = std::ptr::from_ref(&*code.diagnostics).cast_mut();
            LLVMContextSetDiagnosticHandler(context, Some(collect), sink.cast());
            let translated = mlir_sys::mlirTranslateModuleToLLVMIR(
                module.as_operation().to_raw(),
                context.cast(),
            );
            if translated.is_null() {
                let message = code.diagnostics.take().join("; ");
                return Err(failed(stage, message));
            }
            code.module = translated.cast();
            let triple = c_string(&machine.spec.triple);
            LLVMSetTarget(code.module, triple.as_ptr());
            let layout = LLVMCreateTargetDataLayout(machine.raw);
            LLVMSetModuleDataLayout(code.module, layout);
            LLVMDisposeTargetData(layout);
        }
        Ok(code)
    }

    /// The functions with a body.
    pub(super) fn definitions(&self) -> Vec<LLVMValueRef> {
        let mut list = Vec::new();
        // SAFETY: the module is alive and not changed during the walk.
        unsafe {
            let mut function = LLVMGetFirstFunction(self.module);
            while !function.is_null() {
                if LLVMCountBasicBlocks(function) > 0 {
                    list.push(function);
                }
                function = LLVMGetNextFunction(function);
            }
        }
        list
    }

    /// Erases the saves and restores of the stack pointer that MLIR puts around the body of each parallel
    /// loop: kernels allocate nothing on the stack, and the calls would stand between loops and their
    /// optimisation.
    fn drop_stack_scopes(&self) {
        // Restores first: they use what saves return.
        for name in [c"llvm.stackrestore.p0", c"llvm.stacksave.p0"] {
            // SAFETY: the module is alive; each user of an intrinsic is a call, and a call is erased only
            // when nothing uses it. Each step takes the first use that is left.
            unsafe {
                let intrinsic = LLVMGetNamedFunction(self.module, name.as_ptr());
                while !intrinsic.is_null() {
                    let used = LLVMGetFirstUse(intrinsic);
                    if used.is_null() {
                        break;
                    }
                    let call = LLVMGetUser(used);
                    if !LLVMGetFirstUse(call).is_null() {
                        break;
                    }
                    LLVMInstructionEraseFromParent(call);
                }
            }
        }
    }

    pub(super) fn internalize<'a>(&self, exported: impl Iterator<Item = &'a str> + Clone) {
        for function in self.definitions() {
            let mut length = 0;
            // SAFETY: the function is alive, and so is its name, which is not changed here.
            unsafe {
                let name = LLVMGetValueName2(function, &mut length);
                let name = std::slice::from_raw_parts(name.cast::<u8>(), length);
                if !exported.clone().any(|known| known.as_bytes() == name) {
                    LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
                }
            }
        }
    }

    /// `void f__packed(const int64_t *params, void *const *buffers)`, which calls `f`.
    fn packed_entry(&self, name: &str, buffers: usize) {
        let empty = c"".as_ptr();
        // SAFETY: all values belong to the live context and module; `f` takes one pointer and then one for
        // each buffer, as `emit` wrote it.
        unsafe {
            let callee = LLVMGetNamedFunction(self.module, c_string(name).as_ptr());
            let pointer = LLVMPointerTypeInContext(self.context, 0);
            let void = LLVMVoidTypeInContext(self.context);
            let ty = LLVMFunctionType(void, [pointer, pointer].as_mut_ptr(), 2, 0);
            let packed = c_string(&format!("{name}__packed"));
            let entry = LLVMAddFunction(self.module, packed.as_ptr(), ty);
            let block = LLVMAppendBasicBlockInContext(self.context, entry, empty);
            let builder = LLVMCreateBuilderInContext(self.context);
            LLVMPositionBuilderAtEnd(builder, block);
            let mut arguments = vec![LLVMGetParam(entry, 0)];
            for at in 0..buffers {
                let at = LLVMConstInt(LLVMInt64TypeInContext(self.context), at as u64, 0);
                let list = LLVMGetParam(entry, 1);
                let slot = LLVMBuildGEP2(builder, pointer, list, [at].as_mut_ptr(), 1, empty);
                arguments.push(LLVMBuildLoad2(builder, pointer, slot, empty));
            }
            let ty = LLVMGlobalGetValueType(callee);
            let count = arguments.len() as u32;
            let call = LLVMBuildCall2(builder, ty, callee, arguments.as_mut_ptr(), count, empty);
            LLVMSetTailCall(call, 1);
            // A second copy of the kernel would only cost compile time.
            self.attribute(c"noinline", |attribute| {
                LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, attribute);
            });
            LLVMBuildRetVoid(builder);
            LLVMDisposeBuilder(builder);
        }
    }

    fn attribute(&self, name: &CStr, add: impl FnOnce(LLVMAttributeRef)) {
        // SAFETY: the name's length is right; the context is alive.
        add(unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr(), name.count_bytes());
            LLVMCreateEnumAttribute(self.context, kind, 0)
        });
    }

    /// A function of nothing but calls (of shared loop nests) with thousands of arguments is translated as it stands:
    /// there is nothing to gain in it, and LLVM's schedulers take time that grows with the square of its length.
    fn long_lists_of_calls(&self) {
        for function in self.definitions() {
            // SAFETY: the function is alive and not changed during the walk.
            let straight = unsafe {
                let mut count = 0;
                let mut instruction = LLVMGetFirstInstruction(LLVMGetFirstBasicBlock(function));
                while !instruction.is_null() && count <= LONG {
                    count += 1 + usize::try_from(LLVMGetNumOperands(instruction)).unwrap_or(0);
                    instruction = LLVMGetNextInstruction(instruction);
                }
                LLVMCountBasicBlocks(function) == 1 && count > LONG
            };
            for name in [c"optnone", c"noinline"].into_iter().filter(|_| straight) {
                self.attribute(name, |attribute| {
                    // SAFETY: function and attribute belong to the live context.
                    unsafe {
                        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
                    }
                });
            }
        }
    }

    /// Floats are passed in float registers.
    fn convention(&self) {
        let (key, value) = ("target-abi", "ilp32f");
        // SAFETY: the lengths are those of the strings, which LLVM copies; the context and the module are alive.
        unsafe {
            let value = LLVMMDStringInContext2(self.context, value.as_ptr().cast(), value.len());
            let behaviour = llvm_sys::LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorError;
            LLVMAddModuleFlag(self.module, behaviour, key.as_ptr().cast(), key.len(), value);
        }
    }

    /// Tells every function, those outlined by OpenMP included, what CPU it is for.
    fn attributes(&self, spec: &Spec) {
        // Scattered stores take longer than the same stores one by one.
        let x86 = cfg!(target_arch = "x86_64") && !spec.embedded;
        let mut features = spec.features.clone();
        if x86 {
            let comma = if features.is_empty() { "" } else { "," };
            features = format!("{features}{comma}+prefer-no-scatter");
        }
        let mut pairs =
            vec![("target-cpu", spec.cpu.as_str()), ("target-features", features.as_str())];
        if x86 {
            // LLVM's tuning for most CPUs with AVX-512 splits 64-byte vectors in two, at a loss of more than
            // half of the speed of dense kernels. Without AVX-512 this has no effect.
            pairs.push(("prefer-vector-width", "512"));
        }
        for function in self.definitions() {
            for (key, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
                // SAFETY: the lengths are those of the strings, which LLVM copies.
                unsafe {
                    let attribute = LLVMCreateStringAttribute(
                        self.context,
                        key.as_ptr().cast(),
                        key.len() as u32,
                        value.as_ptr().cast(),
                        value.len() as u32,
                    );
                    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
                }
            }
            // SAFETY: the function and the attribute belong to the same context.
            self.attribute(c"nounwind", |attribute| unsafe {
                LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
            });
        }
    }

    /// LLVM trusts its input: broken IR would end the process.
    pub(super) fn verify(&self) -> Result<()> {
        let mut message = null_mut();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        // SAFETY: the module is alive; the message is ours in both cases.
        let (broken, message) = unsafe {
            let broken = LLVMVerifyModule(self.module, action, &mut message);
            (broken != 0, take_message(message))
        };
        if broken { Err(failed("verify the module", message)) } else { Ok(()) }
    }

    /// How many instructions the functions of the module have.
    fn instructions(&self) -> usize {
        let mut count = 0;
        for function in self.definitions() {
            // SAFETY: the function is alive and not changed during the walk; each block and instruction is the
            // successor of one of the same function.
            unsafe {
                let mut block = LLVMGetFirstBasicBlock(function);
                while !block.is_null() {
                    let mut instruction = LLVMGetFirstInstruction(block);
                    while !instruction.is_null() {
                        count += 1;
                        instruction = LLVMGetNextInstruction(instruction);
                    }
                    block = LLVMGetNextBasicBlock(block);
                }
            }
        }
        count
    }

    pub fn optimise(&self, machine: &TargetMachine, level: u8) -> Result<()> {
        // Other machines' loops come without tiles for registers: these have all passes.
        let instructions = if machine.spec.is_host_like() { self.instructions() } else { 0 };
        let pipeline = c_string(&pipeline(level, instructions));
        // SAFETY: module and machine are alive; the options are disposed of once.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
            LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
            LLVMPassBuilderOptionsSetLoopInterleaving(options, 1);
            LLVMPassBuilderOptionsSetLoopUnrolling(options, i32::from(!machine.spec.embedded));
            let error = LLVMRunPasses(self.module, pipeline.as_ptr(), machine.raw, options);
            LLVMDisposePassBuilderOptions(options);
            check(error, "optimise the module")
        }
    }

    /// Object code, or assembly text.
    pub fn generate(&self, machine: &TargetMachine, kind: LLVMCodeGenFileType) -> Result<Vec<u8>> {
        let (mut message, mut buffer) = (null_mut(), null_mut());
        // SAFETY: module and machine are alive; the buffer is read only after success and disposed of once.
        unsafe {
            let broken = LLVMTargetMachineEmitToMemoryBuffer(
                machine.raw,
                self.module,
                kind,
                &mut message,
                &mut buffer,
            );
            if broken != 0 {
                let message = take_message(message);
                return Err(failed("generate code", message));
            }
            let start = LLVMGetBufferStart(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            match self.diagnostics.take().as_slice() {
                [] => Ok(bytes),
                list => Err(failed("generate code", list.join("; "))),
            }
        }
    }

    pub fn text(&self) -> String {
        // SAFETY: the module is alive; LLVM returns an owned C string.
        unsafe { take_message(LLVMPrintModuleToString(self.module)) }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: both are owned by this; the module goes before its context, both before the list of
        // diagnostics.
        unsafe {
            if !self.module.is_null() {
                LLVMDisposeModule(self.module);
            }
            LLVMContextSetDiagnosticHandler(self.context, None, null::<c_void>().cast_mut());
            LLVMContextDispose(self.context);
        }
    }
}
