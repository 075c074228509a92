"""A package on a machine without its GPU, on several devices, and beside the settings of PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from handmade import handmade, kernel
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from kernelgauge.packaging.runtime import guards, machine
from kernelgauge.packaging.runtime.guards import Argument

WITHOUT_A_GPU = """
import warnings, torch
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import cuda_kernels as k
    class Sine(torch.nn.Module):
        def forward(self, x):
            return torch.tanh(torch.sin(x) * 2.0)
    x = torch.rand(2, 3)
    found = k.build()
    applied = k.apply(torch.nn.Sequential(Sine(), Sine()), x)
    assert applied.swaps == [] and list(found) == ["sine"], found
    torch.testing.assert_close(k.sine(x), torch.tanh(torch.sin(x) * 2.0))
    print(found, [str(each.message) for each in said if issubclass(each.category, RuntimeWarning)])
"""
SINE = kernel("torch.tanh(torch.sin(x) * 2.0)", "torch.tanh(torch.sin(x) * 2.0)", "[torch.rand(2, 3)]")


@pytest.mark.processes
def test_a_package_for_a_gpu_falls_back_without_one(tmp_path: Path) -> None:
    gpu = {"device": "cuda", "name": "NVIDIA H200", "capability": "9.0"}
    handmade(tmp_path, "cuda_kernels", {"sine": [SINE]}, machine=gpu)
    env = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT_A_GPU], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("they were judged on NVIDIA H200, and there is no GPU here") == 2, "result and warning"


def test_all_tensors_lie_on_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [Argument({"shape": [2], "dtype": "float32"})] * 2
    monkeypatch.setattr(guards, "PLAIN", (FakeTensor,))  # of GPUs that are not here
    with FakeTensorMode():
        one, two = torch.rand(2, device="cuda:0"), torch.rand(2, device="cuda:1")
        assert guards.first_miss(wanted, (one, one), "cuda") is None
        assert guards.first_miss(wanted, (one, two), "cuda") == "device"


@pytest.fixture
def products() -> object:
    before = torch.backends.cuda.matmul.fp32_precision
    yield torch.backends.cuda.matmul
    torch.backends.cuda.matmul.fp32_precision = before


def test_tf32_is_read_whichever_way_it_was_set(products: object, tmp_path: Path) -> None:
    package = handmade(tmp_path, "tf32_kernels", {"sine": [SINE]}, math="tf32")
    x = torch.rand(2, 3)
    package.sine(x)
    products.fp32_precision = "tf32"  # type: ignore[attr-defined]
    package.sine(x)
    assert package.counters()["sine"] == {"hits": 1, "misses": {"arithmetic": 1}}


def test_build_makes_one_call(tmp_path: Path) -> None:
    mark = tmp_path / "called"
    reference, candidate = SINE
    candidate = candidate.replace("return", f"open({str(mark)!r}, 'a').write('x')\n        return")
    broken = candidate.replace("return", "raise ValueError('not compiled')\n        return")
    package = handmade(tmp_path, "built_kernels", {"sine": [(reference, candidate)], "wrong": [(reference, broken)]})
    with pytest.warns(RuntimeWarning, match="the kernel of wrong is not used, .*ValueError: not compiled"):
        assert package.build() == {"wrong": "operator wrong could not be built"}
    assert mark.read_text() == "xx"
    x = torch.rand(2, 3)
    torch.testing.assert_close(package.wrong(x), package.sine(x))
    assert package.counters() == {"sine": {"hits": 1, "misses": {}}, "wrong": {"hits": 0, "misses": {"broken": 1}}}


def test_what_a_kernel_holds_is_cast_as_its_judge_cast_it(tmp_path: Path) -> None:
    shift = 'self.register_buffer("shift", torch.ones(3))'
    reference, _ = kernel("x + 1", "x + 1", "[torch.rand((2, 3), dtype=torch.bfloat16)]")
    _, candidate = kernel("x + 1", "x + self.shift", "[torch.rand(2, 3)]", own=shift)
    package = handmade(tmp_path, "cast_kernels", {"shifted": [(reference, candidate)]}, math="bf16")
    x = torch.rand(2, 3).bfloat16()
    found = package.shifted(x)
    assert found.dtype == torch.bfloat16 and package.counters()["shifted"]["hits"] == 1
    torch.testing.assert_close(found, x + 1)


def test_a_device_has_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert [machine.indexed(each) for each in ("cuda", "cuda:0", "cpu")] == ["cuda:1", "cuda:0", "cpu"]
    with machine.on("cpu"):
        pass
