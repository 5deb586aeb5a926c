//! Programs with tensors whose pattern is known only when they run: convolutions of a sparse input under several loop
//! orders (figure 17 of "Compilation of Sparse Convolutions"), and sparse matrices times vectors and matrices.

pub mod conversions;
pub mod formats;
pub mod goals;
pub mod images;
pub mod layers;
pub mod network;
pub mod pictures;
pub mod report;
pub mod strategies;

use std::path::{Path, PathBuf};

use super::Job;
use super::figures::Scope;
use super::kernels::Call;
use super::patterns::Pattern;
use super::results::{CaseResults, Results};

/// The line of a program that puts the loops of `O` into an order, one letter for each: `ij` -> `iters: O -> i, j`.
/// Without an order there is none.
fn iters(order: Option<&str>) -> String {
    let Some(order) = order else { return String::new() };
    let letters: Vec<String> = order.chars().map(String::from).collect();
    format!("iters: O -> {}\n", letters.join(", "))
}

/// A convolution of a sparse input with a dense filter.
#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    /// How many dimensions, at most three.
    pub rank: usize,
    /// The input's extent in each, and what it is where there is little time.
    pub extents: [i64; 2],
    /// Loop orders, outermost first: spatial loops are `i`, `j`, `k`, those of the filter `p`, `q`, `r`.
    pub orders: &'static [&'static str],
}

/// The paper's convolutions. In half of the orders the last loop is over the filter, in the others over the input.
pub const CONVOLUTIONS: &[Convolution] = &[
    Convolution { rank: 1, extents: [999_999, 99_999], orders: &["ip", "pi"] },
    Convolution { rank: 2, extents: [999, 299], orders: &["ijpq", "ipjq", "ipqj", "pqij"] },
    Convolution {
        rank: 3,
        extents: [99, 49],
        orders: &["ijkpqr", "ijpqkr", "ipjqkr", "ipjqrk", "ijpqrk", "pqrijk"],
    },
];

/// Percentages of elements that are not there.
pub const SPARSITIES: &[f64] = &[0.0, 40.0, 80.0, 90.0, 99.0, 99.9];

/// The name for an order that dastac chooses.
pub const CHOSEN: &str = "chosen";

/// The filter's extent in each dimension.
const FILTER: i64 = 3;

const SPATIAL: [&str; 3] = ["i", "j", "k"];
const TAPS: [&str; 3] = ["p", "q", "r"];

impl Convolution {
    /// The program under a loop order; without one, dastac chooses it.
    pub fn source(&self, order: Option<&str>) -> String {
        let list = |names: &[&str]| names[..self.rank].join(", ");
        let box_of = |names: &[&str], extent: &str| {
            let bounds = names[..self.rank].iter().map(|name| format!("(0 <= {name} < {extent})"));
            bounds.collect::<Vec<_>>().join(" * ")
        };
        let (points, taps) = (list(&SPATIAL), list(&TAPS));
        let sums: Vec<String> =
            SPATIAL.iter().zip(TAPS).take(self.rank).map(|(x, p)| format!("{x} + {p}")).collect();
        let order = iters(order);
        let levels: Vec<String> =
            SPATIAL[..self.rank].iter().map(|name| format!("compressed({name})")).collect();
        format!(
            "symbols: N, R\n{order}I:D({points}) := {}\nI:F({points}) := {}\nF:D({taps}) := {}\nO:D({points}) := {}\n\
             O({points}) := I({}) * F({taps})\n",
            box_of(&SPATIAL, "N + R - 1"),
            levels.join(", "),
            box_of(&TAPS, "R"),
            box_of(&SPATIAL, "N"),
            sums.join(", ")
        )
    }

    /// The name of the kernel at a sparsity, which the keys of results have.
    pub fn kernel(&self, order: &str, sparsity: f64) -> String {
        format!("{}{order}-{sparsity}", self.prefix())
    }

    /// What the names of its kernels begin with.
    fn prefix(&self) -> String {
        format!("conv{}-", self.rank)
    }

    fn job(&self, scope: &Scope, order: Option<&str>, sparsity: f64) -> Job {
        let name = order.unwrap_or(CHOSEN);
        let n = self.extents[usize::from(scope.quick)];
        let kernel = self.kernel(name, sparsity);
        let job = scope.program(&kernel, n, self.source(order), &["dastac", "mlir"]);
        Job {
            symbols: vec![("N".into(), n - FILTER + 1), ("R".into(), FILTER)],
            inputs: vec![("I".into(), Pattern::Uniform(1.0 - sparsity / 100.0))],
            title: format!("{}-D {name}, {sparsity}%", self.rank),
            budget: job.budget / 2.0,
            ..job
        }
    }
}

/// Every convolution, sparsity and order; then the order that dastac chooses.
pub fn convolutions(scope: &Scope) -> Vec<Job> {
    let mut jobs = Vec::new();
    for convolution in CONVOLUTIONS {
        for sparsity in SPARSITIES {
            let orders = convolution.orders.iter().copied().map(Some).chain([None]);
            jobs.extend(orders.map(|order| convolution.job(scope, order, *sparsity)));
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// The orders of a convolution whose loops are those that dastac chooses, as far as it was measured.
pub fn chosen(
    results: &Results,
    convolution: &Convolution,
    n: i64,
    sparsity: f64,
) -> Option<&'static str> {
    let loops = |order: &str| {
        let case = case(results, &convolution.kernel(order, sparsity), n)?;
        (!case.loops.is_empty()).then_some(&case.loops)
    };
    let chosen = loops(CHOSEN)?;
    convolution.orders.iter().copied().find(|order| loops(order) == Some(chosen))
}

/// A case on one thread.
pub fn case<'a>(results: &'a Results, kernel: &str, n: i64) -> Option<&'a CaseResults> {
    results.cases.get(&format!("{kernel}/{n}/f64/1"))
}

