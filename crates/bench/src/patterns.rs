//! Patterns: which elements of a measured input are stored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dastac_formats::io::{Contents, Data, ReadOptions, read};
use dastac_formats::{Entries, StorageError, Tensor};
use dastac_stur::TensorId;
use dastac_stur::program::Element;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::Error;
use dastac_driver::run::Runner;
use dastac_runtime::check_memory;
use dastac_runtime::random::{self, Drawing, magnitude};

/// A kind of pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// This part of the elements, anywhere.
    Uniform(f64),
    /// A matrix of so many entries, those of an R-MAT graph (Chakrabarti, Zhan and Faloutsos, SDM'04): a few rows and
    /// columns have most of them.
    RMat(u64),
    /// A matrix of so many entries at random places, each at most so far from the diagonal.
    Band(u64, u64),
    /// An R-MAT graph whose nodes have been given numbers at random.
    Permuted(u64),
    /// A matrix with all elements that are at most so far from the diagonal.
    Full(u64),
    /// A matrix of which so many diagonals, anywhere but the main one among them, have this part of their elements.
    Diagonals {
        /// How many.
        count: u64,
        /// The part.
        part: f64,
    },
    /// A matrix that a file holds.
    File(PathBuf),
    /// The pattern of a matrix that a file holds, with random values: a factor of a product with itself, or with its
    /// transpose if it is not square.
    Factor {
        /// The file.
        file: PathBuf,
        /// Whether it is the second factor.
        second: bool,
    },
    /// Filters of which a file has each in a row, channels outermost.
    Filters {
        /// The file.
        path: PathBuf,
        /// Rows and columns of a filter.
        window: [i64; 2],
        /// `F(f, c, r, q)` with filters first instead of `F(r, q, c, f)`.
        first: bool,
    },
    /// A picture of so many strokes, as a pen would draw them.
    Strokes(u64),
}

/// The chances of the four quarters of an R-MAT graph, one after the other added up.
const QUARTERS: [f64; 3] = [0.57, 0.76, 0.95];

impl Pattern {
    /// Values of the symbols `M` and `N` that are not known before a file is read: its rows and columns. Of a second
    /// factor it is `K`, the columns of the product.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn sizes(&self) -> Result<Vec<(String, i64)>, Error> {
        let (path, second) = match self {
            Pattern::File(path) => (path, false),
            Pattern::Factor { file, second } => (file, *second),
            _ => return Ok(Vec::new()),
        };
        let contents = contents(path)?;
        let extents = contents.shape().iter();
        if second {
            // Those of a square matrix are its rows too.
            return Ok(extents.take(1).map(|extent| ("K".into(), *extent as i64)).collect());
        }
        Ok(["M", "N"].map(String::from).into_iter().zip(extents.map(|e| *e as i64)).collect())
    }

    /// Binds a tensor of this pattern, with random values.
    ///
    /// # Errors
    /// No such dynamic tensor; a file that cannot be read; not enough memory.
    pub fn bind(&self, runner: &mut Runner, name: &str, seed: u64) -> Result<(), Error> {
        let at = runner.facts().iter().position(|fact| fact.name == name);
        let id = TensorId(at.ok_or_else(|| dastac_driver::Error::UnknownTensor(name.into()))?);
        let stored = &runner.built().lowered.kernel.stored;
        let stored = stored.iter().find(|one| one.tensor == id);
        let format = stored
            .ok_or_else(|| dastac_runtime::Error::NotDynamic(name.into()))?
            .operand
            .format
            .clone();
        let tensor = match self {
            Pattern::File(path) => contents(path)?.tensor(&format, dastac_runtime::build()),
            _ => {
                let shape = runner.shape(id)?.iter().map(|extent| *extent as u64).collect();
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let entries = self.entries(name, shape, &mut rng)?;
                Tensor::from_entries(&entries, &format, dastac_runtime::build())
            }
        };
        let failed = |source| dastac_runtime::Error::Storage { tensor: name.into(), source };
        Ok(runner.bind(id, tensor.map_err(failed)?)?)
    }

    /// Entries, drawn.
    pub(crate) fn entries(
        &self,
        name: &str,
        shape: Vec<u64>,
        rng: &mut impl Rng,
    ) -> Result<Entries, Error> {
        let wanted = match self {
            Pattern::RMat(entries) | Pattern::Permuted(entries) | Pattern::Band(entries, _) => {
                *entries
            }
            Pattern::Full(width) => shape[0].saturating_mul(2 * width + 1),
            Pattern::Diagonals { count, .. } => shape[0].saturating_mul(*count),
            _ => 0,
        };
        check_memory(&format!("the random entries of `{name}`"), u128::from(wanted) * 24)?;
        let coordinates: Vec<u64> = match self {
            Pattern::Uniform(density) => {
                let (shape, element, density) = (&shape[..], Element::F64, *density);
                return Ok(random::entries(Drawing { name, shape, element, density }, rng)?);
            }
            Pattern::RMat(_) => (0..wanted).flat_map(|_| in_graph(&shape, rng)).collect(),
            Pattern::Band(_, width) => {
                (0..wanted).flat_map(|_| in_band(&shape, *width, rng)).collect()
            }
            Pattern::Permuted(_) => {
                let names = permutation(shape[0].max(shape[1]), rng);
                let graph = [names.len() as u64; 2];
                let places = (0..wanted).map(|_| in_graph(&graph, rng));
                let places = places.map(|place| place.map(|node| names[node as usize]));
                let inside = |place: &[u64; 2]| place[0] < shape[0] && place[1] < shape[1];
                places.filter(inside).flatten().collect()
            }
            Pattern::Full(width) => (0..shape[0])
                .flat_map(|row| {
                    let columns = row.saturating_sub(*width)..(row + width + 1).min(shape[1]);
                    columns.flat_map(move |column| [row, column])
                })
                .collect(),
            Pattern::Diagonals { count, part } => on_diagonals(&shape, (*count, *part), rng),
            Pattern::Factor { file, second } => of_factor(file, *second)?,
            Pattern::Filters { path, window, first } => of_filters(path, *window, *first)?,
            Pattern::Strokes(count) => {
                (0..*count).flat_map(|_| stroke(&shape, rng)).flatten().collect()
            }
            Pattern::File(_) => Vec::new(),
        };
        let count = coordinates.len() / shape.len().max(1);
        let values = (0..count).map(|_| magnitude(rng)).collect();
        let failed =
            |source: StorageError| dastac_runtime::Error::Storage { tensor: name.into(), source };
        Ok(Entries::new(shape, coordinates, values).map_err(failed)?)
    }
}

