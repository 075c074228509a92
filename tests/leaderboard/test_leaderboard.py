"""Standings worked by hand; the site in a real browser, from the disk, with strings that want to be code."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER, Browser
from commands import command_here
from factories import (
    KERNEL,
    make_answer,
    make_candidate,
    make_environment,
    make_evaluation,
    make_header,
    make_log,
    make_timing,
    quick_protocol,
)

from kernelgauge.cli.main import app
from kernelgauge.config import load_protocol
from kernelgauge.errors import StoreError, UsageError
from kernelgauge.leaderboard import Contestant, Entry, Published, boards, leads, published, ranked
from kernelgauge.leaderboard.conflicts import check_apart
from kernelgauge.leaderboard.entries import Missing, board_setting_of
from kernelgauge.leaderboard.identity import identity
from kernelgauge.leaderboard.publishing import publish
from kernelgauge.leaderboard.static_site import Site, _milliseconds
from kernelgauge.problems.loader import load_problem
from kernelgauge.report.figures.scores import score_run
from kernelgauge.report.figures.shortcomings import shortcomings
from kernelgauge.runs import load
from kernelgauge.schema import (
    BaselineSpeedup,
    Bound,
    Budget,
    Candidate,
    Evaluation,
    Generation,
    NoCandidate,
    TooLarge,
    Work,
)
from kernelgauge.store import Run

needs_browser = pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is on PATH")
EVIL = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'><!--<script>"
A_BOUND = Bound(
    bound_ms=0.5,
    bytes_ms=0.5,
    flops_ms=0.2,
    binding="memory",
    share=0.4,
    headroom=4.0,
    work=Work(flops=2_000_000, inputs=1_000_000, parameters=0, outputs=1_000_000),
    rate="fp32",
    peaks="published",
)
OVER_COMPILE = BaselineSpeedup(
    mode="compile", strongest=True, speedup=1.2, interval=(1.1, 1.3), measured=datetime(2026, 10, 1, tzinfo=UTC)
)
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
BOB = Contestant(name="bob")


def an_entry(
    problem: str = "1/1",
    speedup: float | None = 1.5,
    who: str = "ann",
    *,
    day: int = 0,
    text: str | None = None,
    submitted: bool = False,
    **changes: Any,
) -> Entry:
    """An answer whose text is the contestant's own unless it is said."""
    source = text or f"who = {who!r}, {problem!r}\n"
    digest = make_candidate(problem, source).digest
    created = BEGIN + timedelta(days=day)
    made = make_evaluation(problem, speedup, contestant=who, candidate_digest=digest, created=created, **changes)
    return Entry(made, Contestant(name=who), board_setting_of(made), source, "a run", submitted)


