//! What follows from the values of the symbols: how large everything is, and whether the code may run.

use std::collections::BTreeMap;

use dastac_elements::Element;
use dastac_formats::Format;
use dastac_loops::Index;
use serde::{Deserialize, Serialize};

use super::{Computed, Magnitude, Role, format_text};
use crate::error::{Error, Result};

/// Symbols and tensors. Expressions are over the symbols, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// The names of the symbols that a caller gives values.
    pub symbols: Vec<String>,
    /// What is divided by.
    pub divisors: Vec<Divisor>,
    /// Expressions that must have a value.
    pub derived: Vec<Derived>,
    /// The tensors.
    pub tensors: Vec<TensorInfo>,
    /// Loop nests with computed iterators and conditions.
    pub computed: Vec<Computed>,
    /// The only values of the symbols that the code is for; none if it is for all.
    #[serde(default)]
    pub only: Vec<i64>,
    /// Coordinates of results that workspaces keep as one number.
    #[serde(default)]
    pub keys: Vec<Keys>,
}

/// Coordinates of some levels of a result that stand together in one number: a key of a workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Keys {
    /// The result.
    pub tensor: String,
    /// The iterators of the levels.
    pub iterators: Vec<String>,
    /// How many coordinates each has.
    pub extents: Vec<Index>,
}

impl Keys {
    /// Whether all keys, and the numbers on the way to them, fit 64 bits.
    fn fit(&self, symbols: &[i64]) -> bool {
        // Code that sorts by digits rounds the number of keys up to whole digits.
        const MOST: i64 = i64::MAX - (1 << 16);
        let mut extents = self.extents.iter().map(|extent| extent.eval_symbols(symbols).ok());
        let count = extents.try_fold(1i64, |all, extent| all.checked_mul(extent?.max(1)));
        count.is_some_and(|count| count <= MOST)
    }
}

/// An expression that must be positive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Divisor {
    /// The expression as the program writes it.
    pub text: String,
    /// How to compute it.
    pub value: Index,
}

/// An expression that must fit 64 bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Derived {
    /// The expression as the program writes it.
    pub text: String,
    /// How to compute it.
    pub value: Index,
}

/// What is known of a tensor before the values of the symbols are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Where its values come from.
    pub role: Role,
    /// The type of its elements.
    pub element: Element,
    /// Its box.
    pub extents: Vec<Index>,
    /// Number of stored elements; 0 for a tensor with a format.
    pub size: Index,
    /// Where an element stands in the packed buffer, for people; or the format.
    pub index: String,
    /// Pieces of the index.
    pub pieces: usize,
    /// How large numbers become on the way to a position, for each piece of the index.
    pub positions: Vec<Magnitude>,
    /// How large numbers become on the way to the size, for each of its pieces.
    pub sizes: Vec<Magnitude>,
    /// Whether the packed buffer is the dense array of its box, in C order.
    #[serde(default)]
    pub whole: bool,
    /// Whether it is that, or has no elements, as a result has none of which no product has: see
    /// [`Instance::is_dense`](crate::Instance::is_dense).
    #[serde(default)]
    pub whole_or_empty: bool,
    /// The format that the program declares, if it does.
    #[serde(with = "format_text::optional")]
    pub format: Option<Format>,
    /// What elements are that nothing is added up for, if it is computed.
    #[serde(with = "zero_text")]
    pub zero: f64,
}

/// A number as text: JSON has none for infinities.
mod zero_text {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(zero: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&zero.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom(format!("`{text}` is no number")))
    }
}

/// What is known of a tensor at the given sizes; of one with a format, of what was bound last.
#[derive(Clone, Debug, Serialize)]
pub struct TensorFacts {
    /// Its name.
    pub name: String,
    /// Where its values come from.
    pub role: Role,
    /// The type of its elements.
    pub element: Element,
    /// Its box.
    pub shape: Vec<i64>,
    /// Stored elements.
    pub unique: i64,
    /// Bytes of the packed buffer.
    pub packed_bytes: u128,
    /// Bytes of a dense array of its box.
    pub dense_bytes: u128,
    /// The index polynomial.
    pub index: String,
    /// Pieces of the index.
    pub pieces: usize,
    /// The format, if it has one. Its stored elements and bytes are those of what is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

impl TensorFacts {
    /// Elements of a dense array of its box.
    pub fn cells(&self) -> u128 {
        self.dense_bytes / self.element.bytes() as u128
    }
}

impl Sizes {
    /// Values of the symbols in their order.
    ///
    /// # Errors
    /// Unknown, missing and negative symbols.
    pub fn symbol_values(&self, given: &BTreeMap<String, i64>) -> Result<Vec<i64>> {
        symbol_values(&self.symbols, given)
    }

