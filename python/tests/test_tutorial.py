"""The tutorial runs, block after block, and what it asserts holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "python-tutorial.md"


@pytest.mark.skipif(not TUTORIAL.is_file(), reason="the documents are not there")
def test_the_tutorial_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(TUTORIAL), "exec"), names)
