//! Rows of a sparse matrix on cores: by their number modulo that of cores (C2SR), to the core with the fewest elements
//! so far (CISR), in runs of equal work as programs are cut otherwise, or split where a core has its share.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dastac_backend::PimTarget;
use dastac_formats::Entries;
use dastac_loops::{Module, parse};
use dastac_runtime::pim::plan::Configuration;
use dastac_runtime::pim::{Device, Operand, Profile, Report};
use dastac_target::{CodeOptions, Target};

use super::names::PROFILE;
use crate::Error;

/// Who has which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A row goes to the core of its number modulo that of cores.
    C2sr,
    /// A row goes to the core that has the fewest elements so far.
    Cisr,
    /// Runs of rows, of equal work.
    Runs,
    /// Runs of positions of one length, whichever rows they are of.
    Split,
}

impl Way {
    /// All of them, with their names in results.
    pub const ALL: [(Way, &str); 4] =
        [(Way::C2sr, "c2sr"), (Way::Cisr, "cisr"), (Way::Runs, "runs"), (Way::Split, "split")];
}

/// The pattern of a matrix, by rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Its number of columns.
    pub width: usize,
    /// Where each row begins, and where the last one ends.
    pub positions: Vec<u32>,
    /// The column of each element.
    pub columns: Vec<u32>,
}

impl Matrix {
    /// The pattern of entries, each once.
    pub fn of(entries: &Entries) -> Matrix {
        let [height, width] = [0, 1].map(|at| entries.shape().get(at).map_or(0, |e| *e as usize));
        let mut places: Vec<[u64; 2]> = entries.coordinates().as_chunks::<2>().0.to_vec();
        places.sort_unstable();
        places.dedup();
        let mut positions = vec![0; height + 1];
        places.iter().for_each(|place| positions[place[0] as usize + 1] += 1);
        (0..height).for_each(|row| positions[row + 1] += positions[row]);
        Matrix { width, positions, columns: places.iter().map(|place| place[1] as u32).collect() }
    }

    /// The number of its rows.
    pub fn height(&self) -> usize {
        self.positions.len() - 1
    }

    /// The columns of a row.
    fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.positions[row] as usize..self.positions[row + 1] as usize]
    }

    /// Rows in the order of the cores that have them, and where those of each core begin.
    fn bucketed(&self, cores: usize, owners: &[usize]) -> (Matrix, Vec<i64>) {
        let mut order: Vec<usize> = (0..self.height()).collect();
        order.sort_by_key(|row| owners[*row]);
        let mut positions = vec![0];
        let mut columns = Vec::with_capacity(self.columns.len());
        let mut cuts = vec![0; cores + 1];
        for row in order {
            columns.extend(self.row(row));
            positions.push(columns.len() as u32);
            cuts[owners[row] + 1] += 1;
        }
        (0..cores).for_each(|core| cuts[core + 1] += cuts[core]);
        (Matrix { width: self.width, positions, columns }, cuts)
    }

    /// The core of each row.
    fn owners(&self, cores: usize, balanced: bool) -> Vec<usize> {
        let rows = 0..self.height();
        if !balanced {
            return rows.map(|row| row % cores).collect();
        }
        let mut least: BinaryHeap<_> = (0..cores).map(|core| Reverse((0, core))).collect();
        rows.map(|row| {
            let Reverse((load, core)) = least.pop().unwrap_or_default();
            least.push(Reverse((load + self.row(row).len(), core)));
            core
        })
        .collect()
    }
}

/// What came out of a way.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The largest over the mean number of elements of a core, if it was decided here.
    pub imbalance: Option<f64>,
    /// What cores counted.
    pub report: Report,
}

/// The programs that multiply a sparse matrix with a vector.
pub struct Programs {
    whole: Vec<u8>,
    split: Vec<u8>,
}

impl Programs {
    /// Compiles them.
    ///
    /// # Errors
    /// Code that cannot be made.
    pub fn new() -> Result<Programs, Error> {
        let target = PimTarget::new(PROFILE, Some(1), Some(1)).map_err(failed)?;
        let compile = |text: &str| -> Result<Vec<u8>, Error> {
            let module: Module = parse(text).map_err(failed)?;
            let code = target.generate(&module, &CodeOptions::default()).map_err(failed)?;
            Ok(code.artifact.code.bytes)
        };
        Ok(Programs { whole: compile(WHOLE)?, split: compile(SPLIT)? })
    }

