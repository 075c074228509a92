"""Inside all isolation layers on a GPU: what every language needs is in reach, and a secret of the user's is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from factories import REFERENCE

from kernelgauge.backends.registry import backend_named
from kernelgauge.evaluation import hardware_counters
from kernelgauge.profiling import ncu
from kernelgauge.sandbox.isolation import LAYERS
from kernelgauge.schema import Evaluation, Outcome, Problem
from kernelgauge.session.session import Session
from kernelgauge.wire.shared_memory import create

pytestmark = pytest.mark.gpu

LOOKS = """

def _look():
    try:
        open({secret!r}).close()
    except OSError:
        return
    raise RuntimeError("the secret can be read")


_look()
"""
COMPILED = """
import torch


@torch.compile
def mapped(x):
    return torch.relu(x) * 2 + 1


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return mapped(x)
"""
AHEAD = """

def compile_ahead():
    mapped(torch.rand(33, 65, device="cuda"))
"""


@pytest.fixture(scope="module")
def gpu_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(tmp_path_factory.mktemp("gpu-cache")))
        with Session() as session:
            yield session


@pytest.fixture
def looks(tmp_path: Path) -> str:
    """Text of a candidate that raises if it can read a file of the user's."""
    secret = tmp_path / "secret"
    secret.write_text("a key")
    return LOOKS.format(secret=str(secret))


def judged(session: Session, reference: str, source: str, backend: str, timed: bool = False) -> Evaluation:
    problem = Problem(key="own", name="own", source=reference)
    return session.evaluate(problem, source, backend=backend, device="cuda", timed=timed, kernel_policy="any")


def layers_due(record: Evaluation) -> set[str]:
    """All of them; where a platform has no user namespaces, those that need none."""
    return set(LAYERS) if "network" in record.isolation else {"limits", "files", "reads", "syscalls"}


@pytest.mark.parametrize("backend", ["torch", "triton", "cuda"])
@pytest.mark.parametrize("timed", [False, True], ids=["checked", "timed"])
def test_a_worked_example_passes_inside_all_layers(
    gpu_session: Session, looks: str, backend: str, timed: bool
) -> None:
    if reason := backend_named(backend).missing("cuda"):
        pytest.skip(reason)
    reference, source = backend_named(backend).example()
    record = judged(gpu_session, reference, source + looks, backend, timed)
    assert record.outcome is Outcome.PASSED, f"{record.reason}\n{record.log}"
    assert set(record.isolation) == layers_due(record)


@pytest.mark.parametrize("ahead", ["", AHEAD], ids=["in the worker", "in the build"])
def test_torch_compile_works_inside_all_layers(gpu_session: Session, looks: str, ahead: str) -> None:
    record = judged(gpu_session, REFERENCE, COMPILED + ahead + looks, "torch")
    assert record.outcome is Outcome.PASSED, f"{record.reason}\n{record.log}"
    assert set(record.isolation) == layers_due(record)


def test_a_profile_is_taken_inside_all_layers(gpu_session: Session, looks: str, tmp_path: Path) -> None:
    reference, source = backend_named("triton").example()
    path = tmp_path / "reference.py"
    path.write_text(reference)
    profile = gpu_session.profile(
        path, source + looks, device="cuda", counters=hardware_counters.path_of(ncu) is not None
    )
    assert profile.outcome is None, f"{profile.reason}\n{profile.log}"
    assert profile.rows_are == "kernels", profile.notes
    assert {"reads", "syscalls"} <= set(profile.isolation)
    if hardware_counters.path_of(ncu) and not any("ERR_NVGPUCTRPERM" in note for note in profile.notes):
        assert profile.counters, profile.notes


def test_the_secret_is_read_where_the_wall_is_left_out(
    gpu_session: Session, looks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the others say something."""
    monkeypatch.setenv("KERNELGAUGE_WITHOUT_LAYERS", "reads")
    reference, source = backend_named("torch").example()
    with pytest.warns(UserWarning, match="KERNELGAUGE_WITHOUT_LAYERS leaves out reads"), Session() as session:
        record = judged(session, reference, source + looks, "torch")
    assert record.outcome is Outcome.LOAD_FAILED and "the secret can be read" in record.reason


def test_a_new_region_holds_nothing_of_an_earlier_one() -> None:
    for _ in range(3):
        region = create(2**26, "cuda:0")
        assert not region.bytes.any()
        region.bytes.fill_(7)
        region.close()
