"""Small pictures of structure."""

from __future__ import annotations

from collections.abc import Sequence

#: What signs of pictures are drawn as: stored, the same as another element, zero.
COLOURS = {"#": "#1f4e79", "=": "#9dc3e6", ".": "#f2f2f2"}


def svg(rows: Sequence[str], cell: int = 10) -> str | None:
    """Rows of signs as a picture: a square for each."""
    if not rows or not rows[0]:
        return None
    squares = "".join(
        f'<rect x="{cell * j}" y="{cell * i}" width="{cell - 1}" height="{cell - 1}" fill="{COLOURS[sign]}"/>'
        for i, row in enumerate(rows)
        for j, sign in enumerate(row)
    )
    width, height = cell * len(rows[0]), cell * len(rows)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{squares}</svg>'
