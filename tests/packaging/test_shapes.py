"""Winners at further shapes: judged there, and asked there alone; and the command line around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from commands import command_here
from packages import PROBLEMS, complaints, imported, judged

from kernelgauge.packaging.package import NothingToPackage
from kernelgauge.packaging.package import package as written
from kernelgauge.report.runs import FolderRun
from kernelgauge.session.session import Session

pytestmark = [pytest.mark.processes, pytest.mark.proof("packaging", unit="package")]
GATE = str(PROBLEMS / "gated.py")


def test_a_dispatch_table_holds_what_was_judged(
    session: Session, winners_run: FolderRun, patient: str, tmp_path: Path
) -> None:
    shapes = {GATE: [{"batch": 4, "tokens": 1500}]}
    from kernelgauge.config import load_protocol

    rules = load_protocol(patient)
    done = written([winners_run], tmp_path, name="shaped", shapes=shapes, protocol=rules, session=session)
    (gate,) = (each for each in done.contents.operators if each.name == "gated")
    assert [variant.arguments[0]["shape"] for variant in gate.variants] == [[8, 128, 1024], [4, 128, 1500]]
    package = imported(tmp_path, "shaped")
    for batch, tokens in ((8, 1024), (4, 1500), (4, 1024)):
        package.gated(torch.rand(batch, 128, tokens), torch.rand(batch, 128, tokens))
    assert package.counters()["gated"] == {"hits": 2, "misses": {"shape": 1}}
    named = tmp_path / "shapes.json"
    named.write_text(json.dumps(shapes))
    asked = ("--shapes", str(named), "--protocol", patient, "--out", str(tmp_path), "--name", "shaped", "--replace")
    again = command_here("package", str(winners_run.path), *asked, "--json")
    assert again.returncode == 0, again.stderr
    assert "another shape" not in again.stderr, "what was judged is not judged again"
    (table,) = (each for each in json.loads(again.stdout)["package"]["operators"] if each["name"] == "gated")
    assert [each["arguments"][0]["shape"] for each in table["variants"]] == [[8, 128, 1024], [4, 128, 1500]]


def test_weights_packed_in_the_constructor_are_no_operator(session: Session, patient: str, tmp_path: Path) -> None:
    """Right where it was judged, since its weights were there when it was made; as an operator it would be wrong."""
    packed = (PROBLEMS / "rms_norm_c.py").read_text()
    packed = packed.replace(
        "        self.eps = eps\n", "        self.eps = eps\n        self.packed = self.weight.detach().clone()\n"
    )
    packed = packed.replace("self.weight.data_ptr()", "self.packed.data_ptr()")
    norm = str(PROBLEMS / "rms_norm.py")
    (record,) = judged(session, patient, tmp_path / "run", [(norm, packed)])
    assert record.standing == "faster", (record.reason, record.log[-2000:], record.timing)
    with pytest.raises(NothingToPackage) as nothing:
        written([tmp_path / "run"], tmp_path / "out", name="packed", session=session)
    (left,) = nothing.value.left
    assert left.record == record.id
    assert left.reason.startswith("does not follow its weights where they come with the call: wrong_value")


def test_a_winner_that_its_owner_does_not_want_stays_out(
    session: Session, winners_run: FolderRun, tmp_path: Path
) -> None:
    without = {GATE: "makes the whole model slower"}
    done = written([winners_run], tmp_path, name="fewer", without=without, session=session).contents
    assert {each.name for each in done.operators} == {"rms_norm", "box_mean"}
    assert [each.reason for each in done.left_out if each.problem == GATE] == ["makes the whole model slower"]


def test_the_command_writes_and_says_what_it_left_out(winners_run: FolderRun, tmp_path: Path) -> None:
    out = str(tmp_path / "made")
    done = command_here(
        "package", str(winners_run.path), "--out", out, "--name", "made", "--license", "MIT", "--json"
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert complaints("packaged", said) == []
    assert complaints("package", json.loads((tmp_path / "made" / "made" / "package.json").read_text())) == []
    assert {each["name"] for each in said["package"]["operators"]} == {
        "rms_norm",
        "gated",
        "box_mean",
    }
    assert said["package"]["operators"][0]["variants"][0]["provenance"]["licence"] == "MIT"
    again = command_here("package", str(winners_run.path), "--out", out, "--name", "made")
    assert again.returncode == 2 and "--replace overwrites it" in again.stderr


def test_wrong_use_is_one_sentence(winners_run: FolderRun, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.json"
    shapes.write_text(json.dumps({"9/99": [{"n": 1}]}))
    asked = ("package", str(winners_run.path), "--out", str(tmp_path / "out"))
    for arguments, sentence in (
        (("--shapes", str(shapes)), "shapes are named for 9/99, and no winner answers that"),
        (("--shapes", str(tmp_path / "none.json")), "there is no file"),
        (("--name", "torch"), "cannot name a package"),
    ):
        done = command_here(*asked, *arguments)
        assert done.returncode == 2 and sentence in done.stderr
        assert not list((tmp_path / "out").glob("*/__init__.py"))
    done = command_here("package", str(tmp_path / "no"), "--out", str(tmp_path / "out"))
    assert done.returncode == 2 and "there is no run at" in done.stderr
