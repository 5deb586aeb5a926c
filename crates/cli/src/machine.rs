//! Which machine code is made for.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dastac::build::BuildOptions;
use dastac::targets::{self, Known};

use super::args::ThreadArgs;
use super::failure::Failure;
use super::{Result, described};

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
    /// The machine of cores inside of memory: `upmem` or `blimp` [default: upmem]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Cores inside of memory that are used [default: 64]
    #[arg(long, value_name = "COUNT")]
    pub cores: Option<usize>,
    /// Choose tiles, vectors and parts for the machine that this file describes; `dastac machine` prints such a file
    /// [default: DASTAC_MACHINE, or what was measured]
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
    /// Whether code runs on this computer's processor, with memory that is there when it is first touched.
    pub fn is_host(self) -> bool {
        self.target.is_none_or(|known| known.name == targets::ALL[0].name)
    }

    /// Options for one thread of that target.
    pub fn options(self) -> Result<BuildOptions> {
        self.options_for(&targets::Wanted::default())
    }

    fn options_for(self, wanted: &targets::Wanted<'_>) -> Result<BuildOptions> {
        let known = self.target.unwrap_or(&targets::ALL[0]);
        let target = known.target(wanted);
        let target = target.map_err(|error| Failure::user(error.to_string()))?;
        Ok(BuildOptions { target, ..BuildOptions::default() })
    }
}

/// Options for one thread of that machine. What a file or a flag does not say is this computer's.
pub fn options(args: &MachineArgs, threads: &ThreadArgs) -> Result<BuildOptions> {
    let wanted = targets::Wanted {
        processor: args.cpu.as_deref(),
        profile: args.profile.as_deref(),
        cores: args.cores,
        threads: threads.threads.map(|threads| threads as usize),
    };
    let options = args.target.options_for(&wanted)?;
    let other = args.cpu.is_some() || options.target.name() != targets::ALL[0].name;
    let machine = match &args.machine {
        Some(path) => Some(described::in_file(path)?.machine),
        None if other => None,
        None => Some(described::description()?.machine),
    };
    Ok(BuildOptions { machine, ..options })
}

/// Options for one thread of this computer.
pub fn own() -> Result<BuildOptions> {
    let machine = Some(described::description()?.machine);
    Ok(BuildOptions { machine, ..BuildOptions::default() })
}
