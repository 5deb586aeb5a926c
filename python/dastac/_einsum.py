"""`einsum`: sums of products by the labels of dimensions."""

from __future__ import annotations

import functools
import operator
import sys
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import _graph
from ._array import Array, node_of
from ._graph import Leaf, Node, Product
from ._leaves import leaf
from ._operations import astype, eager, ufunc
from ._run import as_format, compute, plan_of, returned
from ._types import is_element
from ._values import is_sparse
from .errors import InputError

__all__ = ["einsum"]

#: How many sparse operands one product has at most.
SPARSE = 6


#: Programs of products of arrays of NumPy, by labels, shapes and types; with the order of the operands, and sizes.
_CALLS: OrderedDict[Hashable, tuple[Any, tuple[int, ...], dict[str, int]]] = OrderedDict()


def einsum(
    subscripts: Any,
    *operands: Any,
    out: Any = None,
    format: str | None = None,
    dtype: Any = None,
    order: str = "K",
    casting: Any = "safe",
    optimize: Any = True,
) -> Any:
    """A sum of products, as in NumPy, of dense, sparse and structured arrays.

    Args:
        subscripts: labels of each operand's dimensions, and of the result's: `"ij,jk->ik"`. Without `->`, the result
            has the labels that occur once, in alphabetical order. `...` stands for dimensions that have no labels.
            NumPy's other form, `einsum(A, [0, 1], B, [1, 2], [0, 2])`, says the same.
        *operands: arrays of NumPy, SciPy, PyTorch, PyData sparse, or `dastac.Array`.
        out: an array of NumPy or a tensor of PyTorch to write the result to.
        format: how the result is stored: `dense`, or a format of the language; see `Array.compute`.
        dtype: the type that is computed in, and of the result.
        order: `F` for a dense result in the order of Fortran; `A`, `C` and `K` are the same.
        casting: what may be lost where `dtype` is given.
        optimize: is there for NumPy's sake: products of three and more dense arrays are always computed in steps.

    Returns:
        A `dastac.Array`, not computed yet, where an operand is one and neither `out` nor `format` is given; otherwise
        an array of SciPy where all elements that are not stored are zero, else of NumPy.

    Raises:
        InputError: labels that do not fit the operands; extents that differ.

    >>> import dastac, numpy as np
    >>> dastac.einsum("ij,j->i", np.ones((2, 3)), np.arange(3.0))
    array([3., 3.])
    """
    key: Hashable = None
    if out is None and format is None and dtype is None and order == "K" and isinstance(subscripts, str):
        key = _key(subscripts, operands)
        if key is not None:
            call = _CALLS.get(key)
            if call is not None:
                program, places, sizes = call
                return program(*[operands[at] for at in places], **sizes)
    if not isinstance(subscripts, str):
        subscripts, given = _as_text((subscripts, *operands))
        operands = tuple(given)
    if order not in ("K", "A", "C", "F"):
        raise InputError(f"order must be 'C', 'F', 'A' or 'K', not {order!r}")
    if "torch" in sys.modules and any(map(_has_gradient, operands)):
        if out is not None or format is not None or dtype is not None:
            raise InputError("`out`, `format` and `dtype` go with tensors that ask for no gradient: `detach` them")
        from . import torch

        return torch.einsum(subscripts, *operands)
    nodes = [one._node if isinstance(one, Array) else node_of(one, f"operand {at}") for at, one in enumerate(operands)]
    if dtype is not None:
        nodes = [_cast(node, np.dtype(dtype), casting) for node in nodes]
    node = product(subscripts, nodes)
    if out is None and format is None:
        if any([isinstance(one, Array) for one in operands]):
            return Array(node)
        # What is not kept may be written to.
        value = returned(node, compute(node) if isinstance(node, Leaf) else as_format(node, None))
        if "torch" in sys.modules:
            value = _short(value, operands)
        if key is not None:
            _keep(key, node, operands)
        return np.asfortranarray(value) if order == "F" and isinstance(value, np.ndarray) else value
    if isinstance(node, Leaf) or out is not None:
        return Array(node).compute(format=format, out=out)
    return returned(node, as_format(node, format))


def _short(value: Any, operands: Sequence[Any]) -> Any:
    """A result of tensors of 16 bits that NumPy does not have, as one of these."""
    types = {str(getattr(one, "dtype", "")) for one in operands}
    return value.to(sys.modules["torch"].bfloat16) if types == {"torch.bfloat16"} else value


