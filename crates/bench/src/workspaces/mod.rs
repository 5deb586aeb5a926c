//! Kernels whose results are sparse and come in another order than they are stored: products of sparse matrices into
//! sparse ones, and programs whose operands or results are in discordant orders.

pub mod goals;
pub mod kinds;
pub mod report;

use super::Job;
use super::figures::Scope;
use super::kernels::Call;
use super::patterns::Pattern;
use super::sparse::files;

/// What the names of products begin with.
pub const PRODUCTS: &str = "spgemm-";

/// What the names of programs in discordant orders begin with.
pub const DISCORDANT: &str = "discordant-";

/// What the names of products with each kind of workspace begin with.
pub const CONTAINERS: &str = "kinds-";

/// Products of fewer multiply-adds are small ones.
pub const SMALL: f64 = 1e4;

/// The product of two matrices in these formats, in rows.
fn product(format: &str) -> String {
    format!(
        "symbols: M, N, K\nA:D(i, j) := (0 <= i < M) * (0 <= j < N)\nA:F(i, j) := {format}\n\
         B:D(j, k) := (0 <= j < N) * (0 <= k < K)\nB:F(j, k) := {format}\n\
         C:D(i, k) := (0 <= i < M) * (0 <= k < K)\nC:F(i, k) := csr\nC(i, k) := A(i, j) * B(j, k)\n"
    )
}

const TRANSPOSE: &str = "symbols: M, N\nA:D(i, j) := (0 <= i < M) * (0 <= j < N)\nA:F(i, j) := csr\n\
    B:D(j, i) := (0 <= i < M) * (0 <= j < N)\nB:F(j, i) := csr\nB(j, i) := A(i, j)\n";

/// A tree with its dimensions in another order.
fn permutation(order: &str) -> String {
    format!(
        "symbols: M, N, K\nA:D(i, j, k) := (0 <= i < M) * (0 <= j < N) * (0 <= k < K)\nA:F := csf\n\
         B:D({order}) := (0 <= i < M) * (0 <= j < N) * (0 <= k < K)\nB:F := csf\nB({order}) := A(i, j, k)\n"
    )
}

/// MTTKRP of sparse factors, whose result is stored by its second dimension first.
const MTTKRP: &str = "symbols: M, N, K, R\nA:D(i, j, k) := (0 <= i < M) * (0 <= j < N) * (0 <= k < K)\nA:F := csf\n\
    C:D(j, r) := (0 <= j < N) * (0 <= r < R)\nC:F := csr\nD:D(k, r) := (0 <= k < K) * (0 <= r < R)\nD:F := csr\n\
    X:D(r, i) := (0 <= i < M) * (0 <= r < R)\nX:F := csr\nX(r, i) := A(i, j, k) * C(j, r) * D(k, r)\n";

