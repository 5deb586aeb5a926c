//! What products cost at given sizes: the points of their iteration domains, counted exactly, scaled by which part of
//! dynamic operands is stored.

use dastac_poly::Set;
use dastac_stur::TensorId;
use dastac_stur::infer::{InferError, Inferred, Statement};

use super::steps::Sizes;
use crate::Error;

/// A program at given sizes.
pub(super) struct Counted<'a> {
    inferred: &'a Inferred,
    pub(super) sizes: &'a Sizes,
    /// Values of the parameters by their names in isl.
    values: Vec<(String, i64)>,
}

impl<'a> Counted<'a> {
    pub(super) fn new(inferred: &'a Inferred, sizes: &'a Sizes) -> Result<Counted<'a>, Error> {
        let names = &inferred.sets.names;
        let values = inferred.parameter_values(&sizes.symbols)?.into_iter();
        let values = values.map(|(name, value)| (names.isl(&name).to_owned(), value)).collect();
        Ok(Counted { inferred, sizes, values })
    }

    /// The number of points of a set.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn points(&self, set: &Set) -> Result<f64, Error> {
        let count = set.fix_params(&self.values)?.card()?.eval(&self.values, &[])?;
        Ok(count.to_integer() as f64)
    }

    /// The number of elements in the box of a tensor.
    pub(super) fn cells(&self, tensor: TensorId) -> Result<f64, Error> {
        Ok(self.extents(tensor).iter().product())
    }

    /// The extents of a tensor.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn extents(&self, tensor: TensorId) -> Vec<f64> {
        let names = &self.inferred.sets.names;
        let value = |name: &str| {
            let found = self.values.iter().find(|(known, _)| known == names.isl(name));
            found.map(|(_, value)| *value)
        };
        let extents = self.inferred.tensors[tensor.0].extents.iter();
        extents.map(|extent| extent.eval(&value).unwrap_or(i64::MAX) as f64).collect()
    }

    /// The part of the elements of a tensor that is stored.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn density(&self, tensor: TensorId) -> Result<f64, Error> {
        if self.inferred.program.tensor(tensor).format.is_none() {
            return Ok(1.0);
        }
        Ok(match self.sizes.stored.get(&tensor) {
            Some(stored) => (*stored as f64 / self.cells(tensor)?.max(1.0)).min(1.0),
            None => self.sizes.density,
        })
    }

    /// The points at which a statement runs.
    pub(super) fn statement(&self, statement: &Statement) -> Result<f64, Error> {
        let mut points = self.points(&statement.domain)?;
        for read in &statement.reads {
            points *= self.density(read.tensor)?;
        }
        Ok(points)
    }

    /// The number of values of an iterator of some statements.
    pub(super) fn extent(&self, statements: &[&Statement], iterator: &str) -> Result<f64, Error> {
        let mut extent = 0.0;
        for statement in statements {
            let Some(at) = statement.iterators.iter().position(|name| name == iterator) else {
                continue;
            };
            let after = statement.domain.rank().saturating_sub(at + 1);
            let side = statement.domain.fix_params(&self.values)?;
            let side = side.project_out_at(at + 1, after)?.project_out_at(0, at)?;
            extent = f64::max(extent, self.points(&side)?);
        }
        Ok(extent)
    }

    /// The number of elements that are stored of a tensor without `:F`.
    pub(super) fn unique(&self, tensor: TensorId) -> Result<f64, Error> {
        self.points(&self.inferred.tensors[tensor.0].unique).map_err(|error| match error {
            Error::Poly(error) => InferError::Poly(error).into(),
            error => error,
        })
    }
}
