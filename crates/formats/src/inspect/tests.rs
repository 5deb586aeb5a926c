//! Facts and pictures of small matrices.

use expect_test::expect;

use super::*;

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
    assert_eq!(empty.picture(64).grey, []);
}
