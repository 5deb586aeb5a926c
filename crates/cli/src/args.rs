//! The flags of every command, and their help.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dastac::driver::{Indices, Iteration};
use dastac::elements::Element;
use dastac::iterate::Walking;
use dastac::targets;

use super::machine::{MachineArgs, TargetArgs};
use super::source::is_prefix;

const EXAMPLES: &str = "\
Examples:
  dastac check spmv.stur                              is it well-formed?
  dastac infer spmv.stur                              the structure of every tensor
  dastac layout spmv.stur -p M=512 -p N=512           where elements stand, and what that saves
  dastac run spmv.stur -p M=512 -p N=512 --verify     compute, and compare with a dense reference
  dastac tune spmv.stur -p M=512 -p N=512             search for a faster schedule on this machine
  dastac verify spmv.stur                             prove the compiled loops right, for all sizes
  dastac build spmv.stur -o libspmv.so --header spmv.h

FILE is a program in STUR, or `-` for standard input. Results go to standard output, everything
else to standard error.

Exit codes:
  0    done
  1    the program or the given data are at fault, or a verification disagrees
  2    the command line is at fault
  101  a defect of dastac";

/// A compiler for structured tensor algebra
///
/// Reads what to compute and what is known of the tensors (zeros, symmetry, diagonals, bands, ..), stores only their
/// unique elements in packed buffers, and compiles parallel native kernels that compute on these.
#[derive(Debug, Parser)]
#[command(name = "dastac", version, max_term_width = 120, after_help = EXAMPLES)]
pub struct Cli {
    /// When to use colours
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Give up compiling after so many seconds (0: never)
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 300)]
    pub compile_limit: u64,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Report errors and warnings of a program
    Check(FileArgs),
    /// Show the unique set and redundancy map of every tensor
    ///
    /// The output is STUR itself, with isl's notation in comments: its lines can be pasted into a program.
    Infer(FileArgs),
    /// Show where the elements of every tensor are stored
    ///
    /// For every tensor: the polynomial from index to position, the number of stored elements as a polynomial in the
    /// symbols, and the packing order, all for symbols of at least 1; and a proof that no two elements share a place.
    /// When all symbols have values also elements and bytes, and how that compares with a dense array.
    Layout(LayoutArgs),
    /// Print what a stage of the compiler made of a program
    #[command(after_help = EMIT_EXAMPLES)]
    Emit(EmitArgs),
    /// Compile and run a program
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Search for the fastest schedule on this machine
    ///
    /// Tries loop orders, tiles, vectors and threads at the given sizes and keeps the best beside the program, in FILE
    /// with the extension `.schedule`, where `run`, `emit`, `build` and `verify` find it. What is kept is faster than
    /// the program as it is, or nothing.
    #[command(after_help = TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// Prove that the compiled loops do what a program says, for all sizes
    ///
    /// Reads the final loops back and decides on sets, not on samples: that they execute every instance of every
    /// product once, on the right elements; that parallel iterations write distinct elements; that nothing is read
    /// before it is written; and that positions are one for each stored element. `docs/verification.md` says what is
    /// proven and what is trusted.
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
    /// Make a shared library or an object file with a C header
    ///
    /// The library exports `kernel` (computes on packed buffers), `sizes` (elements of every packed buffer) and, for
    /// every tensor T, `pack_T` and `unpack_T`, which move it between a dense array and its packed buffer. The header
    /// explains them.
    #[command(after_help = BUILD_EXAMPLES)]
    Build(BuildArgs),
    /// List the passes over loops
    ///
    /// Each with what it does and a before -> after example, in the order in which they run. `dastac emit --stage
    /// after:PASS` prints a program's loops after one of them; `docs/passes.md` follows one program through all.
    Passes(TargetArgs),
    /// Convert a file of a tensor
    ///
    /// The ends of names say what files are: .mtx (MatrixMarket), .tns (FROSTT), .smtx (DLMC), .npy (NumPy), .npz
    /// (SciPy); the texts may be compressed (.mtx.gz). `docs/formats.md` says what each holds, and by which rules.
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// Show what a file of a tensor holds
    ///
    /// Shape, entries, values, symmetry, bandwidth, how entries are spread over rows and columns, what the tensor takes
    /// in several formats, and a picture of its pattern.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Measure all kernels of the paper beside other systems
    ///
    /// Every system computes on the same random data, in turns, and its results are compared with dastac's. Times stand
    /// beside the bound that the machine's multiply-add rate and bandwidth set, measured in the same run. Peers that
    /// are not installed are shown as gaps. Results are kept in a file: a run that is stopped goes on where it was, as
    /// long as program and machine are the same.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  dastac completions bash > ~/.local/share/bash-completion/completions/dastac"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
}

