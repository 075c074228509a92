"""Rounds of `pairs make` over a session that judges as it is told: what goes on, what ends, and what is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from pair_bench import Bench, leads_of, make_maker, usual, verdict
from pair_rows import make_module

from kernelgauge.backends.cpp import CppBackend
from kernelgauge.errors import (
    BackendMissing,
    DeviceMissing,
    KernelgaugeError,
    MachineError,
    ReferenceTooLarge,
    UsageError,
)
from kernelgauge.pairs import inference
from kernelgauge.pairs.examination import SAME
from kernelgauge.pairs.inference import inferred
from kernelgauge.pairs.module import Module, NotInTime
from kernelgauge.pairs.sources import Lead
from kernelgauge.schema import Candidate, NoCandidate

NAMES = [f"m{number}" for number in range(200)]


def test_rows_are_made_until_there_are_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker, workshop = make_maker(monkeypatch, tmp_path, Bench(usual), leads_of(NAMES), rows=10)
    with workshop:
        maker.run()
        assert [row.module for row in workshop.rows] == NAMES[:10]
        assert {row.kind for row in workshop.rows} == {"positive"}


def test_without_a_compiler_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CppBackend, "missing", lambda self, device: "no C++ compiler")
    bench = Bench(usual)
    maker, workshop = make_maker(monkeypatch, tmp_path, bench, leads_of(NAMES))
    with workshop, pytest.raises(BackendMissing, match=r"cannot be judged here: no C\+\+ compiler"):
        maker.run()
    assert bench.asked == [] and not workshop.modules


def test_a_compiler_that_always_fails_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str, made: object) -> NoCandidate:
        return NoCandidate(problem=name, contestant="inductor", sample=0, reason="g++ failed\nat length")

    maker, workshop = make_maker(monkeypatch, tmp_path, Bench(nothing), leads_of(NAMES))
    with workshop, pytest.raises(UsageError, match=r"none of the last 64 kernels .* the last: g\+\+ failed$"):
        maker.run()


@pytest.mark.parametrize("error", [DeviceMissing("gone"), BackendMissing("no Triton")])
def test_what_all_kernels_need_is_said_and_nothing_is_dropped_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: KernelgaugeError
) -> None:
    maker, workshop = make_maker(monkeypatch, tmp_path, Bench(lambda *_: error), leads_of(NAMES))
    with workshop, pytest.raises(type(error)):
        maker.run()
    assert not workshop.judged


def test_a_problem_that_does_not_fit_is_dropped_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(name: str, made: object) -> object:
        return ReferenceTooLarge("it needs 90 GB") if name == "m1" else usual(name, None)

    maker, workshop = make_maker(monkeypatch, tmp_path, Bench(answer), leads_of(NAMES), rows=3)
    with workshop:
        maker.run()
        assert [row.module for row in workshop.rows] == ["m0", "m2", "m3"]
        assert "it needs 90 GB" in [each.dropped for each in workshop.judged.values()]


def test_modules_are_examined_against_what_was_there_before_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept by one thread while another looks would change a dictionary that is being read."""
    maker, workshop = make_maker(
        monkeypatch, tmp_path, Bench(usual), leads_of(["m0", "m1", "m1~again", *NAMES[2:]]), rows=10
    )
    seen, ours = [], threading.get_ident()
    before = workshop.structures

    def structures() -> Mapping[str, str]:
        seen.append(threading.get_ident())
        return before()

    monkeypatch.setattr(workshop, "structures", structures)
    with workshop:
        maker.run()
        assert workshop.modules["m1~again"].refused == SAME and not workshop.modules["m1"].refused
    assert set(seen) == {ours}


def test_a_folder_is_gone_through_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = [f"bad{number}" for number in range(300)]
    maker, workshop = make_maker(monkeypatch, tmp_path, Bench(usual), leads_of([*bad, "m0"]))
    with workshop:
        maker.run()
        assert [row.module for row in workshop.rows] == ["m0"]


def test_endless_sources_that_give_nothing_are_left_to_those_that_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = leads_of([f"bad{number}" for number in range(1000)], endless=True)
    folder = leads_of([f"bad~{number}" for number in range(500)] + ["m0"])
    each = [lead for both in zip(bad, folder, strict=False) for lead in both] + bad[len(folder) :]
    maker, workshop = make_maker(monkeypatch, tmp_path, Bench(usual), each)
    with workshop:
        maker.run()
        assert [row.module for row in workshop.rows] == ["m0"]
        assert sum(lead.name in workshop.modules for lead in bad) < 220


def test_a_machine_that_fails_on_a_module_goes_on_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed() -> Module:
        raise MachineError("killed from outside")

    def slow() -> Module:
        raise NotInTime("not within 120 s")

    leads = [Lead("killed", killed), Lead("slow", slow), *leads_of(["m0", "m1"])]
    for rows in (1, 2):  # the second time it goes on, as a user would type it
        maker, workshop = make_maker(monkeypatch, tmp_path, Bench(usual), leads, rows=rows)
        with workshop:
            maker.run()
            assert [row.module for row in workshop.rows] == ["m0", "m1"][:rows]
            assert [str(each) for each in maker.failed] == ["killed from outside"]
            assert not workshop.modules.keys() & {"killed", "slow"}


