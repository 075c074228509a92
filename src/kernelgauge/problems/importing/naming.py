"""From what somebody called a problem to a name in our manner: `Conv2D_ReLU_BiasAdd` to `conv2d_relu_bias_add`."""

from __future__ import annotations

import re

from kernelgauge.errors import ProblemError

LONGEST = 200
"""Characters of a name: with number and suffix it must fit into a file name."""

_NUMBERED = re.compile(r"([0-9]+)(?:_(.*))?", re.DOTALL)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
# Spelled with a capital inside, and yet one word.
_ONE_WORD = re.compile(r"ReLU|SiLU|GeLU")


def split(stem: str) -> tuple[int | None, str]:
    """Number and title of a file's stem: 23 and `Softmax` for `23_Softmax`, no number for `softmax`."""
    match = _NUMBERED.fullmatch(stem)
    return (int(match[1]), match[2] or "problem") if match and len(match[1]) < 10 else (None, stem)


def snake_case(title: str) -> str:
    """A title in lower case, words joined by underscores. Raises ProblemError for a title that no name can come from.

    What could be a path (a slash, `..`, a control character) is refused rather than cleaned: nobody calls a problem
    so who means well.
    """
    if re.search(r"[/\\\x00-\x1f\x7f]|\.\.", title):
        raise ProblemError(f"its name could be a path: {title[:80]!r}")
    humps = _HUMP.sub("_", _ONE_WORD.sub(lambda match: match[0].capitalize(), title))
    name = re.sub(r"[^a-z0-9]+", "_", humps.lower()).strip("_")
    if not name:
        raise ProblemError(f"its name has no letter or digit: {title[:80]!r}")
    if len(name) > LONGEST:
        raise ProblemError(f"its name is longer than {LONGEST} characters")
    return name


def same(one: str, other: str) -> bool:
    """Whether two names differ in nothing but case and what stands between letters and digits."""
    return _bare(one) == _bare(other)


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
