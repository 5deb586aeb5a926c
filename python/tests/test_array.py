"""Arrays whose operations are collected, beside NumPy."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

RNG = np.random.default_rng(7)
A, B, C, X = RNG.random((4, 5)), RNG.random((5, 6)), RNG.random((4, 6)), RNG.random(5)
S = sp.random_array((4, 5), density=0.4, format="csr", rng=1)
HALF = RNG.random((5, 5))
M = HALF + HALF.T

#: An expression of arrays `a`, `b`, `c`, `x`, a sparse one `s` and a symmetric one `m`.
EXPRESSIONS: list[Callable[..., Any]] = [
    lambda a, b, c, x, s, m: 2 * (a @ b) - c / 3 + 1,
    lambda a, b, c, x, s, m: a.T @ c,
    lambda a, b, c, x, s, m: (a * a).sum(axis=0),
    lambda a, b, c, x, s, m: a.max(axis=1) + a.min(axis=1),
    lambda a, b, c, x, s, m: a.max(),
    lambda a, b, c, x, s, m: np.exp(a @ b) + c,
    lambda a, b, c, x, s, m: a @ x + (x @ b).sum(),
    lambda a, b, c, x, s, m: a + x,
    lambda a, b, c, x, s, m: a.mean() - a.mean(axis=0),
    lambda a, b, c, x, s, m: ((a @ b) * c) @ b.T,
    lambda a, b, c, x, s, m: s * 2 + s,
    lambda a, b, c, x, s, m: s @ b,
    lambda a, b, c, x, s, m: s.T @ c,
    lambda a, b, c, x, s, m: s * a + s,
    lambda a, b, c, x, s, m: s + a,
    lambda a, b, c, x, s, m: s.sum(axis=1) * 3,
    lambda a, b, c, x, s, m: abs(-s).max(axis=0),
    lambda a, b, c, x, s, m: np.exp(s),
    lambda a, b, c, x, s, m: s / (a + 1),
    lambda a, b, c, x, s, m: s @ s.T,
    lambda a, b, c, x, s, m: s * (a @ m),
    lambda a, b, c, x, s, m: m @ b,
    lambda a, b, c, x, s, m: m @ m,
    lambda a, b, c, x, s, m: m + m.T,
    lambda a, b, c, x, s, m: (x @ m @ x),
    lambda a, b, c, x, s, m: np.sqrt(abs(a)).sum() ** 2,
    lambda a, b, c, x, s, m: np.maximum(a, 0.5) - np.minimum(a, x),
    lambda a, b, c, x, s, m: (a + 1).T,
    lambda a, b, c, x, s, m: a.T[0] + a[1:, 0].sum(),
    lambda a, b, c, x, s, m: np.trace(m) * np.transpose(m, (1, 0)),
]


@pytest.mark.parametrize("at", range(len(EXPRESSIONS)))
def test_expressions(at: int) -> None:
    expression = EXPRESSIONS[at]
    lazy = [dastac.array(value) for value in (A, B, C, X, S)]
    found = expression(*lazy, dastac.symmetric(M))
    expected = expression(A, B, C, X, S.toarray(), M)
    assert found.shape == np.shape(expected) and found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


SUBSCRIPTS = ["ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,jk->", "ij,jk->ijk", "ij,jk->j", "ab , bc -> ca"]


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_einsum(subscripts: str) -> None:
    expected = np.einsum(subscripts.replace(" ", ""), A, B)
    for left in (A, np.asfortranarray(A), A[::-1][::-1], A.astype(np.float32), sp.csr_array(A)):
        found = dastac.einsum(subscripts, left, B)
        dense = found.toarray() if sp.issparse(found) else found
        np.testing.assert_allclose(dense, expected, rtol=1e-5)
    out = np.empty_like(expected)
    assert dastac.einsum(subscripts, A, B, out=out) is out
    np.testing.assert_allclose(out, expected)


def test_einsum_of_one_and_of_many() -> None:
    np.testing.assert_allclose(dastac.einsum("ii->i", M), np.diag(M))
    np.testing.assert_allclose(dastac.einsum("ii", M), np.trace(M))
    np.testing.assert_allclose(dastac.einsum("ij->ji", A), A.T)
    np.testing.assert_allclose(dastac.einsum("ij,jk,ik->", A, B, C), np.einsum("ij,jk,ik->", A, B, C))
    chain = np.einsum("ij,jk,kl,lm->im", A, B, B.T, A.T)
    np.testing.assert_allclose(dastac.einsum("ij,jk,kl,lm->im", A, B, B.T, A.T), chain)
    sampled = dastac.einsum("ij,ik,kj->ij", S, C, C.T @ A)
    assert sp.issparse(sampled) and sampled.nnz == S.nnz
    np.testing.assert_allclose(sampled.toarray(), S.toarray() * (C @ (C.T @ A)))
    tensor = RNG.random((3, 4, 5)) * (RNG.random((3, 4, 5)) < 0.3)
    found = dastac.einsum("ikl,kj,lj->ij", sp.coo_array(tensor), C, B)
    np.testing.assert_allclose(found, np.einsum("ikl,kj,lj->ij", tensor, C, B))


@pytest.mark.parametrize(
    "subscripts", ["ij,jk->ii", "ij,jk->iz", "ij,j->i", "ij->i", "i...,jk->i", "ij,kj->ik", "ij;jk", ""]
)
def test_einsum_refuses(subscripts: str) -> None:
    with pytest.raises(dastac.InputError):
        dastac.einsum(subscripts, A, B)


def test_formats_of_results() -> None:
    for format in ("csr", "csc", "coo"):
        found = dastac.einsum("ij,jk->ik", S, sp.csr_array(B), format=format)
        assert found.format == format
        np.testing.assert_allclose(found.toarray(), S @ B)
    assert sp.issparse((dastac.array(S) * 2).compute())
    assert isinstance((dastac.array(S) * 2).compute(format="dense"), np.ndarray)


STRUCTURES: list[tuple[str, Callable[[], dastac.Array], np.ndarray[Any, Any]]] = [
    ("symmetric", lambda: dastac.symmetric(M), M),
    ("skew", lambda: dastac.skew_symmetric(HALF - HALF.T), HALF - HALF.T),
    ("lower", lambda: dastac.lower(np.tril(HALF)), np.tril(HALF)),
    ("upper", lambda: dastac.upper(np.triu(HALF[:4])), np.triu(HALF[:4])),
    ("diagonal", lambda: dastac.diagonal(X), np.diag(X)),
    ("band", lambda: dastac.band(np.triu(np.tril(M, 1), -2), 2, 1), np.triu(np.tril(M, 1), -2)),
    ("toeplitz", lambda: dastac.toeplitz([1.0, 2, 3], [1.0, 5]), np.array([[1.0, 5], [2, 1], [3, 2]])),
    ("circulant", lambda: dastac.circulant([1.0, 2, 3]), np.array([[1.0, 3, 2], [2, 1, 3], [3, 2, 1]])),
    (
        "blocks",
        lambda: dastac.block_diagonal(np.kron(np.eye(3), M[:2, :2]), 2),
        np.kron(np.eye(3), M[:2, :2]),
    ),
    (
        "structured",
        lambda: dastac.structured(np.triu(np.tril(M, 1)), where="i <= j <= i + K", K=1),
        np.triu(np.tril(M, 1)),
    ),
]


@pytest.mark.parametrize("name, make, dense", STRUCTURES, ids=[name for name, _, _ in STRUCTURES])
def test_structures(name: str, make: Callable[[], dastac.Array], dense: np.ndarray[Any, Any]) -> None:
    made = make()
    np.testing.assert_array_equal(np.asarray(made), dense)
    x, y = RNG.random(dense.shape[1]), RNG.random((dense.shape[0], 3))
    np.testing.assert_allclose(np.asarray(made @ x), dense @ x)
    np.testing.assert_allclose(np.asarray(made.T @ y), dense.T @ y)
    np.testing.assert_allclose(np.asarray(made @ made.T), dense @ dense.T)
    assert len(repr(made).splitlines()) == dense.shape[0] + 1 and "<svg" in (made._repr_svg_() or "")


def test_simplex() -> None:
    i, j, k = np.indices((4, 4, 4))
    tensor = RNG.random((4, 4, 4)) * ((i <= j) & (j <= k))
    made = dastac.simplex(tensor)
    x = RNG.random(4)
    found = dastac.einsum("ijk,k->ij", made, x)
    np.testing.assert_allclose(np.asarray(found), np.einsum("ijk,k->ij", tensor, x))


def test_structures_that_data_contradicts() -> None:
    for make in (dastac.symmetric, dastac.lower, dastac.upper, dastac.diagonal, dastac.skew_symmetric):
        with pytest.raises(dastac.InputError, match="contradicts"):
            make(HALF)
    with pytest.raises(dastac.InputError, match="equal extents"):
        dastac.symmetric(A)
    with pytest.raises(dastac.InputError, match="2 dimensions"):
        dastac.lower(X)
    for make, data, words in (
        (dastac.lower, np.ones((2, 2)), r"the array .* `lower`: at \[0, 1\] it must be 0, but it is 1$"),
        (dastac.symmetric, np.array([[1, 1 - 2j], [1 + 2j, 1]]), r"\(1\+2j\), but \(1-2j\) .* is Hermitian"),
        (dastac.symmetric, np.array([[1, 1 - 2j], [3j, 1]]), r"at \[1, 0\] it is 3j, which"),
        (dastac.upper, np.array([[1, 0], [3j, 1]]), r"at \[1, 0\] it is 3j, which"),
    ):
        with pytest.raises(dastac.InputError, match=words):
            make(data)
    for size in (1.5, "1"):
        for make_of_size in (lambda: dastac.band(HALF, size, 0), lambda: dastac.block_diagonal(HALF, size)):
            with pytest.raises(TypeError, match="integer"):
                make_of_size()


def test_squares_have_equal_extents() -> None:
    turned = HALF + HALF[::-1, ::-1].T
    where, same_as = "i + j <= N0 - 1", "(i + j > N0 - 1) * (ip = N0 - 1 - j) * (jp = N1 - 1 - i)"
    made = dastac.structured(turned, where=where, same_as=same_as)
    np.testing.assert_allclose(made @ B, turned @ B)
    np.testing.assert_allclose(made @ made, turned @ turned)
    with pytest.raises(dastac.InputError, match="contradicts"):
        dastac.structured(HALF, where=where, same_as=same_as)


def test_what_is_found_is_said() -> None:
    a = dastac.array(A)
    text = repr(dastac.inspect(a @ a.T))
    assert "(i1 < i0)" in text and "R: 80 bytes of 128" in text


def test_functions_are_traced() -> None:
    calls = 0

    @dastac.trace
    def found(a: Any, b: Any, s: Any) -> Any:
        nonlocal calls
        calls += 1
        product = a @ b
        return product, np.exp(product).sum(axis=0), s * 2, a.max()

    for _ in range(2):
        product, sums, doubled, largest = found(A, b=B, s=S)
        np.testing.assert_allclose(product, A @ B)
        np.testing.assert_allclose(sums, np.exp(A @ B).sum(axis=0))
        np.testing.assert_allclose(doubled.toarray(), 2 * S.toarray())
        assert largest == A.max()
    assert calls == 2
    np.testing.assert_allclose(dastac.trace(lambda a: a + 1)(A), A + 1)
    assert isinstance(dastac.trace(lambda a: [a + 1])(A), tuple)
    with pytest.raises(dastac.InputError):
        dastac.trace(lambda a: 3)(A)


class Scaled:
    """What has a traced method."""

    factor = 2.0

    @dastac.trace
    def of(self, a: Any) -> Any:
        return a * self.factor


class Pair(NamedTuple):
    """Two arrays."""

    one: Any
    other: Any


#: A function, with arguments that are not only arrays.
TRACED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda a, m=None: a + 1 if m is None else a * m, (A, None)),
    (lambda a, m=None: a + 1 if m is None else a * m, (A, A)),
    (lambda a, axis: a.sum(axis=axis), (A, None)),
    (lambda a, axis: a.sum(axis=axis), (A, (0, 1))),
    (lambda a, axis: a.sum(axis=axis), (A, np.int64(1))),
    (lambda a, dtype: a.astype(dtype), (A, "f4")),
    (lambda a, dtype: a.astype(dtype), (A, np.float32)),
    (lambda a, dtype: a.astype(dtype), (A, np.dtype("i4"))),
    (lambda a, k: a * k, (A.astype("f4"), 2.0)),
    (lambda a, k: a * k, (A.astype("f4"), np.float64(2.0))),
    (lambda a, k: a * k, (A.astype("f4"), np.array(2.0))),
    (lambda a, k: sum(a for _ in range(k)), (A, 3)),
    (lambda a, is_half: a / 2 if is_half is True else a, (A, True)),
    (lambda p: p["w"] * p["k"] + p["b"][0], ({"w": A, "k": 2, "b": [A, None]},)),
    (lambda p: p[0] @ p[1], ((A, B),)),
    (lambda p: p.one @ p.other, (Pair(A, B),)),
    (lambda a, x: a @ x, (A, [1, 2, 3, 4, 5])),
    (lambda a, x: a @ np.sum(x, axis=0), (A, [[1, 2, 3, 4, 5], [1.0] * 5])),
    (lambda a, of: of.of(a), (A, Scaled())),
    (lambda a, of: of(a)[1] + of(a)[0], (A, dastac.trace(lambda a: (a * 2, a.sum(axis=0))))),
]


@pytest.mark.parametrize("at", range(len(TRACED)))
def test_arguments_of_traced_functions(at: int) -> None:
    function, arguments = TRACED[at]
    expected = np.asarray(function(*arguments))
    for _ in range(2):
        found = np.asarray(dastac.trace(function)(*arguments))
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_traced_functions_are_called_with() -> None:
    seen: list[Any] = []
    same = [None, 1, 2.0, True, "text", (1, 2), np.float32, Pair(1, (2, None)), {"k": 1}, [], slice(1, 2), dastac]
    dastac.trace(lambda a, *others, **named: seen.extend([*others, *named.values()]) or a)(A, *same, k=same[0])
    assert all(one is other for one, other in zip(seen, [*same, None], strict=True))
    with pytest.raises(dastac.InputError, match="not NoneType"):
        dastac.trace(lambda a: (a, None))(A)
    inner = dastac.trace(lambda a: a + 1)
    parts: list[Any] = []
    dastac.trace(lambda a: parts.append(inner(a)) or parts[0])(A)
    assert isinstance(parts[0], dastac.Array) and isinstance(inner(A), np.ndarray)


def test_types_are_numpys() -> None:
    for one in (np.float32, np.float64, np.complex64, np.complex128, np.int8, np.int32, np.int64):
        for other in (np.float32, np.int16, np.complex64):
            left, right = np.arange(6).reshape(2, 3).astype(one), np.arange(6).reshape(3, 2).astype(other)
            found = np.asarray(dastac.array(left) @ right)
            assert found.dtype == (left @ right).dtype
            np.testing.assert_allclose(found, left @ right)
    assert (dastac.array(np.ones(3, np.float32)) * 2).dtype == np.float32
    assert (dastac.array(np.ones(3, np.int8)) / 2).dtype == (np.ones(3, np.int8) / 2).dtype
    assert dastac.array(np.ones(3, np.int8)).sum().dtype == np.int64


def test_shapes_that_do_not_fit() -> None:
    a, b = dastac.array(A), dastac.array(B)
    for wrong in (lambda: a + b, lambda: b @ a, lambda: a.sum(axis=2), lambda: a.transpose((0, 0))):
        with pytest.raises(dastac.InputError):
            wrong()
    with pytest.raises(dastac.InputError):
        dastac.array(np.zeros((0, 3))).max()


def _grown(function: Callable[[], object]) -> int:
    """By how many bytes a call grows what the process has in memory, at most."""

    def status(name: str) -> int:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    function()
    return status("VmHWM") - before


def test_nothing_is_copied_that_need_not_be() -> None:
    def total(value: Any) -> None:
        assert float(dastac.einsum("ij->", value)) == value.size

    def product(value: Any) -> None:
        assert np.all(dastac.einsum("ij,kj->ik", value, value) == value.shape[1])

    large = np.ones((1500, 1500))
    for function, value in ((total, large), (total, large.T), (product, large.reshape(3, -1))):
        # Programs do not depend on sizes.
        function(value[:2, :2].copy(order="K"))
        assert _grown(lambda function=function, value=value: function(value)) < large.nbytes // 4  # type: ignore[misc]


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_memory_stays_as_it_is() -> None:
    s, x = sp.csr_array(S), X.copy()
    program = dastac.compile(
        "symbols: M, N\nB(i, j) := A(i, j) * x(j)\nA:D(i, j) := (0 <= i < M) * (0 <= j < N)\n"
        "A:F := csr\nx:D(j) := (0 <= j < N)\nB:F := csr"
    )
    for _ in range(200):
        program(s, x)
    gc.collect()
    before = _resident()
    for _ in range(3000):
        program(s, x)
    gc.collect()
    assert _resident() - before < 4 << 20
