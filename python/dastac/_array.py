"""Arrays whose operations are collected and computed together."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _functions, _graph
from ._graph import Elementwise, Leaf, Node, Product, Reduction
from ._program import Program, compile
from ._structure import Structure
from ._types import dtype_of, element_of
from ._values import Parts, adopted, is_sparse, parts
from ._write import Written, written
from .errors import InputError

__all__ = ["Array", "array"]


def leaf(value: Any, structure: Structure | None = None) -> Leaf:
    """What is there as an operand, without a copy where its type is one of programs."""
    value = adopted(value)
    if not is_sparse(value):
        value = np.asarray(value)
    dtype = dtype_of(element_of(value.dtype))
    format = None
    if is_sparse(value):
        format = value.format
        if len(value.shape) != 2:
            format = "csf" if len(value.shape) > 2 else "compressed(i)"
        elif format == "bsr" and min(value.blocksize) >= 2:
            format = f"bsr({value.blocksize[0]}, {value.blocksize[1]})"
        elif format not in ("csr", "csc"):
            value, format = value.tocsr(), "csr"
    shape = tuple(int(extent) for extent in value.shape)
    return Leaf(value, shape, dtype, format, structure)


def node_of(value: Any) -> Node:
    """A value as a part of an expression. An array that stands in memory in the other order is a transposed one."""
    if isinstance(value, Array):
        return value._node
    made = leaf(value)
    found = made.value
    if isinstance(found, np.ndarray) and found.ndim > 1 and found.flags.fnc:
        turned = Leaf(found.T, found.shape[::-1], made.dtype)
        return _graph.transposed(turned, tuple(range(found.ndim))[::-1])
    return made


class Array(NDArrayOperatorsMixin):
    """An array that is computed when it is asked for, with all that it is made of at once.

    `numpy.asarray(a)` and `a.compute()` compute it, once. Operators and NumPy's functions of it give arrays of this
    kind; operands may be arrays of NumPy, SciPy, PyTorch and PyData sparse.

    >>> import dastac, numpy as np
    >>> a = dastac.array(np.arange(6.0).reshape(2, 3))
    >>> (a @ a.T + 1).compute()
    array([[ 6., 15.],
           [15., 51.]])
    """

    __slots__ = ("_computed", "_node")
    __array_priority__ = 1000.0

    def __init__(self, node: Node) -> None:
        self._node = node
        self._computed: Any = None

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

    def compute(self, *, format: str | None = None, out: Any = None) -> Any:
        """Computes it.

        Args:
            format: how the result is stored: `dense` for an array of NumPy, or a format of the language (`csr`, `csc`,
                `coo`, `bsr(4, 4)`) for one of SciPy. As its operands are by default: sparse where all elements that
                are not stored are zero.
            out: an array of NumPy to write the result to.

        Raises:
            InputError: shapes or types that do not fit; data that contradicts a structure.
        """
        node = self._node
        if format is None and out is None:
            if self._computed is None:
                there = isinstance(node, Leaf) and node.structure is None
                self._computed = node.value if there and isinstance(node, Leaf) else run(node)
            return self._computed
        if out is not None:
            if format not in (None, "dense"):
                raise InputError("a result in a format cannot be written to `out`")
            return run(node, "dense", out)
        return run(node, format)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = self.compute()
        dense = found.toarray() if is_sparse(found) else np.asarray(found)
        if dtype is not None and dense.dtype != dtype:
            return dense.astype(dtype)
        return dense.copy() if copy and dense is found else dense

    def __dastac_parts__(self, name: str, dtype: np.dtype[Any], rank: int, format: str | None) -> Parts:
        value = np.asarray(self) if self.structure is not None else self.compute()
        return parts(value, name, element_of(dtype), rank, format)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if method != "__call__" or kwargs:
            return NotImplemented
        if ufunc is np.matmul:
            made = matmul(*inputs)
        else:
            form = _functions.UFUNCS.get(ufunc)
            if form is None:
                return NotImplemented
            made = elementwise(form, inputs)
        if out is None:
            return made
        return made.compute(out=out[0])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known: dict[Any, Callable[..., Any]] = {
            np.sum: Array.sum,
            np.max: Array.max,
            np.min: Array.min,
            np.mean: Array.mean,
            np.transpose: Array.transpose,
        }
        if function in known and args and isinstance(args[0], Array):
            return known[function](*args, **kwargs)
        if function is np.einsum:
            from ._einsum import einsum

            return einsum(*args, **kwargs)
        if function is np.dot:
            return matmul(*args)
        if function is np.trace and len(args) == 1 and not kwargs and args[0].ndim == 2:
            return Array(_trace(args[0]._node))
        plain = [np.asarray(arg) if isinstance(arg, Array) else arg for arg in args]
        return function(*plain, **kwargs)

    def __matmul__(self, other: Any) -> Array:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Array:
        return matmul(other, self)

    def __getitem__(self, key: Any) -> Array:
        found = self.compute()
        if self.structure is not None:
            found = np.asarray(self)
        return Array(leaf(found[key]))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    @property
    def T(self) -> Array:
        """The dimensions in the other order."""
        return self.transpose()

    def transpose(self, axes: Sequence[int] | None = None) -> Array:
        """The dimensions in another order; the other way round by default."""
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(operator.index(a) % self.ndim for a in axes)
        if sorted(order) != list(range(self.ndim)):
            raise InputError(f"{axes} does not name each of {self.ndim} dimensions once")
        return Array(_graph.transposed(self._node, order))

    def sum(self, axis: int | Sequence[int] | None = None) -> Array:
        """The sum along axes, or of all elements. Integers are added up in 64 bits."""
        dtype = np.dtype(np.int64) if self.dtype.kind in "iub" else self.dtype
        node = self._node
        if dtype != self.dtype:
            node = Elementwise("i64({0})", (node,), node.shape, dtype, True)
        return Array(_graph.summed(node, self._axes(axis), dtype))

    def mean(self, axis: int | Sequence[int] | None = None) -> Array:
        """The mean along axes, or of all elements."""
        axes = self._axes(axis)
        count = math.prod(self.shape[one] for one in axes)
        made: Array = self.sum(axes) / count
        return made

    def max(self, axis: int | Sequence[int] | None = None) -> Array:
        """The largest element along axes, or of all; elements that are not stored count as 0."""
        return self._reduced("max", axis)

    def min(self, axis: int | Sequence[int] | None = None) -> Array:
        """The least element along axes, or of all; elements that are not stored count as 0."""
        return self._reduced("min", axis)

    def _reduced(self, word: str, axis: int | Sequence[int] | None) -> Array:
        axes = self._axes(axis)
        if not axes:
            return self
        if any(self.shape[one] == 0 for one in axes):
            raise InputError(f"there is no {word} of nothing")
        shape = tuple(extent for one, extent in enumerate(self.shape) if one not in axes)
        return Array(Reduction(word, self._node, axes, shape, self.dtype))

    def _axes(self, axis: int | Sequence[int] | None) -> tuple[int, ...]:
        if axis is None:
            return tuple(range(self.ndim))
        given = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
        if any(not -self.ndim <= one < self.ndim for one in given):
            raise InputError(f"axis {axis} is none of {self.ndim} dimensions")
        return tuple(sorted({one % self.ndim for one in given}))

    def astype(self, dtype: Any) -> Array:
        """The elements as another type."""
        wanted = np.dtype(dtype)
        form = f"{element_of(wanted)}({{0}})"
        return Array(Elementwise(form, (self._node,), self.shape, wanted, True))

    def _repr_svg_(self) -> str | None:
        rows = self._picture()
        if not rows:
            return None
        colours = {"#": "#1f4e79", "=": "#9dc3e6", ".": "#f2f2f2"}
        cells = "".join(
            f'<rect x="{10 * j}" y="{10 * i}" width="9" height="9" fill="{colours[sign]}"/>'
            for i, row in enumerate(rows)
            for j, sign in enumerate(row)
        )
        width, height = 10 * len(rows[0]), 10 * len(rows)
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{cells}</svg>'

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


def array(value: Any) -> Array:
    """An array of any package as one whose operations are collected; nothing is copied.

    >>> import dastac, numpy as np
    >>> dastac.array(np.ones((2, 3)))
    <dastac.Array 2 x 3, float64, dense>
    """
    return value if isinstance(value, Array) else Array(node_of(value))


def elementwise(form: _functions.Form, inputs: Sequence[Any]) -> Array:
    """A function of elements, with NumPy's rules for shapes and types."""
    nodes: list[Node | None] = []
    given: list[Any] = []
    for one in inputs:
        if isinstance(one, (bool, int, float, complex)) and not isinstance(one, np.generic):
            given.append(one)
            nodes.append(None)
        else:
            node = node_of(one)
            given.append(np.empty(0, node.dtype))
            nodes.append(node)
    dtype = form.ufunc.resolve_dtypes(
        tuple([type(one) if not isinstance(one, np.ndarray) else one.dtype for one in given] + [None] * form.ufunc.nout)
    )[-1]
    if dtype == np.bool_ and not form.is_truth:
        raise InputError("truth values are not computed with: convert them with `astype`")
    if dtype.kind == "c" and not form.is_complex:
        raise InputError(f"`{form.ufunc.__name__}` is not there for complex numbers")
    for at, one in enumerate(given):
        if nodes[at] is None:
            nodes[at] = Leaf(np.asarray(one, dtype=dtype if dtype != np.bool_ else None), (), dtype)
    operands: tuple[Node, ...] = tuple(node for node in nodes if node is not None)
    if form.divides and _graph.is_sparse(operands[-1]):
        operands = (*operands[:-1], leaf(np.asarray(Array(operands[-1]))))
    try:
        shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    except ValueError:
        shapes = " and ".join(str(operand.shape) for operand in operands)
        raise InputError(f"shapes {shapes} do not fit") from None
    zeros = form.keeps_zeros(operands)
    return Array(Elementwise(form.text, operands, shape, dtype, zeros, form.is_sum))


