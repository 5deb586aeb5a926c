//! One call: values into an instance, the computation, all without the interpreter's lock.

use dastac::elements::ViewMut;
use dastac::runtime::program::TensorInfo;
use dastac::runtime::{Error, Instance, TensorId, build};

use crate::arguments::{self, Value, dense_shape};

/// Why a run is not possible.
pub enum Fault {
    /// What the run time says.
    Run(Error),
    /// What is wrong with a value.
    Value(String),
    /// The arrays of a matrix of SciPy are not sorted, or are none of a matrix.
    Matrix,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Run(error)
    }
}

/// Where the elements of a dense result go.
pub struct Target<'a> {
    /// The tensor.
    pub tensor: TensorId,
    /// The array, or the packed buffer.
    pub memory: ViewMut<'a>,
    /// Whether elements stand there as in the packed buffer.
    pub packed: bool,
}

/// Gives an instance its inputs, runs it, and leaves dense results where they are wanted; the instance without any
/// memory of the caller, and what `read` makes of it before.
pub fn run<'a, R>(
    mut instance: Instance<'a>,
    tensors: &[TensorInfo],
    inputs: &'a [(TensorId, Value)],
    targets: Vec<Target<'a>>,
    read: impl FnOnce(&mut Instance<'a>) -> Result<R, Error>,
) -> Result<(Instance<'static>, R), Fault> {
    for (id, value) in inputs {
        give(&mut instance, *id, &tensors[id.0], value)?;
    }
    let mut unpacked = Vec::new();
    for target in targets {
        match target.packed {
            true => instance.lend_mut(target.tensor, target.memory)?,
            false => {
                instance.keep(target.tensor)?;
                unpacked.push(target);
            }
        }
    }
    instance.execute()?;
    for target in unpacked {
        instance.unpack_into(target.tensor, target.memory)?;
    }
    let found = read(&mut instance)?;
    Ok((instance.given_back(), found))
}

fn give<'a>(
    instance: &mut Instance<'a>,
    id: TensorId,
    tensor: &TensorInfo,
    value: &'a Value,
) -> Result<(), Fault> {
    let name = &tensor.name;
    match value {
        Value::Dense(array) if instance.is_dense(id)? => {
            let expected = instance.shape(id)?;
            let shape = dense_shape(array, expected.len());
            if shape != expected {
                let (tensor, found) = (name.clone(), shape.to_vec());
                return Err(Error::Shape { tensor, expected, found }.into());
            }
            instance.lend(id, array.view())?;
        }
        Value::Dense(array) => {
            instance.keep(id)?;
            let shape = dense_shape(array, tensor.extents.len());
            instance.set_elements(id, array.view(), shape, None)?;
        }
        Value::Packed(array) => instance.lend(id, array.view())?,
        Value::Matrix { format, shape, arrays, values } => {
            let Some(declared) = &tensor.format else { return Err(Fault::Matrix) };
            let matrix = arguments::matrix(name, format, shape, arrays, values);
            let matrix = matrix.map_err(|_| Fault::Matrix)?;
            if format == declared {
                instance.lend_stored(id, matrix)?;
            } else {
                let failed = |source| Error::Storage { tensor: name.clone(), source };
                instance.bind(id, matrix.convert(declared, build()).map_err(failed)?)?;
            }
        }
        Value::Stored { format, shape, arrays, values } => {
            let declared = tensor.format.as_ref() == Some(format);
            let narrow = arrays.iter().all(|array| array.element().bytes() == 4);
            if declared && narrow && values.element() == tensor.element {
                let lent = arguments::lent(name, format, shape, arrays, values);
                instance.lend_stored(id, lent.map_err(Fault::Value)?)?;
            } else {
                let copied = arguments::copied(name, format, shape, arrays, values);
                instance.bind(id, copied.map_err(Fault::Value)?)?;
            }
        }
        Value::Entries { shape, lists, values } => {
            let Some(format) = &tensor.format else {
                return Err(Error::NotDynamic(name.clone()).into());
            };
            let made = arguments::gathered(name, format, shape, lists, values, build());
            instance.bind(id, made.map_err(Fault::Value)?)?;
        }
    }
    Ok(())
}
