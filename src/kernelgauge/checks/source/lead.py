"""A place in a candidate's text that a rule is about, and what would settle it."""

from __future__ import annotations

from dataclasses import dataclass

from kernelgauge.schema import KernelRule


@dataclass(frozen=True)
class Lead:
    """What the text alone says.

    Args:
        rule: the rule it is about.
        line, column: in the candidate's file, both from 1.
        reason: what stands there, in words.
        certain: no run could say otherwise: it refuses by itself.
        weak: so often harmless that it is dropped unless a run confirms it.
        place: first and last line of what a run would have to reach; None where another fact settles it.
    """

    rule: KernelRule
    line: int
    column: int
    reason: str
    excerpt: str = ""
    certain: bool = False
    weak: bool = False
    place: tuple[int, int] | None = None