def one_board(*entries: Entry) -> Any:
    (board,) = boards([Published("a run", entries, ())])
    return board


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": "v0.1"},
        {"protocol_digest": "ffff"},
        {"sizes": "medium"},
        {"math": "bf16"},
        {"kernel_policy": "kernel-required"},
        {"environment": make_environment(gpu="NVIDIA H100")},
        {"device": "cpu"},
        {"problem": "mine:1/1"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_not_comparable_is_never_on_one_board(changes: dict[str, Any]) -> None:
    found = boards([Published("a run", (an_entry(), an_entry(who="bob", **changes)), ())])
    assert len(found) == 2
    assert len({board.setting.slug for board in found}) == 2
    assert [len(table.entries) for board in found for table in board.problems.values()] == [1, 1]


def test_a_board_says_how_its_protocol_judges_unless_that_has_changed_since() -> None:
    shipped = load_protocol("v0.1")
    changes: dict[str, Any] = {"protocol": shipped.name, "protocol_digest": shipped.digest}
    index = (Site([Published("a run", (an_entry(**changes, math="tf32"),), ())]).page("index.html") or b"").decode()
    assert "The published procedure: get_inputs() under a public seed" in index and "tf32 arithmetic" in index
    for other in ({"protocol_digest": "ffff"}, {"protocol": "/etc/own.toml"}):
        assert an_entry(**(changes | other)).setting.procedure == ""


def test_a_weak_problem_says_whether_answers_without_the_work_pass_on_this_board() -> None:
    """1/23 is known for it: all zeros pass at the published inputs, and `strict` tells them apart."""
    told = {
        (): "It counts here: on this protocol’s inputs none",
        ("zeros", "replay"): "passed here too: zeros, replay.",
    }
    for trivial, words in told.items():
        site = Site(
            [Published("a run", (an_entry("1/23", protocol="v0.1", trivial_answers=trivial, scored=True),), ())]
        )
        page = (site.page(f"{site.boards[0].setting.slug}/1_23.html") or b"").decode()
        assert "Known to be weak at the published inputs" in page
        assert [each for each in told.values() if each in page] == [words]


def test_what_is_asked_and_does_not_count_is_said_beside_the_shares() -> None:
    found = Site([Published("a run", (an_entry(), an_entry("1/2", trivial_answers=("zeros",), scored=False)), ())])
    index = (found.page("index.html") or b"").decode()
    assert "<b>2</b> problems asked" in index and "<b>1</b> of them does not count" in index and "of 1<" in index


@pytest.mark.parametrize(
    "value, said",
    [
        (3.2, "3.20"),
        (3.23, "3.23"),
        (5.0, "5.00"),
        (0.35, "0.350"),
        (10.1, "10.1"),
        (128.4, "128"),
        (0.0004, "0.0004"),
    ],
)
def test_times_have_three_digits_as_in_a_report(value: float, said: str) -> None:
    assert _milliseconds(value) == said


def test_a_cap_on_the_memory_makes_another_board(tmp_path: Path) -> None:
    for name, cap in (("whole", None), ("capped", 24.0)):
        with Run.create(tmp_path / name, make_header(gpu_memory_gb=cap)) as run:
            run.append(*make_answer("1/1"))
    found = boards(published(Run.read(tmp_path / name)) for name in ("whole", "capped"))
    assert sorted(str(board.setting.gpu_memory_gb) for board in found) == ["24.0", "None"]


def test_kernels_stand_by_what_they_are_faster_than_for_certain() -> None:
    noisy = an_entry(who="noisy", speedup=2.2, spread=0.2)  # 1.76 to 2.64
    sure = an_entry(who="sure", speedup=2.0, spread=0.01)  # 1.98 to 2.02
    slow = an_entry(who="slow", speedup=0.5)
    wrong = an_entry(who="wrong", outcome="wrong_value")
    untimed = an_entry(who="untimed", speedup=None)
    found = ranked([slow, wrong, noisy, untimed, sure])
    assert [(kernel.place, kernel.first.name) for kernel in found] == [(1, "sure"), (2, "noisy"), (3, "slow")]
    assert [kernel.level_with_best for kernel in found] == [True, True, False]


def test_the_same_text_stands_once_by_its_last_record_for_whoever_had_it_first() -> None:
    copied = an_entry(who="bob", speedup=3.0, day=1, text="x = 1  # bob's\n")
    again = an_entry(who="ann", speedup=1.8, day=2, text="x = 1\n")
    first = an_entry(who="ann", speedup=2.0, day=0, text="x = 1\n")
    (kernel,) = ranked([copied, again, first])
    assert (kernel.first.name, kernel.others, kernel.entry.evaluation.speedup) == ("ann", ("bob",), 1.8)
    fails_by_now = an_entry(who="bob", outcome="wrong_value", day=3, text="x = 1\n")
    assert ranked([copied, again, first, fails_by_now]) == []


def test_copies_of_a_kernel_change_nothing_and_credit_nobody_else() -> None:
    """Twenty comments are no twenty chances, and a copy that was lucky is not its copier's."""
    first = an_entry(who="ann", speedup=1.01, spread=0.05, text="x = 1\n", submitted=True)
    lucky = [
        an_entry("1/1", 1.01 + n / 10, who, spread=0.05, day=n, text=f"x = 1  # {n}\n", submitted=True)
        for n, who in enumerate(["ann", "bob"] * 10, start=1)
    ]
    board = one_board(first, *lucky)
    (kernel,) = board.problems["1/1"].kernels
    assert (kernel.first.name, kernel.entry) == ("ann", first) and kernel.others == ("bob",)
    assert [lead.entry for lead in board.problems["1/1"].leads] == [first]
    (row,) = board.standings["all"]
    assert (row.contestant.name, row.group.fast_p["1"], row.group.geomean_speedup) == (
        "ann",
        0.0,
        pytest.approx(1.01),
    )


KERNEL_TEXTS = [
    ("x = f(1)\n", "# note\nx = f( (1) )\n", True),
    ("def f():\n    'Note.'\n    return 1\n", "def f():\n    return 1\n", True),
    ('s = """\nint a; // one\n  int b;"""\n', 's  =  """\nint a;\n/* two */ int b;"""\n', True),
    ("s = 'a'\n", 's = "a"\n', True),
    ('s = """\n#define A 1\nint a;"""\n', 's = """\n#define A\n1 int a;"""\n', False),
    ("x = f(1)\n", "x = f(2)\n", False),
    ('s = """\nint a;"""\n', 's = """\nint b;"""\n', False),
    ("s = 'a  b'\n", "s = 'a b'\n", False),
    ("no python at all", "no  python\nat all", True),
    ('exec("""\nif x:\n    f()\ng()""")\n', 'exec("""\nif x:\n    f()\n    g()""")\n', False),
    ('s = """\n#define S (x) (2*x)\nint a;"""\n', 's = """\n#define S(x) (2*x)\nint a;"""\n', False),
    ('s = """\n#define S/**/(x) x\nint a;"""\n', 's = """\n#define S(x) x\nint a;"""\n', False),
    ('s = """\n#define S\\\\\n (x) x\nint a;"""\n', 's = """\n#define S\\\\\n(x) x\nint a;"""\n', False),
    ('s = """\n#define S(x) x\nint a;"""\n', 's = """\n# define  S( x )  x // id\nint  a;"""\n', True),
    ('s = """\nint f() {\n  return 1;\n}"""\n', 's = """\nint f()\n{ return 1; }\n"""\n', True),
    ('s = """\nfor {x} in y:\n  f({x})\n  g()"""\n', 's = """\nfor {x} in y:\n  f({x})\ng()"""\n', False),
    ('s = """\na:\n  - b: c\n  - d"""\n', 's = """\na:\n  - b: c\n    - d"""\n', False),
    ("s = f'int a;\\n\"{x}  b\";\\n'\n", "s = f'int a;\\n\"{x} b\";\\n'\n", False),
    ("if x:\n    f()\n    g(f.__doc__)\n", "if x:\n    f()\ng(f.__doc__)\n", False),
    ("if x:\n    f()\n    g()\n" + "x = 1\n" * 20_000, "if x:\n    f()\ng()\n" + "x = 1\n" * 20_000, False),
    ("def f():\n    'int a;'\nbuild(f.__doc__)\n", "def f():\n    'int b;'\nbuild(f.__doc__)\n", False),
]


@pytest.mark.parametrize(("one", "other", "same"), KERNEL_TEXTS, ids=range(len(KERNEL_TEXTS)))
def test_a_kernel_is_what_it_computes_from(one: str, other: str, same: bool) -> None:
    assert (identity(one) == identity(other)) is same


@pytest.mark.parametrize("text", ["(" * 100_000, "x = " + "-" * 100_000 + "1", "a" + ".a" * 50_000, "\ud800", "x\0y"])
def test_any_text_has_an_identity(text: str) -> None:
    assert len(identity(text)) == 64


def test_folders_that_would_hide_each_other_are_refused() -> None:
    honest, forged = an_entry(who="ann", id="a" * 32), an_entry("1/2", 9.0, who="bob", id="a" * 32)
    with pytest.raises(StoreError, match="two different records, in ours and theirs"):
        check_apart([Published("ours", (honest,), ()), Published("theirs", (forged,), ())])
    again = an_entry(who="ann", speedup=0.1)
    with pytest.raises(StoreError, match="both hold an answer of 'ann' to 1/1, sample 0"):
        check_apart([Published("run", (honest,), ()), Published("run", (again,), ())])
    with pytest.raises(StoreError, match="run and its log hold the same record of 1/1"):
        check_apart([Published("run", (honest,), ()), Published("its log", (honest,), ())])
    other = an_entry("1/2", who="ann")
    check_apart([Published("a", (honest, honest), ()), Published("b", (other,), ()), Published("c", (), ())])


def test_history_holds_the_records_that_took_the_lead() -> None:
    found = leads([
        an_entry(speedup=1.2, day=0),
        an_entry(who="bob", speedup=1.1, day=1),
        an_entry(who="bob", outcome="rejected", day=2),
        an_entry(who="bob", speedup=1.9, day=3),
    ])  # fmt: skip
    assert [(lead.entry.contestant.name, lead.before) for lead in found] == [("ann", None), ("bob", 1.2)]


def test_a_problem_without_an_answer_counts_as_not_solved() -> None:
    board = one_board(
        an_entry("1/1", 2.0), an_entry("1/2", 2.0), an_entry("2/1", 0.5), an_entry("1/1", 1.5, "bob"),
        an_entry("1/3", 2.0, "bob", outcome="wrong_value"),
    )  # fmt: skip
    rows = {row.contestant.name: row for row in board.standings["all"]}
    assert [row.contestant.name for row in board.standings["all"]] == ["ann", "bob"]
    assert rows["ann"].group.fast_p["1"] == pytest.approx(2 / 4)
    assert rows["bob"].group.fast_p["1"] == pytest.approx(1 / 4)
    assert (rows["ann"].answered, rows["bob"].answered, rows["bob"].group.problems) == (3, 2, 4)
    level2 = {row.contestant.name: row.group.problems for row in board.standings["2"]}
    assert level2 == {"ann": 1, "bob": 1}


def test_the_share_refused_stands_beside_the_share_faster() -> None:
    """Of the same problems: the fourth, which ann has no answer to, is in both."""
    entries = (
        an_entry("1/1", 2.0),
        an_entry("1/2", outcome="rejected", rule="torch_compile"),
        an_entry("1/3", outcome="rejected", rule="late_output", sample=0),
        an_entry("1/3", 2.0, sample=1),
        *(an_entry(f"1/{n}", 2.0, "bob") for n in range(1, 5)),
    )
    site = Site([Published("a run", entries, ())])
    for path in ("index.html", f"{site.boards[0].setting.slug}/index.html"):
        table = (site.page(path) or b"").decode().split("<table")[1].split("</table>")[0]
        headings = [re.sub(r"<.*?>|&nbsp;", "", cell) for cell in re.findall(r"<th scope=.col.*?</th>", table)]
        place = headings.index("refused%")
        assert headings[place - 1] == "correct%"
        rows = [re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.DOTALL) for row in table.split("<tr>")[2:]]
        assert [(row[1], row[place]) for row in rows] == [("bob", "0.0"), ("ann", "37.5")]
        assert [len(row) for row in rows] == [len(headings)] * 2


