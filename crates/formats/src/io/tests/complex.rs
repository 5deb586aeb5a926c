//! Complex numbers in all kinds of files.

use expect_test::expect;

use super::numpy::npy_of;
use super::*;

/// Complex numbers are two words, or one; the other triangle of a Hermitian matrix is conjugate.
#[test]
fn complex_files() {
    let entries = |kind, text: &[u8]| match parse(kind, text).unwrap().data {
        Data::Entries(entries) => {
            let places = entries.coordinates().chunks(2).map(|at| format!("{at:?}"));
            let values = entries.values().view().iter().map(|value| value.to_string());
            places.zip(values).map(|(at, value)| format!("{at} {value}\n")).collect::<String>()
        }
        Data::Stored(tensor) => unreachable!("{:?}", tensor.shape()),
    };
    let hermitian =
        b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 -1.5 3e2\n";
    expect![[r#"
        [0, 0] 2+0i
        [1, 0] -1.5+300i
        [0, 1] -1.5-300i
    "#]]
    .assert_eq(&entries(FileKind::MatrixMarket, hermitian));
    let array = b"%%MatrixMarket matrix array complex symmetric\n2 2\n1 1\n2 -1\n0 0\n";
    expect![[r#"
        [0, 0] 1+1i
        [1, 0] 2-1i
        [0, 1] 2-1i
    "#]]
    .assert_eq(&entries(FileKind::MatrixMarket, array));
    let tns = b"# shape 3 3\n1 1 1.5-2i\n2 3 -1e-3+2.5E+1i\n3 3 4\n1 2 inf-nani\n";
    expect![[r#"
        [0, 0] 1.5-2i
        [1, 2] -0.001+25i
        [2, 2] 4+0i
        [0, 1] inf+NaNi
    "#]]
    .assert_eq(&entries(FileKind::Frostt, tns));
    let numbers = [1.5f32, -2.0, 0.0, f32::MIN_POSITIVE];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let contents = parse(FileKind::Npy, &npy_of(">c8", &[2], &bytes)).unwrap();
    let tensor = contents.tensor(&Format::dense(1), Build::default()).unwrap();
    let wanted = numbers.map(f64::from);
    assert_eq!(
        (tensor.values().to_f64(), tensor.values().element()),
        (wanted.to_vec(), Element::C64)
    );
}
