"""The errors in a log with the lines of the candidate that they are about; everything else in it left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MOST_ERRORS = 5
_LONGEST_LINE = 240
_CONTEXT = 1
# Some exceptions quote the code that they are about, below their first line.
_EXCEPTION_LINES = 8
_COMPILER = re.compile(
    r"(?P<file>[^\s:()]+)(?::(?P<gcc>\d+)(?::\d+)?:|\((?P<nvcc>\d+)\):)"
    r"\s*(?:fatal )?error(?: #\d+\S*)?:\s*(?P<said>.*)"
)
_GCC_EXCERPT = re.compile(r"\s*\d+ \|(?P<code>.*)")
_LINKER = re.compile(r".*(undefined (?:reference|symbol)|multiple definition|ld returned|cannot find -l).*")
# Not those of the worker's own module of that name.
_FRAME = re.compile(r'\s*File "(?:[^"]*/)?(?<!/worker/)candidate\.py", line (?P<line>\d+), in (?P<where>.+)')
_EXCEPTION = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Failed|Unsupported|Interrupt)(?::.*)?$")


@dataclass
class CompilerError:
    """One error of a compiler, and the code that it quotes."""

    file: str
    line: int
    said: str
    code: str = ""


@dataclass
class _Found:
    errors: list[CompilerError] = field(default_factory=list)

    def add(self, error: CompilerError) -> None:
        """Logs tell an error up to three times: with and without its code."""
        for known in self.errors:
            if (known.file, known.line, known.said) == (error.file, error.line, error.said):
                known.code = known.code or error.code
                return
        self.errors.append(error)


def errors(log: str, source: str) -> str:
    """The first errors in `log`, each with the lines of `source` that it is about; empty if there are none.

    Args:
        log: what compilers, linker and interpreter printed.
        source: the candidate.
    """
    found = compiler_errors(log)
    if found:
        said = [_told(error, source.split("\n")) for error in found[:_MOST_ERRORS]]
        rest = len(found) - len(said)
        return "\n".join(said + [f"and {rest} further error{'s' * (rest != 1)}"] * (rest > 0))
    linker = list(dict.fromkeys(line.strip()[:_LONGEST_LINE] for line in log.splitlines() if _LINKER.match(line)))
    return "\n".join(linker[:_MOST_ERRORS]) or _raised(log, source.split("\n"))


def compiler_errors(log: str) -> list[CompilerError]:
    """Every error that a C++ or CUDA compiler printed, once."""
    found = _Found()
    lines = log.splitlines()
    for number, line in enumerate(lines):
        if match := _COMPILER.search(line):
            following = lines[number + 1] if number + 1 < len(lines) else ""
            found.add(
                CompilerError(
                    file=match["file"].rpartition("/")[2],
                    line=int(match["gcc"] or match["nvcc"]),
                    said=match["said"].strip()[:_LONGEST_LINE],
                    code=_quoted(following, nvcc=match["nvcc"] is not None),
                )
            )
    return found.errors


def _quoted(following: str, nvcc: bool) -> str:
    if match := _GCC_EXCERPT.match(following):
        return match["code"].strip()
    return following.strip() if nvcc and following[:1] == " " else ""


def _told(error: CompilerError, source: list[str]) -> str:
    at = [number for number, line in enumerate(source) if error.code and line.strip() == error.code]
    if len(at) == 1:
        return f"error: {error.said}\n{_around(source, at[0])}"
    code = f"\n    {error.code[:_LONGEST_LINE]}" if error.code else ""
    return f"{error.file}:{error.line}: error: {error.said}{code}"


def _around(source: list[str], at: int) -> str:
    """The line of the candidate with its neighbours, by their numbers in the file."""
    first, last = max(0, at - _CONTEXT), min(len(source), at + _CONTEXT + 1)
    return "\n".join(
        f"{'>' if number == at else ' '}{number + 1:>5} | {source[number][:_LONGEST_LINE]}"
        for number in range(first, last)
    )


def _raised(log: str, source: list[str]) -> str:
    """The exception that ended a traceback, and where in the candidate it came from."""
    lines = log.splitlines()
    frames = [match for line in lines if (match := _FRAME.match(line))]
    ends = [number for number, line in enumerate(lines) if _EXCEPTION.match(line)]
    if not frames or not ends:
        return ""
    said = "\n".join(line[:_LONGEST_LINE] for line in lines[ends[-1] : ends[-1] + _EXCEPTION_LINES]).strip()
    line = int(frames[-1]["line"])
    where = _around(source, line - 1) if 0 < line <= len(source) else f"line {line}"
    return f"{said}\nin {frames[-1]['where']}:\n{where}"
