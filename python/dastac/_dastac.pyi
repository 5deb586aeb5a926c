from collections.abc import Sequence
from os import PathLike
from typing import Any

class Program:
    text: str
    name_of_text: str
    given_sizes: dict[str, int]
    parallel: bool
    from_cache: bool
    warnings: str
    symbols_of: list[str]
    input_names: list[str]
    output_names: list[str]
    tensor_facts: list[tuple[str, str, str, str | None, str]]
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def sizes_at(self, **sizes: int) -> list[tuple[str, list[int], int, int, int]]: ...

class Block: ...

def configure(
    isl: PathLike[str] | None, openmp: PathLike[str] | None, command: PathLike[str] | None
) -> None: ...
def main(arguments: Sequence[str], command: PathLike[str] | None) -> int: ...
def has_openmp() -> bool: ...
def compile(text: str, name: str, sizes: dict[str, int], parallel: bool) -> Program: ...
def describe(
    text: str, name: str, sizes: dict[str, int], parallel: bool, stage: str
) -> tuple[str, list[int]]: ...
