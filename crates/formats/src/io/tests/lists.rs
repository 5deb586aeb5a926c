//! FROSTT and DLMC files.

use expect_test::{Expect, expect};

use super::*;

#[test]
fn frostt() {
    let options = |zero_based, pattern, shape: Option<&[u64]>| ReadOptions {
        zero_based,
        pattern,
        shape: shape.map(<[u64]>::to_vec),
        ..ReadOptions::default()
    };
    let tns = |text: &str, options: &ReadOptions, expected: &Expect| {
        expected.assert_eq(&match read_bytes(text.as_bytes(), FileKind::Frostt, options) {
            Ok(contents) => show(&contents),
            Err(error) => {
                format!(
                    "{error}{}",
                    error.hint.as_ref().map(|h| format!("\n{h}")).unwrap_or_default()
                )
            }
        });
    };
    let plain = options(false, false, None);
    tns(
        "# a comment\n2 2 2 6.0\n1 3 1 2\n1 2 1 1e1\n",
        &plain,
        &expect![[r#"
        FROSTT: 2 x 3 x 2
        (0, 1, 0) 10
        (0, 2, 0) 2
        (1, 1, 1) 6
    "#]],
    );
    tns(
        "0 0 1\n\n# inside\n4 1 2",
        &options(true, false, None),
        &expect![[r#"
        FROSTT: 5 x 2
        (0, 0) 1
        (4, 1) 2
    "#]],
    );
    tns(
        "# 10 10 2 1 1\n0 3\n9 9\n",
        &options(true, true, Some(&[10, 10])),
        &expect![[r#"
        FROSTT, pattern: 10 x 10
        (0, 3) true
        (9, 9) true
    "#]],
    );
    tns(
        "# shape 4 4\n",
        &plain,
        &expect![[r#"
        FROSTT: 4 x 4
    "#]],
    );
    tns(
        "# shape 4 4\n1 4 7\n",
        &plain,
        &expect![[r#"
        FROSTT: 4 x 4
        (0, 3) 7
    "#]],
    );
    tns(
        "# nothing\n",
        &ReadOptions { rank: Some(2), ..ReadOptions::default() },
        &expect![[r#"
        FROSTT: 0 x 0
    "#]],
    );
    tns(
        "# nothing\n",
        &plain,
        &expect![[r#"
        <bytes>: it has no entries, so nothing says its shape
        say its shape"#]],
    );
    tns(
        "0 1 2\n",
        &plain,
        &expect![[r#"
        <bytes>:1: coordinate 1 is 0, but they count from 1
        read it with coordinates that count from 0"#]],
    );
    tns("1 1 2\n1 1 1 2\n", &plain, &expect!["<bytes>:2: there is `2` behind the entry"]);
    tns("1 1 2\n1 1\n", &plain, &expect!["<bytes>:2: the value is missing"]);
    tns("1 1 2\n1 x 2\n", &plain, &expect!["<bytes>:2: coordinate 2 is `x`, not an integer"]);
    tns(
        "1 2\n1 0.5\n",
        &options(false, true, None),
        &expect![[r#"
        <bytes>:2: coordinate 2 is `0.5`, not an integer
        read it with values, not as a pattern"#]],
    );
    tns("1 1 2\n1 1 y\n", &plain, &expect!["<bytes>:2: the value is `y`, not a number"]);
    tns("1.5 1 2\n", &plain, &expect!["<bytes>:1: coordinate 1 is `1.5`, not an integer"]);
    tns("-1 1 1\n", &plain, &expect!["<bytes>:1: coordinate 1 is `-1`, which is negative"]);
    tns(
        "1 99999999999999999999 1\n",
        &plain,
        &expect!["<bytes>:1: coordinate 2 is `99999999999999999999`, which does not fit 64 bits"],
    );
    tns("1\n", &plain, &expect!["<bytes>:1: 1 word on a line is not 1 coordinate and a value"]);
    tns(
        "1 5 1\n",
        &options(false, false, Some(&[4, 4])),
        &expect!["<bytes>:1: coordinate 2 is 5, beyond the extent 4"],
    );
    tns(
        "1 5 1\n",
        &options(false, false, Some(&[4])),
        &expect!["<bytes>:1: 3 words on a line are not 1 coordinate and a value"],
    );
    tns("# shape 4 x\n", &plain, &expect!["<bytes>:1: an extent is `x`, not a number"]);
    tns(
        "18446744073709551615 1 1\n",
        &plain,
        &expect![[
            r#"<bytes>:1: coordinate 1 is 18446744073709551615, beyond the extent 18446744073709551614"#
        ]],
    );
}

#[test]
fn dlmc() {
    let smtx = FileKind::Smtx;
    holds(
        smtx,
        "3, 4, 4\n0 2 2 4\n3 0 1 2\n",
        &expect![[r#"
        DLMC, pattern: 3 x 4
        (0, 0) true
        (0, 3) true
        (2, 1) true
        (2, 2) true
    "#]],
    );
    holds(
        smtx,
        "0, 4, 0\n0\n",
        &expect![[r#"
        DLMC, pattern: 0 x 4
    "#]],
    );
    fails(
        smtx,
        "3 4 4\n",
        &expect![[r#"
        <bytes>:1: the first line must hold rows, columns and entries, not `3 4 4`
        such as `512, 1024, 5243`"#]],
    );
    fails(
        smtx,
        "3, 4\n",
        &expect![[r#"
        <bytes>:1: the first line must hold rows, columns and entries, not `3, 4`
        such as `512, 1024, 5243`"#]],
    );
    fails(smtx, "3, 4, 4\n0 2 2\n", &expect!["<bytes>:2: it ends after 3 of 8 numbers"]);
    fails(
        smtx,
        "3, 4, 4\n0 2 2 4\n3 0 1 2 1\n",
        &expect!["<bytes>:3: there are more numbers than the 8 of the first line"],
    );
    fails(
        smtx,
        "3, 4, 4\n0 2 1 4\n3 0 1 2\n",
        &expect!["<bytes>:2: row 1 begins at 2 and ends at 1"],
    );
    fails(
        smtx,
        "3, 4, 4\n1 2 2 4\n3 0 1 2\n",
        &expect!["<bytes>:2: rows must begin at 0 and end at 4"],
    );
    fails(
        smtx,
        "3, 4, 4\n0 2 2 4\n3 0 4 2\n",
        &expect!["<bytes>:3: column 4 of row 2 is not among 0 to 4 (exclusive)"],
    );
    fails(smtx, "3, 4, 4\n0 2 2 4\n3 0 -1 2\n", &expect!["<bytes>:3: `-1` is no number"]);
    fails(
        smtx,
        "1000000000000000000, 4, 1000000000000000000\n0 2\n",
        &expect!["<bytes>:2: it ends after 2 of 2000000000000000001 numbers"],
    );
}
