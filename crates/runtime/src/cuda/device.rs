//! A device: its memory, of which what was given back is kept for the next request, and the kernels that it executes.

use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use dastac_target::launch::Grid;

use super::driver::{self, Driver, OUT_OF_MEMORY};
use super::error::CudaError;
use super::steps::Device;

/// The numbers by which the driver knows what it is asked about.
const MAJOR: c_int = 75;
const MINOR: c_int = 76;
const HEAP: c_int = 2;
/// Bytes that are set apart for lanes if nobody says anything.
const USUAL: usize = 8 << 20;
const LOG: c_int = 5;
const LOG_BYTES: c_int = 6;

/// A kernel of one lane that does nothing for so many cycles.
const IDLE: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry dastac_idle(.param .u64 cycles) {
    .reg .pred %p;
    .reg .b64 %first, %now, %last;
    ld.param.u64 %last, [cycles];
    mov.u64 %first, %clock64;
    add.s64 %last, %last, %first;
again:
    mov.u64 %now, %clock64;
    setp.lt.s64 %p, %now, %last;
    @%p bra again;
    ret;
}
";
/// Cycles after which all kernels of a call are in the device's queue: some 60 microseconds.
const CYCLES: u64 = 120_000;

/// Whether the device waits until the kernels of a call are in its queue.
static QUEUED: AtomicBool = AtomicBool::new(false);

/// Has the device wait, in each call, until the call's kernels are in its queue: the times that it measures are then
/// those of kernels alone, and calls take a twentieth of a millisecond more. For measurements.
pub fn queue_first(queue: bool) {
    QUEUED.store(queue, Ordering::Relaxed);
}

/// The device that kernels are loaded to.
static CHOSEN: OnceLock<usize> = OnceLock::new();

/// Has kernels loaded to this device, not to the first one. The first choice counts, and it must be made before code is
/// loaded.
pub fn choose(device: usize) {
    let _ = CHOSEN.set(device);
}

/// Kernels on a device.
pub(super) struct Loaded {
    driver: &'static Driver,
    context: *mut c_void,
    module: *mut c_void,
    functions: Vec<*mut c_void>,
    /// Memory that is not in use, by its number of bytes.
    pool: Mutex<BTreeMap<usize, Vec<u64>>>,
    /// Marks in time that are not in use.
    marks: Mutex<Vec<*mut c_void>>,
    /// The kernel that does nothing and its module, once it was needed.
    idle: OnceLock<[*mut c_void; 2]>,
}

// SAFETY: contexts, modules, functions and events of the driver may be used by any thread; each call makes the context
// the thread's own first.
unsafe impl Send for Loaded {}
// SAFETY: as above; the pool has a lock.
unsafe impl Sync for Loaded {}

/// Sets memory apart that lanes ask for. It is one size for all kernels of the process, which cannot change once one of
/// them has run: the first program decides.
fn set_apart(driver: &Driver) -> Result<(), CudaError> {
    let mut known = 0;
    // SAFETY: the size is written on success; any size is accepted or refused.
    unsafe {
        driver.check((driver.limit)(&mut known, HEAP), "ask for the memory of kernels")?;
        if known > USUAL {
            return Ok(());
        }
        let status = (driver.set_limit)(HEAP, free(driver)?.0 / 4);
        driver.check(status, "set memory apart for kernels")
    }
}

impl Loaded {
    /// Loads the kernels of a grid to the device that was chosen.
    pub fn new(grid: &Grid) -> Result<Loaded, CudaError> {
        let driver = driver::get()?;
        let device = CHOSEN.get().copied().unwrap_or(0);
        let handle = find(driver, device)?;
        let generation = generation(driver, handle)?;
        let text = grid.codes.iter().rev().find(|code| code.generation <= generation);
        let Some(code) = text else {
            let needs = grid.codes.first().map_or(0, |code| code.generation);
            let name = name_of(driver, handle);
            return Err(CudaError::Old { device, name, has: generation, needs });
        };
        let mut context = null_mut();
        // SAFETY: the handle is that of a device; the context is written on success.
        unsafe {
            driver.check((driver.retain_context)(&mut context, handle), "start the device")?;
            driver.check((driver.set_context)(context), "use the device")?;
        }
        if grid.kernels.iter().any(|kernel| kernel.allocates) {
            set_apart(driver)?;
        }
        let module = module(driver, &code.text)?;
        let mut loaded = Loaded {
            driver,
            context,
            module,
            functions: Vec::new(),
            pool: Mutex::default(),
            marks: Mutex::default(),
            idle: OnceLock::new(),
        };
        for kernel in &grid.kernels {
            loaded.functions.push(loaded.find(module, &kernel.name)?);
        }
        Ok(loaded)
    }

