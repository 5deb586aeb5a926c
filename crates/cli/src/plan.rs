//! What the command line says about a run: sizes, files of inputs and outputs, checked against the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dastac::elements::{Element, Storage};
use dastac::formats::io::{self, FileKind};
use dastac::formats::{self, StorageError};
use dastac::runtime::{self, Instance};
use dastac::sched::Moving;
use dastac::stur::reference;
use dastac::stur::{Program, TensorId};
use dastac::verify::{Reference, is_nearly_empty};

use super::args::{ReadingArgs, SymbolArgs};
use super::failure::Failure;
use super::npy::Array;
use super::opened::{Given, Opened};
use super::progress::Progress;
use super::render::Renderer;
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
    pub reading: &'a ReadingArgs,
    /// Where notes go.
    pub renderer: &'a Renderer,
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
        for (id, path) in &outputs {
            if let Some(kind) = tensors::kind_of_output(path)? {
                let tensor = program.tensor(*id);
                tensors::check_kind(path, kind, tensor.rank, tensor.element)?;
            }
            can_be_written(program, *id, path)?;
        }
        inputs::known_names(program, request.reading.names())?;
        inputs::are_read(program, request.reading, &inputs)?;
        let open = |(id, path): (&TensorId, &PathBuf)| {
            Ok((*id, Opened::open(program, *id, path, request.reading)?))
        };
        let opened: Vec<(TensorId, Opened)> = inputs.iter().map(open).collect::<Result<_>>()?;
        let mut sizes = Opened::sizes(&opened, extent);
        for (name, value) in &request.symbols.params {
            sizes.insert(name.clone(), *value);
        }
        let finish = |(id, opened): (TensorId, Opened)| {
            Ok((id, opened.finish(program, id, extent, &sizes, request.renderer)?))
        };
        let given: Vec<(TensorId, Given)> =
            opened.into_iter().map(finish).collect::<Result<_>>()?;
        let stored = |id: TensorId| match given.iter().find(|(other, _)| *other == id) {
            Some((_, Given::Sparse(tensor, _))) => Some(tensor.values().len()),
            _ => None,
        };
        for (name, count) in inputs::counts(program, extent, stored) {
            sizes.entry(name).or_insert(count);
        }
        let values = inputs::symbols(program, request.symbols, &sizes)?;
        let names = program.symbols.iter().map(|(name, _)| name.clone());
        Ok(Plan { symbols: names.zip(values).collect(), inputs: given, outputs })
    }

    /// Which functions the run calls that move tensors between dense arrays and packed buffers, by tensor.
    pub fn moves(
        &self,
        reference: Reference<'_>,
        instance: &Instance<'_>,
        verify: bool,
    ) -> Vec<Moving> {
        let facts = instance.facts();
        if verify && reference.compares_arrays() {
            return vec![Moving::ALL; facts.len()];
        }
        let is_packed = |id: &TensorId| facts[id.0].format.is_none();
        let mut moves = vec![Moving::default(); facts.len()];
        for id in self.inputs.iter().map(|(id, _)| *id).filter(is_packed) {
            moves[id.0] = Moving { pack: true, expand: true, unpack: false };
        }
        // What is drawn at random has the declared structure: it is packed without a look at it.
        let given = self.inputs.iter().map(|(id, _)| (*id, nothing()));
        for id in reference.drawn_arrays(instance, &given.collect()) {
            moves[id.0].pack = true;
        }
        for id in self.outputs.keys().copied().filter(is_packed) {
            moves[id.0].unpack = true;
        }
        moves
    }
}

/// Where inputs come from.
pub struct Inputs<'a> {
    /// Arrays that are given; the others are drawn at random.
    pub given: Vec<(TensorId, Given)>,
    /// Whether the numbers are looked at again, by a verification.
    pub keep: bool,
    /// Seed of the random ones.
    pub seed: u64,
    /// Where notes go.
    pub renderer: &'a Renderer,
}

