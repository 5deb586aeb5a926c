//! Tensors against a map from coordinates to values: building, converting, finding, checking.

mod indirect;

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::columns::Tables;
use super::counting::Near;
use super::*;
use crate::format::{parse, tests::any_format};
use dastac_elements::Scalar;

fn csr(positions: &[u64], coordinates: &[u64], values: usize) -> Result<Tensor, StorageError> {
    let level = LevelData::compressed(Indices::of(positions, 0), Indices::of(coordinates, 0));
    let values = Storage::from(vec![1.0; values]);
    Tensor::from_parts(vec![4, 4], Format::csr(), vec![LevelData::dense(), level], values)
}

#[test]
fn the_example_of_the_manual() {
    let entries = Entries::new(
        vec![4, 4],
        vec![3, 2, 0, 0, 2, 1, 0, 3, 3, 0],
        Storage::from(vec![8.0, 5.0, 7.0, 1.0, 2.0]),
    )
    .unwrap();
    let tensor = Tensor::from_entries(&entries, &Format::csr(), Build::default()).unwrap();
    let level =
        LevelData::compressed(Indices::U32(vec![0, 2, 2, 3, 5]), Indices::U32(vec![0, 3, 1, 0, 2]));
    assert_eq!(tensor.levels(), [LevelData::dense(), level]);
    assert_eq!(*tensor.values(), Storage::from(vec![5.0, 1.0, 7.0, 2.0, 8.0]));
    assert_eq!(tensor.get(&[3, 2]), Some(Scalar::F64(8.0)));
    assert_eq!(tensor.get(&[1, 2]), None);
    assert_eq!(tensor.bytes(), 5 * 4 + 5 * 4 + 5 * 8);
}

fn wrong(tensor: Result<Tensor, StorageError>, expected: &Expect) {
    expected.assert_eq(&tensor.unwrap_err().to_string());
}

#[test]
fn arrays_that_are_no_tensor() {
    wrong(csr(&[0, 1, 2, 3], &[0, 1, 2], 3), &expect!["level 2: 4 positions, not 5"]);
    wrong(csr(&[1, 1, 2, 3, 3], &[0, 1, 2], 3), &expect!["level 2: positions[0] is 1, not 0"]);
    wrong(
        csr(&[0, 2, 1, 3, 3], &[0, 1, 2], 3),
        &expect!["level 2: positions[2] is 1, less than 2 before it"],
    );
    wrong(
        csr(&[0, 1, 2, 3, 4], &[0, 1, 2], 3),
        &expect!["level 2: positions end with 4, but the number of coordinates is 3"],
    );
    wrong(
        csr(&[0, 1, 2, 3, 3], &[0, 4, 2], 3),
        &expect!["level 2: coordinates[1] is 4, not below 4"],
    );
    wrong(
        csr(&[0, 3, 3, 3, 3], &[0, 2, 1], 3),
        &expect!["level 2: the coordinates (1) at 2 stand behind (2)"],
    );
    wrong(
        csr(&[0, 1, 3, 3, 3], &[0, 2, 2], 3),
        &expect!["level 2: the coordinates (2) at 2 are there twice"],
    );
    wrong(csr(&[0, 1, 2, 3, 3], &[0, 1, 2], 4), &expect!["level 3: 4 values for 3 positions"]);
    let levels = vec![LevelData::dense(), LevelData::dense()];
    let values = Storage::from(vec![true; 16]);
    let tensor = Tensor::from_parts(vec![4, 4], Format::csr(), levels.clone(), values.clone());
    wrong(tensor, &expect!["level 2: its arrays are not those of a compressed level"]);
    wrong(
        Tensor::from_parts(vec![4], Format::dense(2), levels, values),
        &expect!["a format of rank 2 cannot store a tensor of rank 1"],
    );
    let coo = |first: Vec<u64>, second: Vec<u64>| {
        let values = Storage::from(vec![1; first.len()]);
        let compressed =
            LevelData::compressed(Indices::of(&[0, first.len() as u64], 0), Indices::of(&first, 0));
        let singleton = LevelData::singleton(Indices::of(&second, 0));
        Tensor::from_parts(vec![4, 4], Format::coo(2), vec![compressed, singleton], values)
    };
    assert!(coo(vec![0, 0, 2], vec![1, 3, 0]).is_ok());
    wrong(
        coo(vec![0, 0, 2], vec![3, 1, 0]),
        &expect!["level 1: the coordinates (0, 1) at 1 stand behind (0, 3)"],
    );
    wrong(
        coo(vec![0, 0, 2], vec![1, 1, 0]),
        &expect!["level 1: the coordinates (0, 1) at 1 are there twice"],
    );
    wrong(
        coo(vec![0, 0, 2], vec![1, 1]),
        &expect!["level 2: 2 coordinates, but the level before has 3 positions"],
    );
}

