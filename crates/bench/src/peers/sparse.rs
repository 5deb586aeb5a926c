//! Products of a sparse matrix by libraries, on its rows.

use std::time::{Duration, Instant};

use crate::bindings::blas::sparse::Matrix;
use dastac_elements::Storage;
use dastac_formats::Format;
use dastac_formats::storage::Indices;
use dastac_stur::program::{Element, TensorId};

use super::blas;
use super::products::narrow;
use super::request::{Ready, Request};
use crate::Error;
use crate::system::{System, outputs};
use dastac_driver::driver::Laid;
use dastac_driver::run::Runner;

/// A product of a sparse matrix and dense columns, all in C order.
pub(super) struct Operands<'a> {
    /// Rows and columns.
    pub(super) shape: [usize; 2],
    /// Where rows begin, which columns they have, and their values.
    pub(super) positions: &'a Indices,
    pub(super) coordinates: &'a Indices,
    pub(super) values: &'a [f64],
    /// What it is multiplied with.
    pub(super) dense: TensorId,
    /// What is computed.
    pub(super) output: TensorId,
    /// Columns of both.
    pub(super) columns: usize,
}

/// The operands of a program that multiplies a matrix in rows.
pub(super) fn operands<'a>(laid: &Laid, shared: &'a Runner) -> Result<Operands<'a>, String> {
    let ids = || (0..shared.facts().len()).map(TensorId);
    let sparse = ids().find_map(|id| shared.bound(id)).ok_or("there is no sparse matrix")?;
    let output = *outputs(shared).first().ok_or("nothing is computed")?;
    let dense = ids().find(|id| *id != output && shared.bound(*id).is_none());
    let dense = dense.ok_or("there is nothing to multiply with")?;
    for id in [dense, output] {
        if !laid.layouts[id.0].order.is_sorted() {
            let name = &shared.facts()[id.0].name;
            return Err(format!("`{name}` does not stand in C order"));
        }
    }
    let rows = (sparse.values().as_slice::<f64>(), sparse.shape());
    let arrays = sparse.levels().get(1);
    let arrays = arrays.and_then(|level| Some((level.positions()?, level.coordinates()?)));
    match (rows, arrays) {
        ((Some(values), [height, width]), Some((positions, coordinates)))
            if *sparse.format() == Format::csr() =>
        {
            Ok(Operands {
                shape: [*height as usize, *width as usize],
                positions,
                coordinates,
                values,
                dense,
                output,
                columns: shared.facts()[dense.0]
                    .shape
                    .get(1)
                    .map_or(1, |columns| *columns as usize),
            })
        }
        _ => Err("it is measured on rows of 64-bit numbers only".into()),
    }
}

/// MKL's, on rows as they stand (`mkl-rows`) or stored anew as it likes (`mkl`).
pub(super) fn mkl(Request { name, job, laid, shared }: Request<'_>) -> Ready {
    let library = blas::library("mkl", job)?;
    let routines = library.sparse.ok_or("the library has no sparse matrices")?;
    let operands = operands(laid, shared)?;
    let (positions, coordinates) = (narrow(operands.positions)?, narrow(operands.coordinates)?);
    let Operands { shape, columns, dense, output, .. } = operands;
    let (prepared, how) = match name {
        "mkl" => (Some(columns), "optimized"),
        _ => (None, "on rows as they stand"),
    };
    let matrix = routines
        .matrix(shape, positions, coordinates, operands.values.to_vec(), prepared)
        .map_err(|error| error.to_string())?;
    let result = Storage::zeroed(Element::F64, shape[0] * columns);
    let result = result.map_err(|error| error.to_string())?;
    let routine = if columns == 1 { "mkl_sparse_d_mv" } else { "mkl_sparse_d_mm" };
    let detail = format!("{routine}, {how} ({})", library.version);
    let name = name.to_string();
    Ok(Box::new(Mkl { name, detail, matrix, columns, dense, output, result }))
}

struct Mkl {
    name: String,
    detail: String,
    matrix: Matrix,
    columns: usize,
    dense: TensorId,
    output: TensorId,
    result: Storage,
}

impl System for Mkl {
    fn name(&self) -> &str {
        &self.name
    }

    fn detail(&self) -> String {
        self.detail.clone()
    }

    fn run(&mut self, shared: &mut Runner) -> Result<Duration, Error> {
        let start = Instant::now();
        let x = shared.packed(self.dense).as_slice();
        if let Some((x, y)) = x.zip(self.result.as_mut_slice()) {
            self.matrix.multiply(x, y, self.columns)?;
        }
        Ok(start.elapsed())
    }

    fn forget(&mut self, _shared: &mut Runner) {
        self.result.fill(|_| f64::NAN);
    }

    fn result(&mut self, shared: &mut Runner, tensor: TensorId) -> Result<Storage, Error> {
        if tensor != self.output {
            return Err(
                dastac_driver::Error::UnknownTensor(shared.facts()[tensor.0].name.clone()).into()
            );
        }
        let mut copy = Storage::zeroed(Element::F64, self.result.len())?;
        copy.fill(|at| self.result.number(at));
        Ok(copy)
    }
}