def test_weak_problems_are_in_no_standing_and_stay_on_the_board() -> None:
    board = one_board(
        an_entry("1/1", 2.0), an_entry("1/2", 9.0, trivial_answers=("zeros",)), an_entry("1/1", 1.5, "bob")
    )
    assert [row.group.problems for row in board.standings["all"]] == [1, 1]
    assert not board.problems["1/2"].scored and board.problems["1/2"].best is not None


def test_of_what_is_handed_in_one_by_one_the_best_is_the_answer() -> None:
    tries = [
        an_entry("1/1", speed, text=f"x = {speed}\n", day=i, submitted=True)
        for i, speed in enumerate((1.1, 2.0, 0.7))
    ]
    (row,) = one_board(
        *tries, an_entry("1/1", outcome="build_failed", text="x = None\n", day=9, submitted=True)
    ).standings["all"]
    assert (row.group.samples, row.group.fast_p["1.5"], row.group.geomean_speedup) == (1, 1.0, pytest.approx(2.0))


def test_samples_of_a_run_are_averaged_and_equal_merit_is_an_equal_place() -> None:
    board = one_board(
        an_entry("1/1", 2.0, sample=0), an_entry("1/1", outcome="wrong_shape", sample=1), an_entry("1/1", 2.0, "bob"),
        an_entry("1/1", 2.0, "cas"),
    )  # fmt: skip
    assert [(row.place, row.contestant.name) for row in board.standings["all"]] == [
        (1, "bob"),
        (1, "cas"),
        (3, "ann"),
    ]
    assert board.standings["all"][2].group.fast_p["1"] == 0.5


