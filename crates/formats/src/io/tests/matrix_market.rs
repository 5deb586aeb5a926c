//! MatrixMarket files.

use expect_test::{Expect, expect};

use super::*;

#[test]
fn matrix_market() {
    let mtx = |text, expected: &Expect| holds(FileKind::MatrixMarket, text, expected);
    mtx(
        "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 4\n2 3 1.5\n1 1 -2e-3\n\n  3\t4 +7 \r\n\
        % more\n1 4 1D2",
        &expect![[r#"
            MatrixMarket, coordinate, real, general: 3 x 4
            (0, 0) -0.002
            (0, 3) 100
            (1, 2) 1.5
            (2, 3) 7
        "#]],
    );
    mtx(
        "%%matrixmarket MATRIX coordinate integer symmetric\n3 3 3\n1 1 5\n2 1 6\n1 3 -7\n",
        &expect![[r#"
            MatrixMarket, coordinate, integer, symmetric: 3 x 3
            (0, 0) 5
            (0, 1) 6
            (0, 2) -7
            (1, 0) 6
            (2, 0) -7
        "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 6\n",
        &expect![[r#"
        MatrixMarket, coordinate, real, skew-symmetric: 2 x 2
        (0, 1) -6
        (1, 0) 6
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n2 2 5\n",
        &expect![[r#"
            MatrixMarket, coordinate, pattern, general: 2 x 2
            (1, 0) true
            (1, 1) true
        "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 3\n",
        &expect![[r#"
        MatrixMarket, coordinate, real, hermitian: 2 x 2
        (0, 1) 3
        (1, 0) 3
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 1 2\n2 2 0\n",
        &expect![[r#"
            MatrixMarket, coordinate, real, general: 2 x 2
            (0, 0) 3
            (1, 1) 0
        "#]],
    );
    mtx(
        "%%MatrixMarket matrix array real general\n2 3\n1\n0\n3\n4 5\n6\n",
        &expect![[r#"
        MatrixMarket, array, real, general: 2 x 3
        (0, 0) 1
        (0, 1) 3
        (0, 2) 5
        (1, 1) 4
        (1, 2) 6
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
        &expect![[r#"
        MatrixMarket, array, integer, symmetric: 2 x 2
        (0, 0) 1
        (0, 1) 2
        (1, 0) 2
        (1, 1) 3
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
        &expect![[r#"
        MatrixMarket, array, real, skew-symmetric: 3 x 3
        (0, 1) -1
        (0, 2) -2
        (1, 0) 1
        (1, 2) -3
        (2, 0) 2
        (2, 1) 3
    "#]],
    );
    mtx(
        "%%MatrixMarket matrix array real general\n0 3\n",
        &expect![[r#"
        MatrixMarket, array, real, general: 0 x 3
    "#]],
    );
}

#[test]
fn bad_matrix_market() {
    let bad = |text: &str, expected: &Expect| fails(FileKind::MatrixMarket, text, expected);
    let real = |text: &str, expected: &Expect| {
        bad(&format!("%%MatrixMarket matrix coordinate real general\n{text}"), expected);
    };
    bad(
        "",
        &expect![[r#"
        <bytes>:1: this is no MatrixMarket file
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "1 2 3\n",
        &expect![[r#"
        <bytes>:1: this is no MatrixMarket file
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "%%MatrixMarket matrix coordinate real\n",
        &expect![[r#"
        <bytes>:1: the first line is not complete
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "%%MatrixMarket vector coordinate real general\n",
        &expect![[r#"
        <bytes>:1: this is no MatrixMarket file of a matrix
        it begins with a line such as `%%MatrixMarket matrix coordinate real general`"#]],
    );
    bad(
        "%%MatrixMarket matrix sparse real general\n",
        &expect!["<bytes>:1: `sparse` is neither `coordinate` nor `array`"],
    );
    bad(
        "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n1 1 2 0.5\n",
        &expect!["<bytes>:3: the element (1, 1) of a hermitian matrix is not real"],
    );
    bad(
        "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 2\n",
        &expect!["<bytes>:3: the value is missing"],
    );
    bad(
        "%%MatrixMarket matrix coordinate quaternion general\n",
        &expect!["<bytes>:1: there are no values of type `quaternion`"],
    );
    bad(
        "%%MatrixMarket matrix coordinate real diagonal\n",
        &expect!["<bytes>:1: there is no symmetry `diagonal`"],
    );
    bad(
        "%%MatrixMarket matrix array pattern general\n",
        &expect!["<bytes>:1: an array cannot be a pattern"],
    );
    bad(
        "%%MatrixMarket matrix coordinate pattern skew-symmetric\n",
        &expect!["<bytes>:1: a pattern cannot be skew-symmetric"],
    );
    bad(
        "%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n",
        &expect!["<bytes>:2: a matrix of shape 3 x 4 cannot be symmetric"],
    );
    bad(
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n",
        &expect!["<bytes>:3: the element (1, 1) of a skew-symmetric matrix is not 0"],
    );
    bad(
        "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n",
        &expect!["<bytes>:3: -9223372036854775808 cannot be negated"],
    );
    real("", &expect!["<bytes>:1: it ends before the line with its size"]);
    real(
        "3 3\n",
        &expect!["<bytes>:2: the size line must hold rows, columns and entries, not `3 3`"],
    );
    real(
        "3 3 -1\n",
        &expect!["<bytes>:2: the size line must hold rows, columns and entries, not `3 3 -1`"],
    );
    real(
        "% only\n3 3 99999999999999999999\n",
        &expect![[
            r#"<bytes>:3: the size line must hold rows, columns and entries, not `3 3 99999999999999999999`"#
        ]],
    );
    real(
        "3 3 1000000000000000000\n1 1 1\n",
        &expect!["<bytes>:3: it ends after 1 of 1000000000000000000 entries"],
    );
    real(
        "3 3 1\n1 1 1\n2 2 2\n",
        &expect!["<bytes>:4: there are more than the 1 entry of the header"],
    );
    real("3 3 2\n1 1 1\n4 2 2\n", &expect!["<bytes>:4: row 4 is not among 1 to 3"]);
    real("3 3 1\n0 1 1\n", &expect!["<bytes>:3: row 0 is not among 1 to 3"]);
    real("3 3 1\n1 1.5 1\n", &expect!["<bytes>:3: the column is `1.5`, not a positive integer"]);
    real("3 3 1\n1\n", &expect!["<bytes>:3: the column is missing"]);
    real("3 3 1\n1 2\n", &expect!["<bytes>:3: the value is missing"]);
    real("3 3 1\n1 2 x\u{7}y\n", &expect![[r#"<bytes>:3: the value is `x\u{7}y`, not a number"#]]);
    real("3 3 1\n1 2 3 4\n", &expect!["<bytes>:3: there is `4` behind the entry"]);
    real("3 3 1\n1 2 3.4.5\n", &expect!["<bytes>:3: the value is `3.4.5`, not a number"]);
    bad(
        "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 3.5\n",
        &expect!["<bytes>:3: the value is `3.5`, not an integer of 64 bits"],
    );
    bad(
        "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 99999999999999999999\n",
        &expect!["<bytes>:3: the value `99999999999999999999` does not fit 64 bits"],
    );
    bad(
        "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 9223372036854775808\n",
        &expect!["<bytes>:3: the value `9223372036854775808` does not fit 64 bits"],
    );
    bad(
        "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2\n",
        &expect!["<bytes>:3: the value is missing"],
    );
    real("3 3 1\n-1 1 1\n", &expect!["<bytes>:3: the row is `-1`, which is negative"]);
    real(
        "3 3 0\n1 1 1\n",
        &expect!["<bytes>:3: there are entries, but the header says that there are none"],
    );
    bad(
        "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2 3 4\n",
        &expect!["<bytes>:3: there is `4` behind the entry"],
    );
    bad(
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
        &expect!["<bytes>:5: it ends after 3 of 4 entries"],
    );
    bad(
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n5\n",
        &expect!["<bytes>:7: there are more than the 4 entries of the header"],
    );
    bad(
        "%%MatrixMarket matrix array real general\n1000000000000 1000000000000\n1\n",
        &expect!["<bytes>:3: it ends after 1 of 1000000000000000000000000 entries"],
    );
}
