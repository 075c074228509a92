"""Would these sources be the same program with slim headers? Asked before they are compiled.

A slim translation unit declares a part of what the full one declares. If it compiles, it can differ from the full one
only where something left out would have taken part: a macro of that name, a better overload, a name in `torch` that
hides one in `at`. (Famous: without `at::var(Tensor, int dim)` a call of `at::var(x, 1)` means `unbiased = true`.) So
sources in which such a name could play that part are built with the full headers, and so is whatever hides its names
from a reader: token pasting, macros that call their arguments, computed includes, namespaces that are opened.
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
_HARMLESS = (
    "c10/",
    "pybind11/",
    "torch/headeronly/",
    "ATen/ops/",
    "ATen/cuda/CUDAContext",
    "ATen/cuda/Exceptions.h",
    "ATen/OpMathType.h",
    "ATen/Acc",
)
_UMBRELLAS = ("torch/extension.h", "torch/types.h", "torch/torch.h", "torch/all.h", "ATen/ATen.h", "ATen/Functions.h")
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*|\d(?:\'?[\w.])*|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*)$", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)\n]*)\))?(.*)$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
# No member, and no namespace that something is taken from.
_NAMED = re.compile(r"(?<![.\w])(?<!->)[A-Za-z_]\w*\b(?!\s*::)")
_QUALIFIED = re.compile(r"\b(?:at|c10|torch)\s*::\s*(\w+)")
_CALLED = re.compile(r"(?<![\w.])(?<!->)(?<![\w>]::)\b([A-Za-z_]\w*)\s*[(<]")
_PYTHON = re.compile(r"\b(?:PYBIND11\w*\b|pybind11\b|py\s*::|Py[A-Z_]\w*\b|THP\w*\b)")
_HIDING = {
    "opens or renames a namespace of PyTorch's": r"namespace\s+(?:\w+\s*=\s*)?(?:::)?\s*(?:at|c10|torch)\b",
    "pastes tokens": r"##|%:|\?\?",
    "includes in an unusual way": r"__has_include|#\s*(?:include_next|import|embed)\b",
}
_SPACES = {"at", "c10", "torch"}
_RAW_STRING = re.compile(r'\b(?:u8|[uUL])?R"')
# What changes where headers come from, or lets a compiler go on where it should have stopped.
_FLAGS = ("-I", "-i", "-x", "@", "--include", "--pre-include", "--options-file", "-optf", "-fpermissive", "-ccbin")
_FLAG_MACRO = re.compile(r"(?<![\w-])(?:-[DU]|--(?:un)?define-macro[= ])\s*")


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
        if _RAW_STRING.search(source):
            raise Misfit("holds a raw string")
        code = _without_comments(source)
        included = _INCLUDE.findall(code)
        text = _without_strings(code)
        python = bool(_PYTHON.search(text))
        level = ("cuda+python" if python else "cuda") if cuda else "host"
        if level not in self._levels:
            raise Misfit("no CUDA toolkit was there when the slim headers were made")
        omitted = self._levels[level]
        _check_flags(flags)
        _check_includes(included, omitted["files"])
        if not any(re.match(r".(?:torch|ATen)/", line) for line in included):
            return Fit((), False, False)
        if (python or not cuda) and not any(re.match(r".torch/(?:extension|torch)\.h", line) for line in included):
            raise Misfit("has bindings without torch/extension.h")  # the index compares that header with that header
        text = _INCLUDE.sub("", text) + _as_defines(flags)
        words = frozenset(_WORD.findall(text))
        _check_names(text, words, omitted)
        operators = sorted({self._operators[word] for word in words & self._operators.keys()})
        return Fit(tuple(operators), python, bool(words & self._factories))


@cache
def index_of(folder: Path) -> Index:
    """The index in that folder, read once."""
    return Index(folder)


def _without_comments(source: str) -> str:
    return _TOKEN.sub(lambda token: " " if token[0][0] == "/" else token[0], source.replace("\\\n", ""))


def _without_strings(code: str) -> str:
    return _TOKEN.sub(lambda token: " " if token[0][0] in "\"'" else token[0], code)


def _as_defines(flags: Sequence[str]) -> str:
    """Flags as text in which `-DNAME=value` is a `#define`."""
    return "\n" + _FLAG_MACRO.sub("\n#define ", " ".join(flags)).replace("=", " ")


def _check_names(text: str, words: frozenset[str], omitted: dict[str, frozenset[str]]) -> None:
    for what, pattern in _HIDING.items():
        if re.search(pattern, text):
            raise Misfit(what)
    _refuse("a macro", words & omitted["macros"])
    _refuse("the name", omitted["qualified"].intersection(_QUALIFIED.findall(text)))
    _refuse("the function", omitted["called"].intersection(_CALLED.findall(text)))
    for name, given, body in _DEFINE.findall(text):  # where it is used, such a name may become a call
        parameters = set(_WORD.findall(given))
        named = {name, *_NAMED.findall(body)} - parameters
        _refuse("the name", named & (omitted["qualified"] | omitted["called"] | _SPACES))
        for parameter in parameters:
            if re.search(rf"::\s*{parameter}\b|(?<![.\w]){parameter}\s*(?:::|(?:<[^<>]*>)?\s*\()", body):
                raise Misfit(f"has a macro, {name}, that calls what it is given")


def _refuse(what: str, names: Iterable[str]) -> None:
    if found := sorted(names):
        raise Misfit(f"{what} {found[0]} may come from a header that is left out")


def _check_flags(flags: Sequence[str]) -> None:
    for flag in flags:
        if any(part.startswith(_FLAGS) for part in re.split(r"[\s,=]", flag)):
            raise Misfit(f"the flag {flag} changes what is included")


def _check_includes(included: Sequence[str], kept: frozenset[str]) -> None:
    include = toolchain.torch_folder() / "include"
    home = cuda_home()
    for line in included:
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
