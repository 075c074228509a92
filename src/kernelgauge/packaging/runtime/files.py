"""Files of a package, and modules made of them: only of bytes whose digest is the one that was written down."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


class Changed(ImportError):
    """A file is not the one that was packaged."""


def content(path: Path, digest: str) -> bytes:
    """The bytes of a file. Raises Changed if it is gone or another than it was."""
    try:
        found = path.read_bytes()
    except OSError as error:
        raise Changed(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(found).hexdigest() != digest:
        raise Changed(f"{path} is not the file that was packaged (another SHA-256): install the package again")
    return found


def module_of(path: Path, digest: str, name: str, variables: Mapping[str, str] | None = None) -> ModuleType:
    """A module of exactly the bytes that have this digest; whatever its code raises comes through.

    With a file behind it, because Triton reads a kernel's text back. What PyTorch's extensions build goes to a folder
    of its own, since several kernels may call theirs alike.

    Args:
        variables: environment while it is imported, and so built.
    """
    code = compile(content(path, digest), str(path), "exec")
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    home = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or Path.home() / ".cache" / "torch_extensions")
    builds = home / f"kernelgauge-{digest[:16]}"
    try:
        with _environment({**(variables or {}), "TORCH_EXTENSIONS_DIR": str(builds)}):
            exec(code, vars(module))
    except BaseException:  # as Python's own import does: whatever a kernel's file raises, no half-made module stays
        sys.modules.pop(name, None)
        raise
    return module


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