/// A place near the diagonal.
fn in_band(shape: &[u64], width: u64, rng: &mut impl Rng) -> [u64; 2] {
    let row = rng.random_range(0..shape[0]);
    let first = row.saturating_sub(width).min(shape[1] - 1);
    [row, rng.random_range(first..=(row + width).clamp(first, shape[1] - 1))]
}

/// Places on some diagonals.
fn on_diagonals(shape: &[u64], (count, part): (u64, f64), rng: &mut impl Rng) -> Vec<u64> {
    let mut distances = BTreeSet::from([0]);
    let (rows, columns) = (shape[0] as i64, shape[1] as i64);
    let count = count.min((rows + columns - 1).max(0) as u64) as usize;
    while distances.len() < count {
        distances.insert(rng.random_range(1 - rows..columns));
    }
    let mut places = Vec::new();
    for row in 0..rows {
        for column in distances.iter().map(|distance| row + distance) {
            if (0..columns).contains(&column) && rng.random::<f64>() < part {
                places.extend([row as u64, column as u64]);
            }
        }
    }
    places
}

/// A place in a quarter of a quarter of ..
fn in_graph(shape: &[u64], rng: &mut impl Rng) -> [u64; 2] {
    let levels = shape[0].max(shape[1]).next_power_of_two().trailing_zeros();
    loop {
        let (mut row, mut column) = (0, 0);
        for _ in 0..levels {
            let chance: f64 = rng.random();
            let quarter = QUARTERS.iter().filter(|upper| chance >= **upper).count() as u64;
            row = 2 * row + quarter / 2;
            column = 2 * column + quarter % 2;
        }
        if row < shape[0] && column < shape[1] {
            return [row, column];
        }
    }
}

/// The numbers below `count` in a random order (Fisher and Yates).
fn permutation(count: u64, rng: &mut impl Rng) -> Vec<u64> {
    let mut all: Vec<u64> = (0..count).collect();
    for at in (1..all.len()).rev() {
        all.swap(at, rng.random_range(0..=at));
    }
    all
}

/// The places of a file's matrix; those of its transpose as the second factor, if it is not square.
fn of_factor(path: &Path, second: bool) -> Result<Vec<u64>, Error> {
    let contents = contents(path)?;
    let square = contents.shape().first() == contents.shape().get(1);
    let Data::Entries(entries) = contents.data else {
        return Err(failed(path, &"it is not a sparse matrix"));
    };
    let mut places = entries.coordinates().to_vec();
    if second && !square {
        places.as_chunks_mut::<2>().0.iter_mut().for_each(|place| place.reverse());
    }
    Ok(places)
}

/// The contents of a file.
fn contents(path: &Path) -> Result<Contents, Error> {
    read(path, &ReadOptions::default()).map_err(|error| failed(path, &error))
}

/// The places of filters `F(r, q, c, f)`, or `F(f, c, r, q)`, that a file has as a matrix of rows `f` and columns
/// `(c, r, q)`.
fn of_filters(path: &Path, [rows, columns]: [i64; 2], first: bool) -> Result<Vec<u64>, Error> {
    let (rows, columns) = (rows.unsigned_abs().max(1), columns.unsigned_abs().max(1));
    let Data::Entries(entries) = contents(path)?.data else { return Ok(Vec::new()) };
    let places = (0..entries.len()).flat_map(|at| {
        let [filter, column] = [0, 1].map(|part| entries.at(at)[part]);
        let (channel, within) = (column / (rows * columns), column % (rows * columns));
        let (row, column) = (within / columns, within % columns);
        match first {
            true => [filter, channel, row, column],
            false => [row, column, channel, filter],
        }
    });
    Ok(places.collect())
}

