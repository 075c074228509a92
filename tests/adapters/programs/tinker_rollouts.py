"""Groups of trajectories by Tinker's cookbook, with a policy that says what it is told to. Writes their rewards.

python tinker_rollouts.py CONFIG.json OUT.json
"""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import tinker
from kernelgauge_client import Judge
from kernelgauge_client.adapters.tinker import KernelGroup
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.renderers import get_renderer
from tinker_cookbook.rl.rollout_strategy import FailFast, MinViableGroup
from tinker_cookbook.rl.rollouts import do_group_rollout
from tinker_cookbook.tokenizer_utils import register_tokenizer
from tiny import tokenizer

_STOP = "\n\nUser:"
_TOKENIZER = "tests/bytes"


class Scripted(TokenCompleter):
    """Its answers are said in turn; what it was asked is kept."""

    def __init__(self, tokens: Any, script: list[str]):
        self._tokens, self._script, self.seen = tokens, iter(script), []

    async def __call__(self, model_input: tinker.ModelInput, stop: Any, **_: Any) -> TokensWithLogprobs:
        self.seen.append(self._tokens.decode(model_input.to_ints()))
        said = self._tokens(f" {next(self._script)}{_STOP}")["input_ids"]
        return TokensWithLogprobs(tokens=said, maybe_logprobs=[-1.0] * len(said))


async def group(asked: dict[str, Any]) -> dict[str, Any]:
    tokens = tokenizer()
    judge = Judge(asked["server"], asked["token"], patience_s=asked.get("patience_s", 120.0))
    settings = {"size": asked["size"], "turns": 2, "within_s": asked.get("within_s", 60.0)}
    made = KernelGroup(
        judge,
        asked["problem"],
        "Write a ReLU.",
        get_renderer("role_colon", tokens, model_name=_TOKENIZER),
        **settings,
    )
    builder = pickle.loads(pickle.dumps(made)) if asked.get("pickled") else made
    for env in await builder.make_envs():
        pickle.loads(pickle.dumps(env.message_env))
    policy = Scripted(tokens, asked["script"])
    strategy = MinViableGroup(1, 0) if asked.get("tolerant") else FailFast()
    try:
        found = await do_group_rollout(builder, policy, strategy)
    except Exception as error:  # boundary: the test reads what the framework raises, whatever it is
        return {"raised": f"{type(error).__name__}: {error}"}
    return {
        "rewards": [[turn.reward for turn in each.transitions] for each in found.trajectories_G],
        "totals": found.get_total_rewards(),
        "metrics": found.trajectories_G[0].transitions[0].metrics,
        "logs": [[turn.logs for turn in each.transitions] for each in found.trajectories_G],
        "errors": [each.error_message for each in found.rollout_errors],
        "seen": policy.seen,
    }


if __name__ == "__main__":
    register_tokenizer(_TOKENIZER, tokenizer)
    groups = json.loads(Path(sys.argv[1]).read_text())["groups"]
    Path(sys.argv[2]).write_text(json.dumps([asyncio.run(group(each)) for each in groups]))
