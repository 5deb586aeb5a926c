//! What is written is read again; damaged files do no harm.

use proptest::prelude::*;

use super::*;
use crate::format::tests::any_format;
use crate::storage::Duplicates;
use crate::storage::tests::{any_entries, sums};

fn written(tensor: &Tensor, kind: FileKind, gzip: bool, options: &ReadOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(tensor, kind, gzip, options, Build::default(), &mut bytes).unwrap();
    bytes
}

/// A tensor and a kind of files that can hold it.
fn any_file() -> impl Strategy<Value = (Tensor, FileKind, bool, bool)> {
    let entries = any_entries(0..4);
    let with_format = entries.prop_flat_map(|entries| {
        let rank = entries.shape().len();
        (Just(entries), any_format(rank), 0..5usize, any::<bool>(), any::<bool>())
    });
    with_format.prop_map(|(entries, format, kind, gzip, zero_based)| {
        let kind = match (FileKind::ALL[kind].1, entries.shape().len()) {
            (_, 0) => FileKind::Npy,
            (FileKind::Frostt | FileKind::Npy, _) | (_, 2) => FileKind::ALL[kind].1,
            _ => FileKind::Frostt,
        };
        let entries = match kind {
            FileKind::Smtx => entries.cast(Element::Bool).unwrap(),
            _ => entries,
        };
        let build = Build { duplicates: Duplicates::Last, ..Build::default() };
        (Tensor::from_entries(&entries, &format, build).unwrap(), kind, gzip, zero_based)
    })
}

fn without_zeros(tensor: &Tensor) -> std::collections::BTreeMap<Vec<u64>, f64> {
    let mut all = sums(&tensor.to_entries().unwrap());
    all.retain(|_, value| *value != 0.0);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_written_is_read((tensor, kind, gzip, zero_based) in any_file()) {
        let options = ReadOptions { zero_based, ..ReadOptions::default() };
        let tensor = match kind {
            // Entries that are false cannot be said there.
            FileKind::Smtx => {
                let dense = tensor.convert(&Format::dense(2), Build::default()).unwrap();
                dense.convert(&Format::csr(), Build::default()).unwrap()
            }
            _ => tensor,
        };
        let bytes = written(&tensor, kind, gzip, &options);
        let read = read_bytes(&bytes, kind, &options).unwrap();
        prop_assert_eq!(read.shape(), tensor.shape());
        let read = read.tensor(tensor.format(), Build::default()).unwrap();
        let exact = matches!(kind, FileKind::Npz | FileKind::Frostt)
            || kind == FileKind::MatrixMarket && tensor.values().element() != Element::Bool;
        if exact {
            prop_assert_eq!(sums(&read.to_entries().unwrap()), sums(&tensor.to_entries().unwrap()));
        } else {
            prop_assert_eq!(without_zeros(&read), without_zeros(&tensor));
        }
    }

    #[test]
    fn floats_survive(values in proptest::collection::vec(any::<f64>(), 1..20), text in 0..2usize) {
        let kind = [FileKind::MatrixMarket, FileKind::Frostt][text];
        let count = values.len() as u64;
        let coordinates = (0..count).flat_map(|at| [at, 0]).collect();
        let entries = Entries::new(vec![count, 1], coordinates, Storage::from(values.clone())).unwrap();
        let tensor = Tensor::from_entries(&entries, &Format::coo(2), Build::default()).unwrap();
        let read = parse(kind, &written(&tensor, kind, false, &ReadOptions::default())).unwrap();
        let Data::Entries(read) = read.data else { panic!() };
        let read = read.values().as_slice::<f64>().unwrap();
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(read), bits(&values));
    }

    #[test]
    fn damaged_files(
        (tensor, kind, gzip, zero_based) in any_file(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), 0..4u8, any::<u8>()), 1..4),
    ) {
        let options = ReadOptions { zero_based, ..ReadOptions::default() };
        let mut bytes = written(&tensor, kind, gzip, &options);
        for (place, what, byte) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes[at] = b"0123456789 -.\n%#"[usize::from(byte) % 16],
                2 => bytes.truncate(at),
                _ => bytes.insert(at, byte),
            }
        }
        if let Ok(contents) = read_bytes(&bytes, kind, &options) {
            let build = Build { memory: 1 << 24, ..Build::default() };
            if let Ok(tensor) = contents.tensor(&contents.natural_format(), build) {
                tensor.check().unwrap();
            }
        }
    }

    #[test]
    fn any_text(text in "(%%MatrixMarket matrix (array|coordinate) real (general|symmetric)\n)?([0-9]{1,3}[ \n\
        ,]){0,12}|\\PC{0,40}") {
        for (_, kind) in FileKind::ALL {
            let _ = parse(kind, text.as_bytes());
        }
    }
}