def _keep(key: Hashable, node: Node, operands: Sequence[Any]) -> None:
    """Keeps the program of a product, if it reads all operands as they are."""
    found = plan_of(node)
    if found is None:
        return
    program, arrays, sizes = found
    places = [at for array in arrays for at, one in enumerate(operands) if one is array]
    if len(places) == len(arrays) == len(set(places)) == len(operands):
        _CALLS[key] = (program, tuple(places), sizes)
        if len(_CALLS) > 1024:
            _CALLS.popitem(last=False)


def _key(subscripts: str, operands: Sequence[Any]) -> Hashable:
    """What decides about the program of a product, if all operands are arrays of NumPy or matrices of SciPy."""
    made: list[Hashable] = [subscripts]
    for one in operands:
        if type(one) is np.ndarray:
            made.append((one.shape, one.dtype, one.flags.fnc))
        elif is_sparse(one) and one.format in ("csr", "csc"):
            made.append((one.shape, one.dtype, one.format))
        else:
            return None
    return tuple(made)


def _cast(node: Node, dtype: np.dtype[Any], casting: Any) -> Node:
    if not np.can_cast(node.dtype, dtype, casting):
        raise TypeError(f"cannot cast operands from {node.dtype} to {dtype} by the rule {casting!r}")
    return astype(node, dtype)


def _as_text(given: Sequence[Any]) -> tuple[str, list[Any]]:
    """Subscripts and operands of `A, [0, 1], B, [1, 2], [0, 2]`."""
    count = len(given) // 2
    operands, lists = list(given[0 : 2 * count : 2]), [*given[1 : 2 * count : 2], *given[2 * count :]]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def letter(one: Any) -> str:
        try:
            return "..." if one is Ellipsis else letters[operator.index(one)]
        except (TypeError, IndexError):
            raise InputError(f"{one!r} is no subscript: these are integers from 0 to 51, and `...`") from None

    if not operands or not all(isinstance(one, Sequence) for one in lists):
        raise InputError("subscripts are text such as 'ij,jk->ik', or a list of integers behind each operand")
    texts = ["".join(map(letter, one)) for one in lists]
    text = ",".join(texts[:count])
    return text + (f"->{texts[count]}" if len(given) % 2 else ""), operands


def _has_gradient(value: Any) -> bool:
    """Whether it is a tensor of PyTorch whose gradient is recorded."""
    is_asked = bool(getattr(value, "requires_grad", False)) and type(value).__module__.partition(".")[0] == "torch"
    return is_asked and bool(sys.modules["torch"].is_grad_enabled())


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


def _plainly(node: Node, labels: str, extents: dict[str, int]) -> tuple[Node, str]:
    """An operand with each label once, where it is an array in memory, and without dimensions that are repeated."""
    if len(set(labels)) < len(labels) and isinstance(node, Leaf) and type(node.value) is np.ndarray and node._plain:
        once = "".join(dict.fromkeys(labels))
        if len({extent for label, extent in zip(labels, node.shape, strict=True) if labels.count(label) > 1}) == 1:
            node, labels = leaf(np.einsum(f"{labels}->{once}", node.value)), once
    repeated = [axis for axis, label in enumerate(labels) if node.shape[axis] == 1 != extents[label]]
    if not repeated:
        return node, labels
    return _graph.summed(node, repeated, node.dtype), "".join(c for at, c in enumerate(labels) if at not in repeated)


def product(subscripts: str, nodes: list[Node]) -> Node:
    """The product, in the order of steps that is cheapest where all operands are dense."""
    inputs, head = parsed(subscripts, tuple(len(node.shape) for node in nodes))
    extents: dict[str, int] = {}
    for labels, node in zip(inputs, nodes, strict=True):
        for label, extent in zip(labels, node.shape, strict=True):
            known = extents.setdefault(label, extent)
            if known != extent and 1 not in (known, extent):
                raise InputError(f"'{label}' is both {known} and {extent} long")
            extents[label] = extent if known == 1 else known
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

    plainly = [_plainly(node, labels, extents) for node, labels in zip(nodes, inputs, strict=True)]
    nodes, inputs = [node for node, _ in plainly], [labels for _, labels in plainly]

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
