//! What the command line says about a run: sizes, files of inputs and outputs, checked against the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dastac::formats;
use dastac::formats::io::{FileKind, ReadOptions};
use dastac::runtime::{self, Instance};
use dastac::stur::reference::Dense;
use dastac::stur::{Program, TensorId};
use dastac::verify::Reference;

use super::args::SymbolArgs;
use super::failure::Failure;
use super::npy::{self, Array};
use super::progress::Progress;
use super::source::Source;
use super::{Result, inputs, output, tensors};

/// The command line checked against the program.
pub struct Plan {
    /// Values of the symbols.
    pub symbols: BTreeMap<String, i64>,
    /// Arrays of the inputs that are given.
    pub inputs: Vec<(TensorId, Given)>,
    /// Files that computed tensors are written to.
    pub outputs: BTreeMap<TensorId, PathBuf>,
}

/// What the command line says about symbols and files.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Values of symbols.
    pub symbols: &'a SymbolArgs,
    /// The files of inputs, by name.
    pub inputs: &'a [(String, PathBuf)],
    /// The files of outputs, by name.
    pub outputs: &'a [(String, PathBuf)],
    /// How files are read that do not say it themselves.
    pub options: &'a ReadOptions,
}

impl Plan {
    /// Checks what is asked for; `extent` is the symbol that the extent of a tensor's dimension is, if it is one.
    pub fn new(
        program: &Program,
        extent: inputs::Extent<'_>,
        request: Request<'_>,
        source: &Source,
    ) -> Result<Plan> {
        let inputs = inputs::input_files(program, request.inputs)?;
        let outputs = inputs::output_files(program, request.outputs)?;
        for path in outputs.values() {
            output::check(path, source)?;
        }
        let open = |(id, path): (&TensorId, &PathBuf)| {
            Ok((*id, Given::open(program, *id, path, request.options)?))
        };
        let given: Vec<(TensorId, Given)> = inputs.iter().map(open).collect::<Result<_>>()?;
        let shapes: Vec<(TensorId, Vec<u64>)> =
            given.iter().map(|(id, given)| (*id, given.shape())).collect();
        let shapes = shapes.iter().map(|(id, shape)| (*id, shape.as_slice()));
        let mut sizes = inputs::sizes(extent, shapes);
        let stored = |id: TensorId| match given.iter().find(|(other, _)| *other == id) {
            Some((_, Given::Sparse(tensor))) => Some(tensor.values().len()),
            _ => None,
        };
        for (name, count) in inputs::counts(program, extent, stored) {
            sizes.entry(name).or_insert(count);
        }
        let values = inputs::symbols(program, request.symbols, &sizes)?;
        let names = program.symbols.iter().map(|(name, _)| name.clone());
        Ok(Plan { symbols: names.zip(values).collect(), inputs: given, outputs })
    }

    /// Whether the run needs the code that moves tensors between dense arrays and packed buffers.
    pub fn needs_movement(
        &self,
        reference: Reference<'_>,
        instance: &Instance<'_>,
        verify: bool,
    ) -> bool {
        let is_packed = |id: &TensorId| instance.facts()[id.0].format.is_none();
        let given = self.inputs.iter().map(|(id, _)| (*id, Dense::zeros(&[])));
        self.inputs.iter().any(|(id, _)| is_packed(id))
            || self.outputs.keys().any(is_packed)
            || reference.draws_arrays(instance, &given.collect())
            || verify && reference.compares_arrays()
    }
}

/// An input that is given.
pub enum Given {
    /// A dense array, for a tensor without a format.
    Array(Array),
    /// The stored elements, for a tensor with `:F`.
    Sparse(formats::Tensor),
}

impl Given {
    fn open(program: &Program, id: TensorId, path: &Path, options: &ReadOptions) -> Result<Given> {
        let tensor = program.tensor(id);
        let Some(storage) = &tensor.format else {
            return npy::open(path, options).map(Given::Array);
        };
        let contents = tensors::read(path, options)?;
        if contents.shape().len() != tensor.rank {
            let (name, found) = (path.display(), contents.shape().len());
            return Err(Failure::user(format!(
                "`{}` has {}, but the tensor in `{name}` has {found}",
                tensor.name,
                dastac::elements::count(tensor.rank, "dimension")
            )));
        }
        let built = contents.tensor(&storage.format, formats::Build::default());
        let built = built.map_err(|error| tensors::storage_failure(&tensor.name, &error))?;
        Ok(Given::Sparse(built))
    }

