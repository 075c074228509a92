"""TileLang, CuTe and ThunderKittens: what their own compilers, where installed, can prove without a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy
import pytest

from kernelgauge.backends.cuda import cuda_home
from kernelgauge.backends.numba import NumbaBackend
from kernelgauge.backends.registry import backend_named, detect
from kernelgauge.backends.thunderkittens import ThunderKittensBackend
from kernelgauge.checks.kernel_origin import origins
from kernelgauge.checks.rules import SETS, read
from kernelgauge.evaluation.failures import Failure, claimed_failure
from kernelgauge.hardware.environment import package_version
from kernelgauge.schema import Candidate, Outcome
from kernelgauge.session.session import Session
from kernelgauge.wire.messages import Claim

EXAMPLES = Path(str(resources.files("kernelgauge.backends").joinpath("examples")))
SPECIMENS = Path(str(resources.files("kernelgauge.selftest").joinpath("specimens")))

needs_nvcc = pytest.mark.skipif(cuda_home() is None, reason="nvcc is neither on the path nor under CUDA_HOME")
needs_tilelang = pytest.mark.skipif(package_version("tilelang") is None, reason="TileLang is not installed")
needs_cute = pytest.mark.skipif(package_version("nvidia-cutlass-dsl") is None, reason="CuTe's DSL is not installed")

# Prints the names that the compiler gives to the kernels of a file. The first argument is the file.
LOADED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("candidate", sys.argv[1])
candidate = sys.modules["candidate"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(candidate)
"""
TILELANG = (
    LOADED
    + """
import re
kernel = getattr(candidate, sys.argv[2])(*map(int, sys.argv[3:]))
print(*re.findall(r"__global__ void __launch_bounds__\\(\\d+, 1\\) (\\w+)\\(", kernel.get_kernel_source()))
"""
)
CUTE = (
    LOADED
    + """
import glob, os, re
import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor
tensors = [make_fake_compact_tensor(cutlass.Float32, (int(size),), assumed_align=16) for size in sys.argv[4:]]
cute.compile(getattr(candidate, sys.argv[2]), *tensors, cutlass.Int32(int(sys.argv[3])), CUstream(0))
for path in glob.glob(os.environ["CUTE_DSL_DUMP_DIR"] + "/*.ptx"):
    print(*re.findall(r"\\.entry (\\w+)\\(", open(path).read()))
"""
)


