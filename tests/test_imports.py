"""The rooms: imports go down only, and the sealed worker never imports what judges it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernelgauge

ROOT = Path(kernelgauge.__file__).parent
TIERS = (
    {"cli", "__main__"},
    {"report", "training", "certify", "selftest", "verification", "inspect", "leaderboard", "serve"},
    {"contest"},
    {"session"},
    {"execution"},
    {"evaluation", "generation"},
    {"problems", "backends", "checks", "timing", "store", "search"},
    {"registry", "config", "hardware", "kernels"},
    {"schema", "errors", "protocols", "syntax", "secrets", "start", "deletion"},
)
TIER = {room: level for level, rooms in enumerate(TIERS) for room in rooms}
DATA = ("problems/level", "backends/examples", "selftest/specimens/")


def modules() -> list[Path]:
    found = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    return [path for path in found if not path.relative_to(ROOT).as_posix().startswith(DATA)]


def imported(path: Path) -> Iterator[str]:
    """Every kernelgauge module a file imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kernelgauge"):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("kernelgauge"))


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down_only(path: Path) -> None:
    own = path.relative_to(ROOT).with_suffix("").parts[0]
    assert own in TIER, f"{own} is no room of the architecture: give it a tier here and in docs/architecture.md"
    for module in imported(path):
        other = room(module)
        if other in TIER and other != own:
            assert TIER[other] >= TIER[own], f"{path.name} imports {module} from a room above its own"


def reachable(module: str) -> set[str]:
    """All kernelgauge modules that importing `module` imports, directly or not."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if name in seen or not path.is_file():
            continue
        seen.add(name)
        waiting.extend(imported(path))
    return seen


def test_the_worker_imports_nothing_that_judges_it() -> None:
    found = reachable("kernelgauge.worker.candidate")
    assert "kernelgauge.backends.registry" in found
    forbidden = (
        "kernelgauge.checks",
        "kernelgauge.store",
        "kernelgauge.problems",
        "kernelgauge.evaluation.correctness.verdicts",
    )
    assert not [name for name in found if name.startswith(forbidden)]


def test_import_is_light_and_brings_no_torch() -> None:
    code = "import sys, kernelgauge; print([m for m in ('torch', 'numpy', 'pydantic', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_brings_no_torch() -> None:
    code = "import sys; from kernelgauge.cli.main import app; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_exported_name_exists() -> None:
    for name in kernelgauge.__all__:
        assert getattr(kernelgauge, name) is not None
    with pytest.raises(AttributeError):
        _ = kernelgauge.nothing_of_this_name
