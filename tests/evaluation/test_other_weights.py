"""A wrong candidate is judged again with the reference's parameters only where that could change anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.schema import Outcome, Problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.second = torch.nn.Linear(width, width)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def get_inputs():
    return [torch.rand(16, 32)]


def get_init_inputs():
    return [32]
"""
RIGHT = PROBLEM.split("\n\ndef get_inputs")[0].replace("class Model(", "class ModelNew(")
FIRST, SECOND = (f"        self.{name} = torch.nn.Linear(width, width)\n" for name in ("first", "second"))
OTHER_ORDER = RIGHT.replace(FIRST + SECOND, SECOND + FIRST)


def without_relu(source: str) -> str:
    return source.replace("torch.relu(self.first(x))", "self.first(x)")


def noting(method: Callable[..., None], calls: list[str]) -> Callable[..., None]:
    def noted(self: Reference, *arguments: Any, **named: Any) -> None:
        calls.append(method.__name__)
        method(self, *arguments, **named)

    return noted


@pytest.mark.parametrize(
    ("source", "outcome", "opened"),
    [
        pytest.param(RIGHT, Outcome.PASSED, 1, id="right"),
        pytest.param(OTHER_ORDER, Outcome.PASSED, 2, id="right, drawn in another order"),
        pytest.param(without_relu(RIGHT), Outcome.WRONG_VALUE, 1, id="wrong with the same parameters"),
        pytest.param(without_relu(OTHER_ORDER), Outcome.WRONG_VALUE, 2, id="wrong, and drawn in another order"),
        pytest.param(
            OTHER_ORDER.replace("self.second", "self.other"), Outcome.WRONG_VALUE, 1, id="nothing of that name"
        ),
    ],
)
def test_both_sides_are_opened_again_only_for_other_values_and_with_the_same_oracle(
    session: Session, monkeypatch: pytest.MonkeyPatch, source: str, outcome: Outcome, opened: int
) -> None:
    calls: list[str] = []
    for method in (Reference.open, Reference.renew):
        monkeypatch.setattr(Reference, method.__name__, noting(method, calls))
    protocol = load_protocol("strict")
    scores = protocol.score.model_copy(update={"weak_problems": "counted"})  # or else it is screened as well
    record = session.evaluate(
        Problem(key="own", name="own", source=PROBLEM),
        source,
        protocol=protocol.model_copy(update={"score": scores}),
        timed=False,
        kernel_policy="any",
    )
    assert record.outcome is outcome, record.reason
    assert calls == ["open", "renew"][:opened]
