//! What this machine can do at most: its rate of fused multiply-adds, and its bandwidth of reading.
//!
//! Both are bounds, so the best of several tries counts. Vector instructions are chosen at run time, the widest that
//! the CPU has.

// Calls of the system and vector instructions have no safe form.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use dastac_elements::{Element, NoMemory, Storage};

use crate::affinity;

/// Fused multiply-adds of one call of a kernel: `(rounds) -> (multiply-adds, a number that depends on all of them)`.
type Fma = fn(u64) -> (u64, f64);

/// Sums a slice, read as several streams; the number of streams divides its length, and each stream is a multiple of 8
/// vectors.
type Read = fn(&[f64], usize) -> f64;

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    macro_rules! fma {
        ($name:ident, $feature:literal, $chains:literal, $lanes:literal, $set:ident, $fma:ident, $add:ident,
         $store:ident, $type:ty) => {
            #[target_feature(enable = $feature)]
            pub fn $name(rounds: u64) -> (u64, f64) {
                let (x, y) = ($set(0.999_9), $set(1e-4));
                let mut chains = [$set(0.5); $chains];
                for _ in 0..rounds {
                    for chain in &mut chains {
                        *chain = $fma(*chain, x, y);
                    }
                }
                let total = chains.into_iter().fold($set(0.0), |a, b| $add(a, b));
                let mut lanes = [0.0 as $type; $lanes];
                // SAFETY: the array holds one vector.
                unsafe { $store(lanes.as_mut_ptr(), total) };
                (rounds * $chains * $lanes, lanes.iter().map(|l| f64::from(*l)).sum())
            }
        };
    }

    fma!(
        fma64_512,
        "avx512f",
        20,
        8,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_storeu_pd,
        f64
    );
    fma!(
        fma32_512,
        "avx512f",
        20,
        16,
        _mm512_set1_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        _mm512_storeu_ps,
        f32
    );
    fma!(
        fma64_256,
        "avx2,fma",
        12,
        4,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_storeu_pd,
        f64
    );
    fma!(
        fma32_256,
        "avx2,fma",
        12,
        8,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        _mm256_storeu_ps,
        f32
    );

    macro_rules! read {
        ($name:ident, $feature:literal, $lanes:literal, $set:ident, $load:ident, $add:ident, $store:ident) => {
            #[target_feature(enable = $feature)]
            pub fn $name(data: &[f64], streams: usize) -> f64 {
                const STEP: usize = 4 * $lanes;
                let length = data.len() / streams;
                let mut sums = [$set(0.0); 8];
                for at in (0..length / STEP * STEP).step_by(STEP) {
                    for stream in 0..streams {
                        let start = stream * length + at;
                        let block = &data[start..start + STEP];
                        for k in 0..4 {
                            let sum = &mut sums[k + stream % 2 * 4];
                            // SAFETY: the block has 4 vectors.
                            *sum = $add(*sum, unsafe { $load(block.as_ptr().add(k * $lanes)) });
                        }
                    }
                }
                let total = sums.into_iter().fold($set(0.0), |a, b| $add(a, b));
                let mut lanes = [0.0; $lanes];
                // SAFETY: the array holds one vector.
                unsafe { $store(lanes.as_mut_ptr(), total) };
                lanes.iter().sum()
            }
        };
    }

    read!(read_512, "avx512f", 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_add_pd, _mm512_storeu_pd);
    read!(read_256, "avx2", 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_add_pd, _mm256_storeu_pd);
}

macro_rules! fma_scalar {
    ($name:ident, $type:ty) => {
        fn $name(rounds: u64) -> (u64, f64) {
            let (x, y) = (black_box(0.999_9 as $type), black_box(1e-4 as $type));
            let mut chains = [0.5 as $type; 32];
            for _ in 0..rounds {
                for chain in &mut chains {
                    *chain = *chain * x + y;
                }
            }
            (rounds * 32, chains.iter().map(|c| f64::from(*c)).sum())
        }
    };
}
fma_scalar!(fma64, f64);
fma_scalar!(fma32, f32);

fn read(data: &[f64], _streams: usize) -> f64 {
    let mut sums = [0.0; 16];
    for block in data.chunks_exact(16) {
        sums.iter_mut().zip(block).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().sum()
}

/// The widest kernels of this CPU, and the bytes of their vectors (0: left to the compiler).
fn kernels(single: bool) -> (Fma, Read, usize) {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY (all): called only where the CPU has the feature, which is asked here.
        if is_x86_feature_detected!("avx512f") {
            let fma: Fma = match single {
                // SAFETY: see above.
                true => |rounds| unsafe { vectors::fma32_512(rounds) },
                // SAFETY: see above.
                false => |rounds| unsafe { vectors::fma64_512(rounds) },
            };
            // SAFETY: see above.
            return (fma, |data, streams| unsafe { vectors::read_512(data, streams) }, 64);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let fma: Fma = match single {
                // SAFETY: see above.
                true => |rounds| unsafe { vectors::fma32_256(rounds) },
                // SAFETY: see above.
                false => |rounds| unsafe { vectors::fma64_256(rounds) },
            };
            // SAFETY: see above.
            return (fma, |data, streams| unsafe { vectors::read_256(data, streams) }, 32);
        }
    }
    (if single { fma32 } else { fma64 }, read, 0)
}

