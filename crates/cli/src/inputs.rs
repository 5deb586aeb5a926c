//! What the command line says about a program's symbols and tensors, checked against the program before anything is
//! compiled.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dastac::Side;
use dastac::runtime::symbol_values;
use dastac::stur::ast::{Expr, ExprKind};
use dastac::stur::hint::similar;
use dastac::stur::{Program, Role, TensorId};

use super::Result;
use super::args::{ReadingArgs, SymbolArgs};
use super::failure::{Failure, list};
use super::output::same_file;

/// Values of the symbols in declaration order. Those that are not given are what `known_sizes` says, or 0 if nothing
/// depends on them.
pub fn symbols(
    program: &Program,
    args: &SymbolArgs,
    known_sizes: &BTreeMap<String, i64>,
) -> Result<Vec<i64>> {
    let names: Vec<String> = program.symbols.iter().map(|(name, _)| name.clone()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut given = BTreeMap::new();
    for (name, value) in &args.params {
        if given.insert(name.clone(), *value).is_some() {
            return Err(Failure::usage(format!("symbol `{name}` is given twice"))
                .hint("give each symbol one value, `-p NAME=VALUE`"));
        }
    }
    for (name, value) in known_sizes {
        given.entry(name.clone()).or_insert(*value);
    }
    for name in &program.unused_symbols {
        given.entry(name.clone()).or_insert(0);
    }
    symbol_values(&names, &given).map_err(|error| {
        let text = error.to_string();
        match error {
            dastac::runtime::Error::UnknownSymbol(name) => {
                Failure::user(text).hint(did_you_mean(&name, &known, "its symbols"))
            }
            dastac::runtime::Error::MissingSymbol(name) => {
                let missing: Vec<&str> =
                    known.iter().filter(|name| !given.contains_key(**name)).copied().collect();
                let failure = Failure::user(text).hint(format!("`-p {name}=..` gives it one"));
                if missing.len() > 1 {
                    failure.hint(format!("symbols without a value: {}", list(&missing)))
                } else {
                    failure
                }
            }
            _ => Failure::user(text),
        }
    })
}

/// The symbol that the extent of a tensor's dimension tells, if it tells one.
pub type Extent<'a> = &'a dyn Fn(TensorId, usize) -> Option<Side<String>>;

/// The symbols that extents of inputs tell, whose arrays have these shapes; the first input decides. A side that is
/// `2 * N` decides only if none is `N`.
pub fn sizes<'a>(
    extent: Extent<'_>,
    shapes: impl IntoIterator<Item = (TensorId, &'a [u64])>,
) -> BTreeMap<String, i64> {
    let (mut sizes, mut derived) = (BTreeMap::new(), BTreeMap::new());
    for (id, shape) in shapes {
        for (dimension, size) in shape.iter().enumerate() {
            let (Some(side), Ok(size)) = (extent(id, dimension), i64::try_from(*size)) else {
                continue;
            };
            let known = if side.is_plain() { &mut sizes } else { &mut derived };
            let value = side.value(size);
            known.entry(side.symbol).or_insert(value);
        }
    }
    for (name, value) in derived {
        sizes.entry(name).or_insert(value);
    }
    sizes
}

/// The symbols that are extents of dimensions along which there are positions of inputs' elements: as many as these
/// store.
pub fn counts(
    program: &Program,
    extent: Extent<'_>,
    stored: impl Fn(TensorId) -> Option<usize>,
) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for rule in &program.rules {
        for product in &rule.products {
            for access in &product.accesses {
                let count = stored(access.tensor).and_then(|count| i64::try_from(count).ok());
                let (Some(position), Some(count)) = (&access.position, count) else { continue };
                let is =
                    |expr: &Expr| matches!(&expr.kind, ExprKind::Name(name) if name == position);
                let of_head = rule.iterators.iter().position(|name| name == position);
                let read = product
                    .accesses
                    .iter()
                    .map(|other| (other.tensor, other.subscripts.iter().position(is)));
                for (tensor, along) in read.chain([(rule.head, of_head)]) {
                    if let Some(side) = along.and_then(|along| extent(tensor, along)) {
                        let value = side.value(count);
                        counts.entry(side.symbol).or_insert(value);
                    }
                }
            }
        }
    }
    counts
}

