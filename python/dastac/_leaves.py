"""Values of all packages as operands of expressions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _graph
from ._graph import Leaf, Node
from ._structure import Structure
from ._types import is_element
from ._values import adopted, check, is_sparse, origin_of

__all__ = ["leaf", "resolved", "with_orders"]


def leaf(value: Any, structure: Structure | None = None, name: str = "the array") -> Leaf:
    """What is there as an operand, without a copy; messages call it by the name."""
    if type(value) is np.ndarray:
        return Leaf(value, value.shape, value.dtype, None, structure)
    origin = origin_of(value)
    value = adopted(value)
    format = None
    if is_sparse(value):
        if isinstance(value, sys.modules["scipy.sparse"].spmatrix):
            value = getattr(sys.modules["scipy.sparse"], f"{value.format}_array")(value)
        value, format = _format(value, name)
    else:
        value = np.asarray(value)
    return Leaf(value, tuple(value.shape), value.dtype, format, structure, origin)


def _format(value: Any, name: str) -> tuple[Any, str]:
    """A sparse array in a format that programs read, with the format's name."""
    format = value.format
    if len(value.shape) != 2:
        return value, "csf" if len(value.shape) > 2 else "compressed(i)"
    if format == "bsr" and min(value.blocksize) >= 2:
        return value, f"bsr({value.blocksize[0]}, {value.blocksize[1]})"
    if format in ("csr", "csc"):
        return value, format
    # Functions of SciPy do not look whether coordinates are inside of the shape.
    check(value, name)
    made = value.tocsr()
    check(made, name)
    return made, "csr"


def with_orders(made: Leaf) -> Node:
    """An array that stands in memory in the other order as a transposed one."""
    found = made.value
    is_turned = isinstance(found, np.ndarray) and found.ndim > 1 and found.flags.fnc
    if is_turned and made.structure is None and is_element(made.dtype):
        turned = Leaf(found.T, found.shape[::-1], made.dtype, origin=made.origin)
        return _graph.transposed(turned, tuple(range(found.ndim))[::-1])
    return made


def resolved(node: Node) -> Node:
    """A node that is computed already as the array that it is."""
    if node._computed is None or isinstance(node, Leaf) or not is_element(node.dtype):
        return node
    if node._leaf is None:
        object.__setattr__(node, "_leaf", leaf(node._computed))
    return node._leaf or node
