//! Flags of `emit`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use dastac::targets;

use super::super::machine::MachineArgs;
use super::shared::{FileArgs, PassArgs, ScheduleArgs, ThreadArgs, WalkingArgs, prefix};

pub const EXAMPLES: &str = "\
Examples:
  dastac emit examples/ttm_ut.stur --stage loops
  dastac emit examples/ttm_ut.stur --stage after:choose-tiles
  dastac emit examples/ttm_ut.stur --stage llvm --threads 1
  dastac emit examples/ttm_ut.stur --stage object -o ttm.o";

/// What `emit` needs.
#[derive(Debug, Args)]
pub struct EmitArgs {
    #[command(flatten)]
    pub file: FileArgs,
    /// The stage
    #[arg(long, value_name = "STAGE", value_parser = StageParser)]
    pub stage: Wanted,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Put in front of the names of exported functions (mlir and later stages)
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = prefix)]
    pub prefix: String,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    #[command(flatten)]
    pub walking: WalkingArgs,
    #[command(flatten)]
    pub passes: PassArgs,
}

/// What `emit` prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A stage of the compiler.
    Stage(Stage),
    /// The loops after the pass of that name.
    After(String),
    /// A text between loops and code, which a target names.
    Text(String),
}

/// Reads the name of a stage, of a target's text, or `after:` and the name of a pass.
#[derive(Clone, Copy, Debug)]
struct StageParser;

impl StageParser {
    /// All stages in their order: those of targets come before the code that they become.
    fn values() -> Vec<PossibleValue> {
        let own = Stage::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let (code, mut values): (Vec<_>, Vec<_>) =
            own.partition(|value| ["object", "header"].contains(&value.get_name()));
        for text in targets::ALL.iter().flat_map(|known| known.stages) {
            if values.iter().all(|value| value.get_name() != text.name) {
                values.push(PossibleValue::new(text.name).help(text.about));
            }
        }
        values.extend(code);
        values
    }
}

impl TypedValueParser for StageParser {
    type Value = Wanted;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Wanted, clap::Error> {
        if let Some(name) = value.to_str().and_then(|text| text.strip_prefix("after:")) {
            return Ok(Wanted::After(name.to_owned()));
        }
        let name =
            PossibleValuesParser::new(StageParser::values()).parse_ref(command, arg, value)?;
        match Stage::from_str(&name, false) {
            Ok(stage) => Ok(Wanted::Stage(stage)),
            Err(_) => Ok(Wanted::Text(name)),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let after = PossibleValue::new("after:PASS")
            .help("The loops after a pass: `dastac passes` lists all");
        Some(Box::new(StageParser::values().into_iter().chain([after])))
    }
}

/// What can be printed, in the order of the stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Structures: the output of `infer`
    Inferred,
    /// The iteration domain of every statement, as an isl set
    Domain,
    /// isl's loops over these domains, as C
    Ast,
    /// Packed layouts: the output of `layout`
    Layout,
    /// What passes know of the machine: a file for `--machine`
    Machine,
    /// The computation in the loop IR, with packed subscripts
    Loops,
    /// The same in tiles for this machine's registers and caches
    Tiled,
    /// The object file: kernel, sizes, packing and unpacking
    Object,
    /// The C header of the object file
    Header,
}
