"""Arrays whose operations are collected and computed together."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _graph, _operations, _pictures
from ._graph import Leaf, Node
from ._indexing import indexed
from ._leaves import leaf, with_orders
from ._operations import Axes
from ._protocols import array_function, array_ufunc
from ._run import as_format, compute, returned, run
from ._types import element_of
from ._values import Parts, canonical, is_sparse, parts
from .errors import InputError

__all__ = ["Array", "array", "node_of"]


def node_of(value: Any, name: str = "the array") -> Node:
    """A value as a part of an expression. An array that stands in memory in the other order is a transposed one."""
    return value._node if isinstance(value, Array) else with_orders(leaf(value, name=name))


class Array(NDArrayOperatorsMixin):
    """An array that is computed when it is asked for, with all that it is made of at once.

    `numpy.asarray(a)` and `a.compute()` compute it, once. Operators and NumPy's functions of it give arrays of this
    kind; operands may be arrays of NumPy, SciPy, PyTorch and PyData sparse. What programs do not have is computed at
    once, by NumPy or SciPy.

    >>> import dastac, numpy as np
    >>> a = dastac.array(np.arange(6.0).reshape(2, 3))
    >>> (a @ a.T + 1).compute()
    array([[ 6., 15.],
           [15., 51.]])
    """

    __slots__ = ("__weakref__", "_node")
    __array_priority__ = 1000.0
    _node: Node

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._node.shape)

    @property
    def size(self) -> int:
        """How many elements it has, stored or not."""
        return math.prod(self._node.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return self._node.dtype

    @property
    def structure(self) -> str | None:
        """The name of the structure that it was given; of what is computed see `inspect`."""
        node = self._node
        return node.structure.name if isinstance(node, Leaf) and node.structure is not None else None

    @property
    def device(self) -> str:
        """Where its elements are: `cpu`."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        """The array on a device, of which there is one: `cpu`."""
        if device != "cpu" or stream is not None:
            raise InputError(f"there is no device {device!r}: arrays are on the `cpu`")
        return self

    def compute(self, *, format: str | None = None, out: Any = None) -> Any:
        """Computes it.

        Args:
            format: how the result is stored: `dense` for an array of NumPy, or a format of the language (`csr`, `csc`,
                `coo`, `bsr(4, 4)`) for one of SciPy. As its operands are by default: sparse where all elements that
                are not stored are zero, and of PyTorch or PyData sparse where an operand is.
            out: an array of NumPy to write the result to.

        Raises:
            InputError: shapes or types that do not fit; data that contradicts a structure.
        """
        if format is None and out is None:
            return returned(self._node, compute(self._node))
        if out is not None:
            if format not in (None, "dense"):
                raise InputError("a result in a format cannot be written to `out`")
            if isinstance(out, Array):
                raise InputError("`out` must be an array of NumPy: arrays of dastac are not written to")
            if self._node._computed is not None or isinstance(self._node, Leaf):
                np.copyto(out, np.asarray(self))
                return out
            return run([self._node], ["dense"], out=out)
        return returned(self._node, as_format(self._node, format))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        dense = _operations.dense(self._node)
        if dtype is not None and dense.dtype != dtype:
            return dense.astype(dtype)
        return dense.copy() if copy else dense

    def __dastac_parts__(self, name: str, dtype: np.dtype[Any], rank: int, format: str | None) -> Parts:
        value = np.asarray(self) if self.structure is not None else compute(self._node)
        return parts(value, name, element_of(dtype), rank, format)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return array_ufunc(_wrapped, node_of, ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return array_function(Array, function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from . import array_api

        return array_api.namespace(api_version)

    def __dlpack__(self, **options: Any) -> Any:
        return np.asarray(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __matmul__(self, other: Any) -> Array:
        return Array(_operations.matmul(self._node, node_of(other)))

    def __rmatmul__(self, other: Any) -> Array:
        return Array(_operations.matmul(node_of(other), self._node))

    def __pow__(self, other: Any) -> Array:
        # The square of truth values has 8 bits in NumPy, other powers of them have 64.
        is_square = self.dtype == np.bool_ and type(other) is int and other == 2
        made: Any = np.square(self) if is_square else np.power(self, other)
        return made  # type: ignore[no-any-return]

    # Arrays are not written to: `a += b` names the sum `a`.
    __iadd__ = NDArrayOperatorsMixin.__add__
    __isub__ = NDArrayOperatorsMixin.__sub__
    __imul__ = NDArrayOperatorsMixin.__mul__
    __itruediv__ = NDArrayOperatorsMixin.__truediv__
    __ifloordiv__ = NDArrayOperatorsMixin.__floordiv__
    __imod__ = NDArrayOperatorsMixin.__mod__
    __iand__ = NDArrayOperatorsMixin.__and__
    __ior__ = NDArrayOperatorsMixin.__or__
    __ixor__ = NDArrayOperatorsMixin.__xor__
    __ilshift__ = NDArrayOperatorsMixin.__lshift__
    __irshift__ = NDArrayOperatorsMixin.__rshift__
    __ipow__ = __pow__
    __imatmul__ = __matmul__

    def __getitem__(self, key: Any) -> Array:
        return Array(indexed(self._node, key))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[at] for at in range(len(self)))

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __index__(self) -> int:
        return operator.index(np.asarray(self)[()])

    @property
    def T(self) -> Array:
        """The dimensions in the other order."""
        return self.transpose()

    @property
    def mT(self) -> Array:
        """The last two dimensions in the other order."""
        if self.ndim < 2:
            raise InputError("an array of fewer than 2 dimensions holds no matrices")
        return self.transpose((*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))

    def transpose(self, axes: Sequence[int] | None = None) -> Array:
        """The dimensions in another order; the other way round by default."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(operator.index(a) % self.ndim for a in axes)
        if sorted(order) != list(range(self.ndim)):
            raise InputError(f"{axes} does not name each of {self.ndim} dimensions once")
        return Array(_operations.transposed(self._node, order))

    def sum(self, axis: Axes = None, *, dtype: Any = None, keepdims: bool = False) -> Array:
        """The sum along axes, or of all elements. Integers are added up in 64 bits."""
        return Array(_operations.total(self._node, axis, keepdims, dtype))

    def mean(self, axis: Axes = None, *, keepdims: bool = False) -> Array:
        """The mean along axes, or of all elements."""
        return Array(_operations.mean(self._node, axis, keepdims))

    def max(self, axis: Axes = None, *, keepdims: bool = False) -> Array:
        """The largest element along axes, or of all; elements that are not stored count as 0."""
        return Array(_operations.extreme("max", self._node, axis, keepdims))

    def min(self, axis: Axes = None, *, keepdims: bool = False) -> Array:
        """The least element along axes, or of all; elements that are not stored count as 0."""
        return Array(_operations.extreme("min", self._node, axis, keepdims))

    def any(self, axis: Axes = None, *, keepdims: bool = False) -> Array:
        """Whether an element along axes, or of all, is not zero."""
        made: Array = self._some(np.not_equal, axis, keepdims) > 0
        return made

    def all(self, axis: Axes = None, *, keepdims: bool = False) -> Array:
        """Whether no element along axes, or of all, is zero."""
        count = math.prod(self.shape[one] for one in _operations.axes_of(self._node, axis))
        made: Array = self._some(np.not_equal, axis, keepdims) == count
        return made

    def _some(self, test: Any, axis: Axes, keepdims: bool) -> Array:
        return Array(_operations.ufunc(test, (self._node, 0))).astype(np.int64).sum(axis, keepdims=keepdims)

    def reshape(self, *shape: Any) -> Array:
        """The elements in row-major order in another shape, of which one extent may be -1. The array is computed."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        found = compute(self._node)
        return Array(leaf((canonical(found) if is_sparse(found) else found).reshape(wanted)))

    def astype(self, dtype: Any) -> Array:
        """The elements as another type."""
        return Array(_operations.astype(self._node, np.dtype(dtype)))

    def toarray(self) -> np.ndarray[Any, Any]:
        """All elements, as an array of NumPy."""
        return np.asarray(self)

    def _repr_svg_(self) -> str | None:
        return _pictures.svg(self._picture())

    def _picture(self) -> list[str]:
        node = self._node
        if not isinstance(node, Leaf) or node.structure is None:
            return []
        return node.structure.picture(node.shape)

    def __repr__(self) -> str:
        node = self._node
        what = "lazy"
        if isinstance(node, Leaf):
            what = node.structure.name if node.structure is not None else node.format or "dense"
        shape = " x ".join(str(extent) for extent in self.shape) or "scalar"
        lines = [f"<dastac.Array {shape}, {self.dtype}, {what}>", *(f"  {row}" for row in self._picture())]
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        node = self._node
        # What pickles go through by recursion.
        return Array, (node if len(_graph.pending([node])) < 50 else leaf(compute(node)),)


def _wrapped(made: Any) -> Any:
    """Nodes as arrays."""
    return tuple(Array(one) for one in made) if isinstance(made, tuple) else Array(made)


def array(value: Any) -> Array:
    """An array of any package as one whose operations are collected; nothing is copied.

    >>> import dastac, numpy as np
    >>> dastac.array(np.ones((2, 3)))
    <dastac.Array 2 x 3, float64, dense>
    """
    return value if isinstance(value, Array) else Array(node_of(value))
