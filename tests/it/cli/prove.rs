//! `dastac verify`.

use super::*;

#[test]
fn proofs_are_listed() {
    let folder = Folder::new(SYMMETRIC);
    expect![[r#"
        tensor  claim, for all sizes                                          result
        y       statements are the products, restricted to unique elements    proven
        y       loops execute each instance once, at the right positions      proven
        y       parallel iterations write distinct elements                   proven
        y       elements are set before they are added to or read             proven
        y       one place for each stored element, within the buffer          proven
        a       one place for each stored element, within the buffer          proven
        B       one place for each stored element, within the buffer          proven
        x       one place for each stored element, within the buffer          proven
        y       packing, unpacking and checks of inputs follow the structure  proven
        a       packing, unpacking and checks of inputs follow the structure  proven
        B       packing, unpacking and checks of inputs follow the structure  proven
        x       packing, unpacking and checks of inputs follow the structure  proven

        12 proven
    "#]]
    .assert_eq(&folder.works("verify p.stur"));
}

/// A comparison that is not affine leaves all but the layouts open.
#[test]
fn undecided_is_an_error_only_if_strict() {
    let folder = Folder::new("symbols: N\ny(i) := x(i) * (i * i < N)\nx:D(i) := (0 <= i < N)\n");
    expect![[r#"
        tensor  claim, for all sizes                                          result
        y       statements are the products, restricted to unique elements    undecided (something that is not affine decides what is executed)
        y       loops execute each instance once, at the right positions      undecided (something that is not affine decides what is executed)
        y       parallel iterations write distinct elements                   undecided (something that is not affine decides what is executed)
        y       elements are set before they are added to or read             undecided (something that is not affine decides what is executed)
        y       one place for each stored element, within the buffer          proven
        x       one place for each stored element, within the buffer          proven
        y       packing, unpacking and checks of inputs follow the structure  proven
        x       packing, unpacking and checks of inputs follow the structure  proven

        4 proven, 4 undecided
    "#]]
    .assert_eq(&folder.works("verify p.stur"));
    assert_eq!(folder.dastac("verify p.stur --strict").status.code(), Some(1));
    let json: serde_json::Value =
        serde_json::from_str(&folder.works("verify p.stur --json")).unwrap();
    assert_eq!(json["proven"], 4);
    assert_eq!(json["undecided"], 4);
    assert_eq!(json["checks"][0]["tensor"], "y");
    assert_eq!(json["checks"][0]["result"], "undecided");
    assert_eq!(json["checks"][5]["tensor"], "x");
    assert_eq!(json["checks"][0]["property"], "statements");
}
