"""A trajectory: what a policy wrote turn by turn, what that is worth, and what the policy is told next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from kernelgauge_client.answers import no_verdict
from kernelgauge_client.judge import Judge

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Episode:
    """One policy at one problem.

    Args:
        problem: its name, such as `1/23`.
        prompt: what the policy is told first: a text, or messages with `role` and `content`.
        turns: at most so many; never more than the reward allows.
        backend: kernel language; empty: recognised from the text.
    """

    def __init__(
        self, problem: str, prompt: str | Sequence[Mapping[str, Any]], turns: int | None = None, backend: str = ""
    ):
        told = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        self.messages: list[dict[str, Any]] = [dict(message) for message in told]
        """The conversation so far; the last one is the policy's to answer until the episode is done."""
        self.answers: list[dict[str, Any]] = []
        """The judge's, turn by turn."""
        self._problem, self._turns, self._backend = problem, turns, backend

    def candidate(self, text: str) -> dict[str, Any]:
        """What to ask the judge about the next turn's text."""
        turn, history = len(self.answers), list(self.answers)
        return {"problem": self._problem, "text": text, "turn": turn, "history": history, "backend": self._backend}

    def take(self, text: str, answer: dict[str, Any]) -> None:
        """Add a turn: what the policy wrote, and the judge's answer to that."""
        self.answers.append(answer)
        self.messages.append({"role": "assistant", "content": text})
        if not self.done:
            self.messages.append({"role": "user", "content": answer["feedback"]})

    @property
    def done(self) -> bool:
        """Whether no turn is left. One without a verdict is the last: what follows it could not be credited."""
        if not self.answers:
            return False
        last = self.answers[-1]
        return last["done"] or last["reward"] is None or len(self.answers) == self._turns

    @property
    def gain(self) -> float:
        """What the last turn has added to the value; all of an episode add up to it."""
        before = value_of(self.answers[:-1]) or 0.0
        return (value_of(self.answers) or 0.0) - before


def value_of(answers: Sequence[Mapping[str, Any]]) -> float | None:
    """What a trajectory is worth as a whole: the return of its first turn, as the reward combines turns.

    None without turns, and where a turn has no verdict: without its term the machine's failure would count as 0.
    """
    if not answers or any(each["reward"] is None for each in answers):
        return None
    return float(answers[-1]["returns"][0])


async def ask(
    judge: Judge, candidates: Sequence[Mapping[str, Any]], within_s: float | None = None
) -> list[dict[str, Any]]:
    """The judge's answers, in their order; where there is no verdict, it is asked again.

    Args:
        within_s: so many seconds, and only while another try may have a verdict; None: it is asked once.

    Raises:
        JudgeError: as `Judge.batch`.
    """
    end = None if within_s is None else time.monotonic() + within_s
    answers: list[dict[str, Any]] = [{} for _ in candidates]
    waiting, pause = list(range(len(candidates))), _FIRST_PAUSE
    while True:
        found = await _ask_until(judge, [candidates[at] for at in waiting], end)
        for at, answer in zip(waiting, found, strict=True):
            answers[at] = answer
        waiting = [at for at in waiting if answers[at]["retry"]]
        if not waiting or end is None or time.monotonic() + pause > end:
            return answers
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


async def _ask_until(
    judge: Judge, candidates: Sequence[Mapping[str, Any]], end: float | None
) -> list[dict[str, Any]]:
    left = None if end is None else max(end - time.monotonic(), 0.0)
    try:
        return await asyncio.wait_for(judge.batch(candidates), left)
    except asyncio.TimeoutError:  # noqa: UP041 - another class in Python 3.10
        return [no_verdict(each, "the judge has not answered in the time it was given") for each in candidates]