def test_records_of_an_earlier_text_are_left_out_and_said() -> None:
    board = one_board(an_entry("1/1", 9.0, problem_digest="0" * 16), an_entry("1/1", 1.5, "bob", day=1))
    assert [entry.contestant.name for entry in board.problems["1/1"].entries] == ["bob"]
    assert board.notes == ("1 record of an earlier text is left out.",)
    assert [row.contestant.name for row in board.standings["all"]] == ["bob"]


def test_figures_of_two_installations_come_with_a_note() -> None:
    board = one_board(an_entry(), an_entry(who="bob", environment=make_environment(torch="2.13.0")))
    assert board.notes == ("These figures come from 2 environments that differ in torch.",)


def test_a_run_brings_its_sources_skips_and_ways_of_asking(tmp_path: Path) -> None:
    asked = Generation(
        backend="cuda",
        option="few_shot",
        temperature=0.7,
        options={"reasoning_effort": "high"},
        max_regenerations=0,
        prompt_digest="ab" * 8,
        strategy="refine,turns=5",
        budget=Budget(calls=20, usd=0.5),
    )
    with Run.create(tmp_path / "run", make_header(generation=asked)) as run:
        run.append(*make_answer("1/1", source="# kept\n"))
        run.append(*make_answer("1/2", speedup=0.8))
        run.append_skip(NoCandidate(problem="1/2", contestant="folder:answers", sample=1, reason="refused"))
    found = published(Run.read(tmp_path / "run"))
    assert found.entries[0].source == "# kept\n"
    assert found.entries[0].contestant.detail == (
        "cuda, refine,turns=5, at most 20 calls 0.5 usd, few shot, temperature 0.7, reasoning_effort high, "
        "0 regenerations, prompt abababab"
    )
    (row,) = boards([found])[0].standings["all"]
    assert (row.group.samples, row.group.no_candidate, row.group.fast_p["0"]) == (3, 1, 0.75)


