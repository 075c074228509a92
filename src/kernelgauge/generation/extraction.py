"""From what a model answered to the source text of a candidate.

Real answers hold drafts, reasoning, a kernel file beside the Python file, fences in docstrings, no fence at all, or
end in the middle. The rule: the last piece of the answer that is whole wins. Whole means Python that parses and
defines `ModelNew` at its top level: what only imports it shows how to use it. Where no piece is, the best broken one
is given all the same, so that a verdict or a second question can say what is wrong with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelgauge.generation.pieces import KERNEL_TAGS, joined
from kernelgauge.syntax import parse

# Possessive: a long line that is no fence would be tried in as many ways as there are pairs of places in it.
_FENCE = re.compile(r"\s{0,12}+(?P<marks>`{3,}+|~{3,}+)\s*+(?P<tag>[\w+#.-]*+)[^`]*+")
# A tag in the middle of a line is spoken of, or part of a program.
_TAG = r"(?:(?:^[ \t]*)<{0}>|<{0}>(?=[ \t]*$))"
_KINDS = "think|thinking|reasoning"
_FLAGS = re.DOTALL | re.IGNORECASE | re.MULTILINE
_REASONING = re.compile(_TAG.format(f"(?:{_KINDS})") + rf".*?(</(?:{_KINDS})>|\Z)", _FLAGS)
# Where the opening tag is part of the prompt, as with many open models, the answer has the closing one only.
_REASONING_BEFORE = re.compile(r"\A.*" + _TAG.format(f"/(?:{_KINDS})"), _FLAGS)
_STARTS = re.compile(r"(import|from|class|def|@)\s?\S|\"\"\"|'''|#!?\s?\S|[A-Za-z_]\w*+\s*+(:\s*+\w++\s*+)?=\s*+\S")
# More fences than this are no answer; what is tried grows with their square.
_MOST_FENCES = 200
_MOST_CUTS = 20
# Characters that are parsed in search of a piece that is whole: a policy's text must not cost a server minutes.
_LEAST_PARSED, _PARSED_PER_CHARACTER = 100_000, 4


@dataclass(frozen=True)
class Extracted:
    """The candidate in an answer: its text, None if there is none, and what to say about how it was found."""

    source: str | None
    whole: bool = False
    """Whether it parses and defines `ModelNew`."""
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Variables and files that it compiles, and that it does not hold."""


@dataclass(frozen=True)
class _Fence:
    line: int
    marks: str
    tag: str

    def closes(self, opener: _Fence) -> bool:
        return not self.tag and self.marks[0] == opener.marks[0] and len(self.marks) >= len(opener.marks)


@dataclass(frozen=True)
class _Block:
    tag: str
    text: str
    end: int
    closed: bool


class _Budget:
    """How much of an answer may still be parsed: its pieces overlap, and there are many."""

    def __init__(self, answer: str):
        self._left = max(_LEAST_PARSED, _PARSED_PER_CHARACTER * len(answer))

    def allows(self, characters: int) -> bool:
        """Whether so many more may be, which are counted."""
        self._left -= characters
        return self._left >= 0


def extract(answer: str, cut_off: bool = False) -> Extracted:
    """The candidate that `answer` contains.

    Reasoning between `<think>` tags is left out. Of several whole pieces the last one is taken, and a note says so;
    one without an end comes after all that have one.

    Args:
        cut_off: whether the answer is known to end too early. Then a piece without an end is not whole, though what
            there is of it may parse.
    """
    spoken = without_reasoning(_normal(answer))
    lines = spoken.split("\n")
    fences = list(_fences(lines))[-_MOST_FENCES:]
    blocks, budget = _blocks(lines, fences), _Budget(spoken)
    found = list(_stretches(lines, fences, budget)) or [block for block in blocks if defines_model(block.text)]
    whole = [block for block in found if block.closed or not cut_off]
    if whole:
        last = max(whole, key=lambda block: (block.closed, block.end))
        count = len({block.end for block in whole})
        kernels = [(block.tag, block.text) for block in blocks if block.tag in KERNEL_TAGS and block.closed]
        text, became, missing = joined(last.text, parse(last.text), kernels)
        notes: tuple[str, ...] = tuple(f"the kernel of the answer's other block became {name}" for name in became)
        notes += tuple(f"the file compiles {name}, which it does not hold" for name in missing)
        if not last.closed:
            notes = ("the last block has no end", *notes)
        if count > 1:
            notes = (f"{count} blocks of the answer define ModelNew; the last is taken", *notes)
        return Extracted(_ended(text), True, notes, missing)
    if not fences and not cut_off and (bare := _without_prose(lines, budget)):
        return Extracted(_ended(bare), True, ("the answer has no code block; its Python lines are taken",))
    return _broken(spoken, blocks)


