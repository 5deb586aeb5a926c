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
from ._protocols import NOT_WRITTEN, array_function, array_ufunc, plain
from ._run import as_format, compute, returned, run
from ._sparse import by_rows
from ._types import element_of, is_element
from ._values import Parts, is_sparse, parts, writable
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
    def itemsize(self) -> int:
        """How many bytes an element has."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """How many bytes all elements have, stored or not."""
        return self.size * self.itemsize

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
            return returned(self._node, compute(self._node))
        return returned(self._node, as_format(self._node, format))

    def _into(self, out: Any) -> Any:
        if isinstance(out, Array):
            raise InputError(f"`out` must be an array of NumPy: {NOT_WRITTEN}")
        memory = writable(out, "`out`")
        if memory.shape != self.shape:
            raise InputError(f"`out` has the shape {memory.shape}, but the result's is {self.shape}")
        if self._node._computed is not None or isinstance(self._node, Leaf) or memory.dtype != self.dtype:
            np.copyto(memory, np.asarray(self), casting="same_kind")
        else:
            run([self._node], ["dense"], out=memory)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = compute(self._node)
        is_other = dtype is not None and found.dtype != np.dtype(dtype)
        if copy is False and (is_other or is_sparse(found)):
            what = f"elements of type {np.dtype(dtype)}" if is_other else "all elements of a sparse array"
            raise ValueError(f"{what} are a copy, which `copy=False` forbids")
        dense = _operations.dense(self._node)
        if is_other:
            return dense.astype(dtype)
        return dense.copy() if copy and not is_sparse(found) else dense

    def __dastac_parts__(self, name: str, dtype: np.dtype[Any], rank: int, format: str | None) -> Parts:
        value = np.asarray(self) if self.structure is not None else compute(self._node)
        return parts(value, name, element_of(dtype), rank, format)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return array_ufunc(Array, _wrapped, node_of, ufunc, method, inputs, kwargs)

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

    def __eq__(self, other: Any) -> Any:
        return self._compared(NDArrayOperatorsMixin.__eq__, operator.eq, other)

    def __ne__(self, other: Any) -> Any:
        return self._compared(NDArrayOperatorsMixin.__ne__, operator.ne, other)

    def _compared(self, method: Any, of_numpy: Any, other: Any) -> Any:
        try:
            return method(self, other)
        except TypeError:
            # Numbers and text are not equal: NumPy has no function of both, but its operators say so.
            return array(of_numpy(np.asarray(self), plain(other, Array)))

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
        order = tuple(range(rank))[::-1] if given is None else tuple(self._axis(one) for one in given)
        if sorted(order) != list(range(rank)):
            raise InputError(f"{given} does not name each of {rank} dimensions once")
        return Array(_operations.transposed(self._node, order))

    def _axis(self, axis: int) -> int:
        """An axis as a number that is not negative."""
        return _operations.axes_of(self._node, operator.index(axis))[0]

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """Two dimensions in the place of each other."""
        order = list(range(self.ndim))
        first, second = self._axis(axis1), self._axis(axis2)
        order[first], order[second] = second, first
        return Array(_operations.transposed(self._node, order))

    def _done(self, out: Any) -> Array:
        made: Array = self if out is None else self._into(out)
        return made

    def _by_numpy(self, function: Any, out: Any = None, **options: Any) -> Array:
        """What NumPy computes of it, at once."""
        given = {name: plain(one, Array) for name, one in options.items() if one is not None or name == "axis"}
        return Array(_operations.eager(function, (self._node,), **given))._done(out)

    def sum(
        self,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Array:
        """The sum along axes, or of all elements. Integers are added up in 64 bits. NumPy computes it at once where it
        begins with a number (`initial`), or is one of some elements (`where`)."""
        if initial is not None or where is not True:
            options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial, "where": where}
            return self._by_numpy(np.sum, out, **options)
        return Array(_operations.total(self._node, axis, keepdims, dtype))._done(out)

    def mean(
        self, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Array:
        """The mean along axes, or of all elements."""
        if where is not True or (dtype is not None and np.dtype(dtype).kind not in "fc"):
            return self._by_numpy(np.mean, out, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
        of = self if dtype is None else self.astype(dtype)
        return Array(_operations.mean(of._node, axis, keepdims))._done(out)

    def max(
        self, axis: Axes = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Array:
        """The largest element along axes, or of all; elements that are not stored count as 0."""
        if initial is not None or where is not True:
            return self._by_numpy(np.max, out, axis=axis, keepdims=keepdims, initial=initial, where=where)
        return Array(_operations.extreme("max", self._node, axis, keepdims))._done(out)

    def min(
        self, axis: Axes = None, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Array:
        """The least element along axes, or of all; elements that are not stored count as 0."""
        if initial is not None or where is not True:
            return self._by_numpy(np.min, out, axis=axis, keepdims=keepdims, initial=initial, where=where)
        return Array(_operations.extreme("min", self._node, axis, keepdims))._done(out)

    def any(self, axis: Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Array:
        """Whether an element along axes, or of all, is not zero."""
        if where is not True:
            return self._by_numpy(np.any, out, axis=axis, keepdims=keepdims, where=where)
        made: Array = self._some(np.not_equal, axis, keepdims) > 0
        return made._done(out)

    def all(self, axis: Axes = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> Array:
        """Whether no element along axes, or of all, is zero."""
        if where is not True:
            return self._by_numpy(np.all, out, axis=axis, keepdims=keepdims, where=where)
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

    def prod(
        self,
        axis: Axes = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Array:
        """The product along axes, or of all elements; it is computed at once."""
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial, "where": where}
        return self._by_numpy(np.prod, out, **options)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
        """Sums of the elements up to each one; they are computed at once."""
        return self._by_numpy(np.cumsum, out, axis=axis, dtype=dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Array:
        """Products of the elements up to each one; they are computed at once."""
        return self._by_numpy(np.cumprod, out, axis=axis, dtype=dtype)

    def take(self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Array:
        """The elements at places along an axis, or in row-major order; they are computed at once."""
        return self._by_numpy(np.take, out, indices=indices, axis=axis, mode=mode)

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        """The elements so many times each, along an axis or in row-major order; they are computed at once."""
        return self._by_numpy(np.repeat, repeats=repeats, axis=axis)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Array:
        """The elements where a condition holds along an axis, or in row-major order; they are computed at once."""
        made = _operations.eager(np.compress, (plain(condition, Array), self._node), axis=axis)
        return Array(made)._done(out)

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
    ) -> Array:
        """The places of the elements along an axis, or of all, from the least to the largest; they are computed at
        once."""
        return self._by_numpy(np.argsort, axis=axis, kind=kind, order=order, stable=stable)

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Array:
        """Where numbers would stand among its elements, which rise; the places are computed at once."""
        return self._by_numpy(np.searchsorted, v=v, side=side, sorter=sorter)

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
        """The first place of the largest element along an axis, or of all; it is computed at once."""
        return Array(_operations.place("argmax", self._node, axis, keepdims))._done(out)

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
        """The first place of the least element along an axis, or of all; it is computed at once."""
        return Array(_operations.place("argmin", self._node, axis, keepdims))._done(out)

    def matvec(self, x: Any) -> np.ndarray[Any, Any]:
        """The product with a vector or a matrix, as an array of NumPy: SciPy's solvers call it."""
        return np.array(self @ x)

    matmat = matvec

    def rmatvec(self, x: Any) -> np.ndarray[Any, Any]:
        """The product of its conjugate transpose with a vector or a matrix, as an array of NumPy."""
        return np.array((self.T @ np.conj(x)).conj())

    rmatmat = rmatvec

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
        """Conjugate complex numbers; others stay what they are."""
        if self.dtype.kind != "c":
            return self
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
        if self.dtype.kind in "iu":
            # A bound beyond all numbers of the type is none.
            limits = np.iinfo(self.dtype)
            min = None if type(min) is int and min <= limits.min else min
            max = None if type(max) is int and max >= limits.max else max
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
        is_summed = self.dtype.kind in "fc" and self.dtype != np.float16 and is_element(self.dtype)
        if is_square and is_summed and not _graph.is_sparse(node):
            return Array(Product(((node, (0, 0)),), (), (), node.dtype))._done(out)
        return self.diagonal(offset, axis1, axis2).sum(-1, dtype, out)

    def item(self, *at: Any) -> Any:
        """An element as a number of Python: the only one, or that at a place."""
        return np.asarray(self).item(*at)

    def tolist(self) -> Any:
        """All elements as lists of numbers of Python."""
        return np.asarray(self).tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """All elements as bytes."""
        return np.asarray(self).tobytes(order)

    @property
    def flat(self) -> Any:
        """All elements one after the other, in row-major order, to go along."""
        return plain(self, Array).flat

    def nonzero(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The places of the elements that are not zero, an array for each dimension."""
        found = compute(self._node)
        places = by_rows(found).nonzero() if is_sparse(found) else np.nonzero(found)
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
        return Array(_operations.reshape(self._node, wanted))

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
