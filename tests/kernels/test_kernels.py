"""The raw form: parameters read from source, compiled by NVRTC in the build, launched on PyTorch's stream."""

from __future__ import annotations

import struct
import threading
from pathlib import Path

import pytest
import torch

from kernelgauge.backends.parts import parts
from kernelgauge.backends.registry import backend_named, detect
from kernelgauge.evaluation.failures import Failure
from kernelgauge.kernels import CompileError, CompilerMissing, SignatureError, cuda_kernel, nvrtc
from kernelgauge.kernels.building import keeping
from kernelgauge.kernels.signature import packer, parameter, parameters
from kernelgauge.schema import Candidate, Outcome, Problem
from kernelgauge.session.session import Session

SCALE = r"""
// __global__ void scale(int other) {}  is only a remark
extern "C" __global__ void __launch_bounds__(256) scale(const float* __restrict__ x, float* y, long long count,
                                                        const float factor = 1.0f) {
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] * factor;
}
"""
TEMPLATE = r"""
namespace mine {
template <typename T, int N>
__global__ void fill(T* y, T value) { y[threadIdx.x] = value * N; }
}
"""
CANDIDATE = f'''
import torch

from kernelgauge.kernels import cuda_kernel

scale = cuda_kernel(r"""{SCALE}""", "scale")


class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        y = torch.empty_like(x)
        scale((x.numel() + 255) // 256, 256, x, y, x.numel(), self.factor)
        return y
'''
REFERENCE = """
import torch


class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


def get_inputs():
    return [torch.rand(33, 65)]


def get_init_inputs():
    return [2.5]
"""


def has_nvrtc() -> bool:
    try:
        return bool(nvrtc.version())
    except CompilerMissing:
        return False


needs_nvrtc = pytest.mark.skipif(not has_nvrtc(), reason="libnvrtc is not installed")
needs_nvcc = pytest.mark.skipif(
    backend_named("cuda").cannot_build() is not None, reason=backend_named("cuda").cannot_build() or ""
)


def test_parameters_are_read_from_the_source() -> None:
    found = parameters(SCALE, "scale")
    assert [each.code for each in found] == ["P", "P", "q", "f"]
    assert found[0].text == "const float* __restrict__ x"
    assert parameters('extern "C" __global__ void f(void) {}', "f") == []
    with pytest.raises(SignatureError, match="no `__global__ void other"):
        parameters(SCALE, "other")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("const unsigned long long n", "Q"),
        ("unsigned n", "I"),
        ("int", "i"),
        ("std::int64_t count", "q"),
        ("std::size_t n", "Q"),
        ("bool flag", "?"),
        ("double", "d"),
        ("const __grid_constant__ int n", "i"),
        ("cuda::std::pair<int, int>* p", "P"),
        ("float x[]", "P"),
    ],
)
def test_types_of_parameters(text: str, code: str) -> None:
    assert parameter(text).code == code


@pytest.mark.parametrize("text", ["T value", "float4 v", "cuda::std::array<int, 4> shape", "const Options& options"])
def test_what_no_python_value_becomes_is_refused_by_name(text: str) -> None:
    with pytest.raises(SignatureError, match="Python values become pointers and plain numbers only"):
        parameter(text)


def test_values_are_packed_into_slots_of_eight_bytes() -> None:
    pack = packer(parameters(SCALE, "scale"))
    assert pack.size == 32
    assert pack.pack(1, 2, -3, 2.5) == struct.pack("=QQqf4x", 1, 2, -3, 2.5)
    for wrong in ((1.0, 2, 3, 1.0), (1, 2, 3.0, 1.0), (1, 2, 1 << 63, 1.0), (1, 2, 3, "4")):
        with pytest.raises(struct.error):
            pack.pack(*wrong)


def test_the_raw_form_is_recognised() -> None:
    assert detect(CANDIDATE) == "cuda"
    assert [route.name for route in backend_named("cuda").routes(CANDIDATE, None)] == ["raw"]  # type: ignore[arg-type]


@needs_nvrtc
def test_compiles_without_a_gpu_and_names_instances_of_templates() -> None:
    found = nvrtc.compiled(SCALE, "scale", ["--gpu-architecture=sm_90a"])
    assert found.cubin.startswith(b"\x7fELF")
    assert found.function == "scale"
    instance = nvrtc.compiled(TEMPLATE, "mine::fill<float, 3>", ["--gpu-architecture=sm_90"])
    assert "fill" in instance.function
    assert instance.function != "fill"
    kernel = cuda_kernel(TEMPLATE, "mine::fill<float, 3>", parameters=["float*", "float"])
    kernel.compile()
    with pytest.raises(SignatureError, match="name the types in `parameters`"):
        cuda_kernel(TEMPLATE, "mine::fill<float, 3>")


@needs_nvrtc
def test_outside_a_build_nothing_is_compiled_before_it_is_wanted() -> None:
    kernel = cuda_kernel(SCALE.replace("* factor;", "* factor"), "scale")
    with pytest.raises(CompileError, match=r'scale\.cu\(\d+\): error: expected a ";"'):
        kernel.compile()


