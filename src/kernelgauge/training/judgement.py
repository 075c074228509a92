"""The answer of a judge: parts, reward, feedback, whether the trajectory is done, and whether there is a verdict."""

from __future__ import annotations

from functools import cache
from typing import Literal

from pydantic import FiniteFloat, model_validator

from kernelgauge.generation.feedback.verdict import facts
from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.schema import Attempt, Evaluation, Record, why_weak
from kernelgauge.training.parts import Parts, parts_of
from kernelgauge.training.request import JudgeRequest
from kernelgauge.training.reward import Reward
from kernelgauge.training.trajectory import returns

FeedbackLevel = Literal["G", "G+E"]
"""`G`: the policy is asked to look again; `G+E`: it is told its verdict. Nothing is profiled for a reward."""
_NOT_JUDGED = (
    "Your answer was not judged: the machine failed, and nothing is known of your file.\n\n"
    "Answer again with the complete file in one code block that begins with ```` ```python ````.\n"
)
_NEVER_JUDGED = (
    "Your answer was not judged, and no other would be: this problem cannot be judged here in the way that was asked "
    "for. Nothing is known of your file.\n"
)


class Judgement(Record):
    """One answer. Where `status` is `no_verdict` there is no reward: a failure of the machine is never a zero."""

    status: Literal["verdict", "no_verdict"]
    """`no_verdict`: the machine failed, the deadline passed, or the problem does not count."""
    retry: bool
    """Whether the same request may have a verdict another time. False with a verdict, and where there will never be
    one: the problem does not count, or what was asked for is not here. Leave such a problem out of training."""
    parts: Parts
    """Numbers under the same keys in every answer."""
    reward: FiniteFloat | None
    """Of this turn; None without a verdict: mask the turn, or ask again."""
    returns: tuple[FiniteFloat | None, ...]
    """The return of every turn so far, this one last, as the reward combines turns; None for those without a
    verdict. Final once `done`. Without a history only this turn's."""
    feedback: str
    """What to tell the policy before its next turn."""
    done: bool
    """Whether this was the last turn that the reward allows."""
    outcome: str
    """The evaluation's, such as `passed`; `no_candidate` where the text holds none; empty without a verdict."""
    reason: str
    """Why there is no verdict, or what went wrong, in a sentence; empty for a right candidate."""
    evaluation: str
    """The id of the record behind it; empty without one."""

    @model_validator(mode="after")
    def _consistent(self) -> Judgement:
        judged = self.status == "verdict"
        if judged != (self.reward is not None):
            raise ValueError("a verdict has a reward, and nothing else has one")
        if judged != bool(self.parts.verdict) or judged != bool(self.outcome):
            raise ValueError("a verdict has parts and an outcome, and nothing else has them")
        if judged and self.retry:
            raise ValueError("what has a verdict has it for good")
        if not judged and not self.reason:
            raise ValueError("without a verdict there is a reason")
        if not self.returns or (self.returns[-1] is None) != (self.reward is None):
            raise ValueError("the last return is this turn's, and is there where its reward is")
        return self


def of_verdict(
    request: JudgeRequest, source: str, verdict: Evaluation, reward: Reward, level: FeedbackLevel
) -> Judgement:
    """The answer for a candidate that was judged."""
    if not verdict.scored and reward.weak_problems == "no_verdict":
        said = why_weak(verdict.trivial_answers)
        why = (
            f"problem {verdict.problem} does not count: protocol {verdict.protocol} {said}. Leave it out of training"
        )
        return no_verdict(request, reward, why, retry=False)
    parts = parts_of(verdict)
    attempt = Attempt(answer=request.text, source=source, evaluation=verdict)
    feedback = _templates().filled("judged.md.j2", **facts(attempt, level))
    said = verdict.outcome.value
    return _judgement(request, reward, parts, feedback, outcome=said, reason=verdict.reason, evaluation=verdict.id)


def without_candidate(request: JudgeRequest, reason: str, reward: Reward) -> Judgement:
    """The answer for a text that holds no candidate: a verdict, since that is the policy's doing."""
    parts = Parts(verdict=1, scored=1)
    return _judgement(
        request, reward, parts, _templates().refused(f"{reason}."), outcome="no_candidate", reason=reason
    )


def no_verdict(request: JudgeRequest, reward: Reward, reason: str, retry: bool = True) -> Judgement:
    """The answer where the candidate cannot be blamed. The policy is not told why: it could not change that.

    Args:
        retry: whether the same request may have a verdict another time.
    """
    return Judgement(
        status="no_verdict",
        retry=retry,
        parts=Parts(),
        reward=None,
        returns=returns((*request.earned, None), reward.turns),
        feedback=_NOT_JUDGED if retry else _NEVER_JUDGED,
        done=_done(request, reward),
        outcome="",
        reason=reason,
        evaluation="",
    )


def _judgement(
    request: JudgeRequest,
    reward: Reward,
    parts: Parts,
    feedback: str,
    *,
    outcome: str,
    reason: str,
    evaluation: str = "",
) -> Judgement:
    earned = reward.of(parts)
    return Judgement(
        status="verdict",
        retry=False,
        parts=parts,
        reward=earned,
        returns=returns((*request.earned, earned), reward.turns),
        feedback=feedback,
        done=_done(request, reward),
        outcome=outcome,
        reason=reason,
        evaluation=evaluation,
    )


def _done(request: JudgeRequest, reward: Reward) -> bool:
    return request.turn + 1 >= reward.turns.most


@cache
def _templates() -> Templates:
    return Templates()
