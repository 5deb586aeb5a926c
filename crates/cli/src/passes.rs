//! `dastac passes`, and what commands show of the passes over loops.

use std::fmt::Write;
use std::time::Duration;

use dastac::build::BuildOptions;
use dastac::loops::Module;
use dastac::loops::passes::{Flow, Observer, Pass, PassError, SIMPLIFY, Times, Verified};
use dastac::stur::hint::similar;

use super::args::PassArgs;
use super::failure::Failure;
use super::machine::TargetArgs;
use super::{Outcome, Result, output};

/// Lists all passes.
pub fn passes(target: TargetArgs) -> Result<Outcome> {
    output::stdout(text(&target.options()?).as_bytes())?;
    Ok(Outcome::Done)
}

/// All passes, sequence after sequence.
fn text(options: &BuildOptions) -> String {
    let (registry, own) = (options.registry(), options.sequences(&options.code()));
    let mut text = String::new();
    for sequence in [SIMPLIFY].into_iter().chain(own) {
        let _ = writeln!(text, "{}:", sequence.name);
        for pass in sequence.passes.iter().filter_map(|name| registry.find(name).ok()) {
            let Pass { name, about, example, .. } = pass;
            let (before, after) = (example.before, example.after);
            let _ = write!(text, "  {name}\n      {about}\n      {before}\n      -> {after}\n");
        }
    }
    text
}

/// The pass of a name.
pub fn known(name: &str, options: &BuildOptions) -> Result<&'static str> {
    let registry = options.registry();
    let close = similar(name, registry.passes().map(|pass| pass.name));
    let hint = close
        .map_or("`dastac passes` lists all".into(), |close| format!("did you mean `{close}`?"));
    let found = registry.find(name).map(|pass| pass.name);
    found.map_err(|error| Failure::usage(error.to_string()).hint(hint))
}

/// What is seen of passes while they run.
#[derive(Debug)]
pub struct Watch {
    args: PassArgs,
    until: Option<&'static str>,
    times: Times,
}

impl Watch {
    /// What is asked for.
    pub fn of(args: PassArgs) -> Watch {
        Watch { args, until: None, times: Times::default() }
    }

    /// What is asked for, up to a pass.
    pub fn until(args: PassArgs, until: Option<&'static str>) -> Watch {
        Watch { until, ..Watch::of(args) }
    }

    /// Shows on stderr how long passes took, if that is asked for; an error if the last pass that was asked for did not
    /// run.
    pub fn finish(&self) -> Result<()> {
        if self.args.time_passes {
            self.times.0.iter().for_each(|(name, took)| {
                eprintln!("{:10.3} ms  {name}", took.as_secs_f64() * 1e3);
            });
        }
        let ran = |wanted: &&str| self.times.0.iter().any(|(name, _)| name == wanted);
        match self.until.filter(|wanted| !ran(wanted)) {
            Some(wanted) => {
                let text = format!("pass `{wanted}` does not run for this code");
                Err(Failure::usage(text).hint("`dastac passes` lists those that do"))
            }
            None => Ok(()),
        }
    }
}

impl Observer for Watch {
    fn input(&mut self, module: &Module) -> std::result::Result<(), PassError> {
        if self.args.verify_ir { Verified.input(module) } else { Ok(()) }
    }

    fn after(
        &mut self,
        pass: &'static Pass,
        took: Duration,
        module: &Module,
    ) -> std::result::Result<Flow, PassError> {
        self.times.after(pass, took, module)?;
        if self.args.verify_ir {
            Verified.after(pass, took, module)?;
        }
        Ok(if self.until == Some(pass.name) { Flow::Stop } else { Flow::Continue })
    }
}
