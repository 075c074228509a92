"""The kernel languages through the real evaluator: examples, refusals, and what they say they lack."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from extensions import SLIM

import kernelgauge
from kernelgauge.backends.base import Backend
from kernelgauge.backends.cuda import cuda_home
from kernelgauge.backends.registry import backend_named, detect, names
from kernelgauge.config import load_protocol
from kernelgauge.errors import BackendMissing, UsageError
from kernelgauge.evaluation.failures import Failure
from kernelgauge.hardware.environment import gpu
from kernelgauge.schema import Candidate, Evaluation, Outcome, Problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

PAIRS = [
    pytest.param(name, device, id=f"{name}-{device}", marks=[pytest.mark.gpu] if device == "cuda" else [])
    for name in names()
    for device in backend_named(name).devices
]

SCALED = """
import torch
import torch.nn as nn


class Model(nn.Module):
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


CUDA_SLIM = '''
import torch
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
__global__ void scale(const float* x, float* y, int count, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] * factor;
}
"""
kernels = load_inline(name="slim", cpp_sources="", cuda_sources=KERNEL, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    pass
'''

EXTENSION = (
    "import torch.utils.cpp_extension as ext\n"
    "from torch.utils.cpp_extension import CUDAExtension, CppExtension, load, load as compiled, load_inline\n"
    "from torch.utils.cpp_extension import load_inline as inline"
)
# Ways to hand C++ and CUDA to PyTorch's extensions, as models write them.
HANDED_OVER = [
    ("", "torch"),
    ("load_inline('n', 'int f();', 'k')", "cuda"),
    ("inline('n', CPP, CUDA, ['f'])", "cuda"),
    ("ext.load_inline('n', CPP, [CUDA], ['f'])", "cuda"),
    ("load_inline('n', CPP, None, ['f'])", "cpp"),
    ("load_inline('n', CPP, [], ['f'])", "cpp"),
    ("inline(name='n', cpp_sources=[CPP], cuda_sources=[], functions=['f'])", "cpp"),
    ("inline(name='n', cpp_sources=[CPP], cuda_sources='')", "cpp"),
    ("load_inline(name='n', cpp_sources='at::Tensor f(at::Tensor x) { return at::relu(x); }')", "cpp"),
    ("load_inline(name='n', cpp_sources=CPP, with_cuda=False)", "cpp"),
    ("load_inline(name='n', cpp_sources=CPP, with_cuda=torch.cuda.is_available())", "cpp"),
    ("load_inline(name='n', cpp_sources=CPP, with_cuda=True)", "cuda"),
    ("load_inline(name='n', cpp_sources='#include <ATen/cuda/CUDAContext.h>\\nint f();')", "cuda"),
    ("CPP = '#include <torch/extension.h>\\n  #include <cublas_v2.h>'\nload_inline('n', CPP)", "cuda"),
    ("load_inline(name='n', cpp_sources='void f() { cudaLaunchKernel(k, g, b, a, 0, s); }')", "cuda"),
    ("load_inline(name='n', cpp_sources='void f() { k<<<1, 2>>>(x); }')", "cuda"),
    ("load_inline(name='n', cpp_sources=['int f();', '__global__ void k() {}'])", "cuda"),
    ("GIVEN = dict(name='n', cpp_sources=CPP, cuda_sources=CUDA)\nload_inline(**GIVEN)", "cuda"),
    ("GIVEN = {'name': 'n', 'cpp_sources': CPP, 'cuda_sources': CUDA}\nload_inline(**GIVEN)", "cuda"),
    ("GIVEN = {'name': 'n', 'cpp_sources': CPP}\nload_inline(**GIVEN)", "cpp"),
    ("import functools\nbuild = functools.partial(load_inline, name='n')\nbuild(cpp_sources=CPP)", "cpp"),
    ("make = ext.load_inline\nmake('n', CPP)", "cpp"),
    ("compiled('n', ['a.cpp', 'b.cu'])", "cuda"),
    ("open('b.cu', 'w').write(CUDA)\next.load(name='n', sources=['b.cu'])", "cuda"),
    ("compiled('n', [f'{folder}/a.cc'])", "cpp"),
    ("CUDAExtension('n', SOURCES)", "cuda"),
    ("CppExtension('n', SOURCES)", "cpp"),
    ("import triton\nload_inline('n', CPP, CUDA)", "cuda"),
    ("import triton, triton.language as tl", "triton"),
]

