//! Texts and errors between LLVM and Rust.

use std::ffi::{CStr, CString, c_char};

use llvm_sys::core::*;
use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};

use dastac_target::TargetError;

use crate::Result;

/// Copies and frees a C string of LLVM's.
///
/// # Safety
/// `message` is null or a C string owned by the caller and allocated by LLVM.
pub(super) unsafe fn take_message(message: *mut c_char) -> String {
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
pub(super) fn failed(stage: &'static str, message: String) -> TargetError {
    TargetError::Generator { tool: "LLVM", stage, message }
}

/// A C string; the inputs are generated names and never hold a zero byte.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}
