//! What each figure of the paper needs to be measured.

use super::job::Job;
use super::kernels::{COMBINATIONS, REGRESSIONS, Workload};
use super::pim;
use super::sparse;
use super::structured;
use super::workspaces;

pub use super::scope::{Random, Scope};

/// A figure or table of the paper, or the table of this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// All kernels at large sizes beside the best that libraries do, with bounds.
    Table,
    /// Rates over sizes, with all threads.
    Threads,
    /// Rates over sizes, on one thread.
    OneThread,
    /// How much smaller packed tensors are.
    Memory,
    /// Levels of compression: none, inputs, inputs and outputs.
    Levels,
    /// Sums of products of strided diagonals, over the number of summands.
    Summands,
    /// Block butterflies, over the number of polyhedra.
    Polyhedra,
    /// Strided bands, over the stride.
    Strides,
    /// Sub-triangles, over their size.
    Density,
    /// Speed-up over threads.
    Scaling,
    /// Forms of compression of different systems.
    Systems,
    /// Tiles: none, and blocks of several sizes.
    Tiling,
    /// Compile times.
    Compile,
    /// Structures in combinations that the paper does not have.
    Combinations,
    /// Convolutions of sparse inputs, over sparsity and loop orders.
    SparseConvolutions,
    /// Sparse matrices times vectors and matrices.
    SparseMatrices,
    /// Strategies of convolutions of sparse inputs, over sparsity.
    SparseStrategies,
    /// Layers of a network with sparse inputs.
    SparseLayers,
    /// Layers of a network with pruned filters, beside sparse inputs.
    SparseFilters,
    /// Layers of a network with pruned filters, beside dense ones.
    SparseNetwork,
    /// Products of sparse matrices into sparse ones.
    WorkspaceProducts,
    /// Programs whose operands or results are in discordant orders.
    WorkspaceDiscordant,
    /// Kinds of workspaces, over capacity and sparsity.
    WorkspaceKinds,
    /// Convolutions of inputs whose patterns are no random ones, over loop orders.
    SparseImages,
    /// Sparse matrices in formats that their entries choose.
    Formats,
    /// Sparse matrices brought from one format into another one.
    Conversions,
    /// Kernels over structured operands beside a dense matrix product, or random ones.
    Structured,
    /// Rows of sparse matrices on cores inside of memory, handed out in several ways.
    PimRows,
    /// Structured tensors on cores inside of memory, packed and in boxes, over numbers of cores.
    PimStructured,
}

/// All of them, with the names by which they are asked for: numbers are the paper's.
pub const FIGURES: &[(&str, Figure)] = &[
    ("table", Figure::Table),
    ("10", Figure::Threads),
    ("11", Figure::OneThread),
    ("12", Figure::Memory),
    ("13", Figure::Levels),
    ("14", Figure::Summands),
    ("15", Figure::Polyhedra),
    ("16", Figure::Strides),
    ("17", Figure::Density),
    ("18", Figure::Scaling),
    ("19", Figure::Systems),
    ("20", Figure::Tiling),
    ("table1", Figure::Compile),
    ("combinations", Figure::Combinations),
    ("sparse-conv", Figure::SparseConvolutions),
    ("sparse-matrix", Figure::SparseMatrices),
    ("sparse-strategies", Figure::SparseStrategies),
    ("sparse-layers", Figure::SparseLayers),
    ("sparse-filters", Figure::SparseFilters),
    ("sparse-network", Figure::SparseNetwork),
    ("sparse-images", Figure::SparseImages),
    ("formats-spmv", Figure::Formats),
    ("formats-convert", Figure::Conversions),
    ("workspace-spgemm", Figure::WorkspaceProducts),
    ("workspace-discordant", Figure::WorkspaceDiscordant),
    ("workspace-kinds", Figure::WorkspaceKinds),
    ("structured", Figure::Structured),
    ("pim-spmv", Figure::PimRows),
    ("pim-structured", Figure::PimStructured),
];

/// The systems of the table.
pub fn table_systems(quick: bool) -> &'static [&'static str] {
    match quick {
        true => &["dastac", "c-packed", "mkl", "openblas"],
        false => &[
            "dastac", "untiled", "c-packed", "c-dense", "mkl", "openblas", "numpy", "torch", "taco",
        ],
    }
}

/// Kernels measured with 32-bit elements even when there is little time.
const SINGLE: &[(&str, i64)] = &[("ttm_ut", 256), ("spmv_ut", 8192), ("pr2", 64)];

