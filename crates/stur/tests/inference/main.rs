//! Inference compared with brute force: what is inferred must hold for the values that the reference evaluator
//! computes.

mod brute_force;
mod examples;
mod random;
mod scale;

use expect_test::{Expect, expect};

use brute_force::{analyse, check, structure};
use dastac_stur::infer::declarations;

/// Checks a program at the given symbols, and returns the printed structure of a tensor.
fn inferred(source: &str, samples: &[&[i64]], tensor: &str) -> String {
    let inferred = analyse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    for symbols in samples {
        check(&inferred, source, symbols).unwrap_or_else(|error| panic!("{error}\n{source}"));
    }
    structure(&inferred, inferred.program.find(tensor).unwrap())
}

const SYMMETRIC: &str = "V:D(i, j) := (0 <= i < N) * (0 <= j < N)
V:U(i, j) := (i <= j)
V:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)
W:D(i, j) := (0 <= i < N) * (0 <= j < N)
W:U(i, j) := (i <= j)
W:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)
S:D(i, j) := (0 <= i < N) * (0 <= j < N)
S:U(i, j) := (i < j)
S:R(i, j, ip, jp) := -1 * (0 <= j < i < N) * (ip = j) * (jp = i)
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
X:D(x, i) := (0 <= x < M) * (0 <= i < N)
w:D(x) := (0 <= x < M)
f:D(i) := (0 <= i < N)
T:D(i, j) := (0 <= i < N) * (0 <= j < N)
T:U(i, j) := (i = 0) + (i > 0) * (j = 0)
T:R(i, j, ip, jp) := (1 <= i <= j) * (ip = 0) * (jp = j - i) + (1 <= j < i) * (ip = i - j) * (jp = 0)
";

const SIZES: &[&[i64]] = &[&[0, 0], &[1, 1], &[2, 3], &[3, 5], &[5, 2]];

fn symmetric(rule: &str, expected: Expect) {
    let used: Vec<&str> = SYMMETRIC
        .lines()
        .filter(|line| {
            let name = line.split(':').next().unwrap();
            rule.contains(&format!("{name}(")) || rule.contains(&format!("{name}^-1("))
        })
        .collect();
    let source = format!("symbols: M, N\n{}\n{rule}\n", used.join("\n"));
    expected.assert_eq(&inferred(&source, SIZES, "O"));
}

