//! Words of other languages, and how this one says the same.

/// How products of matrices are written.
pub(super) const MATMUL: &str = "products are sums over iterators: `C(i, k) := A(i, j) * B(j, k)`";

/// How a softmax is written.
const SOFTMAX: &str = "a softmax is `exp(x(i) - max(k) x(k)) / sum(k) exp(x(k) - max(l) x(l))`";

/// Reductions.
pub(crate) const REDUCTIONS: [&str; 13] = [
    "sum", "prod", "min", "max", "mean", "var", "std", "norm", "count", "any", "all", "argmin",
    "argmax",
];

/// How a reduction that does not exist is written.
pub(super) fn reduction(word: &str) -> Option<&'static str> {
    Some(match word {
        "avg" | "average" => "a mean is `mean(j) A(i, j)`",
        "sd" | "stddev" => "a standard deviation is `std(j) A(i, j)`",
        "variance" => "a variance is `var(j) A(i, j)`",
        "count_nonzero" | "nnz" => "a count is `count(j) A(i, j)`, of those that are not 0",
        "amax" | "maximum" => "the largest is `max(j) A(i, j)`",
        "amin" | "minimum" => "the least is `min(j) A(i, j)`",
        "some" | "exists" => "whether one is not 0 is `any(j) A(i, j)`",
        "every" | "forall" => "whether none is 0 is `all(j) A(i, j)`",
        "logsumexp" => {
            "this is `m(i) + log(sum(j) exp(A(i, j) - m(i)))` with `m(i) := max(j) A(i, j)`"
        }
        "cumsum" => "a cumulative sum has a comparison: `y(i) := sum(j) x(j) * (j <= i)`",
        "cumprod" => "a cumulative product has a comparison: `y(i) := prod(j) x(j) * (j <= i)`",
        "product" => "a product is `prod(j) A(i, j)`",
        "softmax" => SOFTMAX,
        _ => return None,
    })
}

/// What stands for a function that does not exist.
pub(crate) fn function(word: &str) -> Option<&'static str> {
    Some(match word {
        "conjugate" | "re" | "im" => {
            "of complex numbers there are `conj(z)`, `real(z)`, `imag(z)` and `abs(z)`; `complex(a, b)` is `a + b i`"
        }
        "swish" => "this is `silu`",
        "elu" => "this is `where(a > 0, a, expm1(a))`",
        "leaky_relu" => "this is `where(a > 0, a, a / 100)`",
        "logit" => "this is `log(a / (1 - a))`",
        "erfc" => "this is `1 - erf(a)`",
        "heaviside" | "step" => "a step is a comparison: `(a > 0)`",
        "isnan" => "this is `(a != a)`",
        "ln" => "the natural logarithm is `log`",
        "softmax" => SOFTMAX,
        "sum" | "prod" | "mean" | "var" | "std" | "norm" | "count" | "any" | "all" | "argmax"
        | "argmin" | "or" => {
            "a reduction says what it goes over, then what it reduces: `y(i) := sum(j) A(i, j)`"
        }
        "avg" | "average" => "a mean is `mean(j) A(i, j)`",
        "if" | "ifelse" | "select" | "cond" => "a choice is `where(test, a, b)`",
        "and" => "both hold: `a and b`, `a * b`",
        "fmod" | "remainder" | "rem" => "a remainder is `a % b`, of the divisor's sign",
        "div" | "floordiv" | "floor_divide" => "a quotient that is rounded down is `a // b`",
        "dot" | "matmul" | "inner" => MATMUL,
        "transpose" => "the transpose of `A(i, j)` is `A(j, i)`",
        "trace" => "a trace is `t() := A(i, i)`",
        "outer" => "an outer product is `C(i, j) := x(i) * y(j)`",
        "einsum" => "a rule is an einsum: `C(i, k) := A(i, j) * B(j, k)`",
        "delta" | "kron" => "this is a comparison: `(i = j)`",
        "diag" | "diagonal" => {
            "a diagonal is `d(i) := A(i, i)`, a diagonal matrix `D(i, i) := d(i)`"
        }
        "len" | "size" | "shape" => "sizes are symbols: `symbols: N`",
        "allclose" | "isclose" => {
            "this is `abs(a - b) < 0.00001`; of all elements `all(i) abs(x(i) - y(i)) < 0.00001`"
        }
        "sort" | "median" | "quantile" | "percentile" => {
            "nothing is sorted; how many are less is `count(j) x(j) < x(i)`"
        }
        "fmax" => "the larger one is `max(a, b)`",
        "fmin" => "the smaller one is `min(a, b)`",
        "clamp" => "this is `clip(a, low, high)`",
        "det" | "inv" | "inverse" | "solve" | "eig" | "svd" => {
            "a rule computes sums of products: nothing is factored"
        }
        "cumsum" => "a cumulative sum has a comparison: `y(i) := sum(j) x(j) * (j <= i)`",
        "cumprod" => "a cumulative product has a comparison: `y(i) := prod(j) x(j) * (j <= i)`",
        "eye" | "identity" => "the identity is a comparison: `(i = j)`",
        "ones" => "ones are the number `1`",
        "zeros" => "elements that no rule gives are 0",
        "ones_like" => "ones are the number `1`",
        "arange" | "range" | "index" => "an iterator is its own value: `y(i) := 2 * i`",
        "sgn" => "the sign is `sign`",
        "arcsin" => "the angle is `asin`",
        "arccos" => "the angle is `acos`",
        "arctan" => "the angle is `atan`",
        "arctan2" => "the angle is `atan2(a, b)`",
        "fabs" | "absolute" => "an absolute value is `abs`",
        "power" => "a power is `a ^ b`",
        "rint" => "the nearest integer is `round`",
        "int" => "a cast is `i32(a)` or `i64(a)`",
        "float" | "double" => "a cast is `f64(a)` or `f32(a)`",
        _ => return None,
    })
}
