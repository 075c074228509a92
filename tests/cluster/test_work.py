"""The work queue of a cluster: whatever is lost goes back to it, and every candidate ends once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelgauge.backends.cache import BuildCache
from kernelgauge.cluster.binaries import NotPortable, packed, unpacked
from kernelgauge.cluster.options import options_from
from kernelgauge.cluster.work import LOSSES, Item, WorkQueue
from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError, UsageError
from kernelgauge.execution.local import Task
from kernelgauge.execution.machines import ThisMachine, machines_named
from kernelgauge.execution.order import Order
from kernelgauge.generation.inductor import Inductor
from kernelgauge.schema import Candidate, Problem

STRICT = load_protocol("strict")


def order(problem: str = "1/1", sample: int = 0, backend: str = "cuda") -> Order:
    named = Problem(key=problem, name="named", source=f"# {problem}")
    return Order(named, STRICT, Candidate(problem=problem, source="", backend=backend), sample)


def ordered(work: WorkQueue, *problems: str, backend: str = "cuda") -> list[Item]:
    found = []
    for problem in problems:
        item = work.begin(Task(problem, 0, lambda device: None))  # type: ignore[arg-type,return-value]
        work.ordered(item, order(problem, backend=backend))
        found.append(item)
    return found


def test_a_judge_stays_with_a_problem() -> None:
    work = WorkQueue()
    one, other, again = ordered(work, "1/1", "1/2", "1/1")
    for item in (one, other, again):
        work.to_judge(item)
    first = work.next_to_judge(None)
    assert first is one and work.next_to_judge(first) is again and work.next_to_judge(again) is other
    assert work.next_to_judge(other) is None


def test_a_builder_gets_what_it_can_build() -> None:
    work = WorkQueue()
    (cuda,), (cpp,) = ordered(work, "1/1"), ordered(work, "1/2", backend="cpp")
    work.to_build(cuda)
    work.to_build(cpp)
    assert work.next_to_build(["cpp"]) is cpp and work.next_to_build(["cpp"]) is None
    work.leave_unbuilt(but=["cuda"])
    assert work.next_to_judge(None) is None
    work.leave_unbuilt()
    assert work.next_to_judge(None) is cuda
    work.built(cpp, "binary")
    assert cpp.shipment == "binary" and work.next_to_judge(None) is cpp


def test_what_is_lost_comes_first_again_until_it_has_taken_too_many_with_it() -> None:
    work = WorkQueue()
    one, other = ordered(work, "1/1", "1/2")
    work.to_judge(one)
    work.to_judge(other)
    for _ in range(LOSSES - 1):
        assert work.next_to_judge(None) is one
        assert work.lost(one) is None
    assert work.next_to_judge(None) is one
    error = work.lost(one)
    assert isinstance(error, MachineError) and "1/1: 3 machines were lost" in str(error)


def test_a_second_answer_is_dropped() -> None:
    work = WorkQueue()
    (one,) = ordered(work, "1/1")
    work.to_judge(one)
    assert work.end(one) and not work.end(one)
    assert len(work) == 0 and work.next_to_judge(None) is None


def test_equal_orders_have_one_key() -> None:
    assert order().key == order().key
    other = Order(order().problem, STRICT, Inductor(), 0)
    assert len({order().key, order("1/2").key, order(sample=1).key, order(backend="cpp").key, other.key}) == 5


def test_a_build_travels(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "inner").mkdir(parents=True)
    (made / "inner" / "kernel.so").write_bytes(b"\x7fELF")
    cache = BuildCache(tmp_path / "cache")
    assert (unpacked(cache, "key", packed(made)) / "inner" / "kernel.so").read_bytes() == b"\x7fELF"
    assert cache.get("key") is not None


def test_nothing_of_a_build_leaves_its_folder(tmp_path: Path) -> None:
    """Candidates run beside what is packed: a link of theirs must not write elsewhere on the node that judges."""
    made, target = tmp_path / "made", tmp_path / "target"
    made.mkdir()
    target.mkdir()
    (made / "link").symlink_to(target)
    cache = BuildCache(tmp_path / "cache")
    with pytest.raises(NotPortable):
        unpacked(cache, "key", packed(made))
    assert cache.get("key") is None and not list(target.iterdir())


def test_options_follow_the_name() -> None:
    found = options_from("10.0.0.1:6379,model=H100,judges=8,walls=none")
    assert (found.address, found.model, found.judges, found.walls) == ("10.0.0.1:6379", "H100", 8, "none")
    assert options_from("").address == options_from("builds=0").address == "auto"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("auto,judges", "wants OPTION=VALUE, not 'judges'"),
        ("auto,gpus=2", "no option 'gpus': there are address, model"),
        ("judges=0", "judges: "),
        ("ray://head:10001", "start it on a node"),
    ],
)
def test_wrong_options_are_said(given: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        options_from(given)


def test_executors_are_named() -> None:
    assert isinstance(machines_named(None), ThisMachine) and isinstance(machines_named("local"), ThisMachine)
    own = machines_named("kernelgauge.execution.machines:ThisMachine")
    assert isinstance(own, ThisMachine)
    with pytest.raises(UsageError, match=r"unknown executor 'rey'; did you mean ray\?"):
        machines_named("rey")
    with pytest.raises(UsageError, match="the executor local takes nothing"):
        machines_named("local:here")
