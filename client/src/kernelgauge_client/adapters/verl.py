"""verl: a reward function, asked again until there is a verdict or a deadline has passed.

    reward.custom_reward_function.path=pkg://kernelgauge_client.adapters.verl
    reward.custom_reward_function.name=compute_score           # compute_score_blocking for the manager `remote`
    +reward.custom_reward_function.reward_kwargs.reward=interval

One missing score makes verl drop the rewards of a whole batch, and an exception ends the run, so that there is always
a number here. The keys are the same in every answer: verl reads those of a batch's first item alone.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from kernelgauge_client.answers import no_verdict
from kernelgauge_client.blocking import result_of
from kernelgauge_client.episode import ask
from kernelgauge_client.judge import Judge
from kernelgauge_client.plain import plain

_log = logging.getLogger(__name__)
# By their settings: what one has learnt of its server serves every later call of this process.
_judges: dict[str, Judge] = {}


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    within_s: float = 600.0,
    without_verdict: float = 0.0,
    reward_router_address: object = None,
    reward_model_tokenizer: object = None,
    **settings: Any,
) -> dict[str, float]:
    """The score of one answer, with all parts of its verdict beside it. It raises nothing.

    Args:
        ground_truth: the problem, such as `1/23`, unless `extra_info` has `problem`.
        within_s: seconds in which there must be a verdict.
        without_verdict: the score where there is none. Such a row has `verdict` 0, and an error in the log says why.
        settings: of a `Judge`, such as `server`, `token`, `reward`.
    """
    asked = {"problem": (extra_info or {}).get("problem") or ground_truth, "text": solution_str}
    try:
        (answer,) = await ask(_judge(settings), [asked], within_s)
    except Exception as error:  # boundary: whatever it is, it would end the run
        answer = no_verdict({}, str(error))
    score = answer["reward"]
    if score is None:
        _log.error(
            "problem %s has no verdict, and scores %g: %s", asked["problem"], without_verdict, answer["reason"]
        )
        score = without_verdict
    return {"score": float(score), "acc": answer["parts"]["correct"], **answer["parts"]}


def compute_score_blocking(*asked: Any, **more: Any) -> dict[str, float]:
    """The same for managers that take no coroutine: `remote`."""
    return result_of(compute_score(*asked, **more))


def _judge(settings: Mapping[str, Any]) -> Judge:
    chosen = plain(settings)
    key = json.dumps(chosen, sort_keys=True, default=str)
    if key not in _judges:
        _judges[key] = Judge(**chosen)
    return _judges[key]
