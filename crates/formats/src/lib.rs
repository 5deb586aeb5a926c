//! Dynamically sparse tensors: those whose pattern is known only when they are read.
//!
//! - [`format`](mod@format): how a tensor is stored, level by level (`:F` in a program).
//! - [`storage`]: the arrays of a tensor in a format; building, converting, checking them.
//! - [`io`]: files, read and written.
//! - [`inspect`]: what can be seen of a tensor, and pictures of its pattern.
//!
//! ```
//! # fn main() -> Result<(), dastac_formats::StorageError> {
//! use dastac_formats::{Build, Entries, Format, Tensor};
//! use dastac_elements::Storage;
//! let entries = Entries::new(vec![4, 4], vec![3, 2, 0, 0], Storage::from(vec![8.0, 5.0]))?;
//! let csr = Tensor::from_entries(&entries, &Format::csr(), Build::default())?;
//! let csc = csr.convert(&Format::csc(), Build::default())?;
//! assert_eq!(*csc.values(), Storage::from(vec![5.0, 8.0]));
//! # Ok(())
//! # }
//! ```

pub mod format;
pub mod hint;
pub mod inspect;
pub mod io;
pub mod level;
pub mod storage;

pub use dastac_elements::{Element, Storage};
pub use format::{Format, FormatError, Kind, Level};
pub use storage::{Build, Duplicates, Entries, StorageError, Tensor, TensorView};
