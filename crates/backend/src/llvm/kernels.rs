//! Kernels of a device in LLVM IR: their calling convention, the lanes of their blocks, libraries of device code.

use std::path::Path;
use std::ptr::null_mut;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::core::*;
use llvm_sys::linker::LLVMLinkModules2;
use melior::ir::Module;

use super::code::Code;
use super::machine::TargetMachine;
use super::message::{c_string, failed, take_message};
use crate::Result;

/// LLVM's number of the calling convention of kernels (`ptx_kernel`).
const KERNEL: u32 = 71;

/// A function that a host starts on a device.
pub(crate) struct KernelEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// Lanes of a block.
    pub lanes: u32,
    /// Blocks that are to be on a multiprocessor at the same time: where the code generator of the device may choose,
    /// it takes fewer registers than it needs and keeps values in memory.
    pub blocks: u32,
}

impl Code {
    /// Translates kernels in the LLVM dialect; all other functions become internal.
    pub fn kernels(
        module: &Module<'_>,
        entries: &[KernelEntry<'_>],
        machine: &TargetMachine,
    ) -> Result<Code> {
        let code = Code::read(module, machine)?;
        code.internalize(entries.iter().map(|entry| entry.name));
        for entry in entries {
            code.kernel(entry);
        }
        code.verify()?;
        Ok(code)
    }

    fn kernel(&self, entry: &KernelEntry<'_>) {
        let [lanes, blocks] = [entry.lanes, entry.blocks].map(|number| number.to_string());
        let pairs = [("nvvm.maxntid", lanes), ("nvvm.minctasm", blocks)];
        // SAFETY: the module is alive; lengths are those of the strings, which LLVM copies.
        unsafe {
            let function = LLVMGetNamedFunction(self.module, c_string(entry.name).as_ptr());
            if function.is_null() {
                return;
            }
            LLVMSetFunctionCallConv(function, KERNEL);
            for (key, value) in pairs {
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
    }

    /// Links a library of device code in the form of bitcode, of which only what is called is kept.
    pub fn add_library(&self, path: &Path) -> Result<()> {
        let stage = "link libdevice";
        let path = c_string(&path.to_string_lossy());
        let entries: Vec<String> = self.definitions().into_iter().map(name_of).collect();
        let (mut buffer, mut library, mut message) = (null_mut(), null_mut(), null_mut());
        // SAFETY: the context is alive; the buffer is read after success only, and the parser does not keep it;
        // linking consumes the library, whose context is that of the module.
        unsafe {
            if LLVMCreateMemoryBufferWithContentsOfFile(path.as_ptr(), &mut buffer, &mut message)
                != 0
            {
                return Err(failed(stage, take_message(message)));
            }
            let broken = LLVMParseBitcodeInContext2(self.context, buffer, &mut library);
            LLVMDisposeMemoryBuffer(buffer);
            if broken != 0 {
                return Err(failed(stage, "the file holds no bitcode".to_owned()));
            }
            LLVMSetTarget(library, LLVMGetTarget(self.module));
            LLVMSetDataLayout(library, LLVMGetDataLayoutStr(self.module));
            if LLVMLinkModules2(self.module, library) != 0 {
                return Err(failed(stage, "the library does not fit".to_owned()));
            }
        }
        // What the library brought is internal; what was internal before stays so.
        self.internalize(entries.iter().map(String::as_str));
        self.verify()
    }
}

/// The name of a function.
fn name_of(function: llvm_sys::prelude::LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: the function is alive, and so is its name, which is copied.
    unsafe {
        let name = LLVMGetValueName2(function, &mut length);
        String::from_utf8_lossy(std::slice::from_raw_parts(name.cast::<u8>(), length)).into_owned()
    }
}
