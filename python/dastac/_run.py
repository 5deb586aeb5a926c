"""Expressions computed: each is written and compiled once for all arrays of its types, formats and structures."""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Any, NamedTuple

from . import _graph, _stored
from ._graph import Elementwise, Leaf, Node, Product
from ._leaves import resolved
from ._program import Program, compile
from ._values import Packed, as_origin, read_only
from ._write import Written, written_all
from .errors import InputError

__all__ = ["compute", "origin", "program_of", "run"]


class Plan(NamedTuple):
    """A compiled program with what it is called with."""

    program: Program
    #: For each input the place of its array among the leaves of the expression.
    inputs: tuple[tuple[str, int], ...]
    #: For each size a leaf and a dimension of that extent; those without a leaf are 1, as the plan's key says.
    sizes: tuple[tuple[str, int | None, int], ...]


#: Plans by what an expression is but for the values of its arrays.
_PLANS: OrderedDict[Hashable, Plan] = OrderedDict()
_LOCK = Lock()
_KEPT = 1024
#: How many nodes one program computes at most.
LARGEST = 64


def described(nodes: Sequence[Node], formats: Sequence[str | None]) -> tuple[Hashable, list[Leaf]]:
    """What decides about the program of some nodes, and the arrays that they are computed from, in order.

    Extents do not, but which of them are 1: those are repeated.
    """
    places: dict[int, int] = {}
    leaves: list[Leaf] = []
    described: list[Hashable] = []

    def place(given: Node) -> int:
        known = places.get(id(given))
        if known is not None:
            return known
        node = resolved(given)
        shape = node.shape
        # Of most arrays how many dimensions they have says it.
        ones: Hashable = tuple([extent == 1 for extent in shape]) if 1 in shape else len(shape)
        made: Hashable
        if isinstance(node, Leaf):
            leaves.append(node)
            made = ("leaf", ones, node.dtype, node.format, node.structure)
        elif isinstance(node, Product):
            factors = tuple([(place(operand), labels) for operand, labels in node.operands])
            made = ("product", ones, node.dtype, factors, node.head)
        elif isinstance(node, Elementwise):
            operands = tuple([place(operand) for operand in node.operands])
            flags = (node.keeps_zeros, node.kind)
            made = ("elements", ones, node.dtype, operands, node.form, flags)
        else:
            made = ("reduction", ones, node.dtype, place(node.operand), node.word, node.axes)
        described.append(made)
        at = places[id(given)] = len(places)
        return at

    order = tuple([place(node) for node in nodes])
    return (tuple(described), order, tuple(formats)), leaves


def _cut(nodes: Sequence[Node]) -> list[Node]:
    """The nodes to compute before, each after those that it is computed from, so that no program is too large."""
    order = _graph.pending(nodes)
    if len(order) <= LARGEST:
        return []
    cuts: list[Node] = []
    weights: dict[int, int] = {}
    for node in order[:-1]:
        # Nodes that are used several times are counted several times, and then counted again.
        weight = 1 + sum([weights.get(id(one), 0) for one in _graph.operands_of(node)])
        if weight > LARGEST // 2:
            weight = _size(node, weights, weight)
        if weight > LARGEST // 2 and not _graph.is_view(node):
            cuts.append(node)
            weight = 0
        weights[id(node)] = weight
    return cuts


def _size(node: Node, weights: dict[int, int], most: int) -> int:
    """How many nodes are computed with a node."""
    seen: set[int] = set()
    waiting = [node]
    while waiting and len(seen) < most:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            waiting.extend([inner for inner in _graph.operands_of(one) if weights.get(id(inner), 0)])
    return len(seen)


def program_of(node: Node, format: str | None = None) -> tuple[Program, Written]:
    """The program that computes a node, compiled."""
    made = written_all([node], [format])
    return compile(made.text, name="<expression>"), made


def run(
    nodes: Sequence[Node],
    formats: Sequence[str | None],
    *,
    name: str = "<expression>",
    out: Any = None,
    packed: Sequence[str] = (),
) -> Any:
    """Computes nodes by one program; one result, or a tuple of several. Parts of large ones are computed before."""
    cuts = _cut(nodes)
    try:
        for node in cuts:
            compute(node)
        return _run(nodes, formats, name, out, packed)
    finally:
        for node in cuts:
            _graph.forget(node)


