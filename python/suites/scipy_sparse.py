"""Runs SciPy's own tests of sparse arrays over `dastac.Array`s: `python python/suites/scipy_sparse.py`.

Each class of tests makes its arrays by `spcreator`; here these are `dastac.Array`s over the same arrays of SciPy. Tests
that use what is not part of the common interface (assignment, the arrays of a format, conversions between formats by
name, methods of `spmatrix`) fail with an `AttributeError` or `TypeError` that names it: they do not apply, and are
skipped.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.tests import test_base as theirs

import dastac

#: What of SciPy's interface arrays of this package do not have.
ELSEWHERE = re.compile(
    r"has no attribute '(\w+)'|does not support item (assignment|deletion)|unexpected keyword argument '(\w+)'"
    r"|abstract|not supported between instances|isspmatrix|takes \d+ positional arguments? but"
)


class Ours:
    """The fixture that makes arrays: of dastac, over those that SciPy makes."""

    kind: Any = scipy.sparse.csr_array

    @classmethod
    def spcreator(cls, *args: Any, **kwargs: Any) -> Any:
        values = [np.asarray(one) if isinstance(one, dastac.Array) else one for one in args]
        return dastac.array(cls.kind(*values, **kwargs))


def adopted(name: str, bases: tuple[type, ...], kind: Any) -> type:
    """A class of SciPy's tests over arrays of one kind."""
    members = {"kind": kind, "math_dtypes": [np.bool_, np.int_, np.float64, np.complex128]}
    made = type(name, (Ours, *bases), members)
    if hasattr(made, "init_class"):
        made.init_class()
    return made


_PARTS = (
    theirs._TestCommon,
    theirs._TestArithmetic,
    theirs._TestMinMax,
    theirs._TestSlicing,
    theirs._TestFancyIndexing,
    theirs._TestFancyMultidim,
)
TestCSR = adopted("TestCSR", _PARTS, scipy.sparse.csr_array)
TestCSC = adopted("TestCSC", _PARTS, scipy.sparse.csc_array)


class Applying:
    """Skips what does not apply."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """Runs a test."""
        try:
            return (yield)
        except (AttributeError, TypeError) as error:
            if ELSEWHERE.search(str(error)):
                pytest.skip(f"does not apply: {error}")
            raise


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q", "--import-mode=importlib", *sys.argv[1:]], plugins=[Applying()]))
