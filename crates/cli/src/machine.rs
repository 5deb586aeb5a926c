//! Which machine code is made for.

use std::path::PathBuf;

use clap::Args;
use dastac::build::BuildOptions;
use dastac::target::file;
use dastac::targets;

use super::Result;
use super::failure::Failure;

/// The machine.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// The CPU to compile for, by LLVM's name, such as x86-64-v3 [default: this machine's]
    #[arg(long, value_name = "NAME")]
    pub cpu: Option<String>,
    /// Choose tiles, vectors and parts for the machine that this file describes; `--stage machine` prints such a file
    #[arg(long, value_name = "PATH")]
    pub machine: Option<PathBuf>,
}

/// Options for one thread of that machine.
pub fn options(args: &MachineArgs) -> Result<BuildOptions> {
    let target = match &args.cpu {
        None => targets::host(),
        Some(name) => targets::processor(name).map_err(|error| Failure::user(error.to_string()))?,
    };
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
    Ok(BuildOptions { target, machine, ..BuildOptions::default() })
}
