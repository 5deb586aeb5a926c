//! The machine that programs are compiled for on this computer: what passes decide by, measured once.
//!
//! What a choice depends on, and no list of processors knows, is measured with code that this compiler generates:
//! vectors of which width multiply and add fastest, whether a gather takes less time than as many loads, from which
//! size on stores past the caches gain, what it costs to wake threads, and what each cache and memory delivers. Each
//! time is the least of several, numbers are rounded to powers of the square root of two, and the description is kept
//! in a folder: what is generated on one computer does not change from run to run.
//!
//! - [`Description`]: a machine, and where its numbers are from.
//! - [`measured`]: the kept one of this computer, or a new one. [`measure`]: a new one.

mod clock;
mod description;
mod host;
mod kept;
mod kernel;
mod measure;
mod memory;

pub use description::{Description, Measurement, Origin};
pub use host::{cores, processor};
pub use kept::{keep, kept, measured};
pub use measure::measure;
