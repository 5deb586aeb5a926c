"""Random expressions over arrays of random shapes, formats, structures and types, beside NumPy.

`DASTAC_PYTHON_CASES` says how many are tried.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

CASES = int(os.environ.get("DASTAC_PYTHON_CASES", "100"))
TYPES: list[Any] = [np.float64, np.float64, np.float64, np.float32, np.complex128, np.int64]

Pair = tuple[Any, np.ndarray[Any, Any]]


def leaf(rng: np.random.Generator, shape: tuple[int, ...]) -> Pair:
    """An array of dastac and one of NumPy with the same elements: small integers, so that sums are exact."""
    dtype = TYPES[rng.integers(len(TYPES))]
    dense = rng.integers(-3, 4, shape).astype(dtype)
    kind = rng.integers(6)
    if len(shape) == 2 and kind <= 1:
        dense = dense * (rng.random(shape) < 0.4).astype(dtype)
        format = ["csr", "csc", "coo", "dia", "lil"][rng.integers(5)]
        return dastac.array(sp.coo_array(dense).asformat(format)), dense
    if len(shape) == 2 and kind == 2:
        dense = np.tril(dense)
        return dastac.lower(dense), dense
    if len(shape) == 2 and kind == 3 and shape[0] == shape[1]:
        dense = dense + dense.T
        return dastac.symmetric(dense), dense
    if len(shape) == 2 and kind == 4:
        return dastac.array(np.asfortranarray(dense)), dense
    return dastac.array(dense), dense


def expression(rng: np.random.Generator, shape: tuple[int, ...], depth: int, sizes: list[int]) -> Pair:
    """A random expression of a shape."""
    kind = rng.integers(7) if depth else 6
    if kind == 0:
        (a, x), (b, y) = (expression(rng, shape, depth - 1, sizes) for _ in range(2))
        return [(a + b, x + y), (a - b, x - y), (a * b, x * y)][rng.integers(3)]
    if kind == 1 and len(shape) == 2:
        inner = sizes[rng.integers(len(sizes))]
        a, x = expression(rng, (shape[0], inner), depth - 1, sizes)
        b, y = expression(rng, (inner, shape[1]), depth - 1, sizes)
        return a @ b, x @ y
    if kind == 2 and len(shape) == 2:
        a, x = expression(rng, shape[::-1], depth - 1, sizes)
        return a.T, x.T
    if kind == 3 and len(shape) == 1:
        inner = sizes[rng.integers(len(sizes))]
        a, x = expression(rng, (shape[0], inner), depth - 1, sizes)
        b, y = expression(rng, (inner,), depth - 1, sizes)
        return a @ b, x @ y
    if kind == 4 and len(shape) == 1:
        a, x = expression(rng, (sizes[0], *shape), depth - 1, sizes)
        return a.sum(axis=0), x.sum(axis=0)
    if kind == 5:
        a, x = expression(rng, shape, depth - 1, sizes)
        return [(-a, -x), (abs(a), abs(x)), (a * 2, x * 2)][rng.integers(3) if x.dtype.kind != "c" else 0]
    return leaf(rng, shape)


@pytest.mark.parametrize("seed", range(CASES))
def test_random_expressions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 9, 2)]
    rank = int(rng.integers(1, 3))
    shape = tuple(sizes[rng.integers(2)] for _ in range(rank))
    found, expected = expression(rng, shape, int(rng.integers(1, 4)), sizes)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)
    # The same computation again is the same, bit for bit.
    again = dastac.Array(found._node)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(found))
