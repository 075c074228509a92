"""TRL's own trainer over a real judge: what each kind of answer earns, turns, and what is masked."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from environments import written_by
from kernelgauge_client import PARTS
from replies import CHEAT, GOOD, NONE, SLOW, WRONG

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun
from waiting import comes_true

_PROGRAM = Path(__file__).parent / "programs" / "trl_grpo.py"
_LONG = "<|long|>"
"""One token of the tiny tokenizer, whose text is larger than a server takes."""
pytestmark = [
    pytest.mark.processes,
    pytest.mark.proof(
        "client", "serve/judge_api.py", "tests/adapters/programs", "tests/adapters/environments/trl.txt", unit="trl"
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


def trained(server: Server, folder: Path, mode: str, script: list[str], **asked: Any) -> Any:
    """What the program saw of GRPO with these answers of the policy."""
    default = {
        "server": server.address,
        "token": server.token,
        "problem": "1/19",
        "prompt": "Write a ReLU.",
        "steps": 1,
    }
    return written_by("trl", _PROGRAM, folder, **{**default, "mode": mode, "script": script, **asked})


def said(file: str) -> str:
    """A call of the tool in Qwen's words."""
    return f"<tool_call>\n{json.dumps({'name': 'submit', 'arguments': {'file': file}})}\n</tool_call>"


def test_two_turns_have_feedback_without_loss_and_kevins_returns(server: Server, tmp_path: Path) -> None:
    found = trained(server, tmp_path, "rollout", [WRONG, GOOD, GOOD, CHEAT], group=2)
    (wrong, late), (good, cheat) = found["answers"]
    assert [each["outcome"] for each in (wrong, late, good, cheat)] == ["wrong_value", "passed", "passed", "rejected"]
    # Kevin: R_0 = S_0 + 0.4 S_1, worked by hand.
    by_hand = [0.0 + 0.4 * late["reward"], good["reward"] + 0.4 * -0.3]
    assert found["steps"][0]["rewards"] == pytest.approx(by_hand) and late["returns"][1] == pytest.approx(
        late["reward"]
    )
    for turn, (own, feedback) in enumerate(found["own_and_feedback"]):
        assert own == [f"{WRONG}<|im_end|>{GOOD}<|im_end|>", f"{GOOD}<|im_end|>{CHEAT}<|im_end|>"][turn]
        told = found["answers"][turn][0]["feedback"].strip()
        assert told in feedback and feedback.startswith("\n<|im_start|>user\n") and "<|im_end|>" in feedback
        assert f"{(WRONG, GOOD)[turn]}<|im_end|>{feedback}" in found["seen"][2 + turn], "the prompt of turn 2"
    assert sum(found["steps"][0]["advantages"]) == pytest.approx(0, abs=1e-4)


def test_a_rollout_ends_where_feedback_has_no_room(server: Server, tmp_path: Path) -> None:
    found = trained(server, tmp_path, "rollout", [GOOD, WRONG], group=2, room=150)
    assert [len(each) for each in found["answers"]] == [1, 1]
    assert [own for own, _ in found["own_and_feedback"]] == [f"{GOOD}<|im_end|>", f"{WRONG}<|im_end|>"]


def test_a_policy_submits_by_a_tool_until_it_is_content(server: Server, tmp_path: Path) -> None:
    script = [said(WRONG), said(GOOD), NONE, said(GOOD), "Done.", "Done."]
    found = trained(server, tmp_path, "environment", script, group=3)
    assert [[each["outcome"] for each in answers] for answers in found["answers"]] == [
        *(["wrong_value", "passed"], ["passed"], []),
    ]
    (_, late), (good,), _ = found["answers"]
    assert found["steps"][0]["rewards"] == pytest.approx([0.4 * late["reward"], good["reward"], 0.0])
    assert found["steps"][0]["outcome"] == ["passed", "passed", "no_candidate"]
    assert found["answers"][0][0]["feedback"].strip()[:80] in found["seen"][3], (
        "the tool's answer is in the next prompt"
    )


def test_wrong_requests_end_the_training_with_a_sentence(server: Server, tmp_path: Path) -> None:
    nobody = {"server": "http://127.0.0.1:9", "patience_s": 0.5}
    cases = [{"problem": "9/99"}, {"token": "kg_no"}, nobody]
    unknown, token, address = trained(server, tmp_path, "single", [GOOD, WRONG], group=2, cases=cases)
    assert re.search("Refused: .* no problem is called '9/99'", unknown["raised"]), unknown
    assert re.search("Refused: .* that is no token of this server", token["raised"]), token
    assert re.search("NoServer: no server answers .* `kernelgauge serve`", address["raised"]), address


def test_every_kind_of_answer_has_its_reward_and_a_killed_judge_has_none(server: Server, tmp_path: Path) -> None:
    """The last test: it ends the server in the middle of the second step."""
    script = [
        GOOD,
        f"Here:\n```python\n{GOOD}```",
        WRONG,
        CHEAT,
        NONE,
        _LONG,
        *(GOOD, WRONG, CHEAT, NONE, _LONG, SLOW),
    ]
    with ThreadPoolExecutor() as pool:
        running = pool.submit(trained, server, tmp_path, "single", script, group=6, steps=2, patience_s=1.0)
        # The fourth candidate is the slow one: the others have their verdicts.
        at_work = lambda: server.states().total() == 4 and server.states()["judging"] == 1  # noqa: E731
        assert comes_true(lambda: running.done() or at_work(), 300) and not running.done()
        server.end()
        found = running.result()
    first, second = found["steps"]
    assert first["outcome"] == ["passed", "passed", "wrong_value", "rejected", *["no_candidate"] * 2]
    assert second["outcome"] == ["passed", "wrong_value", "rejected", *["no_candidate"] * 2, "no_verdict"]
    good, same, wrong, cheat, none, long = first["rewards"]
    assert good == same > 0.3 and cheat < wrong == none == long == 0.0
    assert second["rewards"] == [good, wrong, cheat, none, long, None]
    assert second["advantages"][5] == 0.0 and 0.0 not in second["advantages"][:5]
    assert "write a shorter file" in first["reason"][5] and "has not answered for 1 s" in second["reason"][5]
    logged = [each for each in found["history"] if "loss" in each]
    assert len(logged) == 2 and all(math.isfinite(each["loss"]) and each["grad_norm"] > 0 for each in logged)
    assert {f"kernelgauge/{name}" for name in PARTS} <= logged[0].keys()
    assert [each["kernelgauge/verdict"] for each in logged] == pytest.approx([1.0, 5 / 6])
    assert [each["kernelgauge/correct"] for each in logged] == pytest.approx([2 / 6, 1 / 5])
