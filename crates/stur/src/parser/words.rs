//! Words of other languages, and how this one says the same.

/// How a reduction that does not exist is written.
pub(super) fn reduction(word: &str) -> Option<&'static str> {
    Some(match word {
        "mean" | "avg" | "average" => {
            "a mean is a sum divided by an extent: `y(i) := sum(j) A(i, j) / N`"
        }
        "var" | "std" => {
            "a variance is a sum of squares: `v(i) := sum(j) (A(i, j) - m(i))^2 / N` with the mean `m(i) := sum(j) \
            A(i, j) / N`"
        }
        "norm" => "a norm is a root of a sum: `sqrt(sum(j) A(i, j)^2)`",
        "count" | "count_nonzero" => "a count is a sum of comparisons: `sum(j) (A(i, j) != 0)`",
        "argmax" | "argmin" => {
            "what is extreme is compared: `(A(i, j) = m(i))` is 1 there, with `m(i) := max(k) A(i, k)`"
        }
        "cumsum" => "a cumulative sum has a comparison: `y(i) := sum(j) x(j) * (j <= i)`",
        "cumprod" => "a cumulative product has a comparison: `y(i) := prod(j) x(j) * (j <= i)`",
        "product" => "a product is `prod(j) A(i, j)`",
        _ => return None,
    })
}

/// What stands for a function that does not exist.
pub(super) fn function(word: &str) -> Option<&'static str> {
    Some(match word {
        "conj" | "conjugate" | "real" | "imag" | "re" | "im" => {
            "parts of complex numbers are no functions: give the conjugate as an input of its own"
        }
        "ln" => "the natural logarithm is `log`",
        "softmax" => "a softmax is `exp(x(i) - max(k) x(k)) / sum(k) exp(x(k) - max(l) x(l))`",
        "mean" | "avg" | "average" => "a mean is a sum divided by an extent: `sum(j) A(i, j) / N`",
        "norm" => "a norm is a root of a sum: `sqrt(sum(j) A(i, j)^2)`",
        "if" => "a choice is `where(test, a, b)`",
        _ => return None,
    })
}
