"""What is known of an array's elements: which are zero, and which repeat others."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InputError

#: Names of iterators in structures; those of the elements that are repeated have a `p` behind.
ITERATORS = "ijklmn"


@dataclass(frozen=True)
class Structure:
    """Conditions in the language: `unique` where elements have values of their own, `redundant` where they repeat others.

    Extents are `N0`, `N1`, ..; those of `equal` axes are one.
    """

    name: str
    rank: int
    unique: str | None
    redundant: str | None = None
    equal: bool = True

    def lines(self, tensor: str, extents: Sequence[str]) -> list[str]:
        """The declarations of a tensor with this structure."""
        names = list(ITERATORS[: self.rank])
        made = []
        if self.unique is not None:
            made.append(f"{tensor}:U({', '.join(names)}) := {_renamed(self.unique, extents)}")
        if self.redundant is not None:
            both = ", ".join([*names, *(f"{name}p" for name in names)])
            made.append(f"{tensor}:R({both}) := {_renamed(self.redundant, extents)}")
        return made

    def picture(self, shape: Sequence[int], size: int = 8) -> list[str]:
        """Rows of signs: `#` where elements are stored, `=` where they repeat others, `.` where they are zero."""
        if self.rank != 2:
            return []
        rows, columns = (min(extent, size) for extent in shape)
        extents = {f"N{axis}": (rows, columns)[axis] for axis in range(2)}

        def sign(i: int, j: int) -> str:
            names = {**extents, "i": i, "j": j}
            if self.unique is None or _holds(self.unique, names):
                return "#"
            if self.redundant is not None and any(
                _holds(self.redundant, {**names, "ip": ip, "jp": jp}) for ip in range(rows) for jp in range(columns)
            ):
                return "="
            return "."

        return ["".join(sign(i, j) for j in range(columns)) for i in range(rows)]


def _renamed(text: str, extents: Sequence[str]) -> str:
    return re.sub(r"\bN(\d)\b", lambda found: extents[int(found[1])], text)


_OPERATIONS: dict[type[ast.AST], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


def _holds(text: str, names: dict[str, int]) -> bool:
    """Whether a condition of the language holds at a point."""
    python = re.sub(r"(?<![<>!=])=(?!=)", "==", text)

    def value(node: ast.AST) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return int(_OPERATIONS[type(operation)](value(left), value(right)))
            case ast.Compare(left=left, ops=operations, comparators=others):
                numbers = [value(left), *(value(other) for other in others)]
                pairs = zip(operations, numbers, numbers[1:], strict=False)
                return int(all(_OPERATIONS[type(op)](one, other) for op, one, other in pairs))
        raise InputError(f"`{text}` is no condition that a picture can be drawn of")

    return value(ast.parse(python, mode="eval").body) != 0


SYMMETRIC = Structure("symmetric", 2, "(i <= j)", "(i > j) * (ip = j) * (jp = i)")
SKEW = Structure("skew-symmetric", 2, "(i < j)", "-1 * (i > j) * (ip = j) * (jp = i)")
LOWER = Structure("lower", 2, "(j <= i)", equal=False)
UPPER = Structure("upper", 2, "(i <= j)", equal=False)
DIAGONAL = Structure("diagonal", 2, "(i = j)", equal=False)
TOEPLITZ = Structure(
    "toeplitz",
    2,
    "(i = 0) + (j = 0) * (i > 0)",
    "(1 <= i <= j) * (ip = 0) * (jp = j - i) + (1 <= j < i) * (ip = i - j) * (jp = 0)",
    equal=False,
)
CIRCULANT = Structure(
    "circulant",
    2,
    "(j = 0)",
    "(1 <= j <= i) * (ip = i - j) * (jp = 0) + (i < j) * (ip = i - j + N0) * (jp = 0)",
)


def band(lower: int, upper: int) -> Structure:
    """Elements at most `lower` below and `upper` above the diagonal."""
    return Structure(f"band({lower}, {upper})", 2, f"(i - {lower} <= j <= i + {upper})", equal=False)


def blocks(size: int) -> Structure:
    """Square blocks on the diagonal."""
    return Structure(f"block_diagonal({size})", 2, f"(i / {size} = j / {size})")


def simplex(rank: int) -> Structure:
    """Elements whose coordinates do not fall."""
    return Structure("simplex", rank, f"({' <= '.join(ITERATORS[:rank])})")
