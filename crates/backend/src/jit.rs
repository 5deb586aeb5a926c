//! Compiled code in this process.

use crate::compile::Compiled;
use crate::llvm::{c_string, check, initialize};
use crate::{Error, Result, openmp};
use dastac_loops::{Buffer, Element, Function, Mode, Module};
use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::error::LLVMConsumeError;
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The packed entry of a function.
pub(crate) type Entry = unsafe extern "C" fn(*const i64, *const *mut c_void);

/// One buffer of a call.
#[derive(Debug)]
pub enum BufferArg<'a> {
    /// Numbers, read and written.
    F64(&'a mut [f64]),
    /// Numbers, only read.
    F64In(&'a [f64]),
    /// Single-precision numbers, read and written.
    F32(&'a mut [f32]),
    /// Single-precision numbers, only read.
    F32In(&'a [f32]),
    /// Integers, read and written.
    I64(&'a mut [i64]),
    /// Integers, only read.
    I64In(&'a [i64]),
    /// 32-bit integers, read and written.
    I32(&'a mut [i32]),
    /// 32-bit integers, only read.
    I32In(&'a [i32]),
    /// Truth values, read and written.
    Bool(&'a mut [bool]),
    /// Truth values, only read.
    BoolIn(&'a [bool]),
    /// Unsigned 32-bit integers, read and written.
    U32(&'a mut [u32]),
    /// Unsigned 32-bit integers, only read.
    U32In(&'a [u32]),
}

impl BufferArg<'_> {
    fn element(&self) -> Element {
        match self {
            BufferArg::F64(_) | BufferArg::F64In(_) => Element::F64,
            BufferArg::F32(_) | BufferArg::F32In(_) => Element::F32,
            BufferArg::I64(_) | BufferArg::I64In(_) => Element::I64,
            BufferArg::U32(_) | BufferArg::U32In(_) => Element::U32,
            BufferArg::I32(_) | BufferArg::I32In(_) => Element::I32,
            BufferArg::Bool(_) | BufferArg::BoolIn(_) => Element::Bool,
        }
    }

    fn writable(&self) -> bool {
        matches!(
            self,
            BufferArg::F64(_)
                | BufferArg::F32(_)
                | BufferArg::I64(_)
                | BufferArg::U32(_)
                | BufferArg::I32(_)
                | BufferArg::Bool(_)
        )
    }

    fn len(&self) -> usize {
        match self {
            BufferArg::F64(slice) => slice.len(),
            BufferArg::F64In(slice) => slice.len(),
            BufferArg::F32(slice) => slice.len(),
            BufferArg::F32In(slice) => slice.len(),
            BufferArg::I64(slice) => slice.len(),
            BufferArg::I64In(slice) => slice.len(),
            BufferArg::U32(slice) => slice.len(),
            BufferArg::U32In(slice) => slice.len(),
            BufferArg::I32(slice) => slice.len(),
            BufferArg::I32In(slice) => slice.len(),
            BufferArg::Bool(slice) => slice.len(),
            BufferArg::BoolIn(slice) => slice.len(),
        }
    }

    pub(crate) fn pointer(&mut self) -> *mut c_void {
        match self {
            BufferArg::F64(slice) => slice.as_mut_ptr().cast(),
            BufferArg::F64In(slice) => slice.as_ptr().cast_mut().cast(),
            BufferArg::F32(slice) => slice.as_mut_ptr().cast(),
            BufferArg::F32In(slice) => slice.as_ptr().cast_mut().cast(),
            BufferArg::I64(slice) => slice.as_mut_ptr().cast(),
            BufferArg::I64In(slice) => slice.as_ptr().cast_mut().cast(),
            BufferArg::U32(slice) => slice.as_mut_ptr().cast(),
            BufferArg::U32In(slice) => slice.as_ptr().cast_mut().cast(),
            BufferArg::I32(slice) => slice.as_mut_ptr().cast(),
            BufferArg::I32In(slice) => slice.as_ptr().cast_mut().cast(),
            // Code stores nothing but 0 and 1.
            BufferArg::Bool(slice) => slice.as_mut_ptr().cast(),
            BufferArg::BoolIn(slice) => slice.as_ptr().cast_mut().cast(),
        }
    }
}

/// A compiled module, loaded. Functions are named as in the module, without the prefix.
pub struct Jit {
    /// Owns the code that `entries` point into.
    _engine: Engine,
    module: Module,
    entries: BTreeMap<String, Entry>,
    needs_openmp: bool,
    /// 0: as OpenMP chooses.
    threads: AtomicUsize,
}

impl std::fmt::Debug for Jit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.entries.keys().collect();
        formatter.debug_struct("Jit").field("functions", &names).finish_non_exhaustive()
    }
}

impl Jit {
    /// Loads `compiled`, and OpenMP's library if it needs that. Code for a CPU with more features than the
    /// host's must not be called.
    pub fn load(compiled: &Compiled) -> Result<Jit> {
        if compiled.needs_openmp() {
            openmp::load()?;
        }
        let engine = Engine::new(compiled.object())?;
        let mut entries = BTreeMap::new();
        for function in &compiled.module().functions {
            let symbol = format!("{}{}__packed", compiled.options().prefix, function.name);
            entries.insert(function.name.clone(), engine.find(&symbol)?);
        }
        Ok(Jit {
            _engine: engine,
            module: compiled.module().clone(),
            entries,
            needs_openmp: compiled.needs_openmp(),
            threads: AtomicUsize::new(0),
        })
    }

    /// Makes parallel loops run on `threads` threads from the next call on; 0 leaves it to OpenMP. No effect
    /// on code compiled for one thread.
    pub fn set_threads(&self, threads: usize) {
        self.threads.store(threads, Ordering::Relaxed);
    }

    /// Calls function `name` with the module's symbols and the function's buffers, both in order.
    ///
    /// Every buffer must have at least the elements that its size says for these parameters; then nothing
    /// outside the buffers is touched, given that the module keeps within its buffers' sizes. Borrows exclude
    /// overlap; a buffer only read may be given twice.
    pub fn call(&self, name: &str, params: &[i64], buffers: &mut [BufferArg<'_>]) -> Result<()> {
        let function = self.module.functions.iter().find(|known| known.name == name);
        let Some((function, entry)) = function.zip(self.entries.get(name)) else {
            let known = self.entries.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Error::UnknownFunction { name: name.to_owned(), known });
        };
        check_arguments(&self.module, function, params, buffers)?;
        if self.needs_openmp {
            match self.threads.load(Ordering::Relaxed) {
                0 => {}
                threads => openmp::set_threads(threads)?,
            }
        }
        let pointers: Vec<_> = buffers.iter_mut().map(BufferArg::pointer).collect();
        // SAFETY: the entry was compiled from this function of this module, whose number and types of buffers
        // were checked; each buffer has the elements that the module says it accesses, and those written to
        // are borrowed mutably, so that nothing else refers to them. The engine, which owns the code, is
        // borrowed.
        unsafe { entry(params.as_ptr(), pointers.as_ptr()) };
        Ok(())
    }
}

pub(crate) fn check_arguments(
    module: &Module,
    function: &Function,
    params: &[i64],
    buffers: &[BufferArg<'_>],
) -> Result<()> {
    let named = || function.name.clone();
    if params.len() != module.symbols.len() {
        let (expected, found) = (module.symbols.len(), params.len());
        return Err(Error::ParameterCount { function: named(), expected, found });
    }
    if buffers.len() != function.args.len() {
        let (expected, found) = (function.args.len(), buffers.len());
        return Err(Error::BufferCount { function: named(), expected, found });
    }
    for (argument, &(id, mode)) in buffers.iter().zip(&function.args) {
        let Buffer { name, element, size, .. } = &module.buffers[id.0 as usize];
        if argument.element() != *element {
            let (expected, found) = (name_of(*element), name_of(argument.element()));
            return Err(Error::ElementType { buffer: name.clone(), expected, found });
        }
        if mode != Mode::In && !argument.writable() {
            return Err(Error::ReadOnly { function: named(), buffer: name.clone() });
        }
        let expected = size
            .eval_symbols(params)
            .map_err(|source| Error::Size { buffer: name.clone(), source })?;
        if expected < 0 {
            return Err(Error::NegativeSize { buffer: name.clone(), size: expected });
        }
        let found = argument.len();
        if i64::try_from(found).is_ok_and(|found| found < expected) {
            return Err(Error::TooShort { buffer: name.clone(), expected, found });
        }
    }
    Ok(())
}

fn name_of(element: Element) -> &'static str {
    match element {
        Element::F64 => "f64",
        Element::F32 => "f32",
        Element::I64 => "i64",
        Element::U32 => "u32",
        Element::I32 => "i32",
        Element::Bool => "bool",
    }
}

/// An ORC engine with one object file in it.
struct Engine(LLVMOrcLLJITRef);

// SAFETY: LLJIT locks its session inside; its code belongs to no thread.
unsafe impl Send for Engine {}
// SAFETY: as above; after `new`, it is only asked for symbols.
unsafe impl Sync for Engine {}

/// Errors come back from the calls that fail; the session would also print them.
extern "C" fn ignore(_context: *mut c_void, error: llvm_sys::error::LLVMErrorRef) {
    // SAFETY: the reporter owns the error it is given.
    unsafe { LLVMConsumeError(error) };
}

impl Engine {
    fn new(object: &[u8]) -> Result<Engine> {
        initialize();
        let mut raw = null_mut();
        // SAFETY: a null builder means the defaults; `raw` is used only after success.
        unsafe { check(LLVMOrcCreateLLJIT(&mut raw, null_mut()), "start the JIT")? };
        let engine = Engine(raw);
        // SAFETY: the engine is alive; generator and buffer are handed over to it; the object's bytes are
        // copied.
        unsafe {
            let session = LLVMOrcLLJITGetExecutionSession(raw);
            LLVMOrcExecutionSessionSetErrorReporter(session, ignore, null_mut());
            let library = LLVMOrcLLJITGetMainJITDylib(raw);
            let mut generator = null_mut();
            let prefix = LLVMOrcLLJITGetGlobalPrefix(raw);
            check(
                LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                    &mut generator,
                    prefix,
                    None,
                    null_mut(),
                ),
                "search the process",
            )?;
            LLVMOrcJITDylibAddGenerator(library, generator);
            let start = object.as_ptr().cast();
            let name = c"module.o".as_ptr();
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(start, object.len(), name);
            check(LLVMOrcLLJITAddObjectFile(raw, library, buffer), "load the code")?;
        }
        Ok(engine)
    }

    fn find(&self, symbol: &str) -> Result<Entry> {
        let mut address = 0;
        // SAFETY: the engine is alive, the name a C string. A symbol found is the packed entry that `llvm`
        // wrote, of type `Entry`.
        unsafe {
            check(
                LLVMOrcLLJITLookup(self.0, &mut address, c_string(symbol).as_ptr()),
                "find the code",
            )?;
            Ok(std::mem::transmute::<usize, Entry>(address as usize))
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: created in `new`, disposed of once; no code of it runs, since calls borrow the `Jit`.
        let error = unsafe { LLVMOrcDisposeLLJIT(self.0) };
        if !error.is_null() {
            // SAFETY: the error is owned here.
            unsafe { LLVMConsumeError(error) };
        }
    }
}
