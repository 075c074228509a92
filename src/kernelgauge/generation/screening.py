"""What is refused before any evaluation: cheap, and worth a second question to the contestant.

A refusal is no verdict. Once a contestant has no further try, whatever text it has goes to the evaluator.
"""

from __future__ import annotations

import ast

from kernelgauge.backends.registry import detect
from kernelgauge.errors import UsageError
from kernelgauge.generation.extraction import Extracted
from kernelgauge.schema import Problem

RULES = ("any",)
"""What may count as a kernel; `any`: whatever computes the right answer."""


def check_rules(name: str | None) -> None:
    """Raises UsageError, with those there are, if there are no rules of that name."""
    if name is not None and name not in RULES:
        raise UsageError(f"there are no rules {name!r}: there are {', '.join(RULES)}")


def refusal(found: Extracted, problem: Problem, backend: str, rules: str | None = None) -> str | None:
    """Why this candidate is not worth an evaluation, in words for its author; None if it is.

    Args:
        problem: what it answers.
        backend: the kernel language that was asked for.
        rules: what may count as a kernel, one of `RULES`; None: what the protocol says.
    """
    if found.source is None:
        return f"{found.notes[0]}."
    if not found.whole:
        notes = f" ({found.notes[0]})" if found.notes else ""
        return f"{_not_whole(found.source)}{notes}."
    written = detect(found.source)
    if written != backend:
        return f"the file is written for {written}, and a candidate in {backend} was asked for."
    return None


def _not_whole(source: str) -> str:
    try:
        ast.parse(source)
    except SyntaxError as error:
        return f"the file is not valid Python: line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"the file cannot be read as Python: {error}"
    if "class ModelNew" in source:
        return "the code block has no end"
    return "the file defines no ModelNew at its top level"
