"""NumPy's protocols: its functions of `dastac.Array`s."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _operations
from ._graph import Product
from ._leaves import leaf
from ._operations import Scalar
from .errors import InputError

__all__ = ["array_function", "array_ufunc", "plain"]


def array_ufunc(
    wrapped: Callable[[Any], Any],
    node_of: Callable[[Any], Any],
    ufunc: Any,
    method: str,
    inputs: Sequence[Any],
    options: dict[str, Any],
) -> Any:
    """A function of elements: collected where programs have it."""
    out = options.pop("out", None)
    given = [one if _is_number(one) else node_of(one) for one in inputs]
    if method != "__call__" or options:
        values = (one if _is_number(one) else np.asarray(one) for one in inputs)
        found = getattr(ufunc, method)(*values, **options)
        made = wrapped(tuple(map(_node, found)) if isinstance(found, tuple) else _node(found))
    elif ufunc is np.matmul:
        made = wrapped(_operations.matmul(*given))
    else:
        made = wrapped(_operations.ufunc(ufunc, given))
    if out is None:
        return made
    if len(out) != 1:
        raise InputError(f"`{ufunc.__name__}` has several results, which are not written to `out`")
    return made.compute(out=out[0])


def _is_number(value: Any) -> bool:
    """Whether it is a number of Python, which takes the type of the arrays that it is computed with."""
    return isinstance(value, Scalar) and not isinstance(value, np.generic)


def _node(found: Any) -> Any:
    return leaf(np.asarray(found))


def array_function(kind: Any, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """One of NumPy's other functions. Those that programs do not have take the computed arrays."""
    methods = {
        np.sum: kind.sum,
        np.max: kind.max,
        np.min: kind.min,
        np.mean: kind.mean,
        np.any: kind.any,
        np.all: kind.all,
        np.transpose: kind.transpose,
        np.reshape: kind.reshape,
        np.astype: kind.astype,
    }
    if function in methods and args and isinstance(args[0], kind) and kwargs.keys() <= {"axis", "keepdims", "axes"}:
        return methods[function](*args, **kwargs)
    if function is np.einsum:
        from ._einsum import einsum

        return einsum(*args, **kwargs)
    if function is np.dot and len(args) == 2 and not kwargs and all(np.ndim(one) in (1, 2) for one in args):
        return args[0] @ args[1]
    if function is np.trace and len(args) == 1 and not kwargs and args[0].ndim == 2:
        node = args[0]._node
        return kind(Product(((node, (0, 0)),), (), (), node.dtype))
    if function in (np.ndim, np.shape, np.size) and len(args) == 1:
        return {np.ndim: args[0].ndim, np.shape: args[0].shape, np.size: args[0].size}[function]
    what = f"`{function.__name__}`"
    return function(*plain(args, kind, what), **{name: plain(value, kind, what) for name, value in kwargs.items()})


def plain(value: Any, kind: Any, what: str = "") -> Any:
    """Arrays among arguments, also in lists of them, as arrays of NumPy."""
    if isinstance(value, kind):
        return _operations.dense(value._node, what)
    if isinstance(value, (list, tuple)) and any(isinstance(one, (kind, list, tuple)) for one in value):
        made = [plain(one, kind, what) for one in value]
        return tuple(made) if isinstance(value, tuple) else made
    return value
