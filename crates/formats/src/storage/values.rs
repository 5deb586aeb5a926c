//! Values of tensors: five types of elements.

use rayon::prelude::*;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// Truth values: a pattern.
    Bool,
}

impl ElementType {
    /// All of them.
    pub const ALL: [ElementType; 5] =
        [ElementType::F32, ElementType::F64, ElementType::I32, ElementType::I64, ElementType::Bool];

    /// Its name in programs: `f64`.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::F32 => "f32",
            ElementType::F64 => "f64",
            ElementType::I32 => "i32",
            ElementType::I64 => "i64",
            ElementType::Bool => "bool",
        }
    }

    /// Bytes of one element.
    pub fn bytes(self) -> u64 {
        match self {
            ElementType::F64 | ElementType::I64 => 8,
            ElementType::F32 | ElementType::I32 => 4,
            ElementType::Bool => 1,
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// A truth value.
    Bool(bool),
}

impl Scalar {
    /// As a 64-bit float, to which large integers are rounded.
    #[allow(clippy::cast_precision_loss)]
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::F32(value) => value.into(),
            Scalar::F64(value) => value,
            Scalar::I32(value) => value.into(),
            Scalar::I64(value) => value as f64,
            Scalar::Bool(value) => u8::from(value).into(),
        }
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::F32(value) => value.fmt(f),
            Scalar::F64(value) => value.fmt(f),
            Scalar::I32(value) => value.fmt(f),
            Scalar::I64(value) => value.fmt(f),
            Scalar::Bool(value) => value.fmt(f),
        }
    }
}

/// A type that elements can have. Its default is the fill value, zero.
pub trait Value: Copy + Default + PartialEq + Send + Sync + 'static {
    /// Which one it is.
    const TYPE: ElementType;

    /// The sum of two entries of one element, if there is one: integers can overflow. Of truth values, whether either is true.
    fn plus(self, other: Self) -> Option<Self>;

    /// The negated value of an integer or a float, if there is one.
    fn negated(self) -> Option<Self>;

    /// Of any type.
    fn scalar(self) -> Scalar;

    /// In the lowest bits of a word.
    fn to_word(self) -> u64;

    /// The inverse of [`Value::to_word`].
    fn from_word(word: u64) -> Self;

    /// Many, of any type.
    fn wrap(values: Vec<Self>) -> Values;

    /// Whether it is this number.
    fn is(self, number: f64) -> bool {
        self.scalar().to_f64() == number
    }
}

macro_rules! value {
    ($type:ty, $variant:ident, $plus:expr, $negated:expr, $to:expr, $from:expr) => {
        impl Value for $type {
            const TYPE: ElementType = ElementType::$variant;

            fn plus(self, other: Self) -> Option<Self> {
                $plus(self, other)
            }

            fn negated(self) -> Option<Self> {
                $negated(self)
            }

            fn scalar(self) -> Scalar {
                Scalar::$variant(self)
            }

            fn to_word(self) -> u64 {
                $to(self)
            }

            #[allow(clippy::cast_possible_truncation)]
            fn from_word(word: u64) -> Self {
                $from(word)
            }

            fn wrap(values: Vec<Self>) -> Values {
                Values::$variant(values)
            }
        }
    };
}

value!(f32, F32, |a, b| Some(a + b), |a: f32| Some(-a), |a: f32| u64::from(a.to_bits()), |word| {
    f32::from_bits(word as u32)
});
value!(f64, F64, |a, b| Some(a + b), |a: f64| Some(-a), f64::to_bits, f64::from_bits);
value!(
    i32,
    I32,
    i32::checked_add,
    i32::checked_neg,
    |a: i32| u64::from(a.cast_unsigned()),
    |word| (word as u32).cast_signed()
);
value!(i64, I64, i64::checked_add, i64::checked_neg, i64::cast_unsigned, u64::cast_signed);
value!(bool, Bool, |a, b| Some(a || b), |_| None, u64::from, |word| word != 0);

