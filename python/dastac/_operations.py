"""Operations on expressions: those that programs have are collected, others are computed at once by NumPy or SciPy."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from . import _graph, _sparse
from ._functions import POWERS, UFUNCS, Form
from ._graph import Elementwise, Leaf, Node, Product, Reduction
from ._leaves import leaf
from ._run import compute
from ._types import element_of, is_element
from ._values import canonical, check, is_sparse, read_only
from .errors import AxisError, InputError

Scalar = (bool, int, float, complex)
Axes = int | Sequence[int] | None


def dense(node: Node, what: str = "") -> np.ndarray[Any, Any]:
    """The values of a node as an array of NumPy; for a function that is named, if these are not very many."""
    found = compute(node)
    if not is_sparse(found):
        return np.asarray(found)
    if what:
        _sparse.bounded(found, what)
    check(found, "the array")
    return np.asarray(found.toarray())


def eager(function: Any, inputs: Sequence[Node | Any], **options: Any) -> Any:
    """What NumPy or SciPy computes of some nodes and numbers: a leaf for each array."""
    is_node = [isinstance(one, Leaf | Product | Elementwise | Reduction) for one in inputs]
    found = None
    if not options and any([_graph.is_sparse(one) for one, is_one in zip(inputs, is_node, strict=True) if is_one]):
        given = [_whole(compute(one)) if is_one else one for one, is_one in zip(inputs, is_node, strict=True)]
        found = _sparse.elements(function, given)
    if found is None:
        what = f"`{getattr(function, '__name__', 'a function')}`"
        given = [dense(one, what) if is_one else one for one, is_one in zip(inputs, is_node, strict=True)]
        found = function(*given, **options)
    several = isinstance(found, tuple)
    made = [leaf(read_only(one, given)) for one in (found if several else [found])]
    return tuple(made) if several else made[0]


def _kept(found: Any, *nodes: Node) -> Leaf:
    """What SciPy computed of some nodes, which is read-only unless it is memory of these."""
    return leaf(read_only(found, [compute(one) for one in nodes]))


def _whole(value: Any) -> Any:
    """An array without dimensions as the number that it is."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def number(value: Any, dtype: Any) -> Leaf:
    """A number as an operand. It stands in an array of one element, which programs read where it stands."""
    made = np.asarray(value, dtype=dtype)
    return Leaf(made.reshape(1), (), made.dtype)


def ufunc(function: Any, inputs: Sequence[Any]) -> Any:
    """A function of elements, with NumPy's rules for shapes and types, of nodes and numbers."""
    if function is np.power and isinstance(inputs[1], Scalar) and inputs[1] in POWERS:
        same = inputs[0].dtype if not isinstance(inputs[0], Scalar) else None
        if same == np.power.resolve_dtypes((same, _weak(inputs[1]), None))[-1]:
            return ufunc(POWERS[inputs[1].real], inputs[:1])
    is_number = inputs[0].dtype != np.bool_ if not isinstance(inputs[0], Scalar) else False
    if function is np.multiply and inputs[0] is inputs[1] and is_number:
        function, inputs = np.square, inputs[:1]
    if function is np.square and is_number and isinstance(inputs[0], Leaf) and not _graph.is_plain(inputs[0]):
        function, inputs = np.multiply, (inputs[0], inputs[0])
    if function is np.divide:
        inputs = _quotient(inputs)
    form = UFUNCS.get(function)
    if form is None or (function is np.square and not is_number):
        return eager(function, inputs)
    given = [_weak(one) if isinstance(one, Scalar) else one.dtype for one in inputs]
    dtype = form.ufunc.resolve_dtypes((*given, *[None] * form.ufunc.nout))[-1]
    # SciPy has no elements of 16 bits.
    is_short = dtype == np.float16 and any([_graph.is_sparse(one) for one in inputs if not isinstance(one, Scalar)])
    # Elements that are known to be zero have the reciprocal 0 in the language.
    is_dense = form.divides and not isinstance(inputs[-1], Scalar) and not _graph.is_plain(inputs[-1])
    if is_short or is_dense or not is_computed(form, inputs, dtype):
        return eager(function, inputs)
    of_numbers = dtype
    if form.is_truth:
        of_numbers = next(one.dtype for one in inputs if not isinstance(one, Scalar))
    operands = tuple(number(one, of_numbers) if isinstance(one, Scalar) else one for one in inputs)
    shape = broadcast(operands)
    zeros = form.keeps_zeros(operands)
    return Elementwise(form.text, operands, shape, dtype, zeros, form.kind)


