"""Fresh problems: the same seed gives the same text, and whatever is kept runs, repeats and says something."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.recipes import fusion, twin, variants
from kernelgauge.session import Session
from kernelgauge.verification import fresh
from kernelgauge.verification.fresh import generate, recipe
from kernelgauge.verification.verify import verify


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


@pytest.mark.parametrize("words", ["fusion", "variants"])
def test_kept_problems_are_sound_at_every_size(session: Session, words: str) -> None:
    kept = list(generate(session, recipe(session, words, seed=3), 2))
    assert len({each.name for each in kept}) == 2
    assert all({"small", "odd", "medium"} <= set(each.sizes) for each in kept)


def test_a_twin_has_other_sizes_and_other_words_and_computes_the_same(session: Session) -> None:
    (drawn,) = generate(session, recipe(session, "twin 2/76", seed=1), 1)
    original = load_problem("2/76")
    assert "self.gemm" not in drawn.source and "torch.relu" not in drawn.source
    sizes = {line for line in drawn.source.splitlines() if line.startswith(("batch_size", "in_features"))}
    assert not sizes & set(original.source.splitlines())
    text = twin.rewritten(original.source, "everything")
    small = load_problem("2/76", sizes="small")
    due = session.try_out(small)["fingerprints"]
    from kernelgauge.problems.catalogue import entry
    from kernelgauge.problems.sizes import with_constants

    reduced = with_constants(text, entry("2/76").sizes["small"])
    assert session.try_out(small.model_copy(update={"source": reduced}))["fingerprints"] == due


@pytest.mark.parametrize("words", ["", "fusions", "twin", "fusion 1/23"])
def test_an_unknown_recipe_is_refused(session: Session, words: str) -> None:
    with pytest.raises(UsageError, match="say fusion, variants, or"):
        recipe(session, words, seed=1)


def test_a_recipe_that_gives_nothing_sound_says_so(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "_DRAWS_PER_PROBLEM", 2)
    drawn = fusion.draw(1, 0)
    broken = type(drawn)(**{**vars(drawn), "source": drawn.source.replace("return x", "return x * 0")})
    with pytest.raises(ProblemError, match=r"0 of 1 problems came out sound; .*strict would accept"):
        list(generate(session, lambda number: type(broken)(**{**vars(broken), "name": f"n{number}"}), 1))


def test_generated_suite_works_by_name(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(tmp_path / "suites"))
    command = [sys.executable, "-m", "kernelgauge", "problems"]
    options = ["--recipe", "variants", "--count", "2", "--seed", "5", "--suite", "fresh"]
    done = subprocess.run([*command, "generate", *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    listed = subprocess.run([*command, "list", "--suite", "fresh", "--json"], capture_output=True, text=True)
    keys = [row["key"] for row in json.loads(listed.stdout)]
    assert keys == ["fresh:1/1", "fresh:1/2"]
    for key in keys:
        assert verify(session, key, [load_protocol("strict")]).broken == ()
    again = subprocess.run([*command, "generate", *options], capture_output=True, text=True, timeout=300)
    assert again.returncode == 2 and "already" in again.stderr
