"""What a local judge says where this machine fails or lacks something: no process is started."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from factories import make_environment

from kernelgauge.backends.registry import detect
from kernelgauge.errors import BackendMissing, MachineError
from kernelgauge.training import Judge

RIGHT = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
NOT_HERE = {
    "cuda": f"from torch.utils.cpp_extension import load_inline\nm = load_inline(cuda_sources='x')\n{RIGHT}",
    "cute": f"import cutlass\n{RIGHT}",
    "tilelang": f"import tilelang\n{RIGHT}",
}


class Session:
    """Knows nothing of any problem, and judges nothing."""

    environment = make_environment()
    supervisor = SimpleNamespace(screen=SimpleNamespace(known=lambda *asked: None))

    def __init__(self) -> None:
        self.asked = 0
        self.broken: Exception | None = None

    def queue(self, *asked: Any, **options: Any) -> Session:
        return self

    def submit(self, task: Any) -> Future[Any]:
        self.asked += 1
        if self.broken is not None:
            raise self.broken
        return Future()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()
    monkeypatch.setattr("kernelgauge.training.judge.Session", lambda: made)
    return made


def test_what_would_fail_again_says_so(session: Session) -> None:
    session.broken = BackendMissing("tilelang is not installed")
    (answer,) = asyncio.run(Judge(device="cpu").batch([{"problem": "1/19", "text": RIGHT, "backend": "tilelang"}]))
    assert (answer["status"], answer["retry"], answer["reason"]) == ("no_verdict", False, str(session.broken))
    assert "no other would be" in answer["feedback"]


@pytest.mark.parametrize("error", [MachineError("the queue was closed"), OSError("no process left")])
def test_one_text_that_cannot_be_queued_leaves_the_others_their_answers(session: Session, error: Exception) -> None:
    session.broken = error
    texts = [f"{RIGHT}# 1", f"{RIGHT}# 1", "I cannot.", NOT_HERE["tilelang"], f"{RIGHT}# 2"]
    judge = Judge(device="cpu")
    answers = asyncio.run(judge.batch([{"problem": "1/19", "text": text} for text in texts]))
    assert [each["outcome"] for each in answers] == ["", "", "no_candidate", "load_failed", ""]
    assert str(error) in answers[0]["reason"] and answers[0]["reward"] is None and answers[0]["retry"]
    assert "the machine failed" in answers[0]["feedback"] and not answers[2]["retry"]


def test_a_session_that_cannot_be_opened_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    def refusing() -> Session:
        opened.append(threading.get_ident())
        raise MachineError("no process could be begun")

    monkeypatch.setattr("kernelgauge.training.judge.Session", refusing)
    answers = asyncio.run(Judge(device="cpu").batch([{"problem": "1/19", "text": text} for text in (RIGHT, "none")]))
    assert [each["status"] for each in answers] == ["no_verdict", "verdict"]
    assert opened and threading.get_ident() not in opened, "the loop goes on meanwhile"


@pytest.mark.parametrize("language", NOT_HERE)
def test_a_text_that_chooses_a_language_which_is_not_here_has_a_verdict(session: Session, language: str) -> None:
    """Or a policy whose reward is less than nothing would import what is not there, and be masked."""
    assert detect(NOT_HERE[language]) == language
    own = {"name": "mine", "correct": 1.0, "failures": {"not_built": -1.0}}
    answer = asyncio.run(Judge(reward=own, device="cpu")("1/19", NOT_HERE[language]))
    assert (answer["status"], answer["outcome"], answer["reward"]) == ("verdict", "load_failed", -1.0)
    assert answer["parts"]["formatted"] == 1 and answer["parts"]["built"] == 0 and not session.asked
    assert f"written for {language}, which is not available here" in answer["feedback"]
    assert "available are torch" in answer["reason"]
