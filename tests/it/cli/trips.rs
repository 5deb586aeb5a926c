//! `dastac run --trips`.

use expect_test::{Expect, expect};

use super::{Folder, SYMMETRIC, example};

/// The table at the end of a report.
fn table(folder: &Folder, options: &str) -> String {
    let text = folder.works(&format!("run p.stur {options} --trips"));
    let (_, table) = text.split_once("\n\nloop ").unwrap();
    format!("loop {table}")
}

const SIGNAL: &str = "symbols: N, R
iters: O -> p, r
O(p) := I(p + r) * F(r)
O:D(p) := (0 <= p < N)
I:D(x) := (0 <= x < N + R - 1)
I:F := csf
F:D(r) := (0 <= r < R)
";

#[test]
fn strategies_of_a_convolution() {
    let folder = Folder::new(SIGNAL);
    let shows = |walking: &str, expected: &Expect| {
        let options = format!("-p N=1000 -p R=3 --density 0.01 --walking {walking}");
        expected.assert_eq(&table(&folder, &options));
    };
    shows(
        "subsections",
        &expect![[r#"
        loop    goes over                   trips  bound  min(n, k nnz)
        p       clears `O`                   1000      -
        pp, pp  search in `I`                   3      -
        pp, p   subsections of `I` along p      4     12  min(1000, 3 x 4)
          p     subsections of `I` along p     12     12  min(1000, 3 x 4)
            pr  elements of `I` along r        12     12  min(36, 3 x 4)
        1031 trips in all, counted on one thread
    "#]],
    );
    shows(
        "search",
        &expect![[r#"
        loop    goes over                trips  bound  min(n, k nnz)
        p       clears `O`                1000      -
        pp, pp  search in `I`                3      -
        pp, p   range of p, with `I`       995     12  min(1000, 3 x 4)
          pr    elements of `I` along r     12     12  min(36, 3 x 4)
        p       range of p, with `I`         5     12  min(1000, 3 x 4)
        2015 trips in all, counted on one thread
    "#]],
    );
    shows(
        "locate",
        &expect![[r#"
        loop      goes over      trips  bound  min(n, k nnz)
        p         clears `O`      1000      -
        p         range of p      1000     12  min(1000, 3 x 4)
          r       range of r      3000     12  min(36, 3 x 4)
            p, p  search in `I`   7215      -
            p     search in `I`     12      -
        12227 trips in all, counted on one thread
    "#]],
    );
}

#[test]
fn a_result_that_is_counted_first() {
    let folder = Folder::new(&example("sum_of_sparse_csr.stur"));
    expect![[r#"
        loop        goes over                     trips  bound  min(n, k nnz)
        count_C:    counts `C`
          x         clears `C.starts1`               21      -
          pi, i     range of i, with `B`             20     20  20
            pj, pj  elements of `A`, `B` along j     86    119  min(600, 61 + 58)
            pj      elements of `A` along j          13    119  min(600, 61 + 58)
            pj      elements of `B` along j          15    119  min(600, 61 + 58)
            pj      elements of `A` along j           0    119  min(600, 61 + 58)
          i         range of i                        0     20  20
            pj      elements of `A` along j           0    119  min(600, 61 + 58)
          x         upkeep                           20      -
        kernel:
          x         upkeep                           21      -
          pi, i     range of i, with `B`             20     20  20
            pj, pj  elements of `A`, `B` along j     86    119  min(600, 61 + 58)
            pj      elements of `A` along j          13    119  min(600, 61 + 58)
            pj      elements of `B` along j          15    119  min(600, 61 + 58)
            pj      elements of `A` along j           0    119  min(600, 61 + 58)
          i         range of i                        0     20  20
            pj      elements of `A` along j           0    119  min(600, 61 + 58)
        330 trips in all, counted on one thread
    "#]]
    .assert_eq(&table(&folder, "-p M=20 -p N=30"));
}

#[test]
fn rules_without_sparse_tensors() {
    let folder = Folder::new(SYMMETRIC);
    expect![[r#"
        loop  goes over   trips  bound  min(n, k nnz)
        i     clears `y`     10      -
        i     range          10      -
          j   range          55      -
        i     range           9      -
          j   range          45      -
        129 trips in all, counted on one thread
    "#]]
    .assert_eq(&table(&folder, "-p N=10 --threads 2 --verify"));
}

#[test]
fn a_preprocess_block_is_counted_too() {
    let folder = Folder::new(&example("manual_packed.stur"));
    expect![[r#"
        loop      goes over    trips  bound  min(n, k nnz)
        prepare:
          s       clears `B2`     21      -
          i       range            6      -
            j     range           21      -
        kernel:
          i       clears `y`       6      -
          i       range            6      -
            j     range           21      -
        81 trips in all, counted on one thread
    "#]]
    .assert_eq(&table(&folder, "-p N=6"));
}

#[test]
fn trips_as_json() {
    let folder = Folder::new(&example("spmv_csr.stur"));
    let report = folder.json("run p.stur -p M=4 -p N=6 --density 0.5 --trips --json");
    let text = serde_json::to_string_pretty(&report["trips"]).unwrap();
    expect![[r#"
        [
          {
            "function": "kernel",
            "loops": [
              {
                "bound": {
                  "all": 4,
                  "stored": [],
                  "value": 4
                },
                "depth": 0,
                "iterator": "i",
                "name": "i",
                "over": "range",
                "tensors": [],
                "trips": 4
              },
              {
                "bound": {
                  "all": 24,
                  "stored": [
                    {
                      "elements": 12,
                      "tensor": "A",
                      "times": 1
                    }
                  ],
                  "value": 12
                },
                "depth": 1,
                "iterator": "j",
                "name": "pj",
                "over": "elements",
                "tensors": [
                  "A"
                ],
                "trips": 12
              }
            ]
          }
        ]"#]]
    .assert_eq(&text);
}
