"""Answers with verdicts as examples, without a search: which two make a preference."""

from __future__ import annotations

from typing import Any

import pytest

from kernelgauge.schema import Outcome
from kernelgauge.training.dataset import Message
from kernelgauge.training.examples import Preference, Turn, Verdict, examples

HERE: dict[str, Any] = {
    "protocol": "strict",
    "sizes": "full",
    "math": "ieee",
    "device": "cuda:0",
    "hardware": "NVIDIA H200",
}


def turn(answer: str, speedup: float | None, **conditions: Any) -> Turn:
    """An answer that was this fast, or wrong, under these conditions."""
    found = Verdict(
        outcome=Outcome.PASSED if speedup else Outcome.WRONG_VALUE,
        speedup=speedup,
        standing="faster" if speedup else None,
        interval=(speedup * 0.99, speedup * 1.01) if speedup else None,
        **{**HERE, **conditions},
    )
    return Turn(
        run="run",
        contestant="model",
        problem="1/19",
        sample=0,
        number=0,
        backend="triton",
        prompt=(Message(role="user", content="write"),),
        answer=answer,
        source=answer,
        verdict=found,
    )


def pairs(*turns: Turn) -> list[tuple[str, str]]:
    found = [each for each in examples(turns, "dpo") if isinstance(each, Preference)]
    return [(each.chosen[0].content, each.rejected[0].content) for each in found]


def test_the_best_answer_stands_beside_each_that_is_surely_worse() -> None:
    assert pairs(turn("fast", 3.0), turn("slow", 1.1), turn("wrong", None), turn("as fast", 2.99)) == [
        ("fast", "slow"),
        ("fast", "wrong"),
    ]


@pytest.mark.parametrize(
    "other", [{"hardware": "NVIDIA H100"}, {"protocol": "quick"}, {"math": "bf16"}, {"sizes": "odd"}]
)
def test_answers_that_were_judged_otherwise_are_not_compared(other: dict[str, str]) -> None:
    assert pairs(turn("one", 3.0), turn("two", 1.1, **other)) == []


def test_no_answer_is_preferred_to_itself() -> None:
    assert pairs(turn("same", 3.0), turn("same", 1.1), turn("same", None, device="cuda:1")) == []
