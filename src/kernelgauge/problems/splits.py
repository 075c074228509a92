"""What is trained on and what is kept to validate, decided for each problem by itself.

The split hangs on a problem's structure, not on its text or its place: problems that differ in sizes and names alone
are never on both sides, and a suite that grows, or another one with the same problem, leaves it where it was.
"""

from __future__ import annotations

from kernelgauge.problems.distance import structure
from kernelgauge.schema import Split, digest

_DIGESTS = 16**16


def split_of(source: str, validation: float, seed: int = 0) -> Split:
    """The side a problem's text is on.

    Args:
        validation: share of all structures that validate, from 0 to 1.
        seed: another one splits otherwise.

    Raises:
        SyntaxError: the text is no Python.
    """
    drawn = int(digest(f"split {seed} {structure(source)}"), 16) / _DIGESTS
    return "validation" if drawn < validation else "train"
