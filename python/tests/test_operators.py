"""Operators, NumPy's functions, indexing and reductions of `dastac.Array`, beside NumPy."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

RNG = np.random.default_rng(3)
A = np.round(RNG.normal(size=(4, 5)), 2)
B = np.round(RNG.normal(size=(4, 5)), 2)
LOWER = np.tril(RNG.random((5, 5)) + 1)
SPARSE = np.where(RNG.random((4, 5)) < 0.4, A, 0)


def kinds(dense: np.ndarray[Any, Any]) -> list[dastac.Array]:
    """The same elements in several kinds of arrays."""
    made = [dastac.array(dense), dastac.array(np.asfortranarray(dense)), dastac.array(dense) + 0]
    if dense.ndim == 2:
        made += [dastac.array(getattr(sp, f"{format}_array")(dense)) for format in ("csr", "csc", "coo", "dia", "lil")]
    return made


def same(found: Any, expected: Any) -> None:
    assert isinstance(found, dastac.Array)
    assert found.shape == np.shape(expected) and found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-13)


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("op", [*BINARY, *COMPARISONS], ids=lambda op: op.__name__)
def test_binary_operators(op: Callable[..., Any]) -> None:
    for x in kinds(SPARSE):
        for y in [dastac.array(B + 9), dastac.array(sp.csr_array(SPARSE[::-1])), 2, 0.5, np.float64(3)]:
            dense = np.asarray(y) if isinstance(y, dastac.Array) else y
            if op in (operator.truediv, operator.floordiv, operator.mod) and np.any(np.asarray(dense) == 0):
                continue
            same(op(x, y), op(SPARSE, dense))
    same(op(2.5, dastac.array(A + 9)), op(2.5, A + 9))
    same(op(A + 9, dastac.array(A + 8)), op(A + 9, A + 8))
    column = RNG.random((4, 1)) + 1
    same(op(dastac.array(A), dastac.array(column)), op(A, column))


def test_quotients_by_structured_arrays_are_numpys() -> None:
    with np.errstate(divide="ignore"):
        same(1 / dastac.lower(LOWER), 1 / LOWER)
        same(1 / (dastac.lower(LOWER) * 2), 1 / (LOWER * 2))
        same(1 / dastac.array(sp.csr_array(SPARSE)), 1 / SPARSE)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quotients_of_integers() -> None:
    whole = np.round(SPARSE * 4).astype(np.int64)
    far = np.array([2**62 + 1, -(2**62) - 1, 7, -7])
    for divisor in (3, -3):
        same(dastac.array(sp.csr_array(whole)) // divisor, whole // divisor)
        same(dastac.array(far) % divisor, far % divisor)
        same(dastac.array(far) // divisor, far // divisor)
    same(7 // dastac.array(sp.csr_array(whole)), 7 // whole)
    same(np.float64(1.0) // dastac.array(np.array([0.1, -0.1, 3.0])), 1.0 // np.array([0.1, -0.1, 3.0]))


def test_functions_of_complex_numbers() -> None:
    turned = SPARSE * (1 + 2j) + 0.25j * (SPARSE != 0)
    for function in (np.exp, np.sqrt, np.sin, np.cos, np.sinh, np.cosh, np.conjugate, np.absolute):
        same(function(dastac.array(turned)), function(turned))
        same(function(dastac.array(sp.csr_array(turned))), function(turned))
    same(np.log(dastac.array(turned + 1)), np.log(turned + 1))


@pytest.mark.parametrize("power", [0, 1, 2, 3, -1, 0.5, 2.5])
def test_powers(power: float) -> None:
    base = abs(A) + 0.5
    same(dastac.array(base) ** power, base**power)
    if power >= 0 and isinstance(power, int):
        whole = RNG.integers(-5, 6, (3, 4))
        same(dastac.array(whole) ** power, whole**power)
        same(dastac.array(sp.csr_array(SPARSE)) ** power, SPARSE**power)
    same(power ** dastac.array(A + 5), power ** (A + 5))


def test_truth_values() -> None:
    a, b = A > 0, B > 0
    x, y = dastac.array(A) > 0, dastac.array(b)
    same(x & y, a & b)
    same(x | b, a | b)
    same(~x, ~a)
    same(x ^ y, a ^ b)
    same(x.sum(axis=0), a.sum(axis=0))
    same(x.any(axis=1), a.any(axis=1))
    same(x.all(), a.all())
    same(dastac.array(A).any(axis=0, keepdims=True), A.any(axis=0, keepdims=True))
    same(dastac.array(A[:0]).all(), A[:0].all())
    same(x.max(axis=0), a.max(axis=0))
    same(x * 2.0, a * 2.0)
    same(x @ dastac.array(b.T), a @ b.T)
    same(x.T, a.T)


REDUCTIONS = ["sum", "mean", "max", "min", "any", "all"]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1,), ()])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    for x in kinds(SPARSE):
        same(getattr(x, name)(axis, keepdims=keepdims), getattr(SPARSE, name)(axis=axis, keepdims=keepdims))
    whole = RNG.integers(-5, 6, (2, 3, 4)).astype(np.int32)
    if axis not in ((0, 1),):
        found = getattr(dastac.array(whole), name)(axis, keepdims=keepdims)
        same(found, getattr(whole, name)(axis=axis, keepdims=keepdims))
    same(getattr(np, name)(dastac.array(A), axis=axis, keepdims=keepdims), getattr(np, name)(A, axis=axis, keepdims=keepdims))


def test_reductions_of_numpy_that_programs_do_not_have() -> None:
    x = dastac.array(A)
    np.testing.assert_allclose(np.std(x), np.std(A))
    np.testing.assert_allclose(np.cumsum(x, axis=0), np.cumsum(A, axis=0))
    np.testing.assert_array_equal(np.argmax(x, axis=1), np.argmax(A, axis=1))
    np.testing.assert_allclose(np.concatenate([x, B]), np.concatenate([A, B]))
    np.testing.assert_allclose(np.asarray(np.add.reduce(x, axis=0)), A.sum(axis=0))
    np.testing.assert_allclose(np.asarray(np.multiply.outer(x, [1.0, 2.0])), np.multiply.outer(A, [1.0, 2.0]))
    np.testing.assert_allclose(np.asarray(np.arcsinh(x)), np.arcsinh(A))
    fraction, whole = np.modf(x)
    np.testing.assert_allclose(np.asarray(fraction) + np.asarray(whole), A)


KEYS: list[Any] = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    (slice(None), 2),
    (slice(1, None), slice(None, None, 2)),
    (..., None),
    (None, slice(None), None),
    (slice(None), None),
    ...,
    (1, 2),
    ([0, 2, 0],),
    (np.array([1, 3]), np.array([0, 4])),
    (np.array([[1], [3]]), np.array([0, 4])),
    np.array([True, False, True, False]),
    (slice(None), np.array([True, False, True, False, True])),
    slice(2, 2),
]


@pytest.mark.parametrize("at", range(len(KEYS)))
def test_indexing(at: int) -> None:
    key = KEYS[at]
    for x in [*kinds(SPARSE), dastac.array(SPARSE) * 2 - SPARSE]:
        same(x[key], SPARSE[key])
    same(dastac.array(A)[dastac.array(A) > 0], A[A > 0])
    band = np.triu(np.tril(LOWER @ LOWER.T, 1), -1)
    if isinstance(key, slice):
        same(dastac.band(band, 1, 1)[key], band[key])


@pytest.mark.parametrize("key", [7, (0, 9), (0, 0, 0), "x", np.array([9]), slice(0, 1, 0), 1.5])
def test_keys_that_do_not_fit(key: Any) -> None:
    for x in (dastac.array(A), dastac.array(sp.csr_array(SPARSE))):
        with pytest.raises((IndexError, ValueError, TypeError)):
            x[key]


def test_shapes() -> None:
    x = dastac.array(A)
    same(x.reshape(2, 10), A.reshape(2, 10))
    same(x.reshape((-1,)), A.reshape(-1))
    same(np.reshape(x + 1, (5, 4)), (A + 1).reshape(5, 4))
    same(dastac.array(sp.csr_array(SPARSE)).reshape(10, 2), SPARSE.reshape(10, 2))
    same(x.mT, A.T)
    assert np.shape(x) == (4, 5) and np.ndim(x) == 2 and np.size(x) == 20 and len(list(x)) == 4
    same(dastac.array(A[None])[0] @ B.T, A @ B.T)
    stack = RNG.random((3, 2, 4))
    same(dastac.array(stack) @ RNG.random((1, 4, 2)) * 0, np.zeros((3, 2, 2)))


def test_numbers() -> None:
    s = dastac.array(A).sum()
    assert float(s) == pytest.approx(A.sum()) and complex(s).real == pytest.approx(A.sum())
    assert int(dastac.array(np.array(3))) == 3 and operator.index(dastac.array(np.arange(4)).sum()) == 6
    assert bool(s) and f"{float(s):.1f}" == f"{A.sum():.1f}"
    with pytest.raises(TypeError):
        operator.index(s)


def test_in_place_operators_name_new_arrays() -> None:
    value = A.copy()
    x = before = dastac.array(value)
    x += 1
    x @= np.ones((5, 2))
    same(x, (A + 1) @ np.ones((5, 2)))
    assert before is not x
    np.testing.assert_array_equal(value, A)


def test_results_are_written_to_out() -> None:
    out = np.empty_like(A)
    assert np.add(dastac.array(A), B, out=out) is out
    np.testing.assert_allclose(out, A + B)
    assert dastac.array(A).compute(out=out) is out and (out == A).all()
    with pytest.raises(dastac.InputError, match="not written to"):
        np.add(dastac.array(A), B, out=dastac.array(out))


def test_what_is_computed_is_not_computed_again() -> None:
    x = dastac.array(A) @ B.T
    first = x.compute()
    assert x.compute() is first
    same(x + 1, A @ B.T + 1)
    assert "A0(i0, i1)" in dastac.inspect(x + 1), "the values that are there are read"


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "float16", "longdouble", "int16", "complex64"])
def test_types_that_programs_do_not_have(dtype: str) -> None:
    x, y = RNG.integers(1, 5, (3, 4)).astype(dtype), RNG.integers(1, 5, (3, 4)).astype(dtype)
    a, b = dastac.array(x), dastac.array(y)
    for op in (operator.add, operator.mul, operator.truediv, operator.lt):
        if np.dtype(dtype).kind == "c" and op is operator.lt:
            continue
        found, expected = op(a, b), op(x, y)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-2 if dtype == "float16" else 1e-6)
    assert (a @ b.T).dtype == (x @ y.T).dtype and a.sum().dtype == x.sum().dtype
    np.testing.assert_allclose(np.asarray(a @ b.T), x @ y.T)
    np.testing.assert_allclose(np.asarray(dastac.einsum("ij,ij->i", a, b)), np.einsum("ij,ij->i", x, y))
    same(a[:, :3].trace(), x[:, :3].trace())
    large = np.full((2, 3), 300).astype(dtype)
    with np.errstate(over="ignore"):
        for view in (lambda v: v[:, None, :] * v[None], lambda v: v.sum(axis=1, keepdims=True), lambda v: v[..., None]):
            same(view(dastac.array(large)), view(large))
            same(view(dastac.array(large) + 0), view(large))


def test_pickles() -> None:
    for made in (dastac.array(A), dastac.lower(LOWER), dastac.array(sp.csr_array(SPARSE)) * 2 + 1, dastac.array(A).T):
        copy = pickle.loads(pickle.dumps(made))
        assert copy.structure == made.structure
        np.testing.assert_array_equal(np.asarray(copy), np.asarray(made))


@pytest.mark.parametrize(
    "subscripts", ["...ij,jk->...ik", "...ij,...jk->...ik", "...->...", "i...->...", "...ij", "...i,...i"]
)
def test_einsum_with_dots(subscripts: str) -> None:
    operands = [RNG.random((2, 3, 4)), RNG.random((2, 4, 3)) if subscripts.count("...j") else RNG.random((4, 3))]
    if subscripts == "...i,...i":
        operands = [RNG.random((2, 3)), RNG.random((2, 3))]
    operands = operands[: subscripts.split("->")[0].count(",") + 1]
    np.testing.assert_allclose(dastac.einsum(subscripts, *operands), np.einsum(subscripts, *operands))


def test_pictures() -> None:
    assert repr(dastac.spy(sp.csr_array(np.eye(3)))).startswith("3 x 3, 3 of 9 stored")
    large = dastac.spy(sp.eye_array(1000, format="csr"), 8)
    assert large.rows == ["." * at + "#" + "." * (7 - at) for at in range(8)] and large.svg.startswith("<svg")
    assert dastac.spy(np.zeros((0, 3))).rows == []
    with pytest.raises(dastac.InputError):
        dastac.spy(np.ones(3))
    program = dastac.compile("symbols: N\ny(i) := A(i, j)\nA:D(i, j) := (0 <= i < N) * (0 <= j < N)\nA:U(i, j) := (i <= j)")
    page = program.explain(N=10)
    assert "<table>" in page and "440" in page and "proven" in page and "i &lt;= j" in page
    assert "<table>" in program.explain()


def test_truth_values_as_numbers() -> None:
    flags, numbers = np.array([True, False, True]), np.arange(3.0)
    same(dastac.array(flags) == False, flags == False)  # noqa: E712
    same(dastac.array(numbers) != True, numbers != True)  # noqa: E712
    same(dastac.array(numbers) + True, numbers + True)
    same(dastac.array(flags).conj(), flags.conj())
    for other in ("a", None, ["x", "y", "z"]):
        same(dastac.array(numbers) == other, numbers == other)
        same(dastac.array(numbers) != other, numbers != other)


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_extrema_of_sparse_matrices(kind: str, axis: int | None, keepdims: bool) -> None:
    for shape in [(1, 1), (7, 5), (1, 9)]:
        values = np.random.default_rng(4).integers(-2, 3, shape).astype(float)
        matrix = dastac.array(sp.csr_array(values).asformat(kind))
        for name in ("max", "min"):
            expected = getattr(values, name)(axis=axis, keepdims=keepdims)
            same(getattr(matrix, name)(axis=axis, keepdims=keepdims), expected)