needs_compiler = pytest.mark.skipif(
    backend_named("cpp").missing("cpu") is not None, reason=backend_named("cpp").missing("cpu") or ""
)
needs_nvcc = pytest.mark.skipif(cuda_home() is None, reason="nvcc is neither on the path nor under CUDA_HOME")


def judged(session: Session, source: str, backend: str | None = None) -> Evaluation:
    problem = Problem(key="scaled", name="scaled", source=SCALED)
    return session.evaluate(problem, source, backend=backend, timed=False, kernel_policy="any")


@pytest.mark.proof
@pytest.mark.parametrize(("name", "device"), PAIRS)
def test_example_passes_the_strict_protocol(session: Session, name: str, device: str) -> None:
    backend = backend_named(name)
    if reason := backend.missing(device):
        pytest.skip(reason)
    reference, candidate = backend.example()
    problem = Problem(key=f"example of {name}", name="example", source=reference)
    record = session.evaluate(problem, candidate, backend=name, device=device, timed=False)
    assert record.passed, record.reason
    assert record.weight_sync == "seed", "an example constructs its parameters in the reference's order"
    assert record.scored, f"the example's problem accepts a trivial answer: {record.trivial_answers}"
    assert len(record.trials) == len(load_protocol("strict").inputs.variants)


@pytest.mark.parametrize("name", names())
def test_contract_of_every_backend(name: str, tmp_path: Path) -> None:
    backend = backend_named(name)
    assert isinstance(backend, Backend)
    assert backend.name == name
    assert backend.devices
    assert set(backend.devices) <= {"cpu", "cuda"}
    for device in backend.devices:
        reason = backend.missing(device)
        assert reason is None or len(reason) > 20
        variables = backend.environment(device, tmp_path)
        assert all(isinstance(text, str) for pair in variables.items() for text in pair)
    assert backend.fingerprint() or not backend.compiles, "what compiles depends on a compiler"

    guide = backend.guide()
    assert guide.startswith("# ")
    assert 60 <= len(guide.splitlines()) <= 130
    assert len(load_protocol("strict").inputs.variants) == 8 and "- Eight checked trials" in guide
    for word in ("ModelNew", "wrong_precision", "input_mutated", "```python"):
        assert word in guide, f"the guide of {name} does not mention {word}"

    reference, candidate = backend.example()
    assert {"Model", "get_inputs", "get_init_inputs"} <= defined(reference)
    assert "ModelNew" in defined(candidate)
    assert detect(candidate) == name


def defined(source: str) -> set[str]:
    return {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


@pytest.mark.parametrize("name", names())
def test_code_in_guides_is_python_of_that_backend(name: str) -> None:
    """Every block that is a whole candidate parses, and is recognised as this language."""
    blocks = [block.split("```")[0] for block in backend_named(name).guide().split("```python\n")[1:]]
    whole = [block for block in blocks if "class ModelNew" in block]
    assert whole, "a guide needs a skeleton"
    for block in blocks:
        ast.parse(block)
    assert {detect(block) for block in whole} == {name}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import triton as t, triton.language as tl", "triton"),
        ("from triton import jit", "triton"),
        (
            "import torch\nimport torch.utils.cpp_extension as c\nc.load_inline('n', cpp_sources='')",
            "cpp",
        ),
        ("from torch.utils.cpp_extension import load_inline\nload_inline('n', 'int f();')", "cpp"),
        ("import torch.utils.cpp_extension as c\nm = c.load_inline('n', '', cuda_sources=['k'])", "cuda"),
        ("from torch.utils.cpp_extension import load_inline as b\nb('n', cuda_sources='k')", "cuda"),
        ("from kernelgauge.kernels import cuda_kernel as compiled\nk = compiled(S, 'k')", "cuda"),
        ("from torch.utils.cpp_extension import load\nm = load('n', [folder / 'k.cu'])", "cuda"),
        ("from torch.utils.cpp_extension import load\nm = load(name='n', sources=['m.cpp'])", "cpp"),
        ("import json\nx = json.load(open('k.cu'))", "torch"),
        ("import torch\nx = 'cuda_sources, import triton'", "torch"),
        ("Certainly! Here is the kernel you asked for:", "torch"),
        ("", "torch"),
        *((f"{EXTENSION}\n{text}", name) for text, name in HANDED_OVER),
        ("import cupy as cp\nk = cp.RawKernel('__global__ void k() {}', 'k')", "cuda"),
        ("import torch\nk = torch.cuda._compile_kernel('__global__ void k() {}', 'k')", "cuda"),
        ("import subprocess\nS = '__global__ void k() {}'\nsubprocess.run(['nvcc', 'k.cu'])", "cuda"),
        ("'No __global__ function, nvcc or RawKernel.'\nimport torch", "torch"),
        ("import torch\nS = 'a __global__ function'\ntorch.load('k.cu')", "torch"),
    ],
)
def test_detect_reads_imports_and_calls_not_words(source: str, name: str) -> None:
    assert detect(source) == name


