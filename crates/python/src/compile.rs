//! Programs from text to code, by way of the cache on disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use dastac::build::BuildOptions;
use dastac::cached::{self, Kept, Key, Known};
use dastac::contract::{At, Sizes};
use dastac::driver::{Analysis, Iteration, Lowered};
use dastac::runtime::cache::Cache;
use dastac::runtime::program::TensorInfo;
use dastac::runtime::{Executable, Role};
use dastac::sched::Moving;
use dastac_cli::texts::{self, Why};
use pyo3::prelude::*;

use crate::code::Program;
use crate::errors;
use crate::made::{Made, Wanted};

/// Compiles a program, or finds it among those that are kept.
#[pyfunction]
pub fn compile(
    py: Python<'_>,
    text: String,
    name: String,
    sizes: BTreeMap<String, i64>,
    parallel: bool,
) -> PyResult<Program> {
    let wanted = Wanted { text, name, sizes, parallel };
    let made = py.detach(|| made(&wanted)).map_err(errors::of_why)?;
    Ok(Program::new(wanted, made))
}

/// What a stage makes of a program: `structure`, `layouts`, `loops`, `proof`, or one of the target's texts.
#[pyfunction]
pub fn describe(
    py: Python<'_>,
    text: String,
    name: String,
    sizes: BTreeMap<String, i64>,
    parallel: bool,
    stage: String,
) -> PyResult<(String, [usize; 3])> {
    let wanted = Wanted { text, name, sizes, parallel };
    py.detach(|| described(&wanted, &stage)).map_err(errors::of_why)
}

/// How sparse tensors are read: results may be made in memory of which a bound is known.
fn iteration() -> Iteration {
    Iteration { reserves: true, ..Iteration::default() }
}

/// The values of all symbols, if they are known.
fn known_sizes(symbols: &[(String, dastac::stur::ast::Span)], wanted: &Wanted) -> Option<Sizes> {
    let values = symbols.iter().map(|(name, _)| wanted.sizes.get(name).copied());
    let symbols = values.collect::<Option<Vec<i64>>>()?;
    Some(Sizes { symbols, density: 0.1, ..Sizes::default() })
}

fn lowered(analysis: Analysis, sizes: Option<&Sizes>) -> Result<Lowered, dastac::Error> {
    let at = sizes.map_or(At::All, At::Sizes);
    Ok(analysis.contracted(at)?.lay_out()?.lower_under(iteration(), &mut ())?.0)
}

fn made(wanted: &Wanted) -> Result<Made, Why> {
    let source = texts::source(&wanted.name, &wanted.text);
    let failed = |error: dastac::Error| texts::of_error(error, &source);
    let options = texts::options(wanted.parallel)?;
    let cache = texts::kept()?;
    let known = cache.as_ref().and_then(|cache| Known::find(cache, &wanted.text));
    let (analysis, program, warnings) = match known {
        Some(known) => (None, known.program, known.warnings),
        None => {
            let analysis = Analysis::of(&wanted.text).map_err(failed)?;
            if let Some(cache) = &cache {
                Known::store(cache, &analysis);
            }
            let (program, warnings) = (analysis.written().clone(), analysis.warnings.clone());
            (Some(analysis), program, warnings)
        }
    };
    let warnings = texts::warnings(&warnings, &source);
    let sizes = known_sizes(&program.symbols, wanted);
    let key = Key::of(&program, &options, iteration(), &sizes.clone().unwrap_or_default());
    let place = cache.as_ref().map(|cache| (cache, &key));
    if let Some(executable) = place.and_then(|(cache, key)| kept(cache, key)) {
        return Ok(Made { executable, warnings, kept: true });
    }
    let analysis = analysis.map_or_else(|| Analysis::of(&wanted.text), Ok).map_err(failed)?;
    let lowered = lowered(analysis, sizes.as_ref()).map_err(failed)?;
    let executable = built(lowered, options, place).map_err(failed)?;
    Ok(Made { executable, warnings, kept: false })
}

/// A program that was kept, with the code that moves its tensors.
fn kept(cache: &Cache, key: &Key) -> Option<Arc<Executable>> {
    let kept = Kept::find(cache, key)?;
    let wanted = moves(&kept.package.program.sizes.tensors);
    let executable = kept.package.load().ok()?;
    if let Some(wanted) = wanted {
        executable.add_movement(cached::find_moving(cache, key, &wanted)?);
    }
    cache.count(true);
    Some(executable)
}

fn built(
    lowered: Lowered,
    options: BuildOptions,
    place: Option<(&Cache, &Key)>,
) -> Result<Arc<Executable>, dastac::Error> {
    let built = lowered.build(options)?;
    let kept = Kept::of(&built)?;
    let wanted = moves(&kept.package.program.sizes.tensors);
    if let Some((cache, key)) = place {
        cache.count(false);
        kept.store(cache, key);
    }
    let executable = kept.package.load()?;
    if let Some(wanted) = wanted {
        let moving = built.lowered.some_moving(&built.options, &wanted)?;
        if let Some((cache, key)) = place {
            cached::store_moving(cache, key, &wanted, &moving);
        }
        executable.add_movement(moving.load()?);
    }
    Ok(executable)
}

/// Which functions move tensors between dense arrays and packed buffers, if there are any: where a packed buffer is
/// not the dense array.
fn moves(tensors: &[TensorInfo]) -> Option<Vec<Moving>> {
    let moved = |tensor: &TensorInfo| {
        let packed = tensor.format.is_none() && !tensor.whole;
        let (input, output) =
            (packed && tensor.role == Role::Input, packed && tensor.role == Role::Output);
        Moving { pack: input, expand: input, unpack: output }
    };
    let all: Vec<Moving> = tensors.iter().map(moved).collect();
    all.iter().any(|one| one.pack || one.unpack).then_some(all)
}

fn described(wanted: &Wanted, stage: &str) -> Result<(String, [usize; 3]), Why> {
    let source = texts::source(&wanted.name, &wanted.text);
    let failed = |error: dastac::Error| texts::of_error(error, &source);
    let none = [0; 3];
    let analysis = Analysis::of(&wanted.text).map_err(failed)?;
    if stage == "structure" {
        return Ok((texts::structures(&analysis, &source)?, none));
    }
    let sizes = known_sizes(&analysis.inferred.program.symbols, wanted);
    let lowered = lowered(analysis, sizes.as_ref()).map_err(failed)?;
    let options = texts::options(wanted.parallel)?;
    match stage {
        "layouts" => Ok((texts::layouts(&lowered.laid, &source)?, none)),
        "proof" => texts::proof(&lowered, &source),
        "loops" => Ok((lowered.tiled(&options).map_err(failed)?.to_string(), none)),
        text => {
            let (fitted, _) = lowered.fitted(&options, &mut ()).map_err(failed)?;
            let text = options.target.text(&fitted, &options.code(), text);
            Ok((text.map_err(|error| failed(error.into()))?, none))
        }
    }
}
