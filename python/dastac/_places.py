"""Where the libraries are that compiled code and the compiler load."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path


def isl() -> Path | None:
    """The folder of isl and Barvinok in the package that has them; that package is not imported."""
    found = importlib.util.find_spec("islpy")
    if found is None or found.origin is None:
        return None
    beside = Path(found.origin).parent.parent
    for folder in sorted(beside.glob("islpy*.libs")):
        if any(folder.glob("libisl*")) and any(folder.glob("libbarvinok*")):
            return folder
    return None


def openmp() -> Path | None:
    """OpenMP's library, if this package brings it along."""
    files = sorted((Path(__file__).parent / "lib").glob("libomp*.so*"))
    return files[0] if files else None


def command() -> Path | None:
    """The command `dastac` of this environment, which counts points in processes of its own."""
    file = Path(sysconfig.get_path("scripts")) / "dastac"
    return file if file.is_file() and sys.platform != "win32" else None