def test_unknown_backend_is_a_usage_error_that_helps() -> None:
    with pytest.raises(UsageError, match=r"did you mean triton\?"):
        backend_named("tritn")
    with pytest.raises(UsageError, match=r"unknown backend 'nope' \(there are torch, cpp, triton, cuda"):
        backend_named("nope")
    with pytest.raises(UsageError, match="cannot be loaded"):
        backend_named("kernelgauge.backends.cpp:Nothing")
    with pytest.raises(UsageError, match="not a backend"):
        backend_named("builtins:dict")


def test_backend_by_module_and_class() -> None:
    assert backend_named("kernelgauge.backends.cpp:CppBackend").name == "cpp"


@pytest.mark.parametrize("name", names())
def test_unknown_device_is_named_with_the_known_ones(name: str) -> None:
    backend = backend_named(name)
    reason = backend.missing("tpu")
    assert reason is not None
    assert f"backend {name} does not run on tpu" in reason
    assert all(device in reason for device in backend.devices)


def test_evaluating_where_the_backend_cannot_run_is_a_usage_error(session: Session) -> None:
    with pytest.raises(BackendMissing, match=r"problem scaled: backend cuda does not run on cpu"):
        judged(session, CUDA_SLIM)


def missing_in(path: str, folders: list[str], name: str, device: str) -> str:
    """What `missing` says in a fresh interpreter with this PATH and these folders to import from."""
    question = f"print(backend_named({name!r}).missing({device!r}))"
    asked = [sys.executable, "-S", "-c", "from kernelgauge.backends.registry import *\n" + question]
    environment = {"PATH": path, "PYTHONPATH": os.pathsep.join(folders), "CUDA_HOME": "/nonexistent"}
    return subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def packages() -> list[str]:
    own = str(Path(kernelgauge.__file__).parent.parent)
    return list(dict.fromkeys([own, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]))


def test_missing_compiler_is_said(tmp_path: Path, packages: list[str]) -> None:
    assert "g++ is not on the path" in missing_in(str(tmp_path), packages, "cpp", "cpu")
    gcc = tmp_path / "g++"
    gcc.write_text("#!/bin/sh\n")
    gcc.chmod(0o755)
    assert missing_in(str(tmp_path), packages, "cpp", "cpu") == "None"


def test_missing_gpu_is_said(tmp_path: Path, packages: list[str]) -> None:
    for name in ("torch", "triton"):
        assert "no NVIDIA GPU is visible" in missing_in(str(tmp_path), packages, name, "cuda")
    said = missing_in(str(tmp_path), packages, "cuda", "cuda")
    assert "no NVIDIA GPU is visible" in said or "no CUDA compiler" in said


