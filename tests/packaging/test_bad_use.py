"""Another machine, another PyTorch, no compiler, a changed file: PyTorch answers, and one warning says why."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from handmade import handmade, kernel

import kernelgauge as kg

pytestmark = [pytest.mark.processes, pytest.mark.proof("packaging", unit="package")]
USE = """
import warnings, torch
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import llama_kernels as k
    for _ in range(3):
        h, w = torch.rand(16, 1024, 128), torch.rand(128)
        found = k.rms_norm(h, w)
        torch.testing.assert_close(found, w * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)))
        k.gated(torch.rand(8, 128, 1024), torch.rand(8, 128, 1024))
    mine = [str(each.message) for each in said if "llama_kernels" in str(each.message)]
    print(k.counters()["rms_norm"], k.counters()["gated"], len(mine), mine)
"""


def used(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process that calls both operators of the package in a folder three times."""
    env = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder), **variables}
    return subprocess.run([sys.executable, "-c", USE], env=env, capture_output=True, text=True)


@pytest.fixture
def copy(package: ModuleType, tmp_path: Path) -> Path:
    """A copy of the package that may be spoilt."""
    home = Path(str(package.__file__)).parent
    return Path(shutil.copytree(home, tmp_path / "copy" / home.name))


def rewritten(folder: Path, change: Callable[[dict], None]) -> None:
    """The package as if it had been written so: `package.json` with a change, and its new digest."""
    path, module = folder / "package.json", folder / "__init__.py"
    about = json.loads(path.read_text())
    change(about)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(json.dumps(about))
    module.write_text(module.read_text().replace(before, hashlib.sha256(path.read_bytes()).hexdigest()))


def on_another(**machine: str) -> Callable[[dict], None]:
    """As judged on another machine."""

    def change(about: dict) -> None:
        for operator in about["operators"]:
            for variant in operator["variants"]:
                variant["machine"].update(machine)

    return change


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        ({"name": "Another Processor"}, "they were judged on Another Processor, and this is"),
        ({"torch": "2.9.0"}, "they were judged with PyTorch 2.9.0, and this is"),
        ({"capability": "AVX1024"}, "they were judged for AVX1024, and this is"),
    ],
)
def test_another_machine_says_so_once(copy: Path, machine: dict[str, str], sentence: str) -> None:
    rewritten(copy, on_another(**machine))
    done = used(copy.parent)
    assert done.returncode == 0, done.stderr
    assert "{'hits': 0, 'misses': {'machine': 3}} {'hits': 0, 'misses': {'machine': 3}} 1 " in done.stdout
    assert sentence in done.stdout


def test_a_missing_compiler_says_so_once(copy: Path, tmp_path: Path) -> None:
    rewritten(copy, lambda about: [v.update(backend="cpp") for o in about["operators"] for v in o["variants"]])
    (tmp_path / "nothing").mkdir()
    done = used(copy.parent, PATH=str(tmp_path / "nothing"))
    assert done.returncode == 0, done.stderr
    assert "{'hits': 0, 'misses': {'broken': 3}} {'hits': 0, 'misses': {'broken': 3}} 1 " in done.stdout
    assert "there is no C++ compiler on the path" in done.stdout


EXTENSION = """
from torch.utils.cpp_extension import load_inline
load_inline("lacking", "", cuda_sources="__global__ void nothing() {}", functions=[])
"""


@pytest.mark.parametrize(
    ("language", "need", "sentence"),
    [
        ("cuda", EXTENSION, "there is no CUDA compiler: nvcc is neither on the path nor under CUDA_HOME"),
        ("helion", "import helion", "the module helion is not installed"),
        ("numba", "from numba import cuda", "the module numba is not installed"),
        ("tilelang", "import tilelang", "the module tilelang is not installed"),
    ],
)
def test_what_is_not_installed_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str, need: str, sentence: str
) -> None:
    reference, candidate = kernel("torch.log(x).neg()", "torch.log(x).neg()", "[torch.rand(2, 4)]")
    name = f"{language}_lacking"
    kernels = {each: [(reference, f"# {each}\n{need}\n{candidate}")] for each in ("first", "second")}
    package = handmade(tmp_path, name, kernels)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))
    monkeypatch.setattr("torch.utils.cpp_extension.CUDA_HOME", None)
    monkeypatch.setitem(sys.modules, language, None)  # as if it were not installed
    x = torch.rand(2, 4)
    with pytest.warns(RuntimeWarning, match=name) as said:
        for operator in (package.first, package.second, package.first):
            torch.testing.assert_close(operator(x), torch.log(x).neg())
    assert package.counters()["first"] == {"hits": 0, "misses": {"broken": 2}}
    assert [str(each.message) for each in said] == [
        f"{name}: {sentence}: kernels that need it are not used, PyTorch computes instead"
    ]


def test_a_changed_kernel_is_not_loaded(copy: Path, tmp_path: Path) -> None:
    (candidate,) = copy.glob("winners/rms_norm/v0/candidate.py")
    mark = tmp_path / "loaded"
    candidate.write_text(f"open({str(mark)!r}, 'w')\n" + candidate.read_text())
    done = used(copy.parent)
    assert done.returncode == 0, done.stderr
    assert "{'hits': 0, 'misses': {'broken': 3}} {'hits': 3, 'misses': {}} 1 " in done.stdout
    assert "the kernel of rms_norm is not used" in done.stdout and "is not the file that was packaged" in done.stdout
    assert not mark.exists()


@pytest.mark.parametrize("file", ["package.json", "_runtime/guards.py", "_runtime/package.py"])
def test_a_changed_package_is_not_imported(copy: Path, tmp_path: Path, file: str) -> None:
    place = copy / file
    mark = tmp_path / "loaded"
    text = place.read_text()
    place.write_text(f"{text} " if file.endswith("json") else f"open({str(mark)!r}, 'w')\n{text}")
    done = used(copy.parent)
    assert done.returncode == 1 and "is not the file that was packaged" in done.stderr
    assert not mark.exists()


def test_a_changed_reference_is_an_error(copy: Path) -> None:
    (reference,) = copy.glob("winners/rms_norm/v0/reference.py")
    reference.write_text(reference.read_text() + "\n")
    done = used(copy.parent)
    assert done.returncode == 1 and "is not the file that was packaged" in done.stderr


def test_a_changed_reference_swaps_nothing_and_says_so_once(tmp_path: Path) -> None:
    made = kernel("torch.log(x).neg()", "torch.log(x).neg()", "[torch.rand(2, 4)]")
    package = handmade(tmp_path, "changed_reference", {"log": [made]})
    reference = Path(str(package.__file__)).parent / "winners/log/v0/reference.py"
    reference.write_text(reference.read_text() + "\n")
    model, x = torch.nn.Sequential(Log()), torch.rand(2, 4)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert package.apply(model, x).swaps == []
        assert kg.apply(model, x, packages=[package], classes={"Log": "log"}).swaps == []
    (sentence,) = [str(each.message) for each in said if "changed_reference" in str(each.message)]
    assert "no module is swapped for log: its reference cannot be loaded" in sentence
    assert "is not the file that was packaged" in sentence


class Log(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log(x).neg()
