"""Modules taken out of a folder by syntax tree, and PyTorch's layers: nothing is executed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernelgauge.errors import UsageError
from kernelgauge.pairs import sources
from kernelgauge.pairs.examination import nearest_of, unused
from kernelgauge.pairs.extraction import Folder, Found, NotAlone
from kernelgauge.pairs.layers import torch_layers
from kernelgauge.pairs.licences import checked, said_in
from kernelgauge.pairs.module import NoModule
from kernelgauge.pairs.sources import leads
from kernelgauge.problems.distance import nearest, nearest_forward

BLOCKS = '''
"""Blocks."""
import math
import torch
import torch.nn as nn
from .activations import Gate, SLOPE
from einops import rearrange

print("this must not be run")
WIDTH = 4 * 8


def scaled(x):
    return x / math.sqrt(WIDTH)


class Base(nn.Module):
    def helper(self, x):
        return scaled(x)


class Block(Base):
    """A block."""

    def __init__(self, dim):
        super(Block, self).__init__()
        self.gate = Gate(dim)

    def forward(self, x):
        return self.helper(self.gate(x)) * SLOPE


class Foreign(nn.Module):
    def forward(self, x):
        return rearrange(x, "a b -> b a")


class NoModule:
    def forward(self, x):
        return x
'''
ACTIVATIONS = """
from torch import nn, sigmoid

SLOPE = 0.25
UNUSED = open("/nonexistent")


class Gate(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return x * sigmoid(self.linear(x))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "blocks.py").write_text(BLOCKS)
    (tmp_path / "net" / "activations.py").write_text(ACTIVATIONS)
    (tmp_path / "net" / "broken.py").write_text("class Oops(nn.Module:\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_net.py").write_text(ACTIVATIONS)
    return Folder(tmp_path)


def _alone(folder: Folder, name: str) -> str:
    return folder.alone(next(found for found in folder.modules() if found.name == name)).text


def test_modules_are_found_by_what_they_derive_from(folder: Folder) -> None:
    names = [(found.path, found.name) for found in folder.modules()]
    assert names == [("net/activations.py", "Gate"), ("net/blocks.py", "Block"), ("net/blocks.py", "Foreign")]


def test_a_module_stands_alone_with_what_it_needs_and_no_more(folder: Folder) -> None:
    text = _alone(folder, "Block")
    tree = ast.parse(text)
    order = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert sorted(order) == ["Base", "Gate", "Model", "scaled"] and order[-1] == "Model"
    assert "SLOPE = 0.25" in text and "WIDTH = 4 * 8" in text and "super(Model, self)" in text
    assert not any(word in text for word in ("print", "einops", "UNUSED", "Block", ".activations"))
    scope: dict = {"__name__": "alone"}
    exec(compile(text, "alone.py", "exec"), scope)
    assert scope["Model"](6).gate.linear.in_features == 6


def test_what_cannot_stand_alone_says_why(folder: Folder) -> None:
    with pytest.raises(NotAlone, match="it imports einops, which is not here"):
        _alone(folder, "Foreign")
    (folder.root / "net" / "clash.py").write_text(
        "from torch import nn\nfrom .activations import Gate\nSLOPE = 3\n\n"
        "class Clash(nn.Module):\n    def forward(self, x):\n        return Gate(SLOPE)(x) * missing\n"
    )
    with pytest.raises(NotAlone, match=r"missing is not defined at the top level of clash\.py"):
        Folder(folder.root).alone(Found("net/clash.py", 5, "Clash"))
    (folder.root / "net" / "two.py").write_text(
        "from torch import nn\nfrom .blocks import scaled\nWIDTH = 5\n\n"
        "class Two(nn.Module):\n    def forward(self, x):\n        return scaled(x) * WIDTH\n"
    )
    with pytest.raises(NotAlone, match="WIDTH means two things"):
        Folder(folder.root).alone(Found("net/two.py", 5, "Two"))
    with pytest.raises(UsageError, match="there is no folder"):
        Folder(folder.root / "elsewhere")