/// The files of `--input`, by tensor.
pub fn input_files(
    program: &Program,
    args: &[(String, PathBuf)],
) -> Result<BTreeMap<TensorId, PathBuf>> {
    let inputs = names(program, |role| role == Role::Input);
    files(program, args, "--input", &|id| {
        let name = &program.tensor(id).name;
        if program.tensor(id).role == Role::Input {
            return Ok(());
        }
        Err(Failure::user(dastac::runtime::Error::NotAnInput(name.clone()).to_string()).hint(
            format!("inputs: {}; `--output {name}=..` writes what is computed", list(&inputs)),
        ))
    })
}

/// Fails where flags name a tensor that the program does not have.
pub fn known_names<'a>(program: &Program, mut names: impl Iterator<Item = &'a str>) -> Result<()> {
    match names.find(|name| program.find(name).is_none()) {
        None => Ok(()),
        Some(name) => {
            let known = self::names(program, |_| true);
            Err(Failure::user(dastac::Error::UnknownTensor(name.into()).to_string())
                .hint(did_you_mean(name, &known, "its tensors")))
        }
    }
}

/// Fails where flags say something twice, or about a tensor that no file is read of.
pub fn are_read(
    program: &Program,
    reading: &ReadingArgs,
    files: &BTreeMap<TensorId, PathBuf>,
) -> Result<()> {
    for (at, (name, _)) in reading.shapes.iter().enumerate() {
        if reading.shapes[..at].iter().any(|(other, _)| other == name) {
            return Err(Failure::usage(format!("`--shape` is given twice for `{name}`")));
        }
    }
    let computed =
        |name: &&str| program.find(name).is_some_and(|id| program.tensor(id).role != Role::Input);
    if let Some(name) = reading.names().find(computed) {
        let message = format!("`{name}` is computed: no file of it is read");
        return Err(Failure::usage(message).hint(
            "leave out the flags about its file; the shape of a result follows from the program and its sizes",
        ));
    }
    let unread = |name: &&str| program.find(name).is_none_or(|id| !files.contains_key(&id));
    match reading.names().find(unread) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!(
            "flags say how the file of `{name}` is read, and there is none"
        ))
        .hint(format!("name it: `--input {name}=PATH`"))),
    }
}

/// The files of `--output`, by tensor.
pub fn output_files(
    program: &Program,
    args: &[(String, PathBuf)],
) -> Result<BTreeMap<TensorId, PathBuf>> {
    let computed = names(program, |role| role != Role::Input);
    let files = files(program, args, "--output", &|id| {
        let name = &program.tensor(id).name;
        if program.tensor(id).role != Role::Input {
            return Ok(());
        }
        Err(Failure::user(dastac::runtime::Error::NotComputed(name.clone()).to_string())
            .hint(format!("computed: {}", list(&computed))))
    })?;
    let paths: Vec<&PathBuf> = files.values().collect();
    let pairs = paths
        .iter()
        .enumerate()
        .flat_map(|(k, one)| paths[k + 1..].iter().map(move |other| [one, other]));
    let same = |[one, other]: &[&&PathBuf; 2]| one == other || same_file(one, other);
    if let Some(pair) = pairs.into_iter().find(same) {
        return Err(Failure::usage(format!(
            "two outputs would be written to `{}`",
            pair[0].display()
        )));
    }
    Ok(files)
}

fn files(
    program: &Program,
    args: &[(String, PathBuf)],
    flag: &str,
    check: &dyn Fn(TensorId) -> Result<()>,
) -> Result<BTreeMap<TensorId, PathBuf>> {
    let mut files = BTreeMap::new();
    for (name, path) in args {
        let Some(id) = program.find(name) else {
            let known = names(program, |_| true);
            return Err(Failure::user(dastac::Error::UnknownTensor(name.clone()).to_string())
                .hint(did_you_mean(name, &known, "its tensors")));
        };
        check(id)?;
        if files.insert(id, path.clone()).is_some() {
            return Err(Failure::usage(format!("`{flag}` is given twice for `{name}`")));
        }
    }
    Ok(files)
}

fn names(program: &Program, keep: impl Fn(Role) -> bool) -> Vec<&str> {
    program
        .tensors
        .iter()
        .filter(|tensor| keep(tensor.role))
        .map(|tensor| tensor.name.as_str())
        .collect()
}

fn did_you_mean(name: &str, known: &[&str], otherwise: &str) -> String {
    match similar(name, known.iter().copied()) {
        Some(other) => format!("did you mean `{other}`?"),
        None => format!("{otherwise}: {}", list(known)),
    }
}
