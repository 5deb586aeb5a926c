"""What is computed of sparse arrays without all of their elements; and arrays that are no sparse arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

RNG = np.random.default_rng(11)
TYPES = ["?", "u1", "u2", "u4", "u8", "i4", "f4", "f8", "g", "c8"]


def whole(dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return (rng.integers(1, 5, (6, 5)) * (rng.random((6, 5)) < 0.4)).astype(dtype)


def same(found: Any, expected: Any, dtype: Any = None) -> None:
    found = found.compute() if isinstance(found, dastac.Array) else found
    assert found.dtype == (np.asarray(expected).dtype if dtype is None else dtype)
    found = found.toarray() if sp.issparse(found) else found
    np.testing.assert_allclose(found, expected, rtol=1e-5)


#: What is sparse of two sparse arrays.
PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "!=": operator.ne,
    "<": operator.lt,
    "maximum": np.maximum,
    "@": lambda a, b: a @ b.T,
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, dtype: str) -> None:
    if (name in "&|^" and dtype[0] in "fgc") or (dtype == "c8" and name in ("<", "maximum")):
        return
    a, b = whole(dtype), whole(dtype, 1)
    found = PAIRS[name](dastac.array(sp.csr_array(a)), sp.csr_array(b)).compute()
    assert sp.issparse(found)
    same(found, PAIRS[name](a, b))
    same(PAIRS[name](dastac.array(sp.csr_array(a)), b), PAIRS[name](a, b))


#: What has a value of its own where nothing is stored, or is a reduction.
SINGLES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda a: a.sum(),
    "sums": lambda a: a.sum(axis=0),
    "means": lambda a: a.mean(axis=1),
    "max": lambda a: a.max(axis=0),
    "kept sums": lambda a: a.sum(axis=1, keepdims=True),
    "kept max": lambda a: a.max(axis=0, keepdims=True),
    "new axis": lambda a: a[:, None],
    "any": lambda a: a.any(axis=1),
    "all": lambda a: a.all(axis=1),
    "T": lambda a: a.T,
    "abs": abs,
    "2": lambda a: a * 2,
    "power": lambda a: a**2,
    "eq": lambda a: a == 0,
    "row": lambda a: a == a[1:2],
    "column": lambda a: a * a[:, :1],
    "part": lambda a: a[1:3, ::2],
    "true": lambda a: a[True],
    "false": lambda a: a[False],
    "astype": lambda a: a.astype("f8"),
    "ufunc": np.positive,
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", SINGLES)
def test_singles(name: str, dtype: str) -> None:
    if (dtype == "?" and name == "ufunc") or (dtype == "c8" and name in ("max", "kept max", "astype")):
        return
    a = whole(dtype)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_matrix, sp.bsr_array):
        same(SINGLES[name](dastac.array(kind(a))), SINGLES[name](a))


def test_roots_of_truth_values() -> None:
    a = whole("?")
    same(np.sqrt(dastac.array(sp.csr_array(a))), np.sqrt(a.astype("f4")))


@pytest.mark.parametrize("dtype", TYPES)
def test_einsum(dtype: str) -> None:
    a, b = whole(dtype), whole(dtype, 1)
    found = dastac.einsum("ij,kj->ik", sp.csr_array(a), sp.csr_array(b))
    assert sp.issparse(found) or dtype == "g"
    same(found, np.einsum("ij,kj->ik", a, b))


@pytest.mark.parametrize("dtype", ["?", "u2", "g", "f8"])
def test_large_arrays_stay_sparse(dtype: str) -> None:
    large = sp.random_array((200_000, 200_000), density=1e-8, format="csr", rng=1)
    large = (large * 10).astype(dtype)
    a = dastac.array(large)
    for made in (a + a, a * a, a.T, a @ a, a != 0, abs(a), a > 1, a * 2, np.maximum(a, a.T), a.astype("f4")):
        assert sp.issparse(made.compute())
    for made in (
        a.sum(axis=0),
        a.max(axis=1),
        a.any(axis=0),
        a.all(axis=0),
        a.mean(axis=0),
        a @ np.ones(200_000, dtype),
    ):
        assert made.compute().shape == (200_000,)
    for function in (np.arccosh, lambda x: np.cumsum(x, axis=0)):
        with pytest.raises(dastac.InputError, match="needs all elements"):
            function(a)


#: Quotients of a sparse array by a dense one that is computed of it.
QUOTIENTS: list[Callable[[Any], Any]] = [
    lambda a: a / a.sum(axis=1)[:, None],
    lambda a: a / a.sum(axis=1, keepdims=True),
    lambda a: a / (a.sum(axis=0) + 1),
    lambda a: (a * a) / np.sqrt((a * a).sum(axis=1))[:, None],
    lambda a: a.T / abs(a).sum(axis=0)[:, None],
    lambda a: a / dastac.lower(np.tril(np.ones((6, 6))))[:, :5],
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("at", range(len(QUOTIENTS)))
@pytest.mark.parametrize("dtype", ["u2", "f4", "f8", "c8"])
def test_quotients_store_what_the_sparse_array_does(dtype: str, at: int) -> None:
    dense = whole(dtype)
    dense[2] = 0
    for kind in (sp.csr_array, sp.csc_array) if dtype == "f8" else (sp.csr_array,):
        found = QUOTIENTS[at](dastac.array(kind(dense))).compute()
        assert sp.issparse(found) and found.nnz == np.count_nonzero(dense)
        expected = QUOTIENTS[at](dense)
        same(found, np.where((dense.T if at == 4 else dense) == 0, np.zeros((), expected.dtype), expected))


@pytest.mark.parametrize("dtype", ["u2", "f4", "f8", "g"])
def test_large_rows_are_normalised(dtype: str) -> None:
    large = (sp.random_array((100_000, 100_000), density=1e-7, format="csr", rng=1) * 100).astype(dtype)
    a = dastac.array(large)
    x = np.ones(100_000, dtype)
    for made in (a / (a.sum(axis=1) + 1)[:, None], (a * 2) / (a.sum(axis=0) + 1)):
        assert sp.issparse(made.compute()) and made.compute().nnz == large.nnz
    np.testing.assert_allclose((a / (a.sum(axis=1) + 1)[:, None]) @ x, (s := large @ x) / (s + 1), rtol=1e-5)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_what_is_not_a_number(name: str, axis: int | None) -> None:
    dense = whole("f8")
    for spoiled_at in ([], [(1, 1)], [(0, 2), (3, 2), (3, 4)]):
        for at in spoiled_at:
            dense[at] = np.nan
        for kind in (sp.csr_array, sp.csc_array, sp.bsr_array):
            same(getattr(dastac.array(kind(dense)), name)(axis=axis), getattr(dense, name)(axis=axis))


def test_places_of_blocks() -> None:
    made = sp.bsr_array(np.kron(whole("f8"), np.ones((2, 2))), blocksize=(2, 2))
    for found, expected in zip(dastac.array(made).nonzero(), np.nonzero(made.toarray()), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("op", [operator.eq, operator.ge, operator.le, operator.ne, operator.lt])
def test_comparisons_of_shapes(op: Callable[..., Any]) -> None:
    a = whole("f8")
    for other in (a[1:2], a[:, 2:3], a):
        same(op(dastac.array(sp.csr_array(a)), sp.csr_array(other)), op(a, other))
    for wrong in (a[:4], a[:, :2], a.T):
        with pytest.raises(dastac.InputError, match="shapes"):
            np.asarray(op(dastac.array(sp.csr_array(a)), sp.csr_array(wrong)))


def test_matrices_of_scipy_have_shapes_of_arrays() -> None:
    a = whole("f8")
    for name in ("max", "min", "sum", "mean"):
        assert getattr(dastac.array(sp.csr_matrix(a)), name)(axis=0).compute().shape == (5,)


def test_arrays_over_one_pattern() -> None:
    a = sp.random_array((30, 20), density=0.2, format="csr", rng=2)
    b = sp.csr_array((RNG.random(a.nnz), a.indices, a.indptr), shape=a.shape)
    x, y = a.toarray(), b.toarray()
    d, e = dastac.array(a), dastac.array(b)
    same(d * e - d / 4 + abs(-e), x * y - x / 4 + abs(-y))
    same((d * e).sum(), (x * y).sum())
    same(dastac.einsum("ij,ij,ij->ij", a, b, (d * 3).compute()), x * y * x * 3)
    same(dastac.einsum("ij,ij->ij", a, sp.csr_array(np.eye(30, 20))), x * np.eye(30, 20))
    same(dastac.einsum("ij,ij->ij", a.astype("i4"), b), x.astype("i4") * y)
    same(np.sqrt(d).astype("f4"), np.sqrt(x).astype("f4"))
    found = (d * 2).compute()
    assert not np.shares_memory(found.data, a.data) and not np.shares_memory(found.indices, a.indices)
    for format in ("csr", "csc", "coo"):
        found = d.T.compute(format=format)
        assert found.format == format and not np.shares_memory(found.data, a.data)
        same(found, x.T)
        same(d.T.T.compute(format=format), x)
    twice = sp.csr_array((np.array([1.0, -3.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    same(abs(dastac.array(twice)), abs(twice.toarray()))
    same(dastac.array(twice) * 2, 2 * twice.toarray())


def spoiled(kind: str) -> Any:
    """A matrix of which a position or a coordinate is none."""
    made = getattr(sp, f"{kind.split()[0]}_array")(np.eye(6))
    if kind.startswith("coo"):
        made.coords[0][0] = 10**6 if kind.endswith("far") else -7
    elif kind.endswith("ends"):
        made.indptr[1] = 10**8
    elif kind.endswith("falls"):
        made.indptr[1] = -3
    else:
        made.indices[0] = 10**6
    return made


@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        "coo far",
        "coo low",
        *(f"{format} {how}" for format in ("csr", "csc", "bsr") for how in ("ends", "falls", "far")),
    ],
)
def test_what_is_no_matrix(kind: str, remembers: bool) -> None:
    made = spoiled(kind)
    if remembers:
        made.has_canonical_format = made.has_sorted_indices = True
    for function in (
        lambda: dastac.einsum("ij,j->i", made, np.ones(6)),
        lambda: dastac.einsum("ij,jk->ik", np.ones((6, 6)), made),
        lambda: dastac.array(made).max(axis=0).compute(),
        lambda: dastac.array(made).max(axis=1).compute(),
        lambda: np.asarray(dastac.array(made)),
        lambda: dastac.array(made).T.compute(),
        lambda: abs(dastac.array(made).astype("g")).compute(),
        lambda: dastac.array(made)[1:3].compute(),
        lambda: dastac.array(made).reshape(4, 9).compute(),
        lambda: (dastac.array(made) == 1).compute(),
    ):
        with pytest.raises(dastac.InputError, match="indptr|indices|coordinates"):
            function()


def test_what_was_sorted_once() -> None:
    made = sp.csr_array(np.ones((2, 3)))
    assert made.has_canonical_format
    made.indices[:], made.data[:] = [2, 1, 0, 0, 0, 2], [3, 2, 1, 4, 5, 6]
    same(dastac.einsum("ij->ij", made), [[1.0, 2, 3], [9, 0, 6]])
    same(abs(dastac.array(made)), [[1.0, 2, 3], [9, 0, 6]])