def test_a_text_that_was_replaced_by_another_is_on_no_board(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", make_header(problems=("1/1",))) as run:
        run.append(*make_answer("1/1", source="# first\n", speedup=5.0))
        run.append(*make_answer("1/1", source="# second\n", speedup=2.0))
        run.append(*make_answer("1/1", source="# second\n", speedup=1.5))
    found = published(Run.read(tmp_path / "run"))
    assert [(entry.source, entry.evaluation.speedup) for entry in found.entries] == [
        ("# second\n", 2.0),
        ("# second\n", 1.5),
    ]
    (board,) = boards([found])
    assert [kernel.timing.speedup for kernel in board.problems["1/1"].kernels] == [1.5]
    assert board.standings["all"][0].group.samples == 1


def test_an_interval_too_wide_to_tell_takes_no_lead() -> None:
    wild = make_timing(13.5).model_copy(update={"interval": (1.35, 135.0)})
    entries = [an_entry(speedup=1.2, day=0), an_entry(who="bob", speedup=13.5, day=1)]
    entries[1] = replace(entries[1], evaluation=entries[1].evaluation.model_copy(update={"timing": wild}))
    assert [lead.entry.contestant.name for lead in leads(entries)] == ["ann"]
    assert [kernel.first.name for kernel in ranked(entries)] == ["ann", "bob"]


def test_a_problem_that_nobody_answered_counts_as_in_the_report(tmp_path: Path) -> None:
    header = make_header(problems=("1/1", "1/2", "2/1", "3/1", "3/2"))
    with Run.create(tmp_path / "run", header) as run:
        run.append(*make_answer("1/1"))
        run.append(*make_answer("1/2", speedup=1.4))
        run.append(*make_answer("2/1", outcome="wrong_value"))
        run.append_skip(NoCandidate(problem="3/1", contestant="folder:answers", reason="/secret: no code in it"))
        run.append_too_large(TooLarge(problem="3/2", level=3, sizes="full", reason="too large"))
    said = score_run(Run.read(tmp_path / "run"))
    (board,) = boards([published(Run.read(tmp_path / "run"))])
    (row,) = board.standings["all"]
    assert (row.group.correct, row.group.problems) == (said.overall.correct, said.overall.problems) == (2, 4)
    assert row.group.fast_p == said.overall.fast_p and row.answered == 3
    assert {level: rows[0].group.problems for level, rows in board.standings.items()} == {
        "all": 4, "1": 2, "2": 1, "3": 1,
    }  # fmt: skip
    others = boards([published(Run.read(tmp_path / "run")), Published("a run", (an_entry("1/1", 2.0, "bob"),), ())])
    assert {each.contestant.name: each.group.problems for each in others[0].standings["all"]} == {
        "folder:answers": 4, "bob": 4,
    }  # fmt: skip
    assert command(str(tmp_path / "run"), "--out", str(tmp_path / "site")).returncode == 0
    (page,) = (tmp_path / "site").glob("*/3_1.html")
    text = page.read_text()
    assert "Nobody has a right answer" in text and "without a candidate" in text and "folder:answers" in text
    assert not any("/secret" in each.read_text() for each in (tmp_path / "site").rglob("*.html"))
    assert "of 4</small>" in next((tmp_path / "site").glob("*/index.html")).read_text()


def test_who_gave_no_candidate_in_a_suite_stands_on_its_board_with_nothing() -> None:
    ours = an_entry("mine:1/1", who="ann", level=1)
    skip = NoCandidate(problem="mine:1/1", level=1, contestant="bob", reason="none")
    (board,) = boards([Published("a", (ours,), ()), Published("b", (), (Missing(skip, BOB, ours.setting),))])
    assert [(row.contestant.name, row.answered, row.group.fast_p["1"]) for row in board.standings["all"]] == [
        ("ann", 1, 1.0),
        ("bob", 0, 0.0),
    ]


@pytest.mark.proof
def test_a_run_that_is_not_whole_says_so_and_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    """A line is torn, and the run stopped: on the board, on standard error, in a comparison."""
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    for folder in (whole, torn):
        with Run.create(
            folder, make_header(problems=("1/1", "1/2", "1/3"), contestant=f"folder:{folder.name}")
        ) as run:
            for problem in ("1/1", "1/2", "1/3") if folder == whole else ("1/1", "1/2"):
                record, candidate = make_answer(problem, contestant=f"folder:{folder.name}")
                run.append(record, candidate)
    file = torn / "evaluations.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    (line,) = shortcomings(load(torn))[:1]
    assert re.fullmatch(r"the last line of evaluations.jsonl is unfinished \(\d+ bytes\) and was left out", line)
    stopped = "the run is not finished: 2 of 3 answers have no verdict yet (1/2, 1/3)"
    assert shortcomings(load(torn))[1:] == (stopped,) and shortcomings(load(whole)) == ()
    (board,) = boards(map(published, map(load, (whole, torn))))
    assert board.notes == (f"torn: {line}.", f"torn: {stopped}.")
    rows = {row.contestant.name: row for row in board.standings["all"]}
    assert (rows["folder:torn"].unfinished, rows["folder:whole"].unfinished) == (True, False)
    assert (rows["folder:torn"].answered, len(board.problems["1/1"].entries)) == (1, 2)
    done = command(str(whole), str(torn), "--out", str(tmp_path / "site"))
    assert done.returncode == 0 and f"kernelgauge: {torn}: {stopped}" in done.stderr and str(whole) not in done.stderr
    page = next((tmp_path / "site").glob("*/index.html")).read_text()
    assert stopped in page and "not a whole run" in page and str(torn) not in page
    for name in ("export", "compare"):
        said = command_here(name, str(whole), str(torn))
        assert said.returncode == 0, said.stderr
        assert stopped in " ".join((said.stderr if name == "export" else said.stdout).split())


def test_a_run_without_any_verdict_is_said_to_be_on_no_board(tmp_path: Path) -> None:
    with Run.create(tmp_path / "mute", make_header(problems=("1/1",))) as run:
        run.append_skip(NoCandidate(problem="1/1", contestant="folder:answers", reason="no code in it"))
    done = command(str(tmp_path / "mute"), "--out", str(tmp_path / "site"))
    assert done.returncode == 0 and "mute stands on no board: it holds no verdict" in done.stderr


def test_samples_that_are_missing_are_counted_by_problem(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", make_header(problems=("1/1", "1/2", "1/3"), samples=2)) as run:
        run.append(*make_answer("1/1"))
        run.append_skip(NoCandidate(problem="1/1", contestant="folder:answers", sample=1, reason="refused"))
        run.append(*make_answer("1/2"))
        run.append_too_large(TooLarge(problem="1/3", level=1, sizes="full", reason="too large"))
    assert shortcomings(load(tmp_path / "run")) == (
        "the run is not finished: 1 of 4 answers have no verdict yet (1/2)",
    )


@pytest.mark.proof
def test_a_log_of_inspect_is_published_as_a_run_is(tmp_path: Path) -> None:
    from inspect_ai.log import write_eval_log

    record, candidate = make_answer("1/1", speedup=2.0, source="# kept\n")
    write_eval_log(make_log([(record, candidate.source)]), str(tmp_path / "some.eval"))
    assert command(str(tmp_path / "some.eval"), "--out", str(tmp_path / "site")).returncode == 0
    (board,) = boards([published(load(tmp_path / "some.eval"))])
    (row,) = board.standings["all"]
    assert (row.group.samples, row.group.fast_p["1"]) == (1, 1.0)
    pages = [page.read_text() for page in (tmp_path / "site").rglob("*.html")]
    assert any("# kept" in page for page in pages)


# The site


def a_site() -> Site:
    kernels = [
        an_entry("1/1", 1 + i / 10, f"contestant {i}", text=f"{KERNEL}NUMBER = {i}\n", day=i) for i in range(7)
    ]
    kernels[6] = an_entry(
        "1/1",
        1.6,
        "contestant 6",
        text=f"{KERNEL}NUMBER = 6\n",
        day=6,
        bound=A_BOUND,
        baseline_speedups=(OVER_COMPILE,),
    )
    others = [an_entry(f"2/{n}", 4 / n, "ann", day=n) for n in (1, 2, 9, 10)]
    failed = an_entry("1/1", who="bob", outcome="wrong_value", day=8)
    elsewhere = an_entry("1/1", 1.3, "ann", environment=make_environment(gpu="NVIDIA H100"))
    return Site([Published("a run", (*kernels, *others, failed, elsewhere), (), "kernelgauge run")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    publish(a_site(), out)
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


def board_of(folder: Path, hardware: str = "nvidia-h200") -> Path:
    (found,) = folder.glob(f"{hardware}-*")
    return found


def opened(browser: Browser, page: Path, width: int = 1400, dark: bool = False) -> None:
    browser.said.clear()
    browser.open(page, width=width, dark=dark)


def test_every_link_leads_to_a_page_of_the_site(folder: Path) -> None:
    pages = list(folder.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text()
        for target in re.findall(r'(?:href|src)="([^"]+)"', text):
            assert target == "data:," or (page.parent / target).is_file(), f"{page} links to {target}"
        assert not re.search(r"https?://", text.split("<pre")[0])


def test_the_record_of_an_entry_is_there_word_for_word(folder: Path) -> None:
    page = (board_of(folder) / "1_1.html").read_text()
    linked = re.findall(r"\.\./records/([0-9a-f]{32})\.html", page)
    assert len(set(linked)) == 8  # seven with a place, one without
    record = json.loads((folder / "records" / f"{linked[0]}.json").read_text())
    assert record["id"] == linked[0] and len(record["timing"]["candidate_samples_ms"]) == 20


@pytest.mark.parametrize("submitted", [False, True])
def test_of_a_text_of_megabytes_a_page_shows_the_ends_and_says_where_the_whole_is(submitted: bool) -> None:
    text = "FIRST = 1\n" + "".join(f"x{number} = {number}\n" for number in range(100_000)) + "LAST = 1\n"
    entry = an_entry(text=text, submitted=submitted)
    site = Site([Published("theirs", (entry,), ())])
    pages = [page.decode() for path in site.paths() if (page := site.page(path)) and b"FIRST = 1" in page]
    assert len(pages) == 2, "the problem's and the record's"
    for page in pages:
        assert ("x50000 = 50000" in page) == submitted
        assert "LAST = 1" in page
        assert submitted or len(page) < 120_000
        assert submitted or f"candidates/{entry.evaluation.candidate_digest}.py of the run a run" in page


def test_a_site_takes_the_place_of_an_earlier_one_and_leaves_other_files_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish(a_site(), site)
    (site / "CNAME").write_text("kernels.example\n")
    publish(Site([Published("a run", (an_entry("3/1"),), ())]), site)
    assert (site / "CNAME").is_file() and (site / "index.html").is_file()
    assert not list(site.rglob("2_1.html")) and len(list(site.glob("records/*.html"))) == 1
    with pytest.raises(StoreError, match="not a site of ours"):
        publish(a_site(), tmp_path)


def test_a_list_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("mine")
    site = tmp_path / "site"
    site.mkdir()
    (site / "site.json").write_text(json.dumps({"pages": ["../keep.txt"]}))
    with pytest.raises(StoreError, match="not below"):
        publish(a_site(), site)
    assert (tmp_path / "keep.txt").is_file()


def test_an_empty_site_says_so() -> None:
    page = Site([]).page("index.html")
    assert page is not None and b"Nothing has been judged yet" in page
    assert Site([]).page("../../etc/passwd") is None


@pytest.mark.processes
@needs_browser
def test_problems_can_be_searched_sorted_and_filtered(browser: Browser, folder: Path) -> None:
    opened(browser, board_of(folder) / "index.html")
    shown = "[...document.querySelectorAll('#problem-rows tr:not([hidden]) b')].map(e => e.textContent)"
    assert browser.js(shown) == ["1/1", "2/1", "2/2", "2/9", "2/10"]
    browser.write("input[type=search]", "2/1")
    assert browser.js(shown) == ["2/1", "2/10"]
    assert browser.js("document.querySelector('output').textContent") == "2 of 5"
    browser.write("input[type=search]", "nowhere")
    assert browser.js("!document.querySelector('[data-none]').hidden")
    browser.write("input[type=search]", "")
    browser.click("th:nth-child(2) button")
    assert browser.js(shown) == ["2/1", "2/2", "1/1", "2/9", "2/10"]
    browser.click("th:nth-child(2) button")
    assert browser.js(shown) == ["2/10", "2/9", "1/1", "2/2", "2/1"]
    browser.choose("[data-filters]", "1")
    assert browser.js(shown) == ["1/1"]
    names = "[...document.querySelectorAll('#levels > :not([hidden]) tbody th')].map(e => e.textContent)"
    assert browser.js(names)[0] == "ann" and len(browser.js(names)) == 9
    browser.choose("[data-shows]", "2")
    assert browser.js("[...document.querySelectorAll('#levels > :not([hidden]) h3')].map(e => e.textContent)") == [
        "Level 2"
    ]
    assert browser.said == []


@pytest.mark.processes
@needs_browser
def test_a_kernel_opens_with_its_code_and_leads_to_its_record(browser: Browser, folder: Path) -> None:
    opened(browser, board_of(folder) / "index.html")
    browser.click("#problem-rows a.problem")
    browser.wait("location.pathname.endsWith('1_1.html') && document.documentElement?.dataset.ready !== undefined")
    assert browser.js("document.querySelectorAll('details[id^=k-]').length") == 5
    assert not browser.js("document.querySelector('#k-2').open")
    browser.click("#k-2 summary")
    browser.wait("document.querySelector('#k-2 pre .h-k') !== null")
    assert "NUMBER = 5" in browser.js("document.querySelector('#k-2 pre').textContent")
    browser.click("#k-2 .meta a")
    browser.wait("location.pathname.includes('/records/') && document.documentElement?.dataset.ready !== undefined")
    browser.wait("document.body?.innerText.includes('Raw samples')")
    text = browser.js("document.body.innerText")
    assert "Correct and faster: 1.500×" in text and "contestant 5" in text
    assert browser.said == []


@pytest.mark.processes
@needs_browser
def test_the_record_of_the_best_says_all_there_is(browser: Browser, folder: Path) -> None:
    page = board_of(folder) / "1_1.html"
    opened(browser, page)
    best = browser.js("document.querySelector('#k-1').innerText")
    assert "1.20× over compile" in best and "reaches 40.0 % of the bound" in best
    browser.click("#k-1 .meta a")
    browser.wait("location.pathname.includes('/records/') && document.body?.innerText.includes('Raw samples')")
    assert browser.said == []


@pytest.mark.processes
@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_is_wider_than_a_phone(browser: Browser, folder: Path, dark: bool) -> None:
    board = board_of(folder)
    record = next(folder.glob("records/*.html"))
    for page in (*folder.glob("*.html"), board / "index.html", board / "1_1.html", record):
        opened(browser, page, width=390, dark=dark)
        assert browser.js("document.documentElement.scrollWidth") <= 390, page
        assert browser.said == []
        light = browser.js("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] > 128")
        assert light != dark


@pytest.mark.processes
@needs_browser
def test_what_a_contestant_writes_never_runs(browser: Browser, tmp_path: Path) -> None:
    where = make_environment(gpu=EVIL)
    everywhere = {"id": "../../" + EVIL, "problem_name": EVIL, "backend": EVIL, "log": EVIL, "protocol": EVIL}
    text = f"{EVIL}\n</pre></details>{EVIL}"
    hostile = an_entry(
        "../../" + EVIL,
        2.0,
        EVIL,
        text=text,
        level=None,
        notes=(EVIL,),
        trivial_answers=(EVIL,),
        environment=where,
        **everywhere,
    )
    failed = an_entry("1/1", None, EVIL, outcome="rejected", rule=EVIL, reason=EVIL, environment=where)
    site = tmp_path / "site"
    publish(Site([Published(EVIL, (hostile, failed), (), EVIL)]), site)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    pages = list(site.rglob("*.html"))
    assert len(pages) == 9
    for page in pages:
        assert re.fullmatch(r"[\w.-]+", page.name)
        opened(browser, page)
        assert browser.js("document.images.length") == 0
        assert "owned" not in browser.js("document.title") or "<img" in browser.js("document.title")
        assert browser.js("document.querySelectorAll('script:not([type])').length") == 1
        assert browser.said == []


# The command


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return command_here("leaderboard", *words)


@pytest.mark.proof
def test_a_forged_record_does_not_survive_being_judged_again(tmp_path: Path) -> None:
    """The run folder claims nine times as fast; its candidate returns zeros."""
    (tmp_path / "quick.toml").write_text(quick_protocol())
    problem = load_problem("1/19", sizes="small")
    source = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x * 0\n"
    forged, candidate = make_answer("1/19", source, speedup=9.0, sizes="small", device="cpu", backend="torch")
    candidate = candidate.model_copy(update={"backend": "torch"})
    forged = forged.model_copy(update={"candidate_digest": candidate.digest, "problem_digest": problem.digest})
    header = make_header(problems=("1/19",), sizes="small", device="cpu")
    with Run.create(tmp_path / "claimed", header) as run:
        run.append(forged, candidate)
    site = tmp_path / "site"
    assert command(str(tmp_path / "claimed"), "--out", str(site)).returncode == 0
    assert any("9.00×" in page.read_text() for page in site.glob("*/1_19.html"))
    again = ["--rejudge", "--protocol", str(tmp_path / "quick.toml")]
    done = command(str(tmp_path / "claimed"), "--out", str(site), *again)
    assert done.returncode == 0, done.stderr
    assert "1/19 (passed, now wrong_value)" in done.stdout
    (page,) = site.glob("*/1_19.html")
    assert "9.00×" not in page.read_text() and "wrong value" in page.read_text()
    assert "few" in page.read_text()
    assert len(Run.read(tmp_path / "claimed").evaluations()) == 1


@pytest.mark.proof
def test_what_was_replaced_or_never_came_is_judged_again_as_such(tmp_path: Path) -> None:
    """A candidate replaced since the last time is judged, and what had no answer has none on the new board."""
    (tmp_path / "quick.toml").write_text(quick_protocol())
    problem = load_problem("1/19", sizes="small")
    header = make_header(problems=("1/19", "1/20"), sizes="small", device="cpu", samples=4)
    run, site = tmp_path / "run", tmp_path / "site"

    def answer(line: str) -> tuple[Evaluation, Candidate]:
        source = f"import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        {line}\n"
        record, candidate = make_answer("1/19", source, sizes="small", device="cpu", problem_digest=problem.digest)
        candidate = candidate.model_copy(update={"backend": "torch"})
        return record.model_copy(update={"candidate_digest": candidate.digest, "backend": "torch"}), candidate

    with Run.create(run, header) as store:
        store.append(*answer("raise ValueError"))
        for key, sample in (("1/19", 1), ("1/19", 2), ("1/20", 0)):
            skip = NoCandidate(problem=key, contestant="folder:answers", sample=sample, reason="refused", level=1)
            store.append_skip(skip)
    again = ["--out", str(site), "--rejudge", "--protocol", str(tmp_path / "quick.toml")]
    assert command(str(run), *again).returncode == 0
    (judged,) = [Run.read(each) for each in (tmp_path / "site.rejudged").iterdir()]
    assert {(skip.problem, skip.sample) for skip in judged.skips()} == {("1/19", 1), ("1/19", 2), ("1/20", 0)}
    (row,) = boards([published(judged)])[0].standings["all"]
    assert (row.group.samples, row.group.no_candidate) == (4, 3)
    with Run.open(run) as store:
        store.append(*answer("return x * 0"))
    done = command(str(run), *again)
    assert done.returncode == 0 and "1/19 (passed, now wrong_value)" in done.stdout, done.stdout + done.stderr
    (page,) = site.glob("*/1_19.html")
    assert "return x * 0" not in page.read_text() and "wrong value" in page.read_text()
    assert "raise ValueError" not in "".join(each.read_text() for each in site.rglob("*.html"))


def test_wrong_use_is_one_sentence(tmp_path: Path) -> None:
    nothing = ["leaderboard", str(tmp_path / "nothing"), "--out", str(tmp_path / "site")]
    with pytest.raises(StoreError, match="there is no run at"):
        app(nothing, standalone_mode=False)
    with pytest.raises(UsageError, match="go with --rejudge"):
        app([*nothing, "--jobs", "2"], standalone_mode=False)
