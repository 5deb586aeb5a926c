"""Structured and sparse tensor algebra, compiled.

`compile` makes a `Program` of a text in STUR; call it with arrays of NumPy, SciPy, PyTorch or PyData sparse. `array`,
`symmetric`, `band` and others make an `Array`, whose operations are collected and compiled together.
"""

from __future__ import annotations

from . import _dastac, _places
from ._array import Array, array
from ._einsum import einsum
from ._plots import spy
from ._program import Program, Proof, compile
from ._structured import (
    band,
    block_diagonal,
    circulant,
    diagonal,
    inspect,
    lower,
    simplex,
    skew_symmetric,
    structured,
    symmetric,
    toeplitz,
    upper,
)
from ._trace import trace
from ._values import Packed, Results
from .errors import CompileError, DastacError, Defect, Diagnostic, InputError

_dastac.configure(_places.isl(), _places.openmp(), _places.command())

__all__ = [
    "Array",
    "CompileError",
    "DastacError",
    "Defect",
    "Diagnostic",
    "InputError",
    "Packed",
    "Program",
    "Proof",
    "Results",
    "array",
    "band",
    "block_diagonal",
    "circulant",
    "compile",
    "diagonal",
    "einsum",
    "inspect",
    "lower",
    "simplex",
    "skew_symmetric",
    "spy",
    "structured",
    "symmetric",
    "toeplitz",
    "trace",
    "upper",
]
__version__ = "0.1.0"
