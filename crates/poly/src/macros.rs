//! Macros for what every wrapper of an isl object needs: calls, text, and methods of the common shapes.

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
            $crate::handle::simplified(self, isl!(self.0.context(), $function(self.0.take())).map($out))
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
