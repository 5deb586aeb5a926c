//! The kernels of the paper's Tables 1 and 2, packed, each beside the same loops on dense, uncompressed buffers.
//!
//! `cargo bench --bench kernels` runs all on one thread; `-- ttm` selects by name; `DASTAC_THREADS=2` sets the threads. Kernels whose buffers do
//! not fit the memory limit are left out with a message, never silently.

use std::collections::BTreeMap;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use dastac::driver::{Analysis, Laid, Target};
use dastac::run::{Runner, facts, symbol_values};

/// Buffers of one kernel may take this many bytes together.
const MEMORY: u128 = 6 << 30;

/// Example and sizes: the paper's kind, as far as the dense variant fits.
const KERNELS: &[(&str, &[(&str, i64)])] = &[
    ("ttm_dp", &[("M", 512), ("N", 512), ("P", 512), ("Q", 512)]),
    ("ttm_j", &[("M", 512), ("N", 512), ("P", 512), ("Q", 512), ("J", 3)]),
    ("ttm_ut", &[("M", 256), ("N", 256), ("P", 256), ("Q", 256)]),
    ("thp_dp", &[("M", 512), ("N", 512), ("P", 512)]),
    ("thp_i", &[("M", 512), ("N", 512), ("P", 512), ("I", 3)]),
    ("thp_j", &[("M", 512), ("N", 512), ("P", 512), ("J", 3)]),
    ("mtt_d", &[("M", 512), ("N", 512), ("P", 512), ("Q", 512)]),
    ("mtt_j", &[("M", 512), ("N", 512), ("P", 512), ("Q", 512), ("J", 3)]),
    ("mtt_jut", &[("M", 512), ("N", 512), ("P", 512), ("Q", 512), ("J", 3)]),
    ("spmv_l", &[("M", 16384), ("N", 16384)]),
    ("spmv_ut", &[("M", 8192), ("N", 8192)]),
    ("spmv_d", &[("M", 16384), ("N", 16384)]),
    ("pr2", &[("M", 100_000), ("N", 64)]),
    ("pr3", &[("M", 10_000), ("N", 32)]),
    ("pr4", &[("M", 2_000), ("N", 24)]),
];

fn main() {
    let threads = std::env::var("DASTAC_THREADS").ok().and_then(|t| t.parse().ok()).unwrap_or(1);
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    for (name, sizes) in KERNELS {
        let mut group = criterion.benchmark_group(*name);
        for variant in ["packed", "dense"] {
            match runner(name, sizes, variant, threads) {
                Ok(mut runner) => {
                    if let Some(flops) = runner.flops().and_then(|f| u64::try_from(f).ok()) {
                        group.throughput(Throughput::Elements(flops));
                    }
                    let id = BenchmarkId::new(variant, format!("{threads} threads"));
                    group.bench_function(id, |bencher| {
                        bencher.iter(|| {
                            runner.execute().expect("the kernel was checked when it was loaded")
                        });
                    });
                }
                Err(reason) => eprintln!("{name}/{variant} left out: {reason}"),
            }
        }
        group.finish();
    }
    criterion.final_summary();
}

/// A compiled kernel with random contents in its input buffers.
fn runner(
    name: &str,
    sizes: &[(&str, i64)],
    variant: &str,
    threads: usize,
) -> Result<Runner, String> {
    let path = format!("{}/examples/{name}.stur", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let text = |error: dastac::Error| error.to_string();
    let mut laid: Laid = Analysis::of(&source).map_err(text)?.lay_out().map_err(text)?;
    if variant == "dense" {
        laid = laid.uncompressed().map_err(text)?;
    }
    let names: Vec<String> =
        laid.analysis.inferred.program.symbols.iter().map(|(name, _)| name.clone()).collect();
    let given: BTreeMap<String, i64> = sizes
        .iter()
        .filter(|(name, _)| names.iter().any(|n| n == name))
        .map(|(name, value)| (name.to_string(), *value))
        .collect();
    let symbols = symbol_values(&names, &given).map_err(text)?;
    let bytes: u128 = facts(&laid, &symbols).map_err(text)?.iter().map(|f| f.packed_bytes).sum();
    if bytes > MEMORY {
        return Err(format!("its buffers take {}", dastac::human(bytes)));
    }
    let built = laid
        .lower()
        .and_then(|l| l.build(Target { parallel: threads > 1, ..Target::default() }))
        .map_err(text)?;
    let mut runner = Runner::new(built, &given, threads).map_err(text)?;
    let program = runner.built().lowered.laid.analysis.inferred.program.clone();
    for id in program.tensor_ids().filter(|id| program.tensor(*id).rule().is_none()) {
        // Contents do not matter for the time, as long as they are not denormal.
        runner.packed_mut(id).fill(|k| 0.5 + (k % 7) as f64 * 0.1);
    }
    Ok(runner)
}
