//! Files: what is read, what is refused and with which words, round trips, and damage.

mod blocks;
mod complex;
mod levels;
mod lists;
mod matrix_market;
mod numpy;
mod trips;

use expect_test::{Expect, expect};

use super::*;
use dastac_elements::{Element, Storage};

fn parse(kind: FileKind, text: &[u8]) -> Result<Contents, ReadError> {
    read_bytes(text, kind, &ReadOptions::default())
}

/// Shape, then one entry a line.
fn show(contents: &Contents) -> String {
    let tensor = contents.tensor(&contents.natural_format(), Build::default()).unwrap();
    let mut text = format!("{}: {}\n", contents.about, crate::storage::product(tensor.shape()));
    tensor.for_each(|element, position| {
        let value = tensor.values().get(position).unwrap();
        text += &format!("{} {value}\n", crate::storage::tuple(element));
    });
    text
}

fn holds(kind: FileKind, text: &str, expected: &Expect) {
    expected.assert_eq(&show(&parse(kind, text.as_bytes()).unwrap()));
}

fn fails(kind: FileKind, text: &str, expected: &Expect) {
    let error = parse(kind, text.as_bytes()).unwrap_err();
    let hint = error.hint.as_ref().map(|hint| format!("\n{hint}")).unwrap_or_default();
    expected.assert_eq(&format!("{error}{hint}"));
}

#[test]
fn kinds_by_name() {
    let kind = |name: &str| FileKind::of(Path::new(name)).map(FileKind::name).unwrap_or("unknown");
    assert_eq!(kind("a/b.mtx"), "MatrixMarket");
    assert_eq!(kind("b.MTX.GZ"), "MatrixMarket");
    assert_eq!(kind("b.tns.gz"), "FROSTT");
    assert_eq!(kind("b.smtx"), "DLMC");
    assert_eq!(kind("b.txt"), "unknown");
    assert_eq!(kind("mtx"), "unknown");
    assert_eq!(kind(".."), "unknown");
}

#[test]
fn large_integers_of_tensors_stay_exact() {
    let holds = |text: &str, expected: Expect| holds(FileKind::Frostt, text, &expected);
    holds(
        "1 9007199254740993\n2   -9223372036854775808 \n3 7\n",
        expect![[r#"
        FROSTT, integer: 3
        (0) 9007199254740993
        (1) -9223372036854775808
        (2) 7
    "#]],
    );
    holds(
        "1 9007199254740993\n2 0.5\n",
        expect![[r#"
        FROSTT: 2
        (0) 9007199254740992
        (1) 0.5
    "#]],
    );
    holds(
        "1 9007199254740991\n2 1e3\n",
        expect![[r#"
        FROSTT: 2
        (0) 9007199254740991
        (1) 1000
    "#]],
    );
}

#[test]
fn what_cannot_be_written() {
    let entries = Entries::new(vec![2, 2, 2], vec![0, 1, 1], Storage::from(vec![1.5])).unwrap();
    let cube = Tensor::from_entries(&entries, &Format::csf(3), Build::default()).unwrap();
    let entries = Entries::new(vec![2, 2], vec![0, 1], Storage::from(vec![1.5])).unwrap();
    let matrix = Tensor::from_entries(&entries, &Format::csr(), Build::default()).unwrap();
    let scalar = Tensor::from_dense(vec![], Storage::from(vec![1.5])).unwrap();
    let message = |tensor: &Tensor, kind| check_write(tensor, kind).unwrap_err().to_string();
    expect!["a MatrixMarket file holds a matrix, not a tensor of rank 3"]
        .assert_eq(&message(&cube, FileKind::MatrixMarket));
    expect!["a DLMC file holds a pattern, and would lose the values"]
        .assert_eq(&message(&matrix, FileKind::Smtx));
    expect!["a FROSTT file holds no scalar"].assert_eq(&message(&scalar, FileKind::Frostt));
    assert!(check_write(&cube, FileKind::Npy).is_ok());
}

/// Public files in the folder that `DASTAC_TEST_DATA` names: shape and entries must be those of their list.
#[test]
fn real_files() {
    let Some(folder) = std::env::var_os("DASTAC_TEST_DATA").map(std::path::PathBuf::from) else {
        eprintln!("skipped: DASTAC_TEST_DATA names no folder");
        return;
    };
    let list = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut rows = list.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let headings = rows.next().unwrap();
    let column = |name: &str| headings.iter().position(|heading| *heading == name).unwrap();
    let (file, dims, nnz) = (column("file"), column("dims"), column("nnz"));
    for row in rows {
        let path = folder.join(row[file]);
        if FileKind::of(&path).is_none() || !path.exists() {
            continue;
        }
        // Scans count from 0, have no values, and say their shape in a comment of their own.
        let scan = row[file].starts_with("pointcloud/");
        let options = ReadOptions { zero_based: scan, pattern: scan, ..ReadOptions::default() };
        let contents = read(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        let rank = contents.shape().len();
        let tensor = contents.tensor(&Format::coo(rank), Build::default()).unwrap();
        assert_eq!(tensor.entry_count().to_string(), row[nnz], "{}", row[file]);
        let listed: Vec<u64> = row[dims].split('x').map(|extent| extent.parse().unwrap()).collect();
        let inside = contents.shape().iter().zip(&listed).all(|(found, listed)| found <= listed);
        assert!(inside && rank == listed.len(), "{}: {:?}", row[file], contents.shape());
    }
}