#[test]
fn entries_that_are_refused() {
    let entries =
        |coordinates: &[u64], values| Entries::new(vec![4, 4], coordinates.to_vec(), values);
    let message = |result: Result<Entries, StorageError>| result.unwrap_err().to_string();
    expect!["entry 1 at (4, 1) is outside of the shape 4 x 4"]
        .assert_eq(&message(entries(&[0, 0, 4, 1], Storage::from(vec![1, 2]))));
    expect!["3 coordinates for 2 values of a tensor of rank 2"]
        .assert_eq(&message(entries(&[0, 0, 4], Storage::from(vec![1, 2]))));
    let twice = entries(&[1, 2, 1, 2], Storage::from(vec![i32::MAX, 1])).unwrap();
    let build = |duplicates| Build { duplicates, ..Build::default() };
    let csr = |duplicates| Tensor::from_entries(&twice, &Format::csr(), build(duplicates));
    wrong(
        csr(Duplicates::Refuse),
        &expect!["there are two entries of the element (1, 2), counting from 0"],
    );
    wrong(
        csr(Duplicates::Sum),
        &expect!["the sum of the entries of the element (1, 2), counting from 0, overflows"],
    );
    assert_eq!(*csr(Duplicates::Last).unwrap().values(), Storage::from(vec![1]));
    let kept = crate::format::parse("dense(i), compressed(j, nonunique)", &["i", "j"]).unwrap();
    let kept = Tensor::from_entries(&twice, &kept, Build::default()).unwrap();
    assert_eq!(kept.positions_of(&[1, 2]), [0, 1]);
}

