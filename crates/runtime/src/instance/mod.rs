//! A program at given sizes, with its memory: what one thread of a caller works with.
//!
//! Dense arrays (C order, the tensor's box) come in through [`Instance::set_input`], which checks them against the
//! declared structure and packs them, and go out through [`Instance::unpacked`]. Packed buffers may be the caller's own
//! memory ([`Instance::lend`], [`Instance::lend_mut`]). Tensors with formats come in through [`Instance::bind`] and go
//! out through [`Instance::result`].

mod arrays;
mod conversion;
mod inputs;
mod place;
mod results;
mod rows;
mod run;
mod state;
mod structure;

pub use inputs::{Deviation, stream};
pub use place::unflatten;
pub use results::TakenResult;
pub use run::Substitute;
pub use state::{DEFAULT_DENSITY, Instance};