def test_who_stops_the_command_waits_for_no_examination(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, ended = threading.Event(), []

    def slow(name: str) -> Module:
        try:
            if name == "late":  # it comes to its search only after the command was stopped
                stopped.wait()
            return inferred(name, "import time\ntime.sleep(100)\n", make_module(name).provenance, ())
        except (MachineError, NotInTime) as error:
            ended.append((name, type(error)))
            raise

    def quick() -> Module:
        while not inference._UNDER_WAY:
            time.sleep(0.01)
        return make_module("quick")

    def stop(*_: str) -> None:
        raise KeyboardInterrupt

    def abandon() -> None:
        before()
        stopped.set()

    before = inference.abandon
    monkeypatch.setattr(inference, "abandon", abandon)
    leads = [Lead("quick", quick), *(Lead(name, partial(slow, name)) for name in ("slow", "late"))]
    bench = Bench(usual)
    maker, workshop = make_maker(monkeypatch, tmp_path, bench, leads, jobs=3)
    monkeypatch.setattr(maker, "_tell", stop)
    with workshop:
        with pytest.raises(KeyboardInterrupt):
            maker.run()
        assert set(workshop.modules) == {"quick"}
    assert sorted(ended) == [("late", MachineError), ("slow", MachineError)] and bench.abandoned == 1


def test_a_machine_that_fails_always_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(lambda *_: MachineError("no memory"))
    maker, workshop = make_maker(monkeypatch, tmp_path, bench, leads_of(NAMES))
    with workshop:
        maker.run()
    assert len(bench.asked) == len(maker.failed) == 3 * 16


def test_the_share_of_negatives_is_reached_whatever_turns_out_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one kind of cheat is refused: most proposals make no row."""

    def answer(name: str, made: Candidate | None) -> object:
        return verdict("rejected") if made and "_zeros" in made.source else verdict()

    maker, workshop = make_maker(monkeypatch, tmp_path, Bench(answer), leads_of(NAMES), rows=6, negatives=0.5)
    with workshop:
        maker.run()
        kinds = [row.kind for row in workshop.rows]
    assert kinds.count("negative") == kinds.count("positive") >= 3


def test_negatives_are_judged_beside_the_next_kernels_of_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the devices wait while the compiler writes, and the compiler while negatives are judged."""
    bench = Bench(usual)
    maker, workshop = make_maker(monkeypatch, tmp_path, bench, leads_of(NAMES), rows=60, negatives=0.3)
    with workshop:
        maker.run()
        kinds = [row.kind for row in workshop.rows]
    assert 60 <= len(kinds) <= 64 and round(0.3 / 0.7 * kinds.count("positive")) == kinds.count("negative")
    first, *middle = [run for run in bench.runs if False in run]
    assert not any(first) and len(middle) >= 2 and all(True in run for run in middle)
    assert sum(all(run) for run in bench.runs) <= 2  # at the end: the last negatives, and their second verdicts


def test_what_waits_for_a_second_verdict_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endless sources that give nothing have the others gone through from their beginning."""
    bad = leads_of([f"bad{number}" for number in range(300)], endless=True)
    folder = leads_of([f"m{number}" for number in range(300)])
    bench = Bench(lambda *_: verdict("wrong_value"))
    each = [lead for both in zip(bad, folder, strict=True) for lead in both]
    maker, workshop = make_maker(monkeypatch, tmp_path, bench, each, rows=1000, jobs=64)
    with workshop:
        maker.run()
        assert len(workshop.judged) == 300
    assert len(bench.asked) == 600


def test_negatives_that_are_never_refused_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maker, workshop = make_maker(
        monkeypatch, tmp_path, Bench(lambda *_: verdict()), leads_of(NAMES[:2]), negatives=0.5
    )
    with workshop:
        maker.run()
        assert [row.kind for row in workshop.rows] == ["positive"] * 2


def test_negatives_that_the_machine_fails_on_are_not_proposed_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(lambda name, made: MachineError("no memory") if made else verdict())
    maker, workshop = make_maker(monkeypatch, tmp_path, bench, leads_of(NAMES[:2]), negatives=0.5)
    with workshop:
        maker.run()
        assert [row.kind for row in workshop.rows] == ["positive"] * 2
    assert maker.failed


def test_a_negative_that_the_machine_fails_on_is_left_to_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(lambda name, made: MachineError("no memory") if made else verdict())
    maker, workshop = make_maker(monkeypatch, tmp_path, bench, leads_of(NAMES), rows=20, negatives=0.5)
    with workshop:
        maker.run()
        assert [row.kind for row in workshop.rows] == ["positive"] * 20
    assert len(maker.failed) <= 20
