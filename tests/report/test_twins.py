"""A run beside one on twins of its problems: the difference with its interval, wherever a report shows it."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from commands import command_here
from factories import make_answer, make_environment, make_header

from kernelgauge.errors import UsageError
from kernelgauge.problems import suites
from kernelgauge.problems.writing import write_suite
from kernelgauge.report.figures.twins import in_words, twinned
from kernelgauge.runs import load
from kernelgauge.store import Run

COUNT = 40


@pytest.fixture
def twins_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two twins of each of the first problems of level 1."""
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(tmp_path / "suites"))
    rows = []
    for number in range(2 * COUNT):
        facts = {"number": number + 1, "name": f"twin_{number}", "tags": [], "domains": {}, "sizes": {}}
        rows.append(({**facts, "weakness": None, "twin_of": f"1/{number // 2 + 1}"}, "x = 1\n"))
    about = suites.About(name="twins", origin="recipe twin all", created=date(2026, 11, 25), purpose="evaluation")
    with suites.installing("twins", False) as folder:
        write_suite(folder, about, {1: rows})


def _run(path: Path, keys: list[str], right: int, there: dict[str, str] | None = None, **header: object) -> Path:
    """A run in which so many of these problems have a right and fast answer."""
    environment = make_environment(**there or {})
    with Run.create(path, make_header(problems=tuple(keys), **header)) as run:
        for place, key in enumerate(keys):
            given = {"speedup": 2.0} if place < right else {"outcome": "wrong_value"}
            run.append(*make_answer(key, source=f"# {key}\n", level=1, environment=environment, **given))
    return path


SUITE = [f"1/{number + 1}" for number in range(COUNT)]
TWINS = [f"twins:1/{number + 1}" for number in range(2 * COUNT)]


def test_a_drop_is_told_with_its_interval(tmp_path: Path, twins_suite: None) -> None:
    run, twins = _run(tmp_path / "run", SUITE, 32), _run(tmp_path / "twins", TWINS, 32)
    found = twinned(load(run), load(twins))
    assert (found.problems, found.twins, found.created, found.others) == (COUNT, 2 * COUNT, ("2026-11-25",), 0)
    correct, fast = found.shares
    # 32 of 40 problems against 16 of 40, as 32 of 80 twins are right.
    assert correct.shares == fast.shares == (0.8, 0.4) and correct.difference == pytest.approx(-0.4)
    assert correct.interval[0] < -0.4 < correct.interval[1] < 0 and (correct.better, correct.worse) == (0, 16)
    assert found.contaminated is True and "surely worse" in in_words(found)


def test_no_drop_is_no_sign_and_few_problems_say_nothing(tmp_path: Path, twins_suite: None) -> None:
    run = _run(tmp_path / "run", SUITE, 32)
    same = twinned(load(run), load(_run(tmp_path / "same", TWINS, 64)))
    assert same.shares[0].difference == 0 and same.contaminated is False
    few = twinned(load(run), load(_run(tmp_path / "few", TWINS[:6], 6)))
    assert few.problems == 3 and few.others == COUNT - 3 and few.contaminated is None
    assert "Too few problems" in in_words(few)


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ({"gpu": "NVIDIA B200"}, "judged elsewhere.*: NVIDIA B200, not "),
        ({"torch": "9.9.9"}, "another version of PyTorch"),
    ],
)
def test_twins_that_were_judged_elsewhere_are_told(
    tmp_path: Path, twins_suite: None, there: dict[str, str], why: str
) -> None:
    run = load(_run(tmp_path / "run", SUITE, 32))
    assert twinned(run, load(_run(tmp_path / "twins", TWINS, 32))).warnings == ()
    (warning,) = twinned(run, load(_run(tmp_path / "other", TWINS, 32, there))).warnings
    assert re.search(why, warning)


def test_the_report_shows_it_everywhere(tmp_path: Path, twins_suite: None) -> None:
    run = _run(tmp_path / "run", SUITE, 32)
    twins = _run(tmp_path / "twins", TWINS, 32, contestant="folder:another")
    page = tmp_path / "report.html"
    shown = command_here("report", str(run), "--twins", str(twins), "--html", str(page))
    said = " ".join(shown.stdout.split())
    assert "correct 80.0 % on the suite, 40.0 % on twins, difference -40.0 points" in said
    assert "another contestant answered the twins: folder:another" in said
    html = page.read_text()
    assert 'id="twins"' in html and "2026-11-25" in html and "-40.0" in html
    printed = json.loads(command_here("report", str(run), "--twins", str(twins), "--json").stdout)
    assert printed["twinned"]["shares"][0]["difference"] == pytest.approx(-0.4)
    assert json.loads(command_here("report", str(run), "--json").stdout)["twinned"] is None
    assert 'id="twins"' not in (command_here("report", str(run), "--html", str(page)) and page.read_text())


def test_what_cannot_be_set_side_by_side_is_refused(tmp_path: Path, twins_suite: None) -> None:
    run = _run(tmp_path / "run", SUITE, 32)
    with pytest.raises(UsageError, match="is on no twins that are known here"):
        twinned(load(run), load(run))
    other = _run(tmp_path / "other", TWINS, 3, kernel_policy="any", math="bf16")
    with pytest.raises(UsageError, match="differ in math"):
        twinned(load(run), load(other))
    elsewhere = _run(tmp_path / "elsewhere", ["1/90", "1/91"], 1)
    with pytest.raises(UsageError, match="twins of other problems"):
        twinned(load(elsewhere), load(_run(tmp_path / "twins", TWINS, 3)))