/// Columns of the dense matrix.
const COLUMNS: i64 = 32;

/// Sparse matrix times vector, and times matrix: name, title, program and what libraries call it.
const PRODUCTS: &[(&str, &str, &str, Call)] = &[
    (
        "spmv",
        "SpMV",
        "symbols: M, N\nB:D(i, j) := (0 <= i < M) * (0 <= j < N)\nB:F(i, j) := csr\nC:D(j) := (0 <= j < N)\n\
         A(i) := B(i, j) * C(j)\n",
        Call::SparseVector,
    ),
    (
        "spmm",
        "SpMM",
        "symbols: M, N, K\nB:D(i, j) := (0 <= i < M) * (0 <= j < N)\nB:F(i, j) := csr\n\
         C:D(j, k) := (0 <= j < N) * (0 <= k < K)\nA(i, k) := B(i, j) * C(j, k)\n",
        Call::SparseMatrix,
    ),
];

/// Entries of a row, of the matrices that are made.
const PER_ROW: i64 = 10;

/// How far from the diagonal the entries of a banded matrix are.
const BAND: u64 = 50;

/// Matrices: name, size in tables, rows and columns if they are known, pattern.
fn matrices(scope: &Scope) -> Vec<(String, i64, Option<i64>, Pattern)> {
    let mut all = Vec::new();
    let sizes: &[i64] = if scope.quick { &[1_000_000] } else { &[1_000_000, 10_000_000] };
    for &entries in sizes {
        let (rows, count) = (entries / PER_ROW, entries.unsigned_abs());
        let density = PER_ROW as f64 / rows as f64;
        for (name, pattern) in [
            ("uniform", Pattern::Uniform(density)),
            ("rmat", Pattern::RMat(count)),
            ("band", Pattern::Band(count, BAND)),
        ] {
            all.push((name.to_string(), entries, Some(rows), pattern));
        }
    }
    let files = scope.matrices.as_deref().map(files).unwrap_or_default();
    all.extend(files.into_iter().map(|(name, path)| (name, 0, None, Pattern::File(path))));
    all
}

/// A job of a program whose sparse input is `B`: with so many rows and columns, unless its file tells them.
fn with_matrix(job: Job, rows: Option<i64>, pattern: &Pattern) -> Job {
    let sizes = rows.iter().flat_map(|rows| [("M", *rows), ("N", *rows)]);
    let symbols = sizes.map(|(name, value)| (name.to_string(), value)).collect();
    Job { symbols, inputs: vec![("B".into(), pattern.clone())], ..job }
}

/// As [`with_matrix`], of one of [`PRODUCTS`].
fn product(job: Job, call: Call, (rows, pattern): (Option<i64>, &Pattern)) -> Job {
    let mut job = Job { call: Some(call), ..with_matrix(job, rows, pattern) };
    if call == Call::SparseMatrix {
        job.symbols.push(("K".into(), COLUMNS));
    }
    job
}

/// The MatrixMarket files of a folder, by name.
pub fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let stem = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".mtx")?;
            Some((stem.to_string(), path.clone()))
        })
        .collect();
    files.sort();
    files
}

/// Every product of every matrix, with each number of threads.
pub fn products(scope: &Scope) -> Vec<Job> {
    let matrices = matrices(scope);
    let mut jobs = Vec::new();
    for &threads in &scope.threads {
        for (kernel, title, source, call) in PRODUCTS {
            for (name, n, rows, pattern) in &matrices {
                let systems = ["dastac", "mkl-rows", "mkl", "scipy", "taco", "mlir"];
                let job =
                    scope.program(&format!("{kernel}-{name}"), *n, (*source).into(), &systems);
                // Files are many, and small.
                let part = if rows.is_some() { 1.0 } else { 5.0 };
                jobs.push(Job {
                    title: format!("{title} {name}"),
                    threads,
                    budget: job.budget / part,
                    ..product(job, *call, (*rows, pattern))
                });
            }
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn programs_are_well_formed() {
        for convolution in CONVOLUTIONS {
            for order in convolution.orders.iter().copied().map(Some).chain([None]) {
                let (program, _) = dastac_stur::load(&convolution.source(order)).unwrap();
                let iterators = program.rules[0].products[0].iterators.concat();
                assert!(order.is_none_or(|order| order == iterators), "{order:?}: {iterators}");
            }
        }
        for (.., source, _) in PRODUCTS {
            dastac_stur::load(source).unwrap();
        }
        expect![[r#"
            symbols: N, R
            iters: O -> i, p, q, j
            I:D(i, j) := (0 <= i < N + R - 1) * (0 <= j < N + R - 1)
            I:F(i, j) := compressed(i), compressed(j)
            F:D(p, q) := (0 <= p < R) * (0 <= q < R)
            O:D(i, j) := (0 <= i < N) * (0 <= j < N)
            O(i, j) := I(i + p, j + q) * F(p, q)
        "#]]
        .assert_eq(&CONVOLUTIONS[1].source(Some("ipqj")));
    }

    #[test]
    fn matrices_of_a_folder_are_found_by_their_endings() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.mtx", "a.mtx.gz", "c.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<String> = files(folder.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(files(&folder.path().join("none")).is_empty());
    }
}