def test_missing_packages_are_said(tmp_path: Path, packages: list[str]) -> None:
    """An installation like this one in everything but the languages that are packages."""
    languages = {"triton": "Triton", "tilelang": "TileLang", "cute": "CuTe", "gluon": "Gluon", "numba": "numba-cuda"}
    languages |= {"helion": "Helion", "cutile": "cuTile", "warp": "Warp", "pallas": "Pallas"}
    brought = ("triton", "tilelang", "nvidia_cutlass", "numba_cuda", "helion", "cuda_tile", "warp_lang", "jax")
    for folder in packages[1:]:
        for entry in Path(folder).iterdir():
            absent = entry.name.startswith(brought)
            if not absent and not (tmp_path / entry.name).exists():
                (tmp_path / entry.name).symlink_to(entry)
    without = [packages[0], str(tmp_path)]
    path = os.environ["PATH"]
    for name, title in languages.items():
        said = missing_in(path, without, name, backend_named(name).devices[-1])
        assert said.startswith(title) and f"is not installed: pip install 'kernelgauge[{name}]'" in said
    assert missing_in(path, without, "torch", "cpu") == "None"


@needs_compiler
def test_cpp_is_recognised_built_once_and_loaded(session: Session) -> None:
    record = judged(session, SLIM)
    assert record.passed, record.reason
    assert record.backend == "cpp"


@needs_compiler
def test_cpp_error_is_build_failed_with_the_compilers_line(session: Session) -> None:
    record = judged(session, SLIM.replace("float factor;", "float factor"))
    assert record.outcome is Outcome.BUILD_FAILED
    assert "main.cpp:" in record.reason
    assert "error: expected initializer" in record.reason


@needs_compiler
def test_wild_write_is_a_memory_violation(session: Session) -> None:
    record = judged(session, SLIM.replace("to[i] =", "to[i << 40] ="))
    assert record.outcome is Outcome.RUNTIME_ERROR
    assert "memory violation" in record.reason


@needs_compiler
def test_extension_may_be_made_in_the_constructor(session: Session) -> None:
    """The worker cannot write to the build by then: it compiles in its own scratch folder."""
    assign = "        self.factor = factor\n"
    construct = f"{assign}        global kernels\n        kernels = compiled()\n"
    late = SLIM.replace("kernels = compiled()\n", "").replace(assign, construct)
    record = judged(session, late)
    assert record.passed, record.reason


@needs_compiler
def test_library_of_operators_instead_of_a_module(session: Session) -> None:
    """`is_python_module=False`: a library that PyTorch opens and nobody imports."""
    library = SLIM.replace("no_implicit_headers=True", "no_implicit_headers=True, is_python_module=False")
    library = library.replace(
        "kernels = compiled()\n",
        "import importlib.util\n"
        "spec = importlib.util.spec_from_file_location('slim', compiled())\n"
        "kernels = importlib.util.module_from_spec(spec)\n",
    )
    record = judged(session, library)
    assert record.passed, record.reason


def test_file_that_is_not_python_is_load_failed(session: Session) -> None:
    for backend in ("torch", "triton") if backend_named("triton").missing("cpu") is None else ("torch",):
        record = judged(session, "Certainly! Here is the kernel:\n", backend)
        assert record.outcome is Outcome.LOAD_FAILED
        assert "SyntaxError" in record.reason


@pytest.mark.proof
@needs_nvcc
def test_cuda_example_compiles_without_a_gpu(session: Session) -> None:
    candidate = Candidate(problem="example", source=backend_named("cuda").example()[1], backend="cuda")
    built = session.supervisor.build(candidate, "cuda")
    assert built.made
    assert built.folder is not None
    assert list(built.folder.rglob("*.o")) or list(built.folder.rglob("*.so")), "neither compiled nor linked"
    assert not session.supervisor.build(candidate, "cuda").made


@needs_nvcc
def test_cuda_source_may_include_python_headers(session: Session) -> None:
    """As `torch/extension.h` does, which most models write."""
    source = CUDA_SLIM.replace('KERNEL = r"""', 'KERNEL = r"""\n#include <Python.h>')
    assert "Python.h" in source
    assert session.supervisor.build(Candidate(problem="scaled", source=source, backend="cuda"), "cuda").made