def _quotient(inputs: Sequence[Any]) -> Sequence[Any]:
    """A sparse array and a dense one that it is divided by, of which no element is known to be zero before it is
    computed: their quotient stores what the sparse one does. All other operands stay what they are."""
    over, under = inputs
    if isinstance(over, Scalar) or isinstance(under, Scalar) or not under.shape or _graph.is_plain(under):
        return inputs
    ends = zip(under.shape[::-1], over.shape[::-1], strict=False)
    is_repeated = len(under.shape) <= len(over.shape) and all(one in (1, other) for one, other in ends)
    if not is_repeated or not _graph.is_sparse(over) or _graph.is_sparse(under):
        return inputs
    return over, leaf(compute(under))


def _weak(number: Any) -> Any:
    """NumPy has weak types for numbers, but not for truth values."""
    return np.dtype(np.bool_) if isinstance(number, bool) else type(number)


def is_computed(form: Form, inputs: Sequence[Any], dtype: np.dtype[Any]) -> bool:
    """Whether programs have a function of these operands that gives this type, as NumPy has it."""
    types = [one.dtype for one in inputs if not isinstance(one, Scalar)]
    if not all(is_element(one) for one in [*types, dtype]):
        return False
    if form.is_truth:
        kinds = {one.kind for one in types}
        numbers = [one for one in inputs if isinstance(one, Scalar)]
        if len(set(types)) != 1 or kinds & set("bc") or any(not _fits(one, types[0]) for one in numbers):
            return False
        sparse = [_graph.is_sparse(one) for one in inputs if not isinstance(one, Scalar)]
        return not any(sparse) or (all(sparse) and not numbers and bool(form.zero))
    if dtype.kind == "b" or (dtype.kind == "c" and not form.is_complex):
        return False
    if dtype.kind in "iu" and not form.is_integer:
        return False
    # A number that the type does not hold is NumPy's to refuse.
    return dtype.kind not in "iu" or all(_fits(one, dtype) for one in inputs if isinstance(one, Scalar))


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return isinstance(value, int) and bounds.min <= value <= bounds.max
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def broadcast(operands: Sequence[Node]) -> tuple[int, ...]:
    """The shape of a function of elements."""
    first = operands[0].shape
    if all(one.shape == first or not one.shape for one in operands):
        return first
    try:
        return np.broadcast_shapes(*(operand.shape for operand in operands))
    except ValueError:
        shapes = " and ".join(str(operand.shape) for operand in operands)
        raise InputError(f"shapes {shapes} do not fit") from None


