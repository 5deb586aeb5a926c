//! MKL and OpenBLAS: the best of their routines for a kernel, on packed elements.
//!
//! Packed elements are assumed to be in the order of the tensors' dimensions, row after row. If they are not, the
//! results differ, and the cell of the table says so.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::bindings::blas::{Blas, Routines};
use dastac_runtime::Role;
use dastac_stur::program::{Element, TensorId};

use super::request::{Ready, Request};
use crate::Error;
use crate::job::Job;
use crate::kernels::Call;
use crate::system::System;
use dastac_driver::driver::Laid;
use dastac_driver::run::Runner;
use dastac_elements::{Storage, View};

/// The library of this name, loaded.
pub(super) fn library(name: &str, job: &Job) -> Result<Blas, String> {
    let path = match name {
        "mkl" => mkl(&job.places.peers),
        _ => openblas(&job.places.peers),
    };
    let path = path.ok_or("not installed: `./x bench --peers` fetches it")?;
    let blas = Blas::load(&path).map_err(|error| error.to_string())?;
    blas.set_threads(job.threads);
    Ok(blas)
}

pub(super) fn system(Request { name, job, laid, shared }: Request<'_>) -> Ready {
    let call = job.call.ok_or("no routine of a library computes it")?;
    let blas = library(name, job)?;
    if matches!(call, Call::Multiply | Call::Leslie) && !blas.f64.multiplies() {
        return Err("the library has no element-wise product".into());
    }
    // Its threads of this routine start threads of inner products, and all wait for each other (seen with 0.3.34).
    let long = shared.facts().iter().any(|fact| fact.shape.iter().any(|extent| *extent >= 10_000));
    if name == "openblas" && call == Call::Triangle && job.threads > 1 && long {
        return Err("its tpmv never ends on several threads from 10000 columns on".into());
    }
    let facts = shared.facts().to_vec();
    let output = facts.iter().position(|fact| fact.role != Role::Input);
    let output = TensorId(output.ok_or("nothing is computed")?);
    let element = facts[output.0].element;
    let symbol = |name: &str| {
        let value = job.symbols.iter().find(|(symbol, _)| symbol == name).map(|(_, value)| *value);
        value.and_then(|value| usize::try_from(value).ok()).unwrap_or(0)
    };
    let sizes = Sizes { m: symbol("M"), n: symbol("N"), p: symbol("P"), q: symbol("Q") };
    let length = match call {
        Call::Square => sizes.n * sizes.n,
        _ => facts[output.0].unique.unsigned_abs() as usize,
    };
    let scratch = match call {
        Call::Vectors => sizes.m * sizes.n,
        Call::TriangleVectors => sizes.n * sizes.n,
        _ => length,
    };
    let buffer = |length| Storage::zeroed(element, length).map_err(|error| error.to_string());
    let mut library = Library {
        name: name.into(),
        blas,
        call,
        routine: "",
        sizes,
        output,
        result: buffer(length)?,
        scratch: buffer(scratch)?,
        square: Square::default(),
        other: None,
    };
    if call == Call::Contract {
        library.square.columns = matrix_by_columns(shared, laid);
    }
    // There are two routines, and each can use either order of the matrix; the fastest combination counts.
    if call == Call::Square {
        let input = facts.iter().position(|fact| fact.role == Role::Input).map(TensorId);
        let input = input.ok_or("there is no matrix")?;
        let columns = laid.layouts[input.0].order == [1, 0];
        let packed = shared.packed(input);
        let (rows, length) = if columns { (sizes.n, sizes.m) } else { (sizes.m, sizes.n) };
        let mut other = buffer(packed.len())?;
        other.fill(|at| packed.number(at % rows * length + at / rows));
        library.other = Some(other);
        let mut best = Duration::MAX;
        let mut choice = Square::default();
        for (update, other) in [(false, false), (true, false), (false, true), (true, true)] {
            library.square = Square { update, other, columns: columns != other };
            library.run(shared).map_err(|error| error.to_string())?;
            for _ in 0..3 {
                let time = library.run(shared).map_err(|error| error.to_string())?;
                if time < best {
                    (best, choice) = (time, library.square);
                }
            }
        }
        library.square = choice;
        if !choice.other {
            library.other = None;
        }
    }
    library.routine = match call {
        Call::Contract => "gemm on the packed contraction",
        Call::Multiply => "vMul",
        Call::Vectors | Call::TriangleVectors => "gemv and dot",
        Call::Triangle => "tpmv",
        Call::Leslie => "dot and vMul",
        Call::Square if library.square.update => "syrk",
        Call::Square => "gemm",
        Call::SparseVector
        | Call::SparseMatrix
        | Call::SparseProduct
        | Call::SparseColumns
        | Call::SparseTranspose
        | Call::Convolution
        | Call::Conversion => "",
    };
    Ok(Box::new(library))
}

/// The file whose name begins so.
fn named(folder: &Path, start: &str) -> Option<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
        })
        .collect();
    files.sort();
    files.into_iter().next()
}

fn mkl(peers: &Path) -> Option<PathBuf> {
    named(&peers.join("lib"), "libmkl_rt.so")
}

fn openblas(peers: &Path) -> Option<PathBuf> {
    let python = named(&peers.join("lib"), "python")?;
    let wheel = named(&python.join("site-packages/scipy_openblas32/lib"), "libscipy_openblas");
    wheel.or_else(|| {
        let debian = ["openblas-pthread", "openblas-openmp", "openblas-serial"];
        let file = |kind: &str| format!("/usr/lib/x86_64-linux-gnu/{kind}/libopenblas.so.0");
        debian.iter().map(|kind| PathBuf::from(file(kind))).find(|path| path.exists())
    })
}

