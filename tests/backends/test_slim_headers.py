"""Slim headers: the same program faster, or the long way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import cpp_extension

from kernelgauge.backends import toolchain
from kernelgauge.backends.base import Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.extension import SLIM_VARIABLE, CompiledOnly, OtherRoute, capturing
from kernelgauge.backends.parts import parts
from kernelgauge.backends.registry import backend_named
from kernelgauge.backends.slim.admission import Index, Misfit
from kernelgauge.backends.slim.declarations import declarations
from kernelgauge.backends.slim.inclusion import slimmed
from kernelgauge.backends.slim.refusal import is_own_fault
from kernelgauge.config import Limits
from kernelgauge.evaluation.build import Builder
from kernelgauge.evaluation.failures import Failure
from kernelgauge.hardware.environment import first_line
from kernelgauge.kernels import nvrtc, toolkit
from kernelgauge.schema import Candidate, Outcome
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

needs_compiler = pytest.mark.skipif(
    backend_named("cpp").cannot_build() is not None, reason=backend_named("cpp").cannot_build() or ""
)
needs_nvcc = pytest.mark.skipif(
    backend_named("cuda").cannot_build() is not None, reason=backend_named("cuda").cannot_build() or ""
)

HEADERS = """
# 1 "a.h"
namespace at { inline Tensor var(const Tensor& self, int dim = {}) { return at::var(self, IntArrayRef{dim}); }
class Forward; class __attribute__((visibility("default"))) Bar final : public X { int inside(); };
template <class T, class = std::enable_if_t<(sizeof(T) > 2)>> std::function<Tensor(int)> make(T&& t) noexcept;
void Bar::member() {}
constexpr auto kX = 1; static const int y[3] = {1,2,3}; using Dtype = int; using std::move; typedef int (*fp)(int);
std::ostream& operator<<(std::ostream&, int); bool after();
namespace native { void deep(); } }
# 7 "b.h" 1 3
extern "C" { int in_c(int a); extern int variable; }
enum class E : int { a, b }; struct S { int z; } s; namespace fs = std::filesystem;
const char* text = R"(} int no(); {)";
namespace a::b { [[nodiscard]] int q(); inline namespace v1 { int r(); } }
auto trailing() -> decltype(plain()); template <> struct hash<int> { int operator()(int) const { return 1'000; } };
int last();
"""

CANDIDATE = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor scale(torch::Tensor x, double factor) {
    TORCH_CHECK(x.is_contiguous(), "contiguous, please");
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
        for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<scalar_t>()[i] = x.data_ptr<scalar_t>()[i] * factor;
    });
    return y;
}
std::vector<torch::Tensor> more(torch::Tensor x, std::vector<int64_t> dimensions) {
    return {torch::sum(x, dimensions), HERE, torch::zeros({2}) + 1};
}
"""
kernels = load_inline(name="scaled", cpp_sources=SOURCE, functions=["scale", "more"])
assert torch.equal(kernels.scale(torch.ones(3), 2.5), torch.full((3,), 2.5))
total, relu, ones = kernels.more(torch.tensor([[1.0, -2.0]]), [1])
assert total.tolist() == [-1.0] and relu.tolist() == [[1.0, 0.0]] and ones.tolist() == [1.0, 1.0]


class ModelNew(nn.Module):
    pass
'''


@pytest.fixture(scope="module")
def slim(session: Session) -> Path:
    """The folder of slim headers that builds in these tests use; made by the first of them."""
    route, _ = backend_named("cpp").routes("cpp_extension", BuildCache(session.settings.cache / "builds"))
    return Path(route.variables[SLIM_VARIABLE])


def test_declarations_are_those_at_namespace_scope() -> None:
    found = declarations(HEADERS)
    spaces = {"var", "Bar", "make", "kX", "y", "Dtype", "fp", "after"}
    assert found["a.h"] == {*(("at", name) for name in spaces), ("at::native", "deep")}
    outside = {"in_c", "variable", "E", "S", "fs", "text", "trailing", "hash", "last"}
    assert found["b.h"] == {*(("", name) for name in outside), ("a::b", "q"), ("a::b", "r")}


TENSORS = "#include <torch/extension.h>\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("auto y = at::var(x, 1);", "the name var"),
        ("auto y = torch::from_blob(p, {1});", "the name from_blob"),
        ("auto y = torch::nn::functional::relu(x);", "the name nn"),
        ("using namespace torch;", "opens or renames"),
        ("namespace F = torch::nn::functional;", "opens or renames"),
        ("namespace at { int f(); }", "opens or renames"),
        ("int size(at::Tensor x); int y = size(x);", "the function size"),
        ("#define MAKE(a) at::a##_out", "pastes tokens"),
        ('auto s = R"(x)";', "raw string"),
        ("#include <torch/nn.h>", "includes torch/nn.h"),
        ('#include "mine.h"', "a file of its own"),
        ("#include HEADER", "computes the name"),
        ("#if __has_include(<x>)\n#endif", "in an unusual way"),
        ("#include_next <torch/nn.h>", "in an unusual way"),
        ("/* why */ #include <torch/nn.h>", "includes torch/nn.h"),
        ("int a = 1'000; auto y = at::var(x, 1); int b = 2'000;", "the name var"),
        ("char a = u8'a'; auto y = at::var(x, 1); char b = 'b';", "the name var"),
        ("auto y = at::v\\\nar(x, 1);", "the name var"),
        ("#define UNARY(f) at::f(x, 1)", "a macro, UNARY, that calls"),
        ("#define APPLY(f, x) f(x)", "a macro, APPLY, that calls"),
        ("#define INSTANCE(f) f<float>(x)", "a macro, INSTANCE, that calls"),
        ("#define WITHIN(space) space::mean(x, 1)", "a macro, WITHIN, that calls"),
        ("#define SPREAD var", "the name var"),
        ("#define SPACE at", "the name at"),
        ("#ifdef FORALL_NS_SYMBOLS\n#endif", "a macro FORALL_NS_SYMBOLS"),
    ],
)
@needs_compiler
def test_what_could_be_another_program_is_built_the_long_way(slim: Path, text: str, why: str) -> None:
    with pytest.raises(Misfit, match=re.escape(why)):
        Index(slim).fit(TENSORS + text, [], cuda=False)


@pytest.mark.parametrize(
    "text",
    [
        "x.size(0); x->var(1); std::size(v); int size = 3; // size(x), at::var(x, 1)",
        "torch::Tensor y = torch::zeros({1}, torch::kFloat32); at::optional<int> z; c10::optional<int> q;",
        "at::relu_(x); torch::sum(x); at::add_out(y, a, b);",
        "template <typename T> T load(const T* p); int divup(int a, int b); CHECK(true);",
        "#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda() && (x).size(0), #x)",
        "#define MIN(a, b) (a < b ? a : b)\n#define AT(row, stride) ((row) * (stride))",
        "#define LAUNCH(kernel) kernel<<<1, 1>>>(p)\n#define THREADS 256",
        'const char* s = "at::var(x, 1) // /*"; int at = 1; v.at(at); /* at::var(x, 1) */ char c = \'"\';',
        "#include <vector>\n#include <cmath>\n#include <c10/util/irange.h>\n#include <pybind11/pybind11.h>",
    ],
)
@needs_compiler
def test_ordinary_text_fits(slim: Path, text: str) -> None:
    Index(slim).fit(TENSORS + text, ["-O3"], cuda=False)


@needs_compiler
def test_what_includes_no_pytorch_may_not_bring_it_by_a_file_of_its_own(slim: Path) -> None:
    with pytest.raises(Misfit, match="a file of its own"):
        Index(slim).fit('#include "mine.h"', [], cuda=False)
    assert (
        not Index(slim).fit("#include <cmath>\n#include <c10/util/Half.h>\nint var(int);", [], cuda=False).factories
    )


def test_a_linked_installation_is_known_by_its_own_path(tmp_path: Path) -> None:
    """GCC names system headers by their shortest path: the index compares those of two runs of it."""
    (tmp_path / "torch").symlink_to(toolchain.torch_folder())
    code = "from kernelgauge.backends import toolchain; print(toolchain.torch_folder())"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == str(toolchain.torch_folder()), done.stderr


@needs_compiler
def test_operators_come_by_the_names_that_are_used(slim: Path) -> None:
    fit = Index(slim).fit(TENSORS + "at::relu_(x); torch::empty_like(x); int sum;", [], cuda=False)
    assert fit.operators == ("ATen/ops/empty_like.h", "ATen/ops/relu.h", "ATen/ops/sum.h")
    assert fit.factories
    assert not Index(slim).fit(TENSORS + "int f();", [], cuda=False).operators


@needs_compiler
def test_flags_and_options_that_change_what_is_included_are_refused(slim: Path, tmp_path: Path) -> None:
    call: dict[str, Any] = {"name": "n", "cpp_sources": "int f();", "functions": ["f"]}
    assert slimmed(call, slim, tmp_path)["extra_include_paths"]
    for unusual in (
        {"extra_include_paths": ["/mine"]},
        {"extra_cflags": ["-include", "x.h"]},
        {"extra_cflags": ["-Wp,-I/x"]},
        {"extra_cflags": ["-DSPREAD=at::var"]},
        {"extra_cflags": ["-D", "SPREAD=var"]},
        {"extra_cflags": ["-fpermissive"]},
        {"use_pch": True},
    ):
        with pytest.raises(Misfit):
            slimmed(call | unusual, slim, tmp_path)


@pytest.mark.proof
@needs_compiler
def test_candidate_is_built_slim_and_does_the_same(session: Session) -> None:
    """Its own assertions run in the build: operators, factories, vectors through pybind11."""
    assert routes_of(session, "torch::relu(x)") == ["slim"]


@pytest.mark.nightly
@needs_compiler
def test_what_needs_full_headers_is_built_with_them(session: Session) -> None:
    assert routes_of(session, "torch::nn::functional::relu(x)") == ["full"]


@pytest.mark.proof
@needs_compiler
def test_error_is_that_of_the_full_build(session: Session) -> None:
    broken = Candidate(problem="-", source=CANDIDATE.replace("HERE", "torch::no_such(x)"), backend="cpp")
    with pytest.raises(Failure, match=r"main\.cpp:\d+:\d+: error: .no_such. is not a member of .torch.") as caught:
        session.supervisor.build(broken, "cpu")
    assert caught.value.outcome is Outcome.BUILD_FAILED
    assert "/slim" not in caught.value.log


NINJA = "Error building extension 'x': [1/3] c++\nFAILED: [code=1] main.o\nc++ -c main.cpp\n"
HEADER = "/torch/include/ATen/core/TensorBody.h"


@pytest.mark.parametrize(
    ("said", "own"),
    [
        ('/b/cuda.cu(22): error: identifier "summm" is undefined', True),
        ("/b/main.cpp:4:1: error: ‘fooo’ was not declared in this scope", True),
        ('/b/cuda.cu(35): error: class "at::Tensor" has no member "contiguouss"', True),
        ("/b/main.cpp:4:8: error: ‘nosuchthing’ is not a member of ‘torch’", True),
        ('/b/cuda.cu(21): error: expected a ";"', True),
        ("/b/main.cpp:5:1: error: expected ‘,’ or ‘;’ before ‘}’ token", True),
        ("/b/cuda.cu:6:2: error: #error this answer does not build", True),
        ('/b/cuda.cu(4): error: "x" has already been declared in the current scope', True),
        (
            '/b/c.cu(9): error: a value of type "char *" cannot be used to initialize an entity of type "float"',
            True,
        ),
        ("ptxas error   : Entry function 'k' uses too much shared data (0x20000 bytes, 0xc000 max)", True),
        ("ptxas fatal   : Memory allocation failure", False),
        ("/b/main.cpp:4:6: error: ‘bitsett’ is not a member of ‘std’", False),
        ('/b/cuda.cu(4): error: namespace "std" has no member "nosuchthing"', False),
        # The full headers could help: they declare the name, the type's members or a conversion.
        ('/b/cuda.cu(4): error: identifier "IValue" is undefined', False),
        ('/b/cuda.cu(4): error: incomplete type "at::indexing::TensorIndex" is not allowed', False),
        ('/b/cuda.cu(4): error: no suitable constructor exists to convert from "int" to "c10::Scalar"', False),
        (
            '/b/cuda.cu(4): error: a value of type "int" cannot be used to initialize an entity of type "Scalar"',
            False,
        ),
        (
            "/b/main.cpp:4:1: error: no match for ‘operator<<’ (operand types are ‘std::ostream’ and ‘at::Tensor’)",
            False,
        ),
        (f'{HEADER}(88): error: identifier "summm" is undefined', False),
        # What comes second may come of the first.
        ('/b/cuda.cu(4): error: no operator "+" matches these operands\n/b/cuda.cu(5): error: expected a ";"', False),
        ("c++: fatal error: Killed signal terminated program cc1plus", False),
    ],
)
def test_a_refusal_that_no_header_heals_is_known(said: str, own: bool) -> None:
    assert is_own_fault(f"{NINJA}{said}\nninja: build stopped: subcommand failed.\n") is own


def test_one_unit_that_is_refused_for_good_is_enough() -> None:
    doubtful, sure = "/b/main.cpp:4:1: error: no match for ‘operator<<’", '/b/cuda.cu(21): error: expected a ";"'
    assert is_own_fault(f"{NINJA}{doubtful}\nFAILED: [code=2] cuda.cuda.o\nnvcc -c cuda.cu\n{sure}\n")
    assert not is_own_fault("ImportError: no module named x")


@pytest.mark.proof
@needs_compiler
def test_own_fault_is_found_with_slim_headers_alone(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    by = Builder._by

    def noted(self: Builder, route: Route, order: Any, final: bool) -> str:
        taken.append(route.name)
        return by(self, route, order, final)

    monkeypatch.setattr(Builder, "_by", noted)
    for text, routes in (("nosuchfunction(x)", ["slim"]), ("torch::relu(x, 1, 2)", ["slim", "full"])):
        taken.clear()
        with pytest.raises(Failure) as caught:
            session.supervisor.build(
                Candidate(problem="-", source=CANDIDATE.replace("HERE", text), backend="cpp"), "cpu"
            )
        assert caught.value.outcome is Outcome.BUILD_FAILED and taken == routes


# Slim headers are tried, since the text has a `torch/` in it, and not needed: it compiles in a second.
QUICK = '''
import os
import time

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <Python.h>
static PyMethodDef methods[] = {{nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "quick", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_quick() { return PyModule_Create(&module); }
"""
slim = "KERNELGAUGE_SLIM" in os.environ  # and torch/extension.h in a remark
FIRST
load_inline(name="quick", cpp_sources=SOURCE, no_implicit_headers=True)
THEN
'''


def quick(first: str = "", then: str = "") -> Candidate:
    return Candidate(problem="-", source=QUICK.replace("FIRST", first).replace("THEN", then), backend="cpp")


@needs_compiler
@pytest.mark.parametrize(
    ("first", "then", "route"),
    [
        ("", "", "slim"),
        ("if slim: os._exit(3)", "", "full"),
        ("", "if slim: os.kill(os.getpid(), 11)", "full"),
        ("", "if slim: raise ValueError('another answer')", "full"),
        ("", "if slim: raise SystemExit(1)", "full"),
    ],
)
def test_whatever_goes_wrong_on_the_way_is_tried_the_long_way(
    session: Session, first: str, then: str, route: str
) -> None:
    built = session.supervisor.build(quick(first, then), "cpu")
    assert built.folder is not None
    assert [part.route for part in parts(built.folder)] == [route]


@pytest.mark.nightly
@needs_compiler
def test_a_build_that_never_ends_is_tried_the_long_way(cache_folder: Path) -> None:
    with Session(limits=Limits(build_seconds=60.0), device="cpu") as session:
        built = session.supervisor.build(quick("if slim: time.sleep(1000)"), "cpu")
        assert built.folder is not None
        assert [part.route for part in parts(built.folder)] == ["full"]
        with pytest.raises(Failure, match="no answer within 60 s"):
            session.supervisor.build(quick("time.sleep(1000)"), "cpu")


def routes_of(session: Session, expression: str) -> list[str]:
    candidate = Candidate(problem="-", source=CANDIDATE.replace("HERE", expression), backend="cpp")
    built = session.supervisor.build(candidate, "cpu")
    assert built.folder is not None
    return [part.route for part in parts(built.folder)]


def test_a_candidate_cannot_take_the_other_route_for_a_failure(
    slim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may catch everything, as those do that fall back to PyTorch; the build starts again all the same."""

    def compiler(**call: Any) -> None:
        raise RuntimeError("refused")

    monkeypatch.setenv(SLIM_VARIABLE, str(slim))
    with pytest.raises(OtherRoute, match="refused"), capturing(tmp_path, compiler):
        try:
            cpp_extension.load_inline("n", "int f();", functions=["f"])
        except BaseException:
            pass
    with pytest.raises(OtherRoute, match="use_pch"), capturing(tmp_path, compiler):
        try:
            cpp_extension.load_inline("n", "int f();", functions=["f"], use_pch=True)
        except BaseException as error:
            raise ImportError("no kernels here") from error


@needs_compiler
def test_an_extension_that_cannot_be_imported_is_built_the_long_way(
    slim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiler(build_directory: str, **call: Any) -> None:
        (Path(build_directory) / "n.so").write_text("undefined symbol: torch::empty")

    monkeypatch.setenv(SLIM_VARIABLE, str(slim))
    with pytest.raises(OtherRoute, match=r"n\.so"), capturing(tmp_path, compiler):
        cpp_extension.load_inline("n", "int f();", functions=["f"])


@needs_compiler
def test_what_goes_wrong_after_a_slim_build_is_no_word_on_the_candidate(
    slim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiler(**call: Any) -> None:
        raise CompiledOnly

    monkeypatch.setenv(SLIM_VARIABLE, str(slim))
    with pytest.raises(OtherRoute, match="after slim builds: another answer"), capturing(tmp_path, compiler):
        cpp_extension.load_inline("n", "int f();", functions=["f"])
        raise ValueError("another answer")
    with pytest.raises(ValueError, match="before"), capturing(tmp_path, compiler):
        raise ValueError("before anything was built")


def test_files_are_captured_by_their_content_and_their_own_headers(tmp_path: Path) -> None:
    seen = []

    def compiler(name: str, sources: list[str], build_directory: str, **options: Any) -> None:
        seen.append(sources)
        (Path(build_directory) / "lib.so").write_text("not one")

    source, header, folder = tmp_path / "kernel.cu", tmp_path / "own" / "width.h", str(tmp_path / "own")
    header.parent.mkdir()
    for text, width in (("a", 1), ("b", 1), ("a", 1), ("a", 2), ("b", 1)):
        source.write_text(f'#include "width.h"\nint {text};')
        header.write_text(f"#define WIDTH {width}")
        with capturing(tmp_path / "build", files=compiler), pytest.raises(ImportError):
            cpp_extension.load("n", [source], extra_include_paths=[folder])
    assert seen == [[str(source)]] * 3


def test_architecture_is_the_gpus_with_its_own_instructions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for capability, due in {"9.0": "9.0a", "8.9": "8.9", "10.0": "10.0a"}.items():
        tool.write_text(f"#!/bin/sh\necho {capability}\n")
        tool.chmod(0o755)
        toolkit.architecture.cache_clear()
        first_line.cache_clear()
        assert toolkit.architecture() == due
    toolkit.architecture.cache_clear()
    first_line.cache_clear()


def test_fingerprint_holds_torch_compilers_toolkit_and_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelgauge.backends import cuda

    found = {cuda.CudaBackend().fingerprint()}
    for name in ("torch_build", "compilers", "instruction_set", "recipe"):
        with monkeypatch.context() as patch:
            patch.setattr(cuda, name, lambda *_, **__: "another")
            found.add(cuda.CudaBackend().fingerprint())
    with monkeypatch.context() as patch:
        patch.setattr(toolchain, "architecture", lambda: "8.0")
        found.add(cuda.CudaBackend().fingerprint())
    with monkeypatch.context() as patch:
        patch.setattr(nvrtc, "identity", lambda: "another")
        found.add(cuda.CudaBackend().fingerprint())
    assert len(found) == 7 - (toolkit.cuda_home() is None)


@needs_nvcc
def test_instructions_of_one_architecture_build(session: Session) -> None:
    """`wgmma` is refused for sm_90, and built for what the evaluator compiles for: this GPU, else Hopper."""
    if toolkit.architecture() != "9.0a":
        pytest.skip("the GPU here is no Hopper")
    source = '''
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
__global__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
"""
kernels = load_inline(name="fence", cpp_sources="", cuda_sources=KERNEL, no_implicit_headers=True FLAGS)
'''
    plain = Candidate(problem="-", source=source.replace("FLAGS", ""), backend="cuda")
    built = session.supervisor.build(plain, "cuda")
    assert built.folder is not None
    assert [part.route for part in parts(built.folder)] == ["full"]
    named = source.replace("FLAGS", ', extra_cuda_cflags=["-arch=sm_90"]')
    with pytest.raises(Failure, match="wgmma"):
        session.supervisor.build(Candidate(problem="-", source=named, backend="cuda"), "cuda")


@pytest.mark.nightly
@needs_nvcc
def test_slim_and_full_give_the_same_device_code_and_symbols(slim: Path, tmp_path: Path) -> None:
    """Two minutes of nvcc on the worked example: equal functions, equal machine code."""
    source = backend_named("cuda").example()[1]
    text = source.split('CUDA = r"""')[1].split('"""')[0]
    call = {"name": "n", "cpp_sources": "", "cuda_sources": TENSORS + text, "functions": ["scaled_softmax"]}
    file = tmp_path / "cuda.cu"
    file.write_text(TENSORS + text)
    includes = [f"-I{folder}" for folder in slimmed(call, slim, tmp_path)["extra_include_paths"]]
    objects = []
    for flags in ([], includes):
        target = tmp_path / f"{len(flags)}.o"
        subprocess.run([*toolchain.nvcc_command(), *flags, "-c", str(file), "-o", str(target)], check=True)
        objects.append(target)
    assert strong_symbols(objects[0]) == strong_symbols(objects[1]) != set()
    assert device_code(objects[0]) == device_code(objects[1]) != b""


def strong_symbols(path: Path) -> set[str]:
    lines = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines if " T " in line}


def device_code(path: Path) -> bytes:
    target = path.with_suffix(".fatbin")
    command = ["objcopy", "-O", "binary", "--only-section=.nv_fatbin", "--set-section-flags", ".nv_fatbin=alloc"]
    subprocess.run([*command, str(path), str(target)], check=True)
    return target.read_bytes()


def test_torch_is_found_without_importing_it() -> None:
    assert toolchain.torch_folder() == Path(torch.__file__).parent
    assert toolchain.standard() in ("c++17", "c++20")
