"""Winners of real evaluations, made once: C kernels for the norm and the gate of a small Llama."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from packages import PROBLEMS, imported, judged, patient_protocol

from kernelgauge.report.runs import FolderRun

if TYPE_CHECKING:
    from kernelgauge.session.session import Session

NAMES = ("rms_norm", "gated", "gelu_new", "fourth_power")


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
    """A run with a kernel for each of these problems that is right and surely faster."""
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
    from kernelgauge.packaging.package import package as written

    out = tmp_path_factory.mktemp("packages") / "llama"
    written([winners_run], out, name="llama_kernels", session=session)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path_factory.mktemp("extensions")))
        made = imported(out, "llama_kernels")
        assert made.build() == {}
        yield made
