"""Pictures of arrays and pages about programs."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from . import _pictures
from ._array import Array, array
from ._graph import Leaf
from ._program import Program
from ._values import is_sparse
from .errors import InputError

__all__ = ["Page", "Picture", "explain", "spy"]


class Picture:
    """A picture as text and, in a notebook, as SVG.

    `rows` has a sign for a cell: `#` where elements are stored, `=` where they repeat others, `.` where they are zero.
    """

    def __init__(self, rows: list[str], title: str) -> None:
        self.rows = rows
        self.title = title

    @property
    def svg(self) -> str:
        """The picture, as SVG."""
        return _pictures.svg(self.rows, 10 if len(self.rows) <= 16 else 5) or ""

    def _repr_svg_(self) -> str | None:
        return self.svg or None

    def __repr__(self) -> str:
        return "\n".join([self.title, *(f"  {row}" for row in self.rows)])


def spy(value: Any, size: int = 32) -> Picture:
    """Which elements of a matrix are stored: a picture of at most `size` rows and columns.

    An array with structure is drawn by its structure, at a small size; all others by their elements, of which many are
    one cell if there are more than `size`: it is drawn as stored if one of them is stored, or not zero.

    >>> import dastac, numpy as np
    >>> dastac.spy(np.eye(3))
    3 x 3, 3 of 9 not zero
      #..
      .#.
      ..#
    >>> dastac.spy(dastac.symmetric(np.ones((2, 2))))
    2 x 2, symmetric
      ##
      =#
    """
    if size < 1:
        raise InputError("a picture has at least one row")
    made = value if isinstance(value, Array) else array(value)
    if made.ndim != 2:
        raise InputError(f"a picture is of an array of 2 dimensions, not {made.ndim}")
    shape = f"{made.shape[0]} x {made.shape[1]}"
    node = made._node
    if isinstance(node, Leaf) and node.structure is not None:
        return Picture(node.structure.picture(node.shape, min(size, 16)), f"{shape}, {node.structure.name}")
    found = made.compute()
    if is_sparse(found):
        coo = found.tocoo()
        rows, columns = (np.asarray(one) for one in (coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)))
        what = f"{len(rows)} of {made.size} stored"
    else:
        rows, columns = np.nonzero(np.asarray(found))
        what = f"{len(rows)} of {made.size} not zero"
    cells = [min(extent, size) for extent in made.shape]
    grid = np.zeros(cells, dtype=bool)
    if grid.size:
        grid[rows * cells[0] // made.shape[0], columns * cells[1] // made.shape[1]] = True
    return Picture(["".join("#" if cell else "." for cell in row) for row in grid], f"{shape}, {what}")


class Page(str):
    """A page about a program, as HTML; notebooks show it."""

    def _repr_html_(self) -> str:
        return str(self)


_STYLE = "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:2px 8px;text-align:left}pre{margin:4px 0}"


def explain(program: Program, **sizes: int) -> Page:
    """A page about a program: its text, every tensor with its structure, size and layout, the loops, and the proof.

    Args:
        program: what to explain.
        **sizes: values of all symbols; with them the page has elements and bytes of each tensor.
    """
    measured = program.sizes(**sizes) if sizes or not program.symbols else {}
    head = ["tensor", "role", "elements", "format", "position of an element"]
    if measured:
        head += ["shape", "stored elements", "bytes", "bytes without structure"]
    rows = []
    for name, tensor in program.tensors.items():
        row = [name, tensor.role, tensor.dtype, tensor.format or "", tensor.position]
        if name in measured:
            one = measured[name]
            row += [" x ".join(map(str, one.shape)) or "scalar", *map(str, one[1:])]
        rows.append(row)
    proof = program.prove()
    counts = f"{proof.proven} properties proven, {proof.undecided} undecided, {proof.refuted} refuted"
    parts = [
        f"<style>{_STYLE}</style>",
        f"<h3>{html.escape(repr(program).strip('<>'))}</h3>",
        _pre(program.text),
        _table(head, rows),
        _section("Structure, declared and found", program.structure),
        _section("Layouts", program.layouts),
        _section("Loops", program.loops),
        _section(f"Proof: {counts}", proof.text),
    ]
    return Page('<div class="dastac">' + "".join(parts) + "</div>")


def _pre(text: str) -> str:
    return f"<pre>{html.escape(text.strip())}</pre>"


def _section(title: str, text: str) -> str:
    return f"<details open><summary>{html.escape(title)}</summary>{_pre(text)}</details>"


def _table(head: list[str], rows: list[list[str]]) -> str:
    line = "".join(f"<th>{html.escape(one)}</th>" for one in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(one)}</td>" for one in row) + "</tr>" for row in rows)
    return f"<table><tr>{line}</tr>{body}</table>"
