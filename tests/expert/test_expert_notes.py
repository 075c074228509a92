"""What was tried goes into the notes of the kernels that a variant stands for."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest

from benchmarks.expert_notes import BEGIN, members, noted, paragraphs
from benchmarks.expert_variants import DATA
from kernelgauge.errors import UsageError
from kernelgauge.expert.contestant import Expert
from kernelgauge.generation.folder import read_source

EXPERT = Expert()
TEXTS = {key: read_source(EXPERT.file(key, 0)) for key in EXPERT.problems()}
ENTRIES = tomllib.loads(DATA.read_text())["problem"]


def test_a_variant_stands_for_every_kernel() -> None:
    stands = members(ENTRIES, TEXTS)
    assert [key for key, entries in stands.items() if not entries] == []
    assert stands["1/53"] == ["1/49"] and stands["1/52"] == ["1/49", "1/51"]
    assert stands["1/2"] == ["1/1"] and stands["1/9"] == ["1/9"], "what an entry names is no other's"
    assert stands["1/71"] == ["1/61"] and stands["2/1"] == ["1/63"] and stands["2/92"] == ["1/63", "2/17"]
    with pytest.raises(UsageError, match="no candidate for 9/9"):
        members([{"key": "9/9"}], TEXTS)


def test_a_note_ends_with_what_was_tried_once() -> None:
    text = TEXTS["1/49"]
    once = noted(text, f"{BEGIN}one card, without gain, 1/49: 8 warps: 4 % more time.")
    assert noted(once, f"{BEGIN}another.").count(BEGIN) == 1
    note = ast.get_docstring(ast.parse(once)) or ""
    assert note.startswith("Largest value") and "Bound by" in note and note.endswith("8 warps: 4 % more time.")
    assert once[once.index("import torch") :] == text[text.index("import torch") :]


def test_only_failures_are_noted(tmp_path: Path) -> None:
    row = {"problem": "1/49", "sample": 1, "family": "columns", "outcome": "passed", "ms": 1.0}
    slower = {**row, "name": "8 warps", "verdict": "slower", "times_shipped": 1.04}
    faster = {**row, "sample": 2, "name": "parts", "verdict": "faster", "times_shipped": 0.8}
    wrong = {**row, "sample": 3, "name": "halves", "verdict": "wrong precision"}
    file = tmp_path / "variants.json"
    file.write_text(json.dumps({"machine": "NVIDIA H100 80GB HBM3, torch 2.11.0", "rows": [slower, faster, wrong]}))
    found = paragraphs(file)
    assert found.keys() == {"1/49", "1/52", "1/53"}
    assert " ".join(found["1/53"].split()) == (
        "Tried on one NVIDIA H100 80GB HBM3, without gain, 1/49: 8 warps: 4 % more time; halves: wrong precision."
    )
