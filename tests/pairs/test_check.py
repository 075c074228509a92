"""Rows judged again from the file alone: the same verdict, and a file whose verdicts were changed is seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import command_here
from pair_bench import Bench, verdict
from pair_rows import KERNEL, make_module, make_row

from kernelgauge.config import load_protocol
from kernelgauge.errors import BackendMissing, KernelgaugeError, MachineError, ReferenceTooLarge
from kernelgauge.pairs import columns
from kernelgauge.pairs.check import check
from kernelgauge.pairs.row import Row, row_of
from kernelgauge.schema import Candidate, Outcome
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

TEXTS = {
    "right": KERNEL,
    "wrong": KERNEL.replace("+ 1", "+ 2"),
    "cheat": KERNEL.replace("return", "x.zero_()\n        return"),
}


@pytest.fixture(scope="module")
def rows(session: Session, quick: str) -> list[Row]:
    """A right, a wrong and a cheating kernel, judged under a protocol that only the rows know."""
    rules, module = load_protocol(quick).under("ieee"), make_module()
    made = []
    for name, text in TEXTS.items():
        problem = module.problem("full")
        record = session.evaluate(problem, text, backend="torch", protocol=rules, device="cpu", timed=False)
        candidate = Candidate(problem=module.name, source=text, backend="torch")
        how = "compiler" if record.passed else "mutation"
        made.append(row_of(name, module, "f" * 16, candidate, record, rules, how))
    assert [row.outcome.value for row in made] == ["passed", "wrong_value", "rejected"]
    return made


def _checked(rows: list[Row], path: Path) -> tuple[int, dict]:
    columns.write(rows, path)
    done = command_here("pairs", "check", str(path), "--untimed", "--json", "--device", "cpu")
    return done.returncode, json.loads(done.stdout)


def test_every_row_has_the_same_verdict_again(rows: list[Row], tmp_path: Path) -> None:
    code, found = _checked(rows, tmp_path / "pairs.parquet")
    assert (code, found["rows"], found["same"], found["differs"], found["other_hardware"]) == (0, 3, 3, [], 0)


def test_a_changed_verdict_is_seen_and_a_size_of_error_is_none(rows: list[Row], tmp_path: Path) -> None:
    narrow = rows[1].model_copy(update={"outcome": Outcome.WRONG_PRECISION})
    forged = rows[2].model_copy(update={"outcome": Outcome.PASSED, "kind": "positive", "rule": None})
    code, found = _checked([narrow, forged], tmp_path / "pairs.parquet")
    assert (code, found["same"], found["wrong_otherwise"]) == (1, 1, 1)
    (differs,) = found["differs"]
    assert differs["then"] == "passed" and differs["now"].startswith("rejected")


def _stopped() -> object:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("error", "unjudged"),
    [(ReferenceTooLarge("it needs 90 GB\nof 80"), {"it needs 90 GB": 1}), (MachineError("no memory"), {})],
)
def test_a_row_that_cannot_be_judged_costs_no_other(error: KernelgaugeError, unjudged: dict[str, int]) -> None:
    given = [make_row("a"), make_row("b")]
    answers = iter([error, verdict()])
    found = check(Bench(lambda *_: next(answers)), given, "cpu", 1, timed=False)  # type: ignore[arg-type]
    assert (found.rows, found.same, found.not_judged, found.unjudged) == (2, 1, 1, unjudged)


def test_what_no_row_can_be_judged_without_is_said() -> None:
    bench = Bench(lambda *_: BackendMissing("no g++"))
    with pytest.raises(BackendMissing):
        check(bench, [make_row()], "cpu", 1, timed=False)  # type: ignore[arg-type]


def test_an_interrupted_check_says_what_it_knows() -> None:
    answers = iter([verdict, _stopped])
    bench = Bench(lambda *_: next(answers)())
    found = check(bench, [make_row("a"), make_row("b")], "cpu", 1, timed=False)  # type: ignore[arg-type]
    assert found.partial and (found.rows, found.same) == (1, 1)
