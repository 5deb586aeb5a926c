//! Which machine code is made for.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dastac::build::BuildOptions;
use dastac::target::file;
use dastac::targets::{self, Known};

use super::Result;
use super::failure::Failure;

/// The kind of machine.
#[derive(Clone, Copy, Debug, Args)]
pub struct TargetArgs {
    /// The kind of machine to compile for [default: cpu]
    #[arg(long, value_name = "NAME", value_parser = known())]
    pub target: Option<&'static Known>,
}

/// The machine.
#[derive(Debug, Args)]
pub struct MachineArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// The CPU to compile for, by LLVM's name, such as x86-64-v3 [default: this machine's]
    #[arg(long, value_name = "NAME")]
    pub cpu: Option<String>,
    /// Choose tiles, vectors and parts for the machine that this file describes; `emit --stage machine` prints such a
    /// file
    #[arg(long, value_name = "PATH")]
    pub machine: Option<PathBuf>,
}

/// The names of all targets, each with what it is.
fn known() -> impl TypedValueParser<Value = &'static Known> {
    let value = |known: &Known| PossibleValue::new(known.name).help(known.about);
    PossibleValuesParser::new(targets::ALL.iter().map(value))
        .try_map(|name| Known::named(&name).ok_or("there is no such target"))
}

impl TargetArgs {
    /// Options for one thread of that target.
    pub fn options(self) -> Result<BuildOptions> {
        self.options_for(None)
    }

    fn options_for(self, processor: Option<&str>) -> Result<BuildOptions> {
        let known = self.target.unwrap_or(&targets::ALL[0]);
        let target = known.target(processor);
        let target = target.map_err(|error| Failure::user(error.to_string()))?;
        Ok(BuildOptions { target, ..BuildOptions::default() })
    }
}

/// Options for one thread of that machine.
pub fn options(args: &MachineArgs) -> Result<BuildOptions> {
    let options = args.target.options_for(args.cpu.as_deref())?;
    let machine = match &args.machine {
        None => None,
        Some(path) => {
            let failed =
                |what: &dyn std::fmt::Display| Failure::user(format!("{}: {what}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
            Some(file::parse(&text).map_err(|error| {
                failed(&error).hint("`dastac emit FILE --stage machine` prints this machine's")
            })?)
        }
    };
    Ok(BuildOptions { machine, ..options })
}