@needs_nvrtc
def test_a_build_keeps_code_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with keeping(tmp_path):
        cuda_kernel(SCALE, "scale")
        cuda_kernel(SCALE, "scale", options=["-DX=1"])
        monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0")
        cuda_kernel(SCALE, "scale")
        assert len(list(tmp_path.glob("kernels/*/cubin"))) == 3
        monkeypatch.setattr(nvrtc, "compiled", None)
        cuda_kernel(SCALE, "scale")  # found, so that no compiler is needed
    assert [(part.name, part.route) for part in parts(tmp_path)] == [("scale", "raw")] * 3


@pytest.mark.processes
@needs_nvrtc
@needs_nvcc
def test_raw_candidate_builds_in_the_sealed_process(session: Session) -> None:
    built = session.supervisor.build(Candidate(problem="scaled", source=CANDIDATE, backend="cuda"), "cuda")
    assert built.made
    assert built.folder is not None
    assert [(part.name, part.route) for part in parts(built.folder)] == [("scale", "raw")]


@pytest.mark.processes
@needs_nvrtc
@needs_nvcc
def test_raw_error_is_build_failed_with_the_compilers_line(session: Session) -> None:
    broken = Candidate(problem="scaled", source=CANDIDATE.replace("* factor;", "* factor"), backend="cuda")
    with pytest.raises(Failure, match=r'build: scale\.cu\(\d+\): error: expected a ";"') as caught:
        session.supervisor.build(broken, "cuda")
    assert caught.value.outcome is Outcome.BUILD_FAILED


def test_notes_of_a_hostile_build_are_not_believed(tmp_path: Path) -> None:
    for number, text in enumerate(['{"name": "x"}', "[" * 5000, '{"name": "x", "route": "slim", "seconds": 1}', ""]):
        place = tmp_path / "extensions" / str(number)
        place.mkdir(parents=True)
        (place / "route.json").write_text(text)
    assert [part.name for part in parts(tmp_path)] == ["x"]


@pytest.mark.gpu
def test_raw_candidate_passes_the_strict_protocol(session: Session) -> None:
    problem = Problem(key="scaled", name="scaled", source=REFERENCE)
    record = session.evaluate(problem, CANDIDATE, device="cuda", timed=False)
    assert record.passed, record.reason


@pytest.mark.gpu
def test_launches_on_the_current_stream_and_inside_a_graph() -> None:
    kernel = cuda_kernel(SCALE, "scale")
    x, y = torch.rand(1000, device="cuda"), torch.zeros(1000, device="cuda")
    kernel((4, 1), (256,), x, y, 1000, 3)
    assert torch.equal(y, x * 3)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(4, 256, x, y, 1000, 2.0)
    x.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, torch.full_like(y, 10))
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        torch.cuda._sleep(10_000_000)
        y.zero_()
        kernel(4, 256, x, y, 1000, 1.0)
        torch.cuda.current_stream().synchronize()
        assert torch.equal(y, x)


@pytest.mark.gpu
def test_shared_memory_above_48_kilobytes_and_cooperative_launches() -> None:
    source = r"""
#include <cooperative_groups.h>
extern "C" __global__ void both(int* y, int last) {
    extern __shared__ int values[];
    values[last] = 7;
    if (threadIdx.x == 0) y[blockIdx.x] = values[last];
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0) for (int i = 1; i < gridDim.x; ++i) y[0] += y[i];
}
"""
    kernel = cuda_kernel(source, "both", cooperative=True)
    y = torch.zeros(16, dtype=torch.int32, device="cuda")
    kernel(16, 32, y, 24 * 1024 - 1, shared=96 * 1024)
    assert int(y[0]) == 7 * 16


@pytest.mark.gpu
def test_what_a_launch_refuses() -> None:
    kernel = cuda_kernel(SCALE, "scale")
    x = torch.rand(10, device="cuda")
    with pytest.raises(TypeError, match=r"kernel scale takes \(const float\* __restrict__ x, .*was given \(Tensor"):
        kernel(1, 32, x, x)
    with pytest.raises(TypeError, match="on a GPU, and was given one on cpu"):
        kernel(1, 32, x.cpu(), x, 10, 1.0)
    with pytest.raises(TypeError, match=r"kernel scale: grid 0\.5 and block 32 are whole numbers"):
        kernel(0.5, 32, x, x, 10, 1.0)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="cannot launch kernel scale: grid 1, block 4096"):
        kernel(1, 4096, x, x, 10, 1.0)
    kernel(1, 32, x, x, 10, 1.0)
    torch.cuda.synchronize()


@pytest.mark.gpu
def test_a_thread_that_never_used_the_gpu_may_launch() -> None:
    kernel = cuda_kernel(SCALE, "scale")
    x, y = torch.ones(100, device="cuda"), torch.zeros(100, device="cuda")
    torch.cuda.synchronize()
    thread = threading.Thread(target=lambda: kernel(1, 128, x, y, 100, 3.0))
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert torch.equal(y, x * 3)
