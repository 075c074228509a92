"""Verdicts for searches: without a loop of one's own, and asked for again where the machine failed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kernelgauge_client.blocking import result_of
from kernelgauge_client.errors import NoVerdict
from kernelgauge_client.judge import Judge

_TRIES, _PAUSE_SECONDS = 3, 5.0
# Of a server that was never reached: a wrong address is not waited for as a restart is.
_FIRST_PATIENCE_SECONDS = 10.0


class NeverJudged(NoVerdict):
    """No candidate of this problem would have a verdict, however often it is asked for."""


class Verdicts:
    """The answers of a judge, all of which are verdicts.

    Args:
        settings: as of `kernelgauge_client.Judge`: server, token, reward, deadline_s, ...

    Raises:
        JudgeError: no server or no token is named.
    """

    def __init__(self, **settings: Any):
        self._judge = Judge(**settings)

    def check(self, problem: str) -> None:
        """Whether candidates for this problem can be judged there, asked with an empty text: it costs no device.

        Raises:
            JudgeError: one sentence about a server that is not there, or a token, a problem, a reward it refuses.
        """
        settings = asdict(self._judge.settings)
        settings["patience_s"] = min(settings["patience_s"], _FIRST_PATIENCE_SECONDS)
        result_of(Judge(**settings)(problem, ""))

    def of(self, problem: str, text: str, backend: str = "") -> dict[str, Any]:
        """The verdict on one text. Raises as `batch`."""
        return self.batch([{"problem": problem, "text": text, "backend": backend}])[0]

    def batch(self, candidates: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The verdicts on many texts, in their order.

        Args:
            candidates: each with `problem` and `text`.

        Raises:
            NoVerdict: some have none after three requests.
            NeverJudged: some cannot have one.
            JudgeError: the server refuses the request, or was never there.
        """
        answers: list[dict[str, Any]] = [{}] * len(candidates)
        waiting = list(range(len(candidates)))
        for attempt in range(_TRIES):
            time.sleep(_PAUSE_SECONDS if attempt else 0)
            said = result_of(self._judge.batch([candidates[at] for at in waiting]))
            answers = _with(answers, waiting, said)
            waiting = [at for at in waiting if answers[at]["reward"] is None]
            if not waiting:
                return answers
            first = answers[waiting[0]]
            if not first["retry"]:
                raise NeverJudged(f"problem {candidates[waiting[0]]['problem']} has no verdicts: {first['reason']}")
        raise NoVerdict(f"no verdict on a candidate for {candidates[waiting[0]]['problem']}: {first['reason']}")


def _with(
    answers: Sequence[dict[str, Any]], places: Sequence[int], news: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    known = dict(zip(places, news, strict=True))
    return [known.get(at, each) for at, each in enumerate(answers)]
