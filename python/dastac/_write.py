"""Expressions as programs: one text for all sizes, so that it is compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from . import _graph
from ._graph import DType, Elementwise, Leaf, Node, Product, Reduction
from ._leaves import resolved
from ._types import element_of
from .errors import InputError


@dataclass
class Written:
    """A program with the leaves that are its inputs, by name."""

    text: str
    leaves: dict[str, Leaf]
    sizes: dict[str, int]
    #: For each leaf the names of its extents.
    extents: dict[str, list[str]]


@dataclass
class _Writer:
    """Dimensions are numbered; those that must have the same extent are joined."""

    leaves: dict[int, str] = field(default_factory=dict)
    inputs: dict[str, Leaf] = field(default_factory=dict)
    made: dict[int, str] = field(default_factory=dict)
    dims: dict[str, list[int]] = field(default_factory=dict)
    parents: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    types: dict[str, DType] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    #: Nodes whose names are known by their addresses, which others must not get.
    kept: list[Node] = field(default_factory=list)
    iterators: int = 0

    def dim(self, size: int) -> int:
        self.parents.append(len(self.parents))
        self.sizes.append(size)
        return len(self.parents) - 1

    def root(self, dim: int) -> int:
        while self.parents[dim] != dim:
            dim = self.parents[dim]
        return dim

    def join(self, one: int, other: int) -> None:
        one, other = self.root(one), self.root(other)
        if self.sizes[one] != self.sizes[other]:
            raise InputError(f"dimensions of {self.sizes[one]} and {self.sizes[other]} elements do not fit")
        self.parents[max(one, other)] = min(one, other)

    def iterator(self) -> str:
        self.iterators += 1
        return f"i{self.iterators - 1}"

    def tensor(self, node: Node) -> str:
        """The tensor that a node is; with a rule of its own, unless it is a leaf."""
        if id(node) in self.made:
            return self.made[id(node)]
        given, node = node, resolved(node)
        if isinstance(node, Leaf):
            name = f"A{len(self.inputs)}"
            self.inputs[name] = node
            self.dims[name] = [self.dim(size) for size in node.shape]
            if node.structure is not None and node.structure.equal:
                for dim in self.dims[name][1:]:
                    self.join(self.dims[name][0], dim)
            if node.format is not None:
                self.formats[name] = node.format
        else:
            dims = [self.dim(size) for size in node.shape]
            iterators = [self.iterator() for _ in dims]
            right = self.term(node, iterators, dims, True)
            name = f"R{len(self.rules)}"
            self.rules.append(f"{name}({', '.join(iterators)}) := {right}")
            self.dims[name] = dims
            if _graph.is_sparse(node) and len(dims) >= 2:
                self.formats[name] = "csr" if len(dims) == 2 else "csf"
        self.types[name] = node.dtype
        self.made[id(given)] = name
        self.kept.append(node)
        return name

    def access(self, node: Node, iterators: list[str], dims: list[int]) -> str:
        """An element of the tensor that a node is; extents of 1 are repeated."""
        name = self.tensor(node)
        own = self.dims[name]
        subscripts = []
        for iterator, dim, mine in zip(iterators, dims, own, strict=True):
            if self.sizes[mine] == 1 and self.sizes[dim] != 1:
                subscripts.append("0")
            else:
                self.join(dim, mine)
                subscripts.append(iterator)
        return f"{name}({', '.join(subscripts)})"

    def term(self, node: Node, iterators: list[str], dims: list[int], top: bool) -> str:
        """The right-hand side for an element; sums over products only at the `top` of a rule."""
        if isinstance(node, Leaf) or isinstance(resolved(node), Leaf):
            return self.access(node, iterators, dims)
        if isinstance(node, Product):
            if len(node.operands) == 1 and sorted(node.head) == sorted(node.operands[0][1]):
                # Dimensions in another order.
                inner, labels = node.operands[0]
                if len(set(labels)) == len(labels):
                    places = [node.head.index(label) for label in labels]
                    at, of = [iterators[place] for place in places], [dims[place] for place in places]
                    if isinstance(inner, Product):
                        return self.access(inner, at, of)
                    return self.term(inner, at, of, False)
            if not top:
                return self.access(node, iterators, dims)
            return self.product(node, iterators, dims)
        if isinstance(node, Elementwise):
            parts = []
            for operand in node.operands:
                missing = len(iterators) - len(operand.shape)
                at, of = iterators[missing:], dims[missing:]
                # Functions are computed in the type of their rule.
                of_type = isinstance(operand, Elementwise) and operand.dtype == node.dtype
                product = isinstance(operand, Product) and node.is_sum and top
                inline = isinstance(resolved(operand), Leaf) or of_type or product
                same = operand.shape == tuple(self.sizes[dim] for dim in of)
                if inline and same:
                    parts.append(self.term(operand, at, of, top and node.is_sum))
                elif isinstance(operand, Product) and len(operand.operands) == 1 and same:
                    parts.append(self.term(operand, at, of, False))
                else:
                    parts.append(self.access(operand, at, of))
            return node.form.format(*parts)
        if not top:
            return self.access(node, iterators, dims)
        return self.reduction(node, iterators, dims)

    def product(self, node: Product, iterators: list[str], dims: list[int]) -> str:
        named = dict(zip(node.head, iterators, strict=True))
        sizes = dict(zip(node.head, dims, strict=True))
        factors = []
        for given, order in node.operands:
            operand, labels = (given, order) if given._computed is not None else _graph.untransposed(given, order)
            for label, size in zip(labels, operand.shape, strict=True):
                if label not in named:
                    named[label], sizes[label] = self.iterator(), self.dim(size)
            at, of = [named[label] for label in labels], [sizes[label] for label in labels]
            factors.append(self.access(operand, at, of))
        return " * ".join(factors)

    def reduction(self, node: Reduction, iterators: list[str], dims: list[int]) -> str:
        inner, of, reduced = [], [], []
        rest = iter(zip(iterators, dims, strict=True))
        for axis, size in enumerate(node.operand.shape):
            if axis in node.axes:
                iterator, dim = self.iterator(), self.dim(size)
                reduced.append(iterator)
            else:
                iterator, dim = next(rest)
            inner.append(iterator)
            of.append(dim)
        return f"{node.word}({', '.join(reduced)}) {self.access(node.operand, inner, of)}"


def written_all(nodes: Sequence[Node], formats: Sequence[str | None]) -> Written:
    """The program that computes several nodes: `R`, `Q1`, `Q2`, .., in order, stored in formats of the language if they
    are given, else as they come. What they have in common is computed once."""
    writer = _Writer()
    outputs = ["R", *(f"Q{at}" for at in range(1, len(nodes)))]
    heads: set[int] = set()
    for name, node, format in zip(outputs, nodes, formats, strict=True):
        dims = [writer.dim(size) for size in node.shape]
        iterators = [writer.iterator() for _ in dims]
        right = writer.term(node, iterators, dims, True)
        writer.rules.append(f"{name}({', '.join(iterators)}) := {right}")
        writer.dims[name] = dims
        writer.types[name] = node.dtype
        heads.update(dims)
        if format is None and _graph.is_sparse(node) and len(dims) >= 2:
            format = "csr" if len(dims) == 2 else "csf"
        if format is not None and format != "dense":
            writer.formats[name] = format
    symbols: dict[int, str] = {}
    for of in writer.dims.values():
        for dim in of:
            root = writer.root(dim)
            if writer.sizes[root] != 1 or root in {writer.root(d) for d in heads}:
                symbols.setdefault(root, f"N{len(symbols)}")
    lines = [f"outputs: {', '.join(outputs)}"]
    if symbols:
        lines.insert(0, f"symbols: {', '.join(symbols.values())}")
    typed = [f"{name} = {element_of(dtype)}" for name, dtype in writer.types.items() if dtype != np.float64]
    if typed:
        lines.append(f"types: {', '.join(typed)}")
    # Arrays are read and written where they stand.
    plain = [name for name, leaf in writer.inputs.items() if leaf.structure is None and leaf.format is None]
    ordered = [name for name in [*plain, *outputs] if name not in writer.formats and len(writer.dims[name]) > 1]
    if ordered:
        orders = (f"{name} -> order({', '.join(_names(len(writer.dims[name])))})" for name in ordered)
        lines.append(f"layout: {'; '.join(orders)}")
    lines += writer.rules
    extents = {}
    for name, of in writer.dims.items():
        own = [symbols.get(writer.root(dim), "1") for dim in of]
        extents[name] = own
        if own:
            at = _names(len(own))
            ranges = " * ".join(f"(0 <= {i} < {extent})" for i, extent in zip(at, own, strict=True))
            lines.append(f"{name}:D({', '.join(at)}) := {ranges}")
        leaf = writer.inputs.get(name)
        if leaf is not None and leaf.structure is not None:
            lines += leaf.structure.lines(name, own)
        if name in writer.formats:
            lines.append(f"{name}:F := {writer.formats[name]}")
    sizes = {symbol: writer.sizes[root] for root, symbol in symbols.items()}
    return Written("\n".join(lines) + "\n", writer.inputs, sizes, extents)


def _names(rank: int) -> list[str]:
    return list("ijklmn"[:rank]) if rank <= 6 else [f"i{axis}" for axis in range(rank)]
