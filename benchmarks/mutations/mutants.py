"""Faulty candidates: the suite's references as candidates, with one change each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from kernelgauge.schema import Problem
from kernelgauge.schema.base import digest

from .lowering import lowered, substituted
from .operators import OPERATORS, Operator
from .trees import CandidateTree, Edit, with_functions

GENERAL = {
    "missing_tail",
    "missing_last",
    "missing_element",
    "stale_output",
    "rolled_output",
    "low_precision_output",
    "absolute_value",
}
"""Operators that find a place in every candidate: left to themselves they would be most of all faults."""
_MOST_GENERAL = 1
SELDOM = {
    "wrong_epsilon",
    "truncated_constant",
    "no_max_subtraction",
    "wrong_scan",
    "shortened_softmax",
    "wrong_groups",
    "wrong_count",
    "wrong_identity",
    "wrong_setting",
    "dropped_dropout",
    "dropped_scale",
    "evaluation_mode",
    "ignored_parameter",
    "missing_bound",
    "missing_part",
}
"""Operators that find a place in few candidates: they come first where they do, with twice as many places."""


@dataclass(frozen=True)
class Changed:
    """A candidate that was right before it was changed."""

    problem: Problem
    style: str
    """What was changed: `lowered` for the reference with its layers as functions, `rewritten N` for one with
    algorithms of its own."""
    operator: str
    what: str
    text: str
    backend: str = "torch"

    @property
    def id(self) -> str:
        return digest(f"{self.problem.digest}\n{self.text}")


def honest(problem: Problem, style: str) -> str:
    """A right candidate in one of the styles `lowered` and `rewritten N`."""
    tree = lowered(problem.source)
    if style == "lowered":
        return with_functions(tree, ())
    return substituted(tree, int(style.removeprefix("rewritten ")))


def edits(tree: CandidateTree, operator: Operator) -> list[tuple[Edit, str]]:
    """Every place an operator finds, with the text that results; texts that are the same only once."""
    found: dict[str, Edit] = {}
    for edit in operator.finds(tree):
        found.setdefault(tree.changed(edit), edit)
    return [(edit, text) for text, edit in found.items()]


def mutants(problem: Problem, style: str, each: int, most: int) -> Iterator[Changed]:
    """Changed candidates of one problem in one style, a sample that is the same every time.

    Args:
        each: places per operator; of those in `SELDOM` twice as many.
        most: all operators together.
    """
    draw = random.Random(f"{problem.digest} {style}")
    tree = CandidateTree(honest(problem, style))
    names = sorted(OPERATORS)
    draw.shuffle(names)
    general = [name for name in names if name in GENERAL][:_MOST_GENERAL]
    names = sorted((name for name in names if name not in GENERAL), key=lambda name: name not in SELDOM)
    count = 0
    for name in [*general, *names]:
        places = edits(tree, OPERATORS[name])
        wanted = 2 * each if name in SELDOM else each
        for edit, text in draw.sample(places, min(wanted, len(places))):
            if count == most:
                return
            count += 1
            yield Changed(problem, style, name, edit.what, text)
