"""Packs a wheel of the package and a module that is compiled already, as tests need it.

Wheels to be published are built by maturin: `./x wheel`.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
TAG = "cp311-abi3-linux_x86_64"


def metadata(project: dict[str, object]) -> str:
    """The package's description, as installers read it."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines.append(f"Requires-Python: {project['requires-python']}")
    dependencies = project["dependencies"]
    assert isinstance(dependencies, list)
    lines += [f"Requires-Dist: {dependency}" for dependency in dependencies]
    return "\n".join(lines) + "\n"


def contents(module: Path) -> list[tuple[str, bytes]]:
    """All files of the wheel but the list of them."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    files = [
        (str(path.relative_to(HERE)), path.read_bytes())
        for path in sorted((HERE / "dastac").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.name != "_dastac.abi3.so"
    ]
    files.append(("dastac/_dastac.abi3.so", module.read_bytes()))
    info = f"dastac-{project['version']}.dist-info"
    scripts = "".join(f"{name} = {target}\n" for name, target in project["scripts"].items())
    files.append((f"{info}/METADATA", metadata(project).encode()))
    files.append((f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()))
    files.append((f"{info}/entry_points.txt", f"[console_scripts]\n{scripts}".encode()))
    return files


def pack(module: Path, folder: Path) -> Path:
    """Writes the wheel, and returns its file."""
    files = contents(module)
    info = next(name for name, _ in files if name.endswith("/METADATA")).removesuffix("/METADATA")
    record = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record.append(f"{name},sha256={digest},{len(data)}\n")
    files.append((f"{info}/RECORD", "".join([*record, f"{info}/RECORD,,\n"]).encode()))
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{info.removesuffix('.dist-info')}-{TAG}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return wheel


if __name__ == "__main__":
    print(pack(Path(sys.argv[1]), Path(sys.argv[2])))
