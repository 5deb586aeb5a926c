//! What LLVM knows of this computer, and its version.

use std::ffi::CStr;
use std::ptr::null;
use std::sync::{Once, OnceLock};

use llvm_sys::support::LLVMParseCommandLineOptions;
use llvm_sys::target::*;
use llvm_sys::target_machine::*;

use super::message::take_message;

/// What LLVM does otherwise than it would by itself, for all modules of this process. There is no other way to say it.
///
/// Loop strength reduction takes more than half of the time of code generation in functions with many loops, and code
/// is as fast without it, or faster: the subscripts of loops are simple already, and their addresses fit the modes that
/// x86 has.
const OPTIONS: [&CStr; 2] = [c"dastac", c"-disable-lsr"];

/// Makes the native target known to LLVM, and that of cores inside of memory; cheap when repeated.
pub(crate) fn initialize() {
    static ONCE: Once = Once::new();
    // SAFETY: initialisation has no preconditions, and options are strings that live as long as the process, the first
    // one a name; `Once` keeps it from running at the same time on two threads.
    ONCE.call_once(|| unsafe {
        let options = OPTIONS.map(CStr::as_ptr);
        LLVMParseCommandLineOptions(OPTIONS.len() as i32, options.as_ptr(), null());
        LLVMInitializeRISCVTargetInfo();
        LLVMInitializeRISCVTarget();
        LLVMInitializeRISCVTargetMC();
        LLVMInitializeRISCVAsmPrinter();
        LLVMInitializeRISCVAsmParser();
        #[cfg(target_arch = "x86_64")]
        {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
            LLVMInitializeX86AsmPrinter();
            LLVMInitializeX86AsmParser();
        }
        // NVIDIA's devices, whatever the host is.
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
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
