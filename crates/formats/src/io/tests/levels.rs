//! Containers of tensors in any format.

use crate::format::{Definitions, default_names, library, parse, read_hybrid};
use crate::io::{FileKind, ReadOptions, read_bytes, write, write_parts};
use crate::storage::{Build, Entries, Tensor};
use dastac_elements::Storage;

fn matrix() -> Entries {
    let coordinates = vec![0, 1, 0, 4, 2, 2, 3, 0, 3, 1, 3, 3, 6, 4];
    let values: Vec<f32> = (1..=7).map(|value| value as f32).collect();
    Entries::new(vec![7, 5], coordinates, Storage::from(values)).unwrap()
}

fn read(bytes: &[u8]) -> crate::io::Contents {
    read_bytes(bytes, FileKind::Levels, &ReadOptions::default()).unwrap()
}

#[test]
fn every_format_comes_back() {
    for found in library().iter().filter(|found| found.rank().is_none_or(|rank| rank == 2)) {
        let numbers = ["2", "3"][..found.parameters.len()].join(", ");
        let text = match numbers.as_str() {
            "" => found.name.clone(),
            numbers => format!("{}({numbers})", found.name),
        };
        let format = parse(&text, &default_names(2)).unwrap();
        let tensor = Tensor::from_entries(&matrix(), &format, Build::default()).unwrap();
        let (mut bytes, options) = (Vec::new(), ReadOptions::default());
        write(&tensor, FileKind::Levels, false, &options, Build::default(), &mut bytes).unwrap();
        let contents = read(&bytes);
        assert_eq!(contents.natural_format(), format);
        assert_eq!(contents.tensor(&format, Build::default()).unwrap(), tensor, "{text}");
    }
}

#[test]
fn parts_come_back_as_one_tensor() {
    let hybrid = read_hybrid("hyb", &default_names(2), &Definitions::default()).unwrap();
    let csr = parse("csr", &default_names(2)).unwrap();
    let whole = Tensor::from_entries(&matrix(), &csr, Build::default()).unwrap();
    let parts = whole.decompose(&hybrid, Build::default()).unwrap();
    let mut bytes = Vec::new();
    write_parts(&hybrid, &parts, &mut bytes).unwrap();
    let contents = read(&bytes);
    assert!(contents.about.contains(&hybrid.to_string()), "{}", contents.about);
    assert_eq!(contents.tensor(&csr, Build::default()).unwrap(), whole);
}