class _Labels(NamedTuple):
    """The labels of a matrix product of operands with so many dimensions each."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    head: tuple[int, ...]
    #: Axes of both operands that have one label, and whether they are of stacks.
    shared: tuple[tuple[int, int, bool], ...]
    #: For each dimension of the result, an operand and its axis.
    extents: tuple[tuple[int, int], ...]


@lru_cache(maxsize=64)
def _labels(left: int, right: int) -> _Labels:
    stack = max(left, right, 2) - 2
    inner, row, column, batch = stack, stack + 1, stack + 2, tuple(range(stack))

    def labels(rank: int, last: tuple[int, ...]) -> tuple[int, ...]:
        over = max(rank - 2, 0)
        return (*(batch[stack - over :] if over else ()), *last)

    of_left = labels(left, (row, inner) if left > 1 else (inner,))
    of_right = labels(right, (inner, column) if right > 1 else (inner,))
    head = (*batch, *((row,) if left > 1 else ()), *((column,) if right > 1 else ()))
    pairs = tuple((at, of_right.index(one), one in batch) for at, one in enumerate(of_left) if one in of_right)
    places = tuple((0, of_left.index(one)) if one in of_left else (1, of_right.index(one)) for one in head)
    return _Labels(of_left, of_right, head, pairs, places)


def matmul(left: Node, right: Node) -> Any:
    """The product of two matrices, a matrix and a vector, or of stacks of matrices, as in NumPy."""
    if not left.shape or not right.shape:
        raise InputError("a matrix product needs operands with dimensions")
    labels = _labels(len(left.shape), len(right.shape))
    for at, other, is_stack in labels.shared:
        extents = (left.shape[at], right.shape[other])
        if extents[0] != extents[1]:
            if is_stack and 1 in extents:
                return eager(np.matmul, (left, right))
            raise InputError(f"shapes {left.shape} and {right.shape} do not fit")
    dtype = left.dtype if left.dtype == right.dtype else np.result_type(left.dtype, right.dtype)
    if dtype == np.bool_ or not (is_element(left.dtype) and is_element(right.dtype) and is_element(dtype)):
        if len(labels.left) <= 2 >= len(labels.right) and (_graph.is_sparse(left) or _graph.is_sparse(right)):
            return _kept(_sparse.matmul(compute(left), compute(right)), left, right)
        return eager(np.matmul, (left, right))
    shapes = (left.shape, right.shape)
    shape = tuple([shapes[operand][axis] for operand, axis in labels.extents])
    return Product(((left, labels.left), (right, labels.right)), labels.head, shape, dtype)


def astype(node: Node, dtype: np.dtype[Any]) -> Node:
    """The elements as another type."""
    if node.dtype == dtype:
        return node
    if _graph.is_sparse(node) and not (
        is_element(dtype) and is_element(node.dtype) and node.dtype.kind != "c" != dtype.kind
    ):
        return _kept(_sparse.cast(compute(node), dtype), node)
    complex_to_real = node.dtype.kind == "c" and dtype.kind != "c"
    if not is_element(dtype) or not is_element(node.dtype) or complex_to_real or (dtype.kind == "c"):
        made: Node = eager(lambda value: value.astype(dtype), (node,))
        return made
    return Elementwise(f"{element_of(dtype)}({{0}})", (node,), node.shape, dtype, True)


def axes_of(node: Node, axis: Axes) -> tuple[int, ...]:
    """Axes as numbers that are not negative, in order."""
    rank = len(node.shape)
    if axis is None:
        return tuple(range(rank))
    given = [operator.index(one) for one in (axis if isinstance(axis, Sequence) else [axis])]
    for one in given:
        if not -rank <= one < rank:
            raise AxisError(one, rank)
    found = sorted({one % rank for one in given})
    if len(found) != len(given):
        raise InputError(f"axis {axis} names a dimension twice")
    return tuple(found)


def with_kept(node: Node, axes: Sequence[int], keepdims: bool) -> Node:
    """A reduction with dimensions of extent 1 in the place of those that it went along."""
    if not keepdims or not axes:
        return node
    rank = len(node.shape) + len(axes)
    rest = iter(range(len(node.shape)))
    return reshaped(node, [None if axis in axes else next(rest) for axis in range(rank)])


def reshaped(node: Node, kept: Sequence[int | None]) -> Node:
    """Dimensions of extent 1 added (`None`) and taken away; those that stay are named in order."""
    if not is_element(node.dtype) or node.dtype == np.bool_:
        return reshape(node, tuple(1 if axis is None else node.shape[axis] for axis in kept))
    return _graph.reshaped(node, kept)


def reshape(node: Node, shape: Any) -> Leaf:
    """The elements in row-major order in another shape; they are computed."""
    found = compute(node)
    return _kept((canonical(found) if is_sparse(found) else found).reshape(shape), node)


def total(node: Node, axis: Axes, keepdims: bool, dtype: Any) -> Any:
    """The sum along axes. Integers are added up in 64 bits."""
    axes = axes_of(node, axis)
    wanted = np.dtype(dtype) if dtype is not None else node.dtype
    if dtype is None and node.dtype.kind in "ib":
        wanted = np.dtype(np.int64)
    if not is_element(wanted) or not is_element(node.dtype) or node.dtype.kind == "u" or wanted.kind in "bu":
        found = _sparse.total(compute(node), axes, dtype) if _graph.is_sparse(node) and axes else None
        if found is not None:
            return with_kept(_kept(found, node), axes, keepdims)
        return eager(np.sum, (node,), axis=axes, keepdims=keepdims, dtype=dtype)
    return with_kept(_graph.summed(astype(node, wanted), axes, wanted), axes, keepdims)


def mean(node: Node, axis: Axes, keepdims: bool) -> Any:
    """The mean along axes."""
    axes = axes_of(node, axis)
    count = math.prod(node.shape[one] for one in axes)
    if count == 0:
        return eager(np.mean, (node,), axis=axes, keepdims=keepdims)
    if _graph.is_sparse(node) and (node.dtype.kind not in "fi" or not is_element(node.dtype)):
        wide = np.dtype(np.float64) if node.dtype.kind in "bu" else node.dtype
        return ufunc(np.divide, (total(node, axes, keepdims, wide), count))
    if node.dtype.kind not in "fi" or node.dtype == np.float16 or not is_element(node.dtype):
        return eager(np.mean, (node,), axis=axes, keepdims=keepdims)
    return ufunc(np.divide, (total(node, axes, keepdims, None), count))


def extreme(word: str, node: Node, axis: Axes, keepdims: bool) -> Any:
    """The least or largest element along axes; elements that are not stored count as 0."""
    axes = axes_of(node, axis)
    if not axes:
        return node
    if any(node.shape[one] == 0 for one in axes):
        raise InputError(f"there is no {word} of nothing")
    if node.dtype.kind not in "if" or not is_element(node.dtype):
        found = _sparse.extreme(word, compute(node), axes) if _graph.is_sparse(node) else None
        if found is not None:
            return with_kept(_kept(found, node), axes, keepdims)
        return eager(np.max if word == "max" else np.min, (node,), axis=axes, keepdims=keepdims)
    if len(node.shape) == 2 and len(axes) == 1 and _graph.is_sparse(node):
        is_by_columns = isinstance(node, Leaf) and node.format == "csc"
        if axes[0] == (1 if is_by_columns else 0):
            # Across the stored order a program visits each element that is not stored, too.
            return with_kept(_kept(_sparse.extreme(word, compute(node), axes), node), axes, keepdims)
    shape = tuple(extent for one, extent in enumerate(node.shape) if one not in axes)
    return with_kept(Reduction(word, node, axes, shape, node.dtype), axes, keepdims)


def variance(node: Node, axis: Axes, ddof: float, keepdims: bool) -> Any:
    """The variance along axes: the mean of the squares of what differs from the mean."""
    axes = axes_of(node, axis)
    count = math.prod(node.shape[one] for one in axes)
    if _graph.is_sparse(node) and count:
        found = _sparse.variance(compute(node), axes, ddof)
        if found is not None:
            return with_kept(_kept(found, node), axes, keepdims)
    if node.dtype.kind not in "fi" or node.dtype == np.float16 or not is_element(node.dtype) or count <= ddof:
        return eager(np.var, (node,), axis=axes, ddof=ddof, keepdims=keepdims)
    apart = ufunc(np.subtract, (node, mean(node, axes, True)))
    return ufunc(np.divide, (total(ufunc(np.square, (apart,)), axes, keepdims, None), count - ddof))


def place(word: str, node: Node, axis: int | None, keepdims: bool) -> Any:
    """The first place of the least or the largest element along an axis, or of all."""
    if _graph.is_sparse(node) and len(node.shape) == 2 and node.dtype.kind != "c" and node.dtype != np.bool_:
        axes = axes_of(node, axis)
        if any(node.shape[one] == 0 for one in axes):
            raise InputError(f"there is no {word} of nothing")
        found = _sparse.place(word, compute(node), axis)
        return with_kept(_kept(found.reshape(() if axis is None else -1), node), axes, keepdims)
    return eager(getattr(np, word), (node,), axis=axis, keepdims=keepdims)


def diagonal(node: Node, offset: int, axis1: int, axis2: int) -> Any:
    """The elements whose places along two axes differ by a number."""
    if _graph.is_sparse(node) and len(node.shape) == 2:
        first, second = (axes_of(node, one)[0] for one in (axis1, axis2))
        if first == second:
            raise InputError("a diagonal is along two axes")
        return _kept(_sparse.by_rows(compute(node)).diagonal(offset if first == 0 else -offset), node)
    return eager(np.diagonal, (node,), offset=offset, axis1=axis1, axis2=axis2)


def transposed(node: Node, order: Sequence[int]) -> Node:
    """The dimensions in another order."""
    if tuple(order) == tuple(range(len(node.shape))):
        return node
    if not is_element(node.dtype) or node.dtype == np.bool_:
        if _graph.is_sparse(node):
            return _kept(_sparse.turned(compute(node), order), node)
        made: Node = eager(lambda value: value.transpose(order), (node,))
        return made
    return _graph.transposed(node, order)