const TUNE_EXAMPLES: &str = "\
Examples:
  dastac tune ttm.stur -p M=256 -p N=256 -p P=256 -p Q=256
  dastac tune ttm.stur -p M=64 -p N=64 -p P=64 -p Q=64 --threads 1 --budget 120 -o small.schedule
  dastac run ttm.stur -p M=64 -p N=64 -p P=64 -p Q=64 --threads 1 --schedule small.schedule";

const CONVERT_EXAMPLES: &str = "\
Examples:
  dastac convert bcsstk13.mtx.gz bcsstk13.npz
  dastac convert graph.mtx graph.npz --format csc --type f32
  dastac convert layer.smtx layer.mtx
  dastac convert scan.tns scan.tns.gz --zero-based --pattern --shape 512,512,64";

const INSPECT_EXAMPLES: &str = "\
Examples:
  dastac inspect bcsstk13.mtx.gz
  dastac inspect nations.tns --format 'compressed(k), compressed(i), dense(j)'
  dastac inspect layer.smtx --svg layer.svg --png layer.png";

const BENCH_EXAMPLES: &str = "\
Examples:
  dastac bench --quick                      the table, in two minutes
  dastac bench                              everything; can be stopped and resumed
  dastac bench --figure table --kernel pr2 --kernel ttm
  dastac bench --quick --kernel spmv --system mkl

Peers are looked for in the folder `peers` of the output folder, where `./x bench --peers` puts them.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  dastac verify ttm.stur
  dastac verify ttm.stur --strict --json

Exit code 1 if something is refuted, with --strict also if something is undecided.";

const EMIT_EXAMPLES: &str = "\
Examples:
  dastac emit ttm.stur --stage loops
  dastac emit ttm.stur --stage after:choose-tiles
  dastac emit ttm.stur --stage llvm --threads 1
  dastac emit ttm.stur --stage object -o ttm.o";

const RUN_EXAMPLES: &str = "\
Examples:
  dastac run ttm.stur -p M=64 -p N=64 -p P=64 -p Q=64 --verify
  dastac run ttm.stur -p M=512 -p N=512 -p P=512 -p Q=512 --threads 8 --repeat 10
  dastac run matvec.stur -p N=500 --input B=b.npy --input x=x.npy --output y=y.npy
  dastac run matvec.stur -p N=500 --json | python3 -m json.tool

Arrays are .npy files (NumPy) of 64-bit floats in C order: the full, dense array of the tensor's
box; a scalar is a 0-d array. Packing and unpacking happen inside. An input that contradicts its
declared structure is an error. Inputs may also be sparse: .mtx, .tns, .smtx, .npz, whose zeros
are filled in.";

const BUILD_EXAMPLES: &str = "\
Examples:
  dastac build ttm.stur -o libttm.so --header ttm.h
  dastac build ttm.stur -o ttm.o --prefix my_ --threads 1

A parallel library needs OpenMP's run-time library (libomp) where it is used, and runs on as many
threads as OMP_NUM_THREADS says; with --threads 1 it needs nothing.";

/// A program.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// The program, in STUR; `-` for standard input
    pub file: PathBuf,
}

/// Values of symbols.
#[derive(Debug, Args)]
pub struct SymbolArgs {
    /// The value of a symbol; once for each
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE", value_parser = symbol_value)]
    pub params: Vec<(String, i64)>,
}

/// What `layout` needs.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
}

/// Number of threads.
#[derive(Debug, Args)]
pub struct ThreadArgs {
    /// Threads for parallel loops; 1 compiles without OpenMP [default: one for each core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
}

/// How convolutions go over sparse tensors.
#[derive(Debug, Args)]
pub struct WalkingArgs {
    /// How loops go over the stored elements that a subscript of several iterators (a convolution) reaches; for
    /// comparison [default: subsections]
    #[arg(long, value_name = "STRATEGY")]
    pub walking: Option<Strategy>,
}

/// How loops go over sparse levels with sums in their subscripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Only where something is stored within reach
    Subsections,
    /// Over all of the result, with the window of what is within reach carried along
    Search,
    /// Over all of the result and of the filter, each element searched for
    Locate,
}

impl WalkingArgs {
    /// How dynamic tensors are read, with indices of this width.
    pub fn iteration(&self, indices: Indices) -> Iteration {
        let walking = match self.walking.unwrap_or(Strategy::Subsections) {
            Strategy::Subsections => Walking::Subsections,
            Strategy::Search => Walking::Search,
            Strategy::Locate => Walking::Locate,
        };
        Iteration { indices, walking }
    }
}

