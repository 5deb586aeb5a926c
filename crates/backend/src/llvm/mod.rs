//! LLVM: from MLIR's LLVM dialect to optimised code.
//!
//! [`Spec`] says for which processor, [`TargetMachine`] is LLVM's generator for it, [`Code`] a module on its way.

mod code;
mod machine;
mod spec;

use std::ffi::{CStr, CString, c_char};
use std::sync::{Once, OnceLock};

use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use llvm_sys::target::*;
use llvm_sys::target_machine::*;

use dastac_target::TargetError;

use crate::Result;

pub(crate) use code::Code;
pub(crate) use machine::TargetMachine;
pub(crate) use spec::Spec;

/// Makes the native target known to LLVM; cheap when repeated.
pub(crate) fn initialize() {
    static ONCE: Once = Once::new();
    // SAFETY: initialisation has no preconditions; `Once` keeps it from running at the same time on two
    // threads.
    ONCE.call_once(|| unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
            LLVMInitializeX86AsmPrinter();
            LLVMInitializeX86AsmParser();
        }
        #[cfg(target_arch = "aarch64")]
        {
            LLVMInitializeAArch64TargetInfo();
            LLVMInitializeAArch64Target();
            LLVMInitializeAArch64TargetMC();
            LLVMInitializeAArch64AsmPrinter();
            LLVMInitializeAArch64AsmParser();
        }
    });
}

/// The host's target triple.
pub(crate) fn default_triple() -> String {
    // SAFETY: LLVM returns an owned C string.
    unsafe { take_message(LLVMGetDefaultTargetTriple()) }
}

/// LLVM's version, such as `22.1.8`.
pub fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the pointers are valid for one number each.
    unsafe { llvm_sys::core::LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    format!("{major}.{minor}.{patch}")
}

/// The host's CPU name and its features, each as `+name` or `-name`, with commas between.
pub(crate) fn host_cpu() -> (String, String) {
    static HOST: OnceLock<(String, String)> = OnceLock::new();
    // SAFETY: LLVM returns owned C strings.
    HOST.get_or_init(|| unsafe {
        (take_message(LLVMGetHostCPUName()), take_message(LLVMGetHostCPUFeatures()))
    })
    .clone()
}

/// Copies and frees a C string of LLVM's.
///
/// # Safety
/// `message` is null or a C string owned by the caller and allocated by LLVM.
unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: not null, so a C string that is the caller's to dispose of.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}

/// Turns LLVM's error into a result.
///
/// # Safety
/// `error` is null or an error owned by the caller.
pub(crate) unsafe fn check(error: LLVMErrorRef, stage: &'static str) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: taking the message consumes the error; the message is disposed of by its own function.
    let message = unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        text
    };
    Err(failed(stage, message))
}

/// LLVM did not do what it was asked to.
fn failed(stage: &'static str, message: String) -> TargetError {
    TargetError::Generator { tool: "LLVM", stage, message }
}

/// A C string; the inputs are generated names and never hold a zero byte.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}
