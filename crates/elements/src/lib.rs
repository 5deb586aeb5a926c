//! Element types of tensors and buffers, and memory that holds elements of any of them.
//!
//! [`Element`] names a type; [`Native`] is what Rust calls it; [`Scalar`] is one element of any type. [`Storage`] owns
//! elements of one type, [`View`] and [`ViewMut`] borrow them. All follow from one table in `element.rs`: code that
//! must do the same for every type says [`with_type!`] and is compiled once for each. [`Function`] names the functions
//! that are applied to each element, one table too.
//!
//! ```
//! use dastac_elements::{Element, Storage, with_type};
//!
//! let mut storage = Storage::zeroed(Element::F32, 3)?;
//! storage.as_mut_slice::<f32>().unwrap()[1] = 1.5;
//! assert_eq!(storage.as_slice::<f32>(), Some(&[0.0, 1.5, 0.0][..]));
//! assert_eq!(storage.as_slice::<f64>(), None);
//! assert_eq!(with_type!(storage.element(), T => size_of::<T>()), 4);
//! # Ok::<(), dastac_elements::NoMemory>(())
//! ```

#[macro_use]
mod element;

mod bytes;
mod cast;
mod function;
mod native;
mod number;
mod shared;
mod space;
mod storage;
mod text;
mod values;
mod view;

#[cfg(test)]
mod tests;

pub use bytes::NoMemory;
pub use cast::CastError;
pub use element::{Element, Kind, Scalar, types};
pub use function::{Function, Parity};
pub use native::{Native, Word};
pub use num_complex::Complex;
pub use number::Number;
pub use shared::Shared;
pub use space::Space;
pub use storage::Storage;
pub use text::{Decimal, count};
pub use view::{View, ViewMut};
