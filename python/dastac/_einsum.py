"""`einsum`: sums of products by the labels of dimensions."""

from __future__ import annotations

import functools
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from . import _graph
from ._array import Array, node_of
from ._graph import Leaf, Node, Product
from ._operations import astype, eager, ufunc
from ._run import as_format, compute, returned
from ._types import is_element
from .errors import InputError

__all__ = ["einsum"]

#: How many sparse operands one product has at most.
SPARSE = 6


def einsum(subscripts: str, *operands: Any, out: Any = None, format: str | None = None) -> Any:
    """A sum of products, as in NumPy, of dense, sparse and structured arrays.

    Args:
        subscripts: labels of each operand's dimensions, and of the result's: `"ij,jk->ik"`. Without `->`, the result
            has the labels that occur once, in alphabetical order. `...` stands for dimensions that have no labels.
        *operands: arrays of NumPy, SciPy, PyTorch, PyData sparse, or `dastac.Array`.
        out: an array of NumPy to write the result to.
        format: how the result is stored: `dense`, or a format of the language; see `Array.compute`.

    Returns:
        A `dastac.Array`, not computed yet, where an operand is one and neither `out` nor `format` is given; otherwise
        an array of SciPy where all elements that are not stored are zero, else of NumPy.

    Raises:
        InputError: labels that do not fit the operands; extents that differ.

    >>> import dastac, numpy as np
    >>> dastac.einsum("ij,j->i", np.ones((2, 3)), np.arange(3.0))
    array([3., 3.])
    """
    if out is None and format is None and "torch" in sys.modules and any(map(_has_gradient, operands)):
        from . import torch

        return torch.einsum(subscripts, *operands)
    nodes = [node_of(one) for one in operands]
    node = product(subscripts, nodes)
    if out is None and format is None:
        if any([isinstance(one, Array) for one in operands]):
            return Array(node)
        return returned(node, compute(node))
    if isinstance(node, Leaf) or out is not None:
        return Array(node).compute(format=format, out=out)
    return returned(node, as_format(node, format))


def _has_gradient(value: Any) -> bool:
    """Whether it is a tensor of PyTorch whose gradient is recorded."""
    return bool(getattr(value, "requires_grad", False)) and type(value).__module__.partition(".")[0] == "torch"


@lru_cache(maxsize=1024)
def parsed(subscripts: str, ranks: tuple[int, ...]) -> tuple[list[str], str]:
    """The labels of the operands and of the result."""
    if not isinstance(subscripts, str):
        raise InputError("subscripts must be text such as 'ij,jk->ik'")
    text = subscripts.replace(" ", "")
    left, arrow, head = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise InputError(f"'{subscripts}' is for {len(inputs)} operands, but there are {len(ranks)}")
    if "..." in text:
        inputs, head = _without_dots(subscripts, inputs, head if arrow else None, ranks)
        left, arrow = ",".join(inputs), "->"
    if not all(c.isascii() and c.isalpha() for c in left.replace(",", "") + head):
        raise InputError(f"'{subscripts}' has other signs than letters, commas, `...` and one arrow")
    for at, (labels, rank) in enumerate(zip(inputs, ranks, strict=True)):
        if len(labels) != rank:
            raise InputError(f"operand {at} has {rank} dimensions, but '{labels}' has {len(labels)} labels")
    if not arrow:
        head = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    if len(set(head)) != len(head):
        raise InputError(f"'{head}' has a label twice")
    missing = set(head) - set(left)
    if missing:
        raise InputError(f"no operand has the label '{min(missing)}'")
    return inputs, head


def _without_dots(
    subscripts: str, inputs: list[str], head: str | None, ranks: tuple[int, ...]
) -> tuple[list[str], str]:
    """Letters for the dimensions that `...` stands for: the last ones of all operands are the same."""
    free = [c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in subscripts]
    counts = [rank - len(labels) + 3 if "..." in labels else 0 for labels, rank in zip(inputs, ranks, strict=True)]
    most = max(counts)
    if min(counts) < 0 or most > len(free) or any(labels.count(".") not in (0, 3) for labels in [*inputs, head or ""]):
        raise InputError(f"the operands of '{subscripts}' have no dimensions that `...` could stand for")
    dots = "".join(free[:most])
    made = [labels.replace("...", dots[most - count :]) for labels, count in zip(inputs, counts, strict=True)]
    if head is None:
        once = "".join(sorted(c for c in set("".join(inputs)) - {"."} if "".join(inputs).count(c) == 1))
        return made, dots + once
    if most > 0 and "..." not in head:
        raise InputError(f"the result of '{subscripts}' has no `...`")
    return made, head.replace("...", dots)


def product(subscripts: str, nodes: list[Node]) -> Node:
    """The product, in the order of steps that is cheapest where all operands are dense."""
    inputs, head = parsed(subscripts, tuple(len(node.shape) for node in nodes))
    extents: dict[str, int] = {}
    for labels, node in zip(inputs, nodes, strict=True):
        for label, extent in zip(labels, node.shape, strict=True):
            if extents.setdefault(label, extent) != extent:
                raise InputError(f"'{label}' is both {extents[label]} and {extent} long")
    types = {node.dtype for node in nodes}
    dtype = next(iter(types)) if len(types) == 1 else np.result_type(*types)
    if dtype == np.bool_ or not all([is_element(one) for one in (dtype, *types)]):
        if any([_graph.is_sparse(node) for node in nodes]) and (is_element(dtype) or dtype.kind in "bu"):
            # Sums of integers of 64 bits that go beyond end as those of fewer bits do.
            inner = np.dtype(np.int64) if dtype.kind in "bu" else dtype
            sums = product(subscripts, [astype(node, inner) for node in nodes])
            made_of: Node = ufunc(np.not_equal, (sums, 0)) if dtype == np.bool_ else astype(sums, dtype)
            return made_of
        found: Node = eager(functools.partial(np.einsum, subscripts), nodes)
        return found

    def made(parts: list[tuple[Node, str]], to: str) -> Product:
        numbered = tuple([(node, tuple(map(ord, labels))) for node, labels in parts])
        return Product(numbered, tuple(map(ord, to)), tuple([extents[c] for c in to]), dtype)

    parts = list(zip(nodes, inputs, strict=True))

    def plain() -> bool:
        return all(not _graph.is_sparse(n) and not (isinstance(n, Leaf) and n.structure) for n in nodes)

    def step(taken: list[int]) -> None:
        rest = [part for at, part in enumerate(parts) if at not in taken]
        chosen = [parts[at] for at in taken]
        needed = set(head).union(*(labels for _, labels in rest))
        to = "".join(sorted(set("".join(labels for _, labels in chosen)) & needed))
        parts[:] = [*rest, (made(chosen, to), to)]

    while sum(_graph.is_sparse(node) for node, _ in parts) > SPARSE:
        sparse = [at for at, (node, _) in enumerate(parts) if _graph.is_sparse(node)]
        first = set(parts[sparse[0]][1])
        step(sorted(sparse, key=lambda at: -len(first & set(parts[at][1])))[:SPARSE])
    if len(parts) > 2 and plain():
        like = [np.broadcast_to(np.float64(0), node.shape) for node in nodes]
        steps = np.einsum_path(f"{','.join(inputs)}->{head}", *like, optimize="greedy")[0][1:]
        for taken in steps[:-1]:
            step(list(taken))
    return made(parts, head)
