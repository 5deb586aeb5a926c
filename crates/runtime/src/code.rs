//! Compiled code in this process, and calls of its functions.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;

use dastac_loops::abi::{Abi, Signature};
use dastac_loops::{Buffer, Mode};
use dastac_pim::{Device, Operand, Report};
use dastac_target::{Artifact, CodeKind, Library as Needed};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::argument::Argument;
use crate::cuda::{DeviceTimes, Kernels};
use crate::error::{Error, Result};
use crate::load_error::LoadError;
use crate::loader::Image;
use crate::openmp;
use crate::processor;

/// The packed entry of a function: the values of the symbols, then the addresses of the buffers.
type Entry = unsafe extern "C" fn(*const i64, *const *mut c_void);

/// Machine code with its interface. Any number of threads may call its functions at the same time.
pub struct Code {
    abi: Abi,
    entries: BTreeMap<String, Entry>,
    parallel: bool,
    /// Owns the code that `entries` point into, or runs it.
    holder: Holder,
}

/// What keeps code in memory.
enum Holder {
    Object { _image: Image },
    Library { _library: Library },
    Cores { device: Box<Device> },
    Device(Box<Kernels>),
}

impl std::fmt::Debug for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.abi.functions.iter().map(|function| &function.name).collect();
        formatter.debug_struct("Code").field("functions", &names).finish_non_exhaustive()
    }
}

/// The number of threads that parallel loops run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// The number that OpenMP chooses for the calling thread.
    #[default]
    Any,
    /// This number, which is at least 1.
    Of(usize),
}

impl From<usize> for Threads {
    fn from(threads: usize) -> Threads {
        if threads == 0 { Threads::Any } else { Threads::Of(threads) }
    }
}

impl Code {
    /// Loads generated code, and the libraries that it calls. The code is trusted to be what a compiler made for its
    /// interface, as a library is by those who link it.
    ///
    /// # Errors
    /// Code for another machine, or in a form that cannot be loaded; an object that is damaged or lacks one of the
    /// functions; a library that is not there.
    pub fn load(artifact: &Artifact) -> Result<Code> {
        let Artifact { target, code, abi, requires, .. } = artifact;
        if code.kind == CodeKind::Cores {
            let holder = Holder::Cores { device: Box::new(Device::load(&code.bytes)?) };
            let (abi, entries) = (abi.clone(), BTreeMap::new());
            return Ok(Code { abi, entries, parallel: false, holder });
        }
        if code.kind == CodeKind::Cuda {
            let holder = Holder::Device(Box::new(Kernels::load(&code.bytes)?));
            let (entries, abi) = (BTreeMap::new(), abi.clone());
            return Ok(Code { abi, entries, parallel: false, holder });
        }
        if code.kind != CodeKind::Object {
            return Err(Error::NotLoadable { target: target.clone() });
        }
        processor::check(requires)?;
        let parallel = artifact.needs(Needed::OpenMp);
        if parallel {
            openmp::load()?;
        }
        let image = Image::load(&code.bytes)?;
        let mut entries = BTreeMap::new();
        for function in &abi.functions {
            let symbol = abi.entry(&function.name);
            let missing = || LoadError::Missing(symbol.clone());
            let address = image.find(&symbol).ok_or_else(missing)?;
            // SAFETY: a symbol of this name is a packed entry, of this type.
            let entry = unsafe { std::mem::transmute::<*mut c_void, Entry>(address.as_ptr()) };
            entries.insert(function.name.clone(), entry);
        }
        let holder = Holder::Object { _image: image };
        Ok(Code { abi: abi.clone(), entries, parallel, holder })
    }

    /// Loads a shared library whose functions are those of `abi`, trusted as in [`Code::load`]; its initialisers run.
    ///
    /// # Errors
    /// A library that cannot be loaded, or lacks one of the functions; for code with `parallel` loops, OpenMP's library
    /// not being there.
    pub fn open(abi: Abi, library: &Path, parallel: bool) -> Result<Code> {
        if parallel {
            openmp::load()?;
        }
        // SAFETY: the library's initialisers are trusted; its functions have the type of `Entry`.
        let loaded = unsafe {
            Library::open(Some(library), RTLD_NOW | RTLD_LOCAL).and_then(|loaded| {
                let mut entries = BTreeMap::new();
                for function in &abi.functions {
                    let symbol = format!("{}\0", abi.entry(&function.name));
                    let entry = *loaded.get::<Entry>(symbol.as_bytes())?;
                    entries.insert(function.name.clone(), entry);
                }
                Ok((entries, loaded))
            })
        };
        let (entries, library) = loaded.map_err(|error| Error::Library {
            path: library.to_owned(),
            message: error.to_string(),
        })?;
        Ok(Code { abi, entries, parallel, holder: Holder::Library { _library: library } })
    }

    /// The functions, and what they take.
    pub fn abi(&self) -> &Abi {
        &self.abi
    }

    /// Whether it has parallel loops that OpenMP runs.
    pub fn is_parallel(&self) -> bool {
        self.parallel
    }

