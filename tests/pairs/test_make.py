"""Pairs made by the real compiler and judged: what is refused, what is kept, and that nothing is judged twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import command_here
from pair_rows import make_module, make_row
from waiting import comes_true

from kernelgauge.config import load_protocol
from kernelgauge.errors import StoreError
from kernelgauge.generation.inductor import Inductor
from kernelgauge.pairs import inference
from kernelgauge.pairs.columns import read
from kernelgauge.pairs.examination import examined
from kernelgauge.pairs.inference import inferred
from kernelgauge.pairs.module import NoModule, NotInTime, Provenance
from kernelgauge.pairs.sources import leads
from kernelgauge.pairs.workshop import Judged, Workshop, asked_for
from kernelgauge.problems.distance import structure
from kernelgauge.schema import Candidate
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

HEAD = "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"
TAIL = """

batch_size = 6


def get_inputs():
    return [torch.randn(batch_size, 32)]


def get_init_inputs():
    return []
"""
SOUND = """    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 24)
        self.gain = nn.Parameter(torch.rand(24) + 0.5)

    def forward(self, x):
        y = torch.tanh(self.linear(x)) * self.gain
        return torch.logsumexp(y, dim=1) + torch.sin(y).amax(dim=1)
"""
DEGENERATE = {
    "returns a constant": (SOUND.replace("return torch.log", "return 0 * torch.log").replace("+ torch.sin(y)",
                           "+ 0 * torch.sin(y)"), "would accept"),
    "lies below every tolerance": (SOUND.replace("dim=1) + torch.sin(y).amax(dim=1)",
                                   "dim=1) * 1e-6 + torch.sin(y).amax(dim=1) * 1e-6"), "would accept"),
    "has a dead branch": (SOUND.replace("        return", "        dead = torch.relu(x)\n        return"),
                          "dead: computed and never used"),
    "has a parameter that nothing reads": (SOUND.replace("        self.gain", "        self.idle = nn.Linear(4, 4)\n"
                                           "        self.gain"), "idle.weight, idle.bias: no output depends on it"),
    "has an uninitialised parameter": (SOUND.replace("torch.rand(24) + 0.5", "torch.empty(24)"),
                                       "gain: never initialised"),
    "is no Python": ("    def forward(self x):\n", "it does not parse"),
    "is a problem of the suite": ("    def forward(self, x):\n        return torch.relu(x)\n", "from 1/19_relu"),
}  # fmt: skip


def _module(body: str, name: str = "planted"):
    return make_module(name, HEAD + body + TAIL, sizes={"small": {"batch_size": 6}}, nearest=None)


@pytest.mark.proof("pairs", "verification", "worker/describer.py")
def test_a_sound_module_is_kept_and_its_twin_in_structure_is_not(session: Session) -> None:
    found = examined(session, _module(SOUND), 0.1, {})
    assert found.refused == "" and found.module is not None and found.module.nearest is not None
    renamed = _module(SOUND.replace("linear", "layer").replace("24", "40"), "other")
    again = examined(session, renamed, 0.1, {found.structure: "planted"})
    assert again.refused == "another module has the same normalised syntax tree"


@pytest.mark.proof("pairs", "verification", "worker/describer.py")
@pytest.mark.parametrize("what", DEGENERATE)
def test_a_degenerate_module_is_refused(session: Session, what: str) -> None:
    body, why = DEGENERATE[what]
    assert why in examined(session, _module(body), 0.1, {}).refused


def test_inputs_are_found_by_trying_and_parameters_are_drawn() -> None:
    made = Provenance(kind="folder", origin="net.py:1 Net", licence="MIT")
    text = (
        HEAD
        + """    def __init__(self, in_channels, out_channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.gain = nn.Parameter(torch.empty(out_channels, 1, 1))
        self.norm = nn.BatchNorm2d(out_channels)

    def forward(self, x, scale):
        return self.norm(self.conv(x)) * self.gain * scale.mean()
"""
    )
    module = inferred("net", text, made, ())
    assert "('gain', 'norm.weight', 'norm.bias')" in module.source
    assert module.sizes.keys() == {"small", "odd", "medium"} and module.domains == {"x": "real", "scale": "real"}
    assert "return [torch.randn(batch_size, features, height, width), torch.randn(batch_size" in module.source
    assert structure(module.problem("odd").source) == structure(module.source)
    with pytest.raises(
        NoModule, match=r"no inputs were found that it runs on; the first attempt: RuntimeError: never"
    ):
        inferred("no", HEAD + "    def forward(self, x):\n        raise RuntimeError('never')\n", made, ())
    with pytest.raises(NoModule, match="its code ended its process"):
        inferred("no", HEAD + "    def forward(self, x):\n        import os\n        os._exit(3)\n", made, ())


def test_a_module_is_tried_with_the_search_path_that_was_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial runs in another folder, where a relative path would lead nowhere."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "doubling.py").write_text("def doubled(x):\n    return x * 2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "mine", prepend=os.pathsep)
    made = Provenance(kind="folder", origin="net.py:1 Net", licence="MIT")
    text = HEAD + "    def forward(self, x):\n        from doubling import doubled\n\n        return doubled(x)\n"
    assert inferred("net", text, made, ()).sizes


def test_a_module_that_wants_too_much_memory_is_none() -> None:
    made = Provenance(kind="folder", origin="net.py:1 Net", licence="MIT")
    greedy = "    def forward(self, x):\n        return torch.empty(5 << 30)[:0].sum() + x\n"  # 20 GiB, never touched
    with pytest.raises(NoModule, match=r"no inputs were found that it runs on; .*memory"):
        inferred("no", HEAD + greedy, made, ())


def test_a_search_that_takes_too_long_is_no_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "_SECONDS", 0.1)
    made = Provenance(kind="folder", origin="net.py:1 Net", licence="MIT")
    with pytest.raises(NotInTime, match=r"within 0\.1 s"):
        inferred("no", HEAD + "    def forward(self, x):\n        return x\n", made, ())


def test_leads_come_in_turn_and_are_the_same_each_time() -> None:
    first = [lead.name for lead, _ in zip(leads(["recipe:fusion", "layers:torch"], 1), range(4), strict=False)]
    assert [name.partition("_")[0] for name in first] == ["fusion", "torch"] * 2
    again = [lead.name for lead, _ in zip(leads(["recipe:fusion", "layers:torch"], 1), range(4), strict=False)]
    assert first == again


@pytest.mark.proof("generation/inductor.py", "generation/inductor_compile.py", "generation/inductor_capture.py")
def test_the_compiler_writes_for_a_narrow_type(session: Session) -> None:
    problem = _module(SOUND).problem("small")
    answer = Inductor(threads=1, math="bf16").complete(problem, 0, "cpu")
    assert isinstance(answer, Candidate) and "bfloat16" in answer.source
    found = session.evaluate(problem, answer.source, backend="cpp", math="bf16", timed=False)
    assert (found.outcome, found.math) == ("passed", "bf16")
    wide = session.evaluate(problem, answer.source, backend="cpp", timed=False)
    assert wide.outcome != "passed"


ASKED = {
    "sources": ["recipe:fusion"],
    "seed": 1,
    "sizes": ["small"],
    "maths": ["ieee"],
    "negatives": 0.3,
    "distance": 0.1,
    "validation": 0.1,
    "licence": "",
}


def test_a_folder_goes_on_where_it_was_and_says_what_it_was_asked(tmp_path: Path) -> None:
    protocol = load_protocol("strict")
    asked = asked_for(protocol, "cpu", **ASKED)
    with Workshop(tmp_path / "a", asked) as workshop:
        workshop.keep(Judged(id="x", row=make_row("x")))
        workshop.keep(Judged(id="y", dropped="right all the same"))
        with pytest.raises(StoreError, match="is in use by process"):
            Workshop(tmp_path / "a", asked)
    with (tmp_path / "a" / "judged.jsonl").open("a") as file:
        file.write('{"id": "torn')
    with Workshop(tmp_path / "a", asked) as workshop:
        assert [row.id for row in workshop.rows] == ["x"]
        assert workshop.judged.keys() == {"x", "y"}
    with pytest.raises(StoreError, match="was begun with seed 1, not 2"):
        Workshop(tmp_path / "a", asked_for(protocol, "cpu", **{**ASKED, "seed": 2}))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").write_text("keep me")
    with pytest.raises(StoreError, match="no folder of pairs"):
        Workshop(tmp_path / "b", asked)


def test_wrong_use_of_make_and_check(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "out"), "--device", "cpu")
    for options, why in (
        (("--source", "recipe:none"), "there is no source 'recipe:none'"),
        (("--source", f"folder:{tmp_path / 'none'}"), "there is no folder"),
        (("--sizes", "huge"), "there are no sizes 'huge'"),
        (("--math", "fp8"), "there is no arithmetic 'fp8'"),
        (("--protocol", "v0.1"), "draws from public seeds"),
    ):
        done = command_here("pairs", "make", *out, *options)
        assert done.returncode == 2 and why in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()
    done = command_here("pairs", "check", str(tmp_path / "none.parquet"))
    assert done.returncode == 2 and "there is no file of pairs" in done.stderr


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_pairs_are_made_through_a_kill_and_judged_again_from_the_file_alone(tmp_path: Path, quick: str) -> None:
    out = tmp_path / "pairs"
    command = [
        sys.executable,
        "-m",
        "kernelgauge",
        "pairs",
        "make",
        "--out",
        str(out),
        "--rows",
        "6",
        "--device",
        "cpu",
    ]
    command += [
        "--source",
        "recipe:fusion",
        "--seed",
        "1",
        "--sizes",
        "small",
        "--math",
        "ieee",
        "--negatives",
        "0.5",
    ]
    command += ["--protocol", quick]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as killed:
        comes_true(lambda: len(_lines(out / "judged.jsonl")) > 0, 600)
        os.killpg(killed.pid, signal.SIGKILL)
    kept = _lines(out / "judged.jsonl")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "evaluator: " in done.stderr and "of its own time" in done.stderr
    after = _lines(out / "judged.jsonl")
    assert after[: len(kept)] == kept and len({line["id"] for line in after}) == len(after)
    rows = list(read(out / "pairs.parquet"))
    assert len(rows) >= 6 and {row.kind for row in rows} == {"positive", "negative"}
    assert all(row.reason and row.parent for row in rows if row.how in ("mutation", "cheat"))
    assert all(row.licence == "MIT" and row.distance >= 0.1 for row in rows)
    card = (out / "README.md").read_text()
    assert f"{len(rows)} rows of" in card and "## By outcome" in card
    checked = command_here("pairs", "check", str(out / "pairs.parquet"), "--device", "cpu", "--untimed", "--json")
    found = json.loads(checked.stdout)
    assert (checked.returncode, found["same"], found["differs"]) == (0, len(rows), []), found
