"""Expressions as programs: one text for all sizes, so that it is compiled once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from . import _graph
from ._graph import DType, Elementwise, Leaf, Node, Product, Reduction, operands_of
from ._leaves import resolved
from ._types import element_of
from .errors import InputError

#: What one rule holds at most: sparse tensors that are read, operations, and operations within others.
SPARSE, OPERATIONS, DEPTH = 4, 32, 12


class Weight(NamedTuple):
    """How much a function of elements adds to the rule that it is written in."""

    sparse: int
    operations: int
    depth: int


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
    #: The addresses of nodes with tensors of their own: those that are read several times, and parts of long rules.
    own: set[int] = field(default_factory=set)
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
            right = self.rule(node, iterators, dims)
            name = f"R{len(self.rules)}"
            self.rules.append(f"{name}({', '.join(iterators)}) := {right}")
            self.dims[name] = dims
            if _graph.is_sparse(node) and len(dims) >= 2:
                self.formats[name] = "csr" if len(dims) == 2 else "csf"
        self.types[name] = node.dtype
        self.made[id(given)] = name
        self.kept.append(node)
        return name

    def seen(self, node: Node, iterators: list[str], dims: list[int]) -> tuple[Node, list[str], list[int]]:
        """What a view is one of, with the iterators and dimensions of that."""
        while isinstance(node, Product) and _graph.is_view(node) and id(node) not in self.made:
            inner, labels = node.operands[0]
            places = [node.head.index(label) for label in labels]
            node, iterators, dims = inner, [iterators[at] for at in places], [dims[at] for at in places]
        return node, iterators, dims

    def access(self, node: Node, iterators: list[str], dims: list[int]) -> str:
        """An element of the tensor that a node is; extents of 1 are repeated."""
        node, iterators, dims = self.seen(node, iterators, dims)
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

    def rule(self, node: Node, iterators: list[str], dims: list[int], name: str = "") -> str:
        """The right-hand side of the rule for a tensor that a node is."""
        node, iterators, dims = self.seen(node, iterators, dims)
        if self.made.get(id(node), name) != name or isinstance(resolved(node), Leaf):
            return self.access(node, iterators, dims)
        if isinstance(node, Product):
            return self.product(node, iterators, dims)
        if isinstance(node, Reduction):
            return self.reduction(node, iterators, dims)
        return self.elements(node, iterators, dims, "sum") if isinstance(node, Elementwise) else ""

    def is_inline(self, node: Node, dtype: DType) -> bool:
        """Whether a node needs no tensor of its own: functions are computed in the type of their rule."""
        known = id(node) in self.own or id(node) in self.made
        return isinstance(node, Elementwise | Product) and not known and node._computed is None and node.dtype == dtype

    def has_products(self, node: Elementwise) -> bool:
        """Whether sums over products are among the summands of a sum."""
        if node.kind != "sum":
            return False
        summands = [_graph.viewed(one) for one in node.operands if one.shape == node.shape]
        inline = [one for one in summands if self.is_inline(one, node.dtype)]
        return any(
            [isinstance(one, Product) or (isinstance(one, Elementwise) and self.has_products(one)) for one in inline]
        )

    def operand(self, node: Node, outer: Elementwise, iterators: list[str], dims: list[int], place: str) -> str:
        """An operand of a function of elements."""
        missing = len(iterators) - len(node.shape)
        node, at, of = self.seen(node, iterators[missing:], dims[missing:])
        same = node.shape == tuple([self.sizes[dim] for dim in of])
        if same and self.is_inline(node, outer.dtype):
            if isinstance(node, Elementwise):
                return self.elements(node, at, of, place)
            if place == "sum" and isinstance(node, Product):
                return self.product(node, at, of)
        return self.access(node, at, of)

    def elements(self, node: Elementwise, iterators: list[str], dims: list[int], place: str) -> str:
        """A function of elements, where a `sum` may stand, as a `factor`, or as the `value` of an argument.

        The language multiplies products of sums out and adds sums up in its own order, but not in arguments: there all
        is computed as it is written.
        """

        def written(places: Sequence[str]) -> str:
            pairs = zip(node.operands, places, strict=True)
            texts = [self.operand(one, node, iterators, dims, place) for one, place in pairs]
            if node.kind == "product" and _is_operation(_graph.viewed(node.operands[-1])):
                # A quotient by a quotient would be a product.
                texts[-1] = f"where(1, {texts[-1]}, 0)" if "/" in node.form else f"({texts[-1]})"
            return node.form.format(*texts)

        if node.kind == "function" or place == "value":
            return written(["value"] * len(node.operands))
        # A sum of sums over products stays one; what is subtracted is a sum of its own.
        last = _graph.viewed(node.operands[-1])
        sums = ["sum", "factor" if isinstance(last, Elementwise) and last.kind == "sum" else "sum"]
        if place == "sum" and self.has_products(node):
            return written(sums)
        if _graph.is_plain(node):
            text = written(["value"] * len(node.operands))
            read = [_graph.viewed(one) for one in node.operands]
            # What is subtracted from itself is not a number where it is infinite, but nothing in the language.
            is_one = not any([_is_operation(one) for one in read]) and len(set(map(id, read))) == len(read)
            return text if is_one and (place == "sum" or node.kind == "product") else f"where(1, {text}, 0)"
        if node.kind == "product":
            return written(["factor"] * len(node.operands))
        return written(sums) if place == "sum" else self.access(node, iterators, dims)

    def product(self, node: Product, iterators: list[str], dims: list[int]) -> str:
        named = dict(zip(node.head, iterators, strict=True))
        sizes = dict(zip(node.head, dims, strict=True))
        factors = []
        for operand, labels in node.operands:
            for label, size in zip(labels, operand.shape, strict=True):
                if label not in named:
                    named[label], sizes[label] = self.iterator(), self.dim(size)
            at, of = [named[label] for label in labels], [sizes[label] for label in labels]
            factors.append((operand, at, of))
        if len(factors) == 1:
            return self.factor(*factors[0], node.dtype)
        return " * ".join([self.access(*factor) for factor in factors])

    def factor(self, node: Node, iterators: list[str], dims: list[int], dtype: DType) -> str:
        """What a reduction reads once: functions of elements need no tensor of their own."""
        node, at, of = self.seen(node, iterators, dims)
        if isinstance(node, Elementwise) and self.is_inline(node, dtype) and len(set(at)) == len(at):
            if _graph.is_plain(node) or (node.kind == "product" and _graph.is_sparse(node)):
                return self.elements(node, at, of, "factor")
        return self.access(node, at, of)

    def reduction(self, node: Reduction, iterators: list[str], dims: list[int]) -> str:
        inner, of = [], []
        rest = iter(zip(iterators, dims, strict=True))
        reduced = []
        for axis, size in enumerate(node.operand.shape):
            if axis in node.axes:
                iterator, dim = self.iterator(), self.dim(size)
                reduced.append(iterator)
            else:
                iterator, dim = next(rest)
            inner.append(iterator)
            of.append(dim)
        # New dimensions of extent 1 are not gone along.
        known = self.seen(node.operand, inner, of)[1]
        reduced = [iterator for iterator in reduced if iterator in known]
        plain = _graph.is_plain(node.operand)
        right = self.factor(node.operand, inner, of, node.dtype) if plain else self.access(node.operand, inner, of)
        return f"{node.word}({', '.join(reduced)}) {right}" if reduced else right


def _is_operation(node: Node) -> bool:
    return isinstance(node, Elementwise) and node._computed is None


def own_tensors(nodes: Sequence[Node]) -> set[int]:
    """The addresses of nodes that get tensors of their own: those that are read several times, and parts of functions
    that would be too long for one rule."""
    order = _graph.pending(nodes)
    uses = Counter(id(_graph.viewed(one)) for node in order if not _graph.is_view(node) for one in operands_of(node))
    own = {id(node) for node in order if uses[id(node)] > 1}
    weights: dict[int, Weight] = {}
    for node in order:
        if not isinstance(node, Elementwise):
            continue
        parts: dict[int, Weight] = {}
        for one in map(_graph.viewed, node.operands):
            is_part = id(one) in weights and id(one) not in own and one.dtype == node.dtype
            parts[id(one)] = weights[id(one)] if is_part else Weight(int(_graph.is_sparse(one)), 0, 0)
        while True:
            made = Weight(
                sum(p.sparse for p in parts.values()),
                1 + sum(p.operations for p in parts.values()),
                1 + max(p.depth for p in parts.values()),
            )
            if made.sparse <= SPARSE and made.operations <= OPERATIONS and made.depth <= DEPTH:
                break
            largest = max(parts, key=lambda at: parts[at])
            if parts[largest].operations == 0:
                break
            own.add(largest)
            parts[largest] = Weight(int(parts[largest].sparse > 0), 0, 0)
        weights[id(node)] = made
    return own


def written_all(nodes: Sequence[Node], formats: Sequence[str | None]) -> Written:
    """The program that computes several nodes: `R`, `Q1`, `Q2`, .., in order, stored in formats of the language if they
    are given, else as they come. What they have in common is computed once."""
    writer = _Writer(own=own_tensors(nodes))
    outputs = ["R", *(f"Q{at}" for at in range(1, len(nodes)))]
    heads: set[int] = set()
    for name, node, format in zip(outputs, nodes, formats, strict=True):
        dims = [writer.dim(size) for size in node.shape]
        writer.dims[name] = dims
        writer.types[name] = node.dtype
        heads.update(dims)
        if format is None and _graph.is_sparse(node) and len(dims) >= 2:
            format = "csr" if len(dims) == 2 else "csf"
        if format is not None and format != "dense":
            writer.formats[name] = format
    # Results that others are computed from are read by these.
    for name, node in zip(outputs, nodes, strict=True):
        if not isinstance(resolved(node), Leaf) and not _graph.is_view(node):
            writer.made.setdefault(id(node), name)
    for name, node in zip(outputs, nodes, strict=True):
        dims = writer.dims[name]
        iterators = [writer.iterator() for _ in dims]
        right = writer.rule(node, iterators, dims, name)
        writer.rules.append(f"{name}({', '.join(iterators)}) := {right}")
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