def matmul(one: Any, other: Any) -> Array:
    """The product of two matrices, a matrix and a vector, or of stacks of matrices, as in NumPy."""
    left, right = node_of(one), node_of(other)
    if not left.shape or not right.shape:
        raise InputError("a matrix product needs operands with dimensions")
    label = iter(range(100))
    inner, row, column = next(label), next(label), next(label)
    stack = max(len(left.shape), len(right.shape)) - 2
    batch = [next(label) for _ in range(stack)]

    def labels(node: Node, last: tuple[int, ...]) -> tuple[int, ...]:
        over = max(len(node.shape) - 2, 0)
        return (*(batch[stack - over :] if over else ()), *last)

    of_left = labels(left, (row, inner) if len(left.shape) > 1 else (inner,))
    of_right = labels(right, (inner, column) if len(right.shape) > 1 else (inner,))
    extents: dict[int, int] = {}
    for node, own in ((left, of_left), (right, of_right)):
        for one_label, extent in zip(own, node.shape, strict=True):
            if extents.setdefault(one_label, extent) != extent:
                raise InputError(f"shapes {left.shape} and {right.shape} do not fit")
    head = (*batch, *((row,) if len(left.shape) > 1 else ()), *((column,) if len(right.shape) > 1 else ()))
    dtype = np.result_type(left.dtype, right.dtype)
    if dtype == np.bool_:
        raise InputError("truth values are not computed with: convert them with `astype`")
    shape = tuple(extents[one_label] for one_label in head)
    return Array(Product(((left, of_left), (right, of_right)), head, shape, dtype))


def _trace(node: Node) -> Product:
    return Product(((node, (0, 0)),), (), (), node.dtype)


def program_of(node: Node, format: str | None = None) -> tuple[Program, Written]:
    """The program that computes a node, compiled."""
    made = written(node, format)
    return compile(made.text, name="<expression>"), made


def run(node: Node, format: str | None = None, out: Any = None) -> Any:
    """Computes a node."""
    program, made = program_of(node, format)
    inputs = {name: one.value for name, one in made.leaves.items()}
    options = {} if out is None else {"out": out}
    return program(**inputs, **made.sizes, **options)
