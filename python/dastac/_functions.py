"""NumPy's functions of elements, in the language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._graph import Leaf, Node, is_sparse


@dataclass(frozen=True)
class Form:
    """How a function is written, with a place for each operand."""

    ufunc: Any
    text: str
    #: Whether it is 0 where: `all` operands are, `any` is, or never.
    zero: str = ""
    #: How the language takes it: see `Elementwise.kind`.
    kind: str = "function"
    is_complex: bool = False
    #: Whether integers have it as they do in NumPy.
    is_integer: bool = False
    #: Whether it gives truth values, of operands of one type.
    is_truth: bool = False
    divides: bool = False

    def keeps_zeros(self, operands: Sequence[Node]) -> bool:
        """Whether the result is 0 where sparse operands store nothing."""
        if self.zero == "any":
            return any(is_sparse(one) for one in operands)
        if self.zero == "first":
            return is_sparse(operands[0])
        scalars = any(isinstance(one, Leaf) and not one.shape for one in operands)
        return self.zero == "all" and not scalars


#: Functions of complex numbers too.
_COMPLEX = ("sqrt", "exp", "log", "sin", "cos", "sinh", "cosh")


def _elements(name: str, word: str, zero: str = "all") -> Form:
    return Form(getattr(np, name), f"{word}({{0}})", zero, is_complex=name in _COMPLEX)


_FORMS = [
    Form(np.add, "({0} + {1})", "all", "sum", is_complex=True, is_integer=True),
    Form(np.subtract, "({0} - {1})", "all", "sum", is_complex=True, is_integer=True),
    Form(np.negative, "(-1 * {0})", "all", "product", is_complex=True, is_integer=True),
    Form(np.positive, "{0}", "all", "product", is_complex=True, is_integer=True),
    Form(np.multiply, "{0} * {1}", "any", "product", is_complex=True, is_integer=True),
    Form(np.divide, "{0} / {1}", "first", "product", divides=True),
    Form(np.floor_divide, "({0} // {1})", "first", is_integer=True, divides=True),
    Form(np.remainder, "({0} % {1})", "first", is_integer=True, divides=True),
    Form(np.square, "({0})^2", "all", is_complex=True, is_integer=True),
    Form(np.power, "pow({0}, {1})"),
    Form(np.maximum, "max({0}, {1})", "all", is_integer=True),
    Form(np.minimum, "min({0}, {1})", "all", is_integer=True),
    Form(np.absolute, "abs({0})", "all", is_integer=True),
    Form(np.conjugate, "conj({0})", "all", is_complex=True, is_integer=True),
    Form(np.sign, "sign({0})", "all", is_integer=True),
    Form(np.arctan2, "atan2({0}, {1})"),
    Form(np.hypot, "hypot({0}, {1})", "all"),
    Form(np.rint, "round({0})", "all"),
    *(_elements(name, name) for name in ("sqrt", "cbrt", "sin", "tan", "sinh", "tanh", "expm1", "log1p")),
    *(_elements(name, name) for name in ("floor", "ceil", "trunc")),
    *(_elements(f"arc{name}", f"a{name}") for name in ("sin", "tan")),
    *(_elements(name, name, "") for name in ("exp", "exp2", "log", "log2", "log10", "cos", "cosh")),
    _elements("arccos", "acos", ""),
    Form(np.less, "({0} < {1})", "all", is_integer=True, is_truth=True),
    Form(np.greater, "({0} > {1})", "all", is_integer=True, is_truth=True),
    Form(np.not_equal, "({0} != {1})", "all", is_integer=True, is_truth=True),
    Form(np.less_equal, "({0} <= {1})", is_integer=True, is_truth=True),
    Form(np.greater_equal, "({0} >= {1})", is_integer=True, is_truth=True),
    Form(np.equal, "({0} = {1})", is_integer=True, is_truth=True),
]

#: The forms, by NumPy's functions.
UFUNCS: dict[Any, Form] = {form.ufunc: form for form in _FORMS}

#: Powers by numbers that are written as other functions.
POWERS: dict[complex, Any] = {1: np.positive, 2: np.square, 0.5: np.sqrt}
