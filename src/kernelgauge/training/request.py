"""What is asked of a judge: what a policy wrote for a problem at a turn, and what it earned at the turns before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from kernelgauge.config import first_complaint
from kernelgauge.errors import UsageError
from kernelgauge.generation.extraction import defines_model, extract
from kernelgauge.schema import Record
from kernelgauge.training.amounts import Amount

MOST_TURNS = 1000
MOST_BYTES = 256 * 1024
"""Of a policy's text, where nothing else is said."""


class EarlierTurn(Record):
    """The answer of a judge at an earlier turn of the same trajectory; only its reward is read."""

    model_config = ConfigDict(extra="ignore")
    reward: Amount | None
    """None: that turn had no verdict."""


class JudgeRequest(Record):
    """One turn of one trajectory, to be judged."""

    problem: str
    """Its name, such as `1/23`."""
    text: str
    """What the policy wrote: a file that defines `ModelNew`, or an answer with such a file in a code block."""
    turn: int = Field(default=0, ge=0, lt=MOST_TURNS)
    """From 0."""
    history: tuple[EarlierTurn, ...] = Field(default=(), max_length=MOST_TURNS)
    """The judge's answers at all earlier turns, or none: then there are no returns for those."""
    backend: str = ""
    """Kernel language; empty: recognised from the text."""

    @field_validator("text", mode="before")
    @classmethod
    def _readable(cls, text: object) -> object:
        """What no record can hold is replaced by a text that has the same verdict: a policy's text raises nothing."""
        return "\0" if isinstance(text, str) and not _encodable(text) else text

    @model_validator(mode="after")
    def _whole_history(self) -> JudgeRequest:
        if self.history and len(self.history) != self.turn:
            raise ValueError(
                f"turn {self.turn} comes with a history of {len(self.history)} answers: "
                "pass the answers of all earlier turns, or none"
            )
        return self

    @property
    def earned(self) -> tuple[float | None, ...]:
        """The rewards of the earlier turns."""
        return tuple(each.reward for each in self.history)


def request_of(
    problem: str, text: str, turn: int = 0, history: Sequence[Mapping[str, Any]] = (), backend: str = ""
) -> JudgeRequest:
    """A request from plain data. Raises UsageError: it contradicts itself, or is not of these types."""
    try:
        return JudgeRequest.model_validate(
            {"problem": problem, "text": text, "turn": turn, "history": tuple(history), "backend": backend}
        )
    except ValidationError as error:
        raise UsageError(f"problem {problem}, turn {turn}: {first_complaint(error)}") from error


def candidate_in(text: str, most_bytes: int = MOST_BYTES) -> tuple[str | None, str]:
    """The candidate in what a policy wrote, and why there is none.

    All of this is the policy's doing: it earns what a text without a candidate earns, and raises nothing.
    """
    if "\0" in text or not _encodable(text):
        return None, "the answer is not text: it holds a zero byte, or half of a surrogate pair"
    size = len(text.encode())
    if size > most_bytes:
        return None, f"the answer has {size} bytes, and {most_bytes} are allowed: write a shorter file"
    if defines_model(text):
        return text, ""
    found = extract(text)
    return (found.source, "") if found.source is not None else (None, found.notes[0])


def _encodable(text: str) -> bool:
    """Whether it is free of halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
