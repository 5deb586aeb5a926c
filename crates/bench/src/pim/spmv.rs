//! Sparse matrices times vectors, with rows handed out in several ways: figures 8 and 9 of the paper on UniSparse.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::names::ROWS;
use super::rows::{Matrix, Programs, Way};
use crate::Error;
use crate::job::{Job, tell};
use crate::patterns::Pattern;
use crate::results::{CaseResults, Simulated};
use crate::scope::Scope;
use crate::sparse::files;

/// Numbers of cores: the paper's.
pub const CORES: [usize; 3] = [256, 512, 1024];

/// Rows that a matrix has at least for each core of the largest machine.
const ROWS_OF_A_CORE: i64 = 4;

/// R-MAT graphs: the logarithm of the number of rows, and how many entries are drawn for each.
const GRAPHS: &[(u32, u64)] = &[(13, 4), (13, 15), (14, 8), (15, 16), (16, 16)];

/// Permuted R-MAT graphs, and those matrices of files that are large enough.
pub fn jobs(scope: &Scope) -> Vec<Job> {
    let graphs = if scope.quick { &GRAPHS[..2] } else { GRAPHS };
    let mut jobs: Vec<Job> = graphs
        .iter()
        .map(|(scale, each)| {
            let (name, rows) = (format!("rmat{scale}-{each}"), 1i64 << scale);
            let pattern = Pattern::Permuted(each << scale);
            Job {
                symbols: vec![("M".into(), rows), ("N".into(), rows)],
                ..job(scope, &name, rows, pattern)
            }
        })
        .collect();
    let least = ROWS_OF_A_CORE * CORES[CORES.len() - 1] as i64;
    for (name, file) in scope.matrices.as_deref().map(files).unwrap_or_default() {
        let pattern = Pattern::Factor { file, second: false };
        // What cannot be read is told when it is its turn.
        let symbols = pattern.sizes().unwrap_or_default();
        let rows = symbols.first().map_or(least, |(_, rows)| *rows);
        if rows >= least {
            jobs.push(Job { symbols, ..job(scope, &name, rows, pattern) });
        }
    }
    jobs.retain(|job| scope.has(&job.kernel));
    jobs
}

fn job(scope: &Scope, name: &str, rows: i64, pattern: Pattern) -> Job {
    Job {
        title: name.into(),
        inputs: vec![("A".into(), pattern)],
        single: true,
        pim: CORES.to_vec(),
        ..scope.program(&format!("{ROWS}{name}"), rows, String::new(), &["dastac"])
    }
}

/// All ways of handing out rows, on all numbers of cores.
///
/// # Errors
/// A matrix that cannot be read; a program that cannot be compiled or computes something else.
pub(super) fn measure(job: &Job) -> Result<CaseResults, Error> {
    let Some((name, pattern)) = job.inputs.first() else { return Ok(job.case()) };
    let shape = match pattern.sizes()? {
        sizes if sizes.is_empty() => job.symbols.clone(),
        sizes => sizes,
    };
    let shape = shape.iter().map(|(_, extent)| extent.unsigned_abs()).collect();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let matrix = Matrix::of(&pattern.entries(name, shape, &mut random)?);
    let programs = Programs::new()?;
    let mut case = CaseResults { points: Some(matrix.columns.len() as f64), ..job.case() };
    for &cores in &job.pim {
        for (way, name) in Way::ALL {
            tell("dastac");
            let ran = programs.run(&matrix, way, cores)?;
            let simulated = Simulated::of(name, &ran.report);
            case.pim.push(Simulated { imbalance: ran.imbalance, ..simulated });
        }
    }
    Ok(case)
}

/// The same graphs in every run: what is simulated does not depend on the day.
const SEED: u64 = 1;
