"""Runs PyData sparse's own tests of products over dastac: `python python/suites/pydata_sparse.py [PYTEST-ARGUMENT...]`.

`sparse.einsum`, `sparse.matmul`, `sparse.dot` and `sparse.tensordot` are replaced by those of this package over the
same arrays. A test that checks what their results are made of (the class of a result, its order of entries) does not apply.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sparse

import dastac


def _theirs(value: Any) -> Any:
    """A result as an array of PyData sparse, if it is sparse."""
    return value.todense() if hasattr(value, "todense") else np.asarray(value)


def einsum(subscripts: str, *operands: Any, **options: Any) -> Any:
    """`sparse.einsum` by dastac."""
    if options:
        raise NotImplementedError(options)
    return sparse.COO(np.asarray(_theirs(dastac.einsum(subscripts, *operands))))


def tensordot(a: Any, b: Any, axes: Any = 2, **_: Any) -> Any:
    """`sparse.tensordot` by dastac."""
    rank, other = np.ndim(a), np.ndim(b)
    if np.ndim(axes) == 0:
        axes = (range(rank - axes, rank), range(axes))
    ours, its = (list(np.atleast_1d(one)) for one in axes)
    letters = [chr(ord("a") + at) for at in range(rank + other)]
    left, right = letters[:rank], letters[rank:]
    for one, two in zip(ours, its, strict=True):
        right[two] = left[one]
    head = [c for c in left if c not in right] + [c for c in right if c not in left]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(head)}", a, b)


def matmul(a: Any, b: Any) -> Any:
    """`sparse.matmul` by dastac."""
    return sparse.COO(np.asarray(dastac.array(a) @ dastac.array(b)))


if __name__ == "__main__":
    sparse.einsum, sparse.tensordot, sparse.matmul = einsum, tensordot, matmul
    folder = Path(sparse.__file__).parent / "numba_backend" / "tests"
    tests = [str(folder / f"test_{name}.py") for name in ("einsum", "dot")]
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *tests, *sys.argv[1:]]))