#[test]
fn self_products() {
    symmetric(
        "O(i, j) := f(i) * f(j)",
        expect![[r#"
        box N x N
        U := (0 <= i <= j < N)
        R := (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j, k) := f(i) * f(j) * f(k)",
        expect![[r#"
            box N x N x N
            U := (0 <= i <= j <= k < N)
            R := (0 <= i <= k < j < N) * (ip = i) * (jp = k) * (kp = j)
            R := (0 <= j < i <= k < N) * (ip = j) * (jp = i) * (kp = k)
            R := (0 <= j <= k < i < N) * (ip = j) * (jp = k) * (kp = i)
            R := (0 <= k < i <= j < N) * (ip = k) * (jp = i) * (kp = j)
            R := (0 <= k < j < i < N) * (ip = k) * (jp = j) * (kp = i)
        "#]],
    );
    symmetric(
        "O(i, j, k, l) := f(i) * f(j) * f(k) * f(l)",
        expect![[r#"
        box N x N x N x N
        U := (0 <= i <= j <= k <= l < N)
        R sorts [[0, 1, 2, 3]]
    "#]],
    );
    symmetric(
        "O(i, j) := X(x, i) * X(x, j)",
        expect![[r#"
        box N x N
        U := (0 < M) * (0 <= i <= j < N)
        R := (0 < M) * (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := X(x, i) * X(x, j) * w(x)",
        expect![[r#"
        box N x N
        U := (0 < M) * (0 <= i <= j < N)
        R := (0 < M) * (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j, k, l) := f(i) * f(j) * w(k) * w(l)",
        expect![[r#"
        box N x N x M x M
        U := (0 <= i <= j < N) * (0 <= k <= l < M)
        R := (0 <= i <= j < N) * (0 <= l < k < M) * (ip = i) * (jp = j) * (kp = l) * (lp = k)
        R := (0 <= j < i < N) * (0 <= k <= l < M) * (ip = j) * (jp = i) * (kp = k) * (lp = l)
        R := (0 <= j < i < N) * (0 <= l < k < M) * (ip = j) * (jp = i) * (kp = l) * (lp = k)
    "#]],
    );
}

#[test]
fn operands() {
    symmetric(
        "O(i, j) := V(i, j) * W(i, j)",
        expect![[r#"
        box N x N
        U := (0 <= i <= j < N)
        R := (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := V(i, j) + W(j, i)",
        expect![[r#"
        box N x N
        U := (0 <= i <= j < N)
        R := (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := V(i, j) * S(i, j)",
        expect![[r#"
        box N x N
        U := (0 <= i < j < N)
        R := -1 * (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := S(i, j) * S(i, j)",
        expect![[r#"
        box N x N
        U := (0 <= i < j < N)
        R := (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j, k) := V(i, j) * w(k)",
        expect![[r#"
        box N x N x M
        U := (0 <= i <= j < N) * (0 <= k < M)
        R := (0 <= j < i < N) * (0 <= k < M) * (ip = j) * (jp = i) * (kp = k)
    "#]],
    );
    symmetric(
        "O(i) := V(i, j) * f(j)",
        expect![[r#"
        box N
        U := (0 <= i < N)
    "#]],
    );
    symmetric(
        "O(i, j) := V(i, k) * W(k, j)",
        expect![[r#"
        box N x N
        U := (0 <= i < N) * (0 <= j < N)
    "#]],
    );
    symmetric(
        "O(i, j) := V(i, k) * V(k, j)",
        expect![[r#"
        box N x N
        U := (0 <= i <= j < N)
        R := (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := V^-1(i, j)",
        expect![[r#"
        box N x N
        U := (0 <= i <= j < N)
        R := (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := V(i, j) + 2 * A(i, j)",
        expect![[r#"
        box N x N
        U := (0 <= i < N) * (0 <= j < N)
    "#]],
    );
    symmetric(
        "O(j, i) := 3 * V(i, j)",
        expect![[r#"
        box N x N
        U := (0 <= j <= i < N)
        R := (0 <= i < j < N) * (jp = i) * (ip = j)
    "#]],
    );
}

#[test]
fn dense_sums() {
    symmetric(
        "O(i, j) := A(i, j) + A(j, i)",
        expect![[r#"
        box N x N
        U := (0 <= i <= j < N)
        R := (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := A(i, j) + (-1) * A(j, i)",
        expect![[r#"
        box N x N
        U := (0 <= i < j < N)
        R := -1 * (0 <= j < i < N) * (ip = j) * (jp = i)
    "#]],
    );
    symmetric(
        "O(i, j) := A(i, j)",
        expect![[r#"
        box N x N
        U := (0 <= i < N) * (0 <= j < N)
    "#]],
    );
}

#[test]
fn automorphisms() {
    symmetric(
        "O(i, j, k) := A(i, j) * A(j, k) * A(k, i)",
        expect![[r#"
            box N x N x N
            U := (0 <= i < j < N) * (i < k < N) + (0 <= i <= k < N) * (j = i)
            R := (0 <= j < i < N) * (j <= k < N) * (ip = j) * (jp = k) * (kp = i)
            R := (0 <= k < j < N) * (k <= i < N) * (ip = k) * (jp = i) * (kp = j)
        "#]],
    );
    symmetric(
        "O(i, j, k, l) := A(i, k) * A(j, l)",
        expect![[r#"
            box N x N x N x N
            U := (0 <= i < j < N) * (0 <= k < N) * (0 <= l < N) + (0 <= i < N) * (0 <= k <= l < N) * (j = i)
            R := (0 <= j < i < N) * (0 <= k < N) * (0 <= l < N) * (ip = j) * (jp = i) * (kp = l) * (lp = k) + (0 <= i < N) * (0 <= l < k < N) * (j = i) * (ip = j) * (jp = i) * (kp = l) * (lp = k)
        "#]],
    );
    symmetric(
        "O(i, j, k, l) := V(i, k) * V(j, l)",
        expect![[r#"
            box N x N x N x N
            U := (0 <= i < j <= l < N) * (i <= k < N) + (0 <= i <= k <= l < N) * (j = i)
            R := (0 <= i <= k < N) * (i < l < j < N) * (ip = i) * (jp = l) * (kp = k) * (lp = j) + (0 <= i < j < N) * (i <= k <= j) * (l = i) * (ip = i) * (jp = l) * (kp = k) * (lp = j)
            R := (0 <= j < i <= k < N) * (j <= l < N) * (ip = j) * (jp = i) * (kp = l) * (lp = k) + (0 <= i <= l < k < N) * (j = i) * (ip = j) * (jp = i) * (kp = l) * (lp = k)
            R := (0 <= j < k < i < N) * (j <= l < N) * (ip = j) * (jp = k) * (kp = l) * (lp = i) + (0 <= j < i < N) * (j <= l <= i) * (k = j) * (ip = j) * (jp = k) * (kp = l) * (lp = i)
            R := (0 <= k < j <= l < N) * (k < i < N) * (ip = k) * (jp = j) * (kp = i) * (lp = l) + (0 <= j < i < l < N) * (k = j) * (ip = k) * (jp = j) * (kp = i) * (lp = l)
            R := (0 <= k < i < N) * (k < l < j < N) * (ip = k) * (jp = l) * (kp = i) * (lp = j) + (0 <= k < i <= j < N) * (l = k) * (ip = k) * (jp = l) * (kp = i) * (lp = j)
            R := (0 <= l < j < N) * (l < i <= k < N) * (ip = l) * (jp = i) * (kp = j) * (lp = k) + (0 <= i < j < k < N) * (l = i) * (ip = l) * (jp = i) * (kp = j) * (lp = k)
            R := (0 <= l < k < i < N) * (l < j < N) * (ip = l) * (jp = k) * (kp = j) * (lp = i) + (0 <= k < j < i < N) * (l = k) * (ip = l) * (jp = k) * (kp = j) * (lp = i)
        "#]],
    );
    symmetric(
        "O(i, j, k, l, r) := f(i) * f(j) * w(k) * w(l) * w(r)",
        expect![[r#"
            box N x N x M x M x M
            U := (0 <= i <= j < N) * (0 <= k <= l <= r < M)
            R sorts [[0, 1], [2, 3, 4]]
        "#]],
    );
    symmetric(
        "O(i, j) := S(i, k) * S(k, j)",
        expect![[r#"
            box N x N
            U := (0 <= i <= j < N - 1) + (0 <= i <= j < N) * (2 <= i + j)
            R := (0 <= j < i < N) * (-N + 3 <= j) * (ip = j) * (jp = i)
        "#]],
    );
    symmetric(
        "O(i, j, k) := A(i, j) * f(k) + A(j, k) * f(i) + A(k, i) * f(j)",
        expect![[r#"
            box N x N x N
            U := (0 <= i < j < N) * (i < k < N) + (0 <= i <= k < N) * (j = i)
            R := (0 <= j < i < N) * (j <= k < N) * (ip = j) * (jp = k) * (kp = i)
            R := (0 <= k < j < N) * (k <= i < N) * (ip = k) * (jp = i) * (kp = j)
        "#]],
    );
    symmetric(
        "O(i, j, k) := S(i, j) * f(k) + S(j, k) * f(i) + S(k, i) * f(j)",
        expect![[r#"
            box N x N x N
            U := (0 <= i < j < k < N)
            R := -1 * (0 <= i < k < j < N) * (ip = i) * (jp = k) * (kp = j)
            R := -1 * (0 <= j < i < k < N) * (ip = j) * (jp = i) * (kp = k)
            R := (0 <= j < k < i < N) * (ip = j) * (jp = k) * (kp = i)
            R := (0 <= k < i < j < N) * (ip = k) * (jp = i) * (kp = j)
            R := -1 * (0 <= k < j < i < N) * (ip = k) * (jp = j) * (kp = i)
        "#]],
    );
    symmetric(
        "O(i, j, k, l) := A(i, k) * A(j, l) + (-1) * A(j, k) * A(i, l)",
        expect![[r#"
            box N x N x N x N
            U := (0 <= i < j < N) * (0 <= k < l < N)
            R := -1 * (0 <= i < j < N) * (0 <= l < k < N) * (ip = i) * (jp = j) * (kp = l) * (lp = k)
            R := -1 * (0 <= j < i < N) * (0 <= k < l < N) * (ip = j) * (jp = i) * (kp = k) * (lp = l)
            R := (0 <= j < i < N) * (0 <= l < k < N) * (ip = j) * (jp = i) * (kp = l) * (lp = k)
        "#]],
    );
    symmetric(
        "O(i) := f(i) + (-1) * f(i)",
        expect![[r#"
            box N
            U := (0 = 1)
        "#]],
    );
    symmetric(
        "O(i, j) := f(i) * (i + j < N) * f(j) + f(k) * (0 <= k < N) * (i <= k) * (j <= k) * (i >= 0) * (j >= 0)",
        expect![[r#"
            box N x N
            U := (0 <= i <= j < N)
            R := (0 <= j < i < N) * (ip = j) * (jp = i)
        "#]],
    );
}

#[test]
fn toeplitz_is_inherited() {
    symmetric(
        "O(i, j) := T(i, j)",
        expect![[r#"
            box N x N
            U := (0 < i < N) * (j = 0) + (0 <= j < N) * (i = 0)
            R := (0 < j <= i < N) * (ip = i - j) * (jp = 0) + (0 < i < j < N) * (ip = 0) * (jp = j - i)
        "#]],
    );
}

#[test]
fn shifts_and_scalars() {
    let source = "symbols: N
f:D(i) := (0 <= i < N)
s() := f(i) * f(i)
O(i) := f(j) * (j = i + 1) * (i >= 0) * s()
";
    expect![[r#"
        box N - 1
        U := (0 <= i < N - 1)
    "#]]
    .assert_eq(&inferred(source, &[&[0], &[1], &[2], &[5]], "O"));
}

#[test]
fn sums_of_regions() {
    let source = "symbols: N
A:D(i, j) := (0 <= i < N) * (0 <= j < N)
O(j) := A(i, j) * (i = 1) * (0 <= j < N) + A(i, j) * (i = 3) * (0 <= j < N)
";
    expect![[r#"
        box N
        U := (2 <= N) * (0 <= j < N)
    "#]]
    .assert_eq(&inferred(source, &[&[0], &[1], &[3], &[5]], "O"));
}

#[test]
fn inherited() {
    symmetric(
        "O(i, j, k, l) := V(i, j) * T(k, l)",
        expect![[r#"
            box N x N x N x N
            U := (0 <= i <= j < N) * (0 < k < N) * (l = 0) + (0 <= i <= j < N) * (0 <= l < N) * (k = 0)
            R := (0 <= j < i < N) * (0 < k < l < N) * (ip = j) * (jp = i) * (kp = 0) * (lp = l - k) + (0 <= j < i < N) * (0 < k < N) * (0 <= l <= k) * (ip = j) * (jp = i) * (kp = k - l) * (lp = 0) + (0 <= j < i < N) * (0 <= l < N) * (k = 0) * (ip = j) * (jp = i) * (kp = 0) * (lp = l)
            R := (0 <= i <= j < N) * (0 < l <= k < N) * (ip = i) * (jp = j) * (kp = k - l) * (lp = 0) + (0 <= i <= j < N) * (0 < k < l < N) * (ip = i) * (jp = j) * (kp = 0) * (lp = l - k)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j) * T(i, j)",
        expect![[r#"
            box N x N
            U := (0 < i < N) * (j = 0) + (0 <= j < N) * (i = 0)
            R := (0 < j <= i < N) * (ip = i - j) * (jp = 0) + (0 < i < j < N) * (ip = 0) * (jp = j - i)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j) + 2 * T(i, j)",
        expect![[r#"
            box N x N
            U := (0 < i < N) * (j = 0) + (0 <= j < N) * (i = 0)
            R := (0 < j <= i < N) * (ip = i - j) * (jp = 0) + (0 < i < j < N) * (ip = 0) * (jp = j - i)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j) * A(i, j)",
        expect![[r#"
            box N x N
            U := (0 <= i < N) * (0 <= j < N)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j + 1) * (0 <= i) * (0 <= j)",
        expect![[r#"
            box N x N - 1
            U := (0 < i < N) * (j = 0) + (0 <= j < N - 1) * (i = 0)
            R := (0 < i < j < N - 1) * (ip = 0) * (jp = j - i) + (0 < j <= i < N) * (j < N - 1) * (ip = i - j) * (jp = 0)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j) + T(j, i)",
        expect![[r#"
            box N x N
            U := (0 <= j < N) * (i = 0)
            R := (0 <= j < i < N) * (ip = 0) * (jp = i - j)
            R := (0 < i <= j < N) * (ip = 0) * (jp = j - i)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j) * V(i, j)",
        expect![[r#"
            box N x N
            U := (0 <= i < N) * (0 <= j < N)
        "#]],
    );
    symmetric(
        "O(i, j, x) := T(i, j) * X(x, k)",
        expect![[r#"
            box N x N x M
            U := (0 < i < N) * (0 <= x < M) * (j = 0) + (0 <= j < N) * (0 <= x < M) * (i = 0)
            R := (0 < j <= i < N) * (0 <= x < M) * (ip = i - j) * (jp = 0) * (xp = x) + (0 < i < j < N) * (0 <= x < M) * (ip = 0) * (jp = j - i) * (xp = x)
        "#]],
    );
    symmetric(
        "O(i, j) := f(i) * (0 <= j < N)",
        expect![[r#"
            box N x N
            U := (0 <= i < N) * (j = 0)
            R := (0 <= i < N) * (0 < j < N) * (ip = i) * (jp = 0)
        "#]],
    );
    symmetric(
        "O(i, j) := f(i) * (i <= j < N)",
        expect![[r#"
            box N x N
            U := (0 <= i < N) * (j = i)
            R := (0 <= i < j < N) * (ip = i) * (jp = i)
        "#]],
    );
    symmetric(
        "O(i, j) := f(j - i) * (0 <= i < N) * (0 <= j < N)",
        expect![[r#"
            box N x N
            U := (0 <= j < N) * (i = 0)
            R := (0 < i <= j < N) * (ip = 0) * (jp = j - i)
        "#]],
    );
    symmetric(
        "O(i, j) := f(i + j)  * (0 <= i) * (0 <= j)",
        expect![[r#"
            box N x N
            U := (0 <= j < N) * (i = 0)
            R := (0 < i) * (0 <= j) * (i + j < N) * (ip = 0) * (jp = i + j)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, k) * f(k) * (0 <= j < N)",
        expect![[r#"
            box N x N
            U := (0 <= i < N) * (j = 0)
            R := (0 <= i < N) * (0 < j < N) * (ip = i) * (jp = 0)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j)  * (i >= 2)",
        expect![[r#"
            box N x N
            U := (2 <= i < N) * (j = 0) + (3 <= N) * (0 < j < N) * (i = 2)
            R := (0 < j < i - 1) * (i < N) * (ip = i - j) * (jp = 0) + (3 <= i < N) * (i - 1 <= j < N) * (ip = 2) * (jp = j - i + 2)
        "#]],
    );
    symmetric(
        "O(i) := T(i, k) * f(k)",
        expect![[r#"
            box N
            U := (0 <= i < N)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, j + k) * w(k) * (0 <= j) * (j + k < N) * (j < N)",
        expect![[r#"
            box N x N
            U := (0 < i < N) * (0 < j < N) * (N - M < j) + (0 < M) * (0 < i < N) * (j = 0) + (0 < M) * (0 <= j < N) * (i = 0)
            R := (0 < M) * (0 < i < j <= N - M) * (ip = 0) * (jp = j - i) + (0 < M) * (0 < j <= i < N) * (j <= N - M) * (ip = i - j) * (jp = 0)
        "#]],
    );
    symmetric(
        "O(i, j) := T^-1(i, j)",
        expect![[r#"
            box N x N
            U := (0 < i < N) * (j = 0) + (0 <= j < N) * (i = 0)
            R := (0 < j <= i < N) * (ip = i - j) * (jp = 0) + (0 < i < j < N) * (ip = 0) * (jp = j - i)
        "#]],
    );
    symmetric(
        "O(i, j) := T(i, k) * T(k, j)",
        expect![[r#"
            box N x N
            U := (0 <= i) * (0 <= j) * (i + j < N)
            R := (i < N <= i + j) * (j < N) * (ip = N - j - 1) * (jp = N - i - 1)
        "#]],
    );
    symmetric(
        "O(i) := 2 * (0 <= i < N)",
        expect![[r#"
            box N
            U := (0 < N) * (i = 0)
            R := (0 < i < N) * (ip = 0)
        "#]],
    );
}

#[test]
fn coefficients_with_symbols() {
    let source = "symbols: N, M
A(i, j) := B(i, j)
C(i, j) := B(i, j) * B(i, j) * (j < 2)
D(i, j) := B^-1(i, j)
E(i) := B(i, j) * B(i, j)
B:D(i, j) := (0 <= i < 3) * (0 <= j < 3)
B:U(i, j) := (j = 0)
B:R(i, j, ip, jp) := N() * M^-1() * (j = 1) * (ip = i) * (jp = 0) + -2 * N() * (j = 2) * (ip = i) * (jp = 0)
";
    for (tensor, expected) in [
        (
            "A",
            expect![[r#"
            box 3 x 3
            U := (0 <= i <= 2) * (j = 0)
            R := N() * M^-1() * (0 <= i <= 2) * (j = 1) * (ip = i) * (jp = 0)
            R := -2 * N() * (0 <= i <= 2) * (j = 2) * (ip = i) * (jp = 0)
        "#]],
        ),
        (
            "C",
            expect![[r#"
            box 3 x min(2, 3)
            U := (0 <= i <= 2) * (j = 0)
            R := N() * N() * M^-1() * M^-1() * (0 <= i <= 2) * (j = 1) * (ip = i) * (jp = 0)
        "#]],
        ),
        (
            "D",
            expect![[r#"
            box 3 x 3
            U := (0 <= i <= 2) * (j = 0)
            R := N^-1() * M() * (0 <= i <= 2) * (j = 1) * (ip = i) * (jp = 0)
            R := -0.5 * N^-1() * (0 <= i <= 2) * (j = 2) * (ip = i) * (jp = 0)
        "#]],
        ),
        (
            "E",
            expect![[r#"
            box 3
            U := (0 <= i <= 2)
        "#]],
        ),
    ] {
        expected.assert_eq(&inferred(source, &[&[1, 1], &[2, 3], &[0, 5]], tensor));
    }
}

/// The errors of a program whose head has a structure of its own, or what was made of it.
fn declared(rule: &str, expected: Expect) {
    let source = format!(
        "symbols: N\nf:D(i) := (0 <= i < N)\nA:D(i, j) := (0 <= i < N) * (0 <= j < N)\n{rule}\n"
    );
    let (program, _) = dastac_stur::load(&source).unwrap();
    let context = dastac_poly::Context::new().unwrap();
    let text = match dastac_stur::infer::infer(&program, &context) {
        Ok(_) => inferred(&source, &[&[0], &[1], &[2], &[5]], "O"),
        Err(dastac_stur::infer::InferError::User(errors)) => errors
            .iter()
            .map(|error| format!("{} {}\n  {}\n", error.code, error.message, error.labels[0].1))
            .collect(),
        Err(error) => panic!("{error:?}"),
    };
    expected.assert_eq(&text);
}

#[test]
fn declared_structures_of_heads() {
    // Another half than inference keeps; a part of the redundancy only; more than what may be non-zero.
    declared(
        "O(i, j) := f(i) * f(j)\nO:U(i, j) := (j <= i)\nO:R(i, j, ip, jp) := (i < j) * (ip = j) * (jp = i)",
        expect![[r#"
            box N x N
            U := (0 <= j <= i < N)
            R := (0 <= i < j < N) * (ip = j) * (jp = i)
        "#]],
    );
    declared(
        "O(i, j) := f(i) * f(j)\nO:U(i, j) := (i <= j) + (j < i) * (j = 0)\n\
        O:R(i, j, ip, jp) := (0 < j < i) * (ip = j) * (jp = i)",
        expect![[r#"
            box N x N
            U := (0 <= i <= j < N) + (0 < i < N) * (j = 0)
            R := (0 < j < i < N) * (ip = j) * (jp = i)
        "#]],
    );
    declared(
        "O(i, j) := A(i, j) * (i = j)\nO:U(i, j) := (i <= j)",
        expect![[r#"
        box N x N
        U := (0 <= i < N) * (j = i)
    "#]],
    );
    declared(
        "O(i, j, k, l) := f(i) * f(j) * f(k) * f(l)\nO:U(i, j, k, l) := (i <= j) * (k <= l)\n\
        O:R(i, j, k, l, a, b, c, d) := (i > j) * (k <= l) * (a = j) * (b = i) * (c = k) * (d = l) + (i <= j) * (k > \
        l) * (a = i) * (b = j) * (c = l) * (d = k) + (i > j) * (k > l) * (a = l) * (b = k) * (c = j) * (d = i) * (k = \
        l + 1) + (i > j) * (k > l + 1) * (a = j) * (b = i) * (c = l) * (d = k)",
        expect![[r#"
            box N x N x N x N
            U := (0 <= i <= j < N) * (0 <= k <= l < N)
            R := (0 <= j < i < N) * (0 <= l < k - 1) * (k < N) * (ip = j) * (jp = i) * (kp = l) * (lp = k) + (0 <= i <= j < N) * (0 <= l < k < N) * (ip = i) * (jp = j) * (kp = l) * (lp = k) + (0 <= j < i < N) * (0 <= k <= l < N) * (ip = j) * (jp = i) * (kp = k) * (lp = l) + (0 <= j < i < N) * (0 < k < N) * (l = k - 1) * (ip = l) * (jp = l + 1) * (kp = j) * (lp = i)
        "#]],
    );
    declared(
        "O(i, j) := A(i, j) + (-1) * A(j, i)\nO:D(i, j) := (0 <= i < N) * (0 <= j < N)\nO:U(i, j) := (j < i)\n\
        O:R(i, j, ip, jp) := -1 * (i < j) * (ip = j) * (jp = i)",
        expect![[r#"
            box N x N
            U := (0 <= j < i < N)
            R := -1 * (0 <= i < j < N) * (ip = j) * (jp = i)
        "#]],
    );
    // Not so.
    declared(
        "O(i, j) := f(i) * f(j)\nO:U(i, j) := (i <= j)",
        expect![[r#"
        E0309 the declared structure of `O` does not follow from its rule
          an element may be non-zero that this makes zero, for example at (1, 0) with N = 2
    "#]],
    );
    declared(
        "O(i, j) := f(i) * f(j)\nO:U(i, j) := (i <= j)\nO:R(i, j, ip, jp) := -1 * (i > j) * (ip = j) * (jp = i)",
        expect![[r#"
            E0309 the declared structure of `O` does not follow from its rule
              an element may differ from what `:R` makes it, for example at (1, 0) with N = 2
        "#]],
    );
    declared(
        "O(i, j) := A(i, j)\nO:U(i, j) := (i <= j)\nO:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)",
        expect![[r#"
            E0309 the declared structure of `O` does not follow from its rule
              an element may differ from what `:R` makes it, for example at (1, 0) with N = 2
        "#]],
    );
    declared(
        "O(i, j) := A(i, j) * (i < j)\nO:U(i, j) := (i < j)\nO:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)",
        expect![[r#"
            E0309 the declared structure of `O` does not follow from its rule
              an element may differ from what `:R` makes it, for example at (1, 0) with N = 2
        "#]],
    );
    declared(
        "O(i, j) := f(i) * f(j)\nO:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)",
        expect![[r#"
            E0306 an element of `O` is both unique and redundant
              for example at (1, 0) with N = 2
        "#]],
    );
}

/// Of a dynamic tensor the whole box may be non-zero; what is computed from it has the structure that the other factors
/// give.
#[test]
fn dynamic_tensors() {
    let declared = |rule: &str| {
        let source = format!(
            "symbols: N, R
            {rule}
            A:D(i, j) := (0 <= i < N) * (0 <= j < N)
            A:F := csc
            L:D(i, j) := (0 <= i < N) * (0 <= j < N)
            L:U(i, j) := (j <= i)
            I:D(i) := (0 <= i < N)
            I:F := C
            F:D(r) := (0 <= r < R)"
        );
        let inferred = analyse(&source)?;
        let ids = inferred.program.tensor_ids();
        let lines: Result<Vec<_>, _> = ids.map(|id| declarations(&inferred, id)).collect();
        Ok::<String, String>(lines.unwrap().concat().join("\n"))
    };
    expect![[r#"
        O:D(i, j) := (0 <= i < N) * (0 <= j < N)
        O:U(i, j) := (j <= i)
        A:D(i, j) := (0 <= i < N) * (0 <= j < N)
        A:F(i, j) := dense(j), compressed(i)
        L:D(i, j) := (0 <= i < N) * (0 <= j < N)
        L:U(i, j) := (j <= i)"#]]
    .assert_eq(&declared("O(i, j) := A(i, j) * L(i, j) + L(i, j) * A(j, i)").unwrap());
    expect![[r#"
        O:D(p) := (0 <= p < N)
        O:F(p) := compressed(p)
        I:D(i) := (0 <= i < N)
        I:F(i) := compressed(i)
        F:D(r) := (0 <= r < R)"#]]
    .assert_eq(&declared("O(p) := I(p + r) * F(r)\nO:D(p) := (0 <= p < N)\nO:F := C").unwrap());
    // Redundant elements of a dynamic tensor are stored too.
    expect![[r#"
        O:D(i, j) := (0 <= i < N) * (0 <= j < N)
        O:F(i, j) := dense(i), compressed(j)
        A:D(i, j) := (0 <= i < N) * (0 <= j < N)
        A:F(i, j) := dense(j), compressed(i)"#]]
    .assert_eq(&declared("O(i, j) := A(i, j) + A(j, i)\nO:F := csr").unwrap());
    expect![[r#"
        O:D(i, j) := (0 <= i < N) * (0 <= j < N)
        O:U(i, j) := (i <= j)
        O:R(i, j, ip, jp) := (j < i) * (ip = j) * (jp = i)
        A:D(i, j) := (0 <= i < N) * (0 <= j < N)
        A:F(i, j) := dense(j), compressed(i)"#]]
    .assert_eq(&declared("O(i, j) := A(i, j) + A(j, i)").unwrap());
    assert!(declared("T(i) := A(i, j)\nO(i) := T^-1(i)").is_ok());
}

/// In other semirings than that of sums and products, products disappear in the same places.
#[test]
fn other_semirings() {
    let structure = |rule: &str| {
        let source = format!(
            "symbols: M, N\n{SYMMETRIC}\n{rule}\n\
            z() := V(i, i) * W(i, i) * S(i, j) * A(i, i) * X(x, i) * w(x) * f(i) * T(i, i)"
        );
        let inferred = analyse(&source)?;
        let lines = declarations(&inferred, inferred.program.find("O").unwrap());
        Ok::<String, String>(lines.unwrap().join("\n"))
    };
    expect![[r#"
        O:D(i, k) := (0 <= i < N) * (0 <= k < N)
        # O:U(i, k) := (0 < k)"#]]
    .assert_eq(&structure("O(i, k) := min(j) A(i, j) + V(j, k) * (j <= i) * (j < k)").unwrap());
    // The sum has this symmetry, which is not looked for here.
    expect![[r#"
        O:D(i, j) := (0 <= i < N) * (0 <= j < N)
        # O:U(i, j) := (i <= j)
        # O:R(i, j, ip, jp) := (j < i) * (ip = j) * (jp = i)"#]]
    .assert_eq(&structure("O(i, j) := max() f(i) * f(j)").unwrap());
    expect![[r#"
        O:D(i) := (0 <= i < N)
        # O:U(i) := (i < N - 1)"#]]
    .assert_eq(&structure("O(i) := or(j) T(i, j) * A(i, j) * (i < j)").unwrap());
    assert!(structure("O(i) := max(j) S(i, j) + f(j)").unwrap_err().contains("E0900"));
}

const IMAGES: &str = "I:D(h, c) := (0 <= h < N) * (0 <= c < 2)
L:D(i, j) := (0 <= i < N) * (0 <= j < N)
L:U(i, j) := (j <= i)
F:D(r, c) := (0 <= r < M) * (0 <= c < 2)
G:D(r) := (0 <= r < 3)
K:D(p) := (0 <= p < M)
f:D(i) := (0 <= i < N)
";

fn with_images(rule: &str) -> String {
    let used = |line: &&str| rule.contains(&format!("{}(", line.split(':').next().unwrap()));
    let used: Vec<&str> = IMAGES.lines().filter(used).collect();
    format!("symbols: M, N\n{}\n{rule}\n", used.join("\n"))
}

/// Subscripts are sums of multiples of several iterators and constants: what is outside of the operands' dimensions is
/// zero.
#[test]
fn convolutions() {
    let cases = [
        (
            "O(p) := I(p + r, c) * F(r, c)\nO:D(p) := (0 <= p < N)",
            expect![[r#"
            box N
            U := (0 < M) * (0 <= p < N)
        "#]],
        ),
        (
            "O(p) := I(2 * p + r - 1, c) * F(r, c)\nO:D(p) := (0 <= p < M)",
            expect![[r#"
            box M
            U := (0 < N) * (0 <= p < M) * (2 <= 2 * p + M) * (2 * p <= N)
        "#]],
        ),
        (
            "O(p) := I(p + 3 * r, c) * G(r)\nO:D(p) := (0 <= p < N - 6)",
            expect![[r#"
            box N - 6
            U := (0 <= p < N - 6)
        "#]],
        ),
        (
            "O(p) := I(2 * p + r - 1, c) * G(r) * K(p)",
            expect![[r#"
            box M
            U := (0 < N) * (0 <= p < M) * (2 * p <= N)
        "#]],
        ),
        (
            "O(p) := I(p + r + s - 2, c) * G(r) * G(s) * (0 <= p < N)",
            expect![[r#"
            box N
            U := (0 <= p < N)
        "#]],
        ),
        (
            "O(p) := I(p - r, 2 * c - 1) * G(r) * (0 <= p < N + 2) * (0 <= c < 2)",
            expect![[r#"
            box N + 2
            U := (0 < N) * (0 <= p <= N + 1)
        "#]],
        ),
        (
            "O(p) := I(N - 1 - p, 0) + I(M + p, 1) * (p < N)\nO:D(p) := (0 <= p < N + M)",
            expect![[r#"
            box M + N
            U := (0 <= p < N)
        "#]],
        ),
        (
            "O(p, q) := L(p + r, q - p + r) * G(r)\nO:D(p, q) := (0 <= p < N) * (0 <= q < N)",
            expect![[r#"
                box N x N
                U := (0 <= q < N) * (2 * p - N < q <= 2 * p) * (p - 2 <= q)
            "#]],
        ),
        (
            "O(i) := f(i) + f(i + j)\nO:D(i) := (0 <= i < N)",
            expect![[r#"
            box N
            U := (0 <= i < N)
        "#]],
        ),
    ];
    for (rule, expected) in cases {
        expected.assert_eq(&inferred(&with_images(rule), SIZES, "O"));
    }
}

/// An error says which dimensions would bound an iterator, if any would.
#[test]
fn underdetermined_bounds() {
    let cases = [
        (
            "O(i) := f(j) * (i = j - 1)",
            expect![[r#"
            E0302 `O` is computed at a negative index or outside its dimensions
              "O(i) := f(j) * (i = j - 1)": for example at (-1) with M = 0, N = 1
              = restrict the iterators by comparisons such as `(0 <= i)`, or give the head's dimensions, such as `O:D(i) := (0 <= i < N - 1)`
        "#]],
        ),
        (
            "O(p) := I(p + r, c) * F(r, c)",
            expect![[r#"
            E0302 `O` is computed at a negative index or outside its dimensions
              "O(p) := I(p + r, c) * F(r, c)": for example at (-1) with M = 2, N = 1
              = restrict the iterators by comparisons such as `(0 <= p)`, or give the head's dimensions, such as `O:D(p) := (0 <= p < N)`
        "#]],
        ),
        (
            "O(p, m) := I(p + r - 1, c) * F(r, m) * L(c, m)",
            expect![[r#"
            E0302 `O` is computed at a negative index or outside its dimensions
              "O(p, m) := I(p + r - 1, c) * F(r, m) * L(c, m)": for example at (-1, 1) with M = 3, N = 2
              = restrict the iterators by comparisons such as `(0 <= p)`, or give the head's dimensions, such as `O:D(p, m) := (0 <= p < N + 1) * (0 <= m < ..)`
        "#]],
        ),
        (
            "O(p) := I(p + r, c)",
            expect![[r#"
            E0301 iterator `p` is unbounded
              "I(p + r, c)": no comparison, dimension or structure bounds `p` here
              = `O:D(p) := (0 <= p < ..)` would settle it
        "#]],
        ),
        (
            "O(p, q) := I(p + r, q - p)",
            expect![[r#"
            E0301 iterator `p` is unbounded
              "I(p + r, q - p)": no comparison, dimension or structure bounds `p` here
              = `O:D(p, q) := (0 <= p < ..) * (0 <= q < ..)` would settle it
        "#]],
        ),
        (
            "O(i) := f(i) + f(i + j)",
            expect![[r#"
            E0301 iterator `i` is unbounded
              "f(i + j)": no comparison, dimension or structure bounds `i` here
              = `O:D(i) := (0 <= i < ..)` would settle it
        "#]],
        ),
        (
            "O() := I(p + r, c)",
            expect![[r#"
            E0301 iterator `p` is unbounded
              "I(p + r, c)": no comparison, dimension or structure bounds `p` here
              = add a comparison such as `(0 <= p < N)`: dimensions of tensors do not bound it
        "#]],
        ),
        (
            "O(p) := K(p) * f(i - j)",
            expect![[r#"
            E0301 iterator `i` is unbounded
              "K(p) * f(i - j)": no comparison, dimension or structure bounds `i` here
              = add a comparison such as `(0 <= i < N)`: dimensions of tensors do not bound it
        "#]],
        ),
    ];
    for (rule, expected) in cases {
        let source = with_images(rule);
        let (program, _) = dastac_stur::load(&source).unwrap();
        let context = dastac_poly::Context::new().unwrap();
        let Err(dastac_stur::infer::InferError::User(errors)) =
            dastac_stur::infer::infer(&program, &context)
        else {
            panic!("{rule}")
        };
        let lines = errors.iter().map(|error| {
            let (span, label) = &error.labels[0];
            let place = &source[span.start..span.end];
            let hint = error.hint.as_deref().unwrap_or_default();
            format!("{} {}\n  \"{place}\": {label}\n  = {hint}\n", error.code, error.message)
        });
        expected.assert_eq(&lines.collect::<String>());
    }
}
