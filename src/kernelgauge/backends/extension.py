"""PyTorch's inline extensions, built once by content and loaded without a compiler.

While `capturing` is open, `load_inline` and `load` of `torch.utils.cpp_extension` are replaced: what a call would
build is named by its sources, flags and torch version, lies in a folder of that name, and is imported from there if
it exists. So equal extension names never collide, a second process needs neither ninja nor compiler, and a finished
folder can be moved.

Where KERNELGAUGE_SLIM names a folder of slim headers, extensions are built with those or not at all: `OtherRoute`
tells the evaluator to start again with the full ones, unless these would be refused for the same reason.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils import cpp_extension

from kernelgauge.backends.slim.inclusion import slimmed
from kernelgauge.backends.slim.refusal import is_own_fault
from kernelgauge.kernels.building import NOTE

SLIM_VARIABLE = "KERNELGAUGE_SLIM"
"""Environment variable that names the folder of slim headers."""
_FINISHED = "finished"
# These change where a build lies or what it prints, not what it is.
_WITHOUT_EFFECT = {"build_directory", "verbose", "keep_intermediates"}

_OWN_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_INLINE = inspect.signature(cpp_extension.load_inline)
_FILES = inspect.signature(cpp_extension.load)

Compile = Callable[..., Any]


class OtherRoute(BaseException):
    """Why this route builds no extension. No `Exception`, lest a candidate take it for a failure of its own."""


class CompiledOnly(Exception):
    """Everything compiled, but this PyTorch has no CUDA to link against: what needs the extension cannot go on."""


def extension_key(name: str, sources: Any, options: dict[str, Any]) -> str:
    """The content name of one extension: 20 hex digits."""
    relevant = {key: value for key, value in options.items() if key not in _WITHOUT_EFFECT}
    described = json.dumps([name, sources, relevant, torch.__version__], sort_keys=True, default=str)
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


def _texts(paths: list[Path], folders: list[Path]) -> list[tuple[str, str]]:
    """Names and texts of sources, and of the files of their own that they include from beside them or `folders`."""
    found: dict[Path, str] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found[path] = path.read_text(errors="replace")
            names = _OWN_INCLUDE.findall(found[path])
            waiting += [folder / name for name in names for folder in (path.parent, *folders)]
    return sorted((path.name, text) for path, text in found.items())


class _Unlinked:
    """Stands for an extension that was compiled and not linked, until something of it is asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        raise CompiledOnly(f"extension {self._name} was compiled and not linked")


class _Captured:
    """What stands in for `load_inline` and `load` while a build or a load goes on."""

    def __init__(self, root: Path, inline: Compile, files: Compile):
        self._root = root
        self._inline = inline
        self._files = files
        slim = os.environ.get(SLIM_VARIABLE)
        self._slim = Path(slim) if slim else None
        self.gave_up: list[OtherRoute] = []
        self.slim = 0
        """Extensions begun with slim headers."""
        self.own_fault = False
        """Whether one was refused as it would be with any headers."""

    def load_inline(self, *positional: Any, **keywords: Any) -> Any:
        call = dict(_INLINE.bind(*positional, **keywords).arguments)
        options = {option: value for option, value in call.items() if option not in ("name", "cpp_sources")}
        return self._loaded(extension_key(call["name"], call["cpp_sources"], options), self._inline, call)

    def load(self, *positional: Any, **keywords: Any) -> Any:
        call = dict(_FILES.bind(*positional, **keywords).arguments)
        sources = call["sources"]
        paths = [Path(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
        if call.get("is_standalone") or not all(path.is_file() for path in paths):
            return self._files(**call)
        folders = [Path(folder) for folder in call.get("extra_include_paths") or ()]
        options = {option: value for option, value in call.items() if option not in ("name", "sources")}
        call["sources"] = [str(path) for path in paths]
        return self._loaded(extension_key(call["name"], _texts(paths, folders), options), self._files, call)

    def _loaded(self, key: str, compile_into: Compile, call: dict[str, Any]) -> Any:
        folder = self._root / key
        call = {option: value for option, value in call.items() if option not in _WITHOUT_EFFECT}
        if not (folder / _FINISHED).exists():
            try:
                shutil.rmtree(folder, ignore_errors=True)  # a call that failed, and is made again
                folder.mkdir(parents=True)
            except OSError:  # called late, in a sealed worker, which may read a build but not add to it
                return compile_into(**call)
        try:
            return self._built(folder, compile_into, call)
        except Exception as error:
            if self._slim is None:
                raise
            if is_own_fault(str(error)):
                self.own_fault = True
                raise RuntimeError(self._in_words_of_full_build(str(error), folder)) from None
            self.gave_up.append(OtherRoute(f"extension {call['name']}: {error}"))
            raise self.gave_up[-1] from error

    def _in_words_of_full_build(self, said: str, folder: Path) -> str:
        for place in (folder / "slim", f"{self._slim}/include"):
            said = said.replace(f" -I{place}", "")
        return said

    def _built(self, folder: Path, compile_into: Compile, call: dict[str, Any]) -> Any:
        """The extension of a call, compiled into the folder unless it is there."""
        if not (folder / _FINISHED).exists():
            try:
                self._compile(folder, compile_into, call)
            except CompiledOnly:
                return _Unlinked(call["name"])
            (folder / _FINISHED).touch()
            for left_over in folder.glob("*.o"):
                left_over.unlink()
        if call.get("is_python_module", True):
            return import_extension(folder)
        (library,) = folder.glob("*.so")
        torch.ops.load_library(library)
        return str(library)

    def _compile(self, folder: Path, compile_into: Compile, call: dict[str, Any]) -> None:
        started = time.monotonic()
        try:
            if self._slim is not None:
                call = slimmed(call, self._slim, folder)
                self.slim += 1
            compile_into(build_directory=str(folder), **call)
        finally:
            route = "full" if self._slim is None else "slim"
            note = {"name": str(call["name"]), "route": route, "seconds": round(time.monotonic() - started, 2)}
            (folder / NOTE).write_text(json.dumps(note))


@contextmanager
def capturing(build_dir: Path | None, inline: Compile | None = None, files: Compile | None = None) -> Iterator[None]:
    """While open, extensions are built into and loaded from `build_dir / "extensions"`.

    Args:
        build_dir: a build's folder; None leaves PyTorch's own behaviour.
        inline: compiles one extension into its `build_directory`; default PyTorch's `load_inline`.
        files: the same for `load`.

    Raises:
        OtherRoute: slim headers do not serve, also where the candidate caught that and went on; or something went
            wrong after an extension was built with them.
    """
    if build_dir is None:
        yield
        return
    originals = cpp_extension.load_inline, cpp_extension.load
    captured = _Captured(build_dir / "extensions", inline or originals[0], files or originals[1])
    cpp_extension.load_inline, cpp_extension.load = captured.load_inline, captured.load
    try:
        yield
    except BaseException as error:
        if captured.slim and not captured.own_fault and not isinstance(error, CompiledOnly):
            captured.gave_up.append(OtherRoute(f"after slim builds: {error}"))
        if not captured.gave_up:
            raise
    finally:
        cpp_extension.load_inline, cpp_extension.load = originals
    if captured.gave_up:
        raise captured.gave_up[0]
