"""Arrays of PyTorch and PyData sparse as operands, and as results of what is computed of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

import programs

DENSE = np.round(np.random.default_rng(5).normal(size=(6, 8)), 2)
PATTERN = DENSE * (np.random.default_rng(6).random((6, 8)) < 0.4)
X = np.random.default_rng(7).random(8)


@pytest.mark.parametrize("kind", ["COO", "GCXS", "GCXS columns", "DOK"])
def test_pydata(kind: str) -> None:
    sparse = pytest.importorskip("sparse")
    made: Any = {
        "COO": lambda: sparse.COO(PATTERN),
        "GCXS": lambda: sparse.GCXS(PATTERN),
        "GCXS columns": lambda: sparse.GCXS(PATTERN, compressed_axes=[1]),
        "DOK": lambda: sparse.DOK.from_numpy(PATTERN),
    }[kind]()
    product = dastac.compile(programs.SPARSE_VECTOR)
    np.testing.assert_allclose(product(made, X), PATTERN @ X)
    doubled = (dastac.array(made) * 2).compute()
    assert isinstance(doubled, sparse.SparseArray)
    np.testing.assert_allclose(doubled.todense(), 2 * PATTERN)
    squares = dastac.einsum("ij,kj->ik", made, made)
    assert isinstance(squares, sparse.SparseArray)
    np.testing.assert_allclose(squares.todense(), PATTERN @ PATTERN.T)
    np.testing.assert_allclose(dastac.einsum("ij,j->i", made, X), PATTERN @ X)
    np.testing.assert_allclose(np.asarray(dastac.array(made) + 1), PATTERN + 1)


def test_pydata_of_three_dimensions() -> None:
    sparse = pytest.importorskip("sparse")
    dense = np.random.default_rng(8).random((3, 4, 5)) * (np.random.default_rng(9).random((3, 4, 5)) < 0.3)
    found = dastac.einsum("ijk,kl->ijl", sparse.COO(dense), np.ones((5, 2)))
    np.testing.assert_allclose(np.asarray(found), np.einsum("ijk,kl->ijl", dense, np.ones((5, 2))))
    with pytest.raises(dastac.InputError, match="fill value"):
        dastac.array(sparse.COO(dense, fill_value=1.0))


LAYOUTS = ["dense", "coo", "csr", "csc", "bsr", "transposed"]


def tensor(layout: str, dense: np.ndarray[Any, Any]) -> Any:
    torch = pytest.importorskip("torch")
    made = torch.from_numpy(dense.copy())
    if layout == "transposed":
        return torch.from_numpy(dense.T.copy()).T
    if layout == "bsr":
        return made.to_sparse_bsr((2, 2))
    return {"dense": lambda: made, "coo": made.to_sparse, "csr": made.to_sparse_csr, "csc": made.to_sparse_csc}[layout]()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pytorch(layout: str) -> None:
    torch = pytest.importorskip("torch")
    made = tensor(layout, PATTERN)
    np.testing.assert_allclose(dastac.compile(programs.SPARSE_VECTOR)(made, torch.from_numpy(X)), PATTERN @ X)
    found = dastac.einsum("ij,j->i", made, torch.from_numpy(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), PATTERN @ X)
    doubled = (dastac.array(made) * 2).compute()
    assert isinstance(doubled, torch.Tensor)
    np.testing.assert_allclose(doubled.to_dense().numpy(), 2 * PATTERN)
    total = dastac.einsum("ij->", made)
    assert isinstance(total, torch.Tensor) and float(total) == pytest.approx(PATTERN.sum())


def test_tensors_of_pytorch_are_read_where_they_stand() -> None:
    torch = pytest.importorskip("torch")
    made = torch.zeros(3, 4, dtype=torch.float64)
    lazy = dastac.array(made)
    made[1, 2] = 5
    assert float((lazy * 1).sum()) == 5
    for dtype in (torch.float32, torch.int64, torch.complex64, torch.float16):
        assert (dastac.array(made.to(dtype)) + made.to(dtype)).compute().dtype == dtype


PRODUCTS = ["ij,jk->ik", "ij,jk->ki", "ij,jk->", "ij,jk->ij", "ij,jk->k"]


@pytest.mark.parametrize("subscripts", PRODUCTS)
def test_gradients_of_dense_products(subscripts: str) -> None:
    torch = pytest.importorskip("torch")
    import dastac.torch

    one, other = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 4), (4, 5)))
    assert torch.autograd.gradcheck(lambda a, b: dastac.torch.einsum(subscripts, a, b), (one, other))
    expected = torch.einsum(subscripts, one, other)
    found = dastac.einsum(subscripts, one, other)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(expected)
    wanted = torch.autograd.grad((expected * weights).sum(), (one, other))
    torch.testing.assert_close(torch.autograd.grad((found * weights).sum(), (one, other)), wanted)


def test_gradients_of_sparse_and_structured_operands() -> None:
    torch = pytest.importorskip("torch")
    import dastac.torch

    pattern = sp.csr_array(PATTERN)
    values = torch.from_numpy(pattern.data.copy()).requires_grad_()
    x = torch.randn(8, 3, dtype=torch.float64, requires_grad=True)

    def product(values: Any, x: Any) -> Any:
        return dastac.torch.einsum("ij,jk->ik", dastac.torch.Sparse(values, pattern), x)

    assert torch.autograd.gradcheck(product, (values, x))
    (product(values, x) ** 2).sum().backward()
    assert values.grad is not None and values.grad.shape == (pattern.nnz,)
    symmetric = dastac.symmetric(DENSE @ DENSE.T)
    y = torch.randn(6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: dastac.torch.einsum("ij,j->i", symmetric, y), (y,))
    three = [torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert torch.autograd.gradcheck(lambda *all: dastac.torch.einsum("ij,ij,kj->ik", *all), three)
    complex_ones = [torch.randn(3, 3, dtype=torch.complex128, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(lambda *all: dastac.torch.einsum("ij,jk->ik", *all), complex_ones)
    with pytest.raises(dastac.InputError, match="values"):
        dastac.torch.Sparse(values[1:], pattern)


def test_compiled_functions_of_pytorch_call_products() -> None:
    torch = pytest.importorskip("torch")
    import dastac.torch

    def function(a: Any, b: Any) -> Any:
        return torch.relu(dastac.torch.einsum("ij,jk->ik", a * 2, b)) + 1

    a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)
    compiled = torch.compile(function, backend="eager")
    torch.testing.assert_close(compiled(a, b), torch.relu(2 * a @ b) + 1)
    compiled(a, b).sum().backward()
    assert a.grad is not None


def test_gradients_of_diagonals_and_repeated_dimensions() -> None:
    torch = pytest.importorskip("torch")
    for subscripts, *shapes in (
        ("ii->i", (3, 3)),
        ("ii", (3, 3)),
        ("iij,j->i", (3, 3, 4), (4,)),
        ("bij,bjk->bik", (1, 3, 4), (2, 4, 5)),
        ("ij,ij->j", (3, 1), (3, 4)),
    ):
        ours = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
        theirs = [one.detach().clone().requires_grad_() for one in ours]
        found, expected = dastac.einsum(subscripts, *ours), torch.einsum(subscripts, *theirs)
        torch.testing.assert_close(found, expected)
        weights = torch.randn_like(expected)
        found.backward(weights)
        expected.backward(weights)
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one.grad, other.grad)


def test_gradients_are_not_dropped() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3, 3, dtype=torch.float64, requires_grad=True)
    for call in (
        lambda: dastac.array(x),
        lambda: dastac.array(DENSE[:3, :3]) @ x,
        lambda: dastac.einsum("ij->i", x, format="dense"),
        lambda: dastac.einsum("ij->i", x, out=torch.empty(3, dtype=torch.float64)),
    ):
        with pytest.raises(dastac.InputError, match="detach"):
            call()
    with torch.no_grad():
        assert not (dastac.array(x) + 1).compute().requires_grad
        assert not dastac.einsum("ij->i", x).requires_grad


def test_tensors_that_are_written_to() -> None:
    torch = pytest.importorskip("torch")
    x, out = torch.ones(3, 2, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    assert dastac.einsum("ij->i", x, out=out) is out and out.tolist() == [2, 2, 2]
    assert (dastac.array(x) + 1).sum(axis=1, out=out) is out and out.tolist() == [4, 4, 4]
    program = dastac.compile("symbols: N\ny(i) := 3 * x(i)\nx:D(i) := (0 <= i < N)")
    assert program(x[:, 0], out=out) is out and out.tolist() == [3, 3, 3]
    assert program(x[:, 0], out={"y": out}) is out
    kept = dastac.array(x) + 1
    kept.compute()[:] = 9
    assert kept.compute().tolist() == [[2, 2]] * 3


def test_tensors_of_bfloat16() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(6).reshape(2, 3).to(torch.bfloat16)
    found = dastac.einsum("ij,kj->ik", x, x)
    assert found.dtype == torch.bfloat16 and torch.equal(found, x @ x.T)
    asked = x.clone().requires_grad_()
    dastac.einsum("ij,kj->", asked, x).backward()
    assert asked.grad.dtype == torch.bfloat16
