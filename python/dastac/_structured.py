"""Arrays whose structure is said: what is zero, and what repeats."""

from __future__ import annotations

import operator
import re
from typing import Any

import numpy as np

from . import _structure
from ._array import Array
from ._graph import Leaf
from ._leaves import leaf
from ._run import program_of, run
from ._structure import Structure
from ._values import is_sparse
from .errors import InputError

__all__ = [
    "band",
    "block_diagonal",
    "circulant",
    "diagonal",
    "inspect",
    "lower",
    "simplex",
    "skew_symmetric",
    "structured",
    "symmetric",
    "toeplitz",
    "upper",
]


def _made(value: Any, structure: Structure) -> Array:
    if is_sparse(value):
        value = value.toarray()
    made = leaf(np.asarray(value), structure)
    if len(made.shape) != structure.rank:
        raise InputError(f"{structure.name} arrays have {structure.rank} dimensions, not {len(made.shape)}")
    if structure.equal and len(set(made.shape)) > 1:
        raise InputError(f"{structure.name} arrays have equal extents, not {made.shape}")
    # Packing compares all elements with the structure.
    try:
        run([made], ["dense"], packed=["R"])
    except InputError as error:
        raise _contradicted(made, structure, error) from None
    return Array(made)


def _contradicted(made: Leaf, structure: Structure, error: InputError) -> InputError:
    """What is said of data that is not as its structure says."""
    found = re.search(r"contradicts the declared structure of .*: at \[([\d, ]*)\] (.*)", str(error), re.DOTALL)
    if found is None:
        return error
    at = tuple(map(int, found[1].split(",")))
    value, says = made.value, found[2]
    if made.dtype.kind == "c":
        # The program compares the parts of complex numbers one by one.
        says = f"it is {value[at]}, which the structure rules out"
        if structure is _structure.SYMMETRIC and np.array_equal(value, value.conj().T):
            says = f"it is {value[at]}, but {value[at[::-1]]} on the other side: the matrix is Hermitian"
    return InputError(f"the array contradicts the structure `{structure.name}`: at [{found[1]}] {says}")


def symmetric(value: Any) -> Array:
    """A matrix that equals its transpose; its upper half is stored.

    Raises:
        InputError: a matrix that is not symmetric, with the first element that differs.

    >>> import dastac, numpy as np
    >>> dastac.symmetric(np.array([[1.0, 2.0], [2.0, 5.0]]))
    <dastac.Array 2 x 2, float64, symmetric>
      ##
      =#
    """
    return _made(value, _structure.SYMMETRIC)


def skew_symmetric(value: Any) -> Array:
    """A matrix that is the negative of its transpose."""
    return _made(value, _structure.SKEW)


def lower(value: Any) -> Array:
    """A matrix with zeros above the diagonal."""
    return _made(value, _structure.LOWER)


def upper(value: Any) -> Array:
    """A matrix with zeros below the diagonal."""
    return _made(value, _structure.UPPER)


def diagonal(value: Any) -> Array:
    """A matrix with zeros off the diagonal; a vector is its diagonal."""
    made = np.asarray(value)
    return _made(np.diag(made) if made.ndim == 1 else made, _structure.DIAGONAL)


def band(value: Any, below: int, above: int) -> Array:
    """A matrix with zeros more than `below` elements below, and more than `above` elements above the diagonal."""
    below, above = operator.index(below), operator.index(above)
    if below < 0 or above < 0:
        raise InputError("a band's widths are not negative")
    return _made(value, _structure.band(below, above))


def toeplitz(column: Any, row: Any = None) -> Array:
    """A matrix with equal elements along each diagonal, of its first column and row (by default the column's
    conjugate, as in SciPy)."""
    column = np.asarray(column)
    row = np.conj(column) if row is None else np.asarray(row)
    i, j = np.arange(len(column))[:, None], np.arange(len(row))[None, :]
    value = np.where(j > i, row[np.maximum(j - i, 0)], column[np.maximum(i - j, 0)])
    return _made(value, _structure.TOEPLITZ)


def circulant(column: Any) -> Array:
    """A matrix whose columns are its first one, moved down by one more each."""
    column = np.asarray(column)
    at = np.arange(len(column))
    return _made(column[(at[:, None] - at[None, :]) % max(len(column), 1)], _structure.CIRCULANT)


def block_diagonal(value: Any, size: int) -> Array:
    """A matrix with zeros outside of square blocks of `size` rows on its diagonal."""
    if operator.index(size) < 1:
        raise InputError("blocks have at least one row")
    return _made(value, _structure.blocks(operator.index(size)))


def simplex(value: Any) -> Array:
    """An array that is zero unless its coordinates do not fall: `i <= j <= k`."""
    return _made(value, _structure.simplex(np.asarray(value).ndim))


def structured(value: Any, where: str | None = None, same_as: str | None = None, **sizes: int) -> Array:
    """An array whose structure is said in the language.

    Args:
        value: all elements.
        where: where elements have values of their own: a condition on `i`, `j`, `k`, .. and the extents `N0`, `N1`,
            .., which are known to be equal where those of the array are.
        same_as: the right-hand side of the language's `:R`, with `ip`, `jp`, .. for the element that is repeated.
        **sizes: numbers for other names.

    >>> import dastac, numpy as np
    >>> a = dastac.structured(np.triu(np.tril(np.ones((4, 4)), 1)), where="i <= j <= i + K", K=1)
    >>> print(a)
    <dastac.Array 4 x 4, float64, structured>
      ##..
      .##.
      ..##
      ...#
    """
    shape = np.shape(value)

    def put(text: str | None) -> str | None:
        if text is None:
            return None
        for name, number in sizes.items():
            text = re.sub(rf"\b{re.escape(name)}\b", str(operator.index(number)), text)
        if "\n" in text or ":" in text:
            raise InputError("a condition is one line, without a colon")
        return text

    unique = put(where)
    if unique is not None and not unique.startswith("("):
        unique = f"({unique})"
    is_square = len(shape) > 1 and len(set(shape)) == 1
    return _made(value, Structure("structured", len(shape), unique, put(same_as), equal=is_square))


class Inspection(str):
    """What was found about an expression, as text."""

    def __repr__(self) -> str:
        return str(self)


def inspect(value: Array) -> Inspection:
    """What is found about an expression before it is computed: its program, structures, layouts, and what is saved."""
    if not isinstance(value, Array):
        raise InputError("only arrays of `dastac.array` and expressions over them can be inspected")
    program, text = program_of(value._node)
    saved = [
        f"{name}: {one.packed_bytes} bytes of {one.dense_bytes}"
        for name, one in program.sizes(**text.sizes).items()
        if program.tensors[name].format is None
    ]
    return Inspection("\n".join([text.text, program.structure, program.layouts, *saved]))
