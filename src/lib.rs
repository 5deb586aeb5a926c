//! dastac compiles tensor algebra over structured and sparse tensors.
//!
//! A program in STUR says what to compute and what is known about the tensors: where they are zero, and which elements
//! repeat others. The three things that most users want:
//!
//! **Layouts.** Where each element stands in a buffer that holds the unique and non-zero ones only:
//!
//! ```
//! # fn main() -> Result<(), dastac::Error> {
//! use dastac::driver::Analysis;
//! let laid = Analysis::of(
//!     "symbols: N
//!      B:D(i, j) := (0 <= i < N) * (0 <= j < N)
//!      B:U(i, j) := (i <= j)
//!      x:D(j) := (0 <= j < N)
//!      y(i) := B(i, j) * x(j)",
//! )?
//! .lay_out()?;
//! let b = laid.program().find("B").unwrap();
//! assert_eq!(laid.layouts[b.0].size.to_string(), "1/2*N^2 + 1/2*N");
//! # Ok(())
//! # }
//! ```
//!
//! **Compile and run.** The program becomes machine code for this processor. Inputs and results are dense arrays in C
//! order, in the shape of the tensor's box; what the structure says is not stored must be there as it says:
//!
//! ```
//! # fn main() -> Result<(), dastac::Error> {
//! use dastac::build::BuildOptions;
//! use dastac::driver::compile;
//! use dastac::run::Runner;
//! let built = compile(
//!     "symbols: N
//!      B:D(i, j) := (0 <= i < N) * (0 <= j < N)
//!      B:U(i, j) := (i <= j)
//!      x:D(j) := (0 <= j < N)
//!      y(i) := B(i, j) * x(j)",
//!     BuildOptions::default(),
//! )?;
//! let mut runner = Runner::new(built, &[("N".into(), 2)].into(), 1)?;
//! let program = runner.built().program();
//! let [b, x, y] = ["B", "x", "y"].map(|name| program.find(name).unwrap());
//! runner.set_input(b, &[1.0, 2.0, 0.0, 3.0], &[2, 2])?;
//! runner.set_input(x, &[10.0, 100.0], &[2])?;
//! runner.execute()?;
//! assert_eq!(runner.dense(y)?[..], [210.0, 300.0]);
//! # Ok(())
//! # }
//! ```
//!
//! **Sparse tensors.** A tensor with `:F` has a format, and its elements are known when it is bound to a run. Entries
//! may come in any format, and are converted to that of the program:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use dastac::build::BuildOptions;
//! use dastac::driver::compile;
//! use dastac::elements::Storage;
//! use dastac::formats::{Build, Entries, Format, Tensor};
//! use dastac::run::Runner;
//! let built = compile(
//!     "symbols: M, N
//!      A:D(i, j) := (0 <= i < M) * (0 <= j < N)
//!      A:F := csr
//!      x:D(j) := (0 <= j < N)
//!      y(i) := A(i, j) * x(j)",
//!     BuildOptions::default(),
//! )?;
//! let mut runner = Runner::new(built, &[("M".into(), 2), ("N".into(), 3)].into(), 1)?;
//! let program = runner.built().program();
//! let [a, x, y] = ["A", "x", "y"].map(|name| program.find(name).unwrap());
//! let entries = Entries::new(vec![2, 3], vec![1, 2, 0, 0], Storage::from(vec![5.0, 2.0]))?;
//! runner.bind(a, Tensor::from_entries(&entries, &Format::coo(2), Build::default())?)?;
//! runner.set_input(x, &[1.0, 10.0, 100.0], &[3])?;
//! runner.execute()?;
//! assert_eq!(runner.dense(y)?[..], [2.0, 500.0]);
//! # Ok(())
//! # }
//! ```
//!
//! [`driver`] has the stages, [`run`] their runs, [`export`] programs as C libraries, [`package`] as files that run
//! without the compiler, and [`tune`] the search for schedules. [`runtime`] runs what was compiled: any number of
//! threads at once, on memory that the caller lends. Each other module is a crate of the compiler; ARCHITECTURE.md in
//! the repository says how they fit together.

pub use dastac_backend as backend;
pub use dastac_driver::{
    Error, Side, build, cached, contract, driver, export, human, machine, package, run, schedule,
    targets, trips, tune, verify, workspaces,
};
pub use dastac_elements as elements;
pub use dastac_formats as formats;
pub use dastac_iterate as iterate;
pub use dastac_layout as layout;
pub use dastac_loops as loops;
pub use dastac_poly as poly;
pub use dastac_runtime as runtime;
pub use dastac_sched as sched;
pub use dastac_stur as stur;
pub use dastac_target as target;
