//! Libraries whose results are sparse: products of sparse matrices, and transposes.

use std::time::{Duration, Instant};

use dastac_driver::run::Runner;
use dastac_elements::Storage;
use dastac_formats::storage::Indices;
use dastac_formats::{Format, Tensor};
use dastac_runtime::Role;
use dastac_stur::program::TensorId;

use super::blas;
use super::request::{Ready, Request};
use crate::Error;
use crate::bindings::blas::products::{Arrays, Routines, Sparse};
use crate::entries::of_rows;
use crate::kernels::Call;
use crate::system::System;

/// Whether libraries compute a sparse matrix for this call.
pub(super) fn has(call: Option<Call>) -> bool {
    let calls = [Call::SparseProduct, Call::SparseColumns, Call::SparseTranspose, Call::Conversion];
    call.is_some_and(|call| calls.contains(&call))
}

/// A matrix in rows or columns.
pub(super) struct Operand<'a> {
    /// Rows and columns.
    pub(super) shape: [usize; 2],
    /// Whether it stands in columns.
    pub(super) columns: bool,
    /// Where rows (or columns) begin.
    pub(super) positions: &'a Indices,
    /// Columns (or rows) of entries.
    pub(super) coordinates: &'a Indices,
    /// Their values.
    pub(super) values: &'a [f64],
}

impl Operand<'_> {
    /// Its arrays as MKL takes them.
    pub(super) fn arrays(&self) -> Result<Arrays, String> {
        Ok(Arrays {
            shape: self.shape,
            columns: self.columns,
            positions: narrow(self.positions)?,
            coordinates: narrow(self.coordinates)?,
            values: self.values.to_vec(),
        })
    }
}

/// The dynamic inputs, in the order of their names.
pub(super) fn operands(shared: &Runner) -> Result<Vec<Operand<'_>>, String> {
    let mut ids: Vec<TensorId> = (0..shared.facts().len()).map(TensorId).collect();
    ids.retain(|id| shared.facts()[id.0].role == Role::Input);
    ids.sort_by_key(|id| &shared.facts()[id.0].name);
    let bound = |id: &TensorId| operand(shared.bound(*id)?);
    let all: Option<Vec<Operand<'_>>> = ids.iter().map(bound).collect();
    all.ok_or_else(|| "it is measured on rows and columns of 64-bit numbers only".into())
}

/// A tensor as an operand, if it is a matrix in rows or columns.
pub(super) fn operand(tensor: &Tensor) -> Option<Operand<'_>> {
    let columns = *tensor.format() == Format::csc();
    let level = tensor.levels().get(1)?;
    let [height, width] = tensor.shape() else { return None };
    (columns || *tensor.format() == Format::csr()).then_some(Operand {
        shape: [*height as usize, *width as usize],
        columns,
        positions: level.positions()?,
        coordinates: level.coordinates()?,
        values: tensor.values().as_slice()?,
    })
}

/// Numbers as MKL takes them.
pub(super) fn narrow(array: &Indices) -> Result<Vec<i32>, String> {
    let narrow = array.iter().map(i32::try_from);
    narrow.collect::<Result<_, _>>().map_err(|_| "its arrays do not fit 32 bits".into())
}

/// The multiply-adds of a product: each element of the first matrix meets a row of the second one.
pub(crate) fn multiply_adds(shared: &Runner) -> Option<f64> {
    let operands = operands(shared).ok()?;
    let [a, b] = &operands[..] else { return None };
    // How many entries there are with each number of the dimension that is summed over.
    let counts = |operand: &Operand<'_>, outer: bool| -> Vec<u64> {
        if outer {
            let bounds: Vec<u64> = operand.positions.iter().collect();
            return bounds.windows(2).map(|bounds| bounds[1] - bounds[0]).collect();
        }
        let extent = operand.shape[usize::from(!operand.columns)];
        let mut counts = vec![0; extent];
        operand.coordinates.iter().for_each(|at| counts[at as usize] += 1);
        counts
    };
    let pairs = counts(a, a.columns).into_iter().zip(counts(b, !b.columns));
    Some(pairs.map(|(one, other)| one as f64 * other as f64).sum())
}

/// The tensor that is computed.
pub(super) fn output(shared: &Runner) -> Result<TensorId, String> {
    let output = shared.facts().iter().position(|fact| fact.role != Role::Input);
    Ok(TensorId(output.ok_or("nothing is computed")?))
}

/// MKL's: `mkl` leaves rows of products as they come, `mkl-sorted` orders them.
pub(super) fn mkl(Request { name, job, shared, .. }: Request<'_>) -> Ready {
    let library = blas::library("mkl", job)?;
    let routines = library.products.ok_or("the library has no products of sparse matrices")?;
    let call = job.call.ok_or("there is no routine for it")?;
    let mut operands_of = Vec::new();
    for operand in operands(shared)? {
        let matrix = routines.matrix(operand.arrays()?);
        operands_of.push(matrix.map_err(|error| error.to_string())?);
    }
    let ordered = name == "mkl-sorted";
    let routine = match call {
        Call::SparseTranspose => "mkl_sparse_convert_csr of the transpose",
        Call::SparseColumns => "mkl_sparse_spmm, mkl_sparse_convert_csr",
        _ => "mkl_sparse_spmm",
    };
    let then = if ordered { ", mkl_sparse_order" } else { "" };
    let detail = format!("{routine}{then} ({})", library.version);
    let (output, name) = (output(shared)?, name.to_string());
    let columns = shared.facts()[output.0].shape.get(1).map_or(1, |extent| *extent as u64);
    let operands = operands_of;
    Ok(Box::new(Mkl {
        routines,
        name,
        detail,
        call,
        operands,
        ordered,
        output,
        columns,
        result: None,
    }))
}

struct Mkl {
    routines: Routines,
    name: String,
    detail: String,
    call: Call,
    operands: Vec<Sparse>,
    ordered: bool,
    output: TensorId,
    columns: u64,
    result: Option<Sparse>,
}

impl Mkl {
    fn computed(&self) -> Result<Sparse, Error> {
        let mut result = match (self.call, &self.operands[..]) {
            (Call::SparseTranspose, [a]) => a.rows(true)?,
            (Call::SparseColumns, [a, b]) => a.times(b)?.rows(false)?,
            (_, [a, b]) => a.times(b)?,
            _ => return Err(Error::Peer("it takes two matrices".into())),
        };
        if self.ordered {
            result.order()?;
        }
        Ok(result)
    }
}

impl System for Mkl {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, _shared: &mut Runner) -> Result<Duration, Error> {
        self.result = None;
        let start = Instant::now();
        self.result = Some(self.computed()?);
        Ok(start.elapsed())
    }

    fn forget(&mut self, _shared: &mut Runner) {
        self.result = None;
        self.routines.free_buffers();
    }

    fn result(&mut self, _shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        let Some(result) = self.result.as_ref().filter(|_| tensor == self.output) else {
            return Err(Error::Peer("it has no such result".into()));
        };
        let arrays = result.arrays()?;
        let wide = |all: &[i32]| all.iter().map(|at| i64::from(*at)).collect::<Vec<i64>>();
        of_rows(&wide(&arrays.positions), &wide(&arrays.coordinates), &arrays.values, self.columns)
    }
}