/// Packs the given inputs and draws the others; all that are known as dense arrays, for verification.
pub fn fill(
    instance: &mut Instance<'_>,
    reference: Reference<'_>,
    mut inputs: Inputs<'_>,
    source: &Source,
    progress: &Progress,
) -> Result<BTreeMap<TensorId, reference::Array>> {
    let failed = |error: dastac::Error| Failure::of(error, source);
    let mut given = BTreeMap::new();
    for (id, input) in std::mem::take(&mut inputs.given) {
        let dense = match input {
            Given::Array(array) => {
                progress.stage(format!("reading `{}`", instance.facts()[id.0].name));
                pack(instance, id, array, source, &inputs)?
            }
            Given::Sparse(tensor, file) => {
                let bound = instance.bind(runtime::TensorId(id.0), tensor);
                bound.map_err(|error| match error {
                    runtime::Error::Storage {
                        tensor,
                        source: value @ StorageError::Value { .. },
                    } => file.misfit(&tensor, value),
                    other => failed(other.into()),
                })?;
                nothing()
            }
        };
        given.insert(id, dense);
    }
    if !given.is_empty() {
        let facts = instance.facts().iter().enumerate();
        let missing = facts.filter(|(at, fact)| {
            fact.role == runtime::Role::Input && !given.contains_key(&TensorId(*at))
        });
        let missing: Vec<String> = missing.map(|(_, fact)| format!("`{}`", fact.name)).collect();
        if !missing.is_empty() {
            let (verb, elements) = match missing.len() {
                1 => ("is", "its elements are"),
                _ => ("are", "their elements are"),
            };
            inputs.renderer.note(&format!(
                "{} {verb} not given by `--input`: {elements} random numbers",
                missing.join(", ")
            ));
        }
    }
    progress.stage("drawing random inputs");
    let drawn = reference.draw_inputs(instance, inputs.seed, &given).map_err(failed)?;
    given.extend(drawn);
    Ok(given)
}

/// An array in place of one that is not looked at again.
fn nothing() -> reference::Array {
    reference::Array { shape: Vec::new(), data: Storage::empty(Element::F64) }
}

/// Reads an array and packs it; the numbers that were read, if they are kept.
fn pack(
    instance: &mut Instance<'_>,
    id: TensorId,
    array: Array,
    source: &Source,
    inputs: &Inputs<'_>,
) -> Result<reference::Array> {
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
    let (tolerance, first) = (array.tolerance, array.file.first);
    let data = array.read(&name, fact.element)?;
    let deviation = instance.set_elements(own, data.view(), &shape, tolerance);
    let deviation = deviation.map_err(|error| match error {
        runtime::Error::Contradiction { tensor, index, expected, found } if first > 0 => {
            let index = index.iter().map(|at| at + first as usize).collect();
            let error = runtime::Error::Contradiction { tensor, index, expected, found };
            failed(error).hint(format!("coordinates count from {first} here, as in the file"))
        }
        other => failed(other),
    })?;
    if tolerance.is_some() && deviation.elements > 0 {
        let elements = match deviation.elements {
            1 => "1 element of `{name}` differs".into(),
            count => format!("{count} elements of `{name}` differ"),
        };
        inputs.renderer.note(&format!(
            "{} from its declared structure, by at most {:.1e} (relative): accepted by `--tolerance`",
            elements.replace("{name}", &name),
            deviation.largest
        ));
    }
    Ok(if inputs.keep { reference::Array { shape, data } } else { nothing() })
}

/// Fails where arrays that will be read or written do not fit memory, before anything runs.
pub fn check_arrays(instance: &Instance<'_>, plan: &Plan, source: &Source) -> Result<()> {
    let facts = instance.facts();
    let packed = facts.iter().filter(|fact| fact.format.is_none()).map(|fact| fact.packed_bytes);
    let packed = packed.fold(0u128, u128::saturating_add);
    let check = |id: TensorId, what: &str, arrays: u128| {
        let fact = &facts[id.0];
        let what = format!("all buffers and {what} of `{}`", fact.name);
        let needed = packed.saturating_add(fact.dense_bytes.saturating_mul(arrays));
        let checked = runtime::check_memory(&what, needed);
        checked.map_err(|error| Failure::of(error.into(), source))
    };
    for (id, given) in &plan.inputs {
        if let Given::Array(_) = given {
            // The file's elements, and what they must be by the structure.
            check(*id, "two dense arrays", 2)?;
        }
    }
    for (id, path) in &plan.outputs {
        if facts[id.0].format.is_none() || FileKind::of(path) == Some(FileKind::Npy) {
            check(*id, "a dense array", 1)?;
        }
    }
    Ok(())
}