/// The jobs that a figure needs, in the order in which they are shown.
pub fn jobs(figure: Figure, scope: &Scope) -> Vec<Job> {
    let most = scope.threads.last().copied().unwrap_or(1);
    match figure {
        Figure::Table => table(scope),
        Figure::Threads => sweep(scope, most),
        Figure::OneThread => sweep(scope, 1),
        Figure::Memory => memory(scope),
        Figure::Levels => at(scope, |kernel| kernel.dense, &["dastac", "inputs", "dense"]),
        Figure::Summands => families(scope, diagonals, SUMMANDS),
        Figure::Polyhedra => families(scope, butterfly, BUTTERFLIES),
        Figure::Strides => families(scope, band, STRIDES),
        Figure::Density => families(scope, sub_triangle, TRIANGLES),
        Figure::Scaling => scaling(scope),
        Figure::Systems => {
            at(scope, |kernel| kernel.dense, &["dastac", "c-packed", "c-inputs", "c-dense"])
        }
        Figure::Tiling => {
            at(scope, |kernel| kernel.table[0], &["dastac", "untiled", "small", "large"])
        }
        Figure::Compile => compile(scope),
        Figure::Combinations => combinations(scope),
        Figure::SparseConvolutions => sparse::convolutions(scope),
        Figure::SparseMatrices => sparse::products(scope),
        Figure::SparseStrategies => sparse::strategies::jobs(scope),
        Figure::SparseLayers => sparse::layers::layers(scope),
        Figure::SparseFilters => sparse::layers::pruned(scope),
        Figure::SparseNetwork => sparse::network::jobs(scope),
        Figure::SparseImages => sparse::images::jobs(scope),
        Figure::Formats => sparse::formats::jobs(scope),
        Figure::Conversions => sparse::conversions::jobs(scope),
        Figure::WorkspaceProducts => workspaces::products(scope),
        Figure::WorkspaceDiscordant => workspaces::discordant(scope),
        Figure::WorkspaceKinds => workspaces::kinds::jobs(scope),
        Figure::Structured => structured::jobs(scope),
        Figure::PimRows => pim::spmv::jobs(scope),
        Figure::PimStructured => pim::packed::jobs(scope),
    }
}

/// Every combination at its sizes, beside its loops in C.
fn combinations(scope: &Scope) -> Vec<Job> {
    let systems = ["dastac", "untiled", "c-packed"];
    let kernels = || COMBINATIONS.iter().filter(|kernel| scope.has(kernel.name));
    let mut jobs = Vec::new();
    for &threads in &scope.threads {
        for kernel in kernels() {
            let sizes = scope.sizes(kernel).into_iter();
            jobs.extend(sizes.map(|n| scope.job(kernel, n, threads, &systems)));
        }
    }
    jobs
}

fn table(scope: &Scope) -> Vec<Job> {
    let mut jobs = Vec::new();
    let systems = table_systems(scope.quick);
    let kernels: Vec<&Workload> = scope.kernels().collect();
    for &threads in &scope.threads {
        for kernel in &kernels {
            let sizes = scope.sizes(kernel).into_iter();
            jobs.extend(sizes.map(|n| scope.job(kernel, n, threads, systems)));
        }
    }
    let single = |kernel: &Workload, n: i64| !scope.quick || SINGLE.contains(&(kernel.name, n));
    for kernel in &kernels {
        for n in scope.sizes(kernel).into_iter().filter(|n| single(kernel, *n)) {
            let threads = scope.threads.first().copied().unwrap_or(1);
            let job = scope.job(kernel, n, threads, &["dastac", "mkl"]);
            jobs.push(Job { single: true, ..job });
        }
    }
    jobs
}

fn sweep(scope: &Scope, threads: usize) -> Vec<Job> {
    let systems = ["dastac", "c-packed", "mkl", "openblas", "numpy", "torch", "taco"];
    let sizes = |kernel: &'static Workload| kernel.sweep.iter().map(move |n| (kernel, *n));
    let jobs = scope.kernels().flat_map(sizes).map(|(kernel, n)| {
        let job = scope.job(kernel, n, threads, &systems);
        Job { budget: job.budget / 3.0, ..job }
    });
    jobs.collect()
}

/// Every kernel at one size, on one thread.
fn at(scope: &Scope, n: impl Fn(&Workload) -> i64, systems: &[&str]) -> Vec<Job> {
    let jobs = scope.kernels().map(|kernel| {
        let job = scope.job(kernel, n(kernel), 1, systems);
        Job { budget: job.budget / 2.0, ..job }
    });
    jobs.collect()
}

fn scaling(scope: &Scope) -> Vec<Job> {
    let systems = ["dastac", "c-packed", "mkl", "openblas"];
    let most = scope.threads.last().copied().unwrap_or(1);
    let sizes = |kernel: &'static Workload| (1..=most).map(move |threads| (kernel, threads));
    let jobs = scope.kernels().flat_map(sizes).map(|(kernel, threads)| {
        let n = kernel.table[kernel.table.len() - 1];
        scope.job(kernel, n, threads, &systems)
    });
    jobs.collect()
}

/// The kernels whose footprint the paper shows, and their size there.
pub const FOOTPRINTS: &[&str] = &["ttm_ut", "spmv_ut", "spmv_l", "ttm_j", "thp_dp", "mtt_d"];

/// All dimensions of [`FOOTPRINTS`].
pub const FOOTPRINT_SIZE: i64 = 10_000;

