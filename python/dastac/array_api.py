"""The Python array API standard for `dastac.Array`: `import dastac.array_api as xp`.

Functions of elements, sums, extrema, products and transposes are collected, as those of `dastac.Array` are. All others
(new arrays, sorting, searching, sets, linear algebra, ..) are NumPy's, and compute their operands. Arrays
are not written to: `x[key] = value` is not supported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ._array import Array, array
from ._leaves import leaf
from ._protocols import plain
from .errors import InputError

__array_api_version__ = "2024.12"

#: Constants and types, which are NumPy's.
_CONSTANTS = [
    *("e", "inf", "nan", "newaxis", "pi", "bool", "complex64", "complex128", "float32", "float64"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
]

#: Functions that take arrays to collect operations of, by their names in NumPy.
_COLLECTED = [
    *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert"),
    *("bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "conj", "copysign", "cos"),
    *("cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot"),
    *("isfinite", "isinf", "isnan", "less", "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logical_and"),
    *("logical_not", "logical_or", "logical_xor", "matmul", "maximum", "minimum", "multiply", "negative", "nextafter"),
    *("not_equal", "positive", "pow", "reciprocal", "remainder", "sign", "signbit", "sin", "sinh", "sqrt", "square"),
    *("subtract", "tan", "tanh", "trunc"),
]

#: Functions that NumPy computes.
_COMPUTED = [
    *("arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like", "tril"),
    *("triu", "zeros", "zeros_like", "clip", "real", "imag", "round", "broadcast_arrays", "broadcast_to", "concat"),
    *("expand_dims", "flip", "moveaxis", "repeat", "roll", "squeeze", "stack", "tile", "unstack", "argmax", "argmin"),
    *("count_nonzero", "nonzero", "searchsorted", "where", "unique_all", "unique_counts", "unique_inverse"),
    *("unique_values", "argsort", "sort", "cumulative_prod", "cumulative_sum", "prod", "std", "var", "diff", "take"),
    *("take_along_axis", "vecdot", "tensordot"),
]

#: Functions whose results are no arrays.
_ASKED = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]


def _given(value: Any) -> Any:
    """Results of NumPy as arrays of this package."""
    if isinstance(value, (np.ndarray, np.generic)):
        return Array(leaf(np.asarray(value)))
    if isinstance(value, tuple):
        made = [_given(one) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return [_given(one) for one in value] if isinstance(value, list) else value


def _says(call: Any, function: Callable[..., Any]) -> None:
    """Gives a function the name and the parameters of the one that it calls, as `help` and `inspect` show them."""
    call.__name__ = call.__qualname__ = getattr(function, "__name__", "function")
    try:
        call.__signature__ = inspect.signature(function)
    except (TypeError, ValueError):
        pass  # NumPy does not say what some of its functions take


def _computed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy over arrays of this package."""

    def call(*args: Any, **kwargs: Any) -> Any:
        _only_cpu(kwargs)
        given = {name: plain(value, Array) for name, value in kwargs.items()}
        return _given(function(*(plain(one, Array) for one in args), **given))

    _says(call, function)
    call.__doc__ = f"`numpy.{call.__name__}` over arrays of this package, which are computed."
    return call


def _collected(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of elements of NumPy over arrays of this package, one of which may be a number."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return found if isinstance(found, Array) else _given(found)

    _says(call, function)
    call.__doc__ = f"`numpy.{call.__name__}`, collected where programs have it."
    return call


def _only_cpu(options: dict[str, Any]) -> None:
    device = options.pop("device", None)
    if device not in (None, "cpu"):
        raise InputError(f"there is no device {device!r}: arrays are on the `cpu`")


def _first(name: str) -> Callable[..., Any]:
    method = getattr(Array, name)

    def call(x: Any, /, **kwargs: Any) -> Any:
        return method(array(x), **kwargs)

    _says(call, method)
    own, *others = inspect.signature(method).parameters.values()
    first = own.replace(name="x", kind=inspect.Parameter.POSITIONAL_ONLY)
    call.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]
    call.__doc__ = method.__doc__
    return call


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Array:
    """An array of numbers, lists of them, or an array of any package; without a copy where that is possible."""
    _only_cpu({"device": device})
    if isinstance(obj, (bool, int, float, complex, list, tuple)):
        if copy is False:
            raise ValueError("numbers and lists are always copied")
        return Array(leaf(np.asarray(plain(obj, Array), dtype=dtype)))
    made = array(obj)
    if dtype is not None and made.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError("elements of another type are always copied")
        return made.astype(dtype)
    return Array(leaf(np.array(made))) if copy else made


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array of another package, by DLPack."""
    _only_cpu({"device": device})
    return Array(leaf(np.from_dlpack(x) if not copy else np.from_dlpack(x).copy()))


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements as another type."""
    _only_cpu({"device": device})
    made = x.astype(dtype)
    return Array(leaf(np.array(made))) if copy and made is x else made


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """The dimensions in another order."""
    return x.transpose(axes)


def matrix_transpose(x: Array, /) -> Array:
    """The last two dimensions in the other order."""
    return x.mT


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The elements in row-major order in another shape."""
    return _given(np.array(np.asarray(x).reshape(shape), copy=True if copy else None))  # type: ignore[no-any-return]


class _Info:
    """What the namespace can do: see the standard's section on inspection."""

    def capabilities(self) -> dict[str, Any]:
        """Which optional parts of the standard are there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The only device."""
        return "cpu"

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The types of new arrays."""
        return dict(np.__array_namespace_info__().default_dtypes(device=device))

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """All types."""
        return dict(np.__array_namespace_info__().dtypes(device=device, kind=kind))


def __array_namespace_info__() -> _Info:
    """What the namespace can do."""
    return _Info()


class _Part:
    """A part of the namespace whose functions are NumPy's."""

    def __init__(self, module: Any, names: list[str]) -> None:
        self.__dict__.update({name: _computed(getattr(module, name)) for name in names})


globals().update({name: getattr(np, name) for name in [*_CONSTANTS, *_ASKED]})
globals().update({name: _collected(getattr(np, name)) for name in _COLLECTED})
globals().update({name: _computed(getattr(np, name)) for name in _COMPUTED})
globals().update({name: _first(name) for name in ("sum", "mean", "max", "min", "any", "all")})
linalg = _Part(
    np.linalg,
    [
        *("cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power"),
        *("matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot"),
        *("trace", "vecdot", "vector_norm"),
    ],
)
fft = _Part(
    np.fft,
    [
        *("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft", "fftfreq", "rfftfreq"),
        *("fftshift", "ifftshift"),
    ],
)


def namespace(version: str | None) -> Any:
    """This module, if it has that version of the standard."""
    import sys

    if version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise InputError(f"version {version!r} of the array API standard is not there; {__array_api_version__} is")
    return sys.modules[__name__]
