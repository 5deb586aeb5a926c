"""NumPy's rules for values: nothing is multiplied out or added up in another order; and expressions that grow."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

RNG = np.random.default_rng(5)
FAR = RNG.random((30, 4)) + 1e6
A, B, C = RNG.random((3, 6, 5))
ODD = np.array([1.0, 1e300, np.inf, 1e-310, 1e16])
LARGE = np.array([1e16, 1e300, 1.0, 1e-310, 1.0])
TINY = np.array([1e16, 1e-300, np.inf, 2.0, 1.0])
S, T = (sp.random_array((6, 5), density=0.4, format="csr", rng=seed) for seed in (1, 2))


def variance(x: Any) -> Any:
    return ((x - x.mean(axis=0)) ** 2).mean(axis=0)


#: Functions of three arrays, with NumPy's values to the last digits.
EXACT: list[Callable[..., Any]] = [
    lambda a, b, c: (a - b) * (a - b),
    lambda a, b, c: (a - b) * (a + b),
    lambda a, b, c: (a - b) / c,
    lambda a, b, c: a - (b - c),
    lambda a, b, c: a + (b + c),
    lambda a, b, c: a * (b * c),
    lambda a, b, c: a - b - a,
    lambda a, b, c: a - a,
    lambda a, b, c: -(a - b) * c,
    lambda a, b, c: np.square(a - b) * np.maximum(a - c, b),
    lambda a, b, c: (a * 2 - b) ** 2 + c,
    lambda a, b, c: (lambda d: d * d - d)(a - b),
    lambda a, b, c: np.exp(-((a - b) ** 2)),
    lambda a, b, c: a / b,
    lambda a, b, c: a / (b * c),
    lambda a, b, c: a / (b / c) - a / b / c,
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("at", range(len(EXACT)))
def test_values_are_computed_as_they_are_written(at: int) -> None:
    for operands in ((ODD, LARGE, TINY), (A, B, C), (FAR, FAR[::-1], FAR + 1), (A, B[0], C[:, :1])):
        found = EXACT[at](*map(dastac.array, operands)).compute()
        np.testing.assert_allclose(found, EXACT[at](*operands), rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        variance,
        lambda x: ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1),
        lambda x: abs(x - x[0]).max(axis=0),
        lambda x: (x - x.mean(axis=0)).T @ (x - x.mean(axis=0)),
        lambda x: ((x - 1e6) * (x + 1)).sum(axis=1),
    ],
)
def test_digits_stay(function: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(function(dastac.array(FAR)).compute(), function(FAR), rtol=1e-12)


SPARSE: list[Callable[..., Any]] = [
    lambda s, t, a: (s - t) * (s - t),
    lambda s, t, a: (s - t) * (s + t) * a,
    lambda s, t, a: (s + t) ** 2,
    lambda s, t, a: s - (t - s),
    lambda s, t, a: (s - t).sum(axis=0) + (s * t).sum(axis=0),
    lambda s, t, a: (s + t) * (a - 1),
]


@pytest.mark.parametrize("at", range(len(SPARSE)))
def test_sums_of_sparse_arrays_are_factors(at: int) -> None:
    found = SPARSE[at](dastac.array(S), dastac.array(T), A).compute()
    assert sp.issparse(found) == (found.ndim == 2)
    np.testing.assert_allclose(
        found.toarray() if sp.issparse(found) else found, SPARSE[at](S.toarray(), T.toarray(), A)
    )


def test_structure_stays() -> None:
    lower = dastac.lower(np.tril(A[:5] + 1))
    text = dastac.inspect((lower - lower.T) * (lower + lower.T) + (lower * 2 - lower) * lower)
    assert "where" not in text
    dense = np.tril(A[:5] + 1)
    expected = (dense - dense.T) * (dense + dense.T) + (dense * 2 - dense) * dense
    np.testing.assert_allclose((lower - lower.T) * (lower + lower.T) + (lower * 2 - lower) * lower, expected)


@pytest.mark.parametrize("steps", [14, 60, 400])
def test_nodes_that_are_used_twice(steps: int) -> None:
    x = np.linspace(-1, 1, 50)
    found, expected = dastac.array(x), x
    for _ in range(steps):
        found, expected = np.tanh(found) + 0.1 * found, np.tanh(expected) + 0.1 * expected
    begin = time.perf_counter()
    np.testing.assert_allclose(pickle.loads(pickle.dumps(found)), expected, rtol=1e-12)
    assert time.perf_counter() - begin < 20


def test_long_sums_and_products() -> None:
    arrays = [[dastac.array(RNG.random((3, 3))) for _ in range(4)] for _ in range(6)]
    expected = reduce(mul, [reduce(add, map(np.asarray, four)) for four in arrays])
    np.testing.assert_allclose(reduce(mul, [reduce(add, four) for four in arrays]), expected)
    many = [dastac.array(RNG.random(9)) for _ in range(150)]
    np.testing.assert_allclose(reduce(add, many), reduce(add, map(np.asarray, many)))
    x = dastac.array(A)
    product = dastac.array(np.eye(6))
    for _ in range(100):
        product = product @ (x @ x.T) / 10
    np.testing.assert_allclose(product, np.linalg.matrix_power(A @ A.T / 10, 100))


@pytest.mark.parametrize("count", [7, 9, 13])
def test_many_sparse_arrays(count: int) -> None:
    all_of = [sp.random_array((8, 8), density=0.6, format="csr", rng=seed) for seed in range(count)]
    for op in (add, mul):
        found = reduce(op, map(dastac.array, all_of)).compute()
        assert sp.issparse(found)
        np.testing.assert_allclose(found.toarray(), reduce(op, [one.toarray() for one in all_of]))
    found = dastac.einsum(",".join(["ij"] * count) + "->ij", *all_of)
    np.testing.assert_allclose(found.toarray(), reduce(mul, [one.toarray() for one in all_of]))


def test_what_several_results_have_in_common_is_computed_once() -> None:
    @dastac.trace
    def both(x: Any) -> Any:
        product = x @ x.T
        return np.exp(product) + product, product, product * 2

    found = both(A)
    for one, expected in zip(found, (np.exp(A @ A.T) + A @ A.T, A @ A.T, A @ A.T * 2), strict=True):
        np.testing.assert_allclose(one, expected)
