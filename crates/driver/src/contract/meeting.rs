//! How much more of the operands meets than if their elements stood anywhere: what is known when a run has its inputs.
//!
//! Of `C(i, k) := A(i, j) * B(j, k)`, `sum(j) a(j) b(j)` points come, with `a(j)` elements in column `j` of `A` and
//! `b(j)` in row `j` of `B`. If elements stood anywhere it would be `|A| |B| / N`: where a few rows and columns have
//! most of the elements, as those of graphs do, it is many times more. Elements of large tensors are sampled.

use std::collections::BTreeMap;

use dastac_formats::format::Level;
use dastac_formats::storage::Tensor;
use dastac_stur::ast::ExprKind;
use dastac_stur::program::{Access, Product};
use dastac_stur::{Program, TensorId};

/// So many elements of a tensor are looked at, at most: every second, third, ..
const SAMPLED: usize = 1 << 20;

/// Dimensions with more coordinates have no degrees: their elements hardly meet.
const COORDINATES: u64 = 1 << 22;

/// How many times as many points come to each result with a format as if the elements of its operands stood anywhere
/// with the same probability, as a power of two. Given are the tensors that are known.
pub fn meeting(program: &Program, known: &BTreeMap<TensorId, &Tensor>) -> BTreeMap<TensorId, f64> {
    let mut all = BTreeMap::new();
    for rule in &program.rules {
        if program.tensor(rule.head).format.is_none() {
            continue;
        }
        let products = rule.products.iter().map(|product| times(product, known));
        let most = products.fold(0.0, f64::max);
        if most > 0.0 {
            let own: &mut f64 = all.entry(rule.head).or_insert(0.0);
            *own = own.max(most.log2().round().exp2());
        }
    }
    all.retain(|_, times| *times != 1.0);
    all
}

/// The same of a product, not rounded: each iterator in which several tensors meet by itself.
fn times(product: &Product, known: &BTreeMap<TensorId, &Tensor>) -> f64 {
    let mut times = 1.0;
    for iterator in &product.iterators {
        let of = |access: &Access| {
            let mut dimensions = access.subscripts.iter();
            let is_own = |expr: &dastac_stur::ast::Expr| matches!(&expr.kind, ExprKind::Name(name) if name == iterator);
            let dimension = dimensions.position(is_own)?;
            let tensor = known.get(&access.tensor)?;
            let factor = access.position.is_none() && !access.argument;
            degrees(tensor, dimension).filter(|_| factor)
        };
        let several = product.accesses.iter().filter(|access| known.contains_key(&access.tensor));
        if several.count() < 2 {
            continue;
        }
        let all: Vec<Vec<f64>> = product.accesses.iter().filter_map(of).collect();
        if all.len() < 2 || all.iter().any(|one| one.len() != all[0].len()) {
            continue;
        }
        let counts = all.iter().map(|one| one.iter().sum::<f64>());
        let anywhere = counts.product::<f64>() / (all[0].len() as f64).powi(all.len() as i32 - 1);
        let here = (0..all[0].len()).map(|at| all.iter().map(|one| one[at]).product::<f64>());
        let here = here.sum::<f64>();
        if anywhere > 0.0 && here > 0.0 {
            times *= here / anywhere;
        }
    }
    times
}

/// How many elements are stored at each coordinate of a dimension, perhaps from a sample. None where levels do not say
/// it.
fn degrees(tensor: &Tensor, dimension: usize) -> Option<Vec<f64>> {
    let format = tensor.format();
    let level = format.order()?.iter().position(|at| *at == dimension)?;
    let levels = format.levels();
    let extent = *tensor.shape().get(dimension)?;
    let compressed = |at: usize| levels[at].kind == Level::COMPRESSED.kind;
    let known = (0..levels.len()).all(|at| levels[at].is_full() || compressed(at));
    if extent > COORDINATES || !known {
        return None;
    }
    let mut degrees = vec![0.0; usize::try_from(extent).ok()?];
    // Of compressed levels inside, how many elements are between two positions is known from their positions.
    let order = format.order()?;
    let below = |first: usize, last: usize| -> Option<f64> {
        let (mut first, mut last) = (first, last);
        for at in level + 1..levels.len() {
            match levels[at].is_full() {
                true => {
                    let extent = usize::try_from(tensor.shape()[order[at]]).ok()?;
                    (first, last) = (first * extent, last * extent);
                }
                false => {
                    let positions = tensor.levels()[at].positions()?;
                    (first, last) = (positions.at(first) as usize, positions.at(last) as usize);
                }
            }
        }
        Some((last - first) as f64)
    };
    let own = &tensor.levels()[level];
    match own.coordinates().filter(|_| compressed(level)) {
        Some(coordinates) => {
            let step = coordinates.len().div_ceil(SAMPLED).max(1);
            for position in (0..coordinates.len()).step_by(step) {
                let degree = degrees.get_mut(usize::try_from(coordinates.at(position)).ok()?)?;
                *degree += step as f64 * below(position, position + 1)?;
            }
        }
        None if level == 0 => {
            for (position, degree) in degrees.iter_mut().enumerate() {
                *degree = below(position, position + 1)?;
            }
        }
        None => return None,
    }
    Some(degrees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dastac_elements::Storage;
    use dastac_formats::{Build, Entries, Format};

    fn times_of(a: &[u64], b: &[u64], formats: [Format; 2]) -> Option<f64> {
        let text = "symbols: N
            C(i, k) := A(i, j) * B(j, k)
            A:D(i, j) := (0 <= i < N) * (0 <= j < N)
            A:F := csr
            B:D(i, j) := (0 <= i < N) * (0 <= j < N)
            B:F := csr
            C:D(i, k) := (0 <= i < N) * (0 <= k < N)
            C:F := csr";
        let (program, _) = dastac_stur::load(text).unwrap();
        let [one, other] = [(a, &formats[0]), (b, &formats[1])].map(|(coordinates, format)| {
            let values = Storage::from(vec![1.0; coordinates.len() / 2]);
            let entries = Entries::new(vec![8, 8], coordinates.to_vec(), values).unwrap();
            Tensor::from_entries(&entries, format, Build::default()).unwrap()
        });
        let find = |name: &str| program.find(name).unwrap();
        let known = BTreeMap::from([(find("A"), &one), (find("B"), &other)]);
        meeting(&program, &known).get(&find("C")).copied()
    }

    #[test]
    fn a_column_that_meets_a_row_has_all_points() {
        let column: Vec<u64> = (0..8).flat_map(|i| [i, 3]).collect();
        let row: Vec<u64> = (0..8).flat_map(|k| [3, k]).collect();
        for one in [Format::csr(), Format::csc()] {
            for other in [Format::csr(), Format::csc()] {
                // 64 points come, where 8 would if elements stood anywhere.
                let found = times_of(&column, &row, [one.clone(), other]);
                assert_eq!(found, Some(8.0));
            }
        }
        // Where degrees are equal nothing is to be said.
        let diagonal: Vec<u64> = (0..8).flat_map(|i| [i, i]).collect();
        assert_eq!(times_of(&diagonal, &diagonal, [Format::csr(), Format::csr()]), None);
    }
}
