"""The rings themselves: what has changed is proven at once, what has not in its turn, and everything in nightly."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from import_graph import parts, program
from rings import FAILED, PACKAGE, RINGS, ROOMS, ROOT, ROTATION, Proof, in_turn, unchanged
from scheduling import APART, FIRST, scope

NAMES = [f"tests/x/test_x.py::test_it[{number}]" for number in range(33)]


def proofs(**changes: object) -> dict[str, Proof]:
    values = {"digest": "as it was", "family": "x", "days": 14}
    return {name: Proof(**{"unit": name, **values, **changes}) for name in NAMES}


def proven(names: list[str]) -> dict[str, dict[str, str]]:
    cases = [name.partition("[")[2].removesuffix("]") for name in names]
    return {"tests/x/test_x.py::test_it": dict.fromkeys(cases, "as it was")}


@pytest.mark.parametrize("count", [1, 13, 14, 15, 33, 200])
def test_all_have_their_turn_in_so_many_days_whatever_the_day(count: int) -> None:
    waiting = [str(number) for number in range(count)]
    for today in (0, 7, 20782):
        turns = [in_turn(waiting, 14, rotation) for rotation in range(today, today + 14)]
        assert set().union(*turns) == set(waiting)
        assert {len(turn) for turn in turns} == {-(-count // 14)}


def test_what_has_changed_or_was_never_proven_is_never_left_out() -> None:
    assert unchanged(proofs(digest="another"), [proven(NAMES)], 0) == set()
    assert unchanged(proofs(), [], 0) == set()
    out = unchanged(proofs(), [proven(NAMES[:20]), proven(NAMES[10:25])], 0)
    assert out < set(NAMES[:25]) and len(out) == 23, "two of 25 have their turn"


def test_what_failed_here_runs_until_it_passes_whatever_the_record_says() -> None:
    here = {"tests/x/test_x.py::test_it": {"0": FAILED, "1": "as it was"}}
    assert all(NAMES[0] not in unchanged(proofs(), [proven(NAMES), here], rotation) for rotation in range(14))
    assert any(NAMES[1] in unchanged(proofs(), [proven(NAMES), here], rotation) for rotation in range(14))


def test_the_same_rotation_leaves_out_the_same() -> None:
    first, again, next_day = (unchanged(proofs(), [proven(NAMES)], rotation) for rotation in (5, 5, 6))
    assert first == again != next_day


def test_what_shares_a_fixture_has_its_turn_together() -> None:
    for rotation in range(3):
        assert len(unchanged(proofs(unit="one"), [proven(NAMES)], rotation)) == 0
    both = {**proofs(unit="one"), "tests/x/test_y.py::test_y": Proof("as it was", "x", "other", 14)}
    known = [proven(NAMES), {"tests/x/test_y.py::test_y": {"": "as it was"}}]
    assert {len(unchanged(both, known, rotation)) for rotation in range(2)} == {1, len(NAMES)}


def test_each_family_goes_round_for_itself() -> None:
    for rotation in range(20):
        out = unchanged({name: Proof("as it was", name, name, 14) for name in NAMES}, [proven(NAMES)], rotation)
        assert out == set(), "a family of one always has its turn"


def test_a_room_of_one_unit_waits_for_its_turn_among_those_of_all_rooms(request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.proof(text="relu", unit="package"))
    named = Proof.of(request.node)
    assert named is not None and named.family == ROOMS
    rooms = {"tests/y/test_y.py::test_y[0]": named, **proofs(family=ROOMS)}
    known = [proven(NAMES), {"tests/y/test_y.py::test_y": {"0": named.digest}}]
    ran = [
        rotation for rotation in range(14) if "tests/y/test_y.py::test_y[0]" not in unchanged(rooms, known, rotation)
    ]
    assert 1 <= len(ran) <= 2


def test_a_text_that_only_this_checkout_knows_is_refused(request: pytest.FixtureRequest) -> None:
    """Its proof would run in every fresh checkout, whatever is recorded."""
    request.node.add_marker(pytest.mark.proof(text="relu"))
    assert Proof.of(request.node) is not None
    request.node.add_marker(pytest.mark.proof(text=f"Entry(path={PACKAGE / 'problems'!r})"), append=False)
    with pytest.raises(pytest.UsageError, match="no other checkout"):
        Proof.of(request.node)


def test_the_parts_of_a_module_are_all_that_it_imports_of_these_rooms() -> None:
    found = parts("worker.describer", "worker", "wire")
    assert {path.partition("/")[0] for path in found} == {"worker", "wire"}
    assert {"worker/describer.py", "worker/serving.py", "wire/regions.py"} <= set(found)
    assert "worker/candidate.py" not in found and "wire/oracle_commands.py" not in found
    found = program("defences.py")
    assert {"benchmarks/defences.py", "benchmarks/defences_steps.py"} <= set(found)
    assert "benchmarks/aa.py" not in found


def test_cases_that_share_nothing_go_by_themselves_and_a_file_keeps_its_fixture() -> None:
    (problems,) = APART
    assert scope(f"{problems}::test_it[1/1]") != scope(f"{problems}::test_it[1/2]")
    assert scope("tests/x/test_x.py::test_it[1]") == scope("tests/x/test_x.py::test_that") == "tests/x/test_x.py"
    assert all((ROOT / name).is_file() for name in (*APART, *FIRST))


@pytest.mark.proof("tests/kit/rings.py", "tests/verification/test_every_problem.py")
@pytest.mark.processes
def test_each_ring_has_what_the_one_within_has() -> None:
    """As `make` calls them, on two folders: problems, marked as proofs, and tests with and without processes."""
    found = {}
    collect = [sys.executable, "-m", "pytest", "tests/verification", "tests/store", "--collect-only", "-q"]
    for ring in RINGS:
        line = [*collect, "--ring", ring]
        said = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, env={**os.environ, ROTATION: "3"})
        assert said.returncode == 0, said.stdout + said.stderr
        found[ring] = {line for line in said.stdout.splitlines() if "::" in line}
    assert found["fast"] and found["fast"] < found["test"] <= found["nightly"]
    problems = {name for name in found["nightly"] if "test_problem_is_as_published" in name}
    assert len(problems) == 270 and not problems & found["fast"] and problems & found["test"]
