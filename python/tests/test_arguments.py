"""Arguments that do not fit: always an exception, never a crash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

import programs


class Liar:
    """Says that it is an array, and is none."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("not today")


BAD: list[Any] = [
    None,
    "text",
    object(),
    Liar(),
    np.zeros((3, 3, 3)),
    np.zeros(()),
    np.zeros((3, 4), dtype=object),
    np.zeros((3, 4), dtype="U3"),
    np.zeros((3, 4), dtype="M8[s]"),
    np.zeros((3, 4), dtype=complex),
    np.zeros((7, 9)),
    [[1.0, 2.0], [3.0]],
    {"a": 1},
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: type(bad).__name__)
def test_bad_arrays(bad: Any) -> None:
    product = dastac.compile(programs.DENSE)
    with pytest.raises(Exception):  # noqa: B017 - which one depends on what converts it
        product(np.zeros((3, 4)), bad)
    assert product(np.ones((3, 4)), np.ones((4, 2))).tolist() == [[4, 4]] * 3


def test_bad_calls() -> None:
    product = dastac.compile(programs.DENSE)
    a = np.ones((2, 2))
    for args, kwargs in [
        ((a,), {}),
        ((a, a, a), {}),
        ((a, a), {"A": a}),
        ((a, a), {"D": a}),
        ((a, a), {"threads": -1}),
        ((a, a), {"threads": "two"}),
        ((a, a), {"packed": 3}),
        ((a, a), {"M": "x"}),
        ((a, a), {"out": {"D": a}}),
    ]:
        with pytest.raises((TypeError, ValueError, OverflowError)):
            product(*args, **kwargs)


@pytest.mark.parametrize("kind", ["shape", "read-only", "type", "list"])
def test_bad_outs(kind: str) -> None:
    product = dastac.compile(programs.DENSE)
    a = np.ones((2, 2))
    out: Any = {"shape": np.zeros((3, 3)), "type": np.zeros((2, 2), int), "list": [[0.0] * 2] * 2}.get(kind)
    if kind == "read-only":
        out = np.zeros((2, 2))
        out.flags.writeable = False
    with pytest.raises((TypeError, ValueError)):
        product(a, a, out=out)


def test_types_are_converted_where_nothing_is_lost(rng: np.random.Generator) -> None:
    product = dastac.compile(programs.DENSE)
    a, b = rng.integers(0, 9, (3, 4)), rng.random((4, 2)).astype(np.float32)
    np.testing.assert_allclose(product(a, b), a @ b.astype(float))
    swapped = b.astype(">f8")
    np.testing.assert_allclose(product(a, swapped), a @ swapped)
    counts = dastac.compile("symbols: N\ntypes: x = i8, s = i8\ns() := x(i)\nx:D(i) := (0 <= i < N)")
    assert counts(np.array([1, 2, 3])) == 6
    with pytest.raises(dastac.InputError, match="do not hold"):
        counts(np.array([1, 2, 300]))
    with pytest.raises(dastac.InputError, match="float64"):
        counts(np.array([1.5]))


def test_truth_values_that_are_none() -> None:
    program = dastac.compile("symbols: N\ntypes: x = bool\ns() := x(i)\nx:D(i) := (0 <= i < N)")
    strange = np.array([0, 1, 2, 255], dtype=np.uint8).view(np.bool_)
    # Bytes that are no truth values are taken as true or refused, never read as they are.
    try:
        assert program(strange) == 3
    except dastac.InputError:
        pass


def broken() -> list[sp.csr_array]:
    """Matrices whose arrays are no matrix."""
    good = sp.csr_array(np.eye(4))
    made = []
    for name, at, value in [
        ("indices", 2, 99),
        ("indices", 1, -5),
        ("indptr", 1, 1000),
        ("indptr", 2, -1),
        ("indptr", 4, 3),
        ("indptr", 0, 1),
    ]:
        matrix = good.copy()
        matrix.has_canonical_format = True
        getattr(matrix, name)[at] = value
        made.append(matrix)
    return made


@pytest.mark.parametrize("at", range(6))
def test_broken_matrices(at: int) -> None:
    product = dastac.compile(programs.SPARSE_VECTOR)
    with pytest.raises((ValueError, IndexError)):
        product(broken()[at], np.ones(4))
    np.testing.assert_allclose(product(sp.csr_array(np.eye(4)), np.ones(4)), np.ones(4))


def test_arrays_that_are_too_large_are_refused() -> None:
    program = dastac.compile("symbols: N\ny(i, j) := 1 * (0 <= i < N) * (0 <= j < N)")
    with pytest.raises(MemoryError):
        program(N=2**24)
    with pytest.raises((ValueError, OverflowError)):
        program(N=2**62)
    with pytest.raises((TypeError, OverflowError)):
        program(N=2**70)
