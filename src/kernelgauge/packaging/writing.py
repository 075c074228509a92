"""Writes a package into a folder, whole or not at all."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from kernelgauge import __version__
from kernelgauge.errors import UsageError
from kernelgauge.packaging import texts
from kernelgauge.packaging.contents import Contents, File
from kernelgauge.packaging.homes.own_folders import is_foreign
from kernelgauge.packaging.tests_of_package import tests_text
from kernelgauge.store.disk import guarded, make_folder

_KERNELS = "kernelgauge.kernels"
_ENVIRONMENT = "from kernelgauge.hardware.environment import first_line\n"
# What of `hardware` the compiled-at-run-time form of CUDA candidates needs, in its own words: the copy stands alone.
_FIRST_LINE = '''import subprocess


def first_line(*command: str) -> str | None:
    """First line a command prints; None if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else None
'''


def check_free(out: Path, name: str, replace: bool, homes: Sequence[str] = ()) -> None:
    """Raises UsageError if something is in `out` that would be overwritten and is not this package, or is it and is
    not to be replaced; StoreError if the folder cannot be made."""
    make_folder(out)
    module = out / name
    if module.exists() and not _is_package(module):
        raise UsageError(f"{module} is there already and is no package of ours: choose another folder or --name")
    project = f"name = {_quoted(texts.distribution(name))}\n"
    foreign = [place for place in _places(out, name) if place.exists() and not module.exists()]
    if (out / "pyproject.toml").exists() and project not in _text(out / "pyproject.toml"):
        foreign.append(out / "pyproject.toml")
    foreign += [out / home for home in homes if is_foreign(out / home)]
    if foreign:
        raise UsageError(f"{foreign[0]} is there already and is not of the package {name}: choose another folder")
    if module.exists() and not replace:
        raise UsageError(f"{module} is there already: --replace overwrites it, or choose another folder")


def _is_package(module: Path) -> bool:
    """Whether a folder is a module that we wrote. Others have a `package.json` too."""
    try:
        said = json.loads(_text(module / "package.json"))
    except ValueError:
        return False
    return isinstance(said, dict) and {"format", "kernelgauge", "operators"} <= said.keys()


def _places(out: Path, name: str) -> tuple[Path, ...]:
    """What is written beside the module."""
    return out / "pyproject.toml", out / "README.md", out / "tests" / f"test_{name}.py"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _text(path: Path) -> str:
    with guarded(path):
        return path.read_text(errors="replace") if path.is_file() else ""


def stand_alone(source: str, name: str) -> str:
    """A candidate's text that needs nothing of kernelgauge: what it imports of `kernelgauge.kernels` is copied."""
    return source.replace(_KERNELS, f"{name}._kernels")


def needs_more(source: str) -> bool:
    """Whether a text imports more of kernelgauge than can be copied."""
    for node in ast.walk(ast.parse(source)):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            if name.split(".")[0] == "kernelgauge" and name.split(".")[:2] != _KERNELS.split("."):
                return True
    return False


def file_of(path: str, text: str) -> File:
    """A file of a package before it is written."""
    return File(file=path, sha256=hashlib.sha256(text.encode()).hexdigest())


def write_package(out: Path, contents: Contents, files: Mapping[str, str], replace: bool = False) -> Path:
    """Write module, project, README and tests below `out`.

    Args:
        files: texts of candidates and references, by their path below the module's folder.

    Returns:
        The module's folder.

    Raises:
        UsageError: there is something at that place.
        StoreError: the disk refuses.
    """
    check_free(out, contents.name, replace)
    module, staging = out / contents.name, out / f".{contents.name}.{os.getpid()}.part"
    with guarded(out):
        try:
            _fill(staging, contents, files)
            packages = _packages(staging, contents.name)
            if module.exists():
                shutil.rmtree(module)
            staging.rename(module)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        project, readme, tests = _places(out, contents.name)
        tests.parent.mkdir(exist_ok=True)
        project.write_text(texts.project_text(contents, __version__, packages))
        readme.write_text(texts.readme_text(contents))
        tests.write_text(tests_text(contents))
    return module


def remove_package(out: Path, name: str) -> None:
    """The reverse of `write_package`. Raises StoreError."""
    with guarded(out):
        shutil.rmtree(out / name)
        for place in _places(out, name):
            place.unlink(missing_ok=True)


def _fill(folder: Path, contents: Contents, files: Mapping[str, str]) -> None:
    carried = {f"_runtime/{name}": text for name, text in runtime_files().items()}
    if any(f"{contents.name}._kernels" in text for text in files.values()):
        carried |= _kernels(contents.name)
    package = contents.model_dump_json(indent=1, by_alias=True) + "\n"
    for path, text in {**carried, **files, "package.json": package}.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in carried.items()}
    module = texts.module_text(contents, digests, hashlib.sha256(package.encode()).hexdigest())
    (folder / "__init__.py").write_text(module)


def runtime_files() -> dict[str, str]:
    """What every package carries: the files of `packaging/runtime`."""
    folder = resources.files("kernelgauge.packaging").joinpath("runtime")
    return {
        each.name: each.read_text()
        for each in sorted(folder.iterdir(), key=lambda e: e.name)
        if each.name.endswith(".py")
    }


def _kernels(name: str) -> dict[str, str]:
    folder = resources.files("kernelgauge.kernels")
    texts_ = {each.name: each.read_text() for each in folder.iterdir() if each.name.endswith(".py")}
    found = {f"_kernels/{file}": stand_alone(text, name) for file, text in texts_.items()}
    toolkit = found["_kernels/toolkit.py"]
    found["_kernels/toolkit.py"] = toolkit.replace(_ENVIRONMENT, f"from {name}._kernels.commands import first_line\n")
    return found | {"_kernels/commands.py": _FIRST_LINE}


def _packages(folder: Path, name: str) -> list[str]:
    """Every folder with files as a package for the wheel; what lies in `winners` is data to Python, and goes too."""
    found = sorted({path.parent.relative_to(folder) for path in folder.rglob("*.py")})
    return [".".join((name, *path.parts)) for path in found]
