"""Methods of arrays, `out`, what is handed out, and what is refused, beside NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

RNG = np.random.default_rng(12)
A = np.round(RNG.normal(size=(4, 5)), 2) * (RNG.random((4, 5)) < 0.6) + 0.0
WHOLE = RNG.integers(-3, 4, (4, 5))

METHODS: list[Callable[[Any], Any]] = [
    *(lambda a, name=name: getattr(a, name)() for name in ("prod", "std", "var", "argmax", "argmin", "cumsum", "conj")),
    *(lambda a, name=name: getattr(a, name)(axis=0) for name in ("prod", "std", "var", "argmax", "argmin", "cumsum")),
    *(lambda a, name=name: getattr(a, name)() for name in ("round", "copy", "ravel", "flatten", "diagonal", "trace")),
    lambda a: a.std(axis=1, ddof=1, keepdims=True),
    lambda a: a.var((0, 1)),
    lambda a: a.argmax(axis=1, keepdims=True),
    lambda a: a.dot(A.T),
    lambda a: a.dot(2.0),
    lambda a: a.clip(-1, 1),
    lambda a: a.clip(max=0.5),
    lambda a: a.round(1),
    lambda a: a.diagonal(1),
    lambda a: a.trace(-1),
    lambda a: a.transpose(1, 0),
    lambda a: a.transpose((1, 0)),
    lambda a: a.astype("f4", copy=False),
    lambda a: a[:, :1].squeeze(),
    lambda a: a[:1].squeeze(axis=0),
    lambda a: a.sum(0, np.float32),
    lambda a: a.mean(axis=0, dtype=np.float64),
    lambda a: a**True,
    lambda a: a / a,
    lambda a: 1 / a,
    lambda a: a.mean(axis=0, dtype=np.int16),
    lambda a: round(a, 1) if isinstance(a, dastac.Array) else a.round(1),
    lambda a: a.real,
    lambda a: a.imag,
    lambda a: np.sum(a, 0, np.float32),
    lambda a: np.trace(a),
    lambda a: np.var(a, axis=1, ddof=1),
    lambda a: np.transpose(a, axes=(1, 0)),
    lambda a: np.round(a, 1),
    lambda a: np.clip(a, -0.5, 0.5),
    lambda a: np.argmin(a, axis=0),
    lambda a: np.count_nonzero(a, axis=0),
    lambda a: a.swapaxes(0, -1),
    lambda a: a.take([0, -1], axis=1),
    lambda a: a.take(3),
    lambda a: a.repeat(2, axis=0),
    lambda a: a.repeat(2),
    lambda a: a.cumprod(axis=1),
    lambda a: a.compress([True, False, True], axis=0),
    lambda a: a.argsort(axis=0, kind="stable"),
    lambda a: a.argsort(axis=None, stable=True),
    lambda a: a[0].searchsorted([0, 9]),
    lambda a: a.sum(axis=0, initial=2),
    lambda a: a.sum(axis=0, where=A > 0),
    lambda a: a.prod(initial=2, where=A > 0),
    lambda a: a.max(axis=1, initial=7),
    lambda a: np.max(a, axis=1, initial=7, where=A > 0),
    lambda a: np.min(a, initial=-7, keepdims=True),
    lambda a: a.mean(axis=1, where=WHOLE < 3),
    lambda a: a.any(axis=1, where=A > 0) | a.all(axis=1, where=A > 0),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("at", range(len(METHODS)))
@pytest.mark.parametrize("kind", ["dense", "csr", "bsr", "lazy", "whole", "stored"])
def test_methods(at: int, kind: str) -> None:
    dense = A if kind not in ("whole", "stored") else WHOLE
    found: Any = {
        "dense": lambda: dastac.array(A),
        "csr": lambda: dastac.array(sp.csr_array(A)),
        "bsr": lambda: dastac.array(sp.bsr_array(A, blocksize=(2, 5))),
        "lazy": lambda: dastac.array(A) * 2 / 2,
        "whole": lambda: dastac.array(WHOLE),
        "stored": lambda: dastac.array(sp.csc_array(WHOLE)),
    }[kind]()
    expected = METHODS[at](dense)
    made = METHODS[at](found)
    assert made.shape == np.shape(expected) and made.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(np.asarray(made), expected, rtol=1e-12, atol=1e-12)


def test_values_of_arrays() -> None:
    for a in (dastac.array(A), dastac.array(sp.csr_array(A)), dastac.array(A) + 0):
        assert a.tolist() == A.tolist() and a.item(2) == A.item(2) and a.nnz == np.count_nonzero(A)
        assert 0.0 in a and float(A.max()) in a and 99.0 not in a and np.count_nonzero(a) == a.nnz
        for found, expected in zip(a.nonzero(), np.nonzero(A), strict=True):
            np.testing.assert_array_equal(found, expected)
        for format in ("csr", "csc", "coo"):
            made = getattr(a, f"to{format}")()
            assert made.format == format
            np.testing.assert_array_equal(made.toarray(), A)
        a.toarray()[:] = 7
        np.testing.assert_array_equal(a.todense(), A)
    assert f"{dastac.array(2.0):.3f}" == "2.000" and f"{dastac.array(A)}" == str(dastac.array(A))
    assert dastac.array([1, 2], dtype="f4").dtype == np.float32
    np.testing.assert_array_equal(dastac.array(sp.csr_array(A)).multiply(2).power(2).compute().toarray(), (A * 2) ** 2)


def test_bytes_of_arrays() -> None:
    for a in (dastac.array(A), dastac.array(sp.csr_array(A)), dastac.array(A) + 0):
        assert (a.itemsize, a.nbytes, a.tobytes(), list(a.flat)) == (8, A.nbytes, A.tobytes(), A.ravel().tolist())


def test_bounds_beyond_the_type() -> None:
    for dtype, bounds in (("u1", (-1, 2)), ("i1", (0, 300)), ("i4", (-(2**40), 2**40)), ("u1", (0, 255))):
        values = np.array([1, 5], dtype)
        found = np.clip(dastac.array(values), *bounds)
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found, np.clip(values, *bounds))
    with pytest.raises(OverflowError):
        np.clip(dastac.array(np.array([1, 5], "u1")), 300, 400)


def test_axes_that_are_not_there() -> None:
    for a in (dastac.array(A), dastac.array(sp.csr_array(A))):
        for call in (
            lambda: a.sum(axis=2),
            lambda: a.max(axis=(0, -3)),
            lambda: a.transpose(0, 5),
            lambda: a.swapaxes(0, 2),
            lambda: a.argmax(axis=2),
            lambda: np.mean(a, axis=-3),
        ):
            with pytest.raises(np.exceptions.AxisError):
                call()
    with pytest.raises(dastac.InputError):
        dastac.array(A).sum(axis=2)


def test_solvers_of_scipy() -> None:
    linalg = pytest.importorskip("scipy.sparse.linalg")
    dense = np.diag(np.arange(1.0, 9)) + 0.1
    for made in (dastac.array(dense) * 1, dastac.symmetric(dense), dastac.array(sp.csr_array(dense))):
        found, failed = linalg.cg(made, np.ones(8), rtol=1e-10)
        assert not failed
        np.testing.assert_allclose(dense @ found, np.ones(8))
        np.testing.assert_allclose(linalg.eigsh(made, k=2)[0], np.linalg.eigvalsh(dense)[-2:])
    turned = A * (1 + 2j) + 1j
    operator = linalg.aslinearoperator(dastac.array(turned))
    assert operator.shape == turned.shape and operator.dtype == turned.dtype
    np.testing.assert_allclose(operator.rmatvec(np.ones(4) * 1j), turned.conj().T @ np.ones(4) * 1j)
    np.testing.assert_allclose(operator @ A.T, turned @ A.T)


def test_means_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for shape, axis in (((0, 3), 0), ((0, 3), None), ((0, 3), 1), ((3, 0), 1)):
            np.testing.assert_array_equal(dastac.array(np.ones(shape)).mean(axis=axis), np.ones(shape).mean(axis=axis))
            empty = dastac.array(sp.csr_array(shape))
            np.testing.assert_array_equal(empty.mean(axis=axis), np.ones(shape).mean(axis=axis))


#: What may share memory with the values of an array.
PARTS: list[Callable[[Any], Any]] = [
    *(lambda a, name=name: getattr(a, name)() for name in ("ravel", "squeeze", "diagonal", "copy")),
    lambda a: a[1:],
    lambda a: a[[0, 1]],
    lambda a: a.T[1:],
    lambda a: a.reshape(5, 4),
    lambda a: np.flip(a, 0),
    lambda a: np.split(a, [2])[1],
    lambda a: np.expand_dims(a, 0),
    lambda a: np.swapaxes(a, 0, 1),
    lambda a: a.astype("u2")[None],
    lambda a: next(iter(a)),
    np.from_dlpack,
]


def test_copies_that_are_forbidden() -> None:
    values = A.copy()
    assert np.shares_memory(np.asarray(dastac.array(values), copy=False), values)
    made = dastac.array(values) + 1
    assert np.shares_memory(np.asarray(made, copy=False), np.asarray(made, dtype=float, copy=False))
    assert not np.shares_memory(np.array(made), np.asarray(made))
    for a, dtype in ((dastac.array(sp.csr_array(A)), None), (dastac.array(values), "f4"), (made, int)):
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(a, dtype, copy=False)


#: Functions that write to an array, if they may.
WRITES: list[Callable[[Any], Any]] = [
    lambda a: np.fill_diagonal(a, 9),
    lambda a: np.put(a, [0], 9),
    lambda a: np.copyto(a, 9),
    lambda a: np.copyto(dst=a, src=9),
    lambda a: np.putmask(a, np.ones(A.shape, bool), 9),
    lambda a: np.place(a, np.ones(A.shape, bool), [9]),
    lambda a: np.put_along_axis(a, np.zeros((4, 1), int), 9, 1),
    lambda a: np.add.at(a, (0, 0), 9),
    lambda a: np.nan_to_num(a, copy=False),
    lambda a: np.random.default_rng(1).shuffle(a),
    lambda a: np.cumprod(A, 0, None, a),
    lambda a: np.cumprod(A, 0, out=a),
    lambda a: np.round(a, out=a),
    lambda a: np.concatenate([A[:2], A[2:]], out=a),
    lambda a: np.einsum("ij->ij", A, out=a),
    lambda a: np.modf(A, out=(np.empty_like(A), a)),
    lambda a: a.flat.__setitem__(0, 9),
]


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize("at", range(len(WRITES)))
def test_arrays_are_not_written_to(at: int) -> None:
    values = A.copy()
    for a in (dastac.array(values), dastac.array(values) * 1, dastac.array(sp.csr_array(A)), dastac.array(values.T).T):
        with pytest.raises((TypeError, ValueError), match="not written to|read-only|assignment"):
            WRITES[at](a)
        np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(values, A)


def test_arrays_are_written_to_others() -> None:
    values, order = A.copy(), np.asfortranarray(A)
    np.copyto(values, dastac.array(A) + 1, where=dastac.array(A > 0))
    np.testing.assert_array_equal(values, np.where(A > 0, A + 1, A))
    np.add.at(order, ([0, 0, 1], dastac.array([1, 1, 2])), dastac.array([1.0, 2.0, 3.0]))
    assert order[0, 1] == A[0, 1] + 3 and order[1, 2] == A[1, 2] + 3


def test_what_is_kept_is_not_written_to() -> None:
    values = A.copy()
    for made in (dastac.array(values) + 1, dastac.array(values).prod(axis=0), dastac.array(A > 0) | (A < 0)):
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(made)[...] = 3
    for part in PARTS:
        made = dastac.array(values) + 1
        found = part(made)
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(found)[...] = 3
        np.testing.assert_array_equal(made, values + 1)
    stored = (dastac.array(sp.csr_array(A)) * 2).compute()
    with pytest.raises(ValueError, match="read-only"):
        stored.data[:] = 3
    np.asarray(dastac.array(values))[0] = 9
    assert (values[0] == 9).all(), "the caller's own array stays one"
    dastac.einsum("ij->ij", values)[...] = 3
    dastac.trace(lambda a: a + 1)(values)[...] = 3


def test_out_with_where() -> None:
    mask = A > 0
    out, expected = np.full_like(A, 7), np.full_like(A, 7)
    assert np.add(dastac.array(A), 1, where=mask, out=out) is out
    np.add(A, 1, where=mask, out=expected)
    np.testing.assert_array_equal(out, expected)
    np.multiply(dastac.array(A), 2, out=out, where=dastac.array(mask))
    np.testing.assert_array_equal(out, np.multiply(A, 2, out=expected, where=mask))
    fraction, whole = np.empty_like(A), np.empty_like(A)
    np.modf(dastac.array(A), out=(fraction, whole))
    np.testing.assert_allclose(fraction + whole, A)
    np.add.reduce(dastac.array(A), axis=0, out=out[0])
    np.testing.assert_allclose(out[0], A.sum(axis=0))


def test_out_of_methods() -> None:
    out = np.empty(5)
    for name in ("sum", "mean", "max", "std", "prod"):
        assert getattr(dastac.array(A), name)(axis=0, out=out) is out
        np.testing.assert_allclose(out, getattr(A, name)(axis=0))
    np.sum(dastac.array(A), axis=0, out=out)
    np.testing.assert_allclose(out, A.sum(axis=0))
    for wrong in (np.empty(4), np.empty((1, 5))):
        with pytest.raises(dastac.InputError, match="shape"):
            dastac.array(A).sum(axis=0, out=wrong)
    with pytest.raises(TypeError):
        (dastac.array(A) + 1).compute(out=np.empty(A.shape, int))
    program = dastac.compile("symbols: N\ny(i) := 2 * x(i)\nx:D(i) := (0 <= i < N)")
    with pytest.raises(dastac.InputError, match="shape"):
        program(np.ones(3), out=np.empty(2))


def test_what_programs_refuse() -> None:
    text = "symbols: N\ny(i) := 2 * x(i)\nx:D(i) := (0 <= i < N)"
    program = dastac.compile(text)
    with pytest.raises(dastac.InputError, match="no symbol `M`: symbols are N"):
        dastac.compile(text, M=3)
    with pytest.raises(dastac.InputError, match="no result `q`: results are y"):
        program(np.ones(3), packed=["q"])
    for threads in ("two", 1.5, True):
        for call in (lambda: dastac.compile(text, threads=threads), lambda: program(np.ones(3), threads=threads)):
            with pytest.raises(TypeError, match="threads must be an integer"):
                call()
    for number in (3.0, np.float64(3), np.array(3.0)):
        with pytest.raises(dastac.InputError, match="a number is given"):
            program(number)
    masked = np.ma.array(np.ones(3), mask=[0, 1, 0])
    for call in (lambda: program(masked), lambda: dastac.array(masked), lambda: dastac.einsum("i->", masked)):
        with pytest.raises(dastac.InputError, match="masked"):
            call()
    assert program(np.ma.array(np.ones(3))).tolist() == [2, 2, 2]


def test_spans_are_of_characters() -> None:
    text = "# größe, 長さ\nsymbols: N\ny(i) := foo(x(i))\nx:D(i) := (0 <= i < N)\n"
    with pytest.raises(dastac.CompileError) as raised:
        dastac.compile(text)
    assert raised.value.span is not None
    start, end = raised.value.span
    assert text[start:end].startswith("foo")


def test_messages_name_operands() -> None:
    with pytest.raises(dastac.InputError, match="operand 1: coordinates"):
        dastac.einsum("ij,jk->ik", A, _spoiled("coo"))
    with pytest.raises(dastac.InputError, match="operand 1: `indptr`"):
        dastac.einsum("ij,jk->ik", A, _spoiled("csr"))


def _spoiled(format: str) -> Any:
    made = getattr(sp, f"{format}_array")(np.eye(5))
    (made.coords[0] if format == "coo" else made.indptr)[1] = 99
    return made


EINSUMS: list[Callable[[Callable[..., Any]], Any]] = [
    lambda e: e("ij,kj->ik", A, WHOLE, optimize=True),
    lambda e: e(A, [0, 1], WHOLE, [2, 1], [0, 2]),
    lambda e: e(A, [0, 1], WHOLE, [2, 1]),
    lambda e: e(A, [..., 1], WHOLE, [2, 1], [..., 2]),
    lambda e: e("ij,kj->ik", A, A, dtype=complex),
    lambda e: e("ij,kj->ik", A, A, order="F"),
    lambda e: e("ij,kj->ik", A, WHOLE, dtype="f4", casting="unsafe"),
    lambda e: e("ij,ij->ij", A, A[:1]),
    lambda e: e("ij,ij->j", A, A[:, :1]),
    lambda e: e("ij,j->i", A, np.ones(1)),
    lambda e: e("...ij,...jk->...ik", np.ones((2, 3, 4)), np.ones((1, 4, 5))),
    lambda e: e("ii", A[:, :4]),
    lambda e: e("ii->i", A[:, :4]),
    lambda e: e("ii,ij->j", A[:, :4], A),
    lambda e: e("iji->ji", np.arange(48.0).reshape(4, 3, 4)),
    lambda e: e(",ij->ij", 2.0, A),
]


@pytest.mark.parametrize("at", range(len(EINSUMS)))
def test_einsum_takes_what_numpys_takes(at: int) -> None:
    expected = EINSUMS[at](np.einsum)
    for _ in range(2):
        found = EINSUMS[at](dastac.einsum)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert dastac.einsum("ij->ij", A, order="F").flags.f_contiguous
    lazy = np.einsum("ij,kj->ik", dastac.array(A), A, optimize=True)
    assert isinstance(lazy, dastac.Array)


def test_einsum_refuses_options() -> None:
    with pytest.raises(TypeError, match="cannot cast"):
        dastac.einsum("ij->i", A, dtype="f4")
    with pytest.raises(dastac.InputError, match="order"):
        dastac.einsum("ij->i", A, order="Z")
    with pytest.raises(dastac.InputError, match="subscript"):
        dastac.einsum(A, ["i", "j"])


def test_small_products_follow_their_arrays() -> None:
    """Programs of small calls are kept by shapes and types."""
    for shape in ((2, 3), (3, 2), (1, 3), (2, 3)):
        for dtype in ("f8", "f4", "c16"):
            a, b = RNG.random(shape).astype(dtype), RNG.random(shape[::-1]).astype(dtype)
            for x, y in ((a, b), (np.asfortranarray(a), b), (b.T, b)):
                for _ in range(3):
                    np.testing.assert_allclose(dastac.einsum("ij,jk->ik", x, y), x @ y, rtol=1e-5)
