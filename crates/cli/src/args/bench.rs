//! Flags of `bench`.

use std::path::PathBuf;

use clap::Args;

pub const EXAMPLES: &str = "\
Examples:
  dastac bench --quick                     # the table, in two minutes
  dastac bench                             # everything; can be stopped and resumed
  dastac bench --figure table --kernel pr2 --kernel ttm
  dastac bench --quick --kernel spmv --system mkl
  dastac bench --figure structured --random 1 --count 50

Peers are looked for in the folder `peers` of the output folder, where `./x bench --peers` puts them.";

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
    /// With `--figure structured`: random programs of this seed in place of its kernels
    #[arg(long, value_name = "SEED", requires = "figures")]
    pub random: Option<u64>,
    /// How many random programs
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 50,
        requires = "random",
        value_parser = clap::value_parser!(u64).range(1..=100_000)
    )]
    pub count: u64,
    /// Print what was measured as JSON, with the programs' texts where results are checked
    #[arg(long)]
    pub json: bool,
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
    /// Show what the runner of `./x gpu` measured on a machine with a GPU, and nothing else
    #[arg(long, value_name = "PATH", conflicts_with_all = ["fresh", "budget", "seed", "figures", "json"])]
    pub gpu: Option<PathBuf>,
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
