"""Sparse arrays of SciPy in all formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import dastac

import programs

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"]


@pytest.mark.parametrize("old", [False, True], ids=["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("declared", ["csr", "csc", "coo", "dcsr", "csf", "dia", "bsr(2, 3)"])
def test_formats(rng: np.random.Generator, format: str, declared: str, old: bool) -> None:
    product = dastac.compile(programs.SPARSE_VECTOR.replace("csr", declared))
    dense = rng.random((8, 9)) * (rng.random((8, 9)) < 0.3)
    kind: Any = getattr(sp, f"{format}_{'matrix' if old else 'array'}")
    x = rng.random(9)
    np.testing.assert_allclose(product(kind(dense), x), dense @ x)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2, 2)", "dcsr"])
def test_results(rng: np.random.Generator, format: str) -> None:
    product = dastac.compile(programs.SPARSE_PRODUCT.replace("C:F := csr", f"C:F := {format}"))
    a = sp.random_array((10, 12), density=0.2, rng=rng, format="csr")
    b = sp.random_array((12, 8), density=0.2, rng=rng, format="csr")
    found = product(a, b)
    assert sp.issparse(found) and found.shape == (10, 8)
    assert found.format == {"dcsr": "coo", "bsr(2, 2)": "bsr"}.get(format, format)
    np.testing.assert_allclose(found.toarray(), (a @ b).toarray())
    found += found  # it is an array like others
    np.testing.assert_allclose(found.toarray(), 2 * (a @ b).toarray())


@pytest.mark.parametrize("shape", [(0, 0), (1, 0), (0, 3), (1, 1)])
def test_empty(shape: tuple[int, int]) -> None:
    product = dastac.compile(programs.SPARSE_VECTOR)
    assert product(sp.csr_array(shape), np.ones(shape[1])).tolist() == [0.0] * shape[0]


def test_unsorted_and_repeated_entries() -> None:
    product = dastac.compile(programs.SPARSE_VECTOR)
    unsorted = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    assert product(unsorted, np.array([1.0, 10.0, 100.0])).tolist() == [402.0]
    assert unsorted.indices.tolist() == [2, 0, 2], "the argument is left as it was"


def test_indices_of_64_bits(rng: np.random.Generator) -> None:
    product = dastac.compile(programs.SPARSE_VECTOR)
    a = sp.random_array((30, 20), density=0.2, rng=rng, format="csr")
    wide = sp.csr_array(a)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    x = rng.random(20)
    np.testing.assert_allclose(product(wide, x), a @ x)


def test_tensors_of_three_dimensions(rng: np.random.Generator) -> None:
    text = """
        symbols: M, N, K
        y(i, k) := T(i, j, k) * x(j)
        T:D(i, j, k) := (0 <= i < M) * (0 <= j < N) * (0 <= k < K)
        T:F := csf
        x:D(j) := (0 <= j < N)
    """
    dense = rng.random((4, 5, 6)) * (rng.random((4, 5, 6)) < 0.2)
    x = rng.random(5)
    expected = np.einsum("ijk,j->ik", dense, x)
    np.testing.assert_allclose(dastac.compile(text)(dense, x), expected)
    np.testing.assert_allclose(dastac.compile(text)(sp.coo_array(dense), x), expected)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "complex64", "int8", "int64", "float16"])
def test_types(rng: np.random.Generator, dtype: str) -> None:
    element = {"float32": "f32", "float16": "f16", "int8": "i8", "int64": "i64"}.get(dtype, dtype)
    text = programs.SPARSE_VECTOR + f"\n    types: A = {element}, x = {element}, y = {element}\n"
    dense = (rng.integers(-4, 5, (6, 7)) * (rng.random((6, 7)) < 0.5)).astype(dtype)
    x = rng.integers(-4, 5, 7).astype(dtype)
    found = dastac.compile(text)(dense if dtype == "float16" else sp.csr_array(dense), x)
    assert found.dtype == dtype
    expected = dense.astype(complex) @ x.astype(complex)
    np.testing.assert_allclose(found, expected if np.iscomplexobj(found) else expected.real)
