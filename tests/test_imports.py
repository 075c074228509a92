"""The rooms: imports go one way, without circles, and what runs beside a candidate never reaches a judge."""

from __future__ import annotations

import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import pytest
from import_graph import MODULES, imported, reachable

import kernelgauge

# From the top: each room imports those below it alone. `room.name` is a folder in a room, or one of its files that
# lies lower than the rest of it. docs/explanation/architecture.md shows the same.
ROOMS = (
    *(
        "__main__",
        "cli",
        "packaging",
        "runs",
        "models.forecasting",
        "models.logs",
        "models.task",
        "models.contestants",
        "models.asking",
    ),
    *(
        "selftest",
        "serve",
        "pairs",
        "verification",
        "models.judging",
        "leaderboard",
        "training",
        "forecast",
        "session",
        "cluster",
    ),
    "execution",
    *("evaluation", "evaluation.resources", "evaluation.measurement", "evaluation.correctness", "evaluation.sides"),
    *("evaluation.failures", "worker", "report.runs", "report.page", "report.tables", "report", "report.figures"),
    *("expert", "generation", "sandbox", "wire", "report.table"),
    *("models", "models.budget", "judging", "search", "problems", "checks", "backends", "store", "timing", "kernels"),
    *("config", "profiling", "hardware", "registry", "deletion", "schema", "redaction", "errors", "syntax"),
    "protocols",
)
DEPTH = {room: depth for depth, room in enumerate(ROOMS)}


def room(module: str) -> str:
    """The room that a module belongs to: the longest that its name begins with."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    found = next((name for name in names if name in DEPTH), None)
    assert found, f"{module} is in no room: give it a place in ROOMS and docs/explanation/architecture.md"
    return found


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down_only(name: str) -> None:
    for other in imported(name):
        if room(other) != room(name):
            assert DEPTH[room(other)] > DEPTH[room(name)], f"{name} imports {other}, which is not below it"


def test_no_imports_go_in_circles() -> None:
    try:
        TopologicalSorter({name: imported(name, types=False) for name in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) != "worker"])
def test_nobody_imports_the_far_side(name: str) -> None:
    assert not [other for other in imported(name) if room(other) == "worker"]


def test_what_runs_beside_a_candidate_reaches_no_judge() -> None:
    found = {room(name) for name in reachable("worker.candidate")}
    assert {"backends", "wire"} <= found
    assert not found & {"checks", "store", "problems", "evaluation", "evaluation.failures", "evaluation.correctness"}
    assert not [name for name in found if name.startswith("evaluation")]


def test_nothing_shadows_the_standard_library() -> None:
    """A program started in a folder imports the files beside it first."""
    names = {part for name in MODULES for part in name.split(".")} - {"__main__"}
    assert not names & sys.stdlib_module_names


@pytest.mark.processes
def test_import_is_light_and_brings_no_torch() -> None:
    code = "import sys, kernelgauge; print([m for m in ('torch', 'numpy', 'pydantic', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.processes
def test_help_brings_no_torch() -> None:
    code = "import sys; from kernelgauge.cli.main import app; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_exported_name_exists() -> None:
    for name in kernelgauge.__all__:
        assert getattr(kernelgauge, name) is not None
    with pytest.raises(AttributeError):
        _ = kernelgauge.nothing_of_this_name
