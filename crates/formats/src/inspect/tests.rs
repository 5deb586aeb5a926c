//! Facts and pictures of small matrices.

use expect_test::expect;

use super::*;
use crate::format::{Aggregate, read_query};

fn matrix(shape: [u64; 2], entries: &[(u64, u64, i32)]) -> Tensor {
    let coordinates = entries.iter().flat_map(|(row, column, _)| [*row, *column]).collect();
    let values = entries.iter().map(|(.., value)| *value).collect::<Storage>();
    let entries = Entries::new(shape.to_vec(), coordinates, values).unwrap();
    Tensor::from_entries(&entries, &Format::csr(), Build::default()).unwrap()
}

fn symmetry_of(entries: &[(u64, u64, i32)]) -> Symmetry {
    Facts::of(&matrix([3, 3], entries)).unwrap().matrix.unwrap().symmetry.unwrap()
}

#[test]
fn symmetries() {
    assert_eq!(symmetry_of(&[]), Symmetry::Symmetric);
    assert_eq!(symmetry_of(&[(0, 1, 5), (1, 0, 5), (2, 2, 1)]), Symmetry::Symmetric);
    assert_eq!(symmetry_of(&[(0, 1, 5), (1, 0, -5)]), Symmetry::Skew);
    assert_eq!(symmetry_of(&[(0, 1, 5), (1, 0, 4)]), Symmetry::Pattern);
    assert_eq!(symmetry_of(&[(0, 1, 5)]), Symmetry::None);
}

