//! The table of element types, and what holds for each.

use crate::{Native, Number};

/// What kind of number an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A binary floating-point number.
    Float,
    /// An integer in two's complement.
    Signed,
    /// An integer that is not negative.
    Unsigned,
    /// A truth value: a byte that is 0 or 1.
    Truth,
}

/// Makes everything that has one line for each element type. `$d` is a dollar sign.
macro_rules! elements {
    ($d:tt $($(#[$about:meta])* $variant:ident: $type:ty, $name:literal, $kind:ident;)*) => {
        /// The type of an element.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize,
        )]
        #[serde(rename_all = "lowercase")]
        pub enum Element {
            $($(#[$about])* $variant,)*
        }

        impl Element {
            /// All of them.
            pub const ALL: &[Element] = &[$(Element::$variant),*];

            /// Its name in programs and in the loop IR: `f64`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Element::$variant => $name,)*
                }
            }

            /// What kind of number it is.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Element::$variant => Kind::$kind,)*
                }
            }

            /// Bytes of one element; memory that holds it is aligned to as many.
            pub const fn bytes(self) -> usize {
                match self {
                    $(Element::$variant => size_of::<$type>(),)*
                }
            }
        }

        /// One element of any type.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Scalar {
            $($(#[$about])* $variant($type),)*
        }

        impl Scalar {
            /// Its type.
            pub const fn element(self) -> Element {
                match self {
                    $(Scalar::$variant(_) => Element::$variant,)*
                }
            }

            /// The same number, whatever it is stored as.
            pub fn number(self) -> Number {
                match self {
                    $(Scalar::$variant(value) => value.number(),)*
                }
            }
        }

        impl std::fmt::Display for Scalar {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Scalar::$variant(value) => value.fmt(f),)*
                }
            }
        }

        $(
            impl crate::native::Named for $type {
                const ELEMENT: Element = Element::$variant;

                fn scalar(self) -> Scalar {
                    Scalar::$variant(self)
                }
            }
        )*

        /// Compiles an expression for every element type and evaluates the one that an element names: `T` stands for the
        /// element's Rust type in `with_type!(element, T => size_of::<T>())`.
        #[macro_export]
        macro_rules! with_type {
            ($d element:expr, $d name:ident => $d body:expr) => {
                match $d element {
                    $($crate::Element::$variant => {
                        type $d name = $type;
                        $d body
                    })*
                }
            };
        }
    };
}

elements! {
    $
    /// IEEE binary64.
    F64: f64, "f64", Float;
    /// IEEE binary32.
    F32: f32, "f32", Float;
    /// Signed integer of 32 bits.
    I32: i32, "i32", Signed;
    /// Signed integer of 64 bits: sizes, positions, numbers.
    I64: i64, "i64", Signed;
    /// Unsigned integer of 32 bits: positions and coordinates of sparse tensors.
    U32: u32, "u32", Unsigned;
    /// A truth value: a byte that is 0 or 1.
    Bool: bool, "bool", Truth;
}

/// What tensors have unless a program says something else.
impl Default for Element {
    fn default() -> Element {
        Element::F64
    }
}

impl Element {
    /// Those that tensors have in programs; the others are for positions and coordinates only.
    pub const OF_TENSORS: &[Element] =
        &[Element::F64, Element::F32, Element::I32, Element::I64, Element::Bool];

    /// The type of this name.
    pub fn named(name: &str) -> Option<Element> {
        Element::ALL.iter().copied().find(|element| element.name() == name)
    }

    /// Whether it is a floating-point number.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether it is an integer or a truth value: those of read-only buffers may be loaded in integer expressions, and a
    /// value that is stored to one is computed in 64-bit integers, which wrap around.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned | Kind::Truth)
    }

    /// What an integer becomes when it is stored: what does not fit wraps around, and all but 0 is true. Others hold it.
    pub const fn wrapped(self, value: i64) -> i64 {
        let unused = 64u32.saturating_sub(8 * self.bytes() as u32);
        match self.kind() {
            Kind::Signed => value << unused >> unused,
            Kind::Unsigned => (value.cast_unsigned() << unused >> unused).cast_signed(),
            Kind::Truth => (value != 0) as i64,
            Kind::Float => value,
        }
    }

    /// The value that an element holds after `value` is stored to it: rounded to shorter floats, wrapped around to
    /// integers, and true if it is not 0. Exact for integers up to 2^53.
    pub fn round(self, value: f64) -> f64 {
        let bits = 8 * self.bytes() as i32;
        match self.kind() {
            Kind::Float => with_type!(self, T => rounded::<T>(value)),
            Kind::Signed => wrapped(value.trunc(), -2f64.powi(bits - 1), 2f64.powi(bits)),
            Kind::Unsigned => wrapped(value.trunc(), 0.0, 2f64.powi(bits)),
            Kind::Truth => f64::from(u8::from(value != 0.0)),
        }
    }

    /// The distance from 1 to the next larger number of a float type; 0 for integers, which do not round.
    pub fn epsilon(self) -> f64 {
        with_type!(self, T => <T as Native>::EPSILON)
    }

    /// A value for tests: `unit` is in `0..1`. Floats are not near 0, integers small, and neither is 0; what is negative
    /// is false.
    pub fn sample(self, unit: f64, negative: bool) -> f64 {
        let size = match self.kind() {
            Kind::Float => self.round(0.25 + 0.75 * unit),
            Kind::Signed | Kind::Unsigned => 1.0 + (9.0 * unit).floor(),
            Kind::Truth => return f64::from(u8::from(!negative)),
        };
        if negative { -size } else { size }
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Scalar {
    /// As a 64-bit float, to which large integers are rounded.
    pub fn to_f64(self) -> f64 {
        self.number().to_f64()
    }
}

/// A float as this type holds it; all float types hold the nearest one.
fn rounded<T: Native>(value: f64) -> f64 {
    T::from_number(Number::Float(value)).map_or(value, |stored| stored.number().to_f64())
}

/// An integer within the `count` integers from `least` on.
fn wrapped(value: f64, least: f64, count: f64) -> f64 {
    match value >= least && value < least + count {
        true => value,
        false => (value - least).rem_euclid(count) + least,
    }
}
