//! The flags of every command, and their help: one file a command, and [`shared`] for what several have.

mod bench;
mod build;
mod cache;
mod check;
mod emit;
mod infer;
mod layout;
mod machine;
mod reading;
mod run;
mod shared;
mod tensor;
mod tune;
mod verify;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::machine::TargetArgs;

pub use bench::BenchArgs;
pub use build::BuildArgs;
pub use cache::{CacheAction, CacheArgs};
pub use check::CheckArgs;
pub use emit::{EmitArgs, Stage, Wanted};
pub use infer::InferArgs;
pub use layout::LayoutArgs;
pub use machine::DescribeArgs;
pub use reading::ReadingArgs;
pub use run::RunArgs;
pub use shared::{
    DefinitionArgs, FileArgs, FormatsAction, FormatsArgs, PassArgs, ScheduleArgs, ShowArgs,
    SizesArgs, SymbolArgs, ThreadArgs,
};
pub use tensor::{ConvertArgs, DuplicateRule, InspectArgs, ListArgs, TensorArgs};
pub use tune::TuneArgs;
pub use verify::VerifyArgs;

const EXAMPLES: &str = "\
Examples:
  dastac check examples/spmv_ut.stur                        # is it well-formed?
  dastac infer examples/spmv_ut.stur                        # the structure of every tensor
  dastac layout examples/spmv_ut.stur -p M=512 -p N=512     # where elements stand, what that saves
  dastac run examples/spmv_ut.stur -p M=512 -p N=512 --verify # compute, compare with a dense reference
  dastac tune examples/spmv_ut.stur -p M=512 -p N=512       # search for a faster schedule
  dastac verify examples/spmv_ut.stur                       # prove the compiled loops, for all sizes
  dastac build examples/spmv_ut.stur -o libspmv.so --header spmv.h

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
    #[command(
        after_help = "Examples:\n  dastac check examples/ttm_ut.stur\n  dastac check kernel.stur --json"
    )]
    Check(CheckArgs),
    /// Show the unique set and redundancy map of every tensor
    ///
    /// The output is STUR itself: its lines can be pasted into a program.
    #[command(after_help = infer::EXAMPLES)]
    Infer(InferArgs),
    /// Show where the elements of every tensor are stored
    ///
    /// For every tensor: the polynomial from index to position, the number of stored elements as a polynomial in the
    /// symbols, and the packing order, all for symbols of at least 1; and a proof that no two elements share a place.
    /// When all symbols have values also elements and bytes, and how that compares with a dense array.
    #[command(after_help = layout::EXAMPLES)]
    Layout(LayoutArgs),
    /// Print what a stage of the compiler made of a program
    #[command(after_help = emit::EXAMPLES)]
    Emit(EmitArgs),
    /// Compile and run a program
    #[command(after_help = run::EXAMPLES)]
    Run(RunArgs),
    /// Search for the fastest schedule on this machine
    ///
    /// Tries loop orders, tiles, vectors and threads at the given sizes and keeps the best beside the program, in FILE
    /// with the extension `.schedule`, where `run`, `emit`, `build` and `verify` find it. What is kept is faster than
    /// the program as it is, or nothing.
    #[command(after_help = tune::EXAMPLES)]
    Tune(TuneArgs),
    /// Prove that the compiled loops do what a program says, for all sizes
    ///
    /// Reads the final loops back and decides on sets, not on samples: that they execute every instance of every
    /// product once, on the right elements; that parallel iterations write distinct elements; that nothing is read
    /// before it is written; and that positions are one for each stored element. `docs/verification.md` says what is
    /// proven and what is trusted.
    #[command(after_help = verify::EXAMPLES)]
    Verify(VerifyArgs),
    /// Make a shared library or an object file with a C header
    ///
    /// The library exports `kernel` (computes on packed buffers), `sizes` (elements of every packed buffer) and, for
    /// every tensor T, `pack_T` and `unpack_T`, which move it between a dense array and its packed buffer. The header
    /// explains them.
    #[command(after_help = build::EXAMPLES)]
    Build(BuildArgs),
    /// List the passes over loops
    ///
    /// Each with what it does and a before -> after example, in the order in which they run. `dastac emit --stage
    /// after:PASS` prints a program's loops after one of them; `docs/passes.md` follows one program through all.
    #[command(after_help = "Example:\n  dastac passes")]
    Passes(TargetArgs),
    /// List the formats with names
    ///
    /// Each with its index map, the primitives that say how levels are stored, and what it is for. `docs/formats.md`
    /// explains the notation, which programs and files (`--formats PATH`) define formats of their own in.
    #[command(after_help = shared::FORMATS_EXAMPLES)]
    Formats(FormatsArgs),
    /// Convert a file of a tensor
    ///
    /// The ends of names say what files are: .mtx (MatrixMarket), .tns (FROSTT), .smtx (DLMC), .npy (NumPy), .npz
    /// (SciPy); the texts may be compressed (.mtx.gz). `docs/formats.md` says what each holds, and by which rules.
    #[command(after_help = tensor::CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// Show what a file of a tensor holds
    ///
    /// Shape, entries, values, symmetry, bandwidth, how entries are spread over rows and columns, what the tensor takes
    /// in several formats, and a picture of its pattern.
    #[command(after_help = tensor::INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Measure all kernels of the paper beside other systems
    ///
    /// Every system computes on the same random data, in turns, and its results are compared with dastac's. Times stand
    /// beside the bound that the machine's multiply-add rate and bandwidth set, measured in the same run. Peers that
    /// are not installed are shown as gaps. Results are kept in a file: a run that is stopped goes on where it was, as
    /// long as program and machine are the same.
    #[command(after_help = bench::EXAMPLES)]
    Bench(BenchArgs),
    /// Show where compiled programs are kept, or remove them
    ///
    /// `run` keeps what it compiles in the user's cache folder, and takes it from there when the same program is run
    /// again. The variables DASTAC_CACHE_DIR (a folder, or `off`) and DASTAC_CACHE_SIZE (mebibytes, 512 by default)
    /// decide where, and how much.
    #[command(after_help = cache::EXAMPLES)]
    Cache(CacheArgs),
    /// Show what is known of this machine, or measure it
    ///
    /// What passes choose tiles, vectors, threads and stores by. It is measured once, in less than a second, when a
    /// command first needs it, and kept in the user's cache folder. The variable DASTAC_MACHINE names a file to use
    /// in its place, or is `detected`: then nothing is measured. `docs/machine.md` explains the numbers.
    #[command(after_help = machine::EXAMPLES)]
    Machine(DescribeArgs),
    /// Serve editors: a language server on standard input and output
    ///
    /// Diagnostics as one types, structures and layouts of tensors under the pointer, declarations, symbols and
    /// completions. The folder `editors` has what VS Code, Vim and Neovim need to start it.
    Lsp,
    /// Write man pages
    ///
    /// One page for `dastac` and one for each command, `dastac-run.1` and so on, from the same text as `--help`.
    #[command(after_help = "Examples:\n  dastac man\n  dastac man ~/.local/share/man/man1")]
    Man {
        /// Where to write the pages [default: print the page of `dastac`]
        folder: Option<PathBuf>,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Examples:\n  dastac completions bash\n  \
                      dastac completions bash > ~/.local/share/bash-completion/completions/dastac")]
    Completions {
        /// The shell
        shell: Shell,
    },
}
