"""Writes a package into a folder, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from kernelgauge import __version__
from kernelgauge.errors import UsageError
from kernelgauge.packaging import texts
from kernelgauge.packaging.contents import Contents, File
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


def check_free(out: Path, name: str, replace: bool) -> None:
    """Raises UsageError if there is a package of that name already that is not to be replaced, StoreError if the
    folder cannot be made."""
    make_folder(out)
    if (out / name).exists() and not replace:
        raise UsageError(
            f"{out / name} is there already: --replace overwrites it, or choose another folder or --name"
        )
    if (out / name).exists() and not (out / name / "package.json").is_file():
        raise UsageError(f"{out / name} is there already and is no package of ours: choose another folder or --name")


def stand_alone(source: str, name: str) -> str:
    """A candidate's text that needs nothing of kernelgauge: what it imports of `kernelgauge.kernels` is copied."""
    return source.replace(_KERNELS, f"{name}._kernels")


def needs_more(source: str) -> bool:
    """Whether a text uses more of kernelgauge than can be copied."""
    return "kernelgauge" in source.replace(_KERNELS, "") and "import kernelgauge" in source.replace(_KERNELS, "")


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
        (out / "pyproject.toml").write_text(texts.project_text(contents, __version__, packages))
        (out / "README.md").write_text(texts.readme_text(contents))
        (out / "tests").mkdir(exist_ok=True)
        (out / "tests" / f"test_{contents.name}.py").write_text(texts.tests_text(contents))
    return module


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