def without_reasoning(answer: str) -> str:
    """An answer without what stands between `<think>` tags, and before a closing one that nothing opens."""
    return _REASONING_BEFORE.sub("", _REASONING.sub("", answer))


def defines_model(text: str) -> bool:
    """Whether `text` is Python that defines `ModelNew` at its top level."""
    if "ModelNew" not in text:
        return False
    tree = parsed(text)
    return tree is not None and "ModelNew" in defined_names(tree)


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of `text`; None if it is not Python."""
    try:
        return parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined_names(tree: ast.Module) -> set[str]:
    """Names that a module defines or assigns at its top level, in `if` and `try` included; imports define nothing."""
    found: set[str] = set()
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
            continue
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                found.add(child.id)
        for field in ("body", "orelse", "finalbody", "handlers"):
            for child in getattr(node, field, []):
                waiting.extend(child.body if isinstance(child, ast.ExceptHandler) else [child])
    return found


def _normal(answer: str) -> str:
    return answer.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def _ended(text: str) -> str:
    return text.strip("\n") + "\n"


def _fences(lines: list[str]) -> Iterator[_Fence]:
    for number, line in enumerate(lines):
        if match := _FENCE.fullmatch(line):
            yield _Fence(number, match["marks"], match["tag"].lower())


def _blocks(lines: list[str], fences: list[_Fence]) -> list[_Block]:
    """The blocks as Markdown reads them: a fence to the next one that closes it, or to the end."""
    blocks = []
    rest = iter(fences)
    for opener in rest:
        closer = next((fence for fence in rest if fence.closes(opener)), None)
        end = closer.line if closer else len(lines)
        blocks.append(_Block(opener.tag, "\n".join(lines[opener.line + 1 : end]), end, closer is not None))
    return blocks


def _stretches(lines: list[str], fences: list[_Fence], budget: _Budget) -> Iterator[_Block]:
    """Everything from a fence to any later one, or to the end: a docstring or an outer block may hold fences too.

    Of those that begin at one fence the shortest that mentions `ModelNew` and parses is enough. Where the budget ends
    before a piece is found, blocks as Markdown reads them are left to be tried, which do not overlap.
    """
    ends = [*(fence.line for fence in fences if not fence.tag), len(lines)]
    named = [number for number, line in enumerate(lines) if "ModelNew" in line]
    for opener in reversed(fences):
        first = next((number for number in named if number > opener.line), len(lines))
        for end in (each for each in ends if each > first):
            text = _dedented("\n".join(lines[opener.line + 1 : end]))
            if not budget.allows(len(text)):
                return
            if defines_model(text):
                yield _Block(opener.tag, text, end, end < len(lines))
                break


def _dedented(text: str) -> str:
    """A block inside a list item is indented as a whole."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    margin = len(first) - len(first.lstrip(" "))
    if margin == 0:
        return text
    return "\n".join(line[margin:] if line[:margin].isspace() else line for line in text.split("\n"))


def _without_prose(lines: list[str], budget: _Budget) -> str | None:
    """The Python of an answer without fences: from a line that can begin a file to the last that can be parsed."""
    starts = [number for number, line in enumerate(lines) if _STARTS.match(line)]
    for start in starts[:_MOST_CUTS]:
        rest = lines[start:]
        for _ in range(_MOST_CUTS):
            text = "\n".join(rest)
            if "ModelNew" not in text or not budget.allows(len(text)):
                break
            try:
                parse(text)
            except (SyntaxError, ValueError) as error:
                at = getattr(error, "lineno", None)
                if at is None or at < 2 or at > len(rest):
                    break
                rest = rest[: at - 1]
                continue
            except (RecursionError, MemoryError):
                return None
            return text if defines_model(text) else None
    return None


def _broken(answer: str, blocks: list[_Block]) -> Extracted:
    """The most promising piece where none is whole, and why it is not."""
    python = [block for block in blocks if block.tag not in KERNEL_TAGS and block.text.strip()]
    named = [block for block in python if "ModelNew" in block.text] or [b for b in python if b.tag.startswith("py")]
    if not named:
        said = "the answer contains no code block with Python in it" if answer.strip() else "the answer is empty"
        return Extracted(None, notes=(said,))
    last = named[-1]
    cut = () if last.closed else ("the answer ends in the middle of its code block",)
    return Extracted(_ended(_dedented(last.text)), notes=cut)
