//! NVIDIA's driver: its library, loaded when it is needed, and the functions of it that are called here.

use std::ffi::{CStr, OsString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::error::CudaError;

/// The environment variable that names the library's file.
pub const VARIABLE: &str = "DASTAC_CUDA";

/// Names tried without it.
const PLACES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// What functions of the driver return: 0 if all went well.
pub(super) type Status = c_int;
/// The driver has too little memory.
pub(super) const OUT_OF_MEMORY: Status = 2;

/// Declares a table of functions of the driver with their symbols and types.
macro_rules! functions {
    ($($(#[doc = $doc:literal])* $name:ident = $symbol:literal ($($type:ty),*);)*) => {
        /// The driver's functions.
        pub(super) struct Driver {
            /// Never unloaded: it has threads of its own.
            _library: Library,
            $($(#[doc = $doc])* pub $name: unsafe extern "C" fn($($type),*) -> Status,)*
        }

        impl Driver {
            /// Finds all functions in a library.
            ///
            /// # Safety
            /// The library is NVIDIA's driver, or has functions of the same types under these names.
            unsafe fn of(library: Library) -> Result<Driver, CudaError> {
                $(
                    // SAFETY: the symbol has this type in every version of the driver that has it.
                    let $name = unsafe {
                        *library
                            .get::<unsafe extern "C" fn($($type),*) -> Status>(concat!($symbol, "\0").as_bytes())
                            .map_err(|_| CudaError::OldDriver($symbol))?
                    };
                )*
                Ok(Driver { _library: library, $($name,)* })
            }
        }
    };
}

functions! {
    init = "cuInit" (c_uint);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device = "cuDeviceGet" (*mut c_int, c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain_context = "cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    set_context = "cuCtxSetCurrent" (*mut c_void);
    set_limit = "cuCtxSetLimit" (c_int, usize);
    limit = "cuCtxGetLimit" (*mut usize, c_int);
    load_module = "cuModuleLoadDataEx" (*mut *mut c_void, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    unload_module = "cuModuleUnload" (*mut c_void);
    get_function = "cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char);
    allocate = "cuMemAlloc_v2" (*mut u64, usize);
    free = "cuMemFree_v2" (u64);
    to_device = "cuMemcpyHtoD_v2" (u64, *const c_void, usize);
    to_host = "cuMemcpyDtoH_v2" (*mut c_void, u64, usize);
    fill = "cuMemsetD8_v2" (u64, u8, usize);
    memory = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    launch = "cuLaunchKernel" (
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void,
        *mut *mut c_void
    );
    create_event = "cuEventCreate" (*mut *mut c_void, c_uint);
    record_event = "cuEventRecord" (*mut c_void, *mut c_void);
    await_event = "cuEventSynchronize" (*mut c_void);
    between_events = "cuEventElapsedTime" (*mut f32, *mut c_void, *mut c_void);
    destroy_event = "cuEventDestroy_v2" (*mut c_void);
    error_name = "cuGetErrorName" (Status, *mut *const c_char);
    error_text = "cuGetErrorString" (Status, *mut *const c_char);
}

/// The driver, loaded once.
pub(super) fn get() -> Result<&'static Driver, CudaError> {
    static DRIVER: OnceLock<Result<Driver, CudaError>> = OnceLock::new();
    DRIVER
        .get_or_init(|| {
            let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
            let places = named
                .map_or_else(|| PLACES.iter().map(OsString::from).collect(), |name| vec![name]);
            open(&places)
        })
        .as_ref()
        .map_err(Clone::clone)
}

fn open(places: &[OsString]) -> Result<Driver, CudaError> {
    for place in places {
        // SAFETY: the driver's initialisers are sound to run at any time, and a library of that name is the driver.
        unsafe {
            if let Ok(library) = Library::open(Some(place), RTLD_NOW | RTLD_LOCAL) {
                return Driver::of(library);
            }
        }
    }
    let tried: Vec<_> = places.iter().map(|place| place.to_string_lossy()).collect();
    Err(CudaError::Driver { tried: tried.join(", ") })
}

impl Driver {
    /// The driver's words for a status.
    pub fn words(&self, status: Status) -> String {
        let word = |of: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = std::ptr::null();
            // SAFETY: the function writes a pointer to a constant string, or null.
            unsafe {
                of(status, &mut text);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        match (word(self.error_name), word(self.error_text)) {
            (Some(name), Some(text)) => format!("{name}, {text}"),
            (Some(name), None) => name,
            _ => format!("error {status}"),
        }
    }

    /// An error for a status that is none of success.
    pub fn check(&self, status: Status, what: &'static str) -> Result<(), CudaError> {
        match status {
            0 => Ok(()),
            status => Err(CudaError::Call { what, error: self.words(status) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_said_in_one_line() {
        let error = open(&["/nonexistent/libcuda.so".into()]).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("/nonexistent/libcuda.so") && !text.contains('\n'), "{text}");
        let error = open(&["libm.so.6".into()]).err().unwrap();
        assert_eq!(error, CudaError::OldDriver("cuInit"));
    }
}