/// Which schedules hold.
#[derive(Debug, Args)]
pub struct ScheduleArgs {
    /// Take the `schedule:` line of a file [default: FILE with the extension .schedule if it is there, else the
    /// program's own]
    #[arg(long, value_name = "PATH")]
    pub schedule: Option<PathBuf>,
    /// Ignore schedules: everything is chosen by the model of the machine
    #[arg(long, conflicts_with = "schedule")]
    pub no_schedule: bool,
}

/// What `tune` needs.
#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Read an input from a .npy (or .mtx, .tns, ..) file; inputs without one are drawn at random, on their structure
    #[arg(long = "input", value_name = "NAME=PATH", value_parser = named_path)]
    pub inputs: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// How long to search, about
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = budget)]
    pub budget: f64,
    /// Seed of the search and of the random inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where to keep the result [default: FILE with the extension .schedule]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

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

/// What is to be seen of the passes over loops.
#[derive(Clone, Copy, Debug, Args)]
pub struct PassArgs {
    /// Show on standard error how long each pass over the loops took
    #[arg(long)]
    pub time_passes: bool,
    /// Verify the loops after each pass (slow; a violation is a defect of dastac)
    #[arg(long)]
    pub verify_ir: bool,
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

/// What `run` needs.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    /// Read an input from a .npy (or .mtx, .tns, ..) file; inputs without one are drawn at random, on their structure
    #[arg(long = "input", value_name = "NAME=PATH", value_parser = named_path)]
    pub inputs: Vec<(String, PathBuf)>,
    /// Write a computed tensor to a .npy file, as a dense array, or its non-zero elements to a .mtx, .tns, .. file
    #[arg(long = "output", value_name = "NAME=PATH", value_parser = named_path)]
    pub outputs: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub lists: ListArgs,
    #[command(flatten)]
    pub passes: PassArgs,
    /// Seed of the random inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Part of the elements, from 0 to 1, that random inputs with `:F` have
    #[arg(long, value_name = "PART", default_value_t = dastac::runtime::DEFAULT_DENSITY, value_parser = density)]
    pub density: f64,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    #[command(flatten)]
    pub walking: WalkingArgs,
    /// How often to run the computation; all times are reported
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub repeat: u32,
    /// Run once more before, on one thread, and count how often each loop runs: beside, how often it needs to on sparse
    /// tensors
    #[arg(long)]
    pub trips: bool,
    /// Compare all results with the reference evaluator; exit code 1 when they disagree
    #[arg(long)]
    pub verify: bool,
    /// Assert that every access of the generated code stays within its buffer: one that does not is reported, and the
    /// process aborts
    #[arg(long)]
    pub checked: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

fn density(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "a number from 0 to 1, such as 0.05".into())
}

/// A file of a tensor, and how it is read.
#[derive(Debug, Args)]
pub struct TensorArgs {
    /// The file; the end of its name says what it is
    pub file: PathBuf,
    #[command(flatten)]
    pub lists: ListArgs,
    /// The extents of the tensor in a .tns file [default: those of its largest coordinates]
    #[arg(long, value_name = "EXTENT,..", value_delimiter = ',')]
    pub shape: Option<Vec<u64>>,
    /// What several entries of one element become
    #[arg(long, value_name = "RULE", default_value = "sum")]
    pub duplicates: DuplicateRule,
}

/// What `.tns` files look like, which do not say it themselves.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Coordinates in .tns files count from 0, not from 1
    #[arg(long)]
    pub zero_based: bool,
    /// Lines of a .tns file are coordinates without a value
    #[arg(long)]
    pub pattern: bool,
}

/// What several entries of one element become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DuplicateRule {
    /// Their sum; of truth values, whether any is true
    Sum,
    /// The last one
    Last,
    /// An error
    Refuse,
}

/// The types of elements, each with what it is.
fn element_types() -> impl TypedValueParser<Value = Element> {
    let value = |element: &Element| PossibleValue::new(element.name()).help(element.about());
    PossibleValuesParser::new(Element::OF_TENSORS.iter().map(value))
        .try_map(|name| Element::named(&name).ok_or("there is no such type"))
}

/// What `convert` needs.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub tensor: TensorArgs,
    /// What to write; the end of its name says what it is
    pub output: PathBuf,
    /// Extents of another box with as many elements, which stand in the same order: columns of a matrix become several
    /// dimensions
    #[arg(long, value_name = "EXTENT,..", value_delimiter = ',')]
    pub reshape: Option<Vec<u64>>,
    /// The format to store the tensor in, which is what a .npz file has, and the order of entries in others: a name
    /// (csr, csc, coo, csf, ..), a code (DCC), or its levels
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The type of the elements [default: that of the file]
    #[arg(long = "type", value_name = "TYPE", value_parser = element_types())]
    pub element: Option<Element>,
}