def _run(nodes: Sequence[Node], formats: Sequence[str | None], name: str, out: Any, packed: Sequence[str]) -> Any:
    key, leaves = described(nodes, formats)
    plan = _PLANS.get(key)
    options: dict[str, Any] = {} if out is None else {"out": out}
    if packed:
        options["packed"] = list(packed)
    if plan is None:
        made = written_all(nodes, formats)
        program = compile(made.text, name=name)
        _keep(key, program, made, leaves)
        arrays = {name: leaf.value for name, leaf in made.leaves.items()}
        try:
            return program._code(**arrays, **made.sizes, **options)
        except InputError as error:
            places = {id(leaf): at for at, leaf in enumerate(leaves)}
            raise _named(error, {name: places.get(id(leaf), 0) for name, leaf in made.leaves.items()}) from None
    for input, at in plan.inputs:
        options[input] = leaves[at].value
    for symbol, of, axis in plan.sizes:
        options[symbol] = 1 if of is None else leaves[of].shape[axis]
    try:
        return plan.program._code(**options)
    except InputError as error:
        raise _named(error, dict(plan.inputs)) from None


def _named(error: InputError, places: dict[str, int]) -> InputError:
    """The same error with operands in the place of names that no one gave."""

    def operand(found: re.Match[str]) -> str:
        return f"operand {places[found[1]]}" if found[1] in places else "the result" if found[1] == "R" else found[0]

    return InputError(re.sub(r"`(\w+)`", operand, str(error)))


def _keep(key: Hashable, program: Program, made: Written, leaves: Sequence[Leaf]) -> None:
    """Keeps a plan, if all sizes are extents of arrays."""
    at = {id(leaf): place for place, leaf in enumerate(leaves)}
    if any(id(leaf) not in at for leaf in made.leaves.values()):
        return
    sizes: dict[str, tuple[int, int]] = {}
    for name, leaf in made.leaves.items():
        for axis, extent in enumerate(made.extents[name]):
            sizes.setdefault(extent, (at[id(leaf)], axis))
    if any(extent != 1 and symbol not in sizes for symbol, extent in made.sizes.items()):
        return
    inputs = tuple((name, at[id(leaf)]) for name, leaf in made.leaves.items())
    plan = Plan(program, inputs, tuple((symbol, *sizes.get(symbol, (None, 0))) for symbol in made.sizes))
    with _LOCK:
        _PLANS[key] = plan
        if len(_PLANS) > _KEPT:
            _PLANS.popitem(last=False)


def plan_of(node: Node) -> tuple[Any, list[Any], dict[str, int]] | None:
    """The program that computed a node, with the arrays that it is called with in order, and its sizes; for arrays of
    the same shapes and types it is the same."""
    value = node._computed
    _graph.forget(node)
    try:
        key, leaves = described([node], [None])
    finally:
        _graph.remember(node, value)
    plan = _PLANS.get(key)
    if plan is None or plan.program.inputs != tuple(name for name, _ in plan.inputs):
        return None
    sizes = {symbol: 1 if of is None else leaves[of].shape[axis] for symbol, of, axis in plan.sizes if of is None}
    return plan.program._code, [leaves[at].value for _, at in plan.inputs], sizes


def compute(node: Node) -> Any:
    """The values of a node, as an array of NumPy or SciPy; computed once, and read-only, since they are kept."""
    if node._computed is not None:
        return node._computed
    if isinstance(node, Leaf) and not isinstance(node.value, Packed):
        # Elements of structured arrays were compared with the structure when it was said.
        value = node.value
        return value.reshape(node.shape) if not node.shape and node.format is None else value
    return _graph.remember(node, read_only(as_format(node, None)))


def as_format(node: Node, format: str | None) -> Any:
    """The values of a node, stored in a format of the language or as they come."""
    found = _stored.found(node, format)
    return run([node], [format]) if found is None else found


def origin(nodes: Sequence[Node]) -> str | None:
    """The package that results of nodes belong to."""
    if "torch" not in sys.modules and "sparse" not in sys.modules:
        return None
    found = {leaf.origin for node in nodes for leaf in _graph.leaves_of(node)}
    return "torch" if "torch" in found else "sparse" if "sparse" in found else None


def returned(node: Node, value: Any) -> Any:
    """A result as an array of the package that the operands are from."""
    return as_origin(value, origin([node]))