    fn find(&self, module: *mut c_void, name: &str) -> Result<*mut c_void, CudaError> {
        let name = CString::new(name).map_err(|_| CudaError::Damaged(name.to_owned()))?;
        let mut function = null_mut();
        // SAFETY: the module is loaded; the name is a C string.
        let status = unsafe { (self.driver.get_function)(&mut function, module, name.as_ptr()) };
        self.driver.check(status, "find a kernel")?;
        Ok(function)
    }

    /// Makes the device that of the calling thread.
    pub fn enter(&self) -> Result<(), CudaError> {
        // SAFETY: the context lives as long as this.
        self.driver.check(unsafe { (self.driver.set_context)(self.context) }, "use the device")
    }

    /// Starts a kernel.
    fn start(
        &self,
        function: *mut c_void,
        shape: [u32; 3],
        given: &[u64],
    ) -> Result<(), CudaError> {
        let [row, rows, lanes] = shape;
        let mut values = given.to_vec();
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| std::ptr::from_mut(value).cast()).collect();
        // SAFETY: kernels take 64-bit values, as many as are given; they are copied before the function returns.
        let status = unsafe {
            (self.driver.launch)(
                function,
                row,
                rows,
                1,
                lanes,
                1,
                1,
                0,
                null_mut(),
                pointers.as_mut_ptr(),
                null_mut(),
            )
        };
        self.driver.check(status, "start a kernel")
    }

    /// Gives back all memory that is not in use.
    fn empty_pool(&self) {
        let pool = std::mem::take(&mut *self.pool.lock().unwrap_or_else(PoisonError::into_inner));
        for address in pool.into_values().flatten() {
            // SAFETY: it was allocated, and nothing uses it.
            unsafe { (self.driver.free)(address) };
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if self.enter().is_ok() {
            self.empty_pool();
            let marks = self.marks.get_mut().unwrap_or_else(PoisonError::into_inner);
            for mark in marks.drain(..) {
                // SAFETY: it was created, and nothing uses it.
                unsafe { (self.driver.destroy_event)(mark) };
            }
            let idle = self.idle.get().map(|[_, module]| *module);
            for module in idle.into_iter().chain([self.module]) {
                // SAFETY: the module was loaded, and no kernel of it runs: each call waits for its end.
                unsafe { (self.driver.unload_module)(module) };
            }
        }
    }
}

impl Device for Loaded {
    fn allocate(&self, what: &str, bytes: usize) -> Result<u64, CudaError> {
        let bytes = bytes.max(1).next_multiple_of(256);
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = pool.get_mut(&bytes).and_then(Vec::pop) {
            return Ok(address);
        }
        drop(pool);
        let mut address = 0;
        // SAFETY: the address is written on success.
        let mut status = unsafe { (self.driver.allocate)(&mut address, bytes) };
        if status == OUT_OF_MEMORY {
            self.empty_pool();
            // SAFETY: as above.
            status = unsafe { (self.driver.allocate)(&mut address, bytes) };
        }
        if status == OUT_OF_MEMORY {
            let free = free(self.driver)?.0 as u64;
            return Err(CudaError::Memory { what: what.to_owned(), needed: bytes as u64, free });
        }
        self.driver.check(status, "allocate memory")?;
        Ok(address)
    }

    fn release(&self, address: u64, bytes: usize) {
        let bytes = bytes.max(1).next_multiple_of(256);
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.entry(bytes).or_default().push(address);
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), CudaError> {
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the memory at the address has as many bytes.
        let status = unsafe { (self.driver.to_device)(address, from.as_ptr().cast(), from.len()) };
        self.driver.check(status, "copy to the device")
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), CudaError> {
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: the memory at the address has as many bytes; a copy waits for kernels before it.
        let status = unsafe { (self.driver.to_host)(to.as_mut_ptr().cast(), address, to.len()) };
        self.driver.check(status, "copy from the device")
    }

    fn clear(&self, address: u64, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: the memory at the address has as many bytes.
        let status = unsafe { (self.driver.fill)(address, 0, bytes) };
        self.driver.check(status, "clear memory")
    }

    fn launch(&self, kernel: usize, shape: [u32; 3], given: &[u64]) -> Result<(), CudaError> {
        self.start(self.functions[kernel], shape, given)
    }

