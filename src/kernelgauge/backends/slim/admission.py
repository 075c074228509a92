"""Would these sources be the same program with slim headers? Asked before they are compiled.

A slim translation unit declares a part of what the full one declares. If it compiles, it can differ from the full one
only where something left out would have taken part: a macro of that name, a better overload, a name in `torch` that
hides one in `at`. (Famous: without `at::var(Tensor, int dim)` a call of `at::var(x, 1)` means `unbiased = true`.) So
sources in which such a name could play that part are built with the full headers, and so is whatever hides its names
from a reader: token pasting, computed includes, namespaces that are opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelgauge.backends import toolchain
from kernelgauge.kernels.toolkit import cuda_home

# Headers that nothing cut down reaches: candidates use them, and slim headers do not bring them.
_HARMLESS = ("c10/", "ATen/ops/", "ATen/cuda/CUDAContext", "ATen/cuda/Exceptions.h", "ATen/OpMathType.h", "ATen/Acc")
_UMBRELLAS = ("torch/extension.h", "torch/types.h", "torch/torch.h", "torch/all.h", "ATen/ATen.h", "ATen/Functions.h")
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_QUALIFIED = re.compile(r"\b(?:at|c10|torch)\s*::\s*(\w+)")
_CALLED = re.compile(r"(?<![\w.])(?<!->)(?<![\w>]::)\b([A-Za-z_]\w*)\s*[(<]")
_PYTHON = re.compile(r"\b(?:PYBIND11\w*\b|pybind11\b|py\s*::|Py[A-Z_]\w*\b|THP\w*\b)")
_FLAGS_THAT_INCLUDE = ("-I", "-i", "-x", "@", "--include", "--pre-include", "--options-file", "-optf")
_HIDING = {
    "opens or renames a namespace of PyTorch's": r"namespace\s+(?:\w+\s*=\s*)?(?:::)?\s*(?:at|c10|torch)\b",
    "pastes tokens": r"##",
    "holds a raw string": r'\bR"',
    "asks for headers": r"__has_include",
}


class Misfit(Exception):
    """Why sources are not built with slim headers, in half a sentence."""


@dataclass(frozen=True)
class Fit:
    """What sources need of the slim headers."""

    operators: tuple[str, ...]
    """Headers of the operators they may name."""
    python: bool
    factories: bool


class Index:
    """What the slim headers in `folder` leave out; made by `headers.make`."""

    def __init__(self, folder: Path):
        found = json.loads((folder / "index.json").read_text())
        self._levels = {
            level: {kind: frozenset(names) for kind, names in omitted.items()}
            for level, omitted in found["levels"].items()
        }
        self._operators: dict[str, str] = found["operators"]
        self._factories = frozenset(found["factories"])

    def fit(self, source: str, flags: Sequence[str], cuda: bool) -> Fit:
        """How slim headers serve this source.

        Args:
            flags: its compiler flags; macros defined in them count as text.
            cuda: whether nvcc compiles it.

        Raises:
            Misfit: they do not, or nobody can tell.
        """
        if not any(re.match(r'[^<"]|.(?:torch|ATen)/', line) for line in _INCLUDE.findall(source)):
            return Fit((), False, False)
        text = _COMMENT_OR_STRING.sub(" ", source)
        for what, pattern in _HIDING.items():
            if re.search(pattern, source if '"' in pattern else text):
                raise Misfit(what)
        python = bool(_PYTHON.search(text))
        level = ("cuda+python" if python else "cuda") if cuda else "host"
        if level not in self._levels:
            raise Misfit("no CUDA toolkit was there when the slim headers were made")
        omitted = self._levels[level]
        _check_flags(flags)
        _check_includes(source, omitted["files"], python or not cuda)
        text += " ".join(flags)
        words = frozenset(_WORD.findall(text))
        _refuse("a macro", words & omitted["macros"])
        _refuse("the name", omitted["qualified"].intersection(_QUALIFIED.findall(text)))
        _refuse("the function", omitted["called"].intersection(_CALLED.findall(text)))
        operators = sorted({self._operators[word] for word in words & self._operators.keys()})
        return Fit(tuple(operators), python, bool(words & self._factories))


@cache
def index_of(folder: Path) -> Index:
    """The index in that folder, read once."""
    return Index(folder)


def _refuse(what: str, names: Iterable[str]) -> None:
    if found := sorted(names):
        raise Misfit(f"{what} {found[0]} may come from a header that is left out")


def _check_flags(flags: Sequence[str]) -> None:
    for flag in flags:
        if any(part.startswith(_FLAGS_THAT_INCLUDE) for part in re.split(r"[\s,=]", flag)):
            raise Misfit(f"the flag {flag} changes what is included")


def _check_includes(source: str, kept: frozenset[str], python: bool) -> None:
    include = toolchain.torch_folder() / "include"
    home = cuda_home()
    lines = _INCLUDE.findall(source)
    if python and not any("torch/extension.h" in line or "torch/torch.h" in line for line in lines):
        raise Misfit("has bindings without torch/extension.h")  # the index compares that header with that header
    for line in lines:
        named = re.match(r'[<"]([^>"]+)[>"]', line)
        if named is None:
            raise Misfit("computes the name of a header")
        name = named[1]
        if name in _UMBRELLAS or name in kept or name.startswith(_HARMLESS):
            continue
        if (include / name).exists() or (include / "torch/csrc/api/include" / name).exists():
            raise Misfit(f"includes {name}")
        if line.startswith('"') and not (home and (home / "include" / name).exists()):
            raise Misfit(f"includes a file of its own, {name}")
