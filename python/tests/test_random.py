"""Random expressions over arrays of random shapes, formats, structures and types, beside NumPy.

`DASTAC_PYTHON_CASES` says how many are tried, and `DASTAC_PYTHON_SEED` from which seed on. An expression is compiled
once for all sizes, and tried with `DATA` draws of sizes and elements.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

DATA = 100
CASES = int(os.environ.get("DASTAC_PYTHON_CASES", "10000"))
SEED = int(os.environ.get("DASTAC_PYTHON_SEED", "0"))
TYPES: list[Any] = [np.float64, np.float64, np.float64, np.float32, np.complex128, np.int64, np.int8, np.bool_]


class Pair(NamedTuple):
    """An array of dastac and one of NumPy with the same elements."""

    found: Any
    expected: Any


class Draw(NamedTuple):
    """What an expression is made with: `kinds` decides what it is, `data` about its elements, `sizes` about shapes."""

    kinds: np.random.Generator
    data: np.random.Generator
    sizes: tuple[int, int]

    def pick(self, count: int) -> int:
        return int(self.kinds.integers(count))

    def shape(self, axes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.sizes[axis] for axis in axes)


def leaf(draw: Draw, axes: tuple[int, ...]) -> Pair:
    """Small integers, so that sums are exact."""
    dtype = TYPES[draw.pick(len(TYPES))]
    kind, format = draw.pick(9), draw.pick(6)
    shape = draw.shape(axes)
    dense = draw.data.integers(-3, 4, shape).astype(dtype)
    if len(axes) == 2 and kind <= 2:
        dense = dense * (draw.data.random(shape) < 0.4).astype(dtype)
        if format == 5 and min(shape) > 0 and all(extent % 2 == 0 for extent in shape):
            return Pair(dastac.array(sp.bsr_array(dense, blocksize=(2, 2))), dense)
        return Pair(dastac.array(sp.coo_array(dense).asformat(["csr", "csc", "coo", "dia", "lil", "csr"][format])), dense)
    if dtype == np.bool_:
        return Pair(dastac.array(dense), dense)
    if len(axes) == 2 and kind == 3:
        made, part = [(dastac.lower, np.tril), (dastac.upper, np.triu)][format % 2]
        return Pair(made(part(dense)), part(dense))
    if len(axes) == 2 and kind == 4 and axes[0] == axes[1]:
        return Pair(dastac.symmetric(dense + dense.T), dense + dense.T)
    if len(axes) == 2 and kind == 5:
        band = np.triu(np.tril(dense, 1), -1)
        return Pair(dastac.band(band, 1, 1), band)
    if kind == 6:
        return Pair(dastac.array(np.asfortranarray(dense)), dense)
    if kind == 7:
        wide = np.repeat(dense, 2, axis=0)[::2]
        return Pair(dastac.array(wide), dense)
    return Pair(dastac.array(dense), dense)


def expression(draw: Draw, axes: tuple[int, ...], depth: int) -> Pair:
    """A random expression over some axes."""
    kind = draw.pick(10) if depth else 9
    if kind <= 1:
        a, b = (expression(draw, axes, depth - 1) for _ in range(2))
        op = draw.pick(4)
        if op == 3 and a.expected.dtype.kind not in "c" and b.expected.dtype.kind not in "c":
            return Pair(np.maximum(a.found, b.found), np.maximum(a.expected, b.expected))
        if op == 1 and a.expected.dtype != np.bool_ and b.expected.dtype != np.bool_:
            return Pair(a.found - b.found, a.expected - b.expected)
        if op == 2:
            return Pair(a.found * b.found, a.expected * b.expected)
        return Pair(a.found + b.found, a.expected + b.expected)
    inner = draw.pick(2)
    if kind == 2 and len(axes) == 2:
        a = expression(draw, (axes[0], inner), depth - 1)
        b = expression(draw, (inner, axes[1]), depth - 1)
        return Pair(a.found @ b.found, a.expected @ b.expected)
    if kind == 3 and len(axes) == 2:
        a = expression(draw, axes[::-1], depth - 1)
        return Pair(a.found.T, a.expected.T)
    if kind == 4 and len(axes) == 1:
        a = expression(draw, (axes[0], inner), depth - 1)
        b = expression(draw, (inner,), depth - 1)
        return Pair(a.found @ b.found, a.expected @ b.expected)
    if kind == 5 and len(axes) <= 2:
        at = draw.pick(len(axes) + 1)
        a = expression(draw, (*axes[:at], inner, *axes[at:]), depth - 1)
        word = ["sum", "sum", "max", "any"][draw.pick(4)]
        if word == "max" and (draw.sizes[inner] == 0 or a.expected.dtype.kind == "c"):
            word = "sum"
        return Pair(getattr(a.found, word)(at), getattr(a.expected, word)(axis=at))
    if kind == 6:
        a, b = (expression(draw, axes, depth - 1) for _ in range(2))
        if a.expected.dtype.kind != "c" and b.expected.dtype.kind != "c":
            return Pair(a.found < b.found, a.expected < b.expected)
        return Pair(a.found != b.found, a.expected != b.expected)
    if kind == 7 and len(axes) >= 1:
        a = expression(draw, axes, depth - 1)
        key: Any = [slice(None, None, -1), (..., slice(1, None)), (slice(None),)][draw.pick(3)]
        b = Pair(a.found[key], a.expected[key])
        if b.expected.shape == a.expected.shape and b.expected.dtype != np.bool_:
            return Pair(a.found + b.found, a.expected + b.expected)
        return a
    if kind == 8:
        a = expression(draw, axes, depth - 1)
        if a.expected.dtype.kind in "bc":
            return Pair(a.found * 2, a.expected * 2)
        op = draw.pick(4)
        found = [lambda x: -x, lambda x: abs(x), lambda x: x * 2, lambda x: x**2][op]
        return Pair(found(a.found), found(a.expected))
    return leaf(draw, axes)


def sizes_of(data: np.random.Generator) -> tuple[int, int]:
    """Two sizes; a few are 0 and 1."""
    one, other = (int(size) for size in data.choice([0, 1, *range(2, 10)], 2, p=[0.01, 0.01, *[0.98 / 8] * 8]))
    return one, other


@pytest.mark.parametrize("seed", range(SEED, SEED + max(1, CASES // DATA)))
def test_random_expressions(seed: int) -> None:
    data = np.random.default_rng([seed, 1])
    for case in range(min(DATA, CASES)):
        draw = Draw(np.random.default_rng([seed, 0]), data, sizes_of(data))
        axes = tuple(draw.pick(2) for _ in range(1 + draw.pick(2)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, expected = expression(draw, axes, 1 + draw.pick(3))
        assert found.shape == expected.shape and found.dtype == expected.dtype, (seed, draw.sizes)
        values = np.asarray(found)
        np.testing.assert_allclose(values, expected, rtol=1e-5, err_msg=f"{seed} {draw.sizes}")
        if case == 0:
            # The same computation again is the same, bit for bit.
            again = dastac.Array(found._node).compute(format="dense")
            np.testing.assert_array_equal(again, values)
