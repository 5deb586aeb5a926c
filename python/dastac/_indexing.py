"""Parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _graph
from ._graph import Node
from ._leaves import leaf
from ._operations import dense, reshaped
from ._run import compute
from ._values import check, is_sparse, read_only

__all__ = ["indexed"]


def indexed(node: Node, key: Any) -> Node:
    """The elements that a key of NumPy names: integers, slices, new dimensions, arrays of integers or truth values.

    New dimensions are collected; all else takes the values, and is a view of them where NumPy's is.
    """
    keys = key if isinstance(key, tuple) else (key,)
    kept = _kept(keys, len(node.shape))
    if kept is not None and not _graph.is_sparse(node):
        return node if kept == list(range(len(node.shape))) else reshaped(node, kept)
    found = compute(node)
    plain = tuple(np.asarray(one) if hasattr(one, "__array__") else one for one in keys)
    made_key: Any = plain if isinstance(key, tuple) else plain[0]
    # To SciPy a truth value is a number.
    if is_sparse(found) and not any(isinstance(one, (bool, np.bool_)) for one in keys):
        check(found, "the array")
        try:
            return leaf(read_only(found[made_key], [found]))
        except (NotImplementedError, TypeError, ValueError):
            pass  # SciPy's arrays have no such part: it is one of all elements
        except IndexError:
            if all(isinstance(one, (int, np.integer, slice)) for one in keys):
                raise
    whole = dense(node, f"the part {key}")
    return leaf(read_only(np.asarray(whole[made_key]), [] if is_sparse(found) else [whole]))


def _kept(keys: tuple[Any, ...], rank: int) -> list[int | None] | None:
    """The dimensions that stay, with new ones, if a key names no others than whole ones."""
    if not all(one is None or one is Ellipsis or (isinstance(one, slice) and one == slice(None)) for one in keys):
        return None
    named = sum(isinstance(one, slice) for one in keys)
    if named > rank or keys.count(Ellipsis) > 1 or len(keys) == 0:
        return None
    if Ellipsis not in keys:
        keys = (*keys, Ellipsis)
    made: list[int | None] = []
    axes = iter(range(rank))
    for one in keys:
        if one is None:
            made.append(None)
        else:
            made.extend(next(axes) for _ in range(rank - named if one is Ellipsis else 1))
    return made
