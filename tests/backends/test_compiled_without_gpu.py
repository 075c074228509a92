"""Languages that compile for a GPU which is not there: examples and specimens, and what names their kernels get."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from kernelgauge.backends.cutile import CuTileBackend
from kernelgauge.backends.registry import backend_named, detect, others_kernels
from kernelgauge.checks.kernel_origin import origins
from kernelgauge.checks.rules import SETS, read
from kernelgauge.schema import Candidate, Outcome
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

EXAMPLES = Path(str(resources.files("kernelgauge.backends").joinpath("examples")))
SPECIMENS = Path(str(resources.files("kernelgauge.selftest").joinpath("specimens")))


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if importlib.util.find_spec(name.partition(".")[0]) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


# Each prints the names that a compiler gives to the kernels of a file. The first argument is the file, the second the
# function, then a shape `2x3`, or a number, for each parameter.
LOADED = """
import importlib.util, io, re, sys
spec = importlib.util.spec_from_file_location("candidate", sys.argv[1])
candidate = sys.modules["candidate"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(candidate)
function = getattr(candidate, sys.argv[2], None)
shapes = [tuple(map(int, text.split("x"))) for text in sys.argv[3:]]
"""
NUMBA = (
    LOADED
    + """
from numba import cuda, types
arrays = [types.float32[:, ::1] if len(shape) > 1 else types.float32[::1] for shape in shapes]
text, _ = cuda.compile(function.py_func, types.void(*arrays), cc=(9, 0), output="ptx", device=False, abi="numba")
print(*re.findall(r"\\.visible \\.entry (\\w+)", text))
"""
)
CUTILE = (
    LOADED
    + """
import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel
facts = dict(stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False, base_addr_divisible_by=16)
arrays = [
    ArrayConstraint(ct.float32, len(s), index_dtype=ct.int32, stride_constant=[None] * (len(s) - 1) + [1], **facts)
    for s in shapes
]
signature = KernelSignature(arrays, CallingConvention.cutile_python_v1()).with_mangled_symbol(sys.argv[2])
made = io.BytesIO()
export_kernel(function, [signature], made, gpu_code="sm_90", output_format="cubin")
print(*{name.decode() for name in re.findall(rb"\\.text\\.(\\w+)", made.getvalue())})
"""
)
# Tensors on the CPU stand for those on a GPU: the driver, which says what is compiled for, is a stand-in.
HELION = """
import sys, torch
from pathlib import Path
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.registry import backend_named
with backend_named("triton").without_device():
    function = getattr(import_file(Path(sys.argv[1]), "candidate"), sys.argv[2])
    given = [float(text) if "." in text else torch.rand(*map(int, text.split("x"))) for text in sys.argv[4:]]
    text = Path(sys.argv[3]) / "generated.py"
    text.write_text(function.bind(tuple(given)).to_triton_code(function.configs[0]))
    names = []
    def compiled(kernel, grid, *arguments, **options):
        types = [torch.float32 if isinstance(each, torch.Tensor) else each for each in arguments]
        assert kernel.warmup(*types, grid=grid, **options).asm["cubin"]
        names.append(kernel.__name__)
    getattr(import_file(text, "generated"), sys.argv[2])(*given, _launcher=compiled)
print(*names)
"""
PALLAS = (
    LOADED
    + """
import jax, jax.numpy as jnp
candidate.ON_CPU = False
given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
text = function.trace(*given).lower(lowering_platforms=("cuda",)).as_text()
print(*re.findall(r'\\bname = "(\\w+)"', text))
"""
)


def compiled(script: str, *arguments: object, **variables: str) -> list[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def assert_own(names: list[str], path: Path, backend: str) -> None:
    """Kernels of these names are taken for the file's own, and not for another file's."""
    declared = read(path.read_text(), "", backend, SETS["kernel-required"]).declared
    demangled = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.split("\n")
    for told in (names, [each for each in demangled if each]):
        assert told and set(origins(told, [], declared, True).values()) == {"own"}, (told, declared)
        assert set(origins(told, [], [each.replace("_", "x") for each in declared], True).values()) == {"unknown"}


def few_shot(name: str, language: str) -> Path:
    return EXAMPLES / "few_shot" / name / f"{language}.py"


@needs("numba")
@pytest.mark.parametrize(
    ("path", "function", "shapes"),
    [
        (EXAMPLES / "numba/candidate.py", "residual_kernel", ["1"] * 4),
        (few_shot("gelu", "numba"), "bias_gelu_kernel", ["1"] * 3),
        (few_shot("matmul", "numba"), "matmul_kernel", ["1x1"] * 3),
        (SPECIMENS / "honest/numba_norm.py", "norm_relu", ["1x1", "1", "1", "1", "1", "1x1"]),
    ],
    ids=["example", "gelu", "matmul", "specimen"],
)
def test_numba_compiles_to_ptx(path: Path, function: str, shapes: list[str]) -> None:
    if importlib.util.find_spec("cuda") is None:
        pytest.skip("not installed: CUDA's Python bindings")
    assert_own(compiled(NUMBA, path, function, *shapes), path, "numba")


@needs("cuda", "nvidia")
@pytest.mark.skipif(bool(CuTileBackend().no_compiler("cuda")), reason="cuTile's tileiras is not installed")
@pytest.mark.parametrize(
    ("path", "function", "shapes"),
    [
        (EXAMPLES / "cutile/candidate.py", "residual_kernel", ["1x1", "1x1", "1", "1x1"]),
        (few_shot("gelu", "cutile"), "bias_gelu_kernel", ["1x1", "1", "1x1"]),
        (few_shot("matmul", "cutile"), "matmul_kernel", ["1x1"] * 3),
        (SPECIMENS / "honest/cutile_norm.py", "norm_relu", ["1x1"] * 6),
    ],
    ids=["example", "gelu", "matmul", "specimen"],
)
def test_cutile_exports_for_hopper(path: Path, function: str, shapes: list[str]) -> None:
    assert_own(compiled(CUTILE, path, function, *shapes), path, "cutile")


@needs("helion", "triton")
@pytest.mark.parametrize(
    ("path", "function", "arguments"),
    [
        (EXAMPLES / "helion/candidate.py", "residual", ["512x1000", "512x1000", "1000"]),
        (few_shot("gelu", "helion"), "bias_gelu", ["512x1000", "1000"]),
        (few_shot("matmul", "helion"), "matmul", ["500x300", "300x400"]),
        (SPECIMENS / "honest/helion_norm.py", "norm_relu", ["128x64", "64", "64", "0.00001"]),
    ],
    ids=["example", "gelu", "matmul", "specimen"],
)
def test_helion_becomes_triton_that_compiles(path: Path, function: str, arguments: list[str], tmp_path: Path) -> None:
    variables = {"KERNELGAUGE_ARCHITECTURE": "9.0a", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    assert_own(compiled(HELION, path, function, tmp_path, *arguments, **variables), path, "helion")


@needs("jax", "jax_cuda13_plugin")
@pytest.mark.parametrize(
    ("path", "function", "shapes"),
    [
        (EXAMPLES / "pallas/candidate.py", "residual", ["512000", "512000", "1000"]),
        (few_shot("gelu", "pallas"), "bias_gelu", ["512000", "1000"]),
        (few_shot("matmul", "pallas"), "matmul", ["500x300", "300x400"]),
        (SPECIMENS / "honest/pallas_norm.py", "launched", ["8192", "128", "128", "64", "64"]),
    ],
    ids=["example", "gelu", "matmul", "specimen"],
)
def test_pallas_is_lowered_for_a_gpu(path: Path, function: str, shapes: list[str]) -> None:
    assert_own(compiled(PALLAS, path, function, *shapes, JAX_PLATFORMS="cpu"), path, "pallas")


def test_what_the_compiler_of_jax_makes_is_nobodys_own() -> None:
    names = ["loop_add_fusion", "input_reduce_fusion_3", "wrapped_tanh", "fusion_12", "gemm_fusion_dot_4"]
    assert set(origins(names, [], ["scale_kernel"], True, others_kernels()).values()) == {"library"}
    for kernel in ("gemm_kernel", "copy_kernel", "loop_scale"):
        assert origins([kernel], [], [kernel], True, others_kernels()) == {kernel: "own"}


def test_only_a_function_of_the_file_compiles_ahead() -> None:
    function = "def compile_ahead():\n    pass\n"
    assert backend_named("triton").builds(function, "cuda") and not backend_named("triton").builds(function, "cpu")
    for other in ("class ModelNew:\n    def compile_ahead(self): ...\n", "# def compile_ahead() is missing\n"):
        assert not backend_named("triton").builds(other, "cuda")


@pytest.mark.parametrize("name", ["fusion_12", "input_add_reduce_fusion", "mha_forward", "numba::cuda::gpu_reduce"])
def test_a_decoy_of_a_name_that_a_language_brings_makes_no_kernel_own(name: str) -> None:
    """By an unused function in the text, and by a text file among what `compile_ahead` has left."""
    assert origins([name], [], [name.rpartition(":")[2]], True, others_kernels())[name] != "own"
    assert origins([name], [f"words: {name}".encode()], [], True, others_kernels())[name] != "own"


def test_a_file_with_a_librarys_name_in_it_makes_no_kernel_own() -> None:
    for name in ("ampere_sgemm_32x32_sliced1x4_nn", "nvjet_tst_128x64", "sm90_xmma_gemm_f32f32"):
        assert origins([name], [f"words: {name}".encode()], [], False, others_kernels()) == {name: "unknown"}


AHEAD = [
    *(("gluon", path) for path in ("gluon/candidate.py", "few_shot/gelu/gluon.py", "few_shot/matmul/gluon.py")),
    *(("warp", path) for path in ("warp/candidate.py", "few_shot/gelu/warp.py", "few_shot/matmul/warp.py")),
]


@pytest.mark.parametrize(("name", "path"), AHEAD, ids=[f"{name}-{Path(path).parts[-2]}" for name, path in AHEAD])
def test_the_build_compiles_ahead_in_a_sealed_process(name: str, path: str, session: Session) -> None:
    """For a GPU that the building process cannot see; what it leaves is what a worker's compiler looks for."""
    reason = backend_named(name).missing("cuda") or ""
    if "installed" in reason:
        pytest.skip(reason)
    candidate = Candidate(problem="-", source=(EXAMPLES / path).read_text(), backend=name)
    built = session.supervisor.build(candidate, "cuda")
    assert built.folder is not None
    cubins = list((built.folder / name).rglob("*.cubin"))
    assert len(cubins) == 1, list(built.folder.rglob("*"))
    assert not session.supervisor.build(candidate, "cuda").made, "the second time it is found"


TRITON_AHEAD = """

def compile_ahead():
    rms_norm_kernel.warmup(*[torch.float32] * 3, 1000, 1e-5, BLOCK=1024, num_warps=4, grid=(1,))
"""


@needs("triton")
def test_triton_compiles_ahead_what_it_is_asked_for(session: Session) -> None:
    source = backend_named("triton").example()[1]
    plain = Candidate(problem="-", source=source, backend="triton")
    assert session.supervisor.build(plain, "cuda").folder is None, "nothing is asked for"
    ahead = Candidate(problem="-", source=source + TRITON_AHEAD, backend="triton")
    built = session.supervisor.build(ahead, "cuda")
    assert built.folder is not None and len(list(built.folder.rglob("rms_norm_kernel.cubin"))) == 1
    assert session.supervisor.build(ahead, "cpu").folder is None, "on a CPU the interpreter runs it"


@needs("triton")
def test_a_build_ahead_with_a_wrong_kernel_is_build_failed(session: Session) -> None:
    from kernelgauge.evaluation.failures import Failure

    right = (EXAMPLES / "gluon/candidate.py").read_text()
    wrong = Candidate(problem="-", source=right.replace("gl.sum(x * x, axis=0)", "gl.nothing(x)"), backend="gluon")
    with pytest.raises(Failure) as caught:
        session.supervisor.build(wrong, "cuda")
    assert caught.value.outcome is Outcome.BUILD_FAILED, caught.value.reason


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from triton.experimental import gluon\nimport triton", "gluon"),
        ("from triton.experimental.gluon import language as gl", "gluon"),
        ("import triton", "triton"),
        ("from numba import cuda", "numba"),
        ("import numba.cuda as nc", "numba"),
        ("from numba import njit", "torch"),
        ("import helion\nimport triton", "helion"),
        ("import cuda.tile as ct", "cutile"),
        ("from cuda import tile", "cutile"),
        ("import cuda.bindings.driver", "torch"),
        ("import warp as wp", "warp"),
        ("from jax.experimental import pallas as pl", "pallas"),
        ("import jax\nimport jax.numpy as jnp", "torch"),
        ("from triton.experimental import gluon\nload_inline('n', '', cuda_sources='k')", "cuda"),
    ],
)
def test_detect_tells_the_new_languages_apart(source: str, name: str) -> None:
    assert detect(source) == name