    /// Multiplies on so many cores.
    ///
    /// # Errors
    /// A result that is wrong; buffers that do not fit the banks.
    pub fn run(&self, matrix: &Matrix, way: Way, cores: usize) -> Result<Ran, Error> {
        let (matrix, cuts) = match way {
            Way::Runs | Way::Split => (matrix.clone(), None),
            Way::C2sr | Way::Cisr => {
                let owners = matrix.owners(cores, way == Way::Cisr);
                let (matrix, cuts) = matrix.bucketed(cores, &owners);
                (matrix, Some(cuts))
            }
        };
        let mut imbalance = (way == Way::Split).then_some(1.0);
        let code = if way == Way::Split { &self.split } else { &self.whole };
        let profile = Profile::named(PROFILE).map_err(failed)?;
        let machine = Configuration { profile, cores, threads: 1 };
        let code = Device::configure(code, &machine).map_err(failed)?;
        let mut device = Device::load(&code).map_err(failed)?;
        if let Some(cuts) = cuts {
            let load = |pair: &[i64]| {
                matrix.positions[pair[1] as usize] - matrix.positions[pair[0] as usize]
            };
            let most = cuts.windows(2).map(load).max().unwrap_or(0);
            imbalance = Some(f64::from(most) * cores as f64 / matrix.columns.len().max(1) as f64);
            device.cut_at(cuts);
        }
        let inputs = inputs(&matrix);
        let sizes = [matrix.height(), matrix.width, matrix.columns.len(), cores];
        let sizes = sizes.map(|size| size as i64);
        let mut y = vec![0; 4 * matrix.height()];
        let mut part = vec![0; 4 * cores];
        let owned = split(&matrix, cores);
        let bytes = owned.each_ref().map(|all| bytes(all.iter().copied()));
        let mut operands = vec![Operand::Out(&mut y)];
        if way == Way::Split {
            device.cut_at((0..=cores as i64).collect());
            operands.push(Operand::Out(&mut part));
            operands.extend(bytes.iter().map(|one| Operand::In(one)));
        }
        operands.extend(inputs.iter().map(|input| Operand::In(input)));
        let symbols = if way == Way::Split { &sizes[..] } else { &sizes[..3] };
        device.call("f", symbols, &mut operands).map_err(failed)?;
        let mut y: Vec<f32> = words(&y).map(f32::from_bits).collect();
        if way == Way::Split {
            // What two cores have of one row.
            for (part, own) in words(&part).zip(&owned[0]) {
                if let Some(row) = y.get_mut(*own as usize) {
                    *row += f32::from_bits(part);
                }
            }
        }
        check(&matrix, &y)?;
        Ok(Ran { imbalance, report: device.take_report() })
    }
}

const WHOLE: &str = "module(M, N, Z)\nbuffer y : f32[M]\nbuffer v : f32[Z]\nbuffer x : f32[N]\n\
    buffer pos : u32[M + 1]\nbuffer crd : u32[Z]\nfunc f(out y, in v, in x, in pos, in crd) {\n\
    parallel i = 0 to M { y[i] = sum(p = pos[i] to pos[i + 1]) v[p] * x[crd[p]] } }";

/// Core `t` has positions from `cut[t]` on, of which those until the end of row `row[t]` are added up apart: others may
/// have some of that row, too. The rows that begin there are its own.
const SPLIT: &str = "module(M, N, Z, T)\nbuffer y : f32[M]\nbuffer part : f32[T]\nbuffer row : u32[T + 1]\n\
    buffer cut : u32[T + 1]\nbuffer v : f32[Z]\nbuffer x : f32[N]\nbuffer pos : u32[M + 1]\nbuffer crd : u32[Z]\n\
    func f(out y, out part, in row, in cut, in v, in x, in pos, in crd) {\n\
    parallel t = 0 to T {\n\
      part[t] = sum(p = cut[t] to min(pos[row[t] + 1], cut[t + 1])) v[p] * x[crd[p]]\n\
      for i = row[t] + 1 to row[t + 1] + 1 {\n\
        y[i] = sum(p = pos[i] to min(pos[i + 1], cut[t + 1])) v[p] * x[crd[p]] } } }";

/// Where each core's positions begin, and the last row that begins there or before.
fn split(matrix: &Matrix, cores: usize) -> [Vec<u32>; 2] {
    let count = matrix.columns.len() as u64;
    let cuts: Vec<u32> = (0..=cores as u64).map(|at| (at * count / cores as u64) as u32).collect();
    let before = |cut: &u32| matrix.positions[..matrix.height()].partition_point(|at| at <= cut);
    let rows = cuts.iter().map(|cut| before(cut).saturating_sub(1) as u32).collect();
    [rows, cuts]
}

/// Values, vector, positions and columns: small integers, whose sums are exact.
fn inputs(matrix: &Matrix) -> [Vec<u8>; 4] {
    let floats = |count: usize, by: usize| bytes((0..count).map(|at| ((at % by) as f32).to_bits()));
    [
        floats(matrix.columns.len(), 7),
        floats(matrix.width, 5),
        bytes(matrix.positions.iter().copied()),
        bytes(matrix.columns.iter().copied()),
    ]
}

fn bytes(words: impl Iterator<Item = u32>) -> Vec<u8> {
    words.flat_map(u32::to_le_bytes).collect()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
}

fn check(matrix: &Matrix, y: &[f32]) -> Result<(), Error> {
    for (row, found) in y.iter().enumerate() {
        let first = matrix.positions[row] as usize;
        let terms = matrix.row(row).iter().enumerate();
        let expected: usize =
            terms.map(|(at, column)| (first + at) % 7 * (*column as usize % 5)).sum();
        if *found != expected as f32 {
            return Err(Error::Peer(format!("row {row} is {found} in place of {expected}")));
        }
    }
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Peer(error.to_string())
}