    /// As [`Code::call_on`], on as many threads as OpenMP chooses.
    ///
    /// # Errors
    /// As [`Code::call_on`].
    pub fn call(&self, name: &str, symbols: &[i64], buffers: &mut [Argument<'_>]) -> Result<()> {
        self.call_on(Threads::Any, name, symbols, buffers)
    }

    /// Calls a function with the values of all symbols and the function's buffers, both in order. Parallel loops run on
    /// `threads`.
    ///
    /// Every buffer must have at least the elements that its size says for these symbols; then nothing outside of the
    /// buffers is touched. Borrows exclude overlap; a buffer that is only read may be given twice.
    ///
    /// # Errors
    /// An unknown function; symbols or buffers that do not fit it.
    pub fn call_on(
        &self,
        threads: Threads,
        name: &str,
        symbols: &[i64],
        buffers: &mut [Argument<'_>],
    ) -> Result<()> {
        if let Holder::Cores { device } = &self.holder {
            return self.run_on(device, name, symbols, buffers);
        }
        if let (Holder::Device(kernels), Some(function)) = (&self.holder, self.abi.function(name)) {
            check(&self.abi, function, symbols, buffers)?;
            return Ok(kernels.call(function, symbols, buffers)?);
        }
        let function = self.abi.function(name).zip(self.entries.get(name));
        let Some((function, entry)) = function else {
            return Err(self.unknown(name));
        };
        check(&self.abi, function, symbols, buffers)?;
        let _limit = match threads {
            Threads::Of(threads) if self.parallel => Some(openmp::Limit::new(threads)?),
            _ => None,
        };
        let pointers: Vec<*mut c_void> =
            buffers.iter_mut().map(|buffer| buffer.pointer().cast()).collect();
        // SAFETY: the entry was compiled from a function of this interface, whose number and types of buffers were
        // checked; each buffer has the elements that the function accesses, and those written to are borrowed mutably,
        // so that nothing else refers to them. The code's holder is borrowed.
        unsafe { entry(symbols.as_ptr(), pointers.as_ptr()) };
        Ok(())
    }

    fn unknown(&self, name: &str) -> Error {
        let known = self.abi.functions.iter().map(|function| function.name.as_str());
        let known = known.collect::<Vec<_>>().join(", ");
        Error::UnknownFunction { name: name.to_owned(), known }
    }

    /// Runs a function on cores inside of memory.
    fn run_on(
        &self,
        device: &Device,
        name: &str,
        symbols: &[i64],
        buffers: &mut [Argument<'_>],
    ) -> Result<()> {
        let function = self.abi.function(name).ok_or_else(|| self.unknown(name))?;
        check(&self.abi, function, symbols, buffers)?;
        let mut operands: Vec<Operand<'_>> = buffers.iter_mut().map(Argument::operand).collect();
        Ok(device.call(name, symbols, &mut operands)?)
    }

    /// Has cores inside of memory record what they have counted at regular times. Returns whether there are any.
    pub fn watch(&self) -> bool {
        match &self.holder {
            Holder::Cores { device } => {
                device.watch();
                true
            }
            _ => false,
        }
    }

    /// How long kernels and copies of a device took since this was last asked for; nothing for other code.
    pub fn take_times(&self) -> Option<DeviceTimes> {
        match &self.holder {
            Holder::Device(kernels) => Some(kernels.take_times()),
            _ => None,
        }
    }

    /// What cores inside of memory counted since this was last asked for; nothing for other code.
    pub fn take_report(&self) -> Option<Report> {
        match &self.holder {
            Holder::Cores { device } => Some(device.take_report()),
            _ => None,
        }
    }
}

/// Fails where a call's arguments are not what the function takes.
fn check(abi: &Abi, function: &Signature, symbols: &[i64], buffers: &[Argument<'_>]) -> Result<()> {
    let named = || function.name.clone();
    if symbols.len() != abi.symbols.len() {
        let (expected, found) = (abi.symbols.len(), symbols.len());
        return Err(Error::ParameterCount { function: named(), expected, found });
    }
    if buffers.len() != function.args.len() {
        let (expected, found) = (function.args.len(), buffers.len());
        return Err(Error::BufferCount { function: named(), expected, found });
    }
    for (argument, &(id, mode)) in buffers.iter().zip(&function.args) {
        let Some(buffer) = abi.buffer(id) else {
            return Err(Error::Interface { function: named() });
        };
        if mode != Mode::In && !argument.is_writable() {
            return Err(Error::ReadOnly { function: named(), buffer: buffer.name.clone() });
        }
        check_buffer(buffer, symbols, argument)?;
    }
    Ok(())
}

fn check_buffer(buffer: &Buffer, symbols: &[i64], argument: &Argument<'_>) -> Result<()> {
    let named = || buffer.name.clone();
    if argument.element() != buffer.element {
        let (expected, found) = (buffer.element, argument.element());
        return Err(Error::ElementType { buffer: named(), expected, found });
    }
    let size = buffer.size.eval_symbols(symbols);
    let expected = size.map_err(|source| Error::Size { buffer: named(), source })?;
    if expected < 0 {
        return Err(Error::NegativeSize { buffer: named(), size: expected });
    }
    let found = argument.len();
    if i64::try_from(found).is_ok_and(|found| found < expected) {
        return Err(Error::TooShort { buffer: named(), expected, found });
    }
    Ok(())
}
