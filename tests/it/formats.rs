//! Formats have one notation and two readers, of programs and of options: what a program says is what is stored.

use dastac::stur::format::{NAMES, levels_of_code};
use dastac::stur::load;
use dastac_formats::format::{default_names, parse};

/// A format as the language reads it, spelled level by level; nothing for an error.
fn in_program(text: &str, names: &[String]) -> Option<String> {
    let head = names.join(", ");
    let bounds: Vec<String> = names.iter().map(|name| format!("(0 <= {name} < 4)")).collect();
    let source = format!("y() := B({head})\nB:D({head}) := {}\nB:F := {text}", bounds.join(" * "));
    let (program, _) = load(&source).ok()?;
    let storage = program.tensor(program.find("B")?).format.as_ref()?;
    Some(storage.format.spelled(names))
}

#[test]
fn both_readers_agree() {
    let mut words: Vec<String> = NAMES.iter().map(|name| name.name.into()).collect();
    for length in 1..5u32 {
        for code in 0..3u32.pow(length) {
            let letter = |at: u32| ['D', 'C', 's'][(code / 3u32.pow(at) % 3) as usize];
            words.push((0..length).map(letter).collect());
        }
    }
    assert!(words.iter().skip(NAMES.len()).all(|code| levels_of_code(code).is_some()));
    words.extend(
        ["elliptic", "csr(j, i)", "coo(j, i)", "DC(j, i)", "DC(i, j)", "dcc(k, i, j)"]
            .map(String::from),
    );
    words.extend(
        [
            "dense(i), compressed(j)",
            "compressed(j), dense(i)",
            "compressed(i, nonunique), singleton(j)",
            "compressed(i), singleton(j)",
            "compressed(i, nonunique), singleton(j, unordered, nonunique)",
            "compressed(i, unordered)",
            "dense(i, unordered)",
            "dense(i)",
            "dense(i), dense(i)",
            "dense(i), compressed",
            "dense, compressed",
        ]
        .map(String::from),
    );
    for rank in 1..5 {
        let names = default_names(rank);
        for word in &words {
            let stored = parse(word, &names).ok().map(|format| format.spelled(&names));
            assert_eq!(in_program(word, &names), stored, "`{word}` of rank {rank}");
        }
    }
}
