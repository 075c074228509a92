"""How near problems are to each other, and which part of a suite they are in."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from kernelgauge.problems.catalogue import suite_named
from kernelgauge.problems.distance import distance, grams, nearest, structure
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.recipes import fusion, twin, variants
from kernelgauge.problems.splits import split_of
from kernelgauge.syntax import parse

_TEXT = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.gemm = nn.Linear(width, width)

    def forward(self, x):
        x = self.gemm(x)
        return {}


width = 64
"""


def text(expression: str) -> str:
    return _TEXT.format(expression)


def test_a_distance_worked_by_hand() -> None:
    of = "class Model:\n    def forward(self, x):\n        return torch.{}(x)\n"
    # Of file, class, function and Return three grams each, one of the leaf, three of the call; the label of the call
    # is in the three of Return, in its own three and in that of the leaf.
    assert grams(of.format("relu")).total() == 16
    assert distance(of.format("relu"), of.format("tanh")) == pytest.approx(1 - 2 * 9 / 32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("torch.relu(x)", "F.relu(x)"),
        ("torch.relu(x)", "x.relu()"),
        ("torch.softmax(x, dim=1)", "x.softmax(dim=-1)"),
        ("x + x", "torch.add(x, x)"),
        ("x / 2.0", "x / 3.0"),
    ],
)
def test_words_and_constants_make_no_distance(one: str, other: str) -> None:
    assert distance(text(one), text(other)) == 0
    assert structure(text(one)) == structure(text(other))


@pytest.mark.parametrize("other", ["torch.tanh(x)", "torch.relu(torch.relu(x))", "torch.relu(x) + x"])
def test_another_computation_is_farther_the_more_it_differs(other: str) -> None:
    here = text("torch.relu(x)")
    layer = text(other).replace("nn.Linear", "nn.Conv2d")
    assert 0 < distance(here, text(other)) < distance(here, layer) < 1
    assert distance(text(other), here) == distance(here, text(other))
    assert structure(here) != structure(text(other))


def test_names_docstrings_and_sizes_make_no_distance() -> None:
    source = load_problem("2/76").source
    other = source.replace("gemm", "first").replace('"""Linear layer', '"""Something else').replace("8192", "96")
    assert other != source and distance(source, other) == 0 and structure(source) == structure(other)


def test_every_problem_of_the_suite_is_nearest_to_itself_or_to_its_equal() -> None:
    for key, found in suite_named().entries.items():
        near = nearest(found.path.read_text())
        assert near.distance == 0 and (near.problem == key or near.problem.split("/")[0] == key.split("/")[0]), key


def test_twins_are_near_their_originals_however_they_are_rewritten() -> None:
    """The measure sees through the rewriting: 0.05 or less for all but some that have other operators."""
    far = []
    for key, found in suite_named().entries.items():
        if found.level < 4:
            source = found.path.read_text()
            far += [(distance(source, twin.rewritten(source, how)), key) for how in twin.REWRITINGS[:1]]
    assert sum(each <= 0.05 for each, _ in far) >= 0.9 * len(far) == 225, sorted(far)[-15:]


def test_recipes_are_as_far_as_the_page_says() -> None:
    shares = {}
    for recipe in (fusion, variants):
        far = [nearest(recipe.draw(7, number).source).distance for number in range(100)]
        shares[recipe] = sum(each >= 0.1 for each in far)
    assert shares[fusion] >= 95 and 40 <= shares[variants] <= 80, shares


def test_a_tree_is_read_whole() -> None:
    """Each statement of `forward` and each call in it has a gram of its own, in every problem."""
    for found in suite_named().entries.values():
        source = found.path.read_text()
        (model,) = (each for each in parse(source).body if isinstance(each, ast.ClassDef) and each.name == "Model")
        returns = sum(isinstance(each, ast.Return) for each in ast.walk(model))
        labels = Counter(gram[1] for gram in grams(source).elements())
        assert labels["Return"] >= 3 * returns > 0, found.key


def test_a_split_hangs_on_structure_and_seed_alone() -> None:
    drawn = [fusion.draw(7, number).source for number in range(300)]
    splits = [split_of(each, 0.2) for each in drawn]
    assert splits == [split_of(each, 0.2) for each in drawn]
    assert 35 <= splits.count("validation") <= 85
    assert splits != [split_of(each, 0.2, seed=1) for each in drawn]
    assert {split_of(each, 0.0) for each in drawn} == {"train"} and {split_of(each, 1.0) for each in drawn} == {
        "validation"
    }
    # What validates with a small share does with a larger one.
    small = [split_of(each, 0.1) for each in drawn]
    assert all(other == "validation" for one, other in zip(small, splits, strict=True) if one == "validation")
    sized = text("torch.relu(x)")
    assert split_of(sized, 0.5, 3) == split_of(sized.replace("64", "96").replace("gemm", "other"), 0.5, 3)
