"""Arrays whose operations are collected and computed together."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _graph, _operations, _pictures
from ._graph import Leaf, Node, Product
from ._indexing import indexed
from ._leaves import leaf, with_orders
from ._operations import Axes
from ._protocols import array_function, array_ufunc
from ._run import as_format, compute, returned, run
from ._types import element_of
from ._values import Parts, canonical, is_sparse, parts, read_only, writable
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
            out: an array of NumPy or a tensor of PyTorch to write the result to.

        Values are kept for what is computed of them later, so that the arrays that are returned are read-only.

        Raises:
            InputError: shapes or types that do not fit; data that contradicts a structure.
        """
        if out is not None:
            if format not in (None, "dense"):
                raise InputError("a result in a format cannot be written to `out`")
            return self._into(out)
        if format is None:
            return returned(self._node, _lent(self._node))
        return returned(self._node, as_format(self._node, format))

    def _into(self, out: Any) -> Any:
        if isinstance(out, Array):
            raise InputError("`out` must be an array of NumPy: arrays of dastac are not written to")
        memory = writable(out, "`out`")
        if memory.shape != self.shape:
            raise InputError(f"`out` has the shape {memory.shape}, but the result's is {self.shape}")
        if self._node._computed is not None or isinstance(self._node, Leaf) or memory.dtype != self.dtype:
            np.copyto(memory, np.asarray(self), casting="same_kind")
        else:
            run([self._node], ["dense"], out=memory)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = _lent(self._node)
        dense = _operations.dense(self._node) if is_sparse(found) else np.asarray(found)
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
        found = np.asarray(self)
        # Before its version 1, DLPack has no arrays that are read-only.
        is_old = options.get("max_version") is None and not found.flags.writeable
        return (found.copy() if is_old else found).__dlpack__(**options)

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
        return Array(made._node)

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

    def transpose(self, *axes: Any) -> Array:
        """The dimensions in another order; the other way round by default."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        rank = self.ndim
        order = tuple(range(rank))[::-1] if given is None else tuple(operator.index(one) % rank for one in given)
        if sorted(order) != list(range(rank)):
            raise InputError(f"{given} does not name each of {rank} dimensions once")
        return Array(_operations.transposed(self._node, order))

    def _done(self, out: Any) -> Array:
        made: Array = self if out is None else self._into(out)
        return made

    def sum(self, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Array:
        """The sum along axes, or of all elements. Integers are added up in 64 bits."""
        return Array(_operations.total(self._node, axis, keepdims, dtype))._done(out)

    def mean(self, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Array:
        """The mean along axes, or of all elements."""
        if dtype is not None and np.dtype(dtype).kind not in "fc":
            made = _operations.eager(np.mean, (self._node,), axis=axis, dtype=dtype, keepdims=keepdims)
            return Array(made)._done(out)
        of = self if dtype is None else self.astype(dtype)
        return Array(_operations.mean(of._node, axis, keepdims))._done(out)

    def max(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Array:
        """The largest element along axes, or of all; elements that are not stored count as 0."""
        return Array(_operations.extreme("max", self._node, axis, keepdims))._done(out)

    def min(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Array:
        """The least element along axes, or of all; elements that are not stored count as 0."""
        return Array(_operations.extreme("min", self._node, axis, keepdims))._done(out)

    def any(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Array:
        """Whether an element along axes, or of all, is not zero."""
        made: Array = self._some(np.not_equal, axis, keepdims) > 0
        return made._done(out)

    def all(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Array:
        """Whether no element along axes, or of all, is zero."""
        count = math.prod(self.shape[one] for one in _operations.axes_of(self._node, axis))
        made: Array = self._some(np.not_equal, axis, keepdims) == count
        return made._done(out)

    def var(
        self, axis: Axes = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Array:
        """The variance along axes, or of all elements."""
        of = self if dtype is None else self.astype(dtype)
        return Array(_operations.variance(of._node, axis, ddof, keepdims))._done(out)

    def std(
        self, axis: Axes = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Array:
        """The standard deviation along axes, or of all elements."""
        made: Any = np.sqrt(self.var(axis, dtype, None, ddof, keepdims))
        return Array(made._node)._done(out)

    def prod(self, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Array:
        """The product along axes, or of all elements; it is computed at once."""
        made = _operations.eager(np.prod, (self._node,), axis=axis, dtype=dtype, keepdims=keepdims)
        return Array(made)._done(out)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
        """Sums of the elements up to each one; they are computed at once."""
        made = _operations.eager(np.cumsum, (self._node,), axis=axis, dtype=dtype)
        return Array(made)._done(out)

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
        """The first place of the largest element along an axis, or of all; it is computed at once."""
        return Array(_operations.place("argmax", self._node, axis, keepdims))._done(out)

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
        """The first place of the least element along an axis, or of all; it is computed at once."""
        return Array(_operations.place("argmin", self._node, axis, keepdims))._done(out)

    def dot(self, other: Any) -> Array:
        """The product of NumPy's `dot`: that of matrices of what has one or two dimensions."""
        other = array(other)
        if self.ndim <= 2 >= other.ndim:
            return self.multiply(other) if not self.ndim or not other.ndim else self.__matmul__(other)
        return Array(_operations.eager(np.dot, (self._node, other._node)))

    def multiply(self, other: Any) -> Array:
        """The product of each element, as SciPy's sparse arrays have it."""
        made: Array = self * other
        return made

    def power(self, n: Any) -> Array:
        """A power of each element, as SciPy's sparse arrays have it."""
        return self.__pow__(n)

    def conj(self) -> Array:
        """Conjugate complex numbers."""
        made: Any = np.conjugate(self)
        return Array(made._node)

    conjugate = conj

    @property
    def real(self) -> Array:
        """The real parts."""
        return self if self.dtype.kind != "c" else Array(_operations.eager(np.real, (self._node,)))

    @property
    def imag(self) -> Array:
        """The imaginary parts."""
        return Array(_operations.eager(np.imag, (self._node,)))

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Array:
        """The elements, but none less than one bound, and none larger than the other."""
        made: Any = self if min is None else np.maximum(self, min)
        made = made if max is None else np.minimum(made, max)
        return Array(made._node)._done(out)

    def round(self, decimals: int = 0, out: Any = None) -> Array:
        """The nearest numbers with so many decimals; the even one of two."""
        if decimals >= 0 and self.dtype.kind in "iu":
            return self._done(out)
        if decimals == 0 and self.dtype.kind == "f":
            made: Any = np.rint(self)
            return Array(made._node)._done(out)
        return Array(_operations.eager(np.round, (self._node,), decimals=decimals))._done(out)

    def __round__(self, decimals: int = 0) -> Array:
        return self.round(decimals)

    def copy(self) -> Array:
        """The same elements in memory of their own."""
        found = compute(self._node)
        return Array(leaf(found.copy())) if isinstance(self._node, Leaf) and self.structure is None else self

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
        """The elements whose places along two axes differ by a number."""
        return Array(_operations.diagonal(self._node, offset, axis1, axis2))

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Array:
        """The sum of a diagonal."""
        node = self._node
        is_square = self.ndim == 2 and self.shape[0] == self.shape[1] and offset == 0 and dtype is None
        if is_square and self.dtype.kind in "fc" and self.dtype != np.float16 and not _graph.is_sparse(node):
            return Array(Product(((node, (0, 0)),), (), (), node.dtype))._done(out)
        return self.diagonal(offset, axis1, axis2).sum(-1, dtype, out)

    def item(self, *at: Any) -> Any:
        """An element as a number of Python: the only one, or that at a place."""
        return np.asarray(self).item(*at)

    def tolist(self) -> Any:
        """All elements as lists of numbers of Python."""
        return np.asarray(self).tolist()

    def nonzero(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The places of the elements that are not zero, an array for each dimension."""
        found = compute(self._node)
        places = canonical(found).nonzero() if is_sparse(found) else np.nonzero(found)
        return tuple(one.astype(np.intp, copy=False) for one in places)

    @property
    def nnz(self) -> int:
        """How many elements are stored, or not zero where all are."""
        found = compute(self._node)
        return int(found.nnz) if is_sparse(found) else int(np.count_nonzero(found))

    def _some(self, test: Any, axis: Axes, keepdims: bool) -> Array:
        return Array(_operations.ufunc(test, (self._node, 0))).astype(np.int64).sum(axis, keepdims=keepdims)

    def reshape(self, *shape: Any) -> Array:
        """The elements in row-major order in another shape, of which one extent may be -1. The array is computed."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        found = compute(self._node)
        return Array(leaf((canonical(found) if is_sparse(found) else found).reshape(wanted)))

    def ravel(self) -> Array:
        """The elements in row-major order, in one dimension. The array is computed."""
        return self.reshape(-1)

    flatten = ravel

    def squeeze(self, axis: Axes = None) -> Array:
        """Without dimensions of extent 1: all of them, or those that are named."""
        ones = [at for at, extent in enumerate(self.shape) if extent == 1]
        axes = ones if axis is None else _operations.axes_of(self._node, axis)
        if not set(axes) <= set(ones):
            raise InputError(f"axis {axis} of the shape {self.shape} is not of extent 1")
        return self.reshape(tuple(extent for at, extent in enumerate(self.shape) if at not in axes))

    def astype(self, dtype: Any, *, copy: bool = True) -> Array:
        """The elements as another type; arrays are not written to, so that `copy` makes no difference."""
        return Array(_operations.astype(self._node, np.dtype(dtype)))

    def toarray(self) -> np.ndarray[Any, Any]:
        """All elements, as an array of NumPy."""
        return np.array(self)

    todense = toarray

    def tocsr(self) -> Any:
        """The elements by rows, as an array of SciPy."""
        return self._as_scipy("csr")

    def tocsc(self) -> Any:
        """The elements by columns, as an array of SciPy."""
        return self._as_scipy("csc")

    def tocoo(self) -> Any:
        """The elements by their coordinates, as an array of SciPy."""
        return self._as_scipy("coo")

    def _as_scipy(self, format: str) -> Any:
        if _graph.is_sparse(self._node):
            return as_format(self._node, format)
        import scipy.sparse

        return scipy.sparse.coo_array(np.asarray(self)).asformat(format)

    def __contains__(self, value: Any) -> bool:
        found = compute(self._node)
        if is_sparse(found) and value != 0:
            return bool((found.data == value).any())
        return bool((found.nnz < self.size or (found.data == 0).any()) if is_sparse(found) else (found == value).any())

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if not self.shape else format(str(self), form)

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


def _lent(node: Node) -> Any:
    """The values of a node, which are kept: those that are not the caller's own are not to be written to."""
    found = compute(node)
    if not isinstance(node, Leaf):
        read_only(found)
    return found


def _wrapped(made: Any) -> Any:
    """Nodes as arrays."""
    return tuple(Array(one) for one in made) if isinstance(made, tuple) else Array(made)


def array(value: Any, dtype: Any = None) -> Array:
    """An array of any package as one whose operations are collected; nothing is copied but for another type.

    >>> import dastac, numpy as np
    >>> dastac.array(np.ones((2, 3)))
    <dastac.Array 2 x 3, float64, dense>
    """
    made = value if isinstance(value, Array) else Array(node_of(value))
    return made if dtype is None else made.astype(dtype)
