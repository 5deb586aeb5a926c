//! LLVM: from MLIR's LLVM dialect to optimised code.
//!
//! [`Spec`] says for which processor, [`TargetMachine`] is LLVM's generator for it, [`Code`] a module on its way.

mod code;
mod host;
mod kernels;
mod machine;
mod message;
mod pipeline;
mod spec;

pub(crate) use code::Code;
pub use host::llvm_version;
pub(crate) use host::{default_triple, host_cpu, initialize};
pub(crate) use kernels::KernelEntry;
pub(crate) use machine::TargetMachine;
pub(crate) use spec::Spec;
