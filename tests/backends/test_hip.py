"""HIP without ROCm: which commands reach hipcc, by a stand-in that writes down its arguments (tests/kit/rocm)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelgauge.backends.hip import HipBackend, amd_architectures, hip_architecture, rocm_home
from kernelgauge.backends.registry import backend_named, detect
from kernelgauge.evaluation.failures import Failure
from kernelgauge.hardware.gpus import gpu_named
from kernelgauge.schema import Candidate, Outcome
from kernelgauge.session.session import Session

STAND_IN = Path(__file__).parents[1] / "kit" / "rocm"
TINY = """
import torch
from torch.utils.cpp_extension import load_inline

KERNEL = '''
#include <hip/hip_runtime.h>
__global__ void scale(float* x) { x[threadIdx.x] *= 2; }
void run(float* x, cudaStream_t stream) { scale<<<1, 64, 0, stream>>>(x); }
'''
kernels = load_inline(name="tiny", cpp_sources="", cuda_sources=KERNEL, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    pass
"""


def test_a_text_for_both_makers_is_cudas() -> None:
    both = "#ifdef USE_ROCM\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n#endif"
    assert detect(TINY.replace("#include <hip/hip_runtime.h>", both)) == "cuda"
    assert (
        detect(TINY.replace("#include <hip/hip_runtime.h>", "#include <hip/hip_runtime.h>\n#include <c10/cuda/X.h>"))
        == "hip"
    )


@pytest.fixture
def rocm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_HOME", str(STAND_IN))


@pytest.mark.processes
@pytest.mark.usefixtures("rocm")
def test_hipcc_gets_the_architecture_the_flags_and_hipified_sources(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELGAUGE_ARCHITECTURE", "gfx950")
    assert detect(TINY) == "hip"
    built = session.supervisor.build(Candidate(problem="-", source=TINY, backend="hip"), "cuda")
    assert built.folder is not None
    (recorded,) = built.folder.rglob("*.arguments")
    arguments = recorded.read_text().splitlines()
    assert "--offload-arch=gfx950" in arguments and "-fno-gpu-rdc" in arguments
    assert {"-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM=1", "-fPIC", "-c"} <= set(arguments)
    assert not [each for each in arguments if "gencode" in each or "nvcc" in each]
    source = Path(arguments[arguments.index("-c") + 1])
    assert source.suffix == ".hip"
    (kept,) = built.folder.rglob("*.hip")
    assert "hipStream_t" in kept.read_text() and "cudaStream_t" not in kept.read_text()


@pytest.mark.processes
def test_what_hipcc_refuses_is_build_failed(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hipcc = tmp_path / "bin" / "hipcc"
    hipcc.parent.mkdir()
    hipcc.write_text("#!/bin/sh\necho \"cuda.hip:3:1: error: unknown type name 'half9'\" >&2\nexit 1\n")
    hipcc.chmod(0o755)
    monkeypatch.setenv("ROCM_HOME", str(tmp_path))
    with pytest.raises(Failure, match="unknown type name 'half9'") as caught:
        session.supervisor.build(Candidate(problem="-", source=TINY, backend="hip"), "cuda")
    assert caught.value.outcome is Outcome.BUILD_FAILED


def test_missing_rocm_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROCM_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert rocm_home() is None
    assert "hipcc is neither on the path nor under ROCM_HOME" in (HipBackend().missing("cuda") or "")


@pytest.mark.usefixtures("rocm")
def test_a_pytorch_without_rocm_is_said() -> None:
    assert "is built without ROCm" in (HipBackend().missing("cuda") or "")


def test_architectures_are_read_from_the_drivers_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, version in ((0, 0), (1, 90402), (2, 90500), (10, 90010)):
        (tmp_path / str(node)).mkdir()
        (tmp_path / str(node) / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    assert amd_architectures(tmp_path) == ["gfx942", "gfx950", "gfx90a"]
    monkeypatch.setenv("KERNELGAUGE_ARCHITECTURE", "9.0a")
    assert hip_architecture() == "gfx942", "an NVIDIA architecture says nothing about AMD's"


def test_cuda_for_an_nvidia_gpu_is_not_taken_for_hip() -> None:
    assert detect(TINY.replace("#include <hip/hip_runtime.h>", "")) == "cuda"
    assert detect(backend_named("hip").example()[1]) == "hip"


@pytest.mark.parametrize("name", ["MI300X", "MI325X", "MI355X"])
def test_amd_gpus_have_a_row(name: str) -> None:
    gpu = gpu_named(name)
    assert gpu.warp == 64 and gpu.architecture.startswith("CDNA") and gpu.gbs
