"""Expressions over arrays: what is to be computed, before it is text of the language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from ._structure import Structure

DType = np.dtype[Any]


class _Computed:
    """What nodes remember: their values, once they are computed, and what is asked of them again and again."""

    _computed: Any = None
    #: The same as an operand.
    _leaf: Leaf | None = None
    #: Whether it is stored as what is not zero.
    _sparse: bool
    #: Whether no element is known to be zero before it is computed.
    _plain: bool

    def __post_init__(self) -> None:
        node: Any = self
        object.__setattr__(self, "_sparse", _is_sparse(node))
        object.__setattr__(self, "_plain", _is_plain(node))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_computed", "_leaf")}


def remember(node: Node, value: Any) -> Any:
    """Keeps the values of a node with it."""
    object.__setattr__(node, "_computed", value)
    return value


def forget(node: Node) -> None:
    """Drops the values of a node."""
    object.__setattr__(node, "_computed", None)
    object.__setattr__(node, "_leaf", None)


@dataclass(frozen=True, eq=False)
class Leaf(_Computed):
    """An array that is there: of NumPy, of SciPy, or the packed buffer of one with structure.

    A number may stand in an array of one element.
    """

    value: Any
    shape: tuple[int, ...]
    dtype: DType
    #: How it is stored, in the language's words; `None` for all elements.
    format: str | None = None
    structure: Structure | None = None
    #: The package that the array came from, if results are to be arrays of it: `torch` or `sparse`.
    origin: str | None = None


@dataclass(frozen=True, eq=False)
class Product(_Computed):
    """A product, summed over the labels that are not in the head; labels of each operand's dimensions."""

    operands: tuple[tuple[Node, tuple[int, ...]], ...]
    head: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, eq=False)
class Elementwise(_Computed):
    """Text with a place `{0}`, `{1}`, .. for each operand; dimensions of extent 1 are repeated as in NumPy."""

    form: str
    operands: tuple[Node, ...]
    shape: tuple[int, ...]
    dtype: DType
    #: Whether the result is 0 where all operands are.
    keeps_zeros: bool
    #: How the language takes it: a `sum`, a `product`, or a `function`, whose operands it does not multiply out.
    kind: str = "function"


@dataclass(frozen=True, eq=False)
class Reduction(_Computed):
    """The least or the largest element along some axes."""

    word: str
    operand: Node
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: DType


Node = Union[Leaf, Product, Elementwise, Reduction]


def transposed(node: Node, order: Sequence[int]) -> Product:
    """The same elements with dimensions in another order."""
    shape = tuple(node.shape[axis] for axis in order)
    return Product(((node, tuple(range(len(order)))),), tuple(order), shape, node.dtype)


def is_view(node: Node) -> bool:
    """Whether it has the elements of its operand, with dimensions in another order or with new ones of extent 1."""
    if not isinstance(node, Product) or len(node.operands) != 1 or node._computed is not None:
        return False
    own = node.operands[0][1]
    return len(set(own)) == len(own) and set(own) <= set(node.head)


def viewed(node: Node) -> Node:
    """What a view is one of."""
    while isinstance(node, Product) and is_view(node):
        node = node.operands[0][0]
    return node


def summed(node: Node, axes: Sequence[int], dtype: DType) -> Product:
    """Sums along axes."""
    head = tuple(axis for axis in range(len(node.shape)) if axis not in axes)
    shape = tuple(node.shape[axis] for axis in head)
    return Product(((node, tuple(range(len(node.shape)))),), head, shape, dtype)


def reshaped(node: Node, kept: Sequence[int | None]) -> Product:
    """Dimensions of extent 1 added (`None`) and taken away; those that stay are named in order."""
    own = tuple(range(len(node.shape)))
    fresh = iter(range(len(own), len(own) + len(kept)))
    head = tuple(next(fresh) if axis is None else axis for axis in kept)
    shape = tuple(1 if axis is None else node.shape[axis] for axis in kept)
    return Product(((node, own),), head, shape, node.dtype)


def operands_of(node: Node) -> Sequence[Node]:
    """The nodes that a node is computed from."""
    if isinstance(node, Product):
        return [operand for operand, _ in node.operands]
    if isinstance(node, Elementwise):
        return node.operands
    return [node.operand] if isinstance(node, Reduction) else []


def leaves_of(node: Node) -> Sequence[Leaf]:
    """All arrays that a node is computed from."""
    found: dict[int, Leaf] = {}
    seen: set[int] = set()
    waiting: list[Node] = [node]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Leaf):
            found[id(one)] = one
        waiting.extend(operands_of(one))
    return list(found.values())


def is_plain(node: Node) -> bool:
    """Whether no element is known to be zero before it is computed."""
    return node._plain


def is_sparse(node: Node) -> bool:
    """Whether it is stored as what is not zero."""
    return node._sparse


def _is_plain(node: Node) -> bool:
    if isinstance(node, Leaf):
        return node.format is None and node.structure is None
    return all([one._plain for one in operands_of(node)])


def _is_sparse(node: Node) -> bool:
    if isinstance(node, Leaf):
        return node.format is not None
    if isinstance(node, Elementwise):
        operands = [one for one in node.operands if one.shape]
        if node.kind == "product" and node.keeps_zeros:
            return any([one._sparse and one.shape == node.shape for one in operands])
        same = all([one.shape == node.shape for one in operands])
        return node.keeps_zeros and same and bool(operands) and all([one._sparse for one in operands])
    if isinstance(node, Product):
        covered = {label for one, labels in node.operands if one._sparse for label in labels}
        return len(node.head) >= 2 and covered >= set(node.head)
    return False


def pending(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that have yet to be computed for some nodes, each behind those that it is computed from; no leaves."""
    order: list[Node] = []
    seen: set[int] = set()
    waiting: list[tuple[Node, bool]] = [(node, False) for node in reversed(nodes)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            order.append(node)
        elif id(node) not in seen and not isinstance(node, Leaf) and node._computed is None:
            seen.add(id(node))
            waiting.append((node, True))
            waiting.extend([(one, False) for one in reversed(operands_of(node))])
    return order
