//! Contexts: the limits under which isl is called, and the one function that calls it.

use crate::{Error, Result};
use isl_vendor as sys;
use std::{
    cell::Cell,
    ffi::{CStr, CString, c_char, c_int, c_void},
    fmt,
    ptr::NonNull,
    rc::Rc,
    time::Instant,
};

/// Steps that one operation may take by default. Usual operations take fewer than a thousandth of
/// it; the limit turns an explosion (tens of seconds) into [`Error::TooComplex`].
const DEFAULT_LIMIT: u64 = 20_000_000;

/// An isl context: every object belongs to one. Clones are the same context.
#[derive(Clone)]
pub struct Context(Rc<Inner>);

struct Inner {
    raw: NonNull<sys::isl_ctx>,
    library: &'static sys::Library,
    /// The limit that holds now.
    limit: Cell<u64>,
    /// Whether it is a budget for all operations together, not a limit for each of them.
    is_budget: Cell<bool>,
    deadline: Cell<Option<Instant>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: every handle of this context holds the `Rc`, so no object is left.
        unsafe { self.library.isl.isl_ctx_free(self.raw.as_ptr()) }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:p})", self.0.raw)
    }
}

impl Context {
    /// A new context with the default limit on the steps of one operation.
    pub fn new() -> Result<Self> {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A new context in which one operation may take `max_operations` steps (0: any number).
    /// Barvinok's counting is not bounded by it.
    pub fn with_limit(max_operations: u64) -> Result<Self> {
        let library = sys::get()?;
        // SAFETY: no precondition; the result is checked.
        let raw = NonNull::new(unsafe { library.isl.isl_ctx_alloc() }).ok_or_else(|| {
            Error::Isl { operation: "isl_ctx_alloc", message: "out of memory".into() }
        })?;
        let context = Context(Rc::new(Inner {
            raw,
            library,
            limit: Cell::new(max_operations),
            is_budget: Cell::new(false),
            deadline: Cell::new(None),
        }));
        let (ctx, isl) = (context.raw(), &library.isl);
        // SAFETY: `ctx` is live; these only set options.
        unsafe {
            isl.isl_options_set_on_error(ctx, sys::ISL_ON_ERROR_CONTINUE as c_int);
            // One upper bound per loop, so that every condition is `iterator <= bound`.
            isl.isl_options_set_ast_build_atomic_upper_bound(ctx, 1);
            isl.isl_options_set_ast_build_prefer_pdiv(ctx, 1);
            isl.isl_options_set_ast_build_exploit_nested_bounds(ctx, 1);
            isl.isl_options_set_ast_build_detect_min_max(ctx, 1);
        }
        context.set_limit(max_operations);
        Ok(context)
    }

    /// isl's version, such as `isl-0.27-GMP`.
    pub fn version() -> Result<String> {
        Ok(sys::get()?.version())
    }

    /// Whether Barvinok could be loaded. Without it, only Faulhaber summation counts ([`crate::counting`]).
    pub fn has_barvinok() -> bool {
        sys::get().is_ok_and(|library| library.barvinok().is_ok())
    }

    /// The pointer that isl functions take.
    pub(crate) fn raw(&self) -> *mut sys::isl_ctx {
        self.0.raw.as_ptr()
    }

    pub(crate) fn library(&self) -> &'static sys::Library {
        self.0.library
    }