@needs_nvcc
def test_cuda_error_is_build_failed_with_the_compilers_line(session: Session) -> None:
    broken = Candidate(problem="scaled", source=CUDA_SLIM.replace("* factor;", "* factor"), backend="cuda")
    with pytest.raises(Failure, match=r'cuda\.cu.*error: expected a ";"') as caught:
        session.supervisor.build(broken, "cuda")
    assert caught.value.outcome is Outcome.BUILD_FAILED


AHEAD = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.compiled = torch.compile(lambda x: x * factor)

    def forward(self, x):
        result = self.compiled(x)
        print(dict(torch._dynamo.utils.counters["inductor"]))
        return result


def compile_ahead():
    with torch.no_grad():
        ModelNew(2.5)(torch.rand(33, 65))
"""


@pytest.mark.proof
@needs_compiler
def test_what_is_compiled_ahead_is_found_by_every_worker(session: Session) -> None:
    record = judged(session, AHEAD)
    assert record.passed, record.reason
    told = record.log.split("\n{")
    assert "'fxgraph_cache_miss': 1" in told[0], "the build compiles"
    assert len(told) >= len(load_protocol("strict").inputs.variants)
    assert all("'fxgraph_cache_hit': 1" in each and "miss" not in each for each in told[1:]), "and no worker does"
    assert record.seconds["build"] > 0.0


def test_what_fails_ahead_is_said_by_its_name(session: Session) -> None:
    """Dynamo's errors end with advice on environment variables, which is not what happened."""
    record = judged(session, AHEAD.replace("lambda x: x * factor", "lambda x: x @ x"))
    assert record.outcome in (Outcome.BUILD_FAILED, Outcome.LOAD_FAILED)
    assert "TorchRuntimeError" in record.reason, record.reason


SHARED = """
import multiprocessing
from pathlib import Path

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        if list(Path("/dev/shm").glob("left-*")):
            raise OSError("a build has left something behind")

    def forward(self, x):
        return x * self.factor


def compile_ahead():
    with multiprocessing.Lock():
        Path("/dev/shm/left-behind").write_text("a message to the workers")
"""


@pytest.mark.proof
def test_a_build_has_shared_memory_that_nobody_else_sees(session: Session) -> None:
    record = judged(session, SHARED)
    if "mount" not in record.isolation:
        pytest.skip("this platform has no mount namespaces")
    assert record.passed, record.reason
    assert not Path("/dev/shm/left-behind").exists()


def test_a_preloaded_module_does_not_know_the_folders_of_the_zygote(session: Session) -> None:
    """What TorchInductor asks for a temporary folder when it is imported must not hold for the workers."""
    source = (
        "import tempfile\nimport torch\n\n\nclass ModelNew(torch.nn.Module):\n"
        "    def __init__(self, factor):\n        super().__init__()\n        self.factor = factor\n"
        "        tempfile.mkdtemp()  # and torch.compile() would, too\n\n"
        "    def forward(self, x):\n        return x * self.factor\n"
    )
    assert backend_named("torch").preload(source, "cpu") or backend_named("torch").missing("cuda") is None
    record = judged(session, source)
    assert record.passed, record.reason


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("from kernelgauge.kernels import cuda_kernel", "cuda"),
        ("from kernelgauge import kernels", "cuda"),
        ("import kernelgauge.kernels as raw", "cuda"),
        ("import kernelgauge.profiling.profiler", "torch"),
        ("from kernelgauge.worker import candidate", "torch"),
    ],
)
def test_only_raw_kernels_of_ours_make_a_cuda_candidate(text: str, backend: str) -> None:
    assert detect(text) == backend


@pytest.mark.skipif(gpu() is not None, reason="says what a machine without a GPU is told")
@pytest.mark.parametrize("backend", ["torch", "triton"])
def test_one_gpu_of_several_is_asked_for_like_any(session: Session, backend: str) -> None:
    candidate = Candidate(problem="scaled", source="", backend=backend)
    with pytest.raises(BackendMissing, match="no NVIDIA GPU is visible here"):
        session.job(Problem(key="scaled", name="scaled", source=""), candidate, load_protocol("strict"), "cuda:1")