def compiled(script: str, path: Path, *arguments: object, **variables: str) -> list[str]:
    command = [sys.executable, "-c", script, str(path), *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def own(names: list[str], path: Path, backend: str) -> bool:
    """Whether kernels of these names are taken for the file's own, and not for any file's."""
    declared = read(path.read_text(), "", backend, SETS["kernel-required"]).declared
    found = set(origins(names, [], declared, True).values())
    assert set(origins(names, [], ["another", "kernel_cutlass_another_*"], True).values()) == {"unknown"}
    return found == {"own"}


@needs_nvcc
@needs_tilelang
@pytest.mark.parametrize(
    ("path", "function", "sizes"),
    [
        (EXAMPLES / "tilelang/candidate.py", "residual_kernel", (512, 1000)),
        (EXAMPLES / "few_shot/gelu/tilelang.py", "bias_gelu_kernel", (512, 1000)),
        (EXAMPLES / "few_shot/matmul/tilelang.py", "matmul_kernel", (500, 400, 300)),
        (SPECIMENS / "honest/tilelang_norm.py", "compiled", (128, 64)),
    ],
    ids=["example", "gelu", "matmul", "specimen"],
)
def test_tilelang_compiles_for_hopper_under_a_name_that_is_known(
    path: Path, function: str, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    target = json.dumps({"kind": "cuda", "arch": "sm_90a"})
    where = {"TILELANG_DEFAULT_TARGET": target, "TILELANG_CACHE_DIR": str(tmp_path)}
    names = compiled(TILELANG, path, function, *sizes, **where, TILELANG_PRINT_ON_COMPILATION="0")
    assert names and own(names, path, "tilelang")


@needs_cute
@pytest.mark.parametrize(
    ("path", "function", "sizes"),
    [
        (EXAMPLES / "cute/candidate.py", "residual", (512000, 512000, 1000, 512000)),
        (EXAMPLES / "few_shot/gelu/cute.py", "bias_gelu", (512000, 1000, 512000)),
        (SPECIMENS / "honest/cute_norm.py", "launch", (8192, 128, 128, 64, 64, 8192)),
    ],
    ids=["example", "gelu", "specimen"],
)
def test_cute_compiles_for_hopper_under_a_name_that_is_known(
    path: Path, function: str, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    where = {"CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(tmp_path)}
    names = compiled(CUTE, path, function, 1000, *sizes, **where, CUTE_DSL_CACHE_DIR=str(tmp_path / "cache"))
    assert names and own(names, path, "cute")


@needs_cute
def test_the_skeleton_in_the_guide_of_cute_compiles(tmp_path: Path) -> None:
    path = tmp_path / "skeleton.py"
    path.write_text(backend_named("cute").guide().split("```python\n")[1].split("```")[0])
    where = {"CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(tmp_path)}
    assert compiled(CUTE, path, "scale", 1000, 512000, 1000, 512000, **where, CUTE_DSL_CACHE_DIR=str(tmp_path))


@needs_nvcc
@needs_tilelang
def test_the_skeleton_in_the_guide_of_tilelang_compiles(tmp_path: Path) -> None:
    path = tmp_path / "skeleton.py"
    path.write_text(backend_named("tilelang").guide().split("```python\n")[1].split("```")[0])
    target = json.dumps({"kind": "cuda", "arch": "sm_90a"})
    assert compiled(
        TILELANG, path, "scale_kernel", 500, 1000, TILELANG_DEFAULT_TARGET=target, TILELANG_CACHE_DIR=str(tmp_path)
    )


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import tilelang.language as T", "tilelang"),
        ("from tilelang import language as T\nimport triton", "tilelang"),
        ("import triton\nimport cutlass.cute as cute", "cute"),
        ("from cutlass.cute.runtime import from_dlpack", "cute"),
        ("load_inline('n', '', cuda_sources='#include \"kittens.cuh\"')", "thunderkittens"),
        ("load_inline('n', '', cuda_sources='#include <cute/tensor.hpp>')", "cuda"),
        ("'kittens.cuh'", "torch"),
    ],
)
def test_detect_tells_the_languages_apart(source: str, name: str) -> None:
    assert detect(source) == name


@pytest.mark.parametrize(
    ("source", "backend", "makes_none"),
    [
        ("import tilelang.language as T\n@T.macro\ndef f(x): pass\n", "tilelang", True),
        ("import tilelang.language as T\n@T.prim_func\ndef f(): pass\n", "tilelang", False),
        ("import tilelang\n@tilelang.jit\ndef f(): pass\n", "tilelang", False),
        ("import cutlass.cute as cute\n@cute.jit\ndef f(x): pass\n", "cute", True),
        ("from cutlass import cute\n@cute.kernel\ndef f(x): pass\n", "cute", False),
        ("load_inline('n', '', cuda_sources='int kittens() { return at::relu(1); }')", "thunderkittens", True),
    ],
)
def test_a_language_in_name_only_is_seen_in_the_text(source: str, backend: str, makes_none: bool) -> None:
    leads = read(source, "", backend, SETS["kernel-required"]).leads
    assert any(lead.rule == "no_own_kernel" for lead in leads) == makes_none


def test_a_kernel_of_cute_is_known_by_its_whole_name() -> None:
    name = "kernel_cutlass_relu_tensorptrf32gmemo1_0"
    assert origins([name], [], ["kernel_cutlass_relu_*"], True) == {name: "own"}
    assert origins([name], [], ["kernel_cutlass_rel_*", "relu", "kernel_cutlass_another_*"], True) == {
        name: "unknown"
    }
    assert origins([name], [], [], False) == {name: "library"}


REFUSED = (
    LOADED
    + """
import json
from kernelgauge.worker.serving import failure
try:
    candidate.residual_kernel(512, 1000)
except RuntimeError as error:
    print(json.dumps(failure("forward", error)))
"""
)


@needs_nvcc
@needs_tilelang
def test_what_nvcc_refuses_in_the_first_call_is_said(tmp_path: Path) -> None:
    right = backend_named("tilelang").example()[1]
    path = tmp_path / "wrong.py"
    path.write_text(right.replace("= x[row, column] +", '= T.call_extern("float32", "nothing_such", gain[column]) +'))
    target = json.dumps({"kind": "cuda", "arch": "sm_90a"})
    where = {"TILELANG_DEFAULT_TARGET": target, "TILELANG_CACHE_DIR": str(tmp_path)}
    said = compiled(REFUSED, path, **where, TILELANG_PRINT_ON_COMPILATION="0")
    found = claimed_failure("forward", Claim.model_validate_json(" ".join(said)))
    assert found.outcome is Outcome.RUNTIME_ERROR
    assert re.match(r'forward: tvm_kernels\.cu\(\d+\): error: identifier "nothing_such"', found.reason), found.reason


# Stands for the real headers, which are no package: it refuses what the backend must give to the compiler.
STAND_IN = """
#pragma once
#if !defined(KITTENS_HOPPER) && !defined(KITTENS_AMPERE) && !defined(KITTENS_BLACKWELL) && !defined(KITTENS_SM120)
#error "no generation"
#endif
static_assert(__cplusplus >= 202002L, "C++20");
template <typename T> concept sized = requires { sizeof(T); };
constexpr int WARP_THREADS = 32;
"""
TINY = """
import os
import torch
from torch.utils.cpp_extension import load_inline

assert os.path.isdir(os.environ["THUNDERKITTENS_ROOT"])
KERNEL = '''
#include "kittens.cuh"
template <sized T> __global__ void scale(T* x) { if (threadIdx.x < WARP_THREADS) x[threadIdx.x] *= 2; }
template __global__ void scale<float>(float*);
'''
kernels = load_inline(name="tiny", cpp_sources="", cuda_sources=KERNEL, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    pass
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like a checkout of ThunderKittens, and named as one."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "kittens.cuh").write_text(STAND_IN)
    monkeypatch.setenv("THUNDERKITTENS_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.processes
@needs_nvcc
def test_thunderkittens_finds_its_headers_and_flags(session: Session, checkout: Path) -> None:
    candidate = Candidate(problem="-", source=TINY, backend="thunderkittens")
    built = session.supervisor.build(candidate, "cuda")
    assert built.made and built.folder is not None
    assert list(built.folder.rglob("cuda.cuda.o")) or list(built.folder.rglob("*.so"))
    (checkout / "include" / "kittens.cuh").write_text("#error this is another version\n")
    broken = Candidate(problem="-", source=TINY.replace("*= 2", "*= 3"), backend="thunderkittens")
    with pytest.raises(Failure, match="this is another version") as caught:
        session.supervisor.build(broken, "cuda")
    assert caught.value.outcome is Outcome.BUILD_FAILED


@pytest.mark.processes
@needs_nvcc
def test_thunderkittens_headers_are_a_part_of_a_builds_name(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ThunderKittensBackend().fingerprint()
    other = tmp_path_factory.mktemp("other")
    (other / "include").mkdir()
    (other / "include" / "kittens.cuh").write_text(STAND_IN + "\n")
    monkeypatch.setenv("THUNDERKITTENS_ROOT", str(other))
    assert ThunderKittensBackend().fingerprint() != first


@needs_nvcc
def test_missing_thunderkittens_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("THUNDERKITTENS_ROOT", raising=False)
    assert "THUNDERKITTENS_ROOT is not set" in (ThunderKittensBackend().missing("cuda") or "")
    monkeypatch.setenv("THUNDERKITTENS_ROOT", str(tmp_path))
    assert f"there is no {tmp_path}/include/kittens.cuh" in (ThunderKittensBackend().cannot_build() or "")


@needs_nvcc
@pytest.mark.skipif("THUNDERKITTENS_ROOT" not in os.environ, reason="THUNDERKITTENS_ROOT names no checkout")
def test_the_example_with_thunderkittens_compiles(session: Session) -> None:
    candidate = Candidate(problem="-", source=backend_named("thunderkittens").example()[1], backend="thunderkittens")
    assert session.supervisor.build(candidate, "cuda").folder is not None


@pytest.mark.processes
@needs_nvcc
def test_cute_in_cplusplus_finds_the_headers_of_cutlass(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "include" / "cute").mkdir(parents=True)
    (tmp_path / "include" / "cute" / "tensor.hpp").write_text("#pragma once\nconstexpr int RANK = 2;\n")
    monkeypatch.setenv("CUTLASS_PATH", str(tmp_path))
    source = TINY.replace("THUNDERKITTENS_ROOT", "CUTLASS_PATH").replace('"kittens.cuh"', "<cute/tensor.hpp>")
    source = source.replace("template <sized T>", "template <typename T>").replace("WARP_THREADS", "RANK")
    source = source.replace(
        "no_implicit_headers", "extra_include_paths=[os.environ['CUTLASS_PATH'] + '/include'], no_implicit_headers"
    )
    assert detect(source) == "cuda"
    built = session.supervisor.build(Candidate(problem="-", source=source, backend="cuda"), "cuda")
    assert built.made


def test_numba_says_which_numpy_it_can_compile_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = backend_named("numba")
    assert isinstance(numba, NumbaBackend)
    monkeypatch.setattr("kernelgauge.backends.numba.package_version", lambda _: "0.30.4")
    monkeypatch.delattr(numpy, "row_stack", raising=False)
    assert "pip install 'numpy<2.5'" in str(numba.no_compiler("cuda")) and numba.no_compiler("cpu") is None
    monkeypatch.setattr("kernelgauge.backends.numba.package_version", lambda _: "0.31.0")
    assert numba.no_compiler("cuda") is None, "a later one is given its chance"
    monkeypatch.setattr("kernelgauge.backends.numba.package_version", lambda _: "0.30.4")
    monkeypatch.setattr(numpy, "row_stack", numpy.vstack, raising=False)
    assert numba.no_compiler("cuda") is None
