//! Where reductions within right-hand sides end, and what comparisons of values mean in them: spellings that are the
//! same.

use dastac_stur::parse;

/// Asserts that right-hand sides are the same.
fn same(one: &str, other: &str) {
    let rule = |body: &str| {
        let (file, diagnostics) = parse(&format!("y(i) := {body}"));
        assert!(diagnostics.is_empty(), "{body}: {diagnostics:?}");
        file
    };
    assert_eq!(rule(one), rule(other), "{one} is not {other}");
}

#[test]
fn summands_without_iterators_stand_beside_products() {
    same("2 * sum(j) A(i, j) + b(i)", "2 * (sum(j) A(i, j)) + b(i)");
    same("x(i) - sum(j) A(i, j) + b(i)", "x(i) - (sum(j) A(i, j)) + b(i)");
    same("x(i) - max(j) A(i, j) + b(i) - 1", "x(i) - (max(j) A(i, j)) + b(i) - 1");
    same("-min(j) A(i, j) + 1", "-(min(j) A(i, j)) + 1");
    same("2 * sum(j) A(i, j) + b(i) - B(i, j)", "2 * (sum(j) A(i, j) - B(i, j)) + b(i)");
    same("2 * sum(j) A(i, j) + 3 * sum(j) B(i, j)", "2 * (sum(j) A(i, j)) + 3 * (sum(j) B(i, j))");
    same(
        "2 * sum(j) A(i, j) * sum(k) B(j, k) + c(i)",
        "2 * (sum(j) A(i, j) * (sum(k) B(j, k))) + c(i)",
    );
    same("sum(j) sum(k) A(i, j, k) + b(i)", "sum(j) (sum(k) A(i, j, k)) + b(i)");
    same("mean(j) A(i, j) * max(k) B(j, k) + b(i)", "(mean(j) A(i, j) * (max(k) B(j, k))) + b(i)");
    same("count(j) A(i, j) + b(i)", "(count(j) A(i, j)) + b(i)");
    // A semiring's sums.
    same("min(d(i), min(j) e(j) + E(i, j))", "min(d(i), (min(j) e(j) + E(i, j)))");
    same("2 * min(j) A(i, j) + B(j, i) + b(i)", "2 * (min(j) A(i, j) + B(j, i)) + b(i)");
}

#[test]
fn factors_without_iterators_stand_behind_quotients_and_statistics() {
    same("x(i) / sum(j) A(i, j) * b(i)", "x(i) / (sum(j) A(i, j)) * b(i)");
    same("x(i) / sum(j) A(i, j) / N * w(j)", "x(i) / (sum(j) A(i, j) / N * w(j))");
    same("1 / max(j) A(i, j) * (i < 3)", "1 / (max(j) A(i, j)) * (i < 3)");
    same("var(j) A(i, j) * N / (N - 1)", "(var(j) A(i, j)) * N / (N - 1)");
    same("norm(j) A(i, j) * B(i, j) * b(i)", "(norm(j) A(i, j) * B(i, j)) * b(i)");
    same("2 * argmax(j) A(i, j) * 3 + 1", "2 * (argmax(j) A(i, j)) * 3 + 1");
    same("2 ^ norm(j) A(i, j) * b(i)", "2 ^ (norm(j) A(i, j)) * b(i)");
}

#[test]
fn comparisons_belong_to_the_reduction_whose_iterators_they_have() {
    same(
        "min(j) sum(k) (X(i, k) - X(j, k))^2 * (i != j)",
        "min(j) (sum(k) (X(i, k) - X(j, k))^2) * (i != j)",
    );
    same("min(j) norm(k) X(j, k) * (i != j)", "min(j) (norm(k) X(j, k)) * (i != j)");
    same("max(j) max(k) X(j, k) * (k < j)", "max(j) (max(k) X(j, k) * (k < j))");
    same(
        "1 - min(j) sum(k) (X(i, k) - X(j, k))^2 * (i != j) + 5",
        "1 - (min(j) (sum(k) (X(i, k) - X(j, k))^2) * (i != j)) + 5",
    );
}

#[test]
fn summands_leave_all_reductions_without_their_iterators() {
    same("1 * sum(j) max(k) A(j, k) + 1", "1 * (sum(j) max(k) A(j, k)) + 1");
    same("1 + sum(j) max(k) A(j, k) + x(j)", "1 + (sum(j) (max(k) A(j, k)) + x(j))");
    same("1 - max(j) max(k) A(j, k) + 5", "1 - (max(j) (max(k) A(j, k))) + 5");
    same("sqrt(sum(j) min(k) A(j, k) * x(k) + 1)", "sqrt((sum(j) (min(k) A(j, k) * x(k))) + 1)");
    same(
        "2 * sum(j) x(j) + max(k) A(j, k) + b(k) + 1",
        "2 * (sum(j) x(j) + (max(k) A(j, k) + b(k))) + 1",
    );
    same("1 + sum(j) prod(k) A(j, k) + 1", "1 + (sum(j) (prod(k) A(j, k) + 1))");
}

/// Multiplied out, large products that nearly cancel would leave little of the differences.
#[test]
fn products_of_differences_stay_products() {
    same(
        "sum(n) w(n) * (x(n) - m) * (x(n) - m)",
        "sum(n) w(n) * where(1, x(n) - m, 0) * where(1, x(n) - m, 0)",
    );
    same(
        "1 + sum(k, l) (A(k, i) - m(i)) * S(k, l) * (A(l, i) - m(i))",
        "1 + (sum(k, l) where(1, A(k, i) - m(i), 0) * S(k, l) * where(1, A(l, i) - m(i), 0))",
    );
    same(
        "w(n) * (x(n) - m(i)) * (B(n, i) - m(i))",
        "w(n) * where(1, x(n) - m(i), 0) * where(1, B(n, i) - m(i), 0)",
    );
    // All of elements with the same iterators, or only one difference.
    for text in ["sum(n) w(n) * (x(n) - y(n)) * (x(n) - z(n))", "sum(n) w(n) * (x(n) - m)"] {
        let parsed = parse(&format!("y(i) := {text}")).0.to_string();
        assert!(!parsed.contains("where"), "{parsed}");
    }
}

#[test]
fn sums_of_comparisons_are_compared() {
    same(
        "where((i = 0) + (i = N - 1) > 0, 1, x(i))",
        "where(((i = 0) + (i = N - 1)) > 0, 1, x(i))",
    );
}

#[test]
fn comparisons_of_values_restrict_the_points() {
    same("min(j) A(i, j) * (A(i, j) > 0)", "min(j) where(A(i, j) > 0, A(i, j), inf)");
    same(
        "max(j) A(i, j) * (c(j) = i) * (j < i)",
        "max(j) (j < i) * where(c(j) = i, A(i, j), -inf)",
    );
    same("1 + prod(j) A(i, j) * (A(i, j) != 0)", "1 + (prod(j) where(A(i, j) != 0, A(i, j), 1))");
    same(
        "mean(j) A(i, j) * (c(j) = i)",
        "(sum(j) A(i, j) * (c(j) = i)) / (sum(j) where(A(i, j), 1, 1) * (c(j) = i))",
    );
    // Comparisons alone are values.
    same(
        "mean(j) (c(j) = i) * (j < i)",
        "(sum(j) (c(j) = i) * (j < i)) / (sum(j) where(c(j) = i, 1, 1) * (j < i))",
    );
}
