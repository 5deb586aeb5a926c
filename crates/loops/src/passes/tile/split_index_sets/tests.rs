//! Nests are cut where their selections change, and compute the same.

use super::super::tests::pieces;
use proptest::prelude::*;

fn check(body: &str) -> String {
    pieces("split-index-sets", body)
}

#[test]
fn a_mirrored_band() {
    // The last rows are shorter than the others, and stored in another way.
    expect_test::expect![[r#"
        parallel i = 0 to N - 2 {
          A[i] = sum(j = max(0, i - 3) to i) B[4 * j + i] * C[j]
        }
        parallel i = max(0, N - 2) to N {
          A[i] = sum(j = max(0, i - 3) to i) B[select(j + 3 >= N, N * j, 4 * j) + i] * C[j]
        }
    "#]].assert_eq(&check(
        "parallel i = 0 to N { A[i] = sum(j = max(0, i - 3) to i) B[select(j + 3 >= N, N * j + i, 4 * j + i)] * \
        C[j] }",
    ));
}

#[test]
fn above_and_below() {
    expect_test::expect![[r#"
        if -2 * M - 1 < 0 {
          parallel i = 0 to N {
            A[i] = sum(j = max(0, i - M) to i) B[10 * j + 2 * i] * C[j] + sum(j = i to min(N, i + M + 1)) B[10 * i + j] * C[j]
          }
        }
    "#]].assert_eq(&check(
        "parallel i = 0 to N { if i - M < M + i + 1 {
           A[i] = sum(j = max(0, i - M) to min(N, i + M + 1)) B[select(j >= i, 10 * i + j, 10 * j + 2 * i)] * C[j]
         } }",
    ));
}

#[test]
fn pieces_that_move_alike_stay() {
    expect_test::expect![[r#"
        parallel i = 0 to N {
          A[i] = sum(j = 0 to i) B[select(i >= M, N * i, 2 * i + 3) + j] * C[j]
        }
    "#]].assert_eq(&check(
        "parallel i = 0 to N { A[i] = sum(j = 0 to i) B[select(i >= M, N * i + j, 2 * i + j + 3)] * C[j] }",
    ));
}

#[test]
fn a_point_that_both_pieces_have() {
    expect_test::expect![[r#"
        if N <= 3 {
          parallel i = 0 to N {
            A[i] = sum(j = 0 to N) B[select(j >= 1, N * j, 10 * j) + i] * C[j]
          }
        } else {
          parallel i = 0 to N {
            A[i] = sum(j = 0 to N) B[10 * j + i] * C[j]
          }
        }
    "#]].assert_eq(&check(
        "parallel i = 0 to N { A[i] = sum(j = 0 to N) B[select(N <= 3 and j >= 1 or j == 0, N * j + i, 10 * j + \
        i)] * C[j] }",
    ));
}

#[test]
fn what_cannot_be_decided() {
    let body = "parallel i = 0 to N { A[i] = sum(j = 0 to N) B[select(j * j < i, i, j)] * C[j] }";
    expect_test::expect![[r#"
        parallel i = 0 to N {
          A[i] = sum(j = 0 to N) B[select(j * j < i, i, j)] * C[j]
        }
    "#]]
    .assert_eq(&check(body));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn pieces_keep_the_meaning(choices in prop::collection::vec(0usize..1000, 60)) {
        let mut choices = choices.into_iter().cycle();
        let mut choose = |n: usize| choices.next().unwrap_or(0) % n;
        let term = |choose: &mut dyn FnMut(usize) -> usize| {
            let name = ["i", "k", "j", "j", "N", "M"][choose(6)];
            match choose(3) {
                0 => format!("{name} + {}", choose(4)),
                1 => format!("{name} - {}", choose(4)),
                _ => name.to_owned(),
            }
        };
        let compared = |choose: &mut dyn FnMut(usize) -> usize| {
            let op = ["<", "<=", ">", ">=", "==", "!="][choose(6)];
            format!("{} {op} {}", term(choose), term(choose))
        };
        let mut condition = || match choose(4) {
            0 => format!("{} and {}", compared(&mut choose), compared(&mut choose)),
            1 => format!("{} and {} or {}", compared(&mut choose), compared(&mut choose), compared(&mut choose)),
            _ => compared(&mut choose),
        };
        let conditions = [condition(), condition(), condition()];
        let mut index = |stride: usize| {
            format!("{} * i + {} * k + {} * j", choose(stride), choose(3), choose(10))
        };
        let places = [index(10), index(10), index(9), index(4), index(4)];
        let bound = |choose: &mut dyn FnMut(usize) -> usize, upper: bool| match choose(5) {
            0 => term(choose).replace('j', "i"),
            1 if upper => "M".to_owned(),
            _ if upper => "N".to_owned(),
            _ => "0".to_owned(),
        };
        let (low, high) = (bound(&mut choose, false), bound(&mut choose, true));
        let (first, last) = (bound(&mut choose, false), bound(&mut choose, true));
        let (first, last) = (first.replace('k', "i"), last.replace('k', "i"));
        check(&format!(
            "parallel i = 0 to N {{ if {} {{ parallel k = max(0, {first}) to min(10, {last}) {{
               A[10 * i + k] += sum(j = max(0, {low}) to min(10, {high}))
                 B[select({}, {}, select({}, {}, {}))] * C[select({}, {}, {})]
             }} }} }}",
            ["N > 3", "i >= M"][choose(2)],
            conditions[0], places[0], conditions[1], places[1], places[2],
            conditions[2], places[3], places[4],
        ));
    }
}
