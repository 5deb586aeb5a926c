"""NumPy's protocols: its functions of `dastac.Array`s."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import _operations
from ._leaves import leaf
from ._operations import Scalar
from .errors import InputError

__all__ = ["array_function", "array_ufunc", "plain"]

NOT_WRITTEN = "arrays of dastac are not written to"

#: Functions that write to their first argument.
_WRITES = (np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask)


def array_ufunc(
    kind: Any,
    wrapped: Callable[[Any], Any],
    node_of: Callable[[Any], Any],
    ufunc: Any,
    method: str,
    inputs: Sequence[Any],
    options: dict[str, Any],
) -> Any:
    """A function of elements: collected where programs have it."""
    if method == "at":
        if isinstance(inputs[0], kind):
            raise InputError(f"`{ufunc.__name__}.at`: {NOT_WRITTEN}")
        return ufunc.at(inputs[0], *plain(inputs[1:], kind))
    outs: Sequence[Any] = options.pop("out", None) or ()
    given = [one if _is_number(one) else node_of(one) for one in inputs]
    is_plain = method == "__call__" and not options
    if is_plain and ufunc is np.matmul:
        made = wrapped(_operations.matmul(*given))
        return made if not outs else made.compute(out=outs[0])
    if is_plain and not outs:
        return wrapped(_operations.ufunc(ufunc, given))
    if is_plain and len(outs) == 1:
        made = wrapped(_operations.ufunc(ufunc, given))
        if not isinstance(outs[0], np.ndarray) or (outs[0].shape, outs[0].dtype) == (made.shape, made.dtype):
            return made.compute(out=outs[0])
    # What is masked, and what else NumPy does with `out`, is left to it.
    what = f"`{ufunc.__name__}`"
    if any(one is not None and not isinstance(one, np.ndarray) for one in outs):
        raise InputError(f"`out` must be an array of NumPy: {NOT_WRITTEN}")
    values = [one if _is_number(one) else _operations.dense(one, what) for one in given]
    if outs:
        options["out"] = outs
    options = {name: plain(one, kind) if name == "where" else one for name, one in options.items()}
    found = getattr(ufunc, method)(*values, **options)
    if outs:
        return found
    return wrapped(tuple(map(_node, found)) if isinstance(found, tuple) else _node(found))


def _is_number(value: Any) -> bool:
    """Whether it is a number of Python, which takes the type of the arrays that it is computed with."""
    return isinstance(value, Scalar) and not isinstance(value, np.generic)


def _node(found: Any) -> Any:
    return leaf(np.asarray(found))


#: Methods of arrays that NumPy's functions are, by these.
_METHODS = {
    getattr(np, name): name
    for name in (
        *("sum", "max", "min", "mean", "any", "all", "transpose", "reshape", "astype", "std", "var", "prod", "argmax"),
        *("argmin", "trace", "diagonal", "squeeze", "ravel", "nonzero", "round", "clip", "copy"),
    )
}


@lru_cache(maxsize=64)
def _parameters(method: Any) -> frozenset[str]:
    parameters = inspect.signature(method).parameters.values()
    return frozenset(one.name for one in parameters if one.kind is not inspect.Parameter.VAR_POSITIONAL)


def array_function(kind: Any, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """One of NumPy's other functions. Those that programs do not have take the computed arrays."""
    if function in _METHODS and args and isinstance(args[0], kind):
        method = getattr(kind, _METHODS[function])
        for name in ("axes", "shape"):
            if name in kwargs and len(args) == 1:
                args, kwargs = (args[0], kwargs[name]), {key: one for key, one in kwargs.items() if key != name}
        if kwargs.keys() <= _parameters(method):
            return method(*args, **kwargs)
    if function is np.einsum:
        from ._einsum import einsum

        return einsum(*args, **kwargs)
    if function is np.dot and len(args) == 2 and not kwargs and all(np.ndim(one) in (1, 2) for one in args):
        return args[0] @ args[1]
    if function is np.count_nonzero and len(args) == 1 and isinstance(args[0], kind):
        axis, keepdims = kwargs.get("axis"), kwargs.get("keepdims", False)
        found = args[0]._some(np.not_equal, axis, keepdims)
        return int(found) if axis is None and not keepdims else found
    if function in (np.ndim, np.shape, np.size) and len(args) == 1:
        return {np.ndim: args[0].ndim, np.shape: args[0].shape, np.size: args[0].size}[function]
    what = f"`{function.__name__}`"
    written = kwargs.get("out"), *((args or tuple(kwargs.values()))[:1] if function in _WRITES else ())
    if any(isinstance(one, kind) for one in written):
        raise InputError(f"{what}: {NOT_WRITTEN}")
    return function(*plain(args, kind, what), **{name: plain(value, kind, what) for name, value in kwargs.items()})


def plain(value: Any, kind: Any, what: str = "") -> Any:
    """Arrays among arguments, also in lists of them, as arrays of NumPy that are read-only."""
    if isinstance(value, kind):
        made = _operations.dense(value._node, what).view()
        made.flags.writeable = False
        return made
    if isinstance(value, (list, tuple)) and any(isinstance(one, (kind, list, tuple)) for one in value):
        several = [plain(one, kind, what) for one in value]
        return tuple(several) if isinstance(value, tuple) else several
    return value
