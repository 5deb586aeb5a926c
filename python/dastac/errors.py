"""Exceptions of this package. All of them are a `DastacError`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["AxisError", "CompileError", "DastacError", "Defect", "Diagnostic", "InputError", "Label"]


class Label(NamedTuple):
    """A place in a program's text: characters `start` to `end` (exclusive), and what is there."""

    start: int
    end: int
    text: str


class Diagnostic(NamedTuple):
    """One thing that is wrong with a program, or a warning.

    `labels[0]` is the place that it is about; `code` is listed in the language's reference, such as ``E0301``.
    """

    is_error: bool
    code: str
    message: str
    labels: tuple[Label, ...]
    hint: str | None


class DastacError(Exception):
    """What this package raises."""


class InputError(DastacError, ValueError):
    """Arrays, sizes or options that do not fit a program; or data that is not what its structure says."""


class AxisError(InputError, np.exceptions.AxisError):
    """An axis that an array does not have; also NumPy's `AxisError`, which is an `IndexError`."""


class Defect(DastacError, RuntimeError):
    """A defect of dastac: please report it."""


class CompileError(DastacError, ValueError):
    """A program that cannot be compiled. Its text shows the places; `diagnostics` has them as values.

    >>> import dastac
    >>> try:
    ...     dastac.compile("A(i) := B(i)")
    ... except dastac.CompileError as error:
    ...     print(error.diagnostics[0].code, error.span)
    E0303 (8, 12)
    """

    diagnostics: tuple[Diagnostic, ...]
    rendered: str

    def __init__(
        self,
        rendered: str,
        diagnostics: list[tuple[bool, str, str, list[tuple[int, int, str]], str | None]] | None = None,
    ) -> None:
        super().__init__(rendered)
        self.rendered = rendered
        self.diagnostics = tuple(
            Diagnostic(is_error, code, message, tuple(Label(*label) for label in labels), hint)
            for is_error, code, message, labels, hint in diagnostics or []
        )

    @property
    def span(self) -> tuple[int, int] | None:
        """The characters of the text that the first error is about."""
        for diagnostic in self.diagnostics:
            if diagnostic.is_error and diagnostic.labels:
                return diagnostic.labels[0].start, diagnostic.labels[0].end
        return None

    def in_characters(self, text: str) -> CompileError:
        """The same about a text of which it knows the places in bytes of UTF-8."""
        if not text.isascii():
            whole = text.encode()

            def at(byte: int) -> int:
                return len(whole[:byte].decode(errors="ignore"))

            self.diagnostics = tuple(
                one._replace(labels=tuple(Label(at(start), at(end), said) for start, end, said in one.labels))
                for one in self.diagnostics
            )
        return self
