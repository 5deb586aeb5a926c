"""The notebooks run, and what they claim holds."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_notebook(name: str) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"))
