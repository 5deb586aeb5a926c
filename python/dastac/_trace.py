"""Functions over arrays as one program each."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from ._array import Array, array
from ._run import origin
from ._run import run as run_all
from ._values import as_origin, is_sparse, origin_of
from .errors import InputError

__all__ = ["trace"]

#: Whether a traced function runs: those that it calls are parts of its program.
_IS_TRACED: ContextVar[bool] = ContextVar("dastac_is_traced", default=False)


def trace(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function over arrays, all of whose results are computed by one program.

    It is called with `dastac.Array`s in place of arrays among its arguments, also in tuples, lists and dicts, and of
    lists of numbers. All other arguments stay what they are: numbers, `None`, text, types, tuples of integers, `self`.
    Its operations are collected. It returns an array, or a tuple or list of arrays; what these have in common is
    computed once. The program is compiled for the first arguments of their types, formats and structures, whatever
    their sizes. Traced functions that it calls are parts of its program.

    Returns:
        A function that returns arrays of NumPy or SciPy: one, or a tuple of them.

    Raises:
        InputError: results that are no arrays computed of the arguments.

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
        is_part = _IS_TRACED.get()
        token = _IS_TRACED.set(True)
        try:
            found = function(*map(_traced, args), **{name: _traced(one) for name, one in kwargs.items()})
        finally:
            _IS_TRACED.reset(token)
        several = isinstance(found, (tuple, list))
        results = list(found) if several else [found]
        other = [type(one).__name__ for one in results if not isinstance(one, Array)]
        if other or not results:
            what = other[0] if other else "nothing"
            raise InputError(f"a traced function returns arrays that are computed of its arguments, not {what}")
        values = results if is_part else _values(results, f"<{getattr(function, '__name__', 'function')}>")
        return tuple(values) if several else values[0]

    return run


def _values(results: Sequence[Array], name: str) -> list[Any]:
    """The values of arrays, by one program."""
    nodes = [one._node for one in results]
    found = run_all(nodes, [None] * len(nodes), name=name)
    package = origin(nodes)
    return [as_origin(one, package) for one in (found if len(nodes) > 1 else [found])]


def _traced(value: Any) -> Any:
    """An argument with arrays whose operations are collected; what has none stays what it is."""
    if _is_array(value):
        return array(value)
    if isinstance(value, dict):
        inner = {key: _traced(one) for key, one in value.items()}
        if all(inner[key] is value[key] for key in value):
            return value
        made = copy.copy(value)
        made.update(inner)
        return made
    if not isinstance(value, (tuple, list)):
        return value
    several = [_traced(one) for one in value]
    if all(one is other for one, other in zip(several, value, strict=True)):
        return value
    if hasattr(value, "_make"):
        return value._make(several)
    return tuple(several) if isinstance(value, tuple) else several


def _is_array(value: Any) -> bool:
    """Whether it is an array of any package, a number of NumPy, or a list of numbers."""
    if isinstance(value, np.generic):
        return value.dtype.kind in "biufc"
    if isinstance(value, (Array, memoryview)) or is_sparse(value) or origin_of(value) is not None:
        return True
    if isinstance(value, list):
        return bool(value) and _has_numbers(value)
    return any(hasattr(type(value), name) for name in ("__array__", "__array_interface__", "__dlpack__"))


def _has_numbers(value: Any) -> bool:
    """Whether it is a number, or a list of what has numbers."""
    if isinstance(value, list):
        return all(map(_has_numbers, value))
    return isinstance(value, (int, float, complex, np.number, np.bool_))
