//! The table of element types, and what holds for each.

/// What kind of number an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A binary floating-point number.
    Float,
    /// A complex number: a real and an imaginary part, both of them floats.
    Complex,
    /// An integer in two's complement.
    Signed,
    /// An integer that is not negative.
    Unsigned,
    /// A truth value: a byte that is 0 or 1.
    Truth,
}

/// What the table of element types says about a Rust type.
pub trait Named: Sized {
    /// Which element type it is.
    const ELEMENT: Element;

    /// As an element of any type.
    fn scalar(self) -> Scalar;
}

/// Makes everything that has one line for each element type. `$d` is a dollar sign.
macro_rules! elements {
    ($d:tt $(#[doc = $about:literal] $variant:ident: $type:ty, $name:literal, $kind:ident;)*) => {
        /// Rust's types for elements, by the names of [`Element`].
        pub mod types {
            $(#[doc = $about] pub type $variant = $type;)*
        }

        /// The type of an element.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, serde::Serialize,
        )]
        #[serde(rename_all = "lowercase")]
        pub enum Element {
            $(#[doc = $about] $variant,)*
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

            /// What it is, in a few words.
            pub fn about(self) -> &'static str {
                match self {
                    $(Element::$variant => $about.trim().trim_end_matches('.'),)*
                }
            }

            /// What kind of number it is.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Element::$variant => Kind::$kind,)*
                }
            }

            /// Bytes of one element; memory that holds it is aligned to as many as one of its parts has.
            pub const fn bytes(self) -> usize {
                match self {
                    $(Element::$variant => size_of::<$type>(),)*
                }
            }
        }

        /// One element of any type.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Scalar {
            $(#[doc = $about] $variant($type),)*
        }

        impl Scalar {
            /// Its type.
            pub const fn element(self) -> Element {
                match self {
                    $(Scalar::$variant(_) => Element::$variant,)*
                }
            }
        }

        impl std::fmt::Display for Scalar {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    Scalar::F64(value) => return crate::Decimal(*value).fmt(f),
                    Scalar::F32(value) => return crate::Decimal(*value).fmt(f),
                    Scalar::Bf16(value) => return crate::Decimal(value.to_f32()).fmt(f),
                    _ => {}
                }
                match self {
                    $(Scalar::$variant(value) => value.fmt(f),)*
                }
            }
        }

        $(
            impl Named for $type {
                const ELEMENT: Element = Element::$variant;

                fn scalar(self) -> Scalar {
                    Scalar::$variant(self)
                }
            }
        )*

        /// Compiles an expression for the value of every scalar and evaluates the one that is there.
        macro_rules! with_scalar {
            ($d scalar:expr, $d value:ident => $d body:expr) => {
                match $d scalar {
                    $($crate::Scalar::$variant($d value) => $d body,)*
                }
            };
        }

        /// Compiles an expression for every element type and evaluates the one that an element names: `T` stands for
        /// the element's Rust type in `with_type!(element, T => size_of::<T>())`.
        #[macro_export]
        macro_rules! with_type {
            ($d element:expr, $d name:ident => $d body:expr) => {
                match $d element {
                    $($crate::Element::$variant => {
                        type $d name = $crate::types::$variant;
                        $d body
                    })*
                }
            };
        }
    };
}

