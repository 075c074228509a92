"""Certification: a backend that works is said to work, one that lies is caught, one that cannot run says why."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelgauge.backends.registry import backend_named, names
from kernelgauge.cli.main import app
from kernelgauge.selftest.certify import BackendResult, certify
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

CERTIFICATION = pytest.mark.proof("selftest/certify.py", "backends", unit="certification")
PLACES = [(name, device) for name in names() for device in backend_named(name).devices]

# Backends that each fail one of the three fixtures, or cannot be asked; a worker imports this module by name.
LIARS = '''
from dataclasses import dataclass

from kernelgauge.backends.loading import import_file
from kernelgauge.backends.torch import TorchBackend

REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return FORWARD

def get_inputs():
    return [torch.rand(16, 32)]

def get_init_inputs():
    return []
"""


def pair(right, answer):
    reference = REFERENCE.replace("FORWARD", right)
    return reference, REFERENCE.replace("FORWARD", answer).replace("class Model(", "class ModelNew(")


@dataclass(frozen=True)
class Liar(TorchBackend):
    devices: tuple[str, ...] = ("cpu",)


class RightIsWrong(Liar):
    def example(self):
        return pair("x * 2", "x * 2.1")


class ZerosAreRight(Liar):
    """An evaluator that let zeros pass would look like this: here they are the right answer."""

    def example(self):
        return pair("x * 0", "x - x")


class AnythingLoads(Liar):
    """A backend that runs its example whatever the source says."""

    def example(self):
        return pair("x * 2", "x + x")

    def load(self, path, build_dir):
        if not path.read_text().lstrip().startswith("import"):
            path = path.with_name("instead.py")
            path.write_text(self.example()[1])
        return import_file(path, "candidate")


class ReferenceFails(Liar):
    def example(self):
        return pair("x @ x", "x")


class Absent(Liar):
    def missing(self, device):
        return "the compiler is on holiday"
'''


@pytest.fixture(scope="module")
def findings(session: Session) -> dict[tuple[str, str], BackendResult]:
    """What the real backends do here; slow once, since two C++ extensions are built."""
    return {(finding.backend, finding.device): finding for finding in certify(session)}


@CERTIFICATION
def test_every_backend_has_a_finding_for_each_device(findings: dict[tuple[str, str], BackendResult]) -> None:
    assert list(findings) == PLACES


@CERTIFICATION
@pytest.mark.parametrize(("name", "device"), PLACES)
def test_what_can_run_here_works(findings: dict[tuple[str, str], BackendResult], name: str, device: str) -> None:
    finding = findings[name, device]
    missing = backend_named(name).missing(device)
    if missing is None:
        assert finding.works is True, finding.why
    else:
        assert finding.works is None
        assert finding.why == missing
        assert len(missing.split()) > 3, "why it cannot run is a sentence"


@pytest.fixture(scope="module")
def liars(tmp_path_factory: pytest.TempPathFactory, cache_folder: Path) -> Iterator[Session]:
    """A session whose workers can import the backends that lie; their zygote starts with this PYTHONPATH."""
    folder = tmp_path_factory.mktemp("backends")
    (folder / "liars.py").write_text(LIARS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.syspath_prepend(folder)
        with Session() as session:
            yield session


@pytest.mark.proof("selftest/certify.py", "backends")
@pytest.mark.parametrize(
    ("name", "works", "words"),
    [
        ("RightIsWrong", False, ("must be passed", "wrong_value")),
        ("ZerosAreRight", False, ("must be wrong_value", "passed")),
        ("AnythingLoads", False, ("must be load_failed", "passed")),
        ("ReferenceFails", False, ("liars:ReferenceFails", "mat1 and mat2")),
        ("Absent", None, ("the compiler is on holiday",)),
    ],
)
def test_a_backend_that_lies_is_caught(
    liars: Session, monkeypatch: pytest.MonkeyPatch, name: str, works: bool | None, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("kernelgauge.selftest.certify.names", lambda: [f"liars:{name}"])
    (finding,) = certify(liars)
    assert (finding.backend, finding.device) == (f"liars:{name}", "cpu")
    assert finding.works is works, finding.why
    assert all(word in finding.why for word in words), finding.why


@CERTIFICATION
def test_doctor_prints_environment_and_backends(findings: dict[tuple[str, str], BackendResult]) -> None:
    """As a user calls it; `findings` has filled the build cache."""
    done = subprocess.run(
        [sys.executable, "-m", "kernelgauge", "doctor", "--json"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert set(told) == {"format", "environment", "backends"}
    assert {"kernelgauge", "python", "torch", "cpu", "cores", "gpu"} <= set(told["environment"])
    assert [(each["backend"], each["device"]) for each in told["backends"]] == PLACES
    assert [each["works"] for each in told["backends"]] == [finding.works for finding in findings.values()]


@pytest.mark.parametrize(("works", "code"), [(True, 0), (None, 0), (False, 3)])
def test_doctor_tells_a_person_why(monkeypatch: pytest.MonkeyPatch, works: bool | None, code: int) -> None:
    why = "not installed: pip install 'kernelgauge[triton]' [/]"  # square brackets are text here, not styles
    found = [
        BackendResult(backend="torch", device="cpu", works=True, why="fine", isolation=("network", "pid")),
        BackendResult(backend="triton", device="cpu", works=works, why=why),
    ]
    monkeypatch.setattr("kernelgauge.selftest.certify.certify", lambda session: found)
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["doctor"])
    assert done.exit_code == code, done.output
    assert why in done.output
    assert "isolation layers around a worker: network, pid" in done.output
    assert {True: "yes", False: "no ", None: "not here"}[works] in done.output.split("triton ")[-1]
