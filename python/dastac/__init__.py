"""Structured and sparse tensor algebra, compiled.

`compile` makes a `Program` of a text in STUR; call it with arrays of NumPy, SciPy, PyTorch or PyData sparse.
"""

from __future__ import annotations

from . import _dastac, _places
from ._program import Program, Proof, compile
from ._values import Packed, Results
from .errors import CompileError, DastacError, Defect, Diagnostic, InputError

_dastac.configure(_places.isl(), _places.openmp(), _places.command())

__all__ = [
    "CompileError",
    "DastacError",
    "Defect",
    "Diagnostic",
    "InputError",
    "Packed",
    "Program",
    "Proof",
    "Results",
    "compile",
]
__version__ = "0.1.0"
