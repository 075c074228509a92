"""Winners, made once: C kernels that a measurement finds faster, and those that models in these tests call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from factories import make_timing
from packages import PROBLEMS, imported, judged, patient_protocol

from kernelgauge.report.runs import FolderRun

if TYPE_CHECKING:
    from kernelgauge.session.session import Session

NAMES = ("rms_norm", "gated", "box_mean")
OF_MODELS = {"llama_norm": "rms_norm_c", "llama_gate": "llama_gate_c", "gelu_new": "gelu_new_c"}
"""By the problem's name: its kernel's."""


@pytest.fixture(scope="session")
def patient(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of that protocol."""
    path = tmp_path_factory.mktemp("protocol") / "patient.toml"
    path.write_text(patient_protocol())
    return str(path)


@pytest.fixture(scope="session")
def session(cache_folder: Path) -> Iterator[Session]:
    """One thread: those of several wait for each other beside other work, and then no interval tells."""
    from kernelgauge.session.session import Session

    with Session(device="cpu", threads=1) as made:
        yield made


@pytest.fixture(scope="session")
def winners_run(session: Session, patient: str, tmp_path_factory: pytest.TempPathFactory) -> FolderRun:
    """A run with a kernel for each of these problems that is right and surely faster: it does a tenth of the work."""
    folder = tmp_path_factory.mktemp("runs") / "winners"
    answers = [(str(PROBLEMS / f"{n}.py"), (PROBLEMS / f"{n}_c.py").read_text()) for n in NAMES]
    for record in judged(session, patient, folder, answers):
        assert record.standing == "faster", (record.problem, record.reason, record.log[-2000:], record.timing)
    return FolderRun.read(folder)


@pytest.fixture(scope="session")
def package(
    session: Session, winners_run: FolderRun, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModuleType]:
    """The package of these winners, built and imported."""
    yield from _built(session, winners_run, tmp_path_factory, "llama_kernels")


@pytest.fixture(scope="session")
def package_of_models(
    session: Session, patient: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModuleType]:
    """A package of kernels for parts of models as `transformers` writes them, built and imported.

    They are judged to be right, and were never timed: eager PyTorch wastes too little there to be sure of who is
    faster on every CPU beside other work, and who reads a model looks at what is computed alone.
    """
    folder = tmp_path_factory.mktemp("runs") / "of_models"
    answers = [(str(PROBLEMS / f"{n}.py"), (PROBLEMS / f"{k}.py").read_text()) for n, k in OF_MODELS.items()]
    for record in judged(session, patient, folder, answers, timing=make_timing(3.0)):
        assert record.passed, (record.problem, record.reason, record.log[-2000:])
    yield from _built(session, FolderRun.read(folder), tmp_path_factory, "kernels_of_models")


def _built(
    session: Session, run: FolderRun, tmp_path_factory: pytest.TempPathFactory, name: str
) -> Iterator[ModuleType]:
    from kernelgauge.packaging.package import package as written

    out = tmp_path_factory.mktemp("packages") / name
    written([run], out, name=name, session=session)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path_factory.mktemp("extensions")))
        made = imported(out, name)
        assert made.build() == {}
        yield made
