"""The primitive on this machine: real evaluations on a CPU, of all that a policy may write."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kernelgauge.errors import UsageError
from kernelgauge.training import Judge, JudgeConfig
from kernelgauge.training.parts import PARTS

pytestmark = pytest.mark.processes

RIGHT = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
WRONG = RIGHT.replace("torch.relu(x)", "torch.relu(x) + 1")
CHEAT = f"import kernelgauge.evaluation\n{RIGHT}"


@pytest.fixture(scope="module")
def judge(quick: str) -> Iterator[Judge]:
    with Judge(protocol=quick, device="cpu", sizes="small", jobs=2) as made:
        yield made


def asked(judge: Judge, *texts: str, **more: Any) -> list[dict[str, Any]]:
    return asyncio.run(judge.batch([{"problem": "1/19", "text": text, **more} for text in texts]))


def test_every_kind_of_text_has_its_answer(judge: Judge) -> None:
    answers = asked(judge, RIGHT, f"Here:\n```python\n{RIGHT}```\n", WRONG, CHEAT, "I cannot.", "x" * 300_000)
    assert [each["outcome"] for each in answers] == [
        *("passed", "passed", "wrong_value", "rejected", "no_candidate", "no_candidate")
    ]
    assert all(tuple(each["parts"]) == PARTS and each["status"] == "verdict" for each in answers)
    json.dumps(answers, allow_nan=False)
    right, same, wrong, cheat, none, _ = (each["reward"] for each in answers)
    assert right > 0.3 and cheat < wrong == none == 0.0
    assert same == right and answers[0]["evaluation"] == answers[1]["evaluation"], "equal texts are judged once"
    assert "The output is the right output plus 1." in answers[2]["feedback"]
    assert answers[2]["feedback"].rstrip().endswith("that begins with ```` ```python ````.")


def test_a_later_turn_is_told_what_the_trajectory_returns(judge: Judge) -> None:
    (first,) = asked(judge, WRONG)
    (second,) = asked(judge, RIGHT, turn=1, history=[first])
    assert second["returns"] == pytest.approx([0.4 * second["reward"], second["reward"]]) and not second["done"]
    (last,) = asked(judge, RIGHT, turn=3)
    assert last["done"] and last["returns"] == [last["reward"]]


def test_what_this_machine_cannot_judge_has_no_verdict(judge: Judge) -> None:
    (answer,) = asked(judge, RIGHT, backend="cuda")
    assert answer["status"] == "no_verdict" and answer["reward"] is None and answer["reason"]
    assert answer["returns"] == [None] and not any(answer["parts"].values())
    assert answer["retry"] is False and "no other would be: this problem cannot be judged here" in answer["feedback"]


def test_a_published_reward_pays_nothing_for_unchanged_pytorch(quick: str) -> None:
    with Judge(reward="cuda-agent", protocol=quick, device="cpu", sizes="small") as judge:
        (answer,) = asked(judge, RIGHT)
    assert (answer["outcome"], answer["reward"]) == ("rejected", -1.0)


def test_a_judge_that_ends_meanwhile_leaves_no_zero(quick: str) -> None:
    judge = Judge(protocol=quick, device="cpu", sizes="small")

    async def ended() -> dict[str, Any]:
        waiting = asyncio.create_task(judge("1/19", RIGHT))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(judge.close)
        return await waiting

    answer = asyncio.run(ended())
    assert (answer["status"], answer["reward"]) == ("no_verdict", None)


def test_wrong_use_is_one_sentence(judge: Judge) -> None:
    with pytest.raises(UsageError, match="no problem is called '9/99'"):
        asyncio.run(judge("9/99", RIGHT))
    with pytest.raises(UsageError, match="there is no backend 'cobol': name one of"):
        asked(judge, RIGHT, backend="cobol")
    with pytest.raises(UsageError, match="a history of 1 answers"):
        asked(judge, RIGHT, turn=2, history=[{"reward": 0.0}])
    with pytest.raises(UsageError, match="public seeds"):
        Judge(protocol="v0.1", device="cpu")
    with pytest.raises(UsageError, match="drkernel needs the kernel policy kernel-required, not any"):
        Judge(reward="drkernel", kernel_policy="any", device="cpu")
    assert Judge(reward="drkernel", device="cpu").protocol.kernel_policy == "kernel-required"


def test_a_judge_and_its_configuration_travel(judge: Judge, quick: str) -> None:
    again = pickle.loads(pickle.dumps(judge))
    assert again.config == judge.config and JudgeConfig.model_validate_json(judge.config.model_dump_json())
    again.close()


def test_rewards_need_no_torch() -> None:
    code = (
        "import sys; from kernelgauge.training import Parts, Reward, load_reward, returns; load_reward('kevin'); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