    fn shape(&self) -> Vec<u64> {
        match self {
            Given::Array(array) => array.shape.iter().map(|extent| *extent as u64).collect(),
            Given::Sparse(tensor) => tensor.shape().to_vec(),
        }
    }
}

/// Where inputs come from.
pub struct Inputs {
    /// Arrays that are given; the others are drawn at random.
    pub given: Vec<(TensorId, Given)>,
    /// Whether the numbers are looked at again, by a verification.
    pub keep: bool,
    /// Seed of the random ones.
    pub seed: u64,
}

/// Packs the given inputs and draws the others; all that are known as dense arrays, for verification.
pub fn fill(
    instance: &mut Instance<'_>,
    reference: Reference<'_>,
    inputs: Inputs,
    source: &Source,
    progress: &Progress,
) -> Result<BTreeMap<TensorId, Dense>> {
    let failed = |error: dastac::Error| Failure::of(error, source);
    let mut given = BTreeMap::new();
    for (id, input) in inputs.given {
        let dense = match input {
            Given::Array(array) => {
                progress.stage(format!("reading `{}`", instance.facts()[id.0].name));
                let Dense { shape, data } = pack(instance, id, array, source)?;
                Dense { shape, data: if inputs.keep { data } else { Vec::new() } }
            }
            Given::Sparse(tensor) => {
                let bound = instance.bind(runtime::TensorId(id.0), tensor);
                bound.map_err(|error| failed(error.into()))?;
                Dense { shape: Vec::new(), data: Vec::new() }
            }
        };
        given.insert(id, dense);
    }
    progress.stage("drawing random inputs");
    let drawn = reference.draw_inputs(instance, inputs.seed, &given).map_err(failed)?;
    given.extend(drawn);
    Ok(given)
}

/// Reads an array and packs it; the numbers that were read.
fn pack(instance: &mut Instance<'_>, id: TensorId, array: Array, source: &Source) -> Result<Dense> {
    let failed = |error: runtime::Error| Failure::of(error.into(), source);
    let own = runtime::TensorId(id.0);
    let (fact, expected) = (&instance.facts()[id.0], instance.shape(own).map_err(failed)?);
    let (name, shape) = (fact.name.clone(), array.shape.clone());
    if shape != expected {
        return Err(failed(runtime::Error::Shape { tensor: name, expected, found: shape }));
    }
    if !array.fits(fact.element) {
        let (own, other) = (fact.element.name(), array.element);
        let message =
            format!("`{name}` has elements of type {own}, but the array's are of type {other}");
        return Err(Failure::user(message).hint(array.conversion_hint(fact.element)));
    }
    runtime::check_memory(&format!("the dense array of `{name}`"), fact.dense_bytes)
        .map_err(failed)?;
    let data = array.read(fact.element)?;
    instance.set_input(own, &data, &shape).map_err(failed)?;
    Ok(Dense { shape, data })
}

/// Writes a computed tensor: of one with a format what is stored, unless the file is an array.
pub fn write(
    instance: &Instance<'_>,
    id: TensorId,
    path: &Path,
    source: &Source,
    options: &ReadOptions,
) -> Result<()> {
    let failed = |error: runtime::Error| Failure::of(error.into(), source);
    let (own, is_sparse) = (runtime::TensorId(id.0), instance.facts()[id.0].format.is_some());
    let kind = FileKind::of(path).filter(|kind| *kind != FileKind::Npy);
    if let Some(kind) = kind.filter(|_| is_sparse) {
        let result = instance.result_entries(own).map_err(failed)?;
        return tensors::write(path, kind, &result, options, formats::Build::default());
    }
    let array = instance.unpacked(own).map_err(failed)?;
    npy::write(path, &instance.shape(own).map_err(failed)?, &array, options)
}
