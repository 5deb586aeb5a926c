"""Values of all packages as operands of expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _graph
from ._graph import Leaf, Node
from ._structure import Structure
from ._types import is_element
from ._values import adopted, is_sparse, origin_of

__all__ = ["leaf", "resolved", "with_orders"]


def leaf(value: Any, structure: Structure | None = None) -> Leaf:
    """What is there as an operand, without a copy."""
    if type(value) is np.ndarray:
        return Leaf(value, value.shape, value.dtype, None, structure)
    origin = origin_of(value)
    value = adopted(value)
    format = None
    if is_sparse(value):
        value, format = _format(value)
    else:
        value = np.asarray(value)
    return Leaf(value, tuple(value.shape), value.dtype, format, structure, origin)


def _format(value: Any) -> tuple[Any, str]:
    """A sparse array in a format that programs read, with the format's name."""
    format = value.format
    if len(value.shape) != 2:
        return value, "csf" if len(value.shape) > 2 else "compressed(i)"
    if format == "bsr" and min(value.blocksize) >= 2:
        return value, f"bsr({value.blocksize[0]}, {value.blocksize[1]})"
    return (value, format) if format in ("csr", "csc") else (value.tocsr(), "csr")


def with_orders(made: Leaf) -> Node:
    """An array that stands in memory in the other order as a transposed one."""
    found = made.value
    if isinstance(found, np.ndarray) and found.ndim > 1 and found.flags.fnc and made.structure is None:
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
