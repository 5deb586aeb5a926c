//! `dastac verify`.

use super::*;

#[test]
fn proofs_are_listed() {
    let folder = Folder::new(SYMMETRIC);
    expect![[r#"
        tensor  claim, for all sizes                                        result
        y       statements are the products, restricted to unique elements  proven
        y       loops execute each instance once, at the right positions    proven
        y       parallel iterations write distinct elements                 proven
        y       elements are set before they are added to or read           proven
        y       one place for each stored element, within the buffer        proven
        a       one place for each stored element, within the buffer        proven
        B       one place for each stored element, within the buffer        proven
        x       one place for each stored element, within the buffer        proven

        8 proven
    "#]]
    .assert_eq(&folder.works("verify p.stur"));
}

/// The layout of rank 6 is the part that is not decided.
#[test]
fn undecided_is_an_error_only_if_strict() {
    let program = "symbols: N
y(i, j) := T(i, i, j, j, i, j)
T:D(i, j, k, l, m, n) := (0 <= i < N) * (0 <= j < N) * (0 <= k < N) * (0 <= l < N) * (0 <= m < N) * (0 <= n < N)
";
    let folder = Folder::new(program);
    expect![[r#"
        tensor  claim, for all sizes                                        result
        y       statements are the products, restricted to unique elements  proven
        y       loops execute each instance once, at the right positions    proven
        y       parallel iterations write distinct elements                 proven
        y       elements are set before they are added to or read           proven
        y       one place for each stored element, within the buffer        proven
        T       one place for each stored element, within the buffer        undecided (rank above 5)

        5 proven, 1 undecided
    "#]]
    .assert_eq(&folder.works("verify p.stur"));
    assert_eq!(folder.dastac("verify p.stur --strict").status.code(), Some(1));
    let json: serde_json::Value =
        serde_json::from_str(&folder.works("verify p.stur --json")).unwrap();
    assert_eq!(json["proven"], 5);
    assert_eq!(json["undecided"], 1);
    assert_eq!(json["checks"][5]["tensor"], "T");
    assert_eq!(json["checks"][5]["result"], "undecided");
    assert_eq!(json["checks"][0]["property"], "statements");
}
