"""The command line: `python -m dastac run kernel.stur`."""

from __future__ import annotations

import sys

from . import _dastac, _places


def main() -> int:
    """Runs the command that the arguments name, and returns its exit code."""
    return _dastac.main(["dastac", *sys.argv[1:]], _places.command())


if __name__ == "__main__":
    sys.exit(main())
