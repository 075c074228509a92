"""One call to a contestant: what it was asked, what it said, what became of it, and what that cost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from kernelgauge.schema.base import FORMAT, Record
from kernelgauge.schema.evaluation import Evaluation

Feedback = Literal["G", "G+E", "G+E+P"]
"""What a contestant hears of its earlier answer: nothing but that it is to be improved (it sees the answer itself),
also how it was judged, also where its time goes."""

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Step(Record):
    """What is asked next."""

    asks: Literal["candidate", "ideas"] = "candidate"
    """For a complete candidate, or for ideas in words."""
    count: int = Field(default=1, ge=1)
    """How many ideas."""
    after: int | None = Field(default=None, ge=0)
    """The attempt to go on from; None: ask afresh."""
    feedback: Feedback = "G+E"
    """What is said of that attempt. One that was refused is told why in any case."""
    fresh: bool = False
    """Show the attempt to go on from in a new conversation, without what led to it."""
    inspirations: tuple[int, ...] = ()
    """Other attempts that are shown beside it."""
    idea: tuple[int, int] | None = None
    """The idea to carry out: which attempt gave it, and which of its ideas it is."""
    island: int | None = Field(default=None, ge=0)
    """Which of several populations the answer belongs to."""

    @model_validator(mode="after")
    def _consistent(self) -> Step:
        if self.fresh and self.after is None:
            raise ValueError("a new conversation about an attempt needs that attempt")
        if self.asks == "ideas" and self.idea is not None:
            raise ValueError("ideas are not asked for by an idea")
        return self


class Spent(Record):
    """What attempts cost. One measure for all strategies, so that they can be compared at equal cost."""

    calls: Count = 0
    tokens_read: Count = 0
    tokens_written: Count = 0
    """Reasoning included."""
    evaluations: Count = 0
    """Candidates judged to decide what to do next. The judgement of the final answer is not among them."""
    seconds: Amount = 0.0
    """Of the model and of the evaluator, waiting for either left out."""
    usd: Amount | None = None
    """None where the model's prices are not known."""

    @property
    def tokens(self) -> int:
        return self.tokens_read + self.tokens_written

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            tokens_read=self.tokens_read + other.tokens_read,
            tokens_written=self.tokens_written + other.tokens_written,
            evaluations=self.evaluations + other.evaluations,
            seconds=self.seconds + other.seconds,
            usd=None if self.usd is None and other.usd is None else (self.usd or 0.0) + (other.usd or 0.0),
        )


class Budget(Record):
    """What may be spent on one sample of one problem; None: without limit. The last step may go beyond it."""

    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    evaluations: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, gt=0)

    def ended_by(self, spent: Spent, aside: str | None = None) -> str | None:
        """Which limit is reached; None if there is something left.

        Args:
            aside: a limit that is not asked about.
        """
        for name in Budget.model_fields:
            limit = getattr(self, name)
            if limit is not None and name != aside and (getattr(spent, name) or 0) >= limit:
                return name
        return None

    def steps(self, spent: Spent) -> int | None:
        """How many steps may be taken at once: each is a call, and may need an evaluation. None: any number."""
        left = [limit - used for limit, used in self._counted(spent) if limit is not None]
        return max(0, min(left)) if left else None

    def _counted(self, spent: Spent) -> list[tuple[int | None, int]]:
        return [(self.calls, spent.calls), (self.evaluations, spent.evaluations)]


class Attempt(Record):
    """One call to a contestant, and what became of it; or a candidate that a search was given to begin with."""

    step: Step = Step()
    given: str = ""
    """Whose candidate it is, if it was there before anybody was asked; empty for an answer."""
    answer: str
    """What the contestant said, reasoning left out."""
    source: str | None = None
    """The candidate in it; None if there is none."""
    ideas: tuple[str, ...] = ()
    """The ideas in it, where ideas were asked for."""
    refusal: str = ""
    """Why it was refused before any evaluation, in a sentence; empty if it was not."""
    output: str = ""
    """The whole answer as JSON of whoever asked, where its text does not say all: an agent's calls of tools."""
    evaluation: Evaluation | None = None
    """Its verdict; None where it was refused, or the strategy does not look at verdicts."""
    profile: str = ""
    """Where its time goes, as text; empty where nobody has asked."""
    cut_off: bool = False
    """Whether it ended at the limit of its length."""
    last: bool = False
    """Whether the contestant has no other answer, whatever it is told."""
    spent: Spent = Spent()

    @model_validator(mode="after")
    def _consistent(self) -> Attempt:
        if self.given and (self.step != Step() or self.spent.calls or self.source is None):
            raise ValueError("what was given is a candidate, and nobody was asked for it")
        return self

    @property
    def passed(self) -> bool:
        return self.evaluation is not None and self.evaluation.passed


class AttemptRecord(Record):
    """An attempt as a run folder keeps it: written when the answer came, and again when it was judged."""

    format: int = FORMAT
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    problem: str
    problem_digest: str
    sample: int
    number: int = Field(ge=0)
    """Its place in the history of this sample."""
    attempt: Attempt


class Judgement(Record):
    """What is read of an evaluation where only its cost matters."""

    model_config = ConfigDict(extra="ignore")
    candidate_digest: str
    created: datetime
    seconds: dict[str, float] = Field(default_factory=dict)


def judgement(evaluation: Evaluation) -> Judgement:
    """What an evaluation cost."""
    return Judgement.model_validate(evaluation, from_attributes=True)


class _Paid(Record):
    model_config = ConfigDict(extra="ignore")
    spent: Spent = Spent()
    evaluation: Judgement | None = None


class PaidAttempt(Record):
    """What is read of an `AttemptRecord` where only its cost matters: verdicts are long."""

    model_config = ConfigDict(extra="ignore")
    problem: str
    sample: int
    number: int
    attempt: _Paid


def total(attempts: Iterable[Attempt]) -> Spent:
    """What all of them cost."""
    spent = Spent()
    for attempt in attempts:
        spent += attempt.spent
    return spent
