"""Runs the array API standard's own tests: `python python/suites/array_api.py FOLDER [PYTEST-ARGUMENT...]`.

`FOLDER` is a checkout of github.com/data-apis/array-api-tests with its submodule; pytest and hypothesis must be
installed. `array_api_skips.txt` beside this file lists the tests that are known to fail, with the reason for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SKIPS = Path(__file__).with_name("array_api_skips.txt")


def main() -> int:
    """Runs pytest in the folder; its exit code."""
    folder = Path(sys.argv[1])
    environment = {**os.environ, "ARRAY_API_TESTS_MODULE": "dastac.array_api", "ARRAY_API_TESTS_VERSION": "2024.12"}
    command = [sys.executable, "-m", "pytest", "-q", "array_api_tests", f"--skips-file={SKIPS.resolve()}"]
    command += sys.argv[2:]
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