def test_an_import_from_above_the_folder_is_not_here(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    above = "from torch import nn\nfrom {} import thing\n\nclass Up(nn.Module):\n    def forward(self, x):\n"
    for place, dots in (("up.py", "....far"), ("net/top.py", "." * 99)):
        (folder.root / place).write_text(above.format(dots) + "        return thing(x)\n")
    (folder.root / "net" / "in.py").write_text(above.format("..flat") + "        return thing(x)\n")
    (folder.root / "flat.py").write_text("def thing(x):\n    return x\n")
    monkeypatch.chdir(folder.root)
    here = Folder(Path())
    for place in ("up.py", "net/top.py"):
        with pytest.raises(NotAlone, match="which is not here"):
            here.alone(Found(place, 4, "Up"))
    assert "def thing" in here.alone(Found("net/in.py", 4, "Up")).text


def test_a_licence_is_read_or_must_be_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name it with --licence"):
        checked(tmp_path, "")
    (tmp_path / ".git").mkdir()
    (tmp_path / "LICENSE").write_text("MIT License\n\nPermission is hereby granted, free of charge, to any person "
                                      "obtaining a copy of this software")  # fmt: skip
    (tmp_path / "src").mkdir()
    assert checked(tmp_path / "src", "") == "MIT" and checked(tmp_path, "Apache-2.0") == "Apache-2.0"
    (tmp_path / "a.py").write_text("# SPDX-License-Identifier: BSD-3-Clause\nimport torch\n")
    assert said_in(tmp_path / "a.py") == "BSD-3-Clause" and said_in(tmp_path / "LICENSE") == ""


MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy"


@pytest.fixture
def licensed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What each class of a folder is said to be under: parts of it are from other places."""
    (tmp_path / "LICENSE").write_text(MIT)
    for place, licence in (("third_party", "Apache License\n Version 2.0"), ("closed", "All rights reserved.")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "LICENSE.txt").write_text(licence)
        (tmp_path / place / "parts.py").write_text("def part(x):\n    return x\n")
    (tmp_path / "dual.py").write_text("# SPDX-License-Identifier: MIT OR BSD-3-Clause\ndef part(x):\n    return x\n")
    klass = "from torch import nn\nfrom {0} import part\n\nclass {1}(nn.Module):\n    def forward(self, x):\n"
    for name, origin in (("Own", "dual"), ("Third", "third_party.parts"), ("Closed", "closed.parts")):
        (tmp_path / f"{name.lower()}.py").write_text(klass.format(origin, name) + "        return part(x)\n")
    (tmp_path / "third_party" / "inner.py").write_text(klass.format(".parts", "Inner") + "        return part(x)\n")
    said = {}
    monkeypatch.setattr(
        sources, "inferred", lambda name, text, made, tags: said.__setitem__(name.rpartition(":")[2], made.licence)
    )
    for lead in leads([f"folder:{tmp_path}"], 0):
        try:
            lead.make()
        except NoModule as error:
            said[lead.name.rpartition(":")[2]] = str(error)
    return said


@pytest.mark.processes  # git says where a folder comes from
def test_a_module_is_under_the_licences_nearest_to_all_its_parts(licensed: dict[str, str]) -> None:
    assert licensed == {
        "Own": "MIT AND (MIT OR BSD-3-Clause)",
        "Third": "MIT AND Apache-2.0",
        "Inner": "Apache-2.0",
        "Closed": "the licence nearest to closed/parts.py is none that is known",
    }


@pytest.mark.processes  # git says where a folder comes from
def test_folders_of_one_last_name_have_leads_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "src").mkdir(parents=True)
        (tmp_path / name / "src" / "gate.py").write_text(ACTIVATIONS)
    monkeypatch.chdir(tmp_path)
    names = [lead.name for lead in leads(["folder:a/src", "folder:b/src/"], 0, "MIT")]
    assert names == ["a/src/gate.py:Gate", "b/src/gate.py:Gate"]
    assert not any(lead.endless for lead in leads(["folder:a/src"], 0, "MIT"))
    assert next(leads(["recipe:fusion"], 0)).endless


def test_outside_a_repository_a_licence_above_the_folder_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text(MIT)
    (tmp_path / "src").mkdir()
    with pytest.raises(UsageError, match="name it with --licence"):
        checked(tmp_path / "src", "")
    (tmp_path / ".git").mkdir()
    assert checked(tmp_path / "src", "") == "MIT"


def test_a_folder_that_nobody_may_list_has_no_licence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path) -> None:
        raise PermissionError("not for you")

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(UsageError, match="name it with --licence"):
        checked(tmp_path, "")


def test_a_layer_is_as_near_as_its_forward() -> None:
    layers = dict(torch_layers())
    assert {"ReLU", "Conv2d", "LayerNorm", "Softshrink"} <= layers.keys() and "Sequential" not in layers
    for name, key in (("ReLU", "1/19"), ("MaxPool2d", "1/42"), ("LayerNorm", "1/40")):
        found = nearest_forward(layers[name])
        assert (found.problem, found.distance) == (key, 0.0)
        assert nearest(layers[name]).distance > 0.1  # the constructor hides it
    assert nearest_forward(layers["Softshrink"]).distance > 0.1


MODEL = """import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        return torch.sin(x)


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = {}

    def forward(self, x):
        return self.net(x)
"""


@pytest.mark.parametrize(
    "made",
    [
        "nn.Sequential(nn.Conv1d(width, 7, 3), nn.Softsign(), nn.Upsample(2), nn.LPPool1d(2, 3))",
        "Block()",
        "nn.ModuleList([nn.Softsign(), nn.Upsample(2), nn.LPPool1d(2, 3)])",
    ],
)
def test_a_forward_that_hides_what_it_calls_makes_no_copy(made: str) -> None:
    assert nearest_of(MODEL.format(made)) == nearest(MODEL.format(made))
    assert nearest_of(MODEL.format(made)).distance >= 0.1


def test_a_forward_of_single_layers_tells() -> None:
    for name, key in (("ReLU", "1/19"), ("MaxPool2d", "1/42"), ("LayerNorm", "1/40")):
        assert (nearest_of(dict(torch_layers())[name]).problem, nearest_of(dict(torch_layers())[name]).distance) == (
            key,
            0.0,
        )


def test_branches_that_lead_nowhere_are_seen() -> None:
    text = "class Model:\n    def forward(self, x):\n        dead = x.relu()\n        y = x + 1\n        return y\n"
    assert unused(text) == ["dead"]
    assert unused(text.replace("return y", "return y + dead")) == []
