//! Every diagnostic of the front end, as plain text: code, message, labels with the text that they point at, hint.

use dastac_stur::{Diagnostic, Severity, load, parse};
use expect_test::{Expect, expect};

/// `E0103 message` / `  @ 12..15 "text": label` / `  = hint`
fn plain(source: &str, diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        text += &format!("{} {}\n", diagnostic.code, diagnostic.message);
        for (span, label) in &diagnostic.labels {
            let pointed = source[span.start..span.end].replace('\n', "⏎");
            text += &format!("  @ {}..{} \"{pointed}\": {label}\n", span.start, span.end);
        }
        if let Some(hint) = &diagnostic.hint {
            text += &format!("  = {hint}\n");
        }
        let starts = if diagnostic.severity == Severity::Error { "E" } else { "W" };
        assert!(diagnostic.code.starts_with(starts), "{diagnostic:?}");
        assert!(!diagnostic.message.ends_with('.'), "{diagnostic:?}");
    }
    text
}

/// Errors, and the warnings among them.
fn errors(source: &str, expected: Expect) {
    let diagnostics = load(source).expect_err("has no error");
    expected.assert_eq(&plain(source, &diagnostics));
}

/// Warnings of a program that has a meaning.
fn warnings(source: &str, expected: Expect) {
    let (_, diagnostics) = load(source).unwrap_or_else(|d| panic!("{}", plain(source, &d)));
    expected.assert_eq(&plain(source, &diagnostics));
}

