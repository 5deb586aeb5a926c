//! Handles: one reference to an isl object each, counted by isl and given back when the handle is dropped.

use crate::context::{Context, Returned, c_string};
use crate::{Error, Result};
use isl_vendor as sys;
use std::{
    ffi::{c_char, c_void},
    ptr::NonNull,
};

/// A pointer that the caller owns.
impl<T: Object> Returned for *mut T {
    type Value = Handle<T>;
    fn check(self, context: &Context, operation: &'static str) -> Result<Handle<T>> {
        match NonNull::new(self) {
            Some(raw) => Ok(Handle { context: context.clone(), raw }),
            None => Err(context.error(operation)),
        }
    }
}

impl Context {
    pub(crate) fn id(&self, name: &str) -> Result<Handle<sys::isl_id>> {
        let name = c_string(name)?;
        isl!(self, isl_id_alloc(self.raw(), name.as_ptr(), std::ptr::null_mut()))
    }

    pub(crate) fn integer(&self, value: i64) -> Result<Handle<sys::isl_val>> {
        isl!(self, isl_val_int_from_si(self.raw(), value as _))
    }
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

/// What isl simplified `whole` to, or `whole` itself where isl fails by a defect of its own (coalescing finds the
/// "total dimensionality changed unexpectedly" of some sets with divisions). Limits are errors as ever.
pub(crate) fn simplified<T: Clone>(whole: &T, result: Result<T>) -> Result<T> {
    match result {
        Err(Error::Isl { .. }) => Ok(whole.clone()),
        result => result,
    }
}
