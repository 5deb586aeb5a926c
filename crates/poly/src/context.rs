//! Contexts, owned handles, and the one place from which isl is called.

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

/// Calls one isl function and turns its result into a `Result`: a pointer into a [`Handle`], a
/// boolean, size or status into `i32`, a string into `String`.
macro_rules! isl {
    ($context:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $context.call(stringify!($function), |isl| {
            // SAFETY: pointers among the arguments come from live handles of this context: `keep`
            // lends one for the call, `take` passes on a reference of its own, as the function's
            // __isl_keep and __isl_take ask for.
            unsafe { isl.$function($($argument),*) }
        })
    };
}

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
    /// Whether it holds for all operations together.
    together: Cell<bool>,
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
            together: Cell::new(false),
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

    /// Whether Barvinok is there. Without it Faulhaber summation counts alone ([`crate::counting`]).
    pub fn has_barvinok() -> bool {
        sys::get().is_ok_and(|library| library.barvinok().is_ok())
    }

    /// For arguments of isl functions.
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

    /// No operation begins after this moment, and no count goes on: later ones are [`Error::Deadline`]. A bound on the
    /// work as a whole, where [`Context::with_limit`] bounds each step of it.
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

    /// Runs `body` with a lower limit on the steps of one operation: for what is worth a short search only.
    pub fn limited<T>(&self, max_operations: u64, body: impl FnOnce() -> T) -> T {
        let before = self.limit();
        if !self.0.together.get() && (before == 0 || max_operations < before) {
            self.set_limit(max_operations);
        }
        let result = body();
        self.set_limit(before);
        result
    }

    /// Runs `body` with a limit on the steps of all its operations together; what comes after them fails with
    /// [`Error::TooComplex`]. Steps of counting are not among them, so that the outcome does not depend on who counts
    /// and what is remembered. Within another budget, that one holds.
    pub fn budgeted<T>(&self, max_operations: u64, body: impl FnOnce() -> T) -> T {
        if self.0.together.get() {
            return body();
        }
        let before = self.limit();
        self.set_limit(max_operations);
        // SAFETY: the context is live; this restarts its count of steps.
        unsafe { self.isl().isl_ctx_reset_operations(self.raw()) };
        self.0.together.set(true);
        let result = body();
        self.0.together.set(false);
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

    /// Only through `isl!`, which upholds isl's ownership rules.
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
        if !self.0.together.get() {
            // SAFETY: the context is live; this restarts its count of steps.
            unsafe { self.isl().isl_ctx_reset_operations(self.raw()) };
        }
        function(self.isl()).check(self, operation)
    }

    /// The error that isl noted, which this clears.
    pub(crate) fn error(&self, operation: &'static str) -> Error {
        let (isl, ctx) = (self.isl(), self.raw());
        // SAFETY: the context is live; the message is a static string or null.
        unsafe {
            let kind = isl.isl_ctx_last_error(ctx);
            let message = borrowed_text(isl.isl_ctx_last_error_msg(ctx));
            isl.isl_ctx_reset_error(ctx);
            // isl's parser takes the limit for a syntax error. Once it is reached, no allocation succeeds before the
            // next reset.
            let probe = isl.isl_val_int_from_si(ctx, 1);
            if !probe.is_null() {
                <sys::isl_val as Object>::free(isl, probe);
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

    pub(crate) fn id(&self, name: &str) -> Result<Handle<sys::isl_id>> {
        let name = c_string(name)?;
        isl!(self, isl_id_alloc(self.raw(), name.as_ptr(), std::ptr::null_mut()))
    }

    pub(crate) fn integer(&self, value: i64) -> Result<Handle<sys::isl_val>> {
        isl!(self, isl_val_int_from_si(self.raw(), value as _))
    }
}

/// What an isl function may return.
pub(crate) trait Returned {
    type Value;
    fn check(self, context: &Context, operation: &'static str) -> Result<Self::Value>;
}

impl<T: Object> Returned for *mut T {
    type Value = Handle<T>;
    fn check(self, context: &Context, operation: &'static str) -> Result<Handle<T>> {
        match NonNull::new(self) {
            Some(raw) => Ok(Handle { context: context.clone(), raw }),
            None => Err(context.error(operation)),
        }
    }
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

/// An isl type with a reference count.
pub(crate) trait Object {
    /// # Safety
    /// `raw` is live.
    unsafe fn copy(isl: &sys::Isl, raw: *mut Self) -> *mut Self;
    /// # Safety
    /// `raw` is live, and this reference is not used again.
    unsafe fn free(isl: &sys::Isl, raw: *mut Self);
}

/// An isl type that prints itself.
pub(crate) trait Printed: Object {
    /// # Safety
    /// `raw` is live.
    unsafe fn text(isl: &sys::Isl, raw: *mut Self) -> *mut c_char;
}

macro_rules! objects {
    ($($object:ident $copy:ident $free:ident;)*) => {$(
        impl Object for sys::$object {
            unsafe fn copy(isl: &sys::Isl, raw: *mut Self) -> *mut Self {
                // SAFETY: the caller's promise.
                unsafe { isl.$copy(raw) }
            }
            unsafe fn free(isl: &sys::Isl, raw: *mut Self) {
                // SAFETY: the caller's promise.
                unsafe { isl.$free(raw) };
            }
        }
    )*};
}

macro_rules! printed {
    ($($object:ident $to_str:ident;)*) => {$(
        impl Printed for sys::$object {
            unsafe fn text(isl: &sys::Isl, raw: *mut Self) -> *mut c_char {
                // SAFETY: the caller's promise.
                unsafe { isl.$to_str(raw) }
            }
        }
    )*};
}

objects! {
    isl_id isl_id_copy isl_id_free;
    isl_val isl_val_copy isl_val_free;
    isl_point isl_point_copy isl_point_free;
    isl_space isl_space_copy isl_space_free;
    isl_mat isl_mat_copy isl_mat_free;
    isl_basic_set isl_basic_set_copy isl_basic_set_free;
    isl_basic_map isl_basic_map_copy isl_basic_map_free;
    isl_set isl_set_copy isl_set_free;
    isl_map isl_map_copy isl_map_free;
    isl_union_set isl_union_set_copy isl_union_set_free;
    isl_union_map isl_union_map_copy isl_union_map_free;
    isl_aff isl_aff_copy isl_aff_free;
    isl_pw_aff isl_pw_aff_copy isl_pw_aff_free;
    isl_multi_aff isl_multi_aff_copy isl_multi_aff_free;
    isl_pw_multi_aff isl_pw_multi_aff_copy isl_pw_multi_aff_free;
    isl_multi_union_pw_aff isl_multi_union_pw_aff_copy isl_multi_union_pw_aff_free;
    isl_qpolynomial isl_qpolynomial_copy isl_qpolynomial_free;
    isl_pw_qpolynomial isl_pw_qpolynomial_copy isl_pw_qpolynomial_free;
    isl_term isl_term_copy isl_term_free;
    isl_schedule isl_schedule_copy isl_schedule_free;
    isl_ast_build isl_ast_build_copy isl_ast_build_free;
    isl_ast_node isl_ast_node_copy isl_ast_node_free;
    isl_ast_expr isl_ast_expr_copy isl_ast_expr_free;
    isl_basic_set_list isl_basic_set_list_copy isl_basic_set_list_free;
    isl_basic_map_list isl_basic_map_list_copy isl_basic_map_list_free;
    isl_set_list isl_set_list_copy isl_set_list_free;
    isl_map_list isl_map_list_copy isl_map_list_free;
    isl_id_list isl_id_list_copy isl_id_list_free;
    isl_ast_node_list isl_ast_node_list_copy isl_ast_node_list_free;
}

printed! {
    isl_val isl_val_to_str;
    isl_set isl_set_to_str;
    isl_map isl_map_to_str;
    isl_union_set isl_union_set_to_str;
    isl_union_map isl_union_map_to_str;
    isl_aff isl_aff_to_str;
    isl_pw_aff isl_pw_aff_to_str;
    isl_pw_qpolynomial isl_pw_qpolynomial_to_str;
    isl_schedule isl_schedule_to_str;
}

/// One reference to an isl object.
pub(crate) struct Handle<T: Object> {
    context: Context,
    raw: NonNull<T>,
}

impl<T: Object> Handle<T> {
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Lends the pointer: for __isl_keep arguments.
    pub(crate) fn keep(&self) -> *mut T {
        self.raw.as_ptr()
    }

    /// Passes on a reference of its own: for __isl_take arguments.
    pub(crate) fn take(&self) -> *mut T {
        // SAFETY: `raw` is live.
        unsafe { T::copy(self.context.isl(), self.raw.as_ptr()) }
    }

    /// Passes on this reference itself: for __isl_take arguments that are changed in place when nothing else refers to
    /// them.
    pub(crate) fn pass(self) -> *mut T {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so its context is taken over exactly once.
        drop(unsafe { std::ptr::read(&this.context) });
        this.raw.as_ptr()
    }

    pub(crate) fn same<U: Object>(&self, other: &Handle<U>) -> Result<()> {
        self.context.same(&other.context)
    }
}

impl<T: Printed> Handle<T> {
    pub(crate) fn text(&self) -> Result<String> {
        // SAFETY: `raw` is live.
        self.context.call("to_str", |isl| unsafe { T::text(isl, self.raw.as_ptr()) })
    }

    /// The text, for `Display` and messages: printing takes steps too, so it may hit the limit.
    pub(crate) fn show(&self) -> String {
        self.text().unwrap_or_else(|error| format!("<{error}>"))
    }
}

impl<T: Object> Clone for Handle<T> {
    fn clone(&self) -> Self {
        let raw = NonNull::new(self.take()).expect("copying a live object only counts a reference");
        Handle { context: self.context.clone(), raw }
    }
}

impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: this reference is ours and ends here; the context outlives it.
        unsafe { T::free(self.context.isl(), self.raw.as_ptr()) }
    }
}

/// Collects what an isl `foreach` function passes on, as raw pointers that the callback owns.
pub(crate) unsafe extern "C" fn collect<A>(object: *mut A, user: *mut c_void) -> sys::isl_stat {
    // SAFETY: `user` is the vector that the caller of the `foreach` function passed.
    unsafe { (*user.cast::<Vec<*mut A>>()).push(object) };
    sys::isl_stat_ok
}

/// [`collect`] for pieces, which come as two objects.
pub(crate) unsafe extern "C" fn collect_pair<A, B>(
    first: *mut A,
    second: *mut B,
    user: *mut c_void,
) -> sys::isl_stat {
    // SAFETY: `user` is the vector that the caller of the `foreach` function passed.
    unsafe { (*user.cast::<Vec<(*mut A, *mut B)>>()).push((first, second)) };
    sys::isl_stat_ok
}

/// Runs a `foreach` function over pieces and takes over what it passed on.
pub(crate) fn pieces<A: Object, B: Object>(
    context: &Context,
    operation: &'static str,
    foreach: impl FnOnce(&sys::Isl, *mut c_void) -> sys::isl_stat,
) -> Result<Vec<(Handle<A>, Handle<B>)>> {
    let mut raw: Vec<(*mut A, *mut B)> = Vec::new();
    let status = context.call(operation, |isl| foreach(isl, (&raw mut raw).cast()));
    let owned: Vec<_> = raw
        .into_iter()
        .map(|(a, b)| (a.check(context, operation), b.check(context, operation)))
        .collect();
    status?;
    owned.into_iter().map(|(a, b)| Ok((a?, b?))).collect()
}

/// The value of an isl number as an integer.
pub(crate) fn to_i64(value: &Handle<sys::isl_val>) -> Result<i64> {
    let context = value.context();
    context.no_error_so_far();
    if isl!(context, isl_val_is_int(value.keep()))? == 0 {
        return Err(Error::Overflow { value: value.show() });
    }
    // SAFETY: `value` is live.
    let number = unsafe { context.isl().isl_val_get_num_si(value.keep()) };
    if context.has_error() {
        context.no_error_so_far();
        return Err(Error::Overflow { value: value.show() });
    }
    #[allow(clippy::useless_conversion)] // `long` has 32 bits on some systems.
    Ok(i64::from(number))
}

/// The value of an isl number as a fraction.
pub(crate) fn to_ratio(value: &Handle<sys::isl_val>) -> Result<num_rational::Ratio<i128>> {
    let text = value.text()?;
    let (numerator, denominator) = text.split_once('/').unwrap_or((&text, "1"));
    match (numerator.parse(), denominator.parse()) {
        (Ok(n), Ok(d)) => Ok(num_rational::Ratio::new(n, d)),
        _ if text.contains("infty") => Err(Error::Infinite { set: "a domain".into() }),
        _ => Err(Error::Overflow { value: text }),
    }
}

/// `Clone` (by derive), `Display`, `Debug` and `context()` of a wrapper around one handle.
macro_rules! wrapper {
    ($($name:ident),*) => {$(
        impl $name {
            /// The context that the object belongs to.
            pub fn context(&self) -> &$crate::Context {
                self.0.context()
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0.show())
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0.show())
            }
        }
    )*};
}