/// How far a stroke goes, and how wide it is.
const STROKE: (u64, u64) = (300, 4);

/// The places of a stroke: it turns a little at each step, and ends at the border.
fn stroke(shape: &[u64], rng: &mut impl Rng) -> Vec<[u64; 2]> {
    let (length, width) = STROKE;
    let inside = |at: f64, extent: u64| (0.0..extent as f64).contains(&at);
    let mut place = [shape[0], shape[1]].map(|extent| rng.random_range(0.0..extent.max(1) as f64));
    let mut direction: f64 = rng.random_range(0.0..std::f64::consts::TAU);
    let mut places = Vec::new();
    for _ in 0..length {
        if !(inside(place[0], shape[0]) && inside(place[1], shape[1])) {
            break;
        }
        let [row, column] = place.map(|at| at as u64);
        let pen = (0..width * width).map(|at| [row + at / width, column + at % width]);
        places.extend(pen.filter(|at| at[0] < shape[0] && at[1] < shape[1]));
        direction += rng.random_range(-0.1..0.1);
        place = [place[0] + direction.sin(), place[1] + direction.cos()];
    }
    // The pen passes over most places several times.
    places.sort_unstable();
    places.dedup();
    places
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Peer(format!("`{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_where_the_pattern_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let shape = vec![100, 70];
        let entries = Pattern::Band(500, 3).entries("A", shape.clone(), &mut rng).unwrap();
        let near = |at: usize| entries.at(at)[0].min(69).abs_diff(entries.at(at)[1]) <= 3;
        assert!(entries.len() == 500 && (0..500).all(near));
        let entries = Pattern::RMat(2000).entries("A", shape.clone(), &mut rng).unwrap();
        let first = (0..2000).filter(|at| entries.at(*at)[0] < 50).count();
        assert!((1200..2000).contains(&first), "{first}");
        let entries = Pattern::Uniform(0.5).entries("A", shape, &mut rng).unwrap();
        assert!((3000..4000).contains(&entries.len()));
    }

    #[test]
    fn factors_are_the_matrix_and_what_it_is_multiplied_with() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.mtx");
        let text = "%%MatrixMarket matrix coordinate real general\n3 4 1\n2 3 5.0\n";
        std::fs::write(&file, text).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (second, shape, place, sizes) in [
            (false, vec![3, 4], [1, 2], vec![("M".to_string(), 3), ("N".to_string(), 4)]),
            (true, vec![4, 3], [2, 1], vec![("K".to_string(), 3)]),
        ] {
            let factor = Pattern::Factor { file: file.clone(), second };
            assert_eq!(factor.sizes().unwrap(), sizes);
            assert_eq!(factor.entries("A", shape, &mut rng).unwrap().coordinates(), place);
        }
        let entries = Pattern::Full(1).entries("A", vec![3, 3], &mut rng).unwrap();
        assert_eq!(entries.len(), 7);
        let entries = Pattern::Permuted(50).entries("A", vec![20, 20], &mut rng).unwrap();
        assert_eq!(entries.len(), 50);
    }

    #[test]
    fn filters_come_out_of_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.smtx");
        // Two filters of 2 rows and 3 columns, two channels.
        std::fs::write(&path, "2, 12, 3\n0 1 3\n5 0 9\n").unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let filters = |first| Pattern::Filters { path: path.clone(), window: [2, 3], first };
        let entries = filters(false).entries("F", vec![2, 3, 2, 2], &mut rng).unwrap();
        assert_eq!(entries.coordinates(), [1, 2, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1]);
        let entries = filters(true).entries("F", vec![2, 2, 2, 3], &mut rng).unwrap();
        assert_eq!(entries.coordinates(), [0, 0, 1, 2, 1, 0, 0, 0, 1, 1, 1, 0]);
    }

    #[test]
    fn strokes_are_drawn_within_the_picture() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let entries = Pattern::Strokes(5).entries("I", vec![200, 300], &mut rng).unwrap();
        assert!((500..10_000).contains(&entries.len()), "{}", entries.len());
        let beside = |at: usize| entries.at(at)[0] == entries.at(at + 1)[0];
        let neighbours = (1..entries.len()).filter(|at| beside(at - 1)).count();
        assert!(neighbours * 2 > entries.len());
    }

    #[test]
    fn files_say_their_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mtx");
        let text = "%%MatrixMarket matrix coordinate real general\n3 4 1\n2 3 5.0\n";
        std::fs::write(&path, text).unwrap();
        let sizes = Pattern::File(path).sizes().unwrap();
        assert_eq!(sizes, [("M".into(), 3), ("N".into(), 4)]);
        assert_eq!(Pattern::RMat(3).sizes().unwrap(), []);
        assert!(Pattern::File(folder.path().join("b.mtx")).sizes().is_err());
    }
}