/// Runs `work` on `threads` threads at the same time, each on a CPU of its own, again and again for [`TRYING`]; the
/// shortest time from the first start to the last end. `work` is given the thread's number.
fn best(threads: usize, work: impl Fn(usize) + Sync) -> Duration {
    let cpus = affinity::allowed();
    let barrier = Barrier::new(threads);
    let base = Instant::now();
    // Of the running try: when its first thread began, and its last one ended. And the shortest of the others.
    let times = Mutex::new((Duration::MAX, Duration::ZERO, Duration::MAX));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (barrier, work, cpus, times, over) = (&barrier, &work, &cpus, &times, &over);
            scope.spawn(move || {
                if !cpus.is_empty() {
                    affinity::pin(&[cpus[thread % cpus.len()]]);
                }
                while !over.load(Ordering::Relaxed) {
                    barrier.wait();
                    let start = base.elapsed();
                    work(thread);
                    let end = base.elapsed();
                    if let Ok(mut times) = times.lock() {
                        (times.0, times.1) = (times.0.min(start), times.1.max(end));
                    }
                    let leads = barrier.wait().is_leader();
                    if leads && let Ok(mut times) = times.lock() {
                        let (start, end, shortest) = *times;
                        let time = end.saturating_sub(start);
                        *times = (Duration::MAX, Duration::ZERO, shortest.min(time));
                        over.store(base.elapsed() > TRYING, Ordering::Relaxed);
                    }
                    barrier.wait();
                }
            });
        }
    });
    times.into_inner().map_or(Duration::MAX, |(_, _, shortest)| shortest)
}

/// How long a measurement is repeated.
const TRYING: Duration = Duration::from_millis(90);

/// Makes a value look used.
fn keep<T>(value: T) {
    let _ = black_box(value);
}

/// Fused multiply-adds each second, all threads together; `single`: of 32-bit numbers.
pub fn fma_rate(single: bool, threads: usize) -> f64 {
    let (kernel, _, _) = kernels(single);
    // About a millisecond: shorter than a time slice, much longer than a barrier.
    let mut rounds = 1 << 10;
    let once = |rounds| {
        let start = Instant::now();
        keep(kernel(black_box(rounds)));
        start.elapsed()
    };
    while once(rounds) < Duration::from_micros(800) {
        rounds *= 2;
    }
    let each = kernel(1).0 * rounds;
    let time = best(threads, |_| keep(kernel(black_box(rounds))));
    each as f64 * threads as f64 / time.as_secs_f64()
}

/// Bytes read each second by `threads` threads, which together read an array of `bytes` again and again.
///
/// # Errors
/// No memory for the array.
pub fn read_bandwidth(bytes: usize, threads: usize) -> Result<f64, NoMemory> {
    let (_, kernel, _) = kernels(false);
    // Elements of each thread, so that eight streams of whole steps fit.
    let each = (bytes / 8 / threads).max(2048) / 2048 * 2048;
    let parts: Result<Vec<Storage>, NoMemory> = (0..threads)
        .map(|_| {
            let mut part = Storage::zeroed(Element::F64, each)?;
            part.fill(|_| 1.0); // pages that were never written to are all one page of zeros
            Ok(part)
        })
        .collect();
    let parts = parts?;
    let total = (each * threads * 8) as f64;
    let repeat = (1 << 22) / (each * 8) + 1; // at least 4 MB a try
    let fastest = [1, 4, 8].into_iter().map(|streams| {
        best(threads, |thread| {
            for _ in 0..repeat {
                keep(kernel(black_box(parts[thread].typed()), streams));
            }
        })
    });
    let time = fastest.min().unwrap_or(Duration::MAX);
    Ok(total * repeat as f64 / time.as_secs_f64())
}

/// Bytes of the vectors that the rates are measured with; 0 where that is left to the compiler.
pub fn vector_bytes() -> usize {
    kernels(false).2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_computes() {
        for single in [false, true] {
            let (kernel, read, _) = kernels(single);
            let (count, value) = kernel(3);
            // 0.5 goes to 1 slowly, in every lane of every chain: a multiply-add is one step of one lane.
            let each = value / (count as f64 / 3.0);
            assert!((each - 0.500_149_985).abs() < 1e-5, "{each}");
            let data = Storage::of_numbers(Element::F64, &[1.0; 4096]).unwrap();
            for streams in [1, 4, 8] {
                assert_eq!(read(data.typed(), streams), 4096.0);
            }
        }
    }

    #[test]
    fn rates_are_plausible() {
        assert!(fma_rate(false, 1) > 1e8);
        assert!(read_bandwidth(1 << 20, 1).unwrap() > 1e8);
    }
}
