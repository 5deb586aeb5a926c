//! RV32IMF: instructions in a dense form ([`Op`]), how they are read from words ([`decode()`]) and what they compute
//! ([`alu`]).

pub mod alu;
mod decode;
mod op;

pub use decode::decode;
pub use op::{Class, Group, Kind, NOWHERE, Op, Rounding};
