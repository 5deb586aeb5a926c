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

/// The same over positions in parts of one length, whichever rows they are of: part `t` stores the rows that begin in
/// it, and what it has of the row before apart.
fn split_kernel() -> Module {
    parse(
        "module(M, N, Z, T)\nbuffer y : f32[M]\nbuffer part : f32[T]\nbuffer own : i32[T]\nbuffer v : f32[Z]\n\
         buffer x : f32[N]\nbuffer pos : u32[M + 1]\nbuffer crd : u32[Z]\n\
         func f(out y, out part, out own, in v, in x, in pos, in crd) {\n\
         parallel t = 0 to T {\n\
           while low = 0, high = M if low + 1 < high { }\n\
           then select(pos[(low + high) / 2] <= floor(t * Z, T), (low + high) / 2, low),\n\
                select(pos[(low + high) / 2] <= floor(t * Z, T), high, (low + high) / 2) after {\n\
             own[t] = index(low)\n\
             part[t] = sum(p = floor(t * Z, T) to min(pos[low + 1], floor((t + 1) * Z, T)))\n\
               v[p] * x[crd[p]]\n\
             while i = low + 1 if i < M and pos[i] < floor((t + 1) * Z, T) {\n\
               y[i] = sum(p = pos[i] to min(pos[i + 1], floor((t + 1) * Z, T))) v[p] * x[crd[p]]\n\
             } then i + 1 } } }",
    )
    .unwrap()
}

/// A program on so many cores of `blimp`.
fn device(kernel: &Module, cores: usize) -> Device {
    let target = PimTarget::new("blimp", Some(cores), Some(1)).unwrap();
    let code = target.generate(kernel, &CodeOptions::default()).unwrap().artifact.code;
    Device::load(&code.bytes).unwrap()
}

/// A matrix as programs take it, with a vector.
struct Inputs {
    positions: Vec<u32>,
    columns: Vec<u32>,
    /// Values, vector, positions and columns.
    bytes: [Vec<u8>; 4],
}

fn bytes(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Inputs {
    fn of(rows: &Rows) -> Inputs {
        let mut positions = vec![0];
        rows.iter()
            .for_each(|row| positions.push(positions[positions.len() - 1] + row.len() as u32));
        let columns = rows.concat();
        let floats = |all: usize, by: usize| {
            bytes(&(0..all).map(|at| ((at % by) as f32).to_bits()).collect::<Vec<_>>())
        };
        let bytes =
            [floats(columns.len(), 7), floats(rows.len(), 5), bytes(&positions), bytes(&columns)];
        Inputs { positions, columns, bytes }
    }

    /// Whether a result is right: sums of small integers are exact.
    fn check(&self, y: &[f32]) {
        for (row, found) in y.iter().enumerate() {
            let terms = self.positions[row] as usize..self.positions[row + 1] as usize;
            let expected: usize = terms.map(|at| (at % 7) * (self.columns[at] as usize % 5)).sum();
            assert_eq!(*found, expected as f32, "row {row}");
        }
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|one| f32::from_le_bytes(one.try_into().unwrap())).collect()
}

/// The largest over the mean number of elements of a core, and the cycles of the slowest core.
fn run(rows: &Rows, cuts: Option<Vec<i64>>, cores: usize) -> (f64, u64) {
    let mut device = device(&kernel(), cores);
    let inputs = Inputs::of(rows);
    let Inputs { positions, columns, .. } = &inputs;
    let imbalance = cuts.as_ref().map_or(f64::NAN, |cuts| {
        let load = |pair: &[i64]| positions[pair[1] as usize] - positions[pair[0] as usize];
        let most = cuts.windows(2).map(load).max().unwrap();
        f64::from(most) * cores as f64 / columns.len() as f64
    });
    if let Some(cuts) = cuts {
        device.cut_at(cuts);
    }
    let mut y = vec![0; 4 * rows.len()];
    let sizes = [rows.len() as i64, rows.len() as i64, columns.len() as i64];
    let mut operands = vec![Operand::Out(&mut y)];
    operands.extend(inputs.bytes.iter().map(|input| Operand::In(input)));
    device.call("f", &sizes, &mut operands).unwrap();
    inputs.check(&floats(&y));
    (imbalance, device.take_report().launches[0].counters.cycles)
}

/// The cycles of the slowest core where long rows are split.
fn run_split(rows: &Rows, cores: usize) -> u64 {
    let device = device(&split_kernel(), cores);
    let inputs = Inputs::of(rows);
    let (mut y, mut part, mut own) =
        (vec![0; 4 * rows.len()], vec![0; 4 * cores], vec![0; 4 * cores]);
    let sizes = [rows.len(), rows.len(), inputs.columns.len(), cores].map(|size| size as i64);
    let mut operands: Vec<_> = [&mut y, &mut part, &mut own].map(|one| Operand::Out(one)).into();
    operands.extend(inputs.bytes.iter().map(|input| Operand::In(input)));
    device.call("f", &sizes, &mut operands).unwrap();
    let mut y = floats(&y);
    for (part, own) in floats(&part).iter().zip(own.chunks(4)) {
        y[u32::from_le_bytes(own.try_into().unwrap()) as usize] += part;
    }
    inputs.check(&y);
    device.take_report().launches[0].counters.cycles
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
            let split = run_split(&rows, cores);
            assert!(
                1.15 * split as f64 <= balanced as f64,
                "{cores} cores: {split} and {balanced}"
            );
            println!(
                "{cores} cores: C2SR {first:.2}, {modulo}; CISR {second:.2}, {balanced}; \
                 runs of equal work {exact}; rows split {split}"
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