/// What `inspect` needs.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    pub tensor: TensorArgs,
    /// Also show what the tensor takes in this format
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Leave the picture out
    #[arg(long)]
    pub no_plot: bool,
    /// Write the picture as an SVG file
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,
    /// Write the picture as a PNG file
    #[arg(long, value_name = "PATH")]
    pub png: Option<PathBuf>,
}

/// What `verify` needs.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    /// Exit code 1 also when something could not be decided
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// What `bench` needs.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Only the table, each kernel for less than a second and beside few systems
    #[arg(long)]
    pub quick: bool,
    /// Only this figure of the paper, or `table`; may be given again [default: all, with --quick the table]
    #[arg(long = "figure", value_name = "NAME")]
    pub figures: Vec<String>,
    /// Only kernels whose name contains this text; may be given again
    #[arg(long = "kernel", value_name = "TEXT")]
    pub kernels: Vec<String>,
    /// This size of all kernels in the table, instead of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=1 << 40))]
    pub size: Option<i64>,
    /// Only this system beside dastac; may be given again
    #[arg(long = "system", value_name = "NAME")]
    pub systems: Vec<String>,
    /// Numbers of threads [default: one, and one for each core]
    #[arg(
        long,
        value_name = "COUNT,..",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub threads: Vec<u32>,
    /// Seconds that the systems of one case are measured for, together
    #[arg(long, value_name = "SECONDS")]
    pub budget: Option<f64>,
    /// Seed of the random data [default: another one each time]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Measure everything again
    #[arg(long)]
    pub fresh: bool,
    /// Where results are kept and reports written
    #[arg(long, value_name = "FOLDER", default_value = "target/bench")]
    pub output: PathBuf,
    /// Where peers are [default: `peers` in the output folder]
    #[arg(long, value_name = "FOLDER")]
    pub peers: Option<PathBuf>,
    /// Only show what was measured before, and write the reports again
    #[arg(long, conflicts_with_all = ["fresh", "budget", "seed"])]
    pub report: bool,
    /// Write the summary into this document, between its markers
    #[arg(long, value_name = "PATH")]
    pub summary: Option<PathBuf>,
    /// A folder of matrices (.mtx, .mtx.gz) that sparse matrix products are measured with as well
    #[arg(long, value_name = "FOLDER")]
    pub matrices: Option<PathBuf>,
    /// A folder of a network's pruned filters: `conv_shapes.tsv`, and a .smtx.gz file for each layer in `0.8`
    #[arg(long, value_name = "FOLDER")]
    pub layers: Option<PathBuf>,
    /// TACO's binary
    #[arg(long, value_name = "PATH")]
    pub taco: Option<PathBuf>,
    /// The folder of TACO-UCF's sources, built in its `build`
    #[arg(long, value_name = "FOLDER")]
    pub taco_ucf: Option<PathBuf>,
}

/// What `build` needs.
#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub passes: PassArgs,
    /// What to make: a shared library (.so), an object file (.o), or a program (.dastac) that `dastac run` takes
    /// without compiling it
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
    /// Also write the C header
    #[arg(long, value_name = "PATH")]
    pub header: Option<PathBuf>,
    /// Put in front of the names of exported functions [default: the name of FILE and an underscore]
    #[arg(long, value_name = "TEXT", value_parser = prefix)]
    pub prefix: Option<String>,
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Assert that every access of the generated code stays within its buffer: one that does not is reported, and the
    /// process aborts
    #[arg(long)]
    pub checked: bool,
    #[command(flatten)]
    pub threads: ThreadArgs,
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    #[command(flatten)]
    pub walking: WalkingArgs,
}

/// `NAME=VALUE`.
fn symbol_value(text: &str) -> Result<(String, i64), String> {
    let form = "write `NAME=VALUE`, such as `-p N=512`, once for each symbol";
    let (name, value) = text.split_once('=').ok_or_else(|| format!("there is no `=`; {form}"))?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err(format!("there is no name; {form}"));
    }
    if value.is_empty() {
        return Err(format!("there is no value; {form}"));
    }
    match value.parse() {
        Ok(value) => Ok((name.into(), value)),
        Err(error) => Err(match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                format!("`{value}` does not fit 64 bits")
            }
            _ => format!("`{value}` is not an integer; {form}"),
        }),
    }
}

/// A positive number of seconds.
fn budget(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("write seconds, from 0.01 to 1000000".into()),
    }
}

/// The beginning of a C name.
fn prefix(text: &str) -> Result<String, String> {
    if is_prefix(text) {
        return Ok(text.into());
    }
    Err("no C name begins like this; use letters, digits and `_`, not a digit first".into())
}

/// `NAME=PATH`.
fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.trim().is_empty() && !path.is_empty() => {
            Ok((name.trim().into(), path.into()))
        }
        _ => Err("write `NAME=PATH`, such as `B=b.npy`".into()),
    }
}
