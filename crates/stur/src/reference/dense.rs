//! Dense arrays in C order, and the errors of the reference evaluator.

use dastac_elements::{Native, NoMemory, Storage, with_type};

use crate::program::Element;

/// A dense array in C order, of elements of any type, exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// One extent a position; none for a scalar.
    pub shape: Vec<usize>,
    /// All elements, the last position fastest.
    pub data: Storage,
}

impl Array {
    /// Floats, two for each complex number, as a tensor with such elements holds them.
    ///
    /// # Errors
    /// No memory for them.
    pub fn of(element: Element, dense: Dense) -> Result<Array, NoMemory> {
        Ok(Array { shape: dense.shape, data: Storage::of_numbers(element, &dense.data)? })
    }

    /// As 64-bit floats, to which large integers are rounded.
    pub fn to_dense(&self) -> Dense {
        Dense { shape: self.shape.clone(), data: self.data.to_f64() }
    }

    /// The same values in a box of another shape of the same rank. Elements outside of the array become 0, and those
    /// outside of the new shape are left out.
    pub fn resized(&self, shape: &[usize]) -> Array {
        if self.shape == shape {
            return self.clone();
        }
        let data = with_type!(self.data.element(), T => {
            let own = self.data.typed::<T>();
            let value = |at: Option<usize>| at.map_or(T::from_rounded(0.0), |at| own[at]);
            let places = (0..shape.iter().product()).map(|at| index_at(shape, at));
            places.map(|index| value(position(&self.shape, &index))).collect::<Storage>()
        });
        Array { shape: shape.to_vec(), data }
    }
}

impl From<Dense> for Array {
    fn from(Dense { shape, data }: Dense) -> Array {
        Array { shape, data: Storage::from(data) }
    }
}

/// A dense array in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// One extent a position; none for a scalar.
    pub shape: Vec<usize>,
    /// All elements, the last position fastest; of each complex one the real and the imaginary part.
    pub data: Vec<f64>,
}

impl Dense {
    /// All zeros, of one number for each element.
    pub fn zeros(shape: &[usize]) -> Self {
        Dense { shape: shape.to_vec(), data: vec![0.0; shape.iter().product()] }
    }

    /// All zeros, of a type of elements: complex ones have two numbers each.
    pub fn zeros_of(element: Element, shape: &[usize]) -> Self {
        let numbers = shape.iter().product::<usize>() * element.parts();
        Dense { shape: shape.to_vec(), data: vec![0.0; numbers] }
    }

    /// A 0-d array.
    pub fn scalar(value: f64) -> Self {
        Dense { shape: Vec::new(), data: vec![value] }
    }

    /// The position of an element. `None` outside of the array.
    pub fn position(&self, index: &[i64]) -> Option<usize> {
        position(&self.shape, index)
    }

    /// The same values in a box of another shape of the same rank, with the element type `element`. Elements outside of
    /// the array become 0, and those outside of the new shape are left out.
    pub fn resized(&self, element: Element, shape: &[usize]) -> Dense {
        let (mut result, parts) = (Dense::zeros_of(element, shape), element.parts());
        for (at, value) in result.data.chunks_exact_mut(parts).enumerate() {
            if let Some(own) = self.position(&index_at(shape, at)) {
                value.copy_from_slice(&self.data[own * parts..][..parts]);
            }
        }
        result
    }

    /// How many numbers are not 0.
    pub fn nonzeros(&self) -> usize {
        self.data.iter().filter(|value| **value != 0.0).count()
    }

    /// A real element. `None` outside of the array.
    pub fn get(&self, index: &[i64]) -> Option<f64> {
        self.position(index).and_then(|at| self.data.get(at)).copied()
    }
}

/// The C-order position of an index. `None` outside of the box.
pub fn position(shape: &[usize], index: &[i64]) -> Option<usize> {
    let mut at = 0;
    for (extent, i) in shape.iter().zip(index) {
        let i = usize::try_from(*i).ok().filter(|i| i < extent)?;
        at = at * extent + i;
    }
    (shape.len() == index.len()).then_some(at)
}

/// The index at a C-order position.
pub(super) fn index_at(shape: &[usize], mut at: usize) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (i, extent) in index.iter_mut().zip(shape).rev() {
        *i = (at % extent) as i64;
        at /= extent;
    }
    index
}

/// Why a program cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// The number of values is not the number of symbols.
    #[error(
        "{} given, the program has {}",
        dastac_elements::count(*found, "symbol value"),
        dastac_elements::count(*expected, "symbol")
    )]
    SymbolCount {
        /// Symbols of the program.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// A symbol is negative, but symbols are sizes and positions.
    #[error("symbol `{symbol}` is negative: {value}")]
    NegativeSymbol {
        /// Its name.
        symbol: String,
        /// Its value.
        value: i64,
    },
    /// A name that does not exist, although the checker accepted it.
    #[error("unknown name `{name}`")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A number does not fit 64 bits.
    #[error("integer overflow in a subscript or comparison")]
    Overflow,
    /// A divisor of `/` or `%` is not positive.
    #[error("division by {value}: `/` and `%` take a positive integer")]
    Divisor {
        /// The divisor.
        value: i64,
    },
    /// An iterator has infinitely many values, or bounds that interval propagation does not find.
    #[error("iterator `{iterator}` is unbounded")]
    Unbounded {
        /// Its name.
        iterator: String,
    },
    /// A tensor has an element at a negative index, but arrays start at 0.
    #[error("`{tensor}` has a negative index at position {position}")]
    NegativeIndex {
        /// The tensor.
        tensor: String,
        /// Position from 1.
        position: usize,
    },
    /// A rule computes an element that has no place in the head's array.
    #[error("`{tensor}` is computed at {index:?}, outside its dimensions")]
    OutsideBox {
        /// The tensor.
        tensor: String,
        /// The element.
        index: Vec<i64>,
    },
    /// `:U` and `:R` contradict each other.
    #[error("element {index:?} of `{tensor}` {problem}")]
    Structure {
        /// The tensor.
        tensor: String,
        /// The element.
        index: Vec<i64>,
        /// What is wrong with it.
        problem: String,
    },
    /// An input was not given.
    #[error("input `{tensor}` is missing")]
    MissingInput {
        /// The tensor.
        tensor: String,
    },
    /// An input has another shape.
    #[error("`{tensor}` has shape {expected:?}, not {found:?}")]
    WrongShape {
        /// The tensor.
        tensor: String,
        /// Its shape.
        expected: Vec<usize>,
        /// The array's shape.
        found: Vec<usize>,
    },
    /// A tensor has more elements than an array can have.
    #[error("`{tensor}` is too large for a dense array")]
    TooLarge {
        /// The tensor.
        tensor: String,
    },
}