#[test]
fn characters() {
    errors(
        "A() := é(",
        expect![[r#"
        E0001 `é` is not part of the language
          @ 7..9 "é": unexpected character
          = names are made of the letters a-z and A-Z, digits, `_` and `.`
    "#]],
    );
    errors(
        "A(i) := b(i) * (0 ≤ i) && c[i]",
        expect![[r#"
            E0001 `≤` is not part of the language
              @ 18..21 "≤": unexpected character
              = write `<=`
            E0001 `&&` is not part of the language
              @ 25..27 "&&": unexpected character
              = both hold: `a * b` or `a and b`; one of them holds: `a or b`
            E0001 `[` is not part of the language
              @ 29..30 "[": unexpected character
              = subscripts and groups stand in `(` and `)`
        "#]],
    );
    errors(
        "A() := _b()\nB() := 0 \u{7}",
        expect![[r#"
        E0001 `_` is not part of the language
          @ 7..8 "_": unexpected character
          = a name begins with a letter
        E0001 `\u{7}` is not part of the language
          @ 21..22 "": unexpected character
    "#]],
    );
    errors(
        "A() := .5",
        expect![[r#"
        E0001 `.` is not part of the language
          @ 7..8 ".": unexpected character
          = a number begins with a digit: `0.5`
    "#]],
    );
}

#[test]
fn numbers() {
    errors(
        "A() := 2b() * 1. + 3e",
        expect![[r#"
        E0002 `2b` is no number
          @ 7..9 "2b": malformed
          = a product is written with `*`: `2 * b`
        E0002 `1.` is no number
          @ 14..16 "1.": malformed
          = write a digit after the point: `1.0`
        E0002 `3e` is no number
          @ 19..21 "3e": malformed
          = a product is written with `*`: `3 * e`
    "#]],
    );
    errors(
        "A() := 1e999",
        expect![[r#"
        E0007 `1e999` is too large
          @ 7..12 "1e999": beyond 64-bit floats
    "#]],
    );
    errors(
        "A() := 1e300 * 1e300 * b()\nB() := 1e-200 * 1e-200",
        expect![[r#"
        E0007 the product of the numbers is too large
          @ 7..20 "1e300 * 1e300": beyond 64-bit floats
        E0007 the product of the numbers is too small
          @ 34..49 "1e-200 * 1e-200": beyond 64-bit floats
    "#]],
    );
    errors(
        "A(i) := b(i) * (i < 9223372036854775808)",
        expect![[r#"
        E0006 the integer `9223372036854775808` is too large
          @ 20..39 "9223372036854775808": beyond 64 bits
    "#]],
    );
    errors(
        "A(i) := b(i) * (i < 1.5)",
        expect![[r#"
        E0009 subscripts and comparisons are of integers
          @ 20..23 "1.5": not an integer
    "#]],
    );
    errors(
        "A() := 0^-1 * b()",
        expect![[r#"
        E0202 the reciprocal of zero
          @ 7..11 "0^-1": not a number
    "#]],
    );
}

#[test]
fn syntax_of_lines() {
    errors(
        "A(i) = b(i)",
        expect![[r#"
            E0012 expected `:=` after the head, found `=`
              @ 5..6 "=": expected `:=`
              = a rule has `:=`, comparisons have `=`
        "#]],
    );
    errors(
        "A(i)\nA := b()\n3 := b()",
        expect![[r#"
            E0012 expected `:=` after the head, found the end of the line
              @ 4..4 "": expected `:=`
              = a rule is `head := sum of products`
            E0003 expected a rule such as `A(i) := B(i)`, found `3`
              @ 14..15 "3": expected a rule such as `A(i) := B(i)`
        "#]],
    );
    errors(
        "A(i) := b(i) c(i)",
        expect![[r#"
        E0003 expected an operator or the end of the line, found `c`
          @ 13..14 "c": expected an operator or the end of the line
          = factors are joined with `*`, summands with `+`
    "#]],
    );
    errors(
        "A(i) := b(i))\nB(i) := c(i",
        expect![[r#"
        E0003 expected an operator or the end of the line, found `)`
          @ 12..13 ")": expected an operator or the end of the line
          = there is a `)` too many
        E0004 unclosed parenthesis
          @ 23..24 "(": opened here
          @ 25..25 "": expected `)`
    "#]],
    );
    errors(
        "A(i) := \nB(i) := b(i) *\nC(i, ) := b(i)",
        expect![[r#"
        E0003 expected a tensor, a number or `(`, found the end of the line
          @ 7..7 "": expected a tensor, a number or `(`
        E0003 expected a tensor, a number or `(`, found the end of the line
          @ 23..23 "": expected a tensor, a number or `(`
        E0003 expected a tensor, a number or `(`, found `)`
          @ 29..30 ")": expected a tensor, a number or `(`
    "#]],
    );
    errors(
        "A:Q(i) := (i < 3)",
        expect![[r#"
            E0003 `Q` is not a kind of structure
              @ 2..3 "Q": unknown
              = `:D` gives the dimensions, `:U` the unique set, `:R` the redundancy map, `:F` the format of a dynamically sparse tensor; `types: A = f32` gives the type of elements
        "#]],
    );
    errors(
        "A:D(i) (i < 3)",
        expect![[r#"
        E0012 expected `:=` after the head, found `(`
          @ 7..8 "(": expected `:=`
          = a rule is `head := sum of products`
    "#]],
    );
    errors(
        "A^-1(i) := b(i)",
        expect![[r#"
        E0011 a reciprocal cannot be computed into
          @ 1..2 "^": in a head
          = put the `^-1` on the right-hand side
    "#]],
    );
    errors(
        "A(i, 0) := b(i)\nB(i + 1) := b(i)",
        expect![[r#"
            E0303 `b` has no dimensions
              @ 11..15 "b(i)": read here, but neither computed nor declared
              = did you mean `B`?
        "#]],
    );
    errors(
        "symbols: N, 3\noutputs A",
        expect![[r#"
        E0003 expected the name of a symbol, found `3`
          @ 12..13 "3": expected the name of a symbol
        E0003 expected `(`, found `A`
          @ 22..23 "A": expected `(`
          = a directive has a colon: `outputs: ..`
    "#]],
    );
    errors(
        "simbols: N\ncolour: red",
        expect![[r#"
            E0008 unknown directive `simbols:`
              @ 0..7 "simbols": not a directive
              = did you mean `symbols:`?
            E0008 unknown directive `colour:`
              @ 11..17 "colour": not a directive
              = directives are `symbols:`, `outputs:`, `iters:`, `layout:`, `schedule:` and `types:`; a rule has `:=`
        "#]],
    );
    errors(
        "@preprocess\n@preprocess_start now",
        expect![[r#"
        E0008 unknown block mark `@preprocess`
          @ 0..11 "@preprocess": not a block mark
          = blocks are `@preprocess_start` and `@preprocess_end`
        E0003 expected the end of the line, found `now`
          @ 30..33 "now": expected the end of the line
    "#]],
    );
    errors(
        "iters: A i, j",
        expect![[r#"
        E0003 expected `->`, found `i`
          @ 9..10 "i": expected `->`
    "#]],
    );
}

#[test]
fn syntax_of_terms() {
    errors(
        "A(i) := b(i) - c(i)\nB(i) := b(i) / c(i)\nC(i) := -b(i)",
        expect![[r#"
            E0303 `b` has no dimensions
              @ 8..12 "b(i)": read here, but neither computed nor declared
              = did you mean `B`?
            E0303 `c` has no dimensions
              @ 15..19 "c(i)": read here, but neither computed nor declared
              = did you mean `C`?
        "#]],
    );
    errors(
        "A(i) := N * b(i)",
        expect![[r#"
            E0303 `b` has no dimensions
              @ 12..16 "b(i)": read here, but neither computed nor declared
              = declare them, for example `b:D(i) := (0 <= i < ..)`
        "#]],
    );
    errors(
        "A(i) := b(i)^-1\nB(i) := (b(i) + c(i))^-1\nC(i) := b^2(i)\nD() := s^-1 * 2",
        expect![[r#"
            E0303 `b` has no dimensions
              @ 8..12 "b(i)": read here, but neither computed nor declared
              = did you mean `B`?
            E0303 `c` has no dimensions
              @ 32..36 "c(i)": read here, but neither computed nor declared
              = declare them, for example `c:D(i) := (0 <= i < ..)`
            E0003 expected an operator or the end of the line, found `(`
              @ 52..53 "(": expected an operator or the end of the line
              = factors are joined with `*`, summands with `+`
        "#]],
    );
    errors(
        "y := count(i, j) A(i) > B(j) * (i < j)",
        expect![[r#"
        E0303 `A` has no dimensions
          @ 17..21 "A(i)": read here, but neither computed nor declared
          = declare them, for example `A:D(i) := (0 <= i < ..)`
        E0303 `B` has no dimensions
          @ 24..28 "B(j)": read here, but neither computed nor declared
          = declare them, for example `B:D(j) := (0 <= j < ..)`
        W0105 a comparison is a factor of what is compared
          @ 31..38 "(i < j)": part of the right side
          = to restrict what is compared, put the comparison of values in parentheses: `(A(i) > B(i)) * (i < N)`
    "#]],
    );
    errors(
        "A(i) := b(i) * i < 3\nB(i) := b(i) * ((i < 3) < 4)",
        expect![[r#"
            E0303 `b` has no dimensions
              @ 8..12 "b(i)": read here, but neither computed nor declared
              = did you mean `B`?
            W0105 the whole product is compared
              @ 15..16 "i": this is the last factor of a product
              = a comparison as a factor stands in parentheses: `A(i, j) * (i < j)`, and a product that is compared too: `(A(i, j) * i) < j`
        "#]],
    );
}

#[test]
fn limits() {
    let deep = format!("A() := {}b(){}", "(".repeat(65), ")".repeat(65));
    let diagnostics = load(&deep).unwrap_err();
    expect![[r#"
        E0005 nested deeper than 64 levels
          @ 71..72 "(": one level too many
    "#]]
    .assert_eq(&plain(&deep, &diagnostics));
    let long = format!("A(i) := b(i) * (i{} < 3)", " + i".repeat(257));
    assert_eq!(load(&long).unwrap_err()[0].code, "E0005");
    let long = format!("A(i) := b(i){}", " * b(i)".repeat(2049));
    assert_eq!(load(&long).unwrap_err()[0].code, "E0005");
    let wide = format!("A(i, j) := b(){}", " * (x(i) + x(j) + z(i) + z(j) + 1)".repeat(7));
    assert_eq!(load(&wide).unwrap_err()[0].code, "E0205");
    // Long sums and deep-but-allowed groups are fine.
    let fine =
        format!("A() := {}b(){}{}", "(".repeat(60), ")".repeat(60), " + b() + c()".repeat(10_000));
    let products = &load(&fine).unwrap().0.rules[0].products;
    assert_eq!((products.len(), products[0].coefficient), (2, 10_001.0));
    for hostile in ["(", "-", "A(", "A() := -", "(i <", "^", "A:", "\n("] {
        let (_, diagnostics) = parse(&hostile.repeat(10_000));
        assert!(!diagnostics.is_empty(), "{hostile}");
    }
}

/// A program about `B` of rank 3 with other lines.
fn with_b(lines: &str) -> String {
    let shape = "B:D(i, j, k) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N)";
    format!("symbols: N\nA(i) := B(i, j, k) * s()\n{shape}\n{lines}")
}

#[test]
fn formats() {
    for fine in [
        "B:F := csf",
        "B:F := COO(k, i, j)",
        "B:F := csc",
        "B:F(x, y, z) := dense(y), compressed(x), compressed(z, unordered)",
        "B:F(x, y, z) := compressed(y, nonunique), singleton(x, nonunique), singleton(z)",
        "B:F := dcc(j, k, i)\nA:F := C",
    ] {
        let source = with_b(fine);
        let (program, warnings) =
            load(&source).unwrap_or_else(|d| panic!("{}", plain(&source, &d)));
        assert!(warnings.is_empty(), "{fine}");
        assert!(program.tensor(program.find("B").unwrap()).format.is_some(), "{fine}");
    }
    for (lines, expected) in [
        (
            "B:F(i, j) := csr\nC:F := csr\nN:F := csr\ns:F := coo",
            expect![[r#"
            E0112 `B` has 3 subscripts, not 2
              @ 95..96 "B": 2 subscripts
              @ 36..94 "B:D(i, j, k) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N)": 3 subscripts here
            W0102 `C` has a format but no rule uses it
              @ 112..113 "C": unused
            E0111 the symbol `N` has a format
              @ 123..124 "N": a symbol, not a tensor
              = take another name for the tensor
            E0114 the scalar `s` has a format
              @ 134..144 "s:F := coo": no subscripts
        "#]],
        ),
        (
            "B:F := csr",
            expect![[r#"
                E0126 `csr` stores tensors of rank 2, this one has rank 3
                  @ 102..105 "csr": another rank
                  = `csf`, `coo`, `hicoo(4)` and codes such as `DCC` are for any rank
            "#]],
        ),
        (
            "B:F := DC",
            expect![[r#"
            E0126 `DC` has 2 levels, but the tensor has rank 3
              @ 102..104 "DC": another rank
              = one letter for each dimension: D, C and S for dense, compressed and singleton
        "#]],
        ),
        (
            "B:F := cfs",
            expect![[r#"
            E0126 there is no format `cfs`
              @ 102..105 "cfs": unknown
              = did you mean `csf`?
        "#]],
        ),
        (
            "B:F := elliptic",
            expect![[r#"
                E0126 there is no format `elliptic`
                  @ 102..110 "elliptic": unknown
                  = formats have names (csr, csc, dcsr, dcsc, dia, dia_v, dense, csf, coo, bcoo(r, c), bcsr(r, c), bsr(r, c), bcsc(r, c), bdcsr(r, c), bdia(b), c2sr(p), csb(r, c), csb_csr(r, c), csb_dcsr(r, c), hicoo(b), ell, bell(r, c), sell(c, sigma), jds, cisr(p), cisr_plus(p)), codes of one letter a level (`DCC`: dense, compressed, singleton), or are spelled `dense(i), compressed(j)`
            "#]],
        ),
        (
            "B:F := coo(i, j)",
            expect![[r#"
                E0126 no level stores `k`
                  @ 102..111 "coo(i, j)": not all dimensions
                  = there is one level for each of i, j, k
            "#]],
        ),
        (
            "B:F(i, j, k) := dense(i), compresed(j), compressed(k)",
            expect![[r#"
            E0126 there is no level `compresed`
              @ 121..130 "compresed": unknown
              = did you mean `compressed`?
        "#]],
        ),
        (
            "B:F(i, j, k) := dense(i), compressed, compressed(k)",
            expect![[r#"
            E0126 this level does not say which dimension it stores
              @ 121..131 "compressed": of which dimension?
              = such as `compressed(i)`
        "#]],
        ),
        (
            "B:F(i, j, k) := dense(i), compressed(x), compressed(k)",
            expect![[r#"
            E0126 there is no dimension `x`
              @ 132..133 "x": unknown
              = the tensor's dimensions: i, j, k
        "#]],
        ),
        (
            "B:F(i, j, k) := dense(i), compressed(i), compressed(k)",
            expect![[r#"
            E0126 `i` is stored twice
              @ 132..133 "i": again
              = there is one level for each of i, j, k
        "#]],
        ),
        (
            "B:F(i, j, k) := dense(i), compressed(j), singleton(k)",
            expect![[r#"
                E0126 a singleton behind a level that is unique
                  @ 136..148 "singleton(k)": this level
                  = a singleton holds one coordinate for each entry: `compressed(i, nonunique), singleton(j)`
            "#]],
        ),
        (
            "B:F(i, j, k) := dense(i), compressed(j, nonunique), dense(k)",
            expect![[r#"
                E0126 a level that is not unique, with no singleton behind it
                  @ 121..145 "compressed(j, nonunique)": this level
                  = leave `nonunique` out, or store the next dimension as a singleton
            "#]],
        ),
        (
            "B:F(i, j, k) := dense(i, unordered), compressed(j), dense(k)",
            expect![[r#"
                E0126 a dense level is always ordered and unique
                  @ 111..130 "dense(i, unordered)": this level
                  = leave the word out
            "#]],
        ),
        (
            "B:F(i, j, k) := dense(i, sorted), compressed(j), dense(k)",
            expect![[r#"
                E0126 `sorted` has no meaning here
                  @ 120..126 "sorted": unknown
                  = a level stores one dimension, and may be `nonunique` or `unordered`, and `u8` or `u16`
            "#]],
        ),
        (
            "B:F(i, N, i) := dense(i), compressed(j), dense(k)",
            expect![[r#"
            E0107 iterator `N` has the name of a symbol
              @ 102..103 "N": a symbol
        "#]],
        ),
        (
            "B:F := csf\nB:U(i, j, k) := (i <= j)",
            expect![[r#"
            E0127 `B` has both `:F` and `:U`
              @ 95..105 "B:F := csf": known only when it is read
              @ 106..130 "B:U(i, j, k) := (i <= j)": its structure
              = a tensor is either structured, and packed, or dynamically sparse; `:D` goes with both
        "#]],
        ),
        (
            "B:F := csf\nlayout: B -> align(8)",
            expect![[r#"
            E0127 `B` has both `:F` and a place in `layout:`
              @ 95..105 "B:F := csf": known only when it is read
              @ 119..127 "align(8)": its layout
              = a tensor is either structured, and packed, or dynamically sparse; `:D` goes with both
        "#]],
        ),
        (
            "B:F := csf\nB:F := coo\nB:F := csf",
            expect![[r#"
            E0105 `B:F` is given twice
              @ 106..116 "B:F := coo": different from the first
              @ 95..105 "B:F := csf": first here
        "#]],
        ),
        (
            "B:F csr",
            expect![[r#"
            E0008 unknown directive `B:`
              @ 95..96 "B": not a directive
              = directives are `symbols:`, `outputs:`, `iters:`, `layout:`, `schedule:` and `types:`; a rule has `:=`
        "#]],
        ),
        (
            "B:F(i := csr\nB:F(i + 1) := csr",
            expect![[r#"
            E0003 expected `)`, found `:=`
              @ 101..103 ":=": expected `)`
              @ 98..99 "(": opened here
            E0003 expected `)`, found `+`
              @ 114..115 "+": expected `)`
              @ 111..112 "(": opened here
        "#]],
        ),
        (
            "B:F() := csr",
            expect![[r#"
            E0003 expected an iterator, found `)`
              @ 99..100 ")": expected an iterator
        "#]],
        ),
        (
            "B:F := csr csf",
            expect![[r#"
                E0126 levels are separated by commas
                  @ 106..109 "csf": expected `,`
            "#]],
        ),
        (
            "B:F :=",
            expect![[r#"
            E0003 expected a format or a level, found the end of the line
              @ 101..101 "": expected a format or a level
              = a format is a name or levels: `B:F := csr`, `B:F(i, j) := dense(i), compressed(j)`
        "#]],
        ),
        (
            "B:F := compressed(i, 3)",
            expect![[r#"
                E0126 `3` has no meaning here
                  @ 116..117 "3": unknown
                  = a level stores one dimension, and may be `nonunique` or `unordered`, and `u8` or `u16`
            "#]],
        ),
    ] {
        errors(&with_b(lines), expected);
    }
}

#[test]
fn a_format_of_nothing() {
    warnings(
        "A(i) := B(i)\nB:D(i) := (0 <= i < 3)\nb:F := C",
        expect![[r#"
        W0102 `b` has a format but no rule uses it
          @ 36..37 "b": unused
          = did you mean `B`?
    "#]],
    );
}

/// A program about matrices `A` and `B` and a vector `x` with other lines.
fn with_matrix(lines: &str) -> String {
    let shapes = "A:D(i, j) := (0 <= i < N) * (0 <= j < N)\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\n\
        x:D(i) := (0 <= i < N)";
    format!("symbols: N\nz() := A(i, j) * B(i, j) * x(i) * s()\n{shapes}\n{lines}")
}

#[test]
fn semirings() {
    for (rule, semiring) in [
        ("y(i) := min(j) A(i, j) + x(j)", "(min, +)"),
        ("y(i) := min(j) (A(i, j) + x(j)) * (i < j)", "(min, +)"),
        ("y(i) := min(j) (-3) + A(i, j) + x(j) * (i < j) + N() + 2^-1", "(min, +)"),
        ("y(i) := min(j) A(i, j)", "minima of values"),
        ("y(i) := min(j) A(i, j) * (i < j) * (j != 3)", "minima of values"),
        ("y(i) := max(j) A(i, j) + 0", "(max, +)"),
        ("y(i) := max(j) A(i, j) * x(j)", "maxima of values"),
        ("y(i) := max_times(j) A(i, j) * x(j)", "(max, *)"),
        ("y(i) := prod(j) A(i, j) + x(j) * (i < j)", "products of values"),
        ("y(i) := max(j) (A(i, j))", "maxima of values"),
        ("y(i) := or(j) A(i, j) * x(j) * (i <= j)", "(or, and)"),
        ("y(i) := or(j) (i <= j) * (j < 3)", "(or, and)"),
        ("y(i) := max() x(i)", "maxima of values"),
        ("y(i) := max(i)", "(+, *)"),
        ("y(i) := max(i) * x(i) + min(i)", "(+, *)"),
    ] {
        let source =
            with_matrix(&format!("{rule}\nmax:D(i) := (0 <= i < N)\nmin:D(i) := (0 <= i < N)"));
        let (program, _) = load(&source).unwrap_or_else(|d| panic!("{}", plain(&source, &d)));
        let rule = program.rules.iter().find(|rule| rule.iterators == ["i"]).unwrap();
        assert_eq!(rule.semiring.to_string(), semiring, "{source}");
        let several = ["* x(i) + min", "prod(j)"].iter().any(|one| source.contains(one));
        assert_eq!(rule.products.len() == 1, !several, "{source}");
    }
    for (rule, expected) in [
        ("y(i) := min(j) A(i, j) * x(j)", expect![""]),
        ("y(i) := or(j) A(i, j) + x(j)", expect![""]),
        ("y(i) := min(j) A(i, j) * x(j) + x(j)", expect![""]),
        ("y(i) := max(j) A(i, j) * (x(j) + x(i))", expect![""]),
        (
            "y(i) := min(j) A(i, j) + (i < j)",
            expect![[r#"
            E0128 this is not a product of the semiring (min, +)
              @ 180..185 "i < j": a comparison is joined with `*`
              = a rule computes sums of products, `min(j) A(i, j) + x(j)`, `max(j) A(i, j) + x(j)`, `max(j) A(i, j) * x(j)` or `or(j) A(i, j) * x(j)`
        "#]],
        ),
        (
            "y(i) := min(j) (i < j) * (j < N)",
            expect![[r#"
            E0128 this is not a product of the semiring (min, +)
              @ 169..186 "(i < j) * (j < N)": only comparisons
              = a rule computes sums of products, `min(j) A(i, j) + x(j)`, `max(j) A(i, j) + x(j)`, `max(j) A(i, j) * x(j)` or `or(j) A(i, j) * x(j)`
        "#]],
        ),
        ("y(i) := min(j) A(i, j) + x^-1(j)", expect![""]),
        ("y(i) := max(j) A(i, j) * (-2)", expect![""]),
        (
            "y(i) := min(j, j) A(i, j) + x(j)",
            expect![[r#"
            E0129 `min` goes over `j` twice
              @ 169..170 "j": again
              = write `min(j)`
        "#]],
        ),
        (
            "y(i) := min() A(i, j) + x(j)",
            expect![[r#"
            E0129 `min` does not name `j`, which it goes over
              @ 162..167 "min()": not all iterators
              = write `min(j)`
        "#]],
        ),
        (
            "y(i) := min(j, k) A(i, j) + x(j)",
            expect![[r#"
            E0129 `min` goes over `k`, which occurs in no factor
              @ 169..170 "k": unknown
              = write `min(j)`
        "#]],
        ),
        (
            "y(i) := min(i, j) A(i, j) + x(j)",
            expect![[r#"
                E0129 `min` goes over `i`, an iterator of the head
                  @ 166..167 "i": in the head
                  = write `min(j)`
            "#]],
        ),
        (
            "y(i) := min(j) A(i, j) + 1e308 + 1e308",
            expect![[r#"
            E0007 the sum of the numbers is too large
              @ 179..192 "1e308 + 1e308": beyond 64-bit floats
        "#]],
        ),
        (
            "y(i) := or(j) A(i, j) * 0",
            expect![[r#"
            W0106 this product is always zero
              @ 168..179 "A(i, j) * 0": has no effect
              = leave it out
        "#]],
        ),
        ("y(i) := or(j) A(i, j) and x(j)", expect![""]),
        (
            "y(i) := A(i, j) max x(j)",
            expect![[r#"
            E0003 expected an operator or the end of the line, found `max`
              @ 170..173 "max": expected an operator or the end of the line
              = `max` stands at the beginning: `y(i) := max(j) A(i, j) * x(j)`
        "#]],
        ),
        ("y(i) := x(i) + max(j) A(i, j)", expect![""]),
        (
            "y(i) := max(j) max(i) A(i, j)",
            expect![[r#"
                E0109 iterator `i` of the head is unbound
                  @ 169..183 "max(i) A(i, j)": `i` occurs in no factor of this product
                  = give the head's dimensions with `y:D`, or multiply with its range: `(0 <= i < N)`
            "#]],
        ),
        ("y(i) := sum(j) A(i, j)", expect![""]),
        (
            "y(i) := max(3) A(i, j)",
            expect![[r#"
            E0003 expected an iterator, found `3`
              @ 166..167 "3": expected an iterator
        "#]],
        ),
        (
            "y(i) := max(j) A(i, j)\ny:D(i) := (0 <= i < N)\ny:U(i) := (i < 2)",
            expect![[r#"
            E0900 not supported yet: `:U` of a tensor that is not a sum (`y`)
              @ 200..217 "y:U(i) := (i < 2)": its structure
              @ 162..168 "max(j)": not a sum
              = leave it out: where there is no product, the element is not there
        "#]],
        ),
    ] {
        let source = with_matrix(rule);
        match load(&source) {
            Ok((_, diagnostics)) => expected.assert_eq(&plain(&source, &diagnostics)),
            Err(_) => errors(&source, expected),
        }
    }
}

/// What is computed of complex numbers is complex, and there is no order of them.
#[test]
fn complex_numbers() {
    let source = |types: &str, rules: &str| {
        format!(
            "symbols: N\ntypes: {types}\n{rules}\nx:D(i) := (0 <= i < N)\nb:D(i) := (0 <= i < N)"
        )
    };
    errors(
        &source(
            "x = complex64, y = f64, n = i32, t = bool",
            "y(i) := b(i) * x(i)\nn() := x(i)\nt() := or(i) x(i)",
        ),
        expect![[r#"
            E0131 `y` has elements of type f64
              @ 75..79 "x(i)": `x` has elements of type complex64
              = what is computed of complex numbers is complex: make its elements complex128, or take `real(..)`, `imag(..)` or `abs(..)`
            E0131 `n` has elements of type i32
              @ 87..91 "x(i)": `x` has elements of type complex64
              = what is computed of complex numbers is complex: make its elements complex128, or take `real(..)`, `imag(..)` or `abs(..)`
            E0131 `t` has elements of type bool
              @ 105..109 "x(i)": `x` has elements of type complex64
              = what is computed of complex numbers is complex: make its elements complex128, or take `real(..)`, `imag(..)` or `abs(..)`
        "#]],
    );
    errors(
        &source(
            "x = complex64, y = complex64, z = complex128",
            "y() := max(i) x(i)\nz() := min(i) b(i)",
        ),
        expect![[r#"
            E0131 `y` has elements of type complex64
              @ 63..81 "y() := max(i) x(i)": a rule of maxima of values
              = complex numbers have neither an order nor a truth value: they are added and multiplied
            E0131 `z` has elements of type complex128
              @ 82..100 "z() := min(i) b(i)": a rule of minima of values
              = complex numbers have neither an order nor a truth value: they are added and multiplied
        "#]],
    );
    warnings(
        &source("x = complex64, y = complex128", "y(i) := b(i) * x(i) + x^-1(i)"),
        expect![[""]],
    );
}

/// Words that other languages have.
#[test]
fn words_of_other_languages() {
    errors(
        "y(i) := mean(j) A(i, j)",
        expect![[r#"
            E0303 `A` has no dimensions
              @ 16..23 "A(i, j)": read here, but neither computed nor declared
              = declare them, for example `A:D(i, j) := (0 <= i < ..) * (0 <= j < ..)`
        "#]],
    );
    errors(
        "y(i) := 2 * argmax(j) A(i, j)",
        expect![[r#"
            E0303 `A` has no dimensions
              @ 22..29 "A(i, j)": read here, but neither computed nor declared
              = declare them, for example `A:D(i, j) := (0 <= i < ..) * (0 <= j < ..)`
        "#]],
    );
    errors(
        "y(i) := A(i, j) A(j, i)",
        expect![[r#"
            E0003 expected an operator or the end of the line, found `A`
              @ 16..17 "A": expected an operator or the end of the line
              = factors are joined with `*`, summands with `+`
        "#]],
    );
    errors(
        "y(i) := softmax(x(i) + 1)",
        expect![[r#"
            E0013 unknown function `softmax`
              @ 8..15 "softmax": unknown
              = a softmax is `exp(x(i) - max(k) x(k)) / sum(k) exp(x(k) - max(l) x(l))`
        "#]],
    );
}

#[test]
fn not_supported_yet() {
    errors(
        "types: B = f128\nA() := B()",
        expect![[r#"
            E0900 not supported yet: elements of type f128
              @ 11..15 "f128": this type
              = element types are f64, f32, f16, bf16, complex128, complex64, i8, i16, i32, i64, u8 and bool; f64 is the default
        "#]],
    );
    errors(
        "A:U(i, j) := B:U(i, j) * (i < j)",
        expect![[r#"
            E0003 a structure on the right-hand side
              @ 13..16 "B:U": a set, not a value
              = repeat its comparisons here
        "#]],
    );
}

#[test]
fn directives() {
    errors(
        "symbols: N, N\nsymbols: M\nA() := N()",
        expect![[r#"
            E0102 symbol `N` is listed twice
              @ 12..13 "N": again
              @ 9..10 "N": first here
            E0101 `symbols:` is given twice
              @ 14..24 "symbols: M": again
              @ 0..13 "symbols: N, N": first here
              = put all of it on one line
        "#]],
    );
    errors(
        "outputs: A, A, b, C1\nA() := b()\nC() := b()",
        expect![[r#"
        E0102 output `A` is listed twice
          @ 12..13 "A": again
          @ 9..10 "A": first here
        E0106 `outputs:` names `b`, which no rule computes
          @ 15..16 "b": an input
        E0106 `outputs:` names `C1`, which no rule computes
          @ 18..20 "C1": unknown
        W0103 `C` is neither an output nor read
          @ 32..42 "C() := b()": computed for nothing
          = list it in `outputs:`, or remove the rule
    "#]],
    );
    errors(
        "iters: A -> i, i; A -> i; B -> i\nA() := b(i)\nb:D(i) := (0 <= i < 3)",
        expect![[r#"
        E0102 iterator `i` is listed twice
          @ 15..16 "i": again
          @ 12..13 "i": first here
        E0102 `iters:` gives two orders for `A`
          @ 18..19 "A": again
        E0106 `iters:` names `B`, which no rule computes
          @ 26..27 "B": unknown
    "#]],
    );
    errors(
        "symbols: N\niters: A -> N\nA() := N()",
        expect![[r#"
        E0107 iterator `N` has the name of a symbol
          @ 23..24 "N": declared as a symbol
    "#]],
    );
    errors(
        "@preprocess_end\n@preprocess_start\n@preprocess_start\nA() := b()",
        expect![[r#"
            E0103 `@preprocess_end` without `@preprocess_start`
              @ 0..15 "@preprocess_end": no block is open
            E0103 a block within a block
              @ 34..51 "@preprocess_start": begins here
              @ 16..33 "@preprocess_start": this block is still open
            E0103 the block is not closed
              @ 34..51 "@preprocess_start": opened here
              = end it with `@preprocess_end`
            W0103 `A` is neither an output nor read
              @ 52..62 "A() := b()": computed for nothing
              = list it in `outputs:`, or remove the rule
        "#]],
    );
}

#[test]
fn double_rules() {
    errors(
        "A() := b()\nA() := c()",
        expect![[r#"
        E0104 two rules compute `A`
          @ 11..12 "A": again
          @ 0..1 "A": first computed here
          = add the products in one rule: `A(i) := B(i) + C(i)`
    "#]],
    );
    errors(
        "A(i) := b(i)\nb:D(i) := (0 <= i < 3)\nb:D(k) := (0 <= k < 3)\nb:D(i) := (0 <= i < 4)",
        expect![[r#"
            E0105 `b:D` is given twice
              @ 59..81 "b:D(i) := (0 <= i < 4)": different from the first
              @ 13..35 "b:D(i) := (0 <= i < 3)": first here
              = join several regions with `+` in one rule
        "#]],
    );
}

#[test]
fn recursion() {
    errors(
        "A() := A() + b()",
        expect![[r#"
        E0115 recursive rules: `A` reads `A`
          @ 7..10 "A()": `A` is read here for `A`
          = a rule may read only tensors that do not depend on its own
    "#]],
    );
    errors(
        "A(i) := C(i)\nB(i) := A(i)\nC(i) := B(i) * x()\nD(i) := A(i)\nA:D(i) := (0 <= i < 3)",
        expect![[r#"
            E0115 recursive rules: `A` reads `C` reads `B` reads `A`
              @ 8..12 "C(i)": `C` is read here for `A`
              @ 34..38 "B(i)": `B` is read here for `C`
              @ 21..25 "A(i)": `A` is read here for `B`
              = a rule may read only tensors that do not depend on its own
        "#]],
    );
    errors(
        "@preprocess_start\nA() := B()\n@preprocess_end\nB() := c()",
        expect![[r#"
            W0103 `A` is neither an output nor read
              @ 18..28 "A() := B()": computed for nothing
              = list it in `outputs:`, or remove the rule
            E0116 a preprocess rule reads `B`, which is computed after the block
              @ 25..28 "B()": read here
              @ 45..55 "B() := c()": computed here
              = move that rule into the block
        "#]],
    );
}

#[test]
fn ranks() {
    errors(
        "A(i) := b(i, j) * b(i)\nb:D(i) := (0 <= i < 3)\nb:U(i, j) := (i < j)\nC() := A()",
        expect![[r#"
            E0112 `b` has 1 subscript, not 2
              @ 8..15 "b(i, j)": 2 subscripts
              @ 23..24 "b": 1 subscript here
            E0112 `b` has 1 subscript, not 2
              @ 46..47 "b": 2 subscripts
              @ 23..24 "b": 1 subscript here
            E0112 `A` has 1 subscript, not 0
              @ 74..77 "A()": no subscripts
              @ 0..1 "A": 1 subscript here
        "#]],
    );
    errors(
        "A(i, j) := b(i, j)\nb:D(i, j) := (0 <= i < j < 3)\nb:R(i, ip) := (ip = i)",
        expect![[r#"
            E0113 `b:R` has 2 iterators, not 4
              @ 49..50 "b": 2 subscripts
              @ 19..20 "b": 2 subscripts here
              = a redundancy map has the element's iterators, then as many for the element that it equals: `B:R(i, j, ip, jp)`
        "#]],
    );
    errors(
        "A() := s()\ns:D() := (1 = 1)\nt:R(i, j, k) := (i = j = k)",
        expect![[r#"
        E0114 the scalar `s` has a structure
          @ 11..27 "s:D() := (1 = 1)": no subscripts
          = scalars need no declaration
        E0113 `t:R` has an odd number of iterators
          @ 28..29 "t": 3 subscripts
          = a redundancy map has the element's iterators, then as many for the element that it equals: `B:R(i, j, ip, jp)`
        W0102 `t` has a structure but no rule uses it
          @ 28..29 "t": unused
    "#]],
    );
}

#[test]
fn names() {
    errors(
        "symbols: N\nA(N) := b(N)\nb:D(i) := (0 <= i < N)",
        expect![[r#"
        E0107 iterator `N` has the name of a symbol
          @ 13..14 "N": declared as a symbol
          = take another name for the iterator
    "#]],
    );
    errors(
        "symbols: N\nA(i) := N(i)\nN:D(i) := (0 <= i < 3)",
        expect![[r#"
            E0111 the symbol `N` has subscripts
              @ 19..23 "N(i)": a symbol, not a tensor
              = as a factor, a symbol is written `N()`
            E0109 iterator `i` of the head is unbound
              @ 19..23 "N(i)": `i` occurs in no factor of this product
              = give the head's dimensions with `A:D`, or multiply with its range: `(0 <= i < N)`
            E0111 the symbol `N` has a rule
              @ 24..25 "N": a symbol, not a tensor
              = symbols are given when the kernel runs; take another name for the tensor
        "#]],
    );
    errors(
        "A(i) := b(i, i)\nb:D(i, i) := (0 <= i < 3)",
        expect![[r#"
            E0110 iterator `i` stands twice in the head
              @ 23..24 "i": again
              @ 20..21 "i": first here
              = use two iterators and a comparison: `(i = i2)` describes the diagonal
        "#]],
    );
    errors(
        "symbols: N\nA(i) := covr(i)\ncovar:D(i) := (0 <= i < N)\nB(i) := x(i)",
        expect![[r#"
            E0303 `covr` has no dimensions
              @ 19..26 "covr(i)": read here, but neither computed nor declared
              = did you mean `covar`?
            W0102 `covar` has a structure but no rule uses it
              @ 27..32 "covar": unused
              = did you mean `covr`?
            E0303 `x` has no dimensions
              @ 62..66 "x(i)": read here, but neither computed nor declared
              = declare them, for example `x:D(i) := (0 <= i < ..)`
        "#]],
    );
    errors(
        "symbols: N\nA(i) := b(i) * (i < n)\nb:D(i) := (0 <= i < N)\nB(i) := b(i) * (i < limit) * (2 * i < limit)",
        expect![[r#"
            E0108 unknown name `n`
              @ 31..32 "n": neither a symbol nor an iterator with bounds
              = did you mean `N`?
            E0108 unknown name `limit`
              @ 77..82 "limit": neither a symbol nor an iterator with bounds
              = declare it with `symbols: limit`, or bound it from both sides: `(0 <= limit < N)`
        "#]],
    );
    errors(
        "A(i) := b(i)\nb:D(i) := (0 <= i < M)",
        expect![[r#"
        E0108 unknown name `M`
          @ 33..34 "M": neither a symbol nor an iterator with bounds
          = declare it with `symbols: M`, or bound it from both sides: `(0 <= M < N)`
    "#]],
    );
    errors(
        "A(i, j) := b(i) + b(i) * (0 <= i < 2)\nb:D(i) := (0 <= i < 3)",
        expect![[r#"
            E0109 iterator `j` of the head is unbound
              @ 11..15 "b(i)": `j` occurs in no factor of this product
              = give the head's dimensions with `A:D`, or multiply with its range: `(0 <= j < ..)`
        "#]],
    );
}

#[test]
fn expressions() {
    errors(
        "symbols: N\nA(i) := b(i) * (i / 0 = i % (2 - 3)) * (i % N = 7 / i)\nb:D(i) := (0 <= i < N)",
        expect![[r#"
            E0201 division by zero
              @ 31..32 "0": this is zero
              = `/` and `%` take a positive integer
            E0201 division by a negative number
              @ 40..45 "2 - 3": not positive
              = `/` and `%` take a positive integer
            E0201 division by the iterator `i`
              @ 63..64 "i": not a constant
              = `/` and `%` take a positive integer; rules have functions too: `floor_divide(a, b)`, `(mod(a, b) = 0)`
        "#]],
    );
}

#[test]
fn structures() {
    errors(
        "A(i) := b(i)\nb:D(i) := 2 * (0 <= i < 3)\nb:U(i) := c(i) * (i < 2)\nb:R(i, ip) := 0 * (ip = 0)",
        expect![[r#"
            E0204 a coefficient in `b:D`
              @ 23..24 "2": a set has no coefficient
              = coefficients belong into `:R`; regions are joined with `+`
            E0203 a tensor in `b:U`
              @ 50..54 "c(i)": a value, not a condition
              = structures are made of comparisons, numbers and symbols
            E0202 a coefficient of zero in `b:R`
              @ 79..80 "0": zero
              = leave the region out: what is in neither `:U` nor `:R` is zero
        "#]],
    );
}

#[test]
fn several_errors_in_one_file() {
    errors(
        "symbols: N\nA(i) := b(i\nB(i) = b(i)\nb:D(i) := (0 <= i < N)\nC(i) := c(i)\nD() := 1..2",
        expect![[r#"
            E0003 expected `)`, found `B`
              @ 23..24 "B": expected `)`
              @ 20..21 "(": opened here
            E0303 `c` has no dimensions
              @ 66..70 "c(i)": read here, but neither computed nor declared
              = did you mean `C`?
            E0002 `1..2` is no number
              @ 78..82 "1..2": malformed
              = iterators have no ranges, but comparisons: `sum(j) A(i, j) * (0 <= j < N)`
        "#]],
    );
}

#[test]
fn harmless_oddities() {
    warnings(
        "symbols: N\nA() := b()\nc:D(i) := (0 <= i < 3)\nc:U(i) := (i < 2)",
        expect![[r#"
        W0101 symbol `N` is never used
          @ 9..10 "N": unused
        W0102 `c` has a structure but no rule uses it
          @ 22..23 "c": unused
    "#]],
    );
    warnings(
        "outputs: A\nA() := b()\nB() := b()",
        expect![[r#"
        W0103 `B` is neither an output nor read
          @ 22..32 "B() := b()": computed for nothing
          = list it in `outputs:`, or remove the rule
    "#]],
    );
    warnings(
        "iters: A -> col, row\nA(cols) := b(rows, cols)\nb:D(i, j) := (0 <= i < 3) * (0 <= j < 3)",
        expect![[r#"
        W0104 `iters:` names `col`, which the rule for `A` does not use
          @ 12..15 "col": has no effect
          = did you mean `cols`?
        W0104 `iters:` names `row`, which the rule for `A` does not use
          @ 17..20 "row": has no effect
          = did you mean `rows`?
    "#]],
    );
    warnings(
        "A(i) := b(i) * (2 * i % 3 = 0)\nb:D(i) := (0 <= i < 3)",
        expect![[r#"
        W0105 `%` binds tighter than `*` here
          @ 20..25 "i % 3": computed first
          = write parentheses to say which is meant
    "#]],
    );
    warnings(
        "A() := b() + 0 * b()",
        expect![[r#"
        W0106 this product is always zero
          @ 13..20 "0 * b()": has no effect
          = leave it out
    "#]],
    );
    warnings(
        "# nothing\n",
        expect![[r#"
        W0107 no rule computes anything
          @ 0..0 "": nothing to do
    "#]],
    );
}

/// All sources of this crate, one after the other.
#[test]
fn positions() {
    for (rule, expected) in [
        (
            "y(i) := (k = pos(A(i, j))) * x(k)",
            expect![[r#"
                i, j, k
            "#]],
        ),
        (
            "y(i) := (N = pos(A(i, j))) * x(j)",
            expect![[r#"
            E0107 iterator `N` has the name of a symbol
              @ 163..164 "N": declared as a symbol
              = the position of an element is an iterator of the rule
        "#]],
        ),
        (
            "y(i) := (k = pos(x(j))) * A(i, k)",
            expect![[r#"
            E0130 the position of an element of `x`
              @ 163..176 "k = pos(x(j))": not dynamically sparse
              = positions are those of stored values: give `x` a format, such as `x:F := csf`
        "#]],
        ),
        (
            "y(i) := (k < pos(A(i, j))) * x(k)",
            expect![[r#"
            E0009 a position is the value of one iterator
              @ 163..179 "k < pos(A(i, j))": something else
              = `(k = pos(A(i, j)))`: the iterator `k` is where `A` stores its element `(i, j)`
        "#]],
        ),
        (
            "y(i) := (k = pos(A(i, j)) + 1) * x(k)",
            expect![[r#"
            E0009 a position in an integer expression
              @ 167..179 "pos(A(i, j))": not alone
              = a position stands alone on its side: `(k = pos(A(i, j)))`, and `k` elsewhere
        "#]],
        ),
        (
            "y(i) := (k + 1 = pos(A(i, j))) * x(k)",
            expect![[r#"
            E0009 a position stands beside an iterator
              @ 163..168 "k + 1": not an iterator
              = `(k = pos(A(i, j)))`: the iterator `k` is where `A` stores its element `(i, j)`
        "#]],
        ),
        (
            "y(i) := (k = pos(i)) * x(k)",
            expect![[r#"
            E0009 the position of what is not a tensor's element
              @ 171..172 "i": not an element
              = `(k = pos(A(i, j)))`: the iterator `k` is where `A` stores its element `(i, j)`
        "#]],
        ),
        (
            "y(i) := (k = pos(A(i, j), 1)) * x(k)",
            expect![[r#"
            E0009 a position stands beside an iterator
              @ 167..182 "pos(A(i, j), 1)": not an iterator
              = `(k = pos(A(i, j)))`: the iterator `k` is where `A` stores its element `(i, j)`
        "#]],
        ),
        (
            "y(i) := (k = pos(B(i, j))) * x(k)",
            expect![[r#"
            E0130 the position of an element of `B`, which is in no order
              @ 163..179 "k = pos(B(i, j))": known only by search
              @ 240..281 "B:F := compressed(i, unordered), dense(j)": has a level that is not ordered
              = leave `unordered` out of its `:F`
        "#]],
        ),
        (
            "y(k) := (k = pos(A(i, j))) * x(i)",
            expect![[r#"
                E0109 iterator `k` of the head is unbound
                  @ 163..187 "k = pos(A(i, j))) * x(i)": how many positions `k` has is not known
                  = give the head's dimensions with `y:D`, or multiply with its range: `(0 <= k < N)`
            "#]],
        ),
        (
            "y(i) := A(i, j) * (k = pos(A(i, j)))",
            expect![[r#"
                i, j, k
            "#]],
        ),
        (
            "y(i) := min(j, k) (k = pos(A(i, j)))",
            expect![[r#"
            E0128 this is not a product of the semiring (min, +)
              @ 173..189 "k = pos(A(i, j))": only comparisons
              = a rule computes sums of products, `min(j) A(i, j) + x(j)`, `max(j) A(i, j) + x(j)`, `max(j) A(i, j) * x(j)` or `or(j) A(i, j) * x(j)`
        "#]],
        ),
        (
            "y(i) := pos(A(i, j)) * x(i)",
            expect![[r#"
                E0009 a position as a factor
                  @ 162..174 "pos(A(i, j))": an integer
                  = `(k = pos(A(i, j)))`: the iterator `k` is where `A` stores its element `(i, j)`
            "#]],
        ),
    ] {
        let source = with_matrix(&format!(
            "{rule}\nA:F := csr\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\nB:F := compressed(i, unordered), dense(j)"
        ));
        let found = match load(&source) {
            Ok((program, warnings)) => format!(
                "{}\n{}",
                program.rules.last().unwrap().products[0].iterators.join(", "),
                plain(&source, &warnings)
            ),
            Err(found) => plain(&source, &found),
        };
        expected.assert_eq(&found);
    }
}

fn sources(folder: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text +=
            &if path.is_dir() { sources(&path) } else { std::fs::read_to_string(&path).unwrap() };
    }
    text
}

#[test]
fn the_language_reference_has_every_code_and_its_programs_are_right() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manual = std::fs::read_to_string(here.join("../../docs/language.md")).unwrap();
    let sources = sources(&here.join("src")) + &sources(&here.join("../sched/src"));
    let mut codes = 0;
    for quoted in sources.split('"').filter(|text| text.len() == 5 && text.starts_with(['E', 'W']))
    {
        if quoted[1..].bytes().all(|b| b.is_ascii_digit()) {
            assert!(
                manual.contains(&format!("| {quoted} |")),
                "{quoted} is not in docs/language.md"
            );
            codes += 1;
        }
    }
    assert!(codes > 30);
    for row in manual.lines().filter(|line| line.starts_with("| E0") || line.starts_with("| W0")) {
        let code = &row[2..7];
        assert!(sources.contains(&format!("\"{code}\"")), "{code} does not exist");
    }
    let programs: Vec<&str> = manual.split("```stur\n").skip(1).collect();
    assert!(programs.len() >= 2);
    for program in programs {
        let program = program.split("```").next().unwrap();
        let (program, warnings) =
            load(program).unwrap_or_else(|d| panic!("{}", plain(program, &d)));
        assert_eq!(warnings, []);
        let sizes = vec![4; program.symbols.len()];
        let evaluator = dastac_stur::reference::Evaluator::new(&program, &sizes).unwrap();
        let mut inputs = std::collections::BTreeMap::new();
        for id in program.tensor_ids().filter(|id| program.tensor(*id).rule().is_none()) {
            use rand_chacha::rand_core::SeedableRng;
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
            inputs.insert(id, evaluator.random_input(id, &mut rng).unwrap());
        }
        evaluator.run(&inputs).unwrap();
    }
}

#[test]
fn schedules_that_cannot_be_read() {
    for (text, message) in [
        ("schedule: A", "expected `->`, found the end of the line"),
        ("schedule: A -> ", "expected a directive such as `tile(i=64)`, found the end of the line"),
        ("schedule: A -> tiel(i=4)", "`tiel` is not a directive of a schedule"),
        ("schedule: A -> skew(i)", "`skew` is not a directive of a schedule"),
        ("schedule: A -> tile(i)", "expected a size, found `)`"),
        ("schedule: A -> tile(i=)", "expected an integer, found `)`"),
        ("schedule: A -> tile(i, 3.5)", "expected an integer, found `3.5`"),
        ("schedule: A -> reorder(i=4)", "`reorder` takes no sizes"),
        ("schedule: A -> reorder()", "expected an iterator, found `)`"),
        ("schedule: A -> parallel(i", "expected `)`, found the end of the line"),
    ] {
        let (_, diagnostics) = parse(text);
        let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert!(messages.contains(&message), "{text}: {messages:?}");
    }
}

#[test]
fn schedules_of_other_loops() {
    let rule = "symbols: N\nA(i, j) := B(i, k) * C(k, j)\ns() := x(i)\nB:D(i, k) := (0 <= i < N) * (0 <= k < N)\n\
        C:D(k, j) := (0 <= k < N) * (0 <= j < N)\nx:D(i) := (0 <= i < N)\n";
    let with = |schedule: &str| format!("{rule}schedule: {schedule}");
    errors(
        &with(
            "B -> reorder(i); D -> parallel(i); A -> tile(x=4), parallel(k); A -> parallel(i); s -> parallel(i)",
        ),
        expect![[r#"
            E0106 `schedule:` names `B`, which no rule computes
              @ 167..168 "B": an input
            E0106 `schedule:` names `D`, which no rule computes
              @ 184..185 "D": unknown
            E0122 `x` is no loop of the rule for `A`
              @ 212..215 "x=4": unknown
              = its loops are `i`, `j`, `k`
            E0124 `parallel` names `k`, which is summed over
              @ 227..228 "k": a reduction
              = its iterations add to the same elements; share one of `i`, `j`
            E0102 `schedule:` lists `A` twice
              @ 231..232 "A": again
              @ 202..203 "A": first here
            E0124 `parallel` names `i`, which is summed over
              @ 263..264 "i": a reduction
              = leave it out: a scalar is one sum
        "#]],
    );
    errors(
        &with("A -> tile(i=0, k=-4), tile(k=2000000), unroll(i=200), unroll(j=3, j=3)"),
        expect![[r#"
            E0123 `tile` cannot take 0 iterations of a loop
              @ 177..180 "i=0": not from 1 to 1048576
              = take a size from 1 to 1048576; 1 leaves the loop as it is
            E0123 `tile` cannot take -4 iterations of a loop
              @ 182..186 "k=-4": not from 1 to 1048576
              = take a size from 1 to 1048576; 1 leaves the loop as it is
            E0102 `tile` names `k` twice
              @ 194..203 "k=2000000": again
              @ 182..186 "k=-4": first here
            E0123 `unroll` cannot take 200 iterations of a loop
              @ 213..218 "i=200": not from 1 to 128
              = take a size from 1 to 128; 1 leaves the loop as it is
            E0102 `unroll` names `j` twice
              @ 233..236 "j=3": again
              @ 228..231 "j=3": first here
        "#]],
    );
    errors(
        &with(
            "A -> reorder(i, j, i), reorder(k), vectorize(i, j), parallel(i), parallel(j), unroll(i=32, j=32)",
        ),
        expect![[r#"
            E0102 `reorder` names `i` twice
              @ 186..187 "i": again
              @ 180..181 "i": first here
            E0102 `reorder` is given twice for `A`
              @ 190..200 "reorder(k)": again
              @ 172..188 "reorder(i, j, i)": first here
            E0125 `vectorize` names 2 loops
              @ 202..217 "vectorize(i, j)": more than one
              = one loop is in the lanes of vectors: keep one of them
            E0102 `parallel` is given twice for `A`
              @ 232..243 "parallel(j)": again
              @ 219..230 "parallel(i)": first here
            E0123 1024 iterations are unrolled side by side
              @ 245..263 "unroll(i=32, j=32)": more than 512
              = no machine has so many registers: take smaller factors
        "#]],
    );
}

#[test]
fn workspaces_in_schedules() {
    let with = |kind: &str, format: &str| -> String {
        format!(
            "symbols: N\nC(i, k) := A(i, j) * A(j, k)\nschedule: C -> workspace({kind})\n\
            A:D(i, j) := (0 <= i < N) * (0 <= j < N)\nA:F := csr\n\
            C:D(i, k) := (0 <= i < N) * (0 <= k < N)\n{format}"
        )
    };
    for kind in ["dense", "list", "list, 1", "hash", "C, hash, 4096"] {
        load(&with(kind, "C:F := csr")).unwrap();
    }
    errors(
        &with("hash", ""),
        expect![[r#"
        E0137 `C` has no use for a workspace
          @ 55..70 "workspace(hash)": its elements have places of their own
          = only a result with `:F` has one: `C:F := csr`
    "#]],
    );
    errors(
        &with("hash", "C:F := crs"),
        expect![[r#"
        E0126 there is no format `crs`
          @ 171..174 "crs": unknown
          = did you mean `csr`?
    "#]],
    );
    errors(
        &with("hahs, 4096", "C:F := csr"),
        expect![[r#"
        E0137 `hahs` is not a kind of workspace
          @ 65..69 "hahs": unknown
          = did you mean `hash`?
    "#]],
    );
    errors(
        &with("hash, 0", "C:F := csr"),
        expect![[r#"
        E0123 a workspace cannot hold 0 points
          @ 71..72 "0": not a number from 1 to 16777216
          = what does not fit is merged into what was found before
    "#]],
    );
    errors(
        &with("list, 4.5", "C:F := csr"),
        expect![[r#"
        E0123 a workspace cannot hold 4.5 points
          @ 71..74 "4.5": not a number from 1 to 16777216
          = what does not fit is merged into what was found before
    "#]],
    );
    errors(
        &with("dense, 3", "C:F := csr"),
        expect![[r#"
        E0137 `workspace` takes no `3` here
          @ 72..73 "3": too much
          = write `workspace(hash, 4096)`, `workspace(list, 65536)`, `workspace(list)`, `workspace(bucket, 64)` or `workspace(dense)`
    "#]],
    );
    errors(
        &with("C", "C:F := csr"),
        expect![[r#"
        E0137 `C` is not a kind of workspace
          @ 65..66 "C": unknown
          = write `workspace(hash, 4096)`, `workspace(list, 65536)`, `workspace(list)`, `workspace(bucket, 64)` or `workspace(dense)`
    "#]],
    );
    errors(
        &with("(list, 3)", "C:F := csr"),
        expect![[r#"
        E0003 expected a kind of workspace or a capacity, found `(`
          @ 65..66 "(": expected a kind of workspace or a capacity
    "#]],
    );
}

#[test]
fn schedules_in_a_file_of_their_own() {
    let text = "symbols: N\nA(i, j) := B(i, k) * C(k, j) * (0 <= i < N) * (0 <= j < N) * (0 <= k < N)\n\
        schedule: A -> unroll(i=2)\nB:D(i, j) := (0 <= i < N) * (0 <= j < N)\nC:D(i, j) := (0 <= i < N) * (0 <= j < N)";
    let (mut program, _) = load(text).unwrap();
    assert_eq!(program.schedule_line().unwrap(), "schedule: A -> unroll(i=2)");
    let other = "# found\nschedule: A -> reorder(k, i), tile(j, 64), parallel(i), vectorize(j)";
    program.reschedule(other).unwrap();
    let line = program.schedule_line().unwrap();
    assert_eq!(line, "schedule: A -> reorder(k, i), tile(j=64), vectorize(j), parallel(i)");
    program.reschedule(&line).unwrap();
    assert_eq!(program.schedule_line().unwrap(), line);
    program.reschedule("# nothing").unwrap();
    assert_eq!(program.schedule_line(), None);
    let codes = |text: &str| -> Vec<&str> {
        program.clone().reschedule(text).unwrap_err().iter().map(|error| error.code).collect()
    };
    assert_eq!(
        codes("symbols: M\nschedule: A -> tile(q=4)\nschedule: A -> tile(i=4)"),
        ["E0003", "E0101", "E0122"]
    );
    assert_eq!(codes("schedule: A -> tile(i"), ["E0003"]);
}
