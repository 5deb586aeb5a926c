"""Times of calls from Python, beside NumPy and SciPy: `python python/benchmarks/compare.py [--threads N] [--seconds S]`.

Each kernel is called in turns with its peer, warm, and the least time of each counts; the checks that a call makes, and
the memory of its result, are part of it. A result that differs from the peer's ends the run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import dastac


class Kernel(NamedTuple):
    """A computation with dastac and with its peer."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]


def kernels(threads: int) -> list[Kernel]:
    """All of them, at sizes of about a millisecond."""
    rng = np.random.default_rng(0)
    square = " * ".join(f"(0 <= {i} < N)" for i in "ij")
    spmv = dastac.compile(
        f"symbols: N\ny(i) := A(i, j) * x(j)\nA:D(i, j) := {square}\nA:F := csr\nx:D(j) := (0 <= j < N)",
        threads=threads,
    )
    spmm = dastac.compile(
        f"symbols: N, K\nY(i, k) := A(i, j) * X(j, k)\nA:D(i, j) := {square}\nA:F := csr\n"
        "X:D(j, k) := (0 <= j < N) * (0 <= k < K)\nlayout: X -> order(j, k)",
        threads=threads,
    )
    spgemm = dastac.compile(
        f"symbols: N\nC(i, k) := A(i, j) * B(j, k)\nA:D(i, j) := {square}\nA:F := csr\n"
        f"B:D(i, j) := {square}\nB:F := csr\nC:F := csr",
        threads=threads,
    )
    sampled = dastac.compile(
        f"symbols: N, K\nC(i, j) := S(i, j) * U(i, k) * V(j, k)\nS:D(i, j) := {square}\nS:F := csr\nC:F := csr\n"
        "U:D(i, k) := (0 <= i < N) * (0 <= k < K)\nV:D(i, k) := (0 <= i < N) * (0 <= k < K)",
        threads=threads,
    )
    fused = dastac.compile(
        "symbols: N\nd(i) := a(i) * b(i) + 2 * c(i)\n" + "".join(f"{t}:D(i) := (0 <= i < N)\n" for t in "abc"),
        threads=threads,
    )
    added = dastac.compile(
        f"symbols: N\nC(i, j) := A(i, j) + B(i, j)\nA:D(i, j) := {square}\nA:F := csr\n"
        f"B:D(i, j) := {square}\nB:F := csr\nC:F := csr",
        threads=threads,
    )
    turned = dastac.compile(
        f"symbols: N\nC(i, j) := A(j, i)\nA:D(i, j) := {square}\nA:F := csr\nC:F := csr", threads=threads
    )
    rows = dastac.compile(f"symbols: N\ny(i) := A(i, j)\nA:D(i, j) := {square}\nA:F := csr", threads=threads)
    four = dastac.compile(
        "symbols: N\nr(i) := a(i) * b(i) + c(i)\n" + "".join(f"{t}:D(i) := (0 <= i < N)\n" for t in "abc"),
        threads=threads,
    )
    small, place = np.ones(8), np.empty(8)
    a = sp.random_array((20000, 20000), density=5e-4, format="csr", rng=rng)
    b = sp.random_array((4000, 4000), density=1e-3, format="csr", rng=rng)
    x, y, u = rng.random(20000), rng.random((20000, 16)), rng.random((4000, 32))
    tiny, moved = b[:200, :200].tocsr(), a[::-1].tocsr()
    coo = b.tocoo()

    def sddmm() -> Any:
        values = coo.data * np.einsum("nk,nk->n", u[coo.row], u[coo.col])
        return sp.csr_array((values, (coo.row, coo.col)), shape=b.shape)

    return [
        Kernel("call, three vectors of 8", lambda: fused(small, small, small), lambda: small * small + 2 * small),
        Kernel("call, four arrays of 8", lambda: four(small, small, small, out=place), lambda: np.add(small, small)),
        Kernel("a * b + 2 * c, 20000", lambda: fused(x, x, x), lambda: x * x + 2 * x),
        Kernel("sparse matrix x vector", lambda: spmv(a, x), lambda: a @ x),
        Kernel("sparse matrix x 16 vectors", lambda: spmm(a, y), lambda: a @ y),
        Kernel("sparse x sparse", lambda: spgemm(b, b), lambda: b @ b),
        Kernel("sparse x vector, 200 rows", lambda: spmv(tiny, x[:200]), lambda: tiny @ x[:200]),
        Kernel("sparse x sparse, 200 rows", lambda: spgemm(tiny, tiny), lambda: tiny @ tiny),
        Kernel("sparse + sparse", lambda: added(a, moved), lambda: a + moved),
        Kernel("sums of rows", lambda: rows(a), lambda: a.sum(axis=1)),
        Kernel("transpose", lambda: turned(a), lambda: a.T.tocsr()),
        Kernel("einsum, sparse x vector", lambda: dastac.einsum("ij,j->i", a, x), lambda: a @ x),
        Kernel("einsum, sparse x sparse", lambda: dastac.einsum("ij,jk->ik", b, b), lambda: b @ b),
        Kernel("sampled product", lambda: sampled(b, u, u), sddmm),
    ]


def same(one: Any, other: Any) -> bool:
    """Whether two results agree up to rounding."""
    if sp.issparse(one):
        return one.nnz == 0 or bool(abs(one - other).max() <= 1e-9)
    return bool(np.allclose(one, other))


def least(kernel: Kernel, seconds: float) -> tuple[float, float]:
    """The least time of each, in seconds, in turns."""
    best = [float("inf"), float("inf")]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for at, run in enumerate((kernel.ours, kernel.peer)):
            start = time.perf_counter()
            run()
            best[at] = min(best[at], time.perf_counter() - start)
    return best[0], best[1]


def main() -> None:
    """Measures and prints a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--seconds", type=float, default=1.0)
    given = arguments.parse_args()
    print(f"{'kernel':30} {'dastac us':>10} {'peer us':>10} {'ratio':>7}")
    for kernel in kernels(given.threads):
        if not kernel.name.startswith("call, four") and not same(kernel.ours(), kernel.peer()):
            raise SystemExit(f"{kernel.name}: the results differ")
        ours, peer = least(kernel, given.seconds)
        print(f"{kernel.name:30} {ours * 1e6:10.1f} {peer * 1e6:10.1f} {peer / ours:6.2f}x")


if __name__ == "__main__":
    main()
