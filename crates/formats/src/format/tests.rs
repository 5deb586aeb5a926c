//! Formats: names, codes, spelling, and what is wrong with texts that are none.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

mod definitions;

fn parse(text: &str, names: &str) -> Result<Format, FormatError> {
    super::parse(text, &names.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn many_ways_to_write_one_format() {
    let csr = Format::csr();
    for text in [
        "csr",
        "CSR",
        "DC",
        "dc",
        "dc(i, j)",
        "dense(i), compressed(j)",
        " dense( i ),compressed(j)",
        "dense, compressed",
    ] {
        assert_eq!(parse(text, "i j").unwrap(), csr, "{text}");
    }
    let csc = Format::csc();
    for text in ["csc", "DC(j, i)", "dense(j), compressed(i)"] {
        assert_eq!(parse(text, "i j").unwrap(), csc, "{text}");
    }
    assert_eq!(parse("csc", "i j k").unwrap(), parse("CSC", "i j k").unwrap());
    let coo = Format::coo(3);
    let spelled = "compressed(i, nonunique), singleton(j, nonunique), singleton(k)";
    for text in ["coo", "CSS", spelled] {
        assert_eq!(parse(text, "i j k").unwrap(), coo, "{text}");
    }
    assert_eq!(coo.spelled(&default_names(3)), spelled);
    let paper = "dense(n), dense(h), compressed(w), dense(c)";
    assert_eq!(parse(paper, "n h w c").unwrap(), parse("ddcd", "n h w c").unwrap());
    assert_eq!(parse("dense", "i j k").unwrap(), Format::dense(3));
    assert_eq!(parse("dense(j, i)", "i j").unwrap().order().unwrap(), [1, 0]);
    assert_eq!(parse("dense(i)", "i").unwrap(), Format::dense(1));
    assert_eq!(parse("compressed", "i").unwrap(), parse("compressed(i)", "i").unwrap());
    assert_eq!(
        parse("compressed, compressed, dense", "i j k").unwrap(),
        parse("CCD", "i j k").unwrap()
    );
    assert_eq!(parse("csf(k, j, i)", "i j k").unwrap().order().unwrap(), [2, 1, 0]);
}

#[test]
fn shortest_names() {
    let shown = |text: &str, names: &str| parse(text, names).unwrap().to_string();
    assert_eq!(shown("DC", "i j"), "csr");
    assert_eq!(shown("DC(j, i)", "i j"), "csc");
    assert_eq!(shown("CC", "a b"), "dcsr");
    assert_eq!(shown("CC(b, a)", "a b"), "dcsc");
    assert_eq!(shown("CS", "i j"), "coo");
    assert_eq!(shown("CCC", "i j k"), "csf");
    assert_eq!(shown("DCS", "i j k"), "DCS");
    assert_eq!(shown("DCD(k, i, j)", "i j k"), "DCD(k, i, j)");
}

#[test]
fn properties_of_levels() {
    let names = |c: Properties| {
        [
            (c.full, "full"),
            (c.ordered, "ordered"),
            (c.unique, "unique"),
            (c.branchless, "branchless"),
            (c.compact, "compact"),
        ]
        .iter()
        .filter(|(has, _)| *has)
        .map(|(_, name)| *name)
        .collect::<Vec<_>>()
        .join(" ")
    };
    assert_eq!(names(Level::DENSE.properties()), "full ordered unique compact");
    assert_eq!(names(Level::COMPRESSED.properties()), "ordered unique compact");
    assert_eq!(names(Level::COMPRESSED_NONUNIQUE.properties()), "ordered compact");
    assert_eq!(names(Level::SINGLETON.properties()), "ordered unique branchless compact");
    assert_eq!(names(Properties::NONE), "");
}

fn wrong(text: &str, names: &str, expected: &Expect) {
    let error = parse(text, names).unwrap_err();
    let marks = " ".repeat(error.span.start) + &"^".repeat(error.span.len().max(1));
    let hint = error.hint.map(|hint| format!("help: {hint}\n")).unwrap_or_default();
    expected.assert_eq(&format!("{text}\n{marks}\n{}\n{hint}", error.message));
}

#[test]
fn messages() {
    wrong(
        "",
        "i j",
        &expect![[r#"

            ^
            a format or a level is missing here
            help: formats have names (csr, csc, dcsr, dcsc, dia, dia_v, dense, csf, coo, bcoo(r, c), bcsr(r, c), bsr(r, c), bcsc(r, c), bdcsr(r, c), bdia(b), c2sr(p), csb(r, c), csb_csr(r, c), csb_dcsr(r, c), hicoo(b), ell, bell(r, c), sell(c, sigma), jds, cisr(p), cisr_plus(p)), codes of one letter a level (`DCC`: dense, compressed, singleton), or are spelled `dense(i), compressed(j)`
        "#]],
    );
    wrong(
        "csx",
        "i j",
        &expect![[r#"
            csx
            ^^^
            there is no format `csx`
            help: did you mean `csr`?
        "#]],
    );
    wrong(
        "sparse",
        "i j",
        &expect![[r#"
            sparse
            ^^^^^^
            there is no format `sparse`
            help: usual are `csr` (row by row), `csc` (column by column) and `coo` (a list of entries)
        "#]],
    );
    wrong(
        "csr",
        "i j k",
        &expect![[r#"
            csr
            ^^^
            `csr` stores tensors of rank 2, this one has rank 3
            help: `csf`, `coo`, `hicoo(4)` and codes such as `DCC` are for any rank
        "#]],
    );
    wrong(
        "ddc",
        "i j",
        &expect![[r#"
            ddc
            ^^^
            `ddc` has 3 levels, but the tensor has rank 2
            help: one letter for each dimension: D, C and S for dense, compressed and singleton
        "#]],
    );
    wrong(
        "csr(j, i)",
        "i j",
        &expect![[r#"
            csr(j, i)
            ^^^^^^^^^
            `csr` has an order of its own
            help: `csc` is `csr` with columns first; codes take any order: `DC(j, i)`
        "#]],
    );
    wrong(
        "dense(i), compressed(x)",
        "i j",
        &expect![[r#"
        dense(i), compressed(x)
                             ^
        there is no dimension `x`
        help: the tensor's dimensions: i, j
    "#]],
    );
    wrong(
        "dense(i), compressed(i)",
        "i j",
        &expect![[r#"
            dense(i), compressed(i)
                                 ^
            `i` is stored twice
            help: there is one level for each of i, j
        "#]],
    );
    wrong(
        "dense(i)",
        "i j",
        &expect![[r#"
            dense(i)
            ^^^^^^^^
            no level stores `j`
            help: the coordinates of the levels must tell all of i, j apart
        "#]],
    );
    wrong(
        "dense(i), banded(j)",
        "i j",
        &expect![[r#"
            dense(i), banded(j)
                      ^^^^^^
            there is no level `banded`
            help: did you mean `padded`?
        "#]],
    );
    wrong(
        "dense(i), compressed",
        "i j",
        &expect![[r#"
        dense(i), compressed
                  ^^^^^^^^^^
        this level does not say which dimension it stores
        help: such as `compressed(i)`
    "#]],
    );
    wrong(
        "dense(i) compressed(j)",
        "i j",
        &expect![[r#"
        dense(i) compressed(j)
                 ^^^^^^^^^^
        levels are separated by commas
    "#]],
    );
    wrong(
        "dense(i), compressed(j",
        "i j",
        &expect![[r#"
        dense(i), compressed(j
                              ^
        this parenthesis is not closed
    "#]],
    );
    wrong(
        "dense(i), compressed(j, sorted)",
        "i j",
        &expect![[r#"
            dense(i), compressed(j, sorted)
                                    ^^^^^^
            `sorted` has no meaning here
            help: a level stores one dimension, and may be `nonunique` or `unordered`, and `u8` or `u16`
        "#]],
    );
    wrong(
        "dense(i, nonunique), singleton(j)",
        "i j",
        &expect![[r#"
            dense(i, nonunique), singleton(j)
            ^^^^^^^^^^^^^^^^^^^
            a dense level is always ordered and unique
            help: leave the word out
        "#]],
    );
    wrong(
        "compressed(i), singleton(j)",
        "i j",
        &expect![[r#"
            compressed(i), singleton(j)
                           ^^^^^^^^^^^^
            a singleton behind a level that is unique
            help: a singleton holds one coordinate for each entry: `compressed(i, nonunique), singleton(j)`
        "#]],
    );
    wrong(
        "compressed(i, nonunique), compressed(j)",
        "i j",
        &expect![[r#"
            compressed(i, nonunique), compressed(j)
            ^^^^^^^^^^^^^^^^^^^^^^^^
            a level that is not unique, with no singleton behind it
            help: leave `nonunique` out, or store the next dimension as a singleton
        "#]],
    );
    wrong(
        "dc + i",
        "i j",
        &expect![[r#"
            dc + i
               ^
            levels are separated by commas
        "#]],
    );
    wrong(
        "dc(",
        "i j",
        &expect![[r#"
        dc(
           ^
        a dimension is missing here
        help: such as `dc(i, j)`
    "#]],
    );
}

/// How a random map stores a dimension.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Plain,
    /// As quotients and remainders by a number.
    Blocks(i64),
    /// As the difference to the first dimension that is stored; its own coordinate may follow in an offset level.
    Skewed(bool),
}

/// Any index map of a rank.
fn any_map(rank: usize) -> impl Strategy<Value = (IndexMap, usize)> {
    let stored = prop_oneof![
        6 => Just(Stored::Plain),
        1 => (2i64..4).prop_map(Stored::Blocks),
        1 => any::<bool>().prop_map(Stored::Skewed),
    ];
    let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
    (proptest::collection::vec(stored, rank), order).prop_map(move |(stored, order)| {
        let (mut outer, mut inner, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for (at, dimension) in order.iter().enumerate() {
            let own = LevelExpr::dimension(*dimension);
            match stored[at] {
                Stored::Blocks(by) => {
                    outer.push(own.quotient(by).unwrap());
                    inner.push(own.remainder(by).unwrap());
                }
                Stored::Skewed(offset) if at > 0 => {
                    let first = LevelExpr::dimension(order[0]).times(-1).unwrap();
                    outer.push(own.plus(&first).unwrap());
                    last.extend(offset.then_some(own));
                }
                _ => outer.push(own),
            }
        }
        let derived = last.len();
        (IndexMap::new(rank, [outer, inner, last].concat()).unwrap(), derived)
    })
}

/// Any valid format of a rank.
pub fn any_format(rank: usize) -> impl Strategy<Value = Format> {
    let choices = proptest::collection::vec((0..4usize, any::<bool>(), 0..8u8), 3 * rank);
    (choices, any_map(rank)).prop_map(move |(choices, (map, derived))| {
        let mut levels: Vec<Level> = Vec::new();
        let count = map.levels().len() - derived;
        for (at, (kind, nonunique, unordered)) in choices.iter().take(count).enumerate() {
            let chained = levels.last().is_some_and(|last| !last.unique);
            let kind = match kind {
                _ if chained => Kind::SINGLETON,
                0 => Kind::DENSE,
                1 => Kind::BITMAP,
                _ => Kind::COMPRESSED,
            };
            let fixed = !kind.is_flexible();
            let unique = fixed || !nonunique || at + 1 == map.levels().len();
            let unique = unique || at + 1 == count;
            let level = Level { ordered: fixed || *unordered > 0, unique, ..Level::of(kind) };
            let width = level.has_coordinates().then(|| Width::ALL.get(usize::from(*unordered)));
            levels.push(Level { width: width.flatten().copied(), ..level });
        }
        levels.extend(std::iter::repeat_n(Level::OFFSET, derived));
        Format::with_map(levels, map).unwrap()
    })
}

proptest! {
    #[test]
    fn print_and_parse(format in (1usize..6).prop_flat_map(any_format)) {
        let names = default_names(format.rank());
        prop_assert_eq!(&super::parse(&format.to_string(), &names).unwrap(), &format);
        prop_assert_eq!(&super::parse(&format.spelled(&names), &names).unwrap(), &format);
    }

    #[test]
    fn any_text_is_a_format_or_an_error(text in "[a-z(), ]{0,24}|\\PC{0,12}") {
        if let Err(error) = parse(&text, "i j") {
            prop_assert!(text.get(error.span).is_some());
        }
    }
}
