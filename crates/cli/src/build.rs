//! `dastac build`.

use std::path::Path;

use dastac::backend::PimTarget;
use dastac::build::BuildOptions;
use dastac::contract::At;
use dastac::driver::{Analysis, Indices};
use dastac::export::{Library, shared_library};
use dastac::target::Library as Needed;

use super::args::BuildArgs;
use super::emit::parallel;
use super::failure::Failure;
use super::passes::Watch;
use super::progress::Progress;
use super::schedule::scheduled;
use super::source::Source;
use super::{Outcome, Result, Terminal, machine, output};

enum Kind {
    Shared,
    Object,
    Program,
    Cores,
}

/// Makes a shared library or an object file, and a header.
pub fn build(terminal: &Terminal, args: &BuildArgs) -> Result<Outcome> {
    let kind = kind(&args.output)?;
    if matches!(kind, Kind::Program | Kind::Cores) {
        let options = [("--header", args.header.is_some()), ("--prefix", args.prefix.is_some())];
        if let Some((option, _)) = options.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!("`{option}` is for libraries and object files")));
        }
    }
    fits_target(&kind, args)?;
    let source = Source::of(&args.file)?;
    output::check(&args.output, &source)?;
    if let Some(header) = &args.header {
        output::check(header, &source)?;
        if output::same_file(header, &args.output) {
            return Err(Failure::usage("the library and its header would be the same file"));
        }
    }
    let failed = |error: dastac::Error| Failure::of(error, &source);
    let progress = Progress::new(terminal.interactive);
    let analysis = scheduled(terminal, &source, &args.schedule, &progress)?;
    progress.stage("finding layouts");
    let laid = analysis.contracted(At::All).and_then(Analysis::lay_out).map_err(failed)?;
    progress.stage("building loops");
    let iteration = args.walking.iteration(Indices::Narrow);
    let mut watch = Watch::of(args.passes);
    let (lowered, _) = laid.lower_under(iteration, &mut watch).map_err(failed)?;
    if matches!(kind, Kind::Program | Kind::Cores) {
        progress.stage("generating code");
        let options = BuildOptions {
            parallel: parallel(&args.threads),
            checked: args.checked,
            ..machine::options(&args.machine, &args.threads)?
        };
        let mut watch = Watch::of(args.passes);
        let built = lowered.build_under(options, &mut watch).map_err(failed)?;
        watch.finish()?;
        let bytes = match kind {
            Kind::Cores => built.code.code.bytes,
            _ => {
                let package = built.package().map_err(failed)?;
                package.to_bytes().map_err(|error| failed(error.into()))?
            }
        };
        drop(progress);
        output::file(&args.output, &mut |out| out.write_all(&bytes))?;
        let text = match kind {
            Kind::Cores => {
                format!("{}: an executable for cores inside of memory\n", args.output.display())
            }
            _ => format!("{0}: `dastac run {0}` runs it\n", args.output.display()),
        };
        output::stdout(text.as_bytes())?;
        return Ok(Outcome::Done);
    }
    let prefix = args.prefix.clone().unwrap_or_else(|| source.prefix());
    let title = source.path.file_name().map_or("A program".into(), |name| name.to_string_lossy());
    let mut library = Library::new(&lowered, &title, &prefix).map_err(failed)?;
    if let Some(name) = args.header.as_ref().and_then(|path| path.file_name()) {
        library.header.file = name.to_string_lossy().into_owned();
    }
    let header = library.c_header().map_err(failed)?;
    progress.stage("generating code");
    let options = BuildOptions {
        parallel: parallel(&args.threads),
        checked: args.checked,
        ..machine::options(&args.machine, &args.threads)?
    };
    let code = {
        let code = library.compile_under(&options, &mut watch).map_err(failed)?;
        watch.finish()?;
        code
    };
    match kind {
        Kind::Object => output::file(&args.output, &mut |out| out.write_all(&code.code.bytes))?,
        Kind::Program | Kind::Cores => {} // written above
        Kind::Shared => {
            progress.stage("linking");
            shared_library(&code, &args.output).map_err(failed)?;
        }
    }
    if let Some(path) = &args.header {
        output::file(path, &mut |out| out.write_all(header.as_bytes()))?;
    }
    drop(progress);
    let functions: Vec<String> = library
        .module
        .functions
        .iter()
        .map(|function| format!("{prefix}{}", function.name))
        .collect();
    let openmp =
        if code.needs(Needed::OpenMp) { "; needs OpenMP's library (libomp) to run" } else { "" };
    let object = matches!(kind, Kind::Object) && code.needs(Needed::Math);
    let math = if object { "; link it with -lm" } else { "" };
    let mut text = format!("{}: {}{openmp}{math}\n", args.output.display(), functions.join(", "));
    if let Some(path) = &args.header {
        text += &format!("{}: how to call them\n", path.display());
    }
    output::stdout(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// Fails where the target has no code of the kind that is asked for.
fn fits_target(kind: &Kind, args: &BuildArgs) -> Result<()> {
    let cores = args.machine.target.target.is_some_and(|target| target.name == PimTarget::NAME);
    match (kind, cores) {
        (Kind::Cores, false) => Err(Failure::usage("executables (.elf) are for cores inside of memory")
            .hint("add `--target pim`")),
        (Kind::Shared | Kind::Object, true) => Err(Failure::usage(
            "cores inside of memory have neither libraries nor object files",
        )
        .hint("end the name in .elf for an executable, or in .dastac for a program that `dastac run` takes")),
        _ => Ok(()),
    }
}

/// What to make, by the file's name.
fn kind(path: &Path) -> Result<Kind> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.ends_with(".so") || name.contains(".so.") {
        Ok(Kind::Shared)
    } else if name.ends_with(".o") {
        Ok(Kind::Object)
    } else if name.ends_with(".dastac") {
        Ok(Kind::Program)
    } else if name.ends_with(".elf") {
        Ok(Kind::Cores)
    } else {
        Err(Failure::usage(format!("the name `{}` does not say what to make", path.display()))
            .hint("end it in .so for a shared library, .o for an object file, .dastac for a program that \
                `dastac run` takes, or .elf for cores inside of memory"))
    }
}
