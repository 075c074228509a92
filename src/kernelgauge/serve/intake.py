"""What a stranger sends, before anything is done with it: refused with a sentence, or text for a problem of ours.

Nothing here runs a candidate, and no name that was sent ever becomes a path.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelgauge.backends import registry
from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.problems import catalogue

_LONGEST_NAME = 160


@dataclass(frozen=True)
class Accepted:
    """A candidate that can be judged."""

    problem: str
    """The key."""
    backend: str
    """Empty: to be recognised from the text."""
    source: str


def accepted(problem: str, backend: str, content: bytes, most_bytes: int) -> Accepted:
    """A candidate out of what was sent.

    Raises:
        UsageError: no problem of a suite, no backend, too large, empty, or not text; one sentence for the sender.
    """
    if len(content) > most_bytes:
        raise UsageError(f"the candidate has {len(content)} bytes, and {most_bytes} are allowed")
    try:
        source = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("the candidate is not text in UTF-8") from None
    if "\0" in source:
        raise UsageError("the candidate is not text: it holds a zero byte")
    if not source.strip():
        raise UsageError("the candidate is empty")
    known_backend(backend)
    return Accepted(key_of(problem.strip()), backend, source)


def known_backend(backend: str) -> None:
    """Raises UsageError if that names no backend; empty leaves it to be recognised."""
    if backend and backend not in registry.names():
        raise UsageError(f"there is no such backend; there are {', '.join(registry.names())}")


def key_of(name: str) -> str:
    """The key of a problem of a suite by its name. Raises UsageError: there is none of that name."""
    # Of a suite only: what looks like a path would be read as a file of this machine.
    if len(name) > _LONGEST_NAME or not catalogue.looks_like_name(name):
        raise UsageError("that is not the name of a problem; names look like 1/23 or 1/23_softmax")
    try:
        return catalogue.resolve(name)
    except ProblemError as error:
        raise UsageError(str(error)) from None