    /// Facts of every tensor, after checking that no position and no expression overflows 64 bits.
    ///
    /// # Errors
    /// An overflow that is possible, naming the tensor or the expression; a divisor that is not positive; code for
    /// other sizes.
    pub fn at(&self, symbols: &[i64]) -> Result<Vec<TensorFacts>> {
        if !self.only.is_empty() && self.only != symbols {
            let pairs = self.symbols.iter().zip(&self.only);
            let text: Vec<String> =
                pairs.map(|(name, value)| format!("{name} = {value}")).collect();
            return Err(Error::OtherSizes(text.join(", ")));
        }
        for Divisor { text, value } in &self.divisors {
            match value.eval_symbols(symbols) {
                Ok(1..) => {}
                Ok(value) => return Err(Error::Divisor { text: text.clone(), value }),
                Err(_) => return Err(Error::Beyond(text.clone())),
            }
        }
        for Derived { text, value } in &self.derived {
            value.eval_symbols(symbols).map_err(|_| Error::Beyond(text.clone()))?;
        }
        if let Some(found) = self.computed.iter().find_map(|nest| nest.overflow(symbols)) {
            return Err(Error::Computed { text: found.text.clone(), span: found.span });
        }
        if let Some(keys) = self.keys.iter().find(|keys| !keys.fit(symbols)) {
            let (tensor, iterators) = (keys.tensor.clone(), keys.iterators.join(", "));
            return Err(Error::Keys { tensor, iterators });
        }
        self.tensors.iter().map(|tensor| tensor.at(symbols)).collect()
    }
}

/// Values of symbols in the order of their names.
///
/// # Errors
/// Unknown, missing and negative symbols.
pub fn symbol_values(names: &[String], given: &BTreeMap<String, i64>) -> Result<Vec<i64>> {
    if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
        return Err(Error::UnknownSymbol(unknown.clone()));
    }
    let value = |name: &String| match given.get(name) {
        None => Err(Error::MissingSymbol(name.clone())),
        Some(value) if *value < 0 => {
            Err(Error::NegativeSymbol { name: name.clone(), value: *value })
        }
        Some(value) => Ok(*value),
    };
    names.iter().map(value).collect()
}

impl TensorInfo {
    fn at(&self, symbols: &[i64]) -> Result<TensorFacts> {
        let too_large = || Error::TooLarge(self.name.clone());
        let shape: Option<Vec<i64>> =
            self.extents.iter().map(|extent| extent.eval_symbols(symbols).ok()).collect();
        let shape = shape.ok_or_else(too_large)?;
        let unique = match self.format {
            None => self.checked_size(symbols, &shape)?,
            Some(_) => 0,
        };
        let bytes = self.element.bytes() as u128;
        let mut cells = shape.iter().map(|extent| u128::from(extent.unsigned_abs()));
        let cells = cells.try_fold(1u128, u128::checked_mul);
        let dense_bytes = cells.and_then(|cells| cells.checked_mul(bytes));
        // A sparse tensor may have any box.
        let dense_bytes = dense_bytes.or_else(|| self.format.is_some().then_some(u128::MAX));
        Ok(TensorFacts {
            name: self.name.clone(),
            role: self.role,
            shape,
            unique,
            element: self.element,
            packed_bytes: u128::from(unique.unsigned_abs()) * bytes,
            dense_bytes: dense_bytes.ok_or_else(too_large)?,
            index: self.index.clone(),
            pieces: self.pieces,
            format: self.format.as_ref().map(ToString::to_string),
        })
    }

    /// Number of stored elements, after checking that no evaluation of a position or the size in 64-bit integers can
    /// overflow.
    fn checked_size(&self, symbols: &[i64], shape: &[i64]) -> Result<i64> {
        let overflow = || Error::Overflow { tensor: self.name.clone() };
        let largest: Vec<u64> =
            shape.iter().map(|extent| u64::try_from(extent - 1).unwrap_or(0)).collect();
        let in_use = shape.iter().all(|extent| *extent > 0);
        let positions = self.positions.iter().filter(|_| in_use);
        for magnitude in positions.chain(&self.sizes) {
            let bound = magnitude.bound(symbols, &largest).map_err(|_| overflow())?;
            if bound > i64::MAX.unsigned_abs().into() {
                return Err(overflow());
            }
        }
        self.size.eval_symbols(symbols).map_err(|_| overflow())
    }
}
