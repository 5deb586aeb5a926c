//! `dastac emit`.

use std::fmt::Write;
use std::io::IsTerminal;

use dastac::build::BuildOptions;
use dastac::contract::At;
use dastac::driver::{Analysis, Indices, Lowered};
use dastac::export::Library;
use dastac::loops::passes::Flow;
use dastac::stur::infer::Inferred;
use dastac::target::{CodeOptions, TargetError, file};

use super::args::{EmitArgs, Stage, ThreadArgs, Wanted};
use super::failure::Failure;
use super::infer::Notation;
use super::passes::{Watch, known};
use super::progress::Progress;
use super::schedule::scheduled;
use super::source::Source;
use super::{Outcome, Result, Terminal, infer, layout, machine, output};

/// Prints what a stage made of a program.
pub fn emit(terminal: &Terminal, args: &EmitArgs) -> Result<Outcome> {
    if args.stage == Wanted::Stage(Stage::Object)
        && args.output.is_none()
        && std::io::stdout().is_terminal()
    {
        return Err(Failure::usage("an object file is no text for a terminal")
            .hint("name a file: `-o kernel.o`"));
    }
    let source = Source::of(&args.file)?;
    if let Some(path) = &args.output {
        output::check(path, &source)?;
    }
    let progress = Progress::new(terminal.interactive);
    let bytes = stage(terminal, args, &source, &progress)?;
    drop(progress);
    match &args.output {
        Some(path) => output::file(path, &mut |out| out.write_all(&bytes))?,
        None => output::stdout(&bytes)?,
    }
    Ok(Outcome::Done)
}

fn stage(
    terminal: &Terminal,
    args: &EmitArgs,
    source: &Source,
    progress: &Progress,
) -> Result<Vec<u8>> {
    let failed = |error: dastac::Error| Failure::of(error, source);
    // What `run` compiles for as many threads.
    let options = BuildOptions {
        parallel: parallel(&args.threads),
        ..machine::options(&args.machine, &args.threads)?
    };
    check(&args.stage, &options)?;
    if args.stage == Wanted::Stage(Stage::Machine) {
        return Ok(file::print(&options.machine(&options.code())).into_bytes());
    }
    let analysis = scheduled(terminal, source, &args.schedule, progress)?;
    match &args.stage {
        Wanted::Stage(Stage::Inferred) => {
            return Ok(infer::structures(&analysis.inferred, source, Notation::Stur)?.into_bytes());
        }
        Wanted::Stage(Stage::Domain) => return Ok(domains(&analysis.inferred).into_bytes()),
        _ => {}
    }
    progress.stage("finding layouts");
    let laid = analysis.contracted(At::All).and_then(Analysis::lay_out).map_err(failed)?;
    if args.stage == Wanted::Stage(Stage::Layout) {
        return Ok(layout::polynomials(&laid).map_err(failed)?.into_bytes());
    }
    progress.stage("building loops");
    let iteration = args.walking.iteration(Indices::Narrow);
    let until = match &args.stage {
        Wanted::After(pass) => Some(known(pass, &options)?),
        Wanted::Stage(_) | Wanted::Text(_) => None,
    };
    let mut watch = Watch::until(args.passes, until);
    let (lowered, flow) = laid.lower_under(iteration, &mut watch).map_err(failed)?;
    match &args.stage {
        Wanted::Stage(Stage::Ast) => return Ok(asts(&lowered).into_bytes()),
        Wanted::Stage(Stage::Loops) => {
            return Ok(format!("{}{}", steps(&lowered), lowered.kernel.module).into_bytes());
        }
        // The pass that was asked for is one of those that make loops simple.
        Wanted::After(_) if flow == Flow::Stop => {
            watch.finish()?;
            return Ok(lowered.kernel.module.to_string().into_bytes());
        }
        _ => {}
    }
    progress.stage("generating code");
    let bytes = generated(&lowered, args, &options, source, &mut watch).map_err(failed)?;
    watch.finish()?;
    Ok(bytes)
}

/// Fails early for a text or a pass that the target does not have.
fn check(wanted: &Wanted, options: &BuildOptions) -> Result<()> {
    let stages = options.target.stages();
    match wanted {
        Wanted::Text(name) if stages.iter().all(|stage| stage.name != name) => {
            let error = TargetError::UnknownStage {
                target: options.target.name().to_owned(),
                stage: name.clone(),
                known: stages.iter().map(|stage| stage.name).collect::<Vec<_>>().join(", "),
            };
            Err(Failure::usage(error.to_string()))
        }
        Wanted::After(pass) => known(pass, options).map(drop),
        Wanted::Stage(_) | Wanted::Text(_) => Ok(()),
    }
}

/// What passes and the target make of the loops.
fn generated(
    lowered: &Lowered,
    args: &EmitArgs,
    options: &BuildOptions,
    source: &Source,
    watch: &mut Watch,
) -> std::result::Result<Vec<u8>, dastac::Error> {
    let library = || Library::new(lowered, &source.name, &args.prefix);
    Ok(match &args.stage {
        Wanted::After(_) => lowered.fitted(options, watch)?.0.to_string().into_bytes(),
        Wanted::Text(name) => {
            let (fitted, _) = lowered.fitted(options, watch)?;
            let code = CodeOptions { prefix: args.prefix.clone(), ..options.code() };
            options.target.text(&fitted, &code, name)?.into_bytes()
        }
        Wanted::Stage(Stage::Header) => library()?.c_header()?.into_bytes(),
        Wanted::Stage(Stage::Object) => library()?.compile_under(options, watch)?.code.bytes,
        Wanted::Stage(_) => {
            let mut module = lowered.kernel.module.clone();
            options.tile(&mut module, watch)?;
            format!("{}{module}", steps(lowered)).into_bytes()
        }
    })
}

/// Whether to compile for several threads.
pub fn parallel(args: &ThreadArgs) -> bool {
    args.threads != Some(1)
}

/// The iteration domain of every statement.
fn domains(inferred: &Inferred) -> String {
    let mut parts = Vec::new();
    for rule in &inferred.rules {
        let source = &inferred.program.rules[rule.rule.0];
        let head =
            format!("{}({})", inferred.program.tensor(rule.head).name, source.iterators.join(", "));
        for statement in &rule.statements {
            let span = source.products[statement.product].span;
            let product = inferred.program.source.get(span.start..span.end).unwrap_or("");
            let product: Vec<&str> = product.split_whitespace().collect();
            let mut text =
                format!("# {head}, product {}: {}\n", statement.product + 1, product.join(" "));
            let _ = writeln!(text, "{}", statement.domain);
            parts.push(text);
        }
    }
    parts.join("\n")
}

/// The rules of products in steps, as comments.
fn steps(lowered: &Lowered) -> String {
    let mut text = String::new();
    for copy in lowered.laid.analysis.expanded() {
        let _ = writeln!(text, "# {copy}");
    }
    for plan in lowered.laid.analysis.plans() {
        let _ = writeln!(text, "# {} in steps, {}", plan.head, plan.contract.join(", "));
        for rule in &plan.rules {
            let _ = writeln!(text, "#   {rule}");
        }
    }
    text
}

/// isl's loops of every statement.
fn asts(lowered: &Lowered) -> String {
    let program = lowered.program();
    let mut parts = Vec::new();
    for (head, ast) in &lowered.kernel.asts {
        parts.push(format!("// into {}\n{ast}", program.tensor(*head).name));
    }
    parts.join("\n")
}
