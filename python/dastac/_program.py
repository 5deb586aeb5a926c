"""Programs: text that is compiled once and called with arrays."""

from __future__ import annotations

import errno
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _dastac
from ._values import Results, adopted, writable
from .errors import CompileError, InputError

__all__ = ["Program", "Proof", "Tensor", "compile"]


class Tensor(NamedTuple):
    """What is known of a tensor of a program before sizes are.

    `position` says where an element stands in the packed buffer, or in which format it is stored.
    """

    name: str
    role: str
    dtype: str
    format: str | None
    position: str


class Size(NamedTuple):
    """How large a tensor is at some sizes: elements that are stored, and bytes with and without structure."""

    shape: tuple[int, ...]
    stored: int
    packed_bytes: int
    dense_bytes: int


class Proof(NamedTuple):
    """What is proven of a program's loops, for all sizes."""

    text: str
    proven: int
    undecided: int
    refuted: int

    def __bool__(self) -> bool:
        """Whether every property is proven."""
        return self.undecided == 0 and self.refuted == 0


class Program:
    """A compiled program. Call it with arrays; any number of threads may do so at once.

    >>> import dastac, numpy as np
    >>> total = dastac.compile('''
    ...     symbols: N
    ...     s() := x(i) * y(i)
    ...     x:D(i) := (0 <= i < N)
    ...     y:D(i) := (0 <= i < N)''')
    >>> float(total(x=np.arange(3.0), y=np.ones(3)))
    3.0
    >>> total.inputs
    ('x', 'y')
    """

    __slots__ = ("_code",)

    def __init__(self, code: _dastac.Program) -> None:
        self._code = code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Inputs are passed in the order of `inputs`, or by name: arrays of NumPy, SciPy, PyTorch or PyData sparse, and
        anything else that `numpy.asarray` takes. What has the tensor's type, order and format is read where it stands.
        Sizes follow from the shapes; others are passed by the name of the symbol.

        Args:
            out: an array or a tensor of PyTorch to write the result to, or a dict of them by name.
            packed: names of results to return as packed buffers.
            threads: how many threads parallel loops run on; as many as there are cores by default.

        Returns:
            The result, or a tuple of all results in the order of `outputs`, which has them by name too. A result with
            a format is an array of SciPy, all others are arrays of NumPy.

        Raises:
            InputError: an array of another shape or type than the tensor's; data that contradicts its structure.
            TypeError: an input that is missing, given twice, or none of the program's.
            MemoryError: more memory than there is.
        """
        for one in (*args, *kwargs.values()):
            if isinstance(one, np.ma.MaskedArray):
                adopted(one)
        out = kwargs.get("out")
        if out is None and "packed" not in kwargs and "threads" not in kwargs:
            return self._code(*args, **kwargs)
        if "packed" in kwargs:
            kwargs["packed"] = self._packed(kwargs["packed"])
        if kwargs.get("threads", 1) is None:
            del kwargs["threads"]
        elif "threads" in kwargs:
            _threads(kwargs["threads"])
        if out is None:
            return self._code(*args, **kwargs)
        kwargs["out"] = (
            {name: writable(one, f"`{name}`") for name, one in out.items()}
            if isinstance(out, dict)
            else (writable(out, "`out`"))
        )
        try:
            found = self._code(*args, **kwargs)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise InputError(f"`out` is no array of the result's shape: {error}") from None
        if not isinstance(out, dict):
            return out
        if len(self.outputs) == 1:
            return out.get(self.outputs[0], found)
        return Results(self.outputs, [out.get(name, found[name]) for name in self.outputs])

    def _packed(self, names: Any) -> list[str]:
        if isinstance(names, str) or not all(isinstance(one, str) for one in names):
            raise TypeError(f"`packed` is a list of names of results, not {names!r}")
        for one in names:
            if one not in self.outputs:
                raise InputError(f"the program has no result `{one}`: results are {', '.join(self.outputs)}")
        return list(names)

    @property
    def text(self) -> str:
        """The program's text."""
        return self._code.text

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in the order in which a call takes them."""
        return tuple(self._code.input_names)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results."""
        return tuple(self._code.output_names)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the sizes."""
        return tuple(self._code.symbols_of)

    @property
    def warnings(self) -> str:
        """What the compiler warned of, as text."""
        return self._code.warnings

    @property
    def from_cache(self) -> bool:
        """Whether the code was in the cache on disk, and was not compiled now."""
        return self._code.from_cache

    @property
    def tensors(self) -> dict[str, Tensor]:
        """What is known of each tensor, by name."""
        return {fact[0]: Tensor(*fact) for fact in self._code.tensor_facts}

    def sizes(self, **sizes: int) -> dict[str, Size]:
        """How large each tensor is where the symbols have these values.

        >>> import dastac
        >>> program = dastac.compile('''
        ...     symbols: N
        ...     y(i) := A(i, j) * x(j)
        ...     A:D(i, j) := (0 <= i < N) * (0 <= j < N)
        ...     A:U(i, j) := (i <= j)
        ...     x:D(j) := (0 <= j < N)''')
        >>> program.sizes(N=100)["A"]
        Size(shape=(100, 100), stored=5050, packed_bytes=40400, dense_bytes=80000)
        """
        facts = self._code.sizes_at(**sizes)
        return {name: Size(tuple(shape), *rest) for name, shape, *rest in facts}

    def bytes_saved(self, **sizes: int) -> int:
        """How many bytes structure saves, of all tensors without a format, at these sizes."""
        known = self.tensors
        all_sizes = self.sizes(**sizes).items()
        return sum(one.dense_bytes - one.packed_bytes for name, one in all_sizes if known[name].format is None)

    def _stage(self, stage: str) -> tuple[str, list[int]]:
        code = self._code
        try:
            return _dastac.describe(code.text, code.name_of_text, code.given_sizes, code.parallel, stage)
        except CompileError as error:
            raise error.in_characters(code.text) from None

    @property
    def structure(self) -> str:
        """The structure of every tensor, as it was declared or found, as text of the language."""
        return self._stage("structure")[0]

    @property
    def layouts(self) -> str:
        """Where each element stands in its packed buffer: formulas in the sizes."""
        return self._stage("layouts")[0]

    @property
    def loops(self) -> str:
        """The loops that are compiled."""
        return self._stage("loops")[0]

    def code(self, form: str = "asm") -> str:
        """The code in one of its forms: `asm` (assembly), `llvm`, or `mlir`."""
        return self._stage(form)[0]

    def prove(self) -> Proof:
        """Proves for all sizes that the loops compute what the text says."""
        text, counts = self._stage("proof")
        return Proof(text, *counts)

    def explain(self, **sizes: int) -> str:
        """A page about the program as HTML, which notebooks show: tensors, structure, layouts, loops, and the proof.

        With values of all symbols it has the elements and bytes of each tensor.
        """
        from ._plots import explain

        return explain(self, **sizes)

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(self.inputs), ", ".join(self.outputs)
        return f"<dastac.Program ({inputs}) -> {outputs}>"

    def __reduce__(self) -> Any:
        code = self._code
        return _compiled, (code.text, code.name_of_text, tuple(sorted(code.given_sizes.items())), code.parallel)


def compile(
    program: str | os.PathLike[str], /, *, threads: int | None = None, name: str | None = None, **sizes: int
) -> Program:
    """Compiles a program in STUR.

    Args:
        program: the text, or the path of a file with it. A `str` without a line break and without `:=` is a path.
        threads: 1 for code that runs on one thread; otherwise a call decides, where OpenMP is there.
        name: what messages call the program.
        **sizes: values of symbols. They need not be passed to calls then, and the order in which products of three
            and more tensors are computed is chosen for them.

    Returns:
        A program to call. The same text gives the same program, from memory or from the cache on disk.

    Raises:
        CompileError: the text is no program, or none that can be compiled.
        OSError: the file cannot be read.
    """
    if isinstance(program, str) and ("\n" in program or ":=" in program):
        text, named = program, "<program>"
    else:
        if isinstance(program, str) and not (program and os.path.exists(program)):
            text = f"{program!r} is neither the path of a file nor a program: rules are written with `:=`"
            raise FileNotFoundError(errno.ENOENT, text)
        path = Path(program)
        text, named = path.read_text(encoding="utf-8"), str(path)
    if threads is not None:
        _threads(threads)
    given = []
    for symbol, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise InputError(f"the size `{symbol}` must be an integer, not {value!r}")
        given.append((symbol, int(value)))
    parallel = threads != 1 and (os.cpu_count() or 1) > 1 and _dastac.has_openmp()
    return _compiled(text, name or named, tuple(sorted(given)), parallel)


def _threads(threads: Any) -> None:
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)):
        raise TypeError(f"threads must be an integer, not {threads!r}")
    if threads < 1:
        raise InputError(f"threads must be at least 1, not {threads}")


@lru_cache(maxsize=1024)
def _compiled(text: str, name: str, sizes: tuple[tuple[str, int], ...], parallel: bool) -> Program:
    try:
        made = Program(_dastac.compile(text, name, dict(sizes), parallel))
    except CompileError as error:
        raise error.in_characters(text) from None
    for symbol, value in sizes:
        if symbol not in made.symbols:
            names = ", ".join(made.symbols) or "none"
            raise InputError(f"the program has no symbol `{symbol}`: symbols are {names}")
        if value < 0:
            raise InputError(f"the size `{symbol}` is {value}; sizes are not negative")
    return made