/// `parse` of a wrapper around one handle.
macro_rules! parsed {
    ($name:ident, $read:ident) => {
        impl $name {
            /// Reads isl's notation.
            pub fn parse(context: &$crate::Context, text: &str) -> $crate::Result<Self> {
                let c_text = $crate::context::c_string(text)?;
                isl!(context, $read(context.raw(), c_text.as_ptr())).map(Self).map_err(|error| {
                    match error {
                        $crate::Error::Isl { message, .. } => {
                            $crate::Error::unreadable(text, message)
                        }
                        other => other,
                    }
                })
            }
        }
    };
}

/// What isl simplified `whole` to, or `whole` itself where isl fails by a defect of its own (coalescing finds the
/// "total dimensionality changed unexpectedly" of some sets with divisions). Limits are errors as ever.
pub(crate) fn simplified<T: Clone>(whole: &T, result: Result<T>) -> Result<T> {
    match result {
        Err(Error::Isl { .. }) => Ok(whole.clone()),
        result => result,
    }
}

/// Methods of the common shapes, one line each; `same` marks simplifications, whose result is the same object in other
/// words.
macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident($($kind:tt)*) $(-> $out:ident)? = $function:ident;)*) => {$(
        methods!(@one [$(#[$doc])*] $name [$($kind)*] [$($out)?] $function);
    )*};
    (@one [$(#[$doc:meta])*] $name:ident [] [$out:ident] $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> $crate::Result<$out> {
            isl!(self.0.context(), $function(self.0.take())).map($out)
        }
    };
    (@one [$(#[$doc:meta])*] $name:ident [same] [$out:ident] $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> $crate::Result<$out> {
            $crate::context::simplified(self, isl!(self.0.context(), $function(self.0.take())).map($out))
        }
    };
    (@one [$(#[$doc:meta])*] $name:ident [?] [] $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self) -> $crate::Result<bool> {
            Ok(isl!(self.0.context(), $function(self.0.keep()))? != 0)
        }
    };
    (@one [$(#[$doc:meta])*] $name:ident [? $other:ident: $type:ty] [] $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self, $other: &$type) -> $crate::Result<bool> {
            self.0.same(&$other.0)?;
            Ok(isl!(self.0.context(), $function(self.0.keep(), $other.0.keep()))? != 0)
        }
    };
    (@one [$(#[$doc:meta])*] $name:ident [$other:ident: $type:ty] [$out:ident] $function:ident) => {
        $(#[$doc])*
        pub fn $name(&self, $other: &$type) -> $crate::Result<$out> {
            self.0.same(&$other.0)?;
            isl!(self.0.context(), $function(self.0.take(), $other.0.take())).map($out)
        }
    };
}