fn memory(scope: &Scope) -> Vec<Job> {
    let kernels = scope.kernels().filter(|kernel| FOOTPRINTS.contains(&kernel.name));
    kernels
        .map(|kernel| Job { systems: Vec::new(), ..scope.job(kernel, FOOTPRINT_SIZE, 1, &[]) })
        .collect()
}

fn compile(scope: &Scope) -> Vec<Job> {
    let job = |name: &str, title: &str, source: &str| Job {
        title: title.into(),
        ..scope.program(name, 0, source.into(), &[])
    };
    let kernels = scope.kernels().map(|kernel| job(kernel.name, kernel.title, kernel.source));
    let regressions = REGRESSIONS.iter().filter(|(name, ..)| scope.has(name));
    kernels.chain(regressions.map(|(name, title, source)| job(name, title, source))).collect()
}

/// A program of a family: name, title, and text for a value of its parameter.
type Family = fn(i64) -> (&'static str, String, String);

/// Parameters of the families.
pub const SUMMANDS: &[i64] = &[1, 4, 16, 64, 256, 1024];
/// Blocks of a butterfly.
pub const BUTTERFLIES: &[i64] = &[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Strides of a band.
pub const STRIDES: &[i64] = &[1, 4, 16, 64, 256, 1024, 4096, 16384];
/// Sizes of a sub-triangle.
pub const TRIANGLES: &[i64] = &[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

fn families(scope: &Scope, family: Family, parameters: &[i64]) -> Vec<Job> {
    let jobs = parameters.iter().map(|parameter| {
        let (name, title, source) = family(*parameter);
        Job {
            title,
            budget: if scope.quick { 0.3 } else { 1.0 },
            patience: 10.0,
            ..scope.program(name, *parameter, source, &["dastac", "dense"])
        }
    });
    jobs.filter(|job| scope.has(&job.kernel)).collect()
}

/// `y(i) := B(i, j) * x(j)` with a square `B` of this unique set.
pub fn matvec(size: &str, unique: &str) -> String {
    format!(
        "y(i) := B(i, j) * x(j)\nB:D(i, j) := (0 <= i < {size}) * (0 <= j < {size})\n\
         B:U(i, j) := {unique}\nx:D(j) := (0 <= j < {size})\n"
    )
}

/// A sum of products of strided diagonals with pseudo-random strides, of matrices of 2^14 rows.
pub fn diagonals_source(summands: i64) -> String {
    let n = 1i64 << 14;
    let products: Vec<String> = (0..summands).map(|w| format!("B{w}(i, j) * C{w}(j, k)")).collect();
    let mut source = format!("A(i, k) := {}\n", products.join(" + "));
    for w in 0..summands {
        for (tensor, step) in [("B", 6_364), ("C", 9_973)] {
            let stride = (w * step + w * w * 31 + 77) % n;
            source += &format!("{tensor}{w}:D(i, j) := (0 <= i < {n}) * (0 <= j < {n})\n");
            source += &format!("{tensor}{w}:U(i, j) := ((j - i) % {n} = {stride})\n");
        }
    }
    source
}

fn diagonals(summands: i64) -> (&'static str, String, String) {
    ("diagonals", "strided diagonals".into(), diagonals_source(summands))
}

/// A factor `k` of a block butterfly, of n = 2^10 blocks of b = 2^4 rows.
pub fn butterfly_source(k: i64) -> String {
    let (n, b) = (1i64 << 10, 1i64 << 4);
    let (block, half) = (k * b, k * b / 2);
    let unique = format!(
        "(0 <= p < {b}) * (0 <= q < {b}) * (0 <= s < {}) * (0 <= c < 2) * (0 <= d < 2) * (0 <= r < {}) * \
         (i = r * {block} + c * {half} + {b} * s + p) * (j = r * {block} + d * {half} + {b} * s + q)",
        k / 2,
        n / k
    );
    matvec(&(n * b).to_string(), &unique)
}

fn butterfly(k: i64) -> (&'static str, String, String) {
    ("butterfly", "block butterfly".into(), butterfly_source(k))
}

fn band(stride: i64) -> (&'static str, String, String) {
    let unique = format!("(j = i) + (j - i = {stride}) + (i - j = {stride})");
    ("band", "strided band".into(), matvec(&(1 << 14).to_string(), &unique))
}

fn sub_triangle(k: i64) -> (&'static str, String, String) {
    let unique = format!("(j - i >= {})", (1i64 << 14) - k);
    ("sub_triangle", "sub-triangle".into(), matvec(&(1 << 14).to_string(), &unique))
}

/// The jobs of several figures, each once, with the systems of all.
pub fn merged(jobs: Vec<Job>) -> Vec<Job> {
    let mut merged: Vec<Job> = Vec::new();
    for job in jobs {
        match merged.iter_mut().find(|known| known.key() == job.key()) {
            None => merged.push(job),
            Some(known) => {
                let new = job.systems.into_iter().filter(|name| !known.systems.contains(name));
                let new: Vec<String> = new.collect();
                known.systems.extend(new);
            }
        }
    }
    merged
}
