//! A shared library that holds a module's functions, whoever compiled it, loaded into this process.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use dastac_loops::Module;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::jit::{BufferArg, Entry, check_arguments};
use crate::{Error, Result, openmp};

/// The functions of a module in a shared library, loaded.
pub struct Native {
    entries: Vec<(String, Entry)>,
    module: Module,
    /// 0: without OpenMP.
    threads: AtomicUsize,
    /// Owns the code that `entries` point into.
    _library: Library,
}

impl Native {
    /// Loads a library that exports the packed entry of every function of `module`, and removes its file. With `openmp`, parallel loops run on
    /// the threads of the OpenMP library that this process has loaded.
    ///
    /// # Errors
    /// A file that is no such library.
    ///
    /// # Safety
    /// The library has no initialisers, and its entries are compiled from these functions.
    pub unsafe fn open(module: &Module, library: &Path, openmp: bool) -> Result<Native> {
        let names = module.functions.iter().map(|function| function.name.clone());
        // SAFETY: the caller promises that there are no initialisers and that the functions have the type of `Entry`.
        let loaded = unsafe {
            Library::open(Some(library), RTLD_NOW | RTLD_LOCAL).and_then(|loaded| {
                let entries: std::result::Result<Vec<_>, _> = names
                    .map(|name| {
                        let entry = *loaded.get::<Entry>(format!("{name}__packed\0").as_bytes())?;
                        Ok::<_, libloading::Error>((name, entry))
                    })
                    .collect();
                Ok((entries?, loaded))
            })
        };
        // Loaded or not, the file is not needed any more.
        let _ = std::fs::remove_file(library);
        let (entries, loaded) = loaded.map_err(|error| Error::Library {
            path: library.to_owned(),
            message: error.to_string(),
        })?;
        let threads = AtomicUsize::new(usize::from(openmp));
        Ok(Native { entries, module: module.clone(), threads, _library: loaded })
    }

    /// Makes parallel loops run on this many threads; no effect without OpenMP.
    pub fn set_threads(&self, threads: usize) {
        if self.threads.load(Ordering::Relaxed) > 0 {
            self.threads.store(threads.max(1), Ordering::Relaxed);
        }
    }

    /// Calls a function, as [`dastac_backend::Jit::call`] does.
    ///
    /// # Errors
    /// An unknown function; parameters or buffers that do not fit it.
    pub fn call(&self, name: &str, params: &[i64], buffers: &mut [BufferArg<'_>]) -> Result<()> {
        let function = self.module.functions.iter().find(|function| function.name == name);
        let entry = self.entries.iter().find(|(known, _)| known == name);
        let Some((function, (_, entry))) = function.zip(entry) else {
            let known: Vec<&str> = self.entries.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::UnknownFunction { name: name.into(), known: known.join(", ") });
        };
        check_arguments(&self.module, function, params, buffers)?;
        match self.threads.load(Ordering::Relaxed) {
            0 => {}
            threads => openmp::set_threads(threads)?,
        }
        let pointers: Vec<_> = buffers.iter_mut().map(BufferArg::pointer).collect();
        // SAFETY: the code is this function of this module, as `open`'s caller promised; its buffers were checked to be those it takes, of the
        // sizes that it accesses, and the library that owns it is borrowed.
        unsafe { entry(params.as_ptr(), pointers.as_ptr()) };
        Ok(())
    }
}
