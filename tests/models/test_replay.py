"""The answers that come with the package: the same table every time, through each strategy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import asked, close_judges, metrics_of, score_of
from factories import quick_protocol

from kernelgauge.models.contestants.replay import SHIPPED, recorded

FAST = ("1/88", "2/14", "2/18", "2/51")
"""Solved several times as fast as eager in the end."""
SLOW = ("1/25", "1/36", "1/47", "1/89", "2/12", "2/44", "2/63", "3/1")
"""Solved, at a fraction of eager's speed."""
NEVER = ("1/5", "1/12", "1/26", "1/91", "1/92", "1/93", "2/29", "2/33", "2/37", "2/40", "2/76", "3/2")
AT_ONCE = ("1/25", "1/88", "2/12")
"""Solved by the first answer that is one, and slowly."""
THRESHOLDS = ("0.5", "0.8", "1", "1.5", "2")
SEARCHES = (
    "sample,attempts=6",
    "refine,turns=9",
    "refine,turns=9,feedback=G+E+P",
    "evolve,attempts=9,islands=2",
    "tree,ideas=2,beam=1,rounds=8",
)


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A protocol with samples enough that one slow call among them moves no interval across a threshold."""
    text = quick_protocol()
    for few, more in (("min_samples = 4", "min_samples = 20"), ("budget_seconds = 1.0", "budget_seconds = 8.0")):
        assert text.count(few) == 2, "for a CPU and for a GPU"
        text = text.replace(few, more)
    path = tmp_path_factory.mktemp("protocol") / "steady.toml"
    path.write_text(text)
    return str(path)


def table(folder: Path, problems: tuple[str, ...], steady: str, strategy: str) -> dict[str, float]:
    """fast_p of the shipped answers, `0` for the share that is right; all of them measured anew."""
    close_judges()
    log = asked(
        "kernelgauge/replay",
        folder,
        ",".join(problems),
        steady,
        sizes="medium",
        measure_performance=True,
        strategy=strategy,
        jobs=2,
    )
    assert log.status == "success", log.error
    found = metrics_of(log)
    return {"0": found["correct"], **{p: found[f"fast_{p}"] for p in THRESHOLDS}}


def share(problems: tuple[str, ...], right: tuple[str, ...], fast: tuple[str, ...]) -> dict[str, float]:
    hits, wins = (sum(problem in kind for problem in problems) for kind in (right, fast))
    return {"0": hits / len(problems), **dict.fromkeys(THRESHOLDS, wins / len(problems))}


def test_the_answers_are_of_every_kind() -> None:
    given = recorded(SHIPPED)
    assert {problem for problem, _ in given} == {*FAST, *SLOW, *NEVER} and len(given) == 24
    assert sum(len(each.answers) for each in given.values()) > 45
    assert all(each.answers for each in given.values()) and any(each.ideas for each in given.values())


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize("strategy", [*SEARCHES[:2], *SEARCHES[3:], "react"])
def test_each_strategy_comes_to_the_same_verdicts(tmp_path: Path, quick: str, strategy: str) -> None:
    """Right in the end, right and slow, wrong. How fast they are is left to the nightly table: no machine that runs
    tests side by side can promise an interval."""
    problems = ("2/14", "2/12", "2/40")
    log = asked("kernelgauge/replay", tmp_path, ",".join(problems), quick, strategy=strategy, jobs=2)
    assert log.status == "success", log.error
    assert metrics_of(log)["correct"] == pytest.approx(2 / 3)


@pytest.mark.proof("models", "search", "generation")
def test_all_problems_get_the_verdicts_that_they_were_written_for(tmp_path: Path, quick: str) -> None:
    problems = FAST + SLOW + NEVER
    log = asked("kernelgauge/replay", tmp_path, ",".join(problems), quick, strategy="refine,turns=9", jobs=2)
    assert log.status == "success", log.error
    right = {str(sample.id) for sample in log.samples or [] if score_of(sample).value["correct"]}  # type: ignore[index,call-overload]
    assert right == {*FAST, *SLOW}


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("strategy", [*SEARCHES, "sample"])
def test_all_problems_make_the_same_table(tmp_path: Path, steady: str, strategy: str) -> None:
    problems = FAST + SLOW + NEVER
    expected = share(problems, AT_ONCE, ()) if strategy == "sample" else share(problems, FAST + SLOW, FAST)
    assert table(tmp_path, problems, steady, strategy) == pytest.approx(expected)


@pytest.fixture(scope="module", autouse=True)
def _closed_judges() -> Iterator[None]:
    """One judge for all of them: each answer is judged once, and what was chosen again."""
    yield
    close_judges()
