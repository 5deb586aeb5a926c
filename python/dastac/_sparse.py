"""What NumPy and SciPy compute of sparse arrays where programs do not, without all of their elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._values import canonical, is_sparse
from .errors import InputError

__all__ = [
    "bounded",
    "by_rows",
    "cast",
    "elements",
    "extreme",
    "mapped",
    "matmul",
    "place",
    "same_pattern",
    "total",
    "turned",
    "variance",
]

#: How many bytes all elements of a sparse array may have where it is not said that all are wanted.
LARGE = 1 << 30

#: Functions that are 0 where one of two operands is.
_BOTH = (np.multiply, np.logical_and, np.bitwise_and)


def bounded(value: Any, what: str) -> None:
    """Refuses to make an array dense that would be very large."""
    size = math.prod(value.shape) * value.dtype.itemsize
    if size > LARGE:
        raise InputError(
            f"{what} needs all elements of a sparse array, {size} bytes; `toarray()` says that they are wanted"
        )


def _held(data: Any) -> Any:
    """Elements of a type that SciPy has."""
    return data.astype(np.float32) if data.dtype == np.float16 else data


def _with(value: Any, data: Any) -> Any:
    """Other elements at the same places, in memory of their own."""
    if value.format == "coo":
        return type(value)((_held(data), tuple(one.copy() for one in value.coords)), shape=value.shape)
    arrays = (_held(data), value.indices.copy(), value.indptr.copy())
    options = {"blocksize": value.blocksize} if value.format == "bsr" else {}
    made = type(value)(arrays, shape=value.shape, **options)
    made.has_canonical_format = True
    return made


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """A function, which is 0 of 0, of what is stored."""
    value = canonical(value)
    return _with(value, function(value.data))


def same_pattern(left: Any, right: Any) -> bool:
    """Whether two arrays store the same places in the same order."""
    if left.format != right.format or left.shape != right.shape or left.data.shape != right.data.shape:
        return False
    if left.format == "coo":
        return all(map(np.array_equal, left.coords, right.coords))
    pairs = ((left.indptr, right.indptr), (left.indices, right.indices))
    return all(one is other or np.array_equal(one, other) for one, other in pairs)


def _coordinates(value: Any) -> tuple[Any, ...]:
    coo = value.tocoo()
    return tuple(np.asarray(one) for one in (coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)))


def _places(value: Any) -> tuple[Any, Any]:
    """The place of each stored element in row-major order, rising, and the elements."""
    coo = value.tocoo()
    if math.prod(value.shape) >= 2**63:
        raise InputError(f"arrays of shape {tuple(value.shape)} have too many elements")
    at = np.zeros(coo.data.shape, np.int64)
    for one, extent in zip(_coordinates(coo), value.shape, strict=True):
        at = at * extent + one
    order = np.argsort(at, kind="stable") if (at[1:] < at[:-1]).any() else slice(None)
    return at[order], coo.data[order]


def _of_places(at: Any, data: Any, shape: tuple[int, ...]) -> Any:
    import scipy.sparse

    made = scipy.sparse.coo_array((_held(data), np.unravel_index(at, shape)), shape=shape)
    return made.tocsr() if len(shape) == 2 else made


def _two(function: Any, left: Any, right: Any) -> Any:
    """A function, which is 0 of two zeros, of two arrays of one shape."""
    if same_pattern(left, right):
        return _with(left, function(left.data, right.data))
    (at, a), (of, b) = _places(left), _places(right)
    if function in _BOTH:
        both, x, y = np.intersect1d(at, of, assume_unique=True, return_indices=True)
        return _of_places(both, function(a[x], b[y]), left.shape)
    either = np.union1d(at, of)
    x, y = np.zeros(len(either), a.dtype), np.zeros(len(either), b.dtype)
    x[np.searchsorted(either, at)], y[np.searchsorted(either, of)] = a, b
    return _of_places(either, function(x, y), left.shape)


def elements(function: Any, values: Sequence[Any]) -> Any:
    """A function of elements of sparse arrays, dense arrays and numbers; `None` if most of its results are not 0."""
    if not isinstance(function, np.ufunc) or function.nout != 1:
        return None
    try:
        shape = np.broadcast_shapes(*[np.shape(one) if not is_sparse(one) else one.shape for one in values])
    except ValueError:
        shapes = " and ".join(str(tuple(one.shape)) for one in values if hasattr(one, "shape"))
        raise InputError(f"shapes {shapes} do not fit") from None
    if any(extent == 0 for extent in shape):
        return None
    full = [is_sparse(one) and tuple(one.shape) == shape for one in values]
    rest = [
        bool(np.ndim(one) if not is_sparse(one) else True) and not is_full
        for one, is_full in zip(values, full, strict=True)
    ]
    # As in SciPy, what is not stored stays 0, whatever it is divided by.
    is_quotient = function is np.divide and full[0] and not is_sparse(values[1])
    if (function in _BOTH or is_quotient) and any(full) and any(rest):
        at = full.index(True)
        pattern, other = canonical(values[at]), values[1 - at]
        other = other.toarray() if is_sparse(other) else other
        found = np.broadcast_to(other, shape)[_coordinates(pattern)]
        stored = pattern.data if pattern.format != "bsr" else pattern.tocoo().data
        data = function(stored, found) if at == 0 else function(found, stored)
        return _with(pattern if pattern.format != "bsr" else pattern.tocoo(), data)
    if not any(full) or any(rest):
        return None
    with np.errstate(all="ignore"):
        nothing = function(
            *[np.zeros((), one.dtype) if is_full else one for one, is_full in zip(values, full, strict=True)]
        )
    if nothing != 0:
        return None
    if sum(full) == 1:
        at = full.index(True)
        return mapped(lambda data: function(*values[:at], data, *values[at + 1 :]), values[at])
    return _two(function, canonical(values[0]), canonical(values[1])) if sum(full) == len(values) == 2 else None


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """The elements as another type."""
    return mapped(lambda data: data.astype(dtype), value)


def turned(value: Any, order: Sequence[int]) -> Any:
    """The dimensions in another order."""
    return canonical(value).transpose(None if len(value.shape) == 2 else order)


def matmul(left: Any, right: Any) -> Any:
    """A matrix product, of types that programs do not have."""
    dtype = _scipys(np.result_type(left.dtype, right.dtype))
    left, right = (canonical(one) if is_sparse(one) else one for one in (left, right))
    left, right = left.astype(_scipys(left.dtype)), right.astype(_scipys(right.dtype))
    return (left @ right).astype(dtype)


def _scipys(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def total(value: Any, axes: Sequence[int], dtype: Any) -> Any:
    """Sums along axes, without these; `None` if SciPy has none."""
    value = canonical(value)
    if len(axes) == len(value.shape):
        return np.asarray(value.data.sum(dtype=dtype))
    if len(value.shape) != 2 or len(axes) != 1:
        return None
    return np.asarray(value.sum(axis=axes[0], dtype=dtype))


def extreme(word: str, value: Any, axes: Sequence[int]) -> Any:
    """The least or the largest elements along axes; `None` if SciPy has none."""
    value = canonical(value)
    if value.format == "bsr":
        value = value.tocsr()
    if len(axes) == len(value.shape):
        return np.asarray(getattr(value, word)())
    if len(value.shape) != 2 or len(axes) != 1:
        return None
    return getattr(value, word)(axis=axes[0]).toarray().reshape(-1)


def place(word: str, value: Any, axis: int | None) -> np.ndarray[Any, Any]:
    """The first place of the least or the largest element, or of what is not a number, along an axis or of all."""
    value = by_rows(value)
    found = np.asarray(getattr(value, word)(axis=axis))
    if not np.isnan(value.data).any():
        return found
    # SciPy passes over what is not a number.
    is_none = _with(value, np.isnan(value.data).astype(np.int8))
    has_none = np.asarray(is_none.sum(axis=axis)) > 0
    return np.where(has_none.reshape(found.shape), np.asarray(is_none.argmax(axis=axis)), found)


def by_rows(value: Any) -> Any:
    """A matrix by rows or columns, sorted."""
    value = canonical(value)
    return value.tocsr() if value.format == "bsr" else value


def variance(value: Any, axes: Sequence[int], ddof: float) -> Any:
    """Variances along axes, about the mean of each; `None` of what has more than two dimensions."""
    value = canonical(value)
    if len(value.shape) != 2 or not axes:
        return None
    data = value.tocoo().data
    data = data.astype(np.result_type(data.dtype, np.float64 if data.dtype.kind in "biu" else data.dtype))
    count = math.prod(value.shape[axis] for axis in axes)
    kept = 1 if len(axes) == 2 else value.shape[1 - axes[0]]
    group = np.zeros(len(data), np.int64) if len(axes) == 2 else _coordinates(value)[1 - axes[0]]
    sums, squares = np.zeros(kept, data.dtype), np.zeros(kept, data.real.dtype)
    np.add.at(sums, group, data)
    mean = sums / count
    np.add.at(squares, group, abs(data - mean[group]) ** 2)
    squares += (count - np.bincount(group, minlength=kept)) * abs(mean) ** 2
    with np.errstate(all="ignore"):
        found = squares / max(count - ddof, 0)
    return found.reshape(()) if len(axes) == 2 else found
