"""What a node must be to judge, and how its judge keeps the device: no Ray cluster is needed to tell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories import make_environment, make_evaluation
from waiting import comes_true

pytest.importorskip("ray")

from kernelgauge import __version__
from kernelgauge.cluster.fleet import accelerators, judges_on
from kernelgauge.cluster.judge import JudgeActor
from kernelgauge.cluster.node import NodeFacts, refusal
from kernelgauge.cluster.options import ClusterOptions
from kernelgauge.config import Limits, load_protocol
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.order import Order
from kernelgauge.sandbox.isolation import LAYERS
from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Problem


def facts(layers: tuple[str, ...] = LAYERS, hardware: str = "NVIDIA H200", **environment: Any) -> NodeFacts:
    made = make_environment(kernelgauge=__version__, **environment)
    return NodeFacts(host="node", hardware=hardware, environment=made, layers=layers, makers={}, architecture="9.0a")


@pytest.mark.parametrize(
    ("found", "options", "first", "hardware", "said"),
    [
        (facts(), {}, None, "", ""),
        (facts(), {"model": "h200"}, facts(), "NVIDIA H200", ""),
        (facts(layers=("pid",)), {}, None, "", "puts no network, mount, files, reads, syscalls isolation layer"),
        (facts(layers=()), {"walls": "none"}, None, "", ""),
        (
            facts(hardware="NVIDIA H100"),
            {},
            facts(),
            "",
            "and this run's figures are of a NVIDIA H200: give it",
        ),
        (facts(), {}, None, "NVIDIA H100", "has a NVIDIA H200, and this run's figures are of"),
        (facts(), {"model": "H100"}, None, "", "has a NVIDIA H200, and model=H100 is asked for"),
        (facts(torch="2.9.0"), {}, facts(), "", "has torch 2.9.0, and the run's other judges 2.11.0"),
        (facts(driver="1"), {}, facts(), "", "has driver 1, and"),
    ],
)
def test_only_nodes_that_are_alike_judge(
    found: NodeFacts, options: dict[str, Any], first: NodeFacts | None, hardware: str, said: str
) -> None:
    why = refusal(found, ClusterOptions(**options), first, hardware)
    assert said in why and bool(said) is bool(why)


def test_another_version_does_not_judge() -> None:
    other = facts()
    old = other.model_copy(update={"environment": other.environment.model_copy(update={"kernelgauge": "0.0.1"})})
    assert "has kernelgauge 0.0.1, and the driver" in refusal(old, ClusterOptions(), None, "")


def test_the_model_of_a_gpu_is_told_by_a_resource() -> None:
    h100 = {"GPU": 8.0, "accelerator_type:H100": 1.0}
    assert accelerators([h100, {"GPU": 1.0, "accelerator_type:H200": 1.0}, {"CPU": 4.0}]) == ["H100", "H200"]
    assert judges_on(h100, "cuda", "") == judges_on(h100, "cuda", "h100") == 8
    assert judges_on(h100, "cuda", "NVIDIA H100 80GB HBM3") == 8
    assert judges_on(h100, "cuda", "H200") == judges_on(h100, "cpu", "") == 0
    assert judges_on({"GPU": 2.0}, "cuda", "H200") == 2, "what says nothing is asked when its judge is there"


class Process:
    """In place of the process that judges: notes what it is asked, and answers when it may."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, bool]] = []
        self.may = threading.Event()
        self.leased: Callable[[], bool] = lambda: True

    def call(self, call: Any, about: str, device: str) -> Any:
        if "job" not in call.keywords:
            return ()
        assert self.leased()
        job = call.keywords["job"]
        self.may.wait(60)
        self.kept.append((job.problem.key, call.keywords["keep"]))
        return make_evaluation(job.problem.key)


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JudgeActor:
    monkeypatch.setenv("KERNELGAUGE_CACHE", str(tmp_path))
    monkeypatch.setattr("kernelgauge.cluster.judge.JudgeProcess", lambda settings: Process())
    monkeypatch.setattr("kernelgauge.cluster.judge.require_backend", lambda *_: None)
    made = JudgeActor("cuda:0", Limits(), 1, True)
    made._facts = facts()
    return made


def order(problem: str, sample: int = 0, answer: Any = None) -> Order:
    named = Problem(key=problem, name="named", source=f"# {problem}")
    return Order(
        named, load_protocol("strict"), answer or Candidate(problem=problem, source="", backend="torch"), sample
    )


def asked(judge: JudgeActor, *orders: Order) -> list[threading.Thread]:
    """Each on a thread, in this order, as Ray calls an actor."""
    threads = []
    for number, each in enumerate(orders):
        before = len(judge._waiting)
        threads.append(threading.Thread(target=judge.judge, args=(f"token {number}", each, None), daemon=True))
        threads[-1].start()
        assert comes_true(lambda before=before: len(judge._waiting) == before + 1)
    return threads


def test_a_gpu_keeps_the_reference_for_the_next_of_its_problem(judge: JudgeActor, tmp_path: Path) -> None:
    free = threading.Event()
    process: Any = judge._process
    threads = asked(judge, order("1/9"), order("1/1"), order("1/1", 1), order("1/2"))

    def other() -> None:
        with Leases(tmp_path / "locks").exclusive("cuda:0"):
            free.set()

    waits = threading.Thread(target=other, daemon=True)
    waits.start()
    time.sleep(0.2)
    assert not free.is_set(), "the lease is held while the process judges"
    process.may.set()
    for thread in (*threads, waits):
        thread.join(60)
    assert process.kept == [("1/9", False), ("1/1", True), ("1/1", False), ("1/2", False)]
    assert free.is_set()


def test_what_had_no_answer_is_asked_about_without_a_lease_of_its_own_in_the_way(judge: JudgeActor) -> None:
    process: Any = judge._process
    process.may.set()
    skip = NoCandidate(problem="1/1", contestant="person", reason="none")
    judge._in_a_turn = 1
    judge._held.enter_context(judge._leases.exclusive("cuda:0"))
    found = judge.judge("token", order("1/1", answer=skip), None).result
    assert isinstance(found, NoCandidate) and found.scored


def test_a_call_that_is_repeated_gets_the_same_answer(judge: JudgeActor) -> None:
    process: Any = judge._process
    process.may.set()
    first, again = (judge.judge("token", order("1/1"), None).result for _ in range(2))
    assert isinstance(first, Evaluation) and first is again and len(process.kept) == 1