/// Does the same with the type of an element.
macro_rules! with_type {
    ($element:expr, $name:ident => $body:expr) => {
        match $element {
            $crate::storage::ElementType::F32 => {
                type $name = f32;
                $body
            }
            $crate::storage::ElementType::F64 => {
                type $name = f64;
                $body
            }
            $crate::storage::ElementType::I32 => {
                type $name = i32;
                $body
            }
            $crate::storage::ElementType::I64 => {
                type $name = i64;
                $body
            }
            $crate::storage::ElementType::Bool => {
                type $name = bool;
                $body
            }
        }
    };
}
pub(crate) use with_type;

/// Elements in a row, all of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit floats.
    F64(Vec<f64>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// Truth values.
    Bool(Vec<bool>),
}

/// Elements in a row that somebody else has, all of one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slice<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
    /// 32-bit integers.
    I32(&'a [i32]),
    /// 64-bit integers.
    I64(&'a [i64]),
    /// Truth values.
    Bool(&'a [bool]),
}

impl Slice<'_> {
    /// A copy.
    pub fn to_values(self) -> Values {
        match self {
            Slice::F32(values) => Values::F32(values.to_vec()),
            Slice::F64(values) => Values::F64(values.to_vec()),
            Slice::I32(values) => Values::I32(values.to_vec()),
            Slice::I64(values) => Values::I64(values.to_vec()),
            Slice::Bool(values) => Values::Bool(values.to_vec()),
        }
    }
}

/// Does the same with values of every type.
macro_rules! with_values {
    ($values:expr, $name:ident => $body:expr) => {
        match $values {
            $crate::storage::Values::F32($name) => $body,
            $crate::storage::Values::F64($name) => $body,
            $crate::storage::Values::I32($name) => $body,
            $crate::storage::Values::I64($name) => $body,
            $crate::storage::Values::Bool($name) => $body,
        }
    };
}

/// A value that another type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{value} is no value of type {to}")]
pub struct CastError {
    /// The value.
    pub value: Scalar,
    /// Where it stands among the values.
    pub at: usize,
    /// The type that was asked for.
    pub to: ElementType,
}

impl Values {
    /// No values.
    pub fn none(of: ElementType) -> Values {
        match of {
            ElementType::F32 => Values::F32(Vec::new()),
            ElementType::F64 => Values::F64(Vec::new()),
            ElementType::I32 => Values::I32(Vec::new()),
            ElementType::I64 => Values::I64(Vec::new()),
            ElementType::Bool => Values::Bool(Vec::new()),
        }
    }

    /// All of them.
    pub fn as_slice(&self) -> Slice<'_> {
        match self {
            Values::F32(values) => Slice::F32(values),
            Values::F64(values) => Slice::F64(values),
            Values::I32(values) => Slice::I32(values),
            Values::I64(values) => Slice::I64(values),
            Values::Bool(values) => Slice::Bool(values),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    pub fn element(&self) -> ElementType {
        match self {
            Values::F32(_) => ElementType::F32,
            Values::F64(_) => ElementType::F64,
            Values::I32(_) => ElementType::I32,
            Values::I64(_) => ElementType::I64,
            Values::Bool(_) => ElementType::Bool,
        }
    }

    /// One of them.
    pub fn get(&self, at: usize) -> Option<Scalar> {
        with_values!(self, values => values.get(at).map(|value| value.scalar()))
    }

    /// How many are not zero.
    pub fn nonzeros(&self) -> u64 {
        let count =
            with_values!(self, values => values.par_iter().filter(|value| !value.is(0.0)).count());
        count as u64
    }

    /// Whether each is the other's negative.
    pub(crate) fn are_negatives_of(&self, other: &Values) -> bool {
        with_values!(self, values => values.iter().enumerate().all(|(at, value)| {
            value.negated().map(Value::scalar) == other.get(at)
        }))
    }

    /// Those at the given places.
    pub(crate) fn select(&self, places: &[usize]) -> Values {
        with_values!(self, values => Value::wrap(places.iter().map(|at| values[*at]).collect()))
    }

    /// As words, see [`Value::to_word`].
    pub(super) fn words(&self) -> Vec<u64> {
        with_values!(self, values => values.par_iter().map(|value| value.to_word()).collect())
    }

    /// Whether one of them is this number.
    pub(crate) fn is(&self, at: usize, number: f64) -> bool {
        with_values!(self, values => values[at].is(number))
    }

    /// Moves the values of `other`, which are of the same type, to the end.
    pub(crate) fn append(&mut self, other: Values) {
        match (self, other) {
            (Values::F32(all), Values::F32(more)) => all.extend(more),
            (Values::F64(all), Values::F64(more)) => all.extend(more),
            (Values::I32(all), Values::I32(more)) => all.extend(more),
            (Values::I64(all), Values::I64(more)) => all.extend(more),
            (Values::Bool(all), Values::Bool(more)) => all.extend(more),
            (all, more) => unreachable!("{} after {}", more.element(), all.element()),
        }
    }

    /// The same values in another type. Floats are rounded to shorter ones; a value that an integer type cannot hold, or an integer that a float
    /// type would round, is an error. Truth values become 0 and 1, and what is not 0 is true.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    pub fn cast(self, to: ElementType) -> Result<Values, CastError> {
        if self.element() == to {
            return Ok(self);
        }
        let whole = |value: f64, limit: f64| {
            (value.fract() == 0.0 && value >= -limit && value < limit).then_some(value as i64)
        };
        let (two31, two63) = (f64::from(1u32 << 31), (1u64 << 63) as f64);
        match (self, to) {
            (Values::F64(values), ElementType::F32) => map(values, to, |v| Some(v as f32)),
            (Values::F32(values), ElementType::F64) => map(values, to, |v| Some(f64::from(v))),
            (Values::I32(values), ElementType::F64) => map(values, to, |v| Some(f64::from(v))),
            (Values::I32(values), ElementType::I64) => map(values, to, |v| Some(i64::from(v))),
            (Values::I64(values), ElementType::I32) => map(values, to, |v| i32::try_from(v).ok()),
            (Values::I32(values), ElementType::F32) => {
                map(values, to, |v| (f64::from(v as f32) == f64::from(v)).then_some(v as f32))
            }
            (Values::I64(values), ElementType::F32) => {
                map(values, to, |v| ((v as f32) as i128 == i128::from(v)).then_some(v as f32))
            }
            (Values::I64(values), ElementType::F64) => {
                map(values, to, |v| ((v as f64) as i128 == i128::from(v)).then_some(v as f64))
            }
            (Values::F32(values), ElementType::I32) => {
                map(values, to, |v| whole(f64::from(v), two31).map(|v| v as i32))
            }
            (Values::F64(values), ElementType::I32) => {
                map(values, to, |v| whole(v, two31).map(|v| v as i32))
            }
            (Values::F32(values), ElementType::I64) => {
                map(values, to, |v| whole(f64::from(v), two63))
            }
            (Values::F64(values), ElementType::I64) => map(values, to, |v| whole(v, two63)),
            (Values::Bool(values), ElementType::F32) => {
                map(values, to, |v| Some(f32::from(u8::from(v))))
            }
            (Values::Bool(values), ElementType::F64) => {
                map(values, to, |v| Some(f64::from(u8::from(v))))
            }
            (Values::Bool(values), ElementType::I32) => map(values, to, |v| Some(i32::from(v))),
            (Values::Bool(values), ElementType::I64) => map(values, to, |v| Some(i64::from(v))),
            (values, _) => with_values!(values, values => map(values, to, |v| Some(!v.is(0.0)))),
        }
    }
}

fn map<A: Value, B: Value>(
    values: Vec<A>,
    to: ElementType,
    convert: impl Fn(A) -> Option<B>,
) -> Result<Values, CastError> {
    let fail = |at: usize| CastError { value: values[at].scalar(), at, to };
    let all = values.iter().enumerate().map(|(at, value)| convert(*value).ok_or_else(|| fail(at)));
    Ok(B::wrap(all.collect::<Result<Vec<B>, CastError>>()?))
}
