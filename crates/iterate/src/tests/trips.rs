//! Work is proportional to non-empty subsections: loop trips, counted, against the bounds of sparse convolutions,
//! figure 2.

use dastac_loops::interp::{self, Data};
use dastac_loops::trips::count_trips;
use dastac_stur::semiring::Semiring;

use super::kernels::{RandomKernel, Stored, Sum, Term, expected, inputs, it, module_of};
use crate::{Walking, lower};
use dastac_elements::Storage;
use dastac_formats::storage::{Build, Entries, Tensor};

/// A tensor of ones at some coordinates.
fn ones(shape: &[u64], coordinates: Vec<u64>, code: &str) -> Tensor {
    let names = &["i", "j", "k"][..shape.len()];
    let format = dastac_formats::format::parse(code, names).unwrap();
    let values = Storage::from(vec![1.0; coordinates.len() / shape.len()]);
    let entries = Entries::new(shape.to_vec(), coordinates, values).unwrap();
    Tensor::from_entries(&entries, &format, Build::default()).unwrap()
}

/// `O(head) += I(head + filter)`, the iterators of the head first.
fn convolution(
    outputs: &[u64],
    filters: &[u64],
    coordinates: Vec<u64>,
    (code, order, walking): (&str, &[usize], Walking),
) -> RandomKernel {
    let rank = outputs.len();
    let reach = |at: usize| outputs[at] + filters[at] - 1;
    let shape: Vec<u64> = (0..rank).map(reach).collect();
    let subscripts: Vec<Sum> = (0..rank).map(|at| (vec![(at, 1), (at + rank, 1)], 0)).collect();
    let tensor = ones(&shape, coordinates, code);
    let format = tensor.format().clone();
    let mut operands = vec![Stored { shape, iterators: vec![None; rank], format, tensor }];
    // The filter is dense.
    let count: u64 = filters.iter().product();
    let all = (0..count).flat_map(|nth| {
        let mut rest = nth;
        let mut at: Vec<u64> = Vec::new();
        for extent in filters.iter().rev() {
            at.insert(0, rest % extent);
            rest /= extent;
        }
        at
    });
    let tensor = ones(filters, all.collect(), &"D".repeat(rank));
    operands.push(Stored {
        shape: filters.to_vec(),
        iterators: (rank..2 * rank).map(Some).collect(),
        format: tensor.format().clone(),
        tensor,
    });
    let own = (rank..2 * rank).map(it).collect();
    let factors = vec![(0, subscripts), (1, own)];
    RandomKernel {
        extents: [outputs, filters].concat(),
        operands,
        products: vec![Term { number: 1.0, factors, ..Term::default() }],
        head: (0..rank).collect(),
        order: order.to_vec(),
        walking,
        semiring: Semiring::default(),
    }
}

/// How often each loop ran: names and numbers, outermost first, without the loops that clear the result.
fn trips(case: &RandomKernel) -> Vec<(String, u64)> {
    let (mut module, compiled, symbols) = module_of(case);
    compiled.unwrap();
    lower(&mut module);
    let counted = count_trips(&mut module, "kernel").unwrap();
    let size: u64 = case.head.iter().map(|at| case.extents[*at]).product();
    let mut data = vec![Data::Float(vec![9.0; size as usize])];
    data.extend(inputs(case));
    data.push(Data::Int(vec![0; counted.len()]));
    interp::run_steps(&module, "kernel", &symbols, &mut data, 100_000_000).unwrap();
    assert_eq!(data[0].as_float().unwrap(), expected(case), "{module}");
    let counts = data.last().unwrap().as_int().unwrap();
    let named = counted.iter().zip(counts).skip(case.head.len());
    named.map(|(one, count)| (one.name.clone(), *count as u64)).collect()
}

/// `count` places in `0..n`, spread out.
fn spread(n: u64, count: u64) -> Vec<u64> {
    (0..count).map(|at| at * n / count).collect()
}

#[test]
fn subsections_are_visited_once_each() {
    let (n, k) = (600, 3);
    for count in [0, 1, 5, 50, 300, n + k - 1] {
        let signal = spread(n + k - 1, count);
        // Windows that are not empty, and entries in them.
        let inside = |i: &u64| signal.iter().any(|at| (*i..i + k).contains(at));
        let windows = (0..n).filter(inside).count() as u64;
        let touched: u64 =
            (0..n).map(|i| signal.iter().filter(|at| (i..i + k).contains(at)).count() as u64).sum();
        assert!(windows <= n.min(k * count) && touched <= k * count);
        let of = |order: &[usize], walking| {
            trips(&convolution(&[n], &[k], signal.clone(), ("C", order, walking)))
        };
        // The outer loop goes over windows, the inner one over entries, and at most one behind them.
        let by_windows = of(&[0, 1], Walking::Subsections);
        let [.., (_, outer), (_, inner)] = &by_windows[..] else { panic!("{by_windows:?}") };
        assert!((windows..=windows + 1).contains(outer), "{by_windows:?}, {windows}");
        assert!((touched..=touched + windows).contains(inner), "{by_windows:?}, {touched}");
        // The window-search strategy goes over all of the result.
        let by_search = of(&[0, 1], Walking::Search);
        assert!(by_search.iter().map(|(_, count)| count).sum::<u64>() >= n + touched);
        // Locating goes over all of the result and of the filter.
        let located = of(&[0, 1], Walking::Locate);
        assert!(located.iter().any(|(_, count)| *count >= n * k), "{located:?}");
        // The filter outside: each of its elements goes over the entries.
        let by_filter = of(&[1, 0], Walking::Subsections);
        let total: u64 = by_filter.iter().map(|(_, count)| count).sum();
        assert!(total <= k + touched + k + 40, "{by_filter:?}, {touched}");
    }
}

#[test]
fn subsections_of_several_rows() {
    let (outputs, filters) = ([40u64, 50], [3u64, 3]);
    for count in [0u64, 1, 7, 40] {
        let rows = spread(42, count);
        let mut coordinates = Vec::new();
        rows.iter()
            .enumerate()
            .for_each(|(at, row)| coordinates.extend([*row, at as u64 * 31 % 52]));
        let inside = |p: u64, q: u64| {
            let mut entries = coordinates.chunks(2);
            entries.any(|at| (p..p + 3).contains(&at[0]) && (q..q + 3).contains(&at[1]))
        };
        let windows = (0..40).flat_map(|p| (0..50).map(move |q| (p, q)));
        let windows = windows.filter(|(p, q)| inside(*p, *q)).count() as u64;
        assert!(windows <= (40 * 50).min(9 * count));
        for code in ["CC", "DC"] {
            let case = convolution(
                &outputs,
                &filters,
                coordinates.clone(),
                (code, &[0, 1, 2, 3], Walking::Subsections),
            );
            let all = trips(&case);
            // The loop over columns comes once to each window that is not empty, and once more in each row of the
            // result that has any.
            let columns: u64 = all.iter().filter(|(name, _)| name == "j").map(|(_, n)| n).sum();
            assert!((windows..=windows + 40).contains(&columns), "{code} {all:?}, {windows}");
        }
    }
}
