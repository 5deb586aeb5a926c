"""Expressions over one pattern of stored elements: NumPy computes them of these alone, and no program is needed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import _graph
from ._functions import UFUNCS
from ._graph import Elementwise, Leaf, Node, Product
from ._sparse import same_pattern
from ._types import DTYPES
from ._values import canonical, check_ends, fresh

__all__ = ["found"]

_BY_FORM = {form.text: ufunc for ufunc, form in UFUNCS.items()}
_CASTS = {f"{element}({{0}})" for element in DTYPES}
#: Functions for which elements that are there twice may be added up before or after.
_LINEAR = (np.negative, np.positive, np.multiply, np.divide)


def found(node: Node, format: str | None) -> Any:
    """The values of a node in a format (as they come if there is none), or `None` if a program computes them."""
    if format not in (None, "csr", "csc", "coo"):
        return None
    inner = _graph.viewed(node)
    if isinstance(inner, Leaf):
        if inner.format not in ("csr", "csc") or len(node.shape) != 2:
            return None
        value = canonical(inner.value)
        if _is_turned(node):
            value = value.transpose()
        made = value.asformat(format or "csr")
        # Arrays without elements share no memory, but those of their positions may be the caller's.
        return made.copy() if not made.nnz or np.shares_memory(made.data, inner.value.data) else made
    if format is not None:
        return None
    if node._sparse and len(node.shape) == 2 and (isinstance(node, Elementwise) or _is_by_elements(node)):
        with np.errstate(all="ignore"):
            mapped = _mapped(node)
        if mapped is None:
            return None
        pattern, data = mapped
        arrays = (data if data is not pattern.data else data.copy(), pattern.indices.copy(), pattern.indptr.copy())
        return type(pattern)(arrays, shape=pattern.shape)
    if isinstance(node, Product) and not node.head and len(node.operands) == 1:
        operand, labels = node.operands[0]
        if operand._sparse and len(set(labels)) == len(labels) == 2:
            with np.errstate(all="ignore"):
                mapped = _mapped(operand)
            return None if mapped is None else mapped[1].sum(dtype=node.dtype)
    return None


def _is_turned(node: Node) -> bool:
    """Whether a view has its dimensions in the other order, seen through all that it is a view of."""
    turned = False
    while isinstance(node, Product):
        (inner, labels), head = node.operands[0], node.head
        turned ^= labels != head
        node = inner
    return turned


def _is_by_elements(node: Node) -> bool:
    """Whether it is a product of the elements of several matrices at the same places."""
    return (
        isinstance(node, Product) and len(node.operands) > 1 and all(labels == node.head for _, labels in node.operands)
    )


def _mapped(node: Node) -> tuple[Any, Any] | None:
    """A matrix with the pattern of what a node stores, and its elements; `None` if there is more than one pattern."""
    if isinstance(node, Leaf):
        if node.format not in ("csr", "csc") or node.dtype == np.bool_:
            return None
        check_ends(node.value, "the array")
        return node.value, node.value.data[: node.value.indptr[-1]]
    if node._computed is not None:
        return None
    function: Any = np.multiply
    if isinstance(node, Elementwise) and node.keeps_zeros:
        function = _BY_FORM.get(node.form)
        if function is None and node.form not in _CASTS:
            return None
    elif not _is_by_elements(node):
        return None
    pattern: Any = None
    operands: list[Any] = []
    for operand in _graph.operands_of(node):
        if isinstance(operand, Leaf) and not operand.shape and operand.format is None:
            operands.append(np.asarray(operand.value).reshape(()))
            continue
        part = _mapped(operand) if operand._sparse and operand.shape == node.shape else None
        if part is None or (pattern is not None and not same_pattern(part[0], pattern)):
            return None
        is_first, pattern = pattern is None, pattern if pattern is not None else part[0]
        if not is_first or function not in _LINEAR:
            pattern = fresh(pattern)
            if not pattern.has_canonical_format:
                return None
        operands.append(part[1])
    if pattern is None:
        return None
    if isinstance(node, Product):
        made = functools.reduce(np.multiply, operands)
    else:
        made = operands[0] if function is None else function(*operands)
    return pattern, made.astype(node.dtype, copy=False)
