//! How rows of a sparse matrix are handed out to cores inside of memory: by their number modulo that of cores (C2SR),
//! to the core with the fewest elements so far (CISR), and in runs of equal work, as programs are cut otherwise.

use std::collections::BinaryHeap;

use dastac::backend::PimTarget;
use dastac::loops::{Module, parse};
use dastac::runtime::pim::{Device, Operand};
use dastac::target::{CodeOptions, Target};

/// A matrix by rows: the columns of each.
type Rows = Vec<Vec<u32>>;

/// Random numbers: those of a linear congruence, the upper bits.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// An R-MAT matrix of 2^scale rows, whose rows are permuted: else their lengths would follow the bits of their numbers.
fn permuted_rmat(scale: u32, elements: usize, seed: u64) -> Rows {
    let mut random = Random(seed);
    let size = 1usize << scale;
    let mut order: Vec<usize> = (0..size).collect();
    (1..size).rev().for_each(|at| order.swap(at, random.below(at as u64 + 1) as usize));
    let mut rows = vec![Vec::new(); size];
    for _ in 0..elements {
        let (mut row, mut column) = (0, 0);
        for _ in 0..scale {
            let draw = random.below(100);
            row = 2 * row + usize::from(draw >= 76);
            column = 2 * column + u32::from((57..76).contains(&draw) || draw >= 95);
        }
        rows[order[row]].push(column);
    }
    rows
}

/// Rows in the order of the cores that have them, and where those of each core begin.
fn bucketed(
    rows: &Rows,
    cores: usize,
    core_of: impl FnMut((usize, &Vec<u32>)) -> usize,
) -> (Rows, Vec<i64>) {
    let owners: Vec<usize> = rows.iter().enumerate().map(core_of).collect();
    let mut buckets: Vec<Rows> = vec![Vec::new(); cores];
    owners.iter().zip(rows).for_each(|(core, row)| buckets[*core].push(row.clone()));
    let mut cuts = vec![0];
    for bucket in &buckets {
        cuts.push(cuts[cuts.len() - 1] + bucket.len() as i64);
    }
    (buckets.concat(), cuts)
}

fn c2sr(rows: &Rows, cores: usize) -> (Rows, Vec<i64>) {
    bucketed(rows, cores, |(row, _)| row % cores)
}

fn cisr(rows: &Rows, cores: usize) -> (Rows, Vec<i64>) {
    let mut heap: BinaryHeap<_> = (0..cores).map(|core| std::cmp::Reverse((0, core))).collect();
    bucketed(rows, cores, |(_, row)| {
        let std::cmp::Reverse((load, core)) = heap.pop().unwrap();
        heap.push(std::cmp::Reverse((load + row.len(), core)));
        core
    })
}

fn kernel() -> Module {
    parse(
        "module(M, N, Z)\nbuffer y : f32[M]\nbuffer v : f32[Z]\nbuffer x : f32[N]\nbuffer pos : u32[M + 1]\n\
         buffer crd : u32[Z]\nfunc f(out y, in v, in x, in pos, in crd) {\n\
         parallel i = 0 to M { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] } }",
    )
    .unwrap()
}

/// The largest over the mean number of elements of a core, and the cycles of the slowest core.
fn run(rows: &Rows, cuts: Option<Vec<i64>>, cores: usize) -> (f64, u64) {
    let target = PimTarget::new("blimp", Some(cores), Some(1)).unwrap();
    let code = target.generate(&kernel(), &CodeOptions::default()).unwrap().artifact.code;
    let mut device = Device::load(&code.bytes).unwrap();
    let positions: Vec<u32> = std::iter::once(0)
        .chain(rows.iter().scan(0, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        }))
        .collect();
    let columns = rows.concat();
    let imbalance = cuts.as_ref().map_or(f64::NAN, |cuts| {
        let loads =
            cuts.windows(2).map(|pair| positions[pair[1] as usize] - positions[pair[0] as usize]);
        f64::from(loads.max().unwrap()) * cores as f64 / columns.len() as f64
    });
    if let Some(cuts) = cuts {
        device.cut_at(cuts);
    }
    let words =
        |all: &[u32]| -> Vec<u8> { all.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let floats = |all: usize, of: fn(usize) -> f32| -> Vec<u32> {
        (0..all).map(|at| of(at).to_bits()).collect()
    };
    let (v, x) =
        (floats(columns.len(), |at| (at % 7) as f32), floats(rows.len(), |at| (at % 5) as f32));
    let mut y = vec![0; 4 * rows.len()];
    let sizes = [rows.len() as i64, rows.len() as i64, columns.len() as i64];
    let inputs = [words(&v), words(&x), words(&positions), words(&columns)];
    let mut operands = vec![Operand::Out(&mut y)];
    operands.extend(inputs.iter().map(|input| Operand::In(input)));
    device.call("f", &sizes, &mut operands).unwrap();
    // Small integers: sums are exact.
    let mut at = 0;
    for (row, columns) in rows.iter().enumerate() {
        let expected: f32 = columns
            .iter()
            .map(|column| {
                at += 1;
                ((at - 1) % 7) as f32 * (*column % 5) as f32
            })
            .sum();
        let found = [0, 1, 2, 3].map(|byte| y[4 * row + byte]);
        assert_eq!(f32::from_le_bytes(found), expected, "row {row}");
    }
    (imbalance, device.take_report().launches[0].counters.cycles)
}

#[test]
fn balanced_rows_are_faster_than_rows_modulo_the_number_of_cores() {
    let mut last = 0.0;
    for cores in [256, 512, 1024] {
        let mut gain = 1.0;
        let mut imbalances = [0.0, 0.0];
        let seeds = [1, 2];
        for seed in seeds {
            let rows = permuted_rmat(13, 120_000, seed);
            let ((modulo, cuts), (balanced, other)) = (c2sr(&rows, cores), cisr(&rows, cores));
            let (first, modulo) = run(&modulo, Some(cuts), cores);
            let (second, balanced) = run(&balanced, Some(other), cores);
            let (_, exact) = run(&rows, None, cores);
            println!(
                "{cores} cores: C2SR {first:.2}, {modulo}; CISR {second:.2}, {balanced}; runs of equal work {exact}"
            );
            gain *= modulo as f64 / balanced as f64;
            imbalances = [imbalances[0] + first / 2.0, imbalances[1] + second / 2.0];
            assert!(second <= first, "{cores} cores");
        }
        gain = gain.powf(1.0 / seeds.len() as f64);
        println!("{cores} cores: C2SR over CISR {gain:.2}, imbalance {imbalances:.2?}");
        assert!(gain > 1.0 && imbalances[0] > last, "{cores} cores: {gain}, {imbalances:?}");
        last = imbalances[0];
    }
}
