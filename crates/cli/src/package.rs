//! `dastac run` of a program that was compiled before: nothing of the compiler is used.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use dastac::formats::Build;
use dastac::formats::io::FileKind;
use dastac::loops::Index;
use dastac::runtime::package::Package;
use dastac::runtime::{Error, Instance, Role, TensorId, build as of_entries};

use super::args::RunArgs;
use super::failure::{Failure, list};
use super::source::reason;
use super::{Outcome, Result, Terminal, npy, output, run, tensors};

/// Whether a file is named as a compiled program is.
pub fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dastac")
}

/// Runs a compiled program.
pub fn run(terminal: &Terminal, args: &RunArgs) -> Result<Outcome> {
    refuse_compiler_options(args)?;
    let path = &args.file.file;
    let name = path.display().to_string();
    let failed = |error: Error| Failure::of_run(&error, &name);
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::user(format!("cannot read `{name}`: {}", reason(&error))))?;
    let package = Package::from_bytes(&bytes).map_err(failed)?;
    let program = package.load().map_err(failed)?;
    let find = |name: &String, input: bool| find(program.program(), name, input);
    let mut inputs = Vec::new();
    for (name, path) in &args.inputs {
        let id = find(name, true)?;
        inputs.push((id, Given::open(program.program(), id, path, args)?));
    }
    let symbols = symbols(program.program(), &args.symbols.params, &inputs)?;
    let threads = run::threads(terminal, &args.threads);
    let mut instance = Instance::new(program.clone(), &symbols, threads).map_err(failed)?;
    instance.set_density(args.density);
    let given: Vec<TensorId> = inputs.iter().map(|(id, _)| *id).collect();
    for (id, input) in inputs {
        match input {
            Given::Array { shape, values } => instance.set_input(id, &values, &shape),
            Given::Sparse(tensor) => instance.bind(id, tensor),
        }
        .map_err(failed)?;
    }
    instance.draw_inputs(args.seed, |id| given.contains(&id)).map_err(failed)?;
    let mut times = Vec::new();
    for _ in 0..args.repeat {
        times.push(instance.execute().map_err(failed)?);
    }
    for (name, path) in &args.outputs {
        write(&instance, find(name, false)?, path, args)?;
    }
    output::stdout(told(&name, &times).as_bytes())?;
    Ok(Outcome::Done)
}

/// Fails for what needs the program's text.
fn refuse_compiler_options(args: &RunArgs) -> Result<()> {
    let options = [
        ("--verify", args.verify),
        ("--trips", args.trips),
        ("--checked", args.checked),
        ("--json", args.json),
    ];
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!(
            "`{option}` needs the program's text, which a compiled program does not have"
        ))),
    }
}

/// A tensor by its name, an input or a computed one.
fn find(program: &dastac::runtime::Program, name: &str, input: bool) -> Result<TensorId> {
    let tensors = &program.sizes.tensors;
    let fits = |role: Role| (role == Role::Input) == input;
    match program.tensor(name) {
        Some(id) if fits(tensors[id.0].role) => Ok(id),
        Some(_) if input => Err(Failure::user(Error::NotAnInput(name.into()).to_string())),
        Some(_) => Err(Failure::user(Error::NotComputed(name.into()).to_string())),
        None => {
            let fitting = tensors.iter().filter(|tensor| fits(tensor.role));
            let names: Vec<&str> = fitting.map(|tensor| tensor.name.as_str()).collect();
            let kind = if input { "inputs" } else { "computed" };
            Err(Failure::user(format!("the program has no tensor `{name}`"))
                .hint(format!("{kind}: {}", list(&names))))
        }
    }
}

/// An input that is given.
#[expect(clippy::large_enum_variant, reason = "there are few, one for each file")]
enum Given {
    /// All elements.
    Array { shape: Vec<usize>, values: Vec<f64> },
    /// Those that are stored.
    Sparse(dastac::formats::Tensor),
}

impl Given {
    fn open(
        program: &dastac::runtime::Program,
        id: TensorId,
        path: &Path,
        args: &RunArgs,
    ) -> Result<Given> {
        let tensor = &program.sizes.tensors[id.0];
        let options = tensors::lists(&args.lists);
        let Some(format) = &tensor.format else {
            let array = npy::open(path, &options)?;
            let shape = array.shape.clone();
            return Ok(Given::Array { shape, values: array.read(tensor.element)? });
        };
        let contents = tensors::read(path, &options)?;
        let built = contents.tensor(format, of_entries());
        built.map(Given::Sparse).map_err(|error| tensors::storage_failure(&tensor.name, &error))
    }

    fn shape(&self) -> Vec<u64> {
        match self {
            Given::Array { shape, .. } => shape.iter().map(|extent| *extent as u64).collect(),
            Given::Sparse(tensor) => tensor.shape().to_vec(),
        }
    }
}

/// Values of the symbols: those that are given, and extents of inputs.
fn symbols(
    program: &dastac::runtime::Program,
    params: &[(String, i64)],
    inputs: &[(TensorId, Given)],
) -> Result<BTreeMap<String, i64>> {
    let mut values = BTreeMap::new();
    for (name, value) in params {
        if values.insert(name.clone(), *value).is_some() {
            return Err(Failure::usage(format!("symbol `{name}` is given twice"))
                .hint("give each symbol one value, `-p NAME=VALUE`"));
        }
    }
    for (id, given) in inputs {
        let extents = &program.sizes.tensors[id.0].extents;
        for (extent, size) in extents.iter().zip(given.shape()) {
            if let (Some(symbol), Ok(size)) = (symbol_of(extent), i64::try_from(size))
                && let Some(name) = program.sizes.symbols.get(symbol)
            {
                values.entry(name.clone()).or_insert(size);
            }
        }
    }
    Ok(values)
}

/// The symbol that an extent is, where it is nothing but one.
fn symbol_of(extent: &Index) -> Option<usize> {
    match extent {
        Index::Symbol(symbol) => Some(symbol.0 as usize),
        Index::Max(left, right) if **left == Index::Const(0) => symbol_of(right),
        Index::Max(left, right) if **right == Index::Const(0) => symbol_of(left),
        _ => None,
    }
}

/// Writes a computed tensor: of one with a format what is stored, unless the file is an array.
fn write(instance: &Instance<'_>, id: TensorId, path: &Path, args: &RunArgs) -> Result<()> {
    let name = args.file.file.display().to_string();
    let failed = |error: Error| Failure::of_run(&error, &name);
    let options = tensors::lists(&args.lists);
    let kind = FileKind::of(path).filter(|kind| *kind != FileKind::Npy);
    if let (Some(kind), Some(_)) = (kind, &instance.facts()[id.0].format) {
        let result = instance.result_entries(id).map_err(failed)?;
        return tensors::write(path, kind, &result, &options, Build::default());
    }
    let array = instance.unpacked(id).map_err(failed)?;
    let shape = instance.shape(id).map_err(failed)?;
    npy::write(path, &shape, &array, &options)
}

fn told(name: &str, times: &[Duration]) -> String {
    let best = times.iter().min().copied().unwrap_or_default();
    let runs = if times.len() == 1 { "run" } else { "runs" };
    format!("{name}: {} {runs}, the shortest {best:?}\n", times.len())
}
