"""Fresh problems: the same seed gives the same text, and whatever is kept runs, repeats and says something."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from commands import command_here
from typer.testing import CliRunner

from kernelgauge.cli.problems import app
from kernelgauge.config import load_protocol
from kernelgauge.errors import ProblemError, StoreError, UsageError
from kernelgauge.problems import catalogue
from kernelgauge.problems.distance import structure
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.recipes import fusion, twin, variants
from kernelgauge.problems.recipes.drawn import Drawn
from kernelgauge.problems.sizes import plain_constants, with_constants
from kernelgauge.schema import Problem, Sizes
from kernelgauge.session.session import Session
from kernelgauge.verification import fresh
from kernelgauge.verification.fresh import generate, recipe
from kernelgauge.verification.verify import verify

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("draw", [fusion.draw, variants.draw])
def test_the_same_seed_gives_the_same_text_and_another_seed_another(draw) -> None:
    first = [draw(7, number) for number in range(40)]
    assert first == [draw(7, number) for number in range(40)]
    assert [each.source for each in first] != [draw(8, number).source for number in range(40)]
    assert len({each.source for each in first}) > 25


def test_fusions_follow_the_recipe() -> None:
    for number in range(60):
        drawn = fusion.draw(7, number)
        main, *further = drawn.source.partition("def forward")[2].partition("return x")[0].split("        x = ")[1:]
        assert "self.gemm(x)" in main or "self.conv(x)" in main
        assert 2 <= len(further) <= 5, drawn.source
        assert all(len(line) <= 110 for line in drawn.source.splitlines())


def at(drawn: Drawn, size: Sizes) -> Problem:
    return Problem(key="drawn", name=drawn.name, source=with_constants(drawn.source, drawn.sizes.get(size, {})))


@pytest.mark.proof("problems", "verification")
@pytest.mark.parametrize("words", ["fusion", "variants"])
def test_kept_problems_are_sound_at_every_size(session: Session, words: str) -> None:
    kept = list(generate(session, recipe(session, words, seed=3), 2))
    assert len({each.name for each in kept}) == 2
    for drawn in kept:
        assert set(drawn.sizes) == {"small", "odd", "medium"}
        counted = [session.describe(at(drawn, size))["bytes"] for size in ("full", "medium", "small")]
        moved = [each["inputs"] + each["output"] for each in counted]
        assert fresh.LARGEST >= moved[0] >= moved[1] > moved[2] > 0
        for size in ("small", "odd"):
            found = session.try_out(at(drawn, size))
            assert found["finite"] and found["repeats"]


@pytest.mark.proof("problems", "verification")
@pytest.mark.parametrize("size", ["full", "medium", "small", "odd"])
def test_a_draw_that_breaks_at_one_size_is_refused(session: Session, size: Sizes) -> None:
    drawn = fusion.draw(7, 0)
    batch = plain_constants(at(drawn, size).source)["batch_size"]
    head = next(line for line in drawn.source.splitlines() if "def forward" in line)
    text = drawn.source.replace(head, f"{head}\n        assert x.shape[0] != {batch}, 'breaks at {batch}'")
    assert fresh.unsound(session, drawn) is None
    assert f"breaks at {batch}" in str(fresh.unsound(session, replace(drawn, source=text)))


def test_a_draw_that_no_gpu_should_be_asked_to_hold_is_refused(session: Session) -> None:
    drawn = fusion.draw(7, 0)
    huge = replace(drawn, source=with_constants(drawn.source, {"batch_size": 2_000_000}))
    assert "inputs and outputs of" in str(fresh.unsound(session, huge))


@pytest.mark.parametrize("original", ["1/1", "2/15"])
def test_twins_differ_from_each_other_and_from_the_original(original: str) -> None:
    problem, sizes = load_problem(original), catalogue.entry(original).sizes
    full = plain_constants(problem.source)
    for attempt in range(40):
        drawn = plain_constants(twin.draw(problem, problem.source, sizes, 7, attempt).source)
        assert drawn != full and set(drawn) == set(full)


@pytest.mark.proof("problems", "verification")
def test_the_same_twin_is_kept_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "unsound", lambda *_: None)
    kept = list(generate(session, recipe(session, "twin 1/1", seed=7), 4))
    assert len({each.source for each in kept}) == len({each.name for each in kept}) == 4
    with pytest.raises(ProblemError, match=r"only \d of 30 problems .* drawn before"):
        list(generate(session, recipe(session, "twin 1/1", seed=7), 30))


@pytest.mark.proof("problems", "verification")
def test_twins_of_several_problems_say_whose_they_are(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "unsound", lambda session, drawn: None)
    kept = list(generate(session, recipe(session, "twin 1/1,1/19", seed=7), 4))
    assert [each.twin_of for each in kept[:2]] == ["1/1", "1/19"]  # in turn, as long as no draw comes again
    assert {each.twin_of for each in kept[2:]} <= {"1/1", "1/19"}
    with pytest.raises(ProblemError, match="no problem is called '9/9'"):
        recipe(session, "twin 1/1,9/9", seed=7)
    drawing = recipe(session, "twin level 1", seed=7)
    assert drawing(0).twin_of == "1/1"


@pytest.mark.proof("problems", "verification")
def test_a_twin_has_other_sizes_and_other_words_and_computes_the_same(session: Session) -> None:
    (drawn,) = generate(session, recipe(session, "twin 2/76", seed=1), 1)
    original = load_problem("2/76")
    assert "self.gemm" not in drawn.source and "torch.relu" not in drawn.source
    sizes = {line for line in drawn.source.splitlines() if line.startswith(("batch_size", "in_features"))}
    assert not sizes & set(original.source.splitlines())
    text = twin.rewritten(original.source, "everything")
    small = load_problem("2/76", sizes="small")
    due = session.try_out(small)["fingerprints"]
    reduced = with_constants(text, catalogue.entry("2/76").sizes["small"])
    assert session.try_out(small.model_copy(update={"source": reduced}))["fingerprints"] == due


@pytest.mark.parametrize("words", ["", "fusions", "twin", "fusion 1/23"])
def test_an_unknown_recipe_is_refused(session: Session, words: str) -> None:
    with pytest.raises(UsageError, match="say fusion, variants, or"):
        recipe(session, words, seed=1)


@pytest.mark.proof("problems", "verification")
def test_a_recipe_that_gives_nothing_sound_says_so(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "_DRAWS_PER_PROBLEM", 2)
    drawn = fusion.draw(1, 0)
    broken = replace(drawn, source=drawn.source.replace("return x", "return x * 0"))
    with pytest.raises(ProblemError, match=r"0 of 1 problems came out sound; .*strict would accept"):
        list(generate(session, lambda number: replace(broken, source=f"{broken.source}# {number}\n"), 1))


@pytest.mark.proof("problems", "verification")
def test_generated_suite_works_by_name(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(tmp_path / "suites"))
    options = ["--recipe", "variants", "--count", "2", "--seed", "5", "--suite", "fresh"]
    done = command_here("problems", "generate", *options)
    assert done.returncode == 0, done.stderr
    listed = command_here("problems", "list", "--suite", "fresh", "--json")
    keys = [row["key"] for row in json.loads(listed.stdout)]
    assert keys == ["fresh:1/1", "fresh:1/2"]
    for key in keys:
        assert verify(session, key, [load_protocol("strict")]).broken == ()
    again = command_here("problems", "generate", *options)
    assert again.returncode == 2 and "already" in again.stderr


def test_what_is_too_near_the_suite_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(tmp_path / "suites"))
    monkeypatch.setattr(fresh, "unsound", lambda session, drawn: None)  # the distance alone is the subject
    asked = ["--recipe", "variants", "--count", "20", "--seed", "3", "--validation", "0.3", "--json"]
    done = CliRunner().invoke(app, ["generate", *asked, "--suite", "far"])
    found = json.loads(done.stdout)
    assert found["purpose"] == "training" and len(found["too_near"]) >= 3
    for why in found["too_near"]:
        assert re.search(r"^\w+: 0(\.0\d+)? from \d/\d+_\w+, nearer than 0.1$", why)
        assert f"kernelgauge: refused: {why}" in done.stderr
    entries = catalogue.suite_named("far").entries.values()
    assert min(each.nearest.distance for each in entries) >= 0.1
    assert {each.split for each in entries} == {"train", "validation"}
    everything = CliRunner().invoke(app, ["generate", *asked, "--suite", "near", "--distance", "0"])
    assert json.loads(everything.stdout)["too_near"] == []
    assert min(each.nearest.distance for each in catalogue.suite_named("near").entries.values()) == 0
    # The same structure is on the same side of both suites, whatever its place and sizes.
    sides = {structure(each.path.read_text()): each.split for each in catalogue.suite_named("near").entries.values()}
    assert all(sides.get(structure(each.path.read_text()), each.split) == each.split for each in entries)


@pytest.mark.proof("problems", "verification")
def test_a_suite_of_twins_says_that_it_is_not_to_train_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(tmp_path / "suites"))
    monkeypatch.setattr(fresh, "unsound", lambda session, drawn: None)
    asked = ["generate", "--recipe", "twin 1/1", "--count", "2"]
    done = CliRunner().invoke(app, [*asked, "--suite", "twins"])
    assert "for evaluation and not for training" in done.stdout
    assert catalogue.suite_named("twins").about.purpose == "evaluation"
    for each in catalogue.suite_named("twins").entries.values():
        assert (each.split, each.nearest.problem, each.nearest.distance) == (None, "1/1", 0.0)
        assert each.twin_of == "1/1"
    (row,) = (each for each in json.loads(CliRunner().invoke(app, ["suites", "--json"]).stdout) if each["purpose"])
    assert (row["name"], row["purpose"]) == ("twins", "evaluation")
    held = CliRunner().invoke(app, [*asked, "--suite", "none", "--distance", "0.1"])
    assert isinstance(held.exception, ProblemError) and "only 0 of 2" in str(held.exception)
    assert "0 from 1/1_square_matrix_multiplication, nearer than 0.1" in held.stderr


@pytest.mark.proof("problems", "verification")
def test_what_was_drawn_before_a_recipe_ran_dry_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(tmp_path / "suites"))
    monkeypatch.setattr(fresh, "_DRAWS_PER_PROBLEM", 1)
    monkeypatch.setattr(fresh, "unsound", lambda session, drawn: None)
    done = CliRunner().invoke(app, ["generate", "--recipe", "twin 1/1", "--count", "30", "--suite", "few"])
    assert isinstance(done.exception, ProblemError) and "of 30 problems came out sound" in str(done.exception)
    assert f"suite few has only {len(catalogue.keys(suite='few'))} of 30 problems" in done.stderr


def test_a_place_that_cannot_be_written_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", "/proc/suites")
    monkeypatch.setattr(fresh, "recipe", lambda *_: pytest.fail("the work has begun"))
    done = CliRunner().invoke(app, ["generate", "--recipe", "fusion", "--suite", "few"])
    assert isinstance(done.exception, StoreError) and "/proc/suites cannot be" in str(done.exception)