    fn prepare(&self) -> Result<(), CudaError> {
        if !QUEUED.load(Ordering::Relaxed) {
            return Ok(());
        }
        let known = self.idle.get().copied();
        let [function, _] = match known {
            Some(known) => known,
            None => {
                let module = module(self.driver, IDLE)?;
                let found = [self.find(module, "dastac_idle")?, module];
                *self.idle.get_or_init(|| found)
            }
        };
        self.start(function, [1, 1, 1], &[CYCLES])
    }

    fn mark(&self) -> Result<u64, CudaError> {
        let kept = self.marks.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut mark = kept.unwrap_or(null_mut());
        // SAFETY: the event is written on success; an event may be recorded again.
        unsafe {
            if mark.is_null() {
                self.driver.check((self.driver.create_event)(&mut mark, 0), "measure time")?;
            }
            self.driver.check((self.driver.record_event)(mark, null_mut()), "measure time")?;
        }
        Ok(mark.expose_provenance() as u64)
    }

    fn between(&self, marks: [u64; 2]) -> Result<Duration, CudaError> {
        let [first, last] = marks.map(|mark| std::ptr::with_exposed_provenance_mut(mark as usize));
        let mut milliseconds = 0.0;
        // SAFETY: both were recorded; the number is written on success. A kernel that failed is said here.
        unsafe {
            self.driver.check((self.driver.await_event)(last), "execute the kernels")?;
            let status = (self.driver.between_events)(&mut milliseconds, first, last);
            self.driver.check(status, "measure time")?;
        }
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).extend([first, last]);
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}

/// The driver's handle of a device.
fn find(driver: &Driver, device: usize) -> Result<c_int, CudaError> {
    // SAFETY: initialisation may be repeated; numbers are written on success.
    unsafe {
        let status = (driver.init)(0);
        if status != 0 {
            return Err(CudaError::NoDevice(driver.words(status)));
        }
        let mut count = 0;
        driver.check((driver.device_count)(&mut count), "count devices")?;
        let there = usize::try_from(count).unwrap_or(0);
        if there == 0 {
            return Err(CudaError::NoDevice("the driver counts none".to_owned()));
        }
        if device >= there {
            return Err(CudaError::Device { asked: device, there });
        }
        let mut handle = 0;
        driver.check((driver.device)(&mut handle, device as c_int), "find the device")?;
        Ok(handle)
    }
}

/// Ten times the generation of a device: 90 for 9.0.
fn generation(driver: &Driver, handle: c_int) -> Result<u32, CudaError> {
    let mut numbers = [0; 2];
    for (number, which) in numbers.iter_mut().zip([MAJOR, MINOR]) {
        // SAFETY: the number is written on success.
        let status = unsafe { (driver.attribute)(number, which, handle) };
        driver.check(status, "ask for the device's generation")?;
    }
    Ok(u32::try_from(10 * numbers[0] + numbers[1]).unwrap_or(0))
}

fn name_of(driver: &Driver, handle: c_int) -> String {
    let mut text = [0_u8; 256];
    // SAFETY: as many bytes are written at most, a zero last.
    let status = unsafe { (driver.device_name)(text.as_mut_ptr().cast(), 255, handle) };
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
    match status {
        0 => String::from_utf8_lossy(&text[..end]).into_owned(),
        _ => "of unknown name".to_owned(),
    }
}

/// Bytes of the device that are free, and all.
fn free(driver: &Driver) -> Result<(usize, usize), CudaError> {
    let (mut free, mut all) = (0, 0);
    // SAFETY: both are written on success.
    driver.check(unsafe { (driver.memory)(&mut free, &mut all) }, "ask for free memory")?;
    Ok((free, all))
}

/// Has the driver translate code.
fn module(driver: &Driver, text: &str) -> Result<*mut c_void, CudaError> {
    let text = CString::new(text).map_err(|error| CudaError::Damaged(error.to_string()))?;
    let mut log = vec![0_u8; 8 << 10];
    let mut options = [LOG, LOG_BYTES];
    let mut values: [*mut c_void; 2] =
        [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(log.len())];
    let mut module = null_mut();
    // SAFETY: the text ends with a zero; the log has as many bytes as is said.
    let status = unsafe {
        (driver.load_module)(
            &mut module,
            text.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if status == 0 {
        return Ok(module);
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let said = String::from_utf8_lossy(&log[..end]);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let log = if said.is_empty() { "it does not say why".to_owned() } else { said.join("; ") };
    Err(CudaError::Refused { error: driver.words(status), log })
}
