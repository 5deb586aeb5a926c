"""Functions over arrays as one program each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._array import Array, array
from ._run import origin
from ._run import run as run_all
from ._values import as_origin
from .errors import InputError

__all__ = ["trace"]


def trace(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function over arrays, all of whose results are computed by one program.

    It is called with `dastac.Array`s in place of its arguments, and its operations on them are collected. It returns an
    array, or a tuple or list of arrays; what these have in common is computed once. The program is compiled for the
    first arguments of their types, formats and structures, whatever their sizes.

    Returns:
        A function that returns arrays of NumPy or SciPy: one, or a tuple of them.

    >>> import dastac, numpy as np
    >>> @dastac.trace
    ... def moments(x):
    ...     return x.T @ x, x.sum(axis=0)
    >>> squares, sums = moments(np.arange(6.0).reshape(3, 2))
    >>> squares
    array([[20., 26.],
           [26., 35.]])
    >>> sums
    array([6., 9.])
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        found = function(*(array(one) for one in args), **{name: array(one) for name, one in kwargs.items()})
        several = isinstance(found, (tuple, list))
        results = list(found) if several else [found]
        if not results or not all(isinstance(one, Array) for one in results):
            raise InputError("a traced function returns arrays that are computed of its arguments")
        nodes = [one._node for one in results]
        found_of = run_all(nodes, [None] * len(nodes), name=f"<{getattr(function, '__name__', 'function')}>")
        package = origin(nodes)
        values = tuple(as_origin(one, package) for one in (found_of if len(nodes) > 1 else [found_of]))
        return values if several else values[0]

    return run
