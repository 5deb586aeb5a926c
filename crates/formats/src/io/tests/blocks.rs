//! Text in blocks, by several threads.

use expect_test::expect;
use proptest::prelude::*;

use super::*;

/// Many blocks, so that lines are counted across them.
#[test]
fn the_line_of_a_fault_in_a_later_block() {
    let count = 200_000;
    let mut text =
        format!("%%MatrixMarket matrix coordinate real general\n% one\n100 100 {count}\n");
    for at in 0..count {
        text += &format!("{} {} 1.25\n", at % 100 + 1, at / 2000 + 1);
    }
    let contents = parse(FileKind::MatrixMarket, text.as_bytes()).unwrap();
    let tensor = contents.tensor(&Format::csr(), Build::default()).unwrap();
    assert_eq!(tensor.entry_count(), 10_000);
    assert_eq!(*tensor.values(), Storage::from(vec![25.0; 10_000]));
    let mut lines: Vec<&str> = text.lines().collect();
    lines[150_000] = "1 101 1";
    let error = parse(FileKind::MatrixMarket, lines.join("\n").as_bytes()).unwrap_err();
    expect!["<bytes>:150001: column 101 is not among 1 to 100"].assert_eq(&error.to_string());

    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(parse(FileKind::MatrixMarket, &packed).unwrap(), contents);
    let error = parse(FileKind::MatrixMarket, &packed[..packed.len() / 2]).unwrap_err();
    assert!(error.line.is_some_and(|line| line > 1000), "{error}");
}

/// A file, its bytes and a compressed copy, which are read in blocks in three ways.
fn everywhere(name: &str, text: &[u8]) -> [Result<Contents, ReadError>; 3] {
    let options = ReadOptions::default();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).unwrap();
    let kind = FileKind::of(&path).unwrap();
    let unnamed = |result: Result<Contents, ReadError>| {
        result.map_err(|error| ReadError { name: String::new(), ..error })
    };
    [
        read(&path, &options),
        read_bytes(text, kind, &options),
        read_bytes(&packed.finish().unwrap(), kind, &options),
    ]
    .map(unnamed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Lines of all lengths, comments and empty lines at the borders of blocks, an error somewhere.
    #[test]
    fn a_file_in_blocks_is_the_same_everywhere(
        seed in 0..1000u64,
        blanks in 0..12usize,
        wrong in proptest::option::of(0..60_000u64),
        last in any::<bool>(),
    ) {
        let mut text = String::from("# shape 100000 100000\n");
        for line in 0..60_000u64 {
            let number = (line * 7919 + seed) % 100_000;
            let blank = " ".repeat(1 + usize::try_from(number).unwrap() % (blanks + 1));
            match number % 97 {
                _ if wrong == Some(line) => text += "7 x\n",
                0 => text += "# a comment\n",
                1 => text += "\n",
                2 => text += &format!("\t{}{blank}{} 1.5e3 \r\n", number + 1, line + 1),
                _ => text += &format!("{}{blank}{} {}\n", number + 1, line + 1, number as f64 / 64.0),
            }
        }
        if !last {
            text.pop();
        }
        let [file, bytes, packed] = everywhere("a.tns", text.as_bytes());
        prop_assert_eq!(&file, &bytes);
        prop_assert_eq!(&packed, &bytes);
        match (wrong, bytes) {
            (Some(line), Err(error)) => prop_assert_eq!(error.line, Some(line + 2)),
            (None, Ok(contents)) => {
                let Data::Entries(entries) = contents.data else { panic!("no entries") };
                let expected = (0..60_000u64).filter(|l| (l * 7919 + seed) % 100_000 % 97 > 1);
                prop_assert_eq!(entries.len(), expected.clone().count());
                let columns: Vec<u64> = (0..entries.len()).map(|at| entries.at(at)[1]).collect();
                prop_assert_eq!(columns, expected.collect::<Vec<_>>());
            }
            (_, other) => prop_assert!(false, "{other:?}"),
        }
    }
}

/// Lines that are longer than blocks, and a text without any line end.
#[test]
fn lines_longer_than_blocks() {
    let long = " ".repeat(700_000);
    let text = format!("# shape 9 9\n1{long}2 3\n4 5{long}6\n#{long}{long}\n7 8 9");
    for contents in everywhere("a.tns", text.as_bytes()) {
        let Data::Entries(entries) = contents.unwrap().data else { panic!("no entries") };
        assert_eq!(entries.coordinates(), [0, 1, 3, 4, 6, 7]);
    }
    let text = format!("2, 9, 4\n0 2 4 {long} 1 2 {long}3 8");
    for contents in everywhere("a.smtx", text.as_bytes()) {
        let Data::Entries(entries) = contents.unwrap().data else { panic!("no entries") };
        assert_eq!(entries.coordinates(), [0, 1, 0, 2, 1, 3, 1, 8]);
    }
    let one_line = "1".repeat(3_000_000);
    let text = format!("%%MatrixMarket matrix coordinate real general\n9 9 1\n{one_line}");
    for error in everywhere("a.mtx", text.as_bytes()) {
        assert_eq!(error.unwrap_err().line, Some(3));
    }
}
