"""Products with gradients for PyTorch: `dastac.torch.einsum`.

A product's gradient with respect to an operand is a product too: of the result's gradient and the other operands. That
of a sparse operand is computed for the elements that it stores, that of a structured one for those that have values of
their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from . import _einsum
from ._array import Array
from ._leaves import leaf
from ._run import compute, run
from ._values import as_origin, check, is_sparse
from .errors import InputError

__all__ = ["Sparse", "einsum"]


class Sparse:
    """A matrix with a fixed pattern, whose values are a tensor that may ask for a gradient.

    Args:
        values: the stored elements, row after row.
        like: a matrix with the pattern: of PyTorch (CSR) or SciPy.
    """

    def __init__(self, values: Any, like: Any) -> None:
        pattern = like if is_sparse(like) else leaf(like).value
        if not is_sparse(pattern):
            raise InputError("a pattern is a sparse matrix of PyTorch or SciPy")
        check(pattern, "the pattern")
        pattern = pattern.tocsr()
        if not pattern.has_canonical_format:
            raise InputError("a pattern's indices must be sorted, and none there twice")
        if tuple(values.shape) != (pattern.nnz,):
            raise InputError(f"the pattern has {pattern.nnz} elements, but there are {tuple(values.shape)} values")
        self.values = values
        self.pattern = pattern

    @property
    def shape(self) -> tuple[int, int]:
        """Its extents."""
        rows, columns = self.pattern.shape
        return (int(rows), int(columns))


def einsum(subscripts: str, *operands: Any) -> Any:
    """A sum of products of tensors, with gradients: see `dastac.einsum`.

    Operands are dense tensors, `Sparse` ones, sparse tensors and arrays of NumPy and SciPy without gradients, and
    `dastac.Array`s with structure.

    Returns:
        A dense tensor. Gradients of gradients are not recorded.

    >>> import dastac.torch, torch  # doctest: +SKIP
    >>> a = torch.ones(2, 3, requires_grad=True)  # doctest: +SKIP
    >>> dastac.torch.einsum("ij,j->i", a, torch.arange(3.0)).sum().backward()  # doctest: +SKIP
    """
    patterns = [one.pattern if isinstance(one, Sparse) else None for one in operands]
    values = [one.values if isinstance(one, Sparse) else one for one in operands]
    return _apply(subscripts, patterns, *values)


@torch.compiler.disable  # type: ignore[untyped-decorator, unused-ignore]
def _apply(subscripts: str, patterns: list[Any], *values: Any) -> Any:
    tensors = [one for one in values if isinstance(one, torch.Tensor)]
    # NumPy does not have these: they are computed in 32 bits.
    short = [one.dtype == torch.bfloat16 for one in tensors]
    given = [one.to(torch.float32) if getattr(one, "dtype", None) == torch.bfloat16 else one for one in values]
    subscripts, given = _without_diagonals(subscripts, patterns, given)
    found = _Einsum.apply(subscripts, patterns, *given)
    return found.to(torch.bfloat16) if all(short) and len(tensors) == len(values) else found


def _without_diagonals(subscripts: str, patterns: list[Any], values: list[Any]) -> tuple[str, list[Any]]:
    """Subscripts and operands, of which dense tensors with a label twice are their diagonals."""
    inputs, head = _einsum.parsed(subscripts, tuple(_rank(*pair) for pair in zip(values, patterns, strict=True)))
    inputs = list(inputs)
    for at, (labels, value, pattern) in enumerate(zip(inputs, values, patterns, strict=True)):
        is_dense = isinstance(value, torch.Tensor) and value.layout == torch.strided and pattern is None
        if is_dense and len(set(labels)) < len(labels):
            inputs[at] = "".join(dict.fromkeys(labels))
            values[at] = torch.einsum(f"{labels}->{inputs[at]}", value)
    return f"{','.join(inputs)}->{head}", values


def _rank(value: Any, pattern: Any) -> int:
    return 2 if pattern is not None else len(getattr(value, "shape", ()))


def _node(value: Any, pattern: Any) -> Any:
    """An operand: a pattern has the values put into it."""
    if pattern is None:
        return value._node if isinstance(value, Array) else leaf(value)
    return leaf(_with_values(pattern, value.detach().contiguous().numpy()))


def _with_values(pattern: Any, values: Any) -> Any:
    """A matrix with a pattern, and other values."""
    return type(pattern)((values, pattern.indices, pattern.indptr), shape=pattern.shape)


class _Einsum(torch.autograd.Function):  # type: ignore[misc, unused-ignore]  # PyTorch may be absent
    """A product; the gradients of its operands are products."""

    @staticmethod
    def forward(ctx: Any, subscripts: str, patterns: list[Any], *values: Any) -> Any:
        nodes = [_node(value, pattern) for value, pattern in zip(values, patterns, strict=True)]
        product = _einsum.product(subscripts, nodes)
        ctx.labels = _einsum.parsed(subscripts, tuple(len(node.shape) for node in nodes))
        ctx.patterns = patterns
        ctx.tensors = [at for at, value in enumerate(values) if isinstance(value, torch.Tensor)]
        ctx.others = {at: value for at, value in enumerate(values) if at not in ctx.tensors}
        ctx.save_for_backward(*(values[at] for at in ctx.tensors))
        return as_origin(run([product], ["dense"]), "torch")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        values = {**ctx.others, **dict(zip(ctx.tensors, ctx.saved_tensors, strict=True))}
        nodes = [_node(values[at], pattern) for at, pattern in enumerate(ctx.patterns)]
        found = [None, None]
        for at, pattern in enumerate(ctx.patterns):
            wanted = ctx.needs_input_grad[at + 2]
            found.append(_gradient(ctx.labels, gradients[0], nodes, at, pattern) if wanted else None)
        return tuple(found)


def _gradient(labels: tuple[list[str], str], gradient: Any, nodes: list[Any], at: int, pattern: Any) -> Any:
    """The gradient with respect to one operand: the product of the others with the result's gradient."""
    inputs, head = labels
    own = inputs[at]
    others = [(leaf(gradient.detach().resolve_conj().contiguous()), head)]
    for one, (node, its) in enumerate(zip(nodes, inputs, strict=True)):
        if one != at:
            others.append((node if node.dtype.kind != "c" else leaf(compute(node).conj()), its))
    if len(set(own)) != len(own):
        raise InputError(f"there is no gradient with respect to an operand with labels '{own}': one is there twice")
    # Along dimensions that are repeated gradients are added up.
    extents = dict(pair for node, its in zip(nodes, inputs, strict=True) for pair in zip(its, node.shape, strict=True))
    extents.update((c, n) for node, its in others for c, n in zip(its, node.shape, strict=True) if n != 1)
    kept = "".join(c for c, n in zip(own, nodes[at].shape, strict=True) if n == extents[c])
    known = set("".join(its for _, its in others))
    # Dimensions that were summed alone: their gradient is the same along them.
    for axis, label in enumerate(own):
        if label not in known:
            others.append((leaf(np.ones(nodes[at].shape[axis], nodes[at].dtype)), label))
    if pattern is not None:
        others.append((leaf(_with_values(pattern, np.ones(pattern.nnz, nodes[at].dtype))), own))
    text = f"{','.join(its for _, its in others)}->{kept if pattern is None else own}"
    product = _einsum.product(text, [node for node, _ in others])
    if pattern is not None:
        return torch.from_numpy(run([product], ["csr"]).data)
    found = np.asarray(run([product], ["dense"])).reshape(nodes[at].shape)
    return as_origin(found, "torch").to(_torch_type(nodes[at].dtype))


def _torch_type(dtype: np.dtype[Any]) -> Any:
    return torch.from_numpy(np.empty(0, dtype)).dtype