/// Fails where what a run writes and a verification unpacks does not fit the memory that inputs, and their copies in
/// other formats, leave. Memory of results is reserved already, but not in use before the run.
pub fn check_run(instance: &Instance<'_>, verify: bool, source: &Source) -> Result<()> {
    let facts = instance.facts();
    let packed = || facts.iter().filter(|fact| fact.format.is_none());
    let computed = packed().filter(|fact| fact.role != runtime::Role::Input);
    let written = computed.fold(0u128, |sum, fact| sum.saturating_add(fact.packed_bytes));
    // An array of the result, and one of what it should be. What is nearly empty is not unpacked.
    let unpacked = packed().filter(|fact| !is_nearly_empty(fact));
    let largest = unpacked.map(|fact| fact.dense_bytes).max().unwrap_or(0);
    let (what, needed) = match verify {
        true => ("the results, and two dense arrays for `--verify`", largest.saturating_mul(2)),
        false => ("the results", 0),
    };
    let checked = runtime::check_memory(what, written.saturating_add(needed));
    checked.map_err(|error| Failure::of(error.into(), source))
}

/// Refuses to write a tensor that is not 0 where it stores nothing to a file that has entries only.
fn can_be_written(program: &Program, id: TensorId, path: &Path) -> Result<()> {
    let (name, fill) = (&program.tensor(id).name, program.fill(id));
    if fill == 0.0 || tensors::kind_of_output(path)? == Some(FileKind::Npy) {
        return Ok(());
    }
    let message = format!(
        "`{name}` is {fill} where it stores nothing, and a file of entries says that it is 0 there"
    );
    Err(Failure::usage(message).hint(format!(
        "write it to an `.npy` file, with all of its elements, or leave `{name}:F` out"
    )))
}

/// Writes a computed tensor: of one with a format what is stored, unless the file is an array. Standard output gets
/// rows of numbers, or entries.
pub fn write(
    instance: &Instance<'_>,
    id: TensorId,
    path: &Path,
    source: &Source,
    reading: &ReadingArgs,
) -> Result<()> {
    let failed = |error: runtime::Error| Failure::of(error.into(), source);
    let (own, fact) = (runtime::TensorId(id.0), &instance.facts()[id.0]);
    let is_sparse = fact.format.is_some();
    let options = tensors::reading(reading, &fact.name).options;
    let rank = instance.shape(own).map_err(failed)?.len();
    let (kind, printed) = match (tensors::kind_of_output(path)?, rank) {
        (Some(kind), _) => (kind, false),
        (None, 2) => (FileKind::MatrixMarket, true),
        (None, 0) => (FileKind::Npy, true),
        (None, _) => (FileKind::Frostt, true),
    };
    if is_sparse && kind != FileKind::Npy {
        // Archives hold whole blocks, which are filled up with zeros.
        let result = match kind.is_archive() && instance.zero(own) == 0.0 {
            true => instance.result(own),
            false => instance.result_entries(own),
        };
        let result = result.map_err(failed)?;
        let build = formats::Build::default();
        return match printed {
            true => {
                tensors::print(&mut |out| io::write(&result, kind, false, &options, build, out))
            }
            false => tensors::write(path, kind, &result, &options, build),
        };
    }
    let array = instance.unpacked(own).map_err(failed)?;
    let shape = instance.shape(own).map_err(failed)?;
    let shape: Vec<u64> = shape.iter().map(|extent| *extent as u64).collect();
    match printed {
        true if rank <= 2 => tensors::print(&mut |out| io::write_plain(&shape, array.view(), out)),
        true => tensors::print(&mut |out| {
            io::write_dense(&shape, array.view(), kind, false, &options, out)
        }),
        false => tensors::write_dense(path, kind, &shape, array.view(), &options),
    }
}
