"""What a package overwrites, how it may be called, and what it needs; and that it runs what was written."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from handmade import handmade, kernel

from kernelgauge.errors import UsageError
from kernelgauge.packaging.homes import backendbench
from kernelgauge.packaging.homes.own_folders import emptied
from kernelgauge.packaging.homes.single_calls import single_call
from kernelgauge.packaging.names import DEFAULT, check_package_name
from kernelgauge.packaging.runtime.graphs import trace_of
from kernelgauge.packaging.writing import check_free, needs_more, remove_package

SINE = {"sine": [kernel("torch.sin(x)", "torch.sin(x)", "[torch.rand(2, 3)]")]}


@pytest.mark.parametrize("place", ["pyproject.toml", "README.md", "tests/test_mine.py", "mine/__init__.py"])
def test_a_file_of_somebody_else_stays(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        check_free(tmp_path, "mine", replace=True)
    assert (tmp_path / place).read_text() == "mine"


def test_a_folder_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "huggingface").mkdir()
    check_free(tmp_path, "mine", replace=False)
    with pytest.raises(UsageError, match="huggingface is there already"):
        check_free(tmp_path, "mine", replace=True, homes=("huggingface",))
    emptied(tmp_path / "huggingface")
    check_free(tmp_path, "mine", replace=True, homes=("huggingface",))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "package.json").write_text(json.dumps({"name": "of-npm"}))
    with pytest.raises(UsageError, match="is no package of ours"):
        check_free(tmp_path, "mine", replace=True)


def test_one_folder_holds_one_package(tmp_path: Path) -> None:
    handmade(tmp_path, "first_kernels", SINE)
    with pytest.raises(UsageError, match=r"--replace overwrites it, or choose another folder$"):
        check_free(tmp_path, "first_kernels", replace=False)
    check_free(tmp_path, "first_kernels", replace=True)
    with pytest.raises(UsageError, match=r"pyproject\.toml is there already and is not of the package other_kernels"):
        check_free(tmp_path, "other_kernels", replace=True)


def test_a_removed_package_leaves_nothing_of_its_own(tmp_path: Path) -> None:
    handmade(tmp_path, "removed_kernels", SINE)
    (tmp_path / "tests" / "test_mine.py").write_text("mine")
    remove_package(tmp_path, "removed_kernels")
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["test_mine.py"]
    check_free(tmp_path, "other_kernels", replace=False)


def test_no_package_hides_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_package_name(DEFAULT) == "my_kernels"
    for name in ("kernels", "triton", "transformers", "flashinfer_bench", "json", "pydantic"):
        with pytest.raises(UsageError, match="cannot name a package"):
            check_package_name(name)
    handmade(tmp_path, "again_kernels", SINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert check_package_name("again_kernels") == "again_kernels", "one of ours is written anew"


@pytest.mark.parametrize(
    ("source", "more"),
    [
        ("from kernelgauge.kernels import cuda", False),
        ("import kernelgauge.kernels.cuda as cuda", False),
        ("import torch  # not kernelgauge", False),
        ("from kernelgauge import kernels", True),
        ("import kernelgauge", True),
        ("def f():\n    from kernelgauge.problems import loader", True),
        ("import kernelgauge.kernels_of_mine", True),
    ],
)
def test_imports_that_no_package_has(source: str, more: bool) -> None:
    assert needs_more(source) is more


def test_a_call_with_one_tensor_twice_is_no_override() -> None:
    def found(forward: object, *inputs: torch.Tensor) -> object:
        trace = trace_of(lambda given, _: forward(*given), inputs, (), 8)  # type: ignore[operator]
        assert trace is not None
        return single_call(trace, len(inputs))

    x, y = torch.rand(4), torch.rand(4)
    assert found(lambda a: a * a, x) is None
    assert found(lambda a, b: b * a, x, y)["order"] == [1, 0]  # type: ignore[index]


def test_the_search_for_such_calls_sees_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []

    def run(command: list[str], env: dict[str, str] | None = None, **_: object) -> subprocess.CompletedProcess[str]:
        seen.append(dict(os.environ) if env is None else env)
        return subprocess.CompletedProcess(command, 0, stdout="{}")

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(backendbench.subprocess, "run", run)
    assert backendbench._single_calls(tmp_path / "x", "x") == {}
    assert "CUDA_VISIBLE_DEVICES" not in seen[0]


@pytest.mark.processes
def test_what_python_has_cached_is_not_run(tmp_path: Path) -> None:
    module = handmade(tmp_path, "cached_kernels", SINE)
    file, mark = Path(str(module.__file__)).parent / "_runtime" / "guards.py", tmp_path / "loaded"
    said, text = file.stat(), file.read_text()
    code = compile(f"{text}\nopen({str(mark)!r}, 'w')\n", str(file), "exec")
    cached = Path(importlib.util.cache_from_source(str(file)))
    cached.parent.mkdir(exist_ok=True)
    times = b"".join(n.to_bytes(4, "little") for n in (0, int(said.st_mtime) & 0xFFFFFFFF, said.st_size))
    cached.write_bytes(importlib.util.MAGIC_NUMBER + times + marshal.dumps(code))
    use = "import torch, cached_kernels as k; k.sine(torch.rand(2, 3)); print(k.counters())"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", use], env=env, capture_output=True, text=True, check=True)
    assert "'hits': 1" in done.stdout and not mark.exists()


@pytest.mark.processes
def test_a_package_with_a_missing_file_is_not_used(tmp_path: Path) -> None:
    module = handmade(tmp_path, "torn_kernels", SINE)
    (Path(str(module.__file__)).parent / "_runtime" / "graphs.py").unlink()
    program = (
        "import warnings, torch, kernelgauge as kg\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    applied = kg.apply(torch.nn.Sequential(torch.nn.Sigmoid()), torch.rand(2), packages=['torn_kernels'])\n"
        "print(applied.swaps, [str(each.message) for each in said])\n"
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "[] " in done.stdout and "_runtime/graphs.py cannot be read" in done.stdout
