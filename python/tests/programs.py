"""Programs that several tests use."""

from __future__ import annotations

SYMMETRIC = """
    symbols: N
    y(i) := A(i, j) * x(j)
    A:D(i, j) := (0 <= i < N) * (0 <= j < N)
    A:U(i, j) := (i <= j)
    A:R(i, j, ip, jp) := (i > j) * (ip = j) * (jp = i)
    x:D(j) := (0 <= j < N)
"""

DENSE = """
    symbols: M, N, K
    C(i, k) := A(i, j) * B(j, k)
    A:D(i, j) := (0 <= i < M) * (0 <= j < N)
    B:D(j, k) := (0 <= j < N) * (0 <= k < K)
"""

SPARSE_VECTOR = """
    symbols: M, N
    y(i) := A(i, j) * x(j)
    A:D(i, j) := (0 <= i < M) * (0 <= j < N)
    A:F := csr
    x:D(j) := (0 <= j < N)
"""

SPARSE_PRODUCT = """
    symbols: M, N, K
    C(i, k) := A(i, j) * B(j, k)
    A:D(i, j) := (0 <= i < M) * (0 <= j < N)
    A:F := csr
    B:D(j, k) := (0 <= j < N) * (0 <= k < K)
    B:F := csr
    C:F := csr
"""

TWO = """
    symbols: N
    outputs: y, s
    y(i) := 2 * x(i)
    s() := x(i) * x(i)
    x:D(i) := (0 <= i < N)
"""