/// Values of symbols, 0 where the program has no such.
#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    n: usize,
    p: usize,
    q: usize,
}

struct Library {
    name: String,
    blas: Blas,
    call: Call,
    routine: &'static str,
    sizes: Sizes,
    output: TensorId,
    result: Storage,
    scratch: Storage,
    square: Square,
    /// The input in the other order, for [`Call::Square`].
    other: Option<Storage>,
}

/// How a square is computed, and where the other matrix of a contraction stands.
#[derive(Clone, Copy, Default)]
struct Square {
    /// A rank-k update instead of a matrix product.
    update: bool,
    /// On the matrix in the other order than dastac's.
    other: bool,
    /// It stands column after column.
    columns: bool,
}

impl System for Library {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        format!("{} ({})", self.routine, self.blas.version)
    }

    fn run(&mut self, shared: &mut Runner) -> Result<Duration, Error> {
        let other = self.other.as_ref().filter(|_| self.square.other);
        let inputs: Vec<View<'_>> = (0..shared.facts().len())
            .filter(|at| shared.facts()[*at].role == Role::Input)
            .map(|at| other.map_or_else(|| shared.packed(TensorId(at)), Storage::view))
            .collect();
        let start = Instant::now();
        let task = Task { call: self.call, sizes: self.sizes, square: self.square };
        let (result, scratch) = (&mut self.result, &mut self.scratch);
        if let Some((result, scratch)) = result.as_mut_slice().zip(scratch.as_mut_slice()) {
            let inputs: Vec<&[f64]> = inputs.iter().filter_map(|input| input.as_slice()).collect();
            task.run(&self.blas.f64, &inputs, result, scratch)?;
        } else if let Some((result, scratch)) = result.as_mut_slice().zip(scratch.as_mut_slice()) {
            let inputs: Vec<&[f32]> = inputs.iter().filter_map(|input| input.as_slice()).collect();
            task.run(&self.blas.f32, &inputs, result, scratch)?;
        }
        Ok(start.elapsed())
    }

    fn forget(&mut self, _shared: &mut Runner) {
        self.result.fill(|_| f64::NAN);
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        let element: Element = shared.facts()[tensor.0].element;
        if tensor != self.output {
            return Err(
                dastac_driver::Error::UnknownTensor(shared.facts()[tensor.0].name.clone()).into()
            );
        }
        if self.call == Call::Square {
            // One triangle of the matrix was computed, or both: what is packed stands in the upper one.
            return Ok(shared.pack(tensor, self.result.view())?);
        }
        let mut copy = Storage::zeroed(element, self.result.len())?;
        copy.fill(|at| self.result.number(at));
        Ok(copy)
    }
}

/// Whether the last input is a matrix that stands column after column.
pub(super) fn matrix_by_columns(shared: &Runner, laid: &Laid) -> bool {
    let last = shared.facts().iter().rposition(|fact| fact.role == Role::Input);
    last.is_some_and(|last| laid.layouts[last].order == [1, 0])
}

struct Task {
    call: Call,
    sizes: Sizes,
    square: Square,
}

impl Task {
    /// The routines' calls, on inputs in the order in which the program names them first.
    fn run<T: Copy>(
        &self,
        routines: &Routines<T>,
        inputs: &[&[T]],
        result: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), Error> {
        let Sizes { m, n, p, q } = self.sizes;
        match (self.call, inputs) {
            (Call::Contract, [b, c]) => {
                let rows = result.len() / p.max(1);
                let transposed = !self.square.columns;
                routines.gemm([rows, p, q], (b, false), (c, transposed), result)?;
            }
            (Call::Multiply, [a, b]) => drop(routines.multiply(a, b, result)?),
            (Call::Multiply, [a, b, c]) => {
                routines.multiply(a, b, scratch)?;
                routines.multiply(scratch, c, result)?;
            }
            (Call::Vectors, [b, c, d]) => {
                routines.gemv([m * n, p], (b, false), d, scratch)?;
                routines.gemv([m, n], (scratch, false), c, result)?;
            }
            (Call::TriangleVectors, [b, c, d]) => {
                let rows = b.len() / p.max(1);
                routines.gemv([rows, p], (b, false), d, scratch)?;
                let mut start = 0;
                for (i, result) in result.iter_mut().enumerate() {
                    let length = n - 1 - i.min(n - 1);
                    // Of `C`, row 0 meets only zeros and is not stored.
                    *result = routines.dot(&scratch[start..start + length], &c[i..i + length])?;
                    start += length;
                }
            }
            (Call::Triangle, [a, x]) => {
                result.copy_from_slice(&x[..result.len()]);
                routines.tpmv(a, result)?;
            }
            (Call::Leslie, [b, c]) => {
                result[0] = routines.dot(&b[..n], c)?;
                let length = b.len() - n;
                routines.multiply(&b[n..], &c[..length], &mut result[1..])?;
            }
            (Call::Square, [b]) if self.square.update => {
                routines.syrk([n, m], (b, self.square.columns), result)?;
            }
            (Call::Square, [b]) => {
                let columns = self.square.columns;
                routines.gemm([n, n, m], (b, !columns), (b, columns), result)?;
            }
            _ => {}
        }
        Ok(())
    }
}