    pub(crate) fn isl(&self) -> &'static sys::Isl {
        &self.0.library.isl
    }

    /// The limit on the steps of one operation (0: none).
    pub fn limit(&self) -> u64 {
        self.0.limit.get()
    }

    /// Sets a moment after which no operation begins and no count goes on; later operations fail with
    /// [`Error::Deadline`]. This bounds the work as a whole, while [`Context::with_limit`] bounds each operation.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.0.deadline.set(deadline);
    }

    /// The deadline, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline.get()
    }

    fn set_limit(&self, limit: u64) {
        self.0.limit.set(limit);
        // SAFETY: the context is live.
        unsafe { self.isl().isl_ctx_set_max_operations(self.raw(), limit as _) }
    }

    /// Runs `body` with a lower limit on the steps of one operation, for results that are only worth a short search.
    pub fn limited<T>(&self, max_operations: u64, body: impl FnOnce() -> T) -> T {
        let before = self.limit();
        if !self.0.is_budget.get() && (before == 0 || max_operations < before) {
            self.set_limit(max_operations);
        }
        let result = body();
        self.set_limit(before);
        result
    }

    /// Runs `body` with a limit on the steps of all its operations together. When it is reached, operations fail with
    /// [`Error::TooComplex`]. Steps of counting do not count, so that the outcome depends neither on the counter nor on
    /// the cache. Inside of another budget, the outer one holds.
    pub fn budgeted<T>(&self, max_operations: u64, body: impl FnOnce() -> T) -> T {
        if self.0.is_budget.get() {
            return body();
        }
        let before = self.limit();
        self.set_limit(max_operations);
        // SAFETY: the context is live; this restarts its count of steps.
        unsafe { self.isl().isl_ctx_reset_operations(self.raw()) };
        self.0.is_budget.set(true);
        let result = body();
        self.0.is_budget.set(false);
        self.set_limit(before);
        result
    }

    /// Runs `body` without the limit: for Barvinok, which crashes on an isl error inside it.
    pub(crate) fn unlimited<T>(&self, body: impl FnOnce() -> T) -> T {
        let before = self.limit();
        self.set_limit(0);
        let result = body();
        self.set_limit(before);
        result
    }

    /// Calls an isl function. Use the macro `isl!`, which follows isl's ownership rules.
    pub(crate) fn call<R: Returned>(
        &self,
        operation: &'static str,
        function: impl FnOnce(&sys::Isl) -> R,
    ) -> Result<R::Value> {
        // Questions about an object's shape take no time and always have an answer.
        let shape =
            |name: &str| name.ends_with("_dim") || name.contains("_get_") || name.contains("_has_");
        if self.0.deadline.get().is_some_and(|deadline| Instant::now() >= deadline)
            && !shape(operation)
        {
            return Err(Error::Deadline { operation });
        }
        if !self.0.is_budget.get() {
            // SAFETY: the context is live; this restarts its count of steps.
            unsafe { self.isl().isl_ctx_reset_operations(self.raw()) };
        }
        function(self.isl()).check(self, operation)
    }

    /// The error that isl recorded. isl's record is cleared.
    pub(crate) fn error(&self, operation: &'static str) -> Error {
        let (isl, ctx) = (self.isl(), self.raw());
        // SAFETY: the context is live; the message is a static string or null.
        unsafe {
            let kind = isl.isl_ctx_last_error(ctx);
            let message = borrowed_text(isl.isl_ctx_last_error_msg(ctx));
            isl.isl_ctx_reset_error(ctx);
            // isl's parser reports a syntax error when the limit is reached. After that, no allocation succeeds before
            // the next reset.
            let probe = isl.isl_val_int_from_si(ctx, 1);
            if !probe.is_null() {
                isl.isl_val_free(probe);
            }
            isl.isl_ctx_reset_error(ctx);
            if kind == sys::isl_error_quota || probe.is_null() {
                return Error::TooComplex { operation, limit: self.limit() };
            }
            Error::Isl { operation, message: message.unwrap_or_else(|| "failed".into()) }
        }
    }

    pub(crate) fn no_error_so_far(&self) {
        // SAFETY: the context is live.
        unsafe { self.isl().isl_ctx_reset_error(self.raw()) }
    }

    pub(crate) fn has_error(&self) -> bool {
        // SAFETY: the context is live.
        unsafe { self.isl().isl_ctx_last_error(self.raw()) != sys::isl_error_none }
    }

    pub(crate) fn same(&self, other: &Context) -> Result<()> {
        if Rc::ptr_eq(&self.0, &other.0) { Ok(()) } else { Err(Error::DifferentContexts) }
    }
}

/// A type that an isl function may return.
pub(crate) trait Returned {
    type Value;
    fn check(self, context: &Context, operation: &'static str) -> Result<Self::Value>;
}

impl Returned for c_int {
    type Value = i32;
    fn check(self, context: &Context, operation: &'static str) -> Result<i32> {
        if self < 0 { Err(context.error(operation)) } else { Ok(self) }
    }
}

/// A string that the caller owns.
impl Returned for *mut c_char {
    type Value = String;
    fn check(self, context: &Context, operation: &'static str) -> Result<String> {
        unsafe extern "C" {
            fn free(pointer: *mut c_void);
        }
        // SAFETY: isl returns null or a string from `malloc`, which is ours.
        let text = unsafe { borrowed_text(self) };
        // SAFETY: as above; it is not used again.
        unsafe { free(self.cast()) };
        text.ok_or_else(|| context.error(operation))
    }
}

/// A name that the object owns; null means that it has none.
impl Returned for *const c_char {
    type Value = Option<String>;
    fn check(self, _: &Context, _: &'static str) -> Result<Option<String>> {
        // SAFETY: isl returns null or a string that lives as long as its object, which the caller
        // of `isl!` holds.
        Ok(unsafe { borrowed_text(self) })
    }
}

/// # Safety
/// `text` is null or a C string.
unsafe fn borrowed_text(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

pub(crate) fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Parse {
        text: text.escape_default().to_string(),
        message: "NUL character".into(),
    })
}