#[test]
fn facts() {
    let tensor = matrix([4, 6], &[(0, 0, 1), (0, 5, -2), (0, 1, 0), (2, 0, 3), (3, 2, 8)]);
    let facts = Facts::of(&tensor).unwrap();
    assert_eq!(facts.entries, 5);
    assert_eq!(facts.density, Some(5.0 / 24.0));
    expect![[r#"
        Some(
            ValueFacts {
                least: -2.0,
                largest: 8.0,
                zeros: 1,
                not_finite: 0,
            },
        )
    "#]]
    .assert_debug_eq(&facts.values);
    expect![[r#"
        Spread {
            extent: 4,
            used: 3,
            least: 0,
            median: 1,
            most: 3,
            powers: [
                2,
                1,
            ],
        }
    "#]]
    .assert_debug_eq(&facts.spreads[0]);
    expect![[r#"
        Some(
            MatrixFacts {
                symmetry: None,
                lower_bandwidth: 2,
                upper_bandwidth: 5,
            },
        )
    "#]]
    .assert_debug_eq(&facts.matrix);
    let empty = Facts::of(&matrix([0, 5], &[])).unwrap();
    assert_eq!((empty.density, empty.values, empty.spreads[1].median), (None, None, 0));
    let huge = Facts::of(
        &Tensor::from_entries(
            &Entries::new(vec![1 << 60, 1 << 60], vec![7, 1 << 59], Storage::from(vec![true]))
                .unwrap(),
            &Format::coo(2),
            Build::default(),
        )
        .unwrap(),
    )
    .unwrap();
    assert_eq!(huge.matrix.unwrap().upper_bandwidth, (1 << 59) - 7);
}

#[test]
fn plots() {
    let arrow: Vec<(u64, u64, i32)> =
        (0..16).flat_map(|i| [(i, i, 1), (15, i, 1), (i, 15, 1)]).collect();
    let entries = matrix([16, 16], &arrow).to_entries().unwrap();
    expect![[r#"
        ┌────────┐
        │⠑⢄⠀⠀⠀⠀⠀⢸│
        │⠀⠀⠑⢄⠀⠀⠀⢸│
        │⠀⠀⠀⠀⠑⢄⠀⢸│
        │⣀⣀⣀⣀⣀⣀⣑⣼│
        └────────┘
    "#]]
    .assert_eq(&Spy::new(&entries, 100).braille());
    let small = Spy::new(&entries, 4);
    assert_eq!(small.counts, [4, 0, 0, 4, 0, 4, 0, 4, 0, 0, 4, 4, 4, 4, 4, 10]);
    expect![[r##"
        <svg xmlns="http://www.w3.org/2000/svg" width="750" height="750" viewBox="-0.5 -0.5 5 5">
        <title>a &lt; b</title>
        <rect x="-0.25" y="-0.25" width="4.5" height="4.5" fill="#fff" stroke="#888" stroke-width="0.5"/>
        <g fill="#123" shape-rendering="crispEdges">
        <rect x="0" y="0" width="1" height="1" opacity="0.75"/>
        <rect x="3" y="0" width="1" height="1" opacity="0.75"/>
        <rect x="1" y="1" width="1" height="1" opacity="0.75"/>
        <rect x="3" y="1" width="1" height="1" opacity="0.75"/>
        <rect x="2" y="2" width="2" height="1" opacity="0.75"/>
        <rect x="0" y="3" width="3" height="1" opacity="0.75"/>
        <rect x="3" y="3" width="1" height="1"/>
        </g>
        </svg>
    "##]].assert_eq(&small.svg("a < b"));
    let picture = Spy::new(&entries, 100).picture(64);
    assert_eq!((picture.width, picture.height, picture.grey.len()), (64, 64, 64 * 64));
    assert_eq!((picture.grey[0], picture.grey[4]), (0, 255));
    let wide = Spy::new(&matrix([1, 1000], &[(0, 999, 1)]).to_entries().unwrap(), 20);
    expect![[r#"
        ┌──────────┐
        │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠈│
        └──────────┘
    "#]]
    .assert_eq(&wide.braille());
    let empty = Spy::new(&matrix([0, 0], &[]).to_entries().unwrap(), 20);
    assert_eq!(empty.braille(), "┌┐\n└┘\n");
    assert!(empty.picture(64).grey.is_empty());
}

/// Each aggregate over random tensors, compared with a search of all entries for every key.
#[test]
fn queries() {
    let maps = [
        (1, "(i) -> (i % 3)"),
        (2, "(i, j) -> (i / 2, j - i)"),
        (2, "(a, b) -> ()"),
        (3, "(i, j, k) -> (k)"),
    ];
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    for (rank, map) in maps {
        for count in [0usize, 1, 2, 33] {
            let coordinates: Vec<u64> = (0..count * rank).map(|_| random(7)).collect();
            let numbers: Vec<i32> = (0..count).map(|_| random(5) as i32 - 2).collect();
            let values = numbers.iter().copied().collect::<Storage>();
            let entries = Entries::new(vec![7; rank], coordinates, values).unwrap();
            for aggregate in Aggregate::ALL {
                let query = read_query(&format!("{} {map}", aggregate.word()), rank).unwrap();
                let key = |entry: usize| -> Vec<i128> {
                    let at = entries.at(entry);
                    query.groups.iter().map(|expr| expr.value(&|d| i128::from(at[d]))).collect()
                };
                let keys: std::collections::BTreeSet<_> = (0..count).map(key).collect();
                let expected = keys.into_iter().map(|own| {
                    let of = (0..count).filter(|entry| key(*entry) == own);
                    let of: Vec<i128> = of.map(|entry| numbers[entry].into()).collect();
                    let answer = match aggregate {
                        Aggregate::Count => Answer::Integer(of.len() as i128),
                        Aggregate::Max => Answer::Integer(*of.iter().max().unwrap()),
                        Aggregate::Min => Answer::Integer(*of.iter().min().unwrap()),
                        Aggregate::Sum => Answer::Integer(of.iter().sum()),
                        Aggregate::Any => Answer::Truth(of.iter().any(|value| *value != 0)),
                    };
                    Group { key: own, answer }
                });
                assert_eq!(groups(&query, &entries), Ok(expected.collect()), "{query:?}");
            }
        }
    }
}

#[test]
fn queries_of_floats_and_complex_numbers() {
    let ask = |word: &str, values: Storage| {
        let entries = Entries::new(vec![4], (0..values.len() as u64).collect(), values).unwrap();
        let found = groups(&read_query(&format!("{word} (i) -> ()"), 1).unwrap(), &entries);
        found.map(|found| found[0].answer)
    };
    let floats = || Storage::from(vec![1.5, -2.0, 0.25]);
    assert_eq!(ask("sum", floats()), Ok(Answer::Float(-0.25)));
    assert_eq!(ask("max", floats()), Ok(Answer::Float(1.5)));
    assert_eq!(ask("min", floats()), Ok(Answer::Float(-2.0)));
    let none = ask("max", Storage::from(vec![1.0, f64::NAN, 2.0]));
    assert!(matches!(none, Ok(Answer::Float(value)) if value.is_nan()));
    let complex = floats().cast(Element::C128).unwrap();
    assert_eq!(ask("max", complex.clone()), Err(NoOrder));
    assert!(matches!(ask("sum", complex), Ok(Answer::Complex(sum)) if sum.re == -0.25));
    assert_eq!(ask("any", Storage::from(vec![0.0, 0.0])), Ok(Answer::Truth(false)));
}

#[test]
fn queries_that_are_none() {
    let texts = [
        "",
        "mean (i, j) -> (i)",
        "count",
        "count (i) -> (i)",
        "count (i, i) -> (i)",
        "count (i, j)",
        "count (i, j) -> (k)",
        "count (i, j) -> (i / 0)",
        "count (i, j) -> (i * j)",
        "count (i, j) -> (i,)",
        "count (i, j) -> (i) trim(0, 1)",
        "count (i, j) -> (i",
        "count (i, j) -> ((i)",
        "count (i, j) -> i",
    ];
    let told = texts.map(|text| match read_query(text, 2) {
        Ok(query) => format!("{text}: {query:?}\n"),
        Err(error) => format!("{text}: {} [{:?}]\n", error.message, error.span),
    });
    expect![[r#"
        : what is asked is missing here [0..0]
        mean (i, j) -> (i): `mean` cannot be asked [0..4]
        count: a list of dimensions, as `(i, j)`, is missing here [5..5]
        count (i) -> (i): the query has 1 dimension, the tensor has rank 2 [6..9]
        count (i, i) -> (i): `i` cannot be another name here [0..19]
        count (i, j): `->` is missing here [12..12]
        count (i, j) -> (k): there is no dimension `k` [17..18]
        count (i, j) -> (i / 0): `/` needs a number on its right side [19..20]
        count (i, j) -> (i * j): `*` needs a number on its right side [19..20]
        count (i, j) -> (i,): an expression of the dimensions is missing here [19..20]
        count (i, j) -> (i) trim(0, 1): the query ends before this [20..24]
        count (i, j) -> (i: `)` is missing here [18..18]
        count (i, j) -> ((i): `)` is missing here [20..20]
        count (i, j) -> i: a list of expressions, as `(i / 50, j - i)`, is missing here [16..17]
    "#]]
    .assert_eq(&told.concat());
}
