//! A sparse matrix brought into another format: by dastac, and by MKL.

use std::time::{Duration, Instant};

use dastac_driver::run::Runner;
use dastac_elements::Storage;
use dastac_formats::format::{default_names, parse};
use dastac_formats::{Build, Format, Tensor};
use dastac_runtime::{Role, build};
use dastac_stur::program::TensorId;

use super::blas;
use super::products::{operand, output};
use super::request::{Ready, Request};
use crate::Error;
use crate::bindings::blas::products::{Routines, Sparse};
use crate::entries::{of_columns, of_rows, of_tensor};
use crate::system::System;

/// The matrix that is converted.
fn source(shared: &Runner) -> Result<&Tensor, String> {
    let ids = (0..shared.facts().len()).map(TensorId);
    let mut inputs = ids.filter(|id| shared.facts()[id.0].role == Role::Input);
    inputs.find_map(|id| shared.bound(id)).ok_or_else(|| "there is no sparse matrix".into())
}

/// The matrix that is converted, in rows.
pub(super) fn rows(shared: &Runner) -> Result<Tensor, String> {
    source(shared)?.convert(&Format::csr(), build()).map_err(|error| error.to_string())
}

/// The format that it is to have, as the program names it.
fn to(shared: &Runner) -> Option<&str> {
    shared.facts()[output(shared).ok()?.0].format.as_deref()
}

/// The names of the formats that it has and is to have.
pub(super) fn formats(shared: &Runner) -> Option<Vec<String>> {
    Some(vec![source(shared).ok()?.format().to_string(), to(shared)?.to_string()])
}

pub(super) fn system(request: Request<'_>) -> Ready {
    match request.name {
        "mkl" => mkl(request),
        name => own(name, request.job.threads, request.shared),
    }
}

fn own(name: &str, threads: usize, shared: &Runner) -> Ready {
    let to = to(shared).ok_or("the result has no format")?;
    let to = parse(to, &default_names(2)).map_err(|error| error.to_string())?;
    let bytes = |tensor: &Tensor| dastac_driver::human(u128::from(tensor.bytes()));
    let tensor = source(shared)?;
    let converted = tensor.convert(&to, build()).map_err(|error| error.to_string())?;
    let detail = format!("{} become {}", bytes(tensor), bytes(&converted));
    // This thread, which is tied to a CPU, is one of them.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build();
    let threads = threads.map_err(|error| error.to_string())?;
    Ok(Box::new(Own { name: name.into(), detail, to, build: build(), threads, result: None }))
}

struct Own {
    name: String,
    detail: String,
    to: Format,
    build: Build,
    threads: rayon::ThreadPool,
    result: Option<Tensor>,
}

impl System for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, shared: &mut Runner) -> Result<Duration, Error> {
        self.result = None;
        let tensor = source(shared).map_err(Error::Peer)?;
        let (converted, taken) = self.threads.install(|| {
            let start = Instant::now();
            (tensor.convert(&self.to, self.build), start.elapsed())
        });
        self.result = Some(converted.map_err(|error| Error::Peer(error.to_string()))?);
        Ok(taken)
    }

    fn forget(&mut self, _shared: &mut Runner) {
        self.result = None;
    }

    fn result(&mut self, _shared: &mut Runner, _tensor: TensorId) -> Result<Storage, Error> {
        of_tensor(self.result.as_ref().ok_or_else(|| Error::Peer("it was not run".into()))?)
    }
}

/// What MKL makes of a matrix.
#[derive(Clone, Copy)]
enum Target {
    Rows,
    /// As rows of the transpose.
    Columns,
    /// Square ones of this many rows.
    Blocks(usize),
}

fn mkl(Request { job, shared, .. }: Request<'_>) -> Ready {
    let library = blas::library("mkl", job)?;
    let routines = library.products.ok_or("the library has no conversions of sparse matrices")?;
    let formats = formats(shared).ok_or("the result has no format")?;
    let (from, to) = (&formats[0][..], &formats[1][..]);
    let target = match (to, blocks(to)) {
        ("csr", _) => Target::Rows,
        // The transpose of rows; other matrices are no rows.
        ("csc", _) if from == "csr" => Target::Columns,
        (_, Some(size)) => Target::Blocks(size),
        _ => return Err(format!("it does not convert {from} to {to}")),
    };
    let by_rows = rows(shared)?;
    let by_columns = match from {
        "csr" | "coo" => None,
        // Empty columns are no columns less in MKL.
        "csc" | "dcsc" => {
            let columns = by_rows.convert(&Format::csc(), build());
            Some(columns.map_err(|error| error.to_string())?)
        }
        _ => return Err(format!("it does not convert {from} to {to}")),
    };
    let of = operand(by_columns.as_ref().unwrap_or(&by_rows));
    let of = of.ok_or("it is measured on 64-bit numbers only")?;
    let arrays = of.arrays()?;
    let columns = of.shape[1] as u64;
    let operand = if from == "coo" { routines.listed(arrays) } else { routines.matrix(arrays) };
    let operand = operand.map_err(|error| error.to_string())?;
    let routine = match target {
        Target::Rows => "mkl_sparse_convert_csr",
        Target::Columns => "mkl_sparse_convert_csr of the transpose",
        Target::Blocks(_) => "mkl_sparse_convert_bsr",
    };
    let detail = format!("{routine} ({})", library.version);
    Ok(Box::new(Mkl { detail, routines, operand, target, columns, result: None }))
}

/// The rows of square blocks in rows, if a format is that.
fn blocks(format: &str) -> Option<usize> {
    let (rows, columns) = format.strip_prefix("bcsr(")?.strip_suffix(')')?.split_once(", ")?;
    (rows == columns).then(|| rows.parse().ok())?
}

struct Mkl {
    detail: String,
    routines: Routines,
    operand: Sparse,
    target: Target,
    columns: u64,
    result: Option<Sparse>,
}

impl System for Mkl {
    fn name(&self) -> &str {
        "mkl"
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, _shared: &mut Runner) -> Result<Duration, Error> {
        self.result = None;
        let start = Instant::now();
        let result = match self.target {
            Target::Rows => self.operand.rows(false),
            Target::Columns => self.operand.rows(true),
            Target::Blocks(size) => self.operand.blocks(size),
        };
        let taken = start.elapsed();
        self.result = Some(result?);
        Ok(taken)
    }

    fn forget(&mut self, _shared: &mut Runner) {
        self.result = None;
        self.routines.free_buffers();
    }

    fn result(&mut self, _shared: &mut Runner, _tensor: TensorId) -> Result<Storage, Error> {
        let result = self.result.as_ref().ok_or_else(|| Error::Peer("it was not run".into()))?;
        let arrays = match self.target {
            Target::Blocks(_) => result.rows(false)?.arrays()?,
            _ => result.arrays()?,
        };
        let wide = |all: &[i32]| all.iter().map(|at| i64::from(*at)).collect::<Vec<i64>>();
        let (positions, coordinates) = (wide(&arrays.positions), wide(&arrays.coordinates));
        match self.target {
            Target::Columns => of_columns(&positions, &coordinates, &arrays.values, self.columns),
            _ => of_rows(&positions, &coordinates, &arrays.values, self.columns),
        }
    }
}