@pytest.mark.parametrize(
    ("source", "backend", "makes_none"),
    [
        ("from triton.experimental import gluon\n", "gluon", True),
        ("from triton.experimental import gluon\n@gluon.jit\ndef f(x): pass\n", "gluon", False),
        ("from numba import cuda\ncuda.to_device(1)\n", "numba", True),
        ("from numba import cuda\n@cuda.jit\ndef f(x): pass\n", "numba", False),
        ("import helion.language as hl\n", "helion", True),
        ("import warp as wp\n@wp.func\ndef f(x: float): pass\n", "warp", True),
        ("from jax.experimental import pallas as pl\npl.cdiv(1, 2)\n", "pallas", True),
        ("from jax.experimental import pallas as pl\npl.pallas_call(f)(x)\n", "pallas", False),
    ],
)
def test_a_new_language_in_name_only_is_seen_in_the_text(source: str, backend: str, makes_none: bool) -> None:
    leads = read(source, "", backend, SETS["kernel-required"]).leads
    assert any(lead.rule == "no_own_kernel" for lead in leads) == makes_none


def test_a_function_that_is_given_to_a_maker_is_declared() -> None:
    source = """
import functools
from jax.experimental import pallas as pl
from numba import cuda
def first(x, y, *, n): pass
def second(x): pass
def third(x): pass
a = pl.pallas_call(functools.partial(first, n=3), name="told")
b = cuda.jit(second)
"""
    declared = set(read(source, "", "pallas", SETS["kernel-required"]).declared)
    assert {"first", "told", "second"} <= declared and "third" not in declared


def test_a_name_that_a_text_makes_up_stands_for_no_others() -> None:
    source = """
from jax.experimental import pallas as pl
from torch._inductor.async_compile import AsyncCompile
def kernel(x): pass
a = pl.pallas_call(kernel, name="*")
b = AsyncCompile().triton("ampere*", "text")
"""
    declared = read(source, "", "pallas", SETS["kernel-required"]).declared
    assert declared == ("kernel",)


def test_a_kernel_of_numba_is_known_under_its_demangled_name() -> None:
    name = "candidate::scale_kernel[abi:v1][abi:cw51cXTL](Array<float, 1, C, mutable, aligned>)"
    assert origins([name], [], ["scale_kernel"], True) == {name: "own"}
    reduction = name.replace("candidate::scale_kernel", "numba::cuda::kernels::reduction::gpu_reduce")
    assert origins([reduction], [], ["scale_kernel"], True, backend_named("numba").others_kernels) == {
        reduction: "library"
    }
    compiled_by_warp = "scale_kernel_214f5692_cuda_kernel_forward"
    forms = [form.format("scale_kernel") for form in backend_named("warp").kernel_names]
    assert origins([compiled_by_warp], [], forms, True) == {compiled_by_warp: "own"}
