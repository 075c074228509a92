"""PyTorch's inline extensions, built once by content and loaded without a compiler.

While `capturing` is open, `torch.utils.cpp_extension.load_inline` is replaced: what a call would build is named by
its sources, flags and torch version, lies in a folder of that name, and is imported from there if it exists. So equal
extension names never collide, a second process needs neither ninja nor compiler, and a finished folder can be moved.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

_FINISHED = "finished"
# These change where a build lies or what it prints, not what it is.
_WITHOUT_EFFECT = {"build_directory", "verbose", "keep_intermediates"}


def extension_key(name: str, cpp_sources: Any, options: dict[str, Any]) -> str:
    """The content name of one `load_inline` call: 20 hex digits."""
    relevant = {key: value for key, value in options.items() if key not in _WITHOUT_EFFECT}
    described = json.dumps([name, cpp_sources, relevant, torch.__version__], sort_keys=True, default=str)
    return hashlib.sha256(described.encode()).hexdigest()[:20]


def import_extension(folder: Path) -> Any:
    """Import the extension module that a finished build left in `folder`."""
    (library,) = folder.glob("*.so")
    spec = importlib.util.spec_from_file_location(library.stem, library)
    if spec is None or spec.loader is None:
        raise ImportError(f"{library} is not an extension module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _replacement(root: Path, compile_into: Callable[..., Any]) -> Callable[..., Any]:
    def load_inline(name: str, cpp_sources: Any = "", cuda_sources: Any = None, **options: Any) -> Any:
        if cuda_sources is not None:
            options["cuda_sources"] = cuda_sources
        folder = root / extension_key(name, cpp_sources, options)
        if not (folder / _FINISHED).exists():
            kept = {key: value for key, value in options.items() if key not in _WITHOUT_EFFECT}
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError:  # called late, in a sealed worker, which may read a build but not add to it
                return compile_into(name=name, cpp_sources=cpp_sources, **kept)
            compile_into(name=name, cpp_sources=cpp_sources, build_directory=str(folder), **kept)
            (folder / _FINISHED).touch()
            for left_over in folder.glob("*.o"):
                left_over.unlink()
        if options.get("is_python_module", True):
            return import_extension(folder)
        (library,) = folder.glob("*.so")
        torch.ops.load_library(library)
        return str(library)

    return load_inline


@contextmanager
def capturing(build_dir: Path | None, compile_into: Callable[..., Any] | None = None) -> Iterator[None]:
    """While open, inline extensions are built into and loaded from `build_dir / "extensions"`.

    Args:
        build_dir: a build's folder; None leaves PyTorch's own behaviour.
        compile_into: compiles one extension into its `build_directory`; default PyTorch's `load_inline`.
    """
    if build_dir is None:
        yield
        return
    original = cpp_extension.load_inline
    cpp_extension.load_inline = _replacement(build_dir / "extensions", compile_into or original)
    try:
        yield
    finally:
        cpp_extension.load_inline = original
