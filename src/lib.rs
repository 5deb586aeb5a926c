//! dastac: a compiler for structured and sparse tensor algebra.
//!
//! A program in STUR says what to compute and what is known about the tensors (zeros, redundancy). [`driver`] runs the
//! stages: parse and check, infer structure, lay out packed buffers, build loops, generate machine code. [`run`]
//! executes the result on dense arrays and compares it with the reference evaluator. [`tune`] searches for schedules
//! that are faster on this machine. Layout inference alone is in [`layout`].
//!
//! ```
//! # fn main() -> Result<(), dastac::Error> {
//! use dastac::driver::{Analysis, Target};
//! let analysis = Analysis::of(
//!     "symbols: N
//!      B:D(i, j) := (0 <= i < N) * (0 <= j < N)
//!      B:U(i, j) := (i <= j)
//!      x:D(j) := (0 <= j < N)
//!      y(i) := B(i, j) * x(j)",
//! )?;
//! let laid = analysis.lay_out()?;
//! let b = laid.analysis.inferred.program.find("B").unwrap();
//! assert_eq!(laid.layouts[b.0].size.to_string(), "1/2*N^2 + 1/2*N");
//! # Ok(())
//! # }
//! ```

//!
//! Tensors with `:F` are sparse, and bound to a run when they have been read ([`run::Runner::bind`]):
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::collections::BTreeMap;
//! use dastac::driver::{Target, compile};
//! use dastac::run::Runner;
//! use dastac::formats::{Build, Entries, Format, Tensor};
//! use dastac::elements::Storage;
//! let built = compile(
//!     "symbols: M, N
//!      A:D(i, j) := (0 <= i < M) * (0 <= j < N)
//!      A:F := csr
//!      x:D(j) := (0 <= j < N)
//!      y(i) := A(i, j) * x(j)",
//!     Target::default(),
//! )?;
//! let sizes = BTreeMap::from([("M".into(), 2), ("N".into(), 3)]);
//! let mut runner = Runner::new(built, &sizes, 1)?;
//! let program = &runner.built().lowered.laid.analysis.inferred.program;
//! let [a, x, y] = ["A", "x", "y"].map(|name| program.find(name).unwrap());
//! let entries = Entries::new(vec![2, 3], vec![1, 2, 0, 0], Storage::from(vec![5.0, 2.0]))?;
//! runner.bind(a, Tensor::from_entries(&entries, &Format::coo(2), Build::default())?)?;
//! runner.set_input(x, &[1.0, 10.0, 100.0], &[3])?;
//! runner.execute()?;
//! assert_eq!(runner.dense(y)?[..], [2.0, 500.0]);
//! # Ok(())
//! # }
//! ```

pub use dastac_backend as backend;
pub use dastac_driver::{Error, driver, dynamic, export, human, run, schedule, trips, tune};
pub use dastac_elements as elements;
pub use dastac_formats as formats;
pub use dastac_iterate as iterate;
pub use dastac_layout as layout;
pub use dastac_loops as loops;
pub use dastac_poly as poly;
pub use dastac_runtime as runtime;
pub use dastac_sched as sched;
pub use dastac_stur as stur;