elements! {
    $
    /// 64-bit floats (IEEE binary64).
    F64: f64, "f64", Float;
    /// 32-bit floats (IEEE binary32).
    F32: f32, "f32", Float;
    /// 16-bit floats (IEEE binary16).
    F16: half::f16, "f16", Float;
    /// 16-bit floats with the exponents of 32-bit ones (bfloat16).
    Bf16: half::bf16, "bf16", Float;
    /// Complex numbers of two 64-bit floats.
    C128: num_complex::Complex<f64>, "complex128", Complex;
    /// Complex numbers of two 32-bit floats.
    C64: num_complex::Complex<f32>, "complex64", Complex;
    /// 8-bit integers.
    I8: i8, "i8", Signed;
    /// 16-bit integers.
    I16: i16, "i16", Signed;
    /// 32-bit integers.
    I32: i32, "i32", Signed;
    /// 64-bit integers.
    I64: i64, "i64", Signed;
    /// 8-bit integers without a sign.
    U8: u8, "u8", Unsigned;
    /// 16-bit integers without a sign: coordinates of levels that are said to have so few bits.
    U16: u16, "u16", Unsigned;
    /// 32-bit integers without a sign: positions and coordinates of sparse tensors.
    U32: u32, "u32", Unsigned;
    /// Truth values, each a byte: a pattern.
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
    pub const OF_TENSORS: &[Element] = &[
        Element::F64,
        Element::F32,
        Element::F16,
        Element::Bf16,
        Element::C128,
        Element::C64,
        Element::I8,
        Element::I16,
        Element::I32,
        Element::I64,
        Element::U8,
        Element::Bool,
    ];

    /// The names of those that tensors have: `f64, f32 and bool`.
    pub fn names() -> String {
        let names: Vec<&str> = Element::OF_TENSORS.iter().map(|element| element.name()).collect();
        match names.split_last() {
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// The type of this name.
    pub fn named(name: &str) -> Option<Element> {
        Element::ALL.iter().copied().find(|element| element.name() == name)
    }

    /// Whether it is a floating-point number.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether it is a complex number.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// The type of the real numbers that an element consists of: that of both parts of a complex number, else the type
    /// itself.
    pub const fn part(self) -> Element {
        match self {
            Element::C128 => Element::F64,
            Element::C64 => Element::F32,
            real => real,
        }
    }

    /// Of how many real numbers an element consists: complex ones of their real and imaginary part, in this order.
    pub const fn parts(self) -> usize {
        self.bytes() / self.part().bytes()
    }

    /// Whether it is an integer with a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed)
    }

    /// Whether it is an integer or a truth value: those of read-only buffers may be loaded in integer expressions, and
    /// a value that is stored to one is computed in 64-bit integers, which wrap around.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned | Kind::Truth)
    }

    /// Whether it is a float that is only stored: numbers are computed in 32-bit floats and rounded when they are
    /// stored.
    pub const fn is_short_float(self) -> bool {
        self.is_float() && self.bytes() < Element::F32.bytes()
    }

    /// The type in which numbers of this type alone are computed: 64-bit integers for integers and truth values, floats
    /// of at least 32 bits for floats, complex numbers as they are.
    pub const fn computed(self) -> Element {
        match self.kind() {
            Kind::Float if self.is_short_float() => Element::F32,
            Kind::Float | Kind::Complex => self,
            Kind::Signed | Kind::Unsigned | Kind::Truth => Element::I64,
        }
    }

    /// Whether this type holds all values of another one, exactly, but for 64-bit integers, of which 64-bit floats hold
    /// those up to 2^53.
    pub fn holds(self, other: Element) -> bool {
        let bits = |element: Element| 8 * element.bytes();
        match (other.kind(), self.kind()) {
            _ if other == self => true,
            (Kind::Truth, _) => true,
            (Kind::Complex, _) => self.is_complex() && bits(self) > bits(other),
            (_, Kind::Complex) => self.part().holds(other),
            (Kind::Float, Kind::Float) => {
                // The two types of 16 bits hold different numbers.
                bits(self) > bits(other)
            }
            (Kind::Signed | Kind::Unsigned, Kind::Float) => {
                self == Element::F64 || self.epsilon() * 2f64.powi(bits(other) as i32) <= 2.0
            }
            (Kind::Signed, Kind::Signed) | (Kind::Unsigned, Kind::Unsigned | Kind::Signed) => {
                bits(self) > bits(other)
            }
            (Kind::Float | Kind::Signed, _) | (Kind::Unsigned, Kind::Truth) => false,
        }
    }

    /// What an integer becomes when it is stored: what does not fit wraps around, and all but 0 is true. Others hold
    /// it.
    pub const fn wrapped(self, value: i64) -> i64 {
        let unused = 64u32.saturating_sub(8 * self.bytes() as u32);
        match self.kind() {
            Kind::Signed => value << unused >> unused,
            Kind::Unsigned => (value.cast_unsigned() << unused >> unused).cast_signed(),
            Kind::Truth => (value != 0) as i64,
            Kind::Float | Kind::Complex => value,
        }
    }

    /// The least and the largest value. Integers of 64 bits are rounded to floats, which round back to them.
    pub fn range(self) -> (f64, f64) {
        let bits = 8 * self.bytes() as i32;
        match self.kind() {
            Kind::Float | Kind::Complex => (f64::NEG_INFINITY, f64::INFINITY),
            Kind::Signed => (-2f64.powi(bits - 1), 2f64.powi(bits - 1) - 1.0),
            Kind::Unsigned => (0.0, 2f64.powi(bits) - 1.0),
            Kind::Truth => (0.0, 1.0),
        }
    }

    /// A value for tests, or a part of a complex one: `unit` is in `0..1`. Floats are not near 0, integers are small,
    /// and neither is 0. If `negative`, the value is negative or false; types without signs only have positive values.
    pub fn sample(self, unit: f64, negative: bool) -> f64 {
        let size = match self.kind() {
            Kind::Float | Kind::Complex => self.round(0.25 + 0.75 * unit),
            Kind::Unsigned => return 1.0 + (9.0 * unit).floor(),
            Kind::Signed => 1.0 + (9.0 * unit).floor(),
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