/// A matrix: its name, its rows, and its pattern.
type Matrix = (&'static str, i64, Pattern);

/// A pattern of so many entries in a row on average.
fn uniform(rows: i64, each: f64) -> Pattern {
    Pattern::Uniform(each / rows as f64)
}

/// Matrices that are made.
fn matrices(quick: bool) -> Vec<Matrix> {
    let scale = if quick { 1 } else { 4 };
    let (rows, wide) = (50_000 * scale, 250_000 * scale);
    vec![
        ("uniform", rows, uniform(rows, 10.0)),
        ("rmat", 1 << 15, Pattern::Permuted(50_000 * scale.unsigned_abs())),
        ("band", 5_000 * scale, Pattern::Full(20)),
        ("wide", wide, uniform(wide, 4.0)),
    ]
}

/// Matrices whose products take fewer than [`SMALL`] multiply-adds.
fn small() -> Vec<Matrix> {
    vec![
        ("small-uniform", 300, uniform(300, 4.0)),
        ("small-tiny", 30, uniform(30, 4.0)),
        ("small-rmat", 256, Pattern::Permuted(400)),
        ("small-band", 300, Pattern::Full(2)),
    ]
}

/// Every product, with each number of threads: of a matrix with itself, or with its transpose if it is not square.
pub fn products(scope: &Scope) -> Vec<Job> {
    let systems = ["dastac", "mkl-sorted", "mkl", "scipy-sorted", "scipy", "graphblas", "eigen"];
    let mut jobs = Vec::new();
    for &threads in &scope.threads {
        let made = matrices(scope.quick).into_iter().chain(small());
        for (name, rows, pattern) in made {
            let kernel = format!("{PRODUCTS}{name}");
            let job = scope.program(&kernel, rows, product("csr"), &systems);
            let symbols = ["M", "N", "K"].map(|name| (name.to_string(), rows));
            jobs.push(Job {
                symbols: symbols.to_vec(),
                inputs: vec![("A".into(), pattern.clone()), ("B".into(), pattern)],
                title: format!("product, {}", name.replace('-', " ")),
                call: Some(Call::SparseProduct),
                threads,
                ..job
            });
        }
        for (name, path) in scope.matrices.as_deref().map(files).unwrap_or_default() {
            let kernel = format!("{PRODUCTS}{name}");
            let job = scope.program(&kernel, 0, product("csr"), &systems);
            let first = Pattern::Factor { file: path.clone(), second: false };
            jobs.push(Job {
                inputs: vec![
                    ("A".into(), first),
                    ("B".into(), Pattern::Factor { file: path, second: true }),
                ],
                title: format!("product, {name}"),
                call: Some(Call::SparseProduct),
                threads,
                // Files are many, and small.
                budget: job.budget / 5.0,
                ..job
            });
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

/// Every program in discordant orders, with each number of threads.
pub fn discordant(scope: &Scope) -> Vec<Job> {
    let systems = ["dastac", "mkl-sorted", "mkl", "scipy", "graphblas", "eigen"];
    let mut jobs = Vec::new();
    for &threads in &scope.threads {
        for (name, rows, pattern) in matrices(scope.quick) {
            let a = ("A".to_string(), pattern.clone());
            let b = ("B".to_string(), pattern);
            let both = [
                ("columns", product("csc"), Call::SparseColumns, vec![a.clone(), b]),
                ("transpose", TRANSPOSE.to_string(), Call::SparseTranspose, vec![a]),
            ];
            for (kind, source, call, inputs) in both {
                let kernel = format!("{DISCORDANT}{kind}-{name}");
                let job = scope.program(&kernel, rows, source, &systems);
                let symbols = ["M", "N", "K"].map(|name| (name.to_string(), rows));
                let title = match call {
                    Call::SparseTranspose => format!("transpose, {name}"),
                    _ => format!("product of columns, {name}"),
                };
                let known = usize::from(call != Call::SparseTranspose) + 2;
                let symbols = symbols[..known].to_vec();
                jobs.push(Job { symbols, inputs, title, call: Some(call), threads, ..job });
            }
        }
        let n = if scope.quick { 200 } else { 400 };
        let sizes = |names: &[&str]| names.iter().map(|name| ((*name).to_string(), n)).collect();
        let tensor = ("A".to_string(), Pattern::Uniform(0.02));
        for order in ["i, k, j", "k, j, i", "j, k, i"] {
            let kernel = format!("{DISCORDANT}permutation-{}", order.replace(", ", ""));
            let job = scope.program(&kernel, n, permutation(order), &["dastac"]);
            let (symbols, inputs) = (sizes(&["M", "N", "K"]), vec![tensor.clone()]);
            let title = format!("(i, j, k) to ({order})");
            jobs.push(Job { symbols, inputs, title, threads, ..job });
        }
        let job = scope.program(&format!("{DISCORDANT}mttkrp"), n, MTTKRP.into(), &["dastac"]);
        let factor = |name: &str| (name.to_string(), Pattern::Uniform(0.05));
        let inputs = vec![("A".into(), Pattern::Uniform(0.002)), factor("C"), factor("D")];
        let (symbols, title) = (sizes(&["M", "N", "K", "R"]), "MTTKRP, transposed".into());
        jobs.push(Job { symbols, inputs, title, threads, ..job });
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_well_formed() {
        let sources = [product("csr"), product("csc"), TRANSPOSE.into(), permutation("k, i, j")];
        for source in sources.iter().map(String::as_str).chain([MTTKRP]) {
            dastac_stur::load(source).unwrap();
        }
    }
}
