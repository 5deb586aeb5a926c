//! Code that is measured: small kernels, generated as those of programs are.

use dastac_loops::machine::Machine;
use dastac_runtime::{Argument, Code, Threads};
use dastac_target::TargetError;

use crate::Error;
use crate::build::BuildOptions;

/// What is computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Rows of neighbouring elements, each added up.
    Sums,
    /// A product of matrices that the first cache holds.
    Product,
    /// Rows of a sparse matrix, times a vector.
    Rows,
    /// Two vectors, multiplied element by element.
    Elements,
    /// A loop that threads share out, with nearly nothing to do.
    Fork,
}

/// The sizes of [`Kind::Product`]: rows, terms, columns.
pub(super) const PRODUCT: [usize; 3] = [24, 48, 64];

impl Kind {
    fn text(self) -> String {
        let [rows, terms, columns] = PRODUCT;
        match self {
            // Rows are a line of memory apart.
            Kind::Sums => "module(N, R)\nbuffer y : f64[R]\nbuffer a : f64[N + 8 * R]\n\
                func f(out y, in a) { parallel r = 0 to R { y[r] = sum(i = 0 to N) a[8 * r + i] } }"
                .to_owned(),
            Kind::Product => format!(
                "module()\nbuffer c : f64[{rows} * {columns}]\nbuffer a : f64[{rows} * {terms}]\n\
                 buffer b : f64[{terms} * {columns}]\n\
                 func f(out c, in a, in b) {{ parallel i = 0 to {rows} {{ parallel j = 0 to {columns} {{\n\
                 c[{columns} * i + j] = sum(k = 0 to {terms}) a[{terms} * i + k] * b[{columns} * k + j] }} }} }}"
            ),
            Kind::Rows => {
                "module(N, E, M)\nbuffer y : f64[N]\nbuffer pos : u32[N + 1]\nbuffer crd : u32[E]\n\
                buffer v : f64[E]\nbuffer x : f64[M]\n\
                func f(out y, in pos, in crd, in v, in x) { parallel i = 0 to N {\n\
                y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] } }"
                    .to_owned()
            }
            Kind::Elements => {
                "module(N)\nbuffer y : f64[N]\nbuffer a : f64[N]\nbuffer x : f64[N]\n\
                func f(out y, in a, in x) { parallel i = 0 to N { y[i] = a[i] * x[i] } }"
                    .to_owned()
            }
            Kind::Fork => "module(N)\nbuffer y : i64[N]\nbuffer a : i64[N]\n\
                func f(out y, in a) { parallel i = 0 to N { y[i] = a[i] } }"
                .to_owned(),
        }
    }
}

/// A kernel for a machine.
#[derive(Debug)]
pub(super) struct Kernel(Code);

impl Kernel {
    /// Compiles it; for several threads if the machine has them.
    pub(super) fn of(kind: Kind, machine: &Machine) -> Result<Kernel, Error> {
        let parallel = machine.has_threads();
        let machine = Some(machine.clone());
        let options = BuildOptions { parallel, machine, ..BuildOptions::default() };
        let module = dastac_loops::parse(&kind.text());
        let module = module.map_err(|error| TargetError::Invalid(error.to_string()))?;
        let generated = options.generate(module, &options.code())?;
        Ok(Kernel(Code::load(&generated.artifact)?))
    }

    /// Calls it on so many threads.
    pub(super) fn call_on(
        &self,
        threads: usize,
        symbols: &[i64],
        buffers: &mut [Argument<'_>],
    ) -> Result<(), Error> {
        Ok(self.0.call_on(Threads::Of(threads), "f", symbols, buffers)?)
    }

    /// Calls it.
    pub(super) fn call(&self, symbols: &[i64], buffers: &mut [Argument<'_>]) -> Result<(), Error> {
        self.call_on(1, symbols, buffers)
    }
}

/// LLVM needs as much stack as a main thread has.
const STACK: usize = 16 << 20;

/// Compiles several kernels, on as many threads as there are CPUs.
pub(super) fn compile(wanted: &[(Kind, Machine)]) -> Result<Vec<Kernel>, Error> {
    let each = wanted.len().div_ceil(super::host::cores()).max(1);
    let parts: Result<Vec<_>, Error> = std::thread::scope(|scope| {
        let start = |chunk| {
            let builder = std::thread::Builder::new().stack_size(STACK);
            (chunk, builder.spawn_scoped(scope, move || in_order(chunk)).ok())
        };
        let started: Vec<_> = wanted.chunks(each).map(start).collect();
        let finished = started.into_iter().map(|(chunk, thread)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why)),
            None => in_order(chunk),
        });
        finished.collect()
    });
    Ok(parts?.into_iter().flatten().collect())
}

fn in_order(wanted: &[(Kind, Machine)]) -> Result<Vec<Kernel>, Error> {
    wanted.iter().map(|(kind, machine)| Kernel::of(*kind, machine)).collect()
}
