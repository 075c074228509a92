"""NeMo Gym: a resources server whose `/verify` asks a kernelgauge server, and the rows for it.

As `resources_servers/kernelgauge/app.py`, with a configuration beside it:

from kernelgauge_client.adapters.nemo_gym import KernelResourcesServer
if __name__ == "__main__":
    KernelResourcesServer.run_webserver()
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.config_types import AggregateMetrics, AggregateMetricsRequest
from nemo_gym.rollout_collection import NG_FAILURE_CLASS_KEY
from pydantic import ConfigDict, PrivateAttr

from kernelgauge_client.errors import JudgeError
from kernelgauge_client.judge import Judge

NO_VERDICT = "no_verdict"
"""The class of failure of a rollout that the machine has failed."""
_PROMPTS_AT_ONCE = 32


class KernelServerConfig(BaseResourcesServerConfig):  # type: ignore[misc]
    """How texts are judged. The token is in `KERNELGAUGE_TOKEN`: no configuration has it."""

    server: str | None = None
    """Its URL; None: the variable `KERNELGAUGE_SERVER`."""
    reward: str | dict[str, Any] = "interval"
    priority: int = 0
    deadline_s: float | None = None
    patience_s: float = 120.0


class KernelVerifyRequest(BaseVerifyRequest):  # type: ignore[misc]
    """A rollout, with what its row says."""

    model_config = ConfigDict(extra="allow")
    problem: str
    """Its key, such as `1/23`."""
    backend: str = ""


class KernelVerifyResponse(BaseVerifyResponse):  # type: ignore[misc]
    """The reward, and beside the fields here every part under its own name.

    Without a verdict `mask_sample` is true, and the rollout has a class of failure: the collector keeps it apart and
    tries it again. Its `reward` of 0 is there because the protocol knows no other; nothing may train on it.
    """

    model_config = ConfigDict(extra="allow")
    problem: str
    outcome: str
    reason: str
    mask_sample: bool


class KernelResourcesServer(SimpleResourcesServer):  # type: ignore[misc]
    """One turn: the text of the response is judged."""

    config: KernelServerConfig
    _judge: Judge = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Raises JudgeError: no server or no token is named."""
        super().model_post_init(context)
        named = ("reward", "priority", "deadline_s", "patience_s")
        self._judge = Judge(self.config.server, **{name: getattr(self.config, name) for name in named})

    async def verify(self, body: KernelVerifyRequest) -> KernelVerifyResponse:
        """Judge a rollout. Raises JudgeError: no server, a wrong token, an unknown problem."""
        answer = await self._judge(body.problem, body.response.output_text, backend=body.backend)
        lost = answer["reward"] is None
        said = {name: answer[name] for name in ("outcome", "reason")} | answer["parts"]
        failure = {NG_FAILURE_CLASS_KEY: NO_VERDICT} if lost else {}
        row = body.model_dump() | said | failure
        return KernelVerifyResponse(**row | {"reward": 0.0 if lost else answer["reward"], "mask_sample": lost})

    async def aggregate_metrics(self, body: AggregateMetricsRequest) -> AggregateMetrics:
        """Of the rollouts that have a verdict: the collector sends those that have none too."""
        judged = [each for each in body.verify_responses if not each.get("mask_sample")]
        return await super().aggregate_metrics(AggregateMetricsRequest(verify_responses=judged))


async def rows(
    judge: Judge, problems: Sequence[str] = (), levels: Sequence[int] = (1, 2, 3), suite: str = "", backend: str = ""
) -> list[dict[str, Any]]:
    """A row for each problem: those named, or those of these levels that count. Raises JudgeError."""
    async with judge:
        wanted = list(problems) or [
            each["problem"] for each in await judge.problems(suite) if each["counts"] and each["level"] in levels
        ]
        prompts = [
            prompt
            for some in _parts(wanted)
            for prompt in await asyncio.gather(*(judge.prompt(problem, backend) for problem in some))
        ]
    return [
        {
            "responses_create_params": {"input": [{"role": "user", "content": prompt}]},
            "problem": problem,
            "backend": backend,
        }
        for problem, prompt in zip(wanted, prompts, strict=True)
    ]


def _parts(problems: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(problems), _PROMPTS_AT_ONCE):
        yield problems[at : at + _PROMPTS_AT_ONCE]


def main() -> None:
    """`python -m kernelgauge_client.adapters.nemo_gym FILE`: the rows as JSONL."""
    parser = argparse.ArgumentParser(description="Write the rows of a data set for NeMo Gym.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--problems", help="such as 1/23,1/19; default: all of the levels that count")
    parser.add_argument("--levels", default="1,2,3")
    parser.add_argument("--suite", default="", help="an imported suite of the server")
    parser.add_argument("--backend", default="", help="kernel language to ask for")
    parser.add_argument("--patience-s", type=float, default=120.0, help="seconds that the server may be away")
    said = parser.parse_args()
    named = said.problems.split(",") if said.problems else []
    levels = [int(level) for level in said.levels.split(",")]
    try:
        found = asyncio.run(rows(Judge(patience_s=said.patience_s), named, levels, said.suite, said.backend))
    except JudgeError as error:
        raise SystemExit(f"kernelgauge: {error}") from None
    said.file.write_text("".join(f"{json.dumps(row)}\n" for row in found))


if __name__ == "__main__":
    main()
