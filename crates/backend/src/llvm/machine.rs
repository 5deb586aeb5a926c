//! LLVM's code generators.

use std::ptr::null_mut;

use llvm_sys::target_machine::*;

use super::host::initialize;
use super::message::{c_string, failed, take_message};
use super::spec::Spec;
use crate::Result;

/// A code generator for one processor.
pub(crate) struct TargetMachine {
    pub(super) raw: LLVMTargetMachineRef,
    pub(super) spec: Spec,
}

impl TargetMachine {
    pub fn new(spec: Spec, level: u8) -> Result<TargetMachine> {
        initialize();
        let stage = "choose the target";
        let triple = c_string(&spec.triple);
        let (mut found, mut message) = (null_mut(), null_mut());
        // SAFETY: the strings outlive the calls; `found` is read only after success.
        let raw = unsafe {
            if LLVMGetTargetFromTriple(triple.as_ptr(), &mut found, &mut message) != 0 {
                return Err(failed(stage, take_message(message)));
            }
            LLVMCreateTargetMachine(
                found,
                triple.as_ptr(),
                c_string(&spec.cpu).as_ptr(),
                c_string(&spec.features).as_ptr(),
                match level {
                    0 => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
                    1 => LLVMCodeGenOptLevel::LLVMCodeGenLevelLess,
                    2 => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
                    _ => LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
                },
                match spec.embedded {
                    true => LLVMRelocMode::LLVMRelocStatic,
                    false => LLVMRelocMode::LLVMRelocPIC,
                },
                LLVMCodeModel::LLVMCodeModelDefault,
            )
        };
        if raw.is_null() {
            let message = format!("no code generator for {} on {}", spec.cpu, spec.triple);
            return Err(failed(stage, message));
        }
        Ok(TargetMachine { raw, spec })
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: created in `new`, disposed of once.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}