#[test]
fn values_of_other_types() {
    let entries =
        Entries::new(vec![4, 4], vec![0, 1, 2, 3], Storage::from(vec![7.0, 0.5])).unwrap();
    let integers = Element::I32;
    let message = |error: StorageError| format!("{error}\n{}", error.clone().counting_from(1));
    let expected = expect![[r#"
        the element (2, 3), counting from 0: 0.5 is no value of type i32
        the element (3, 4), counting from 1: 0.5 is no value of type i32"#]];
    for format in ["csr", "csc", "coo", "dense(i), dense(j)", "bsr(2, 2)"] {
        let format = crate::format::parse(format, &["i", "j"]).unwrap();
        let tensor = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
        expected.assert_eq(&message(tensor.cast(integers).unwrap_err()));
    }
    let number = Entries::new(vec![], vec![], Storage::from(vec![0.5])).unwrap();
    let small = Entries::new(vec![4, 4], vec![], Storage::empty(integers)).unwrap();
    wrong_value(entries.clone().cast(integers), "the element (2, 3), counting from 0: ");
    wrong_value(small.beside(&entries), "the element (2, 3), counting from 0: ");
    wrong_value(number.cast(integers), "the number ");
}

fn wrong_value(result: Result<Entries, StorageError>, place: &str) {
    let expected = format!("{place}0.5 is no value of type i32");
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn what_memory_does_not_hold() {
    let huge = |shape: &[u64], format: &str, memory| {
        let names: Vec<String> = crate::format::default_names(shape.len());
        let entries = Entries::new(shape.to_vec(), vec![0; shape.len()], Storage::from(vec![1.0]));
        let format = crate::format::parse(format, &names).unwrap();
        let build = Build { memory, ..Build::default() };
        Tensor::from_entries(&entries.unwrap(), &format, build)
    };
    let large = 1_000_000_000_000_000_000;
    wrong(
        huge(&[large, large], "csr", u64::MAX),
        &expect![[
            "the positions of level 2 of a tensor of shape 1000000000000000000 x 1000000000000000000 would take \
             4000000000000000004 bytes"
        ]],
    );
    wrong(
        huge(&[large, large], "dense", u64::MAX),
        &expect![[
            "level 2 of a tensor of shape 1000000000000000000 x 1000000000000000000 would take \
             1000000000000000000000000000000000000 bytes"
        ]],
    );
    wrong(
        huge(&[1 << 40, 4], "csr", 1 << 30),
        &expect![[
            r#"the positions of level 2 of a tensor of shape 1099511627776 x 4 would take 4398046511108 bytes"#
        ]],
    );
    wrong(
        huge(&[1 << 20, 1 << 20], "dense", 1 << 30),
        &expect!["the values would take 8796093022208 bytes"],
    );
    wrong(
        huge(&[1 << 31, 4], "bcsr(2, 2)", 1 << 30),
        &expect![
            "the positions of level 2 of a tensor of shape 2147483648 x 4 would take 4294967300 bytes"
        ],
    );
    for (rows, bytes) in [(1u64 << 31, "68719476736"), (1 << 40, "35184372088832")] {
        for format in ["jds", "sell(8, 64)", "cisr(8)"] {
            let found = huge(&[rows, 4], format, 1 << 30).map(|_| ()).unwrap_err().to_string();
            let wanted = format!("the rows that the format sorts would take {bytes} bytes");
            assert_eq!(found, wanted, "{format}");
        }
    }
    wrong(
        huge(&[1 << 31, 4], "ell", 10 << 30),
        &expect!["the values would take 17179869184 bytes"],
    );
    wrong(
        huge(&[u64::MAX, u64::MAX, 2], "coo", 1 << 30),
        &expect!["a shape whose coordinates take 129 bits: at most 128 are supported"],
    );
    let coo = huge(&[u64::MAX, u64::MAX], "coo", 1 << 30).unwrap();
    assert!(matches!(coo.levels()[1].coordinates(), Some(Indices::U64(_))));
}

/// Entries of a small box, some twice, some zero.
pub fn any_entries(rank: std::ops::Range<usize>) -> impl Strategy<Value = Entries> {
    proptest::collection::vec(0u64..6, rank).prop_flat_map(|shape| {
        let empty = shape.contains(&0);
        let extents: Vec<_> = shape.iter().map(|extent| 0..(*extent).max(1)).collect();
        let entry = (extents, -3i32..4);
        let count = if empty { 0..1 } else { 0..24 };
        (Just(shape), proptest::collection::vec(entry, count), 0..Element::OF_TENSORS.len())
            .prop_map(|(shape, entries, element)| {
                let coordinates = entries.iter().flat_map(|(at, _)| at.clone()).collect();
                let element = Element::OF_TENSORS[element];
                let sign = |value: i32| if element == Element::U8 { value.abs() } else { value };
                let values: Vec<i32> = entries.iter().map(|(_, value)| sign(*value)).collect();
                let both = values.iter().flat_map(|value| [*value, (value * 3 + 1) % 4]);
                let values = match element.is_complex() {
                    true => {
                        let both: Vec<f64> = both.map(f64::from).collect();
                        Storage::of_numbers(element, &both).unwrap()
                    }
                    false => Storage::from(values).cast(element).unwrap(),
                };
                Entries::new(shape, coordinates, values).unwrap()
            })
    })
}

type Map = BTreeMap<Vec<u64>, f64>;

/// The value of an entry as one number. Entries are small integers, so that complex ones stay apart.
fn number(value: Scalar) -> f64 {
    let number = value.number().to_complex();
    number.re + 1000.0 * number.im
}

/// What fills up blocks is no entry, and fills them up again; without padding all of a block is.
#[test]
fn padding_of_blocks() {
    let format = crate::format::parse("CD", &["i", "j"]).unwrap();
    let blocks = |padding, values: [f64; 2]| {
        let levels = vec![
            LevelData::compressed(Indices::U32(vec![0, 1]), Indices::U32(vec![1])),
            LevelData::dense(),
        ];
        let whole =
            Tensor::from_parts(vec![2, 2], format.clone(), levels, Storage::from(values.to_vec()));
        let build = Build { padding, ..Build::default() };
        let entries = whole.unwrap().convert(&Format::csf(2), build).unwrap();
        let back = entries.convert(&format, build).unwrap();
        (entries.values().clone(), back.values().clone())
    };
    let f64s = |values: &[f64]| Storage::from(values.to_vec());
    let far = f64::INFINITY;
    assert_eq!(blocks(Some(0.0), [0.0, far]), (f64s(&[far]), f64s(&[0.0, far])));
    assert_eq!(blocks(Some(far), [0.0, far]), (f64s(&[0.0]), f64s(&[0.0, far])));
    assert_eq!(blocks(None, [0.0, far]), (f64s(&[0.0, far]), f64s(&[0.0, far])));
}

/// The sums of entries by element.
pub fn sums(entries: &Entries) -> Map {
    let mut map = Map::new();
    for at in 0..entries.len() {
        let value = entries.values().get(at).unwrap();
        let sum = map.entry(entries.at(at).to_vec()).or_default();
        *sum = match value {
            Scalar::Bool(value) => number(Scalar::Bool(value || *sum > 0.0)),
            value => *sum + number(value),
        };
    }
    map
}

fn without_zeros(mut map: Map) -> Map {
    map.retain(|_, value| *value != 0.0);
    map
}

/// Compares conversions by counting, in buckets of all sizes, with one by sorting. Gives whether there is any.
fn counts(tensor: &Tensor, format: &Format) -> bool {
    let sorted = Tensor::from_entries(&tensor.to_entries().unwrap(), format, Build::default());
    let sorted = sorted.unwrap();
    let sizes = [1, 64, 4096].map(|bucket| Near { bucket, result: 0, rows: 1 });
    let all = sizes.into_iter().chain([Near::default()]).map(|near| {
        let view = tensor.as_view().unwrap();
        let counted = view.converted_near(format, Build::default(), near).unwrap();
        if let Some(counted) = &counted {
            counted.check().unwrap();
            assert_eq!(*counted, sorted, "{} to {format}", tensor.format());
        }
        counted.is_some()
    });
    all.collect::<Vec<bool>>().contains(&true)
}

fn with_formats() -> impl Strategy<Value = (Entries, Format, Format)> {
    any_entries(0..5).prop_flat_map(|entries| {
        let rank = entries.shape().len();
        (Just(entries), any_format_or_named(rank), any_format_or_named(rank))
    })
}

fn any_format_or_named(rank: usize) -> BoxedStrategy<Format> {
    match named_formats(rank) {
        _ if rank == 0 => any_format(rank).boxed(),
        named => {
            let named = proptest::sample::select(named);
            prop_oneof![2 => any_format(rank), 1 => named].boxed()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_entries_in_any_format((entries, format, other) in with_formats()) {
        let expected = sums(&entries);
        let tensor = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
        tensor.check().unwrap();
        let blocks = tensor.format().has_blocks();
        let wanted = if blocks { without_zeros(expected.clone()) } else { expected.clone() };
        prop_assert_eq!(&sums(&tensor.to_entries().unwrap()), &wanted);
        if format.levels().last().is_none_or(|level| level.unique) {
            prop_assert_eq!(tensor.entry_count(), wanted.len() as u64);
        }

        let mut seen = 0;
        tensor.for_each(|element, position| {
            assert!(tensor.positions_of(element).contains(&position));
            assert!(wanted.contains_key(element));
            seen += 1;
        });
        prop_assert_eq!(seen, tensor.entry_count());

        let converted = tensor.convert(&other, Build::default()).unwrap();
        converted.check().unwrap();
        let lossy = blocks || converted.format().has_blocks();
        let wanted = if lossy { without_zeros(expected.clone()) } else { expected.clone() };
        prop_assert_eq!(sums(&converted.to_entries().unwrap()), wanted);

        let dense = converted.to_dense(Build::default()).unwrap();
        let dense = Tensor::from_dense(entries.shape().to_vec(), dense).unwrap();
        prop_assert_eq!(sums(&dense.to_entries().unwrap()), without_zeros(expected));
    }

    /// Coordinates in an array for each dimension make the tensor that entries make, in both widths.
    #[test]
    fn lists_are_entries((entries, format, _) in with_formats(), sorted in 0..3u8) {
        let rank = entries.shape().len();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        match sorted {
            0 => {}
            1 => order.sort_by_key(|at| entries.at(*at).to_vec()),
            _ => order.sort_by_key(|at| entries.at(*at).iter().rev().copied().collect::<Vec<_>>()),
        }
        let coordinates: Vec<u64> = order.iter().flat_map(|at| entries.at(*at).to_vec()).collect();
        let values = entries.values().select(&order);
        let entries = Entries::new(entries.shape().to_vec(), coordinates, values).unwrap();
        let list = |at: usize| entries.coordinates().iter().skip(at).step_by(rank.max(1)).copied();
        let narrow: Vec<Vec<u32>> = (0..rank).map(|at| list(at).map(|c| c as u32).collect()).collect();
        let wide: Vec<Vec<i64>> = (0..rank).map(|at| list(at).map(|c| c as i64).collect()).collect();
        let views: [Vec<IndexView<'_>>; 2] = [
            narrow.iter().map(|all| IndexView::U32(all)).collect(),
            wide.iter().map(|all| IndexView::I64(all)).collect(),
        ];
        for duplicates in [Duplicates::Sum, Duplicates::Refuse, Duplicates::Last] {
            let build = Build { duplicates, ..Build::default() };
            let expected = Tensor::from_entries(&entries, &format, build);
            for lists in &views {
                let values = entries.values().view();
                let found = Tensor::from_lists(entries.shape(), lists, values, (&format, build));
                match (&found, &expected) {
                    (Ok(found), Ok(expected)) => {
                        found.check().unwrap();
                        prop_assert_eq!(found, expected);
                    }
                    _ => prop_assert_eq!(found.is_err(), expected.is_err()),
                }
            }
        }
    }

    #[test]
    fn counting_is_sorting(
        (entries, order, kinds) in any_entries(2..5).prop_flat_map(|entries| {
            let rank = entries.shape().len();
            let order = Just((0..rank).collect::<Vec<usize>>()).prop_shuffle();
            (Just(entries), order, 0..3usize)
        }),
    ) {
        let rank = entries.shape().len();
        let mut levels = vec![Level::DENSE; rank];
        levels[rank - 1] = Level::COMPRESSED;
        if kinds == 0 {
            levels[0] = Level::COMPRESSED;
        }
        let target = Format::new(levels, order).unwrap();
        let whole = if kinds == 1 { Format::coo(rank) } else { Format::csf(rank) };
        counts(&Tensor::from_entries(&entries, &whole, Build::default()).unwrap(), &target);
    }

    #[test]
    fn long_keys(entries in any_entries(1..5)) {
        // The same entries, in a box whose keys take more than 64 bits.
        let shape: Vec<u64> = entries.shape().iter().map(|_| 1 << 30).collect();
        let format = Format::csf(shape.len());
        let far = Entries::new(shape, entries.coordinates().to_vec(), entries.values().clone()).unwrap();
        let far = Tensor::from_entries(&far, &format, Build::default()).unwrap();
        let near = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
        prop_assert_eq!(far.levels(), near.levels());
        let (far, near) = (far.to_entries().unwrap(), near.to_entries().unwrap());
        prop_assert_eq!(far.coordinates(), near.coordinates());
    }

    #[test]
    fn damaged_arrays_are_found_or_harmless(
        (entries, format, _) in with_formats(),
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        number in 0u64..8,
    ) {
        let tensor = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
        let mut levels = tensor.levels().to_vec();
        let mut arrays: Vec<&mut Indices> = Vec::new();
        for level in &mut levels {
            arrays.extend(level.arrays_mut());
        }
        arrays.retain(|array| !array.is_empty());
        prop_assume!(!arrays.is_empty());
        let array = which.index(arrays.len());
        let mut numbers: Vec<u64> = arrays[array].iter().collect();
        let place = place.index(numbers.len());
        numbers[place] = number;
        *arrays[array] = Indices::of(&numbers, 0);
        let damaged = Tensor::from_parts(entries.shape().to_vec(), format, levels, tensor.values().clone());
        if let Ok(damaged) = damaged {
            let csf = damaged.convert(&Format::csf(damaged.shape().len()), Build::default()).unwrap();
            csf.check().unwrap();
        }
    }
}

/// All formats with names that are for a rank, with small numbers.
fn named_formats(rank: usize) -> Vec<Format> {
    let fits =
        // A scalar has no dimensions that blocks could be cut from.
        |found: &&crate::format::Definition| {
            found.rank().is_none_or(|needed| needed == rank)
                && (rank > 0 || found.parameters.is_empty())
        };
    let named = crate::format::library().iter().filter(fits).map(|found| {
        let text = match found.parameters.len() {
            0 => found.name.clone(),
            count => format!("{}({})", found.name, ["3", "2"][..count].join(", ")),
        };
        crate::format::parse(&text, &crate::format::default_names(rank)).unwrap()
    });
    named.collect()
}

#[test]
fn named_formats_become_each_other() {
    for shape in
        [vec![5], vec![0, 3], vec![1, 1], vec![7, 5], vec![4, 9], vec![3, 4, 5], vec![2, 5, 1, 3]]
    {
        let all: u64 = shape.iter().product();
        let stored = (0..all).filter(|at| (at * 7 + 3) % 5 < 2);
        let coordinates = stored.clone().flat_map(|at| {
            let mut left = at;
            let mut element: Vec<u64> = Vec::new();
            for extent in shape.iter().rev() {
                element.push(left % extent);
                left /= extent;
            }
            element.into_iter().rev().collect::<Vec<u64>>()
        });
        let values: Vec<f64> = stored.clone().map(|at| at as f64 + 0.5).collect();
        let entries = Entries::new(shape.clone(), coordinates.collect(), Storage::from(values));
        let wanted =
            Tensor::from_entries(&entries.unwrap(), &Format::coo(shape.len()), Build::default());
        let wanted = wanted.unwrap();
        let formats = named_formats(shape.len());
        for from in &formats {
            let one = wanted.convert(from, Build::default()).unwrap();
            assert_eq!(one.entry_count(), wanted.entry_count(), "{from} of {shape:?}");
            for to in &formats {
                let other = one.convert(to, Build::default()).unwrap();
                other.check().unwrap();
                let back = other.convert(wanted.format(), Build::default()).unwrap();
                assert_eq!(back, wanted, "{from} to {to} of {shape:?}");
            }
        }
    }
}

/// Enough entries that all sorting is by digits and in parts.
#[test]
fn many_entries() {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let shape = vec![700, 900, 40];
    let count = 60_000;
    let coordinates: Vec<u64> =
        (0..count).flat_map(|_| [random(700), random(900), random(40)]).collect();
    let values = (0..count).map(|_| i64::try_from(random(9)).unwrap()).collect::<Storage>();
    let entries = Entries::new(shape, coordinates, values).unwrap();
    let expected = sums(&entries);
    let names = ["i", "j", "k"];
    let formats = [
        "csf",
        "coo",
        "DCC(j, k, i)",
        "CDC(k, j, i)",
        "CSC",
        "DCS(k, j, i)",
        "DDC",
        "DDC(j, k, i)",
    ];
    let formats = formats.map(|text| crate::format::parse(text, &names).unwrap());
    let mut counted = 0;
    for format in &formats {
        let tensor = Tensor::from_entries(&entries, format, Build::default()).unwrap();
        tensor.check().unwrap();
        assert_eq!(sums(&tensor.to_entries().unwrap()), expected, "{format}");
        for other in &formats {
            let direct = tensor.convert(other, Build::default()).unwrap();
            let again = Tensor::from_entries(&entries, other, Build::default()).unwrap();
            assert_eq!(direct, again, "{format} to {other}");
            counted += usize::from(counts(&tensor, other));
        }
    }
    assert!(counted > 0, "no conversion counts");
}

/// Tables of all sizes that conversions by columns may make: none, some, all.
const TABLES: [Tables; 3] = [
    Tables { all: 0, one: 0, small: 0 },
    Tables { all: 0, one: 100, small: 0 },
    Tables { all: 4, one: 16, small: 1 << 12 },
];

/// Compares conversions by columns, with tables of all sizes, with one by sorting. Gives whether there is any.
fn placed(tensor: &Tensor, format: &Format, build: Build) -> bool {
    let packing = key::Packing::new(tensor.shape(), format).unwrap();
    let sorted = tensor.sorted((&packing, format), build).unwrap();
    let all = TABLES.map(|tables| {
        let placed = tensor.placed((&packing, format), build, tables).unwrap();
        if let Some(placed) = &placed {
            placed.check().unwrap();
            assert_eq!(*placed, sorted, "{} to {format}, {tables:?}", tensor.format());
        }
        placed.is_some()
    });
    all[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn columns_become_what_sorted_records_do((entries, format, other) in with_formats()) {
        // Arrays get widths of their own when all is converted.
        let (format, other) = (format.in_any_width(), other.in_any_width());
        let tensor = Tensor::from_entries(&entries, &format, Build::default()).unwrap();
        placed(&tensor, &other, Build::default());
        let padding = [None, Some(1.0)];
        padding.into_iter().for_each(|padding| {
            placed(&tensor, &other, Build { padding, ..Build::default() });
        });
    }
}

/// Coordinates are as wide as the format says, or an error where one could be too large.
#[test]
fn widths_of_coordinates() {
    let format = |text: &str| parse(text, &["i", "j"]).unwrap();
    let entries = |columns: u64| {
        let values = Storage::from(vec![1.0, 2.0]);
        Entries::new(vec![3, columns], vec![0, 0, 2, columns - 1], values).unwrap()
    };
    let made = |columns: u64, text: &str| {
        Tensor::from_entries(&entries(columns), &format(text), Build::default())
    };
    for (text, most, bytes) in [
        ("dense(i), compressed(j, u8)", 256, 1),
        ("dense(i), compressed(j, u16)", 65_536, 2),
        ("compressed(i, nonunique), singleton(j, u16)", 65_536, 2),
        ("ragged(enumerate(i; j)), dense(i), padded(j, u8)", 255, 1), // one number says that there is none
    ] {
        let tensor = made(most, text).unwrap();
        let last = tensor.levels().last().unwrap();
        assert_eq!(last.coordinates().unwrap().width(), bytes, "{text}");
        let plain = tensor.convert(&Format::csr(), Build::default()).unwrap();
        assert_eq!(plain, made(most, "csr").unwrap());
        assert_eq!(plain.convert(&format(text), Build::default()).unwrap(), tensor);
        assert_eq!(tensor.as_view().unwrap().convert(&Format::csr(), Build::default()), Ok(plain));
        let again = Tensor::from_parts(
            tensor.shape().to_vec(),
            tensor.format().clone(),
            tensor.levels().to_vec(),
            tensor.values().clone(),
        );
        assert_eq!(again.as_ref(), Ok(&tensor));
        let wider = made(most + 1, "csr").unwrap();
        for error in [made(most + 1, text), wider.convert(&format(text), Build::default())] {
            assert!(matches!(error, Err(StorageError::Width { .. })), "{text}: {error:?}");
        }
    }
    expect![[r#"
        the coordinates of level 2 of a tensor of shape 3 x 257, are up to 256: `u8` holds no more than 255"#]]
    .assert_eq(&made(257, "dense(i), compressed(j, u8)").unwrap_err().to_string());
    assert_eq!(made(5, "DB").unwrap().bytes(), 15 + 15 * 8);
}

/// Enough entries for several threads, in formats of all kinds.
#[test]
fn columns_of_many_entries() {
    let entries = |shape: [u64; 2], count: u64, banded: bool| {
        let mut at: Vec<[u64; 2]> = (0..count)
            .map(|entry| {
                let row = entry * 7919 % shape[0];
                let column = if banded { row + entry % 23 } else { entry * entry * 31 + entry };
                [row, column % shape[1]]
            })
            .collect();
        at.sort_unstable();
        at.dedup();
        let values = Storage::from((1..=at.len()).map(|at| at as f64).collect::<Vec<f64>>());
        Entries::new(shape.to_vec(), at.concat(), values).unwrap()
    };
    for (shape, count, banded) in [([3001, 2999], 60_000, false), ([2500, 2600], 50_000, true)] {
        let entries = entries(shape, count, banded);
        let names = ["csr", "csc", "coo", "dia", "bcsr(3, 5)", "bdia(16)", "sell(8, 64)", "jds"];
        let names =
            names.into_iter().chain(["hicoo(8)", "csb(64, 32)", "cisr(4)", "ell", "bcoo(2, 2)"]);
        let formats: Vec<Format> =
            names.map(|name| crate::format::parse(name, &["i", "j"]).unwrap()).collect();
        let csr = Tensor::from_entries(&entries, &Format::csr(), Build::default()).unwrap();
        for (number, format) in formats.iter().enumerate() {
            if format.name() == Some("dia") && !banded {
                continue;
            }
            assert!(placed(&csr, format, Build::default()));
            let own = csr.convert(format, Build::default()).unwrap();
            let other = &formats[(number + 4) % 3];
            assert!(placed(&own, other, Build::default()));
        }
    }
}
