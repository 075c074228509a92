"""Reading candidates' texts: what Python names stand for, and what C++ says."""

from __future__ import annotations

import base64
import random
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

import pytest

from kernelgauge.backends.registry import detect
from kernelgauge.checks import rules
from kernelgauge.checks.elf import symbols
from kernelgauge.checks.kernel_origin import origins
from kernelgauge.checks.library_entries import entered, entries, entry
from kernelgauge.checks.operators import computes
from kernelgauge.checks.source.device_code import device_code
from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.tokens import Token, tokens
from kernelgauge.problems.catalogue import select
from kernelgauge.problems.loader import load_problem
from kernelgauge.selftest.specimens import problem

REFERENCE = problem().source
ENCODED = base64.b64encode(b"f = torch.compile(f)").decode()

COMPILES = {
    "plain": "import torch\nf = torch.compile(f)",
    "decorator": "import torch\n@torch.compile\ndef f(x): return x",
    "import as": "import torch as t\nf = t.compile(f)",
    "from import as": "from torch import compile as fuse\nf = fuse(f)",
    "star": "from torch import *\nfrom torch import nn\nf = torch.compile\nimport torch",
    "assigned": "import torch\nlibrary = torch\nf = library.compile(f)",
    "tuple": "import torch\na, b = torch, 1\nf = a.compile(f)",
    "walrus": "import torch\nif (t := torch): f = t.compile(f)",
    "default": "import torch\ndef g(t=torch): return t.compile(f)",
    "class attribute": "import torch\nclass A:\n    t = torch\n    def g(self): return self.t.compile(f)",
    "attribute": "import torch\nclass A:\n    def g(self): self.t = torch\n    def h(self): self.t.compile(f)",
    "getattr": "import torch\nf = getattr(torch, 'compile')(f)",
    "concatenation": "import torch\nf = getattr(torch, 'com' + 'pile')(f)",
    "augmented": "import torch\ns = 'com'\ns += 'pile'\nf = getattr(torch, s)(f)",
    "join": "import torch\nf = getattr(torch, ''.join(['com', 'pile']))(f)",
    "format": "import torch\nf = getattr(torch, '{}pile'.format('com'))(f)",
    "percent": "import torch\nf = getattr(torch, '%spile' % 'com')(f)",
    "f-string": "import torch\nh = 'com'\nf = getattr(torch, f'{h}pile')(f)",
    "reversed": "import torch\nf = getattr(torch, 'elipmoc'[::-1])(f)",
    "replaced": "import torch\nf = getattr(torch, 'c0mpile'.replace('0', 'o'))(f)",
    "lower": "import torch\nf = getattr(torch, 'COMPILE'.lower())(f)",
    "chr": "import torch\nf = getattr(torch, chr(99) + 'ompile')(f)",
    "dunder import": "f = __import__('to' + 'rch').compile(f)",
    "importlib": "import importlib as il\nf = il.import_module('torch').compile(f)",
    "dict": "import torch\nf = torch.__dict__['compile'](f)",
    "vars": "import torch\nf = vars(torch)['compile'](f)",
    "sys.modules": "import sys, torch\nf = sys.modules['torch'].compile(f)",
    "globals": "import torch\nf = globals()['torch'].compile(f)",
    "attrgetter": "import operator, torch\nf = operator.attrgetter('compile')(torch)(f)",
    "partial": "import functools, torch\nf = functools.partial(torch.compile, f)()",
    "container": "import torch\nf = {'t': torch}['t'].compile(f)",
    "conditional": "import torch\nf = (torch if True else None).compile(f)",
    "exec": "import torch\nexec('f = torch.compile(f)')",
    "eval": "import torch\nf = eval('torch.' + 'compile')(f)",
    "compile and exec": "import torch\nexec(compile('f = torch.compile(f)', '', 'exec'))",
    "base64": f"import base64, torch\nexec(base64.b64decode('{ENCODED}').decode())",
    "exec in exec": "import torch\nexec(\"exec('f = torch.compile(f)')\")",
    "dynamo": "import torch._dynamo as d\nf = d.optimize()(f)",
    "unicode": "import torch\nf = torch.ｃompile(f)",
    "pretended program": "import torch\n__name__ = '__main__'\nif __name__ == '__main__': f = torch.compile(f)",
    "continued": "import torch\nf = torch.\\\n    compile(f)",
}

HARMLESS = {
    "comment": "import torch\n# torch.compile(f)",
    "docstring": '"""As fast as torch.compile."""\nimport torch',
    "regular expression": "import re\np = re.compile('torch.compile')",
    "other module": "import cute\nf = cute.compile(f)",
    "own function": "def compile(f): return f\nf = compile(f)",
    "parameter": "import torch\ndef g(torch): return torch.compile",
    "shadowed in a function": "import torch\ndef g():\n    torch = object()\n    return torch.compile",
    "is_compiling": "import torch\nflag = torch.compiler.is_compiling()",
    "text": "import torch\nname = 'torch.compile'",
    "as a program": "import torch\nif __name__ == '__main__':\n    f = torch.compile(f)",
    "config": "import torch._inductor.config as c\nc.freezing = True",
}


def read(source: str, backend: str | None = None, reference: str = REFERENCE) -> list[Lead]:
    found = rules.read(source, reference, backend or detect(source), rules.SETS["default"])
    return list(found.leads)


def of(rule: str, leads: list[Lead]) -> list[Lead]:
    return [lead for lead in leads if lead.rule == rule]


@pytest.mark.parametrize("name", COMPILES)
def test_a_name_is_seen_through(name: str) -> None:
    (lead, *_) = of("torch_compile", read(COMPILES[name]))
    line = COMPILES[name].splitlines()[lead.line - 1]
    assert not lead.weak and not lead.certain
    assert lead.excerpt == line.strip()
    assert 1 <= lead.column <= len(line)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_only_looks_like_it_is_let_be(name: str) -> None:
    assert of("torch_compile", read(HARMLESS[name])) == []


def test_what_cannot_be_read_is_a_lead_of_its_own() -> None:
    assert of("dynamic_code", read("exec(open('x').read())"))
    assert rules.read("exec(open('x').read())", REFERENCE, "torch", rules.SETS["default"]).makes_kernels
    assert of("dynamic_code", read("import torch, sys\nf = getattr(torch, sys.argv[1])"))[0].weak
    assert not of("dynamic_code", read("class A:\n    def f(self): return getattr(self, self.name)\nmodel.eval()"))


@pytest.mark.proof
@pytest.mark.parametrize(
    "text",
    [
        "x = " + "-" * 50_000 + "1",
        "x = a" + ".b" * 20_000,
        "x = " + "+".join(["1"] * 50_000),
        "\n".join(f"a{i} = a{(i * 7 + 1) % 300} + a{(i * 3 + 2) % 300}" for i in range(3000)),
        "\n".join("a = a + 'x'" for _ in range(5_000)),
        "s = 'x' * 1000000\nt = s.join([s, s])\nu = s.replace('x', s)\nv = '{:>99999999}'.format(1)",
        "exec('exec(repr(1))')\n" * 500,
        "a0 = 'x' * 1000000\n" + "".join(f"a{i + 1} = a{i} + 'x'\n" for i in range(5_000)),
        "s = 'x' * 1000000\nt = ('{0}' * 300000).format(s)\nu = '%s' * 100000 % s",
        f"f(cuda_sources='#define F(x) x\\n' + {'F(' * 50_000!r})",
        f"f(cuda_sources={'catch(' * 50_000!r})",
        f"f(cuda_sources={'R' + chr(34) + '('!r} * 50_000)",
        f"f(cuda_sources={(chr(34) + chr(92)) * 50_000!r})",
        f"S = {'a(b) ' * 20_000!r}\n" + "f(cuda_sources=S)\n" * 500,
    ],
    ids=[
        *("unary", "attributes", "sum", "circles", "rebound", "memory", "exec", "growing", "templates", "brackets"),
        *("handlers", "raw strings", "open strings", "one text often"),
    ],
)
def test_a_hostile_text_costs_little_and_is_no_error(text: str) -> None:
    started = time.process_time()
    assert all(lead.rule in ("dynamic_code", "no_own_kernel") for lead in read(text))
    assert time.process_time() - started < 30  # some were many minutes, or gigabytes


PASTED = REFERENCE.replace("class Model", "class Anything").replace("x: torch.Tensor", "rows")
PASTED = PASTED.replace("self.linear(x)", "self.linear(rows)")
INHERITS = {
    "inherits": ("class ModelNew(Anything): pass", True),
    "by another name": ("Base = Anything\nclass ModelNew(Base): pass", True),
    "twice removed": ("class Between(Anything): pass\nclass ModelNew(Between): pass", True),
    "is it": ("ModelNew = Anything", True),
    "made by type": ("ModelNew = type('ModelNew', (Anything,), {})", True),
    "hands over": ("class ModelNew(Anything):\n    def forward(self, x): return super().forward(x)", False),
    "own forward": ("class ModelNew(Anything):\n    def forward(self, x): return mine(x)", False),
    "holds one": ("class ModelNew(nn.Module):\n    def __init__(self, f): self.m = Anything(f)", False),
}


@pytest.mark.parametrize("name", INHERITS)
def test_the_reference_is_known_under_any_name(name: str) -> None:
    text, certain = INHERITS[name]
    (lead,) = of("inherits_reference", read(f"{PASTED}\n{text}\n"))
    assert lead.certain is certain
    assert "class Anything" in lead.excerpt
    assert certain or lead.place is not None


@pytest.mark.parametrize(
    "text",
    [
        "class ModelNew(Anything): pass\nModelNew.forward = fused",
        "class ModelNew(Anything):\n    forward = fused",
        "class ModelNew(Anything): pass\nsetattr(ModelNew, 'forward', fused)",
        "@fused\nclass ModelNew(Anything): pass",
        "class ModelNew(Anything):\n    if fused:\n        def forward(self, x): return fused(x)",
        "class ModelNew(Anything):\n    def __call__(self, x): return fused(x)",
        "from fast import Fused\nclass ModelNew(Fused, Anything): pass",
        "class Fused(nn.Module):\n    def forward(self, x): return k(x)\n"
        "class ModelNew(Fused if k else Anything): pass",
        "if k:\n    class ModelNew(nn.Module):\n        def forward(self, x): return k(x)\n"
        "else:\n    ModelNew = Anything",
    ],
)
def test_a_forward_put_in_later_is_for_the_run_to_see(text: str) -> None:
    (lead,) = of("inherits_reference", read(f"{PASTED}\n{text}\n"))
    assert not lead.certain and lead.place is not None


def test_a_reference_kept_and_not_used_is_no_lead() -> None:
    assert of("inherits_reference", read(f"{PASTED}\nclass ModelNew(nn.Module): pass\n")) == []
    assert of("inherits_reference", read(f"{PASTED}\nclass ModelNew(nn.Module): pass\nm = globals()['Anything']"))


def test_a_class_called_model_that_differs_is_not_the_reference() -> None:
    own = REFERENCE.replace("torch.relu(", "torch.nn.functional.gelu(") + "\nclass ModelNew(Model): pass\n"
    assert of("inherits_reference", read(own)) == []
    copied = REFERENCE.replace("class Model", "class ModelNew")
    assert of("inherits_reference", read(copied)) == []


def test_only_what_is_made_for_candidates_may_be_imported() -> None:
    assert read("from kernelgauge.kernels import cuda_kernel\nimport kernelgauge.kernels as k", "cuda") == []
    for text in ("import kernelgauge as kg\nkg.load_problem('1/1')", "from kernelgauge import problems"):
        assert of("imports_evaluator", read(text))[0].certain


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_an_import_for_a_type_checker_is_left_to_the_run(test: str) -> None:
    start = f"import typing\nfrom typing import TYPE_CHECKING\nif {test}:\n"
    (found,) = of("imports_evaluator", read(start + "    from kernelgauge import (\n        schema,\n    )"))
    assert (found.certain, found.weak, found.place) == (False, True, (4, 6))
    for certain in (
        "    pass\nelse:\n    from kernelgauge import schema",
        "    import kernelgauge as kg\nkg.load_problem('1/1')",
    ):
        assert of("imports_evaluator", read(start + certain))[0].certain
    assert of("imports_evaluator", read("if not TYPE_CHECKING:\n    import kernelgauge.schema"))[0].certain


OWN = "import ctypes, torch\nlibrary = ctypes.CDLL('./k.so')\n"
FALLBACKS = {
    "handler": (
        "def f(x):\n    try:\n        return library.k(x)\n    except Exception:\n        return torch.relu(x)",
        5,
    ),
    "bare": ("def f(x):\n    try:\n        return library.k(x)\n    except:\n        return x @ x", 5),
    "operator": (
        "def f(self, x):\n    try:\n        return k(x)\n    except OSError:\n        return self.plain(x)",
        5,
    ),
    "method": ("def f(x):\n    try:\n        return library.k(x)\n    except OSError:\n        y = x.softmax(0)", 5),
}
NO_FALLBACKS = {
    "raises again": "def f(x):\n    try:\n        library.k(x)\n    except OSError as e:\n        raise A from e",
    "optional module": "try:\n    import fast\nexcept ImportError:\n    fast = None",
    "no call": "def f(x):\n    try:\n        y = x\n    except OSError:\n        y = torch.relu(x)",
    "kept by key": "def f(s, x):\n    try:\n        w = s.kept[x.shape]\n    except KeyError:\n        w = x @ x",
    "a library's": "def f(x):\n    try:\n        y = torch.mm(x, x)\n    except TypeError:\n        y = x @ x",
    "suppressed": "import contextlib\nwith contextlib.suppress(RuntimeError):\n    torch.set_num_threads(2)",
    "not its own kernel": "try:\n    torch.set_num_threads(2)\nexcept RuntimeError:\n    pass",
}


@pytest.mark.parametrize("name", FALLBACKS)
def test_a_fallback_is_a_lead_with_its_branch(name: str) -> None:
    text, line = FALLBACKS[name]
    (lead,) = of("torch_fallback", read(OWN + text))
    assert lead.line == line + 1 and lead.place == (line + 2, line + 2)
    assert not lead.certain and not lead.weak


@pytest.mark.parametrize("name", NO_FALLBACKS)
def test_an_honest_handler_is_no_lead(name: str) -> None:
    assert of("torch_fallback", read(OWN + NO_FALLBACKS[name])) == []


def test_a_handler_without_own_kernels_is_no_fallback() -> None:
    text = (
        "import torch\ndef f(x):\n    try:\n        return torch.mm(x, x)\n    except OSError:\n        return x @ x"
    )
    assert of("torch_fallback", read(text)) == []


def test_the_shipped_candidates_and_problems_break_no_rule() -> None:
    package = Path(rules.__file__).parents[1]
    for path in [
        *package.glob("backends/examples/*/candidate.py"),
        *Path("benchmarks").rglob("*_candidates/**/*.py"),
    ]:
        assert read(path.read_text()) == [], path
    for key in select():
        source = load_problem(key).source.replace("class Model(", "class ModelNew(")
        assert read(source) == [], key


def spelled(source: str) -> list[str]:
    return [token.text for token in tokens(source) if token.kind != "newline"]


def test_comments_strings_and_splices() -> None:
    assert spelled('a /* at::mm( */ b // c\nd "at::mm(" R"x(at::mm( ")x" \'"\' e') == [
        *("a", "b", "d", '"at::mm("', 'R"x(at::mm( ")x"', "'\"'", "e")
    ]
    assert spelled("at:\\\n:mat\\\nmul(x)") == ["at", "::", "matmul", "(", "x", ")"]
    assert spelled("'\\'\\") == ["'\\'\\"], "it never ends: nor does a lone backslash end it"
    assert spelled("<% a<:0:> %> %:define") == ["{", "a", "[", "0", "]", "}", "#", "define"]
    assert spelled("v<::at::Tensor>") == ["v", "<", "::", "at", "::", "Tensor", ">"]


def words(draw: random.Random, count: int) -> list[str]:
    parts = ["at", "::", "matmul", "(", ")", "{", "}", "x1", "1.5e-3f", "<<<", ">>>", '"a // b"', "'c'", ";", "->"]
    parts += ["__global__", "void", "0x1f", "+", "==", "##", "...", 'R"(raw " */ )"', "&&", "[", "]", ","]
    return [draw.choice(parts) for _ in range(count)]


@pytest.mark.parametrize("seed", range(40))
def test_what_stands_between_tokens_changes_none(seed: int) -> None:
    """Blanks, comments, line ends and splices between tokens, and splices inside identifiers, are the same text."""
    draw = random.Random(seed)
    due = words(draw, 60)
    between = [" ", "\n", "\t", "/* at::mm(x) \n */", "// x\n", "\\\n ", " \\\n"]
    text = " ".join(due)
    disguised = " " + "".join(part + " " + draw.choice(between) for part in due)
    assert spelled(text) == spelled(disguised)
    name = draw.choice(["matmul", "__global__", "cublasSgemm"])
    place = draw.randrange(1, len(name))
    assert spelled(name[:place] + "\\\n" + name[place:]) == [name]


@pytest.mark.parametrize("seed", range(40))
def test_any_text_has_tokens_that_stand_where_they_say(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choice("ab:<>%#\"'\\\n/*R()u8 .1e+-{}@é\t") for _ in range(300))
    lines = text.split("\n")
    for token in tokens(text):
        if token.kind != "newline" and token.text not in ("[", "]", "{", "}", "#", "##"):
            assert lines[token.line - 1][token.column - 1] == token.text[0]
    device_code(text)


def called(source: str) -> list[str]:
    return [token.text for token in device_code(source).library_calls]


def test_macros_stand_for_what_they_say() -> None:
    assert called("#define MM at::matmul\nauto f() { return MM(a, b); }") == ["matmul"]
    assert called("#define OF(ns, op) ns::op\nauto y = OF(at, softmax)(x, 0);") == ["softmax"]
    assert called("#define JOIN(a, b) a##b\nJOIN(cublas, Sgemm)(h);") == ["cublasSgemm"]
    assert called("#define A B\n#define B A\nint A;") == []
    assert called("#if 0\nat::mm(a, b);\n#else\nat::bmm(a, b);\n#endif") == ["bmm"]
    assert called('const char* s = "at::mm(a)"; // at::mm(a)\n') == []
    bomb = "\n".join(f"#define A{i} A{i + 1} A{i + 1} A{i + 1}" for i in range(60)) + "\nA0"
    assert called(bomb) == []


def test_kernels_launches_loops_and_fallbacks() -> None:
    text = """
        template <int N> __global__ void __launch_bounds__(256) scale(float* x) { for (;;) {} }
        void run() { try { scale<3><<<1, 2>>>(x); } catch (...) { at::mul_out(y, x, x); } }
    """
    code = device_code(text)
    assert [token.text for token in code.kernels] == ["scale"]
    assert code.launches and code.loops
    ((caught, call),) = code.fallbacks
    assert (caught.line, call.text) == (3, "mul_out")
    assert not device_code("// __global__ void k() {}\nvoid f() {}").kernels


def test_what_inductor_has_written_has_kernels_of_its_own_if_it_gives_any_to_triton() -> None:
    written = (Path(__file__).parents[1] / "data" / "inductor_relu_on_hopper.py").read_text()
    assert not of("no_own_kernel", read(written))
    start, end = written.index("triton_poi_fused_relu_0 = "), written.index("async_compile.wait(")
    (lead,) = of("no_own_kernel", read(written[:start] + written[end:]))
    assert lead.reason == "imports Triton and defines no kernel"


def test_a_finding_in_the_cuda_text_has_its_line_in_the_file() -> None:
    source = textwrap.dedent('''
        from torch.utils.cpp_extension import load_inline
        CUDA = r"""
        torch::Tensor f(torch::Tensor x) {
            return at::relu(x);
        }
        """
        kernels = load_inline(name="k", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources=CUDA)
    ''')
    (lead,) = read(source, "cuda")
    assert (lead.rule, lead.line) == ("no_own_kernel", 5)
    assert lead.excerpt == "return at::relu(x);"


NAMES = {
    "void scaled<float>(float const*, float*, int)": "own",
    "plain(float*)": "own",
    "in_c": "own",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int, float)": "library",
    "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32": "library",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>(float)": "library",
    "void (anonymous namespace)::softmax_warp_forward<float>(float*)": "library",
    "void (anonymous namespace)::softmax_warp_forward<float>(float*, int)": "own",
    "void scaled<double>(double const*, double*, int)": "own",
    "void sgemm_largek_lds64<true, false, 5, 5, 4, 4, 4, 34>(float*, float const*, float const*, int)": "library",
    "void scal_kernel<float, float, 1, true, 6, 5, 5, 3>(cublasTransposeParams<float>, float const*)": "library",
    "made_while_running": "unknown",
    "declared_for_nvrtc": "own",
}
CUDA = """
template <typename T> __global__ void scaled(const T* x, T* y, int n) { y[0] = x[0] * n; }
template __global__ void scaled<float>(const float*, float*, int);
__global__ void plain(float* x) { x[0] = 1; }
extern "C" __global__ void in_c(float* x) { x[0] = 1; }
namespace { template <typename T> __global__ void softmax_warp_forward(T* x, int decoy) { x[0] = 1; } }
void use(float* x) { softmax_warp_forward<<<1, 1>>>(x, 1); }
"""


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists(), reason="no nvcc")
def test_a_kernel_is_the_candidates_own_if_its_build_has_that_very_function(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(CUDA)
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    command = [nvcc, "-arch=sm_90", "-shared", "-Xcompiler", "-fPIC", "k.cu", "-o", "k.so"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    made = [(tmp_path / "k.so").read_bytes()]
    assert origins(list(NAMES), made, ["declared_for_nvrtc"], True) == NAMES
    without = origins(list(NAMES), [], [], False)
    assert set(without.values()) == {"library"}


def test_triton_kernels_may_be_called_as_those_of_libraries_are() -> None:
    names = ["gemm_kernel", "pooling_kernel", "void gemm<3>(float*)", "sm90_xmma_gemm_f32"]
    found = origins(names, [], ["gemm_kernel", "pooling_kernel", "gemm", "sm90_xmma_gemm_f32"], True)
    assert list(found.values()) == ["own", "own", "library", "library"]


@pytest.mark.processes
def test_what_no_tool_can_read_is_not_held_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names, made = ["void (anonymous namespace)::k<float>(float*)"], [b"\0_ZN12_GLOBAL__N_11kIfEEvPT_\0"]
    assert origins(names, made, [], True) == {names[0]: "own"}
    monkeypatch.setenv("PATH", "")
    assert origins(names, made, [], True) == {names[0]: "unknown"}


def test_names_in_a_hostile_file_cost_little() -> None:
    started = time.process_time()
    origins(["void k<float>(float*)"], [b"_Z" * 2_000_000, b"1k" * 2_000_000], [], True)
    assert time.process_time() - started < 30


def test_operators_that_only_make_or_move_tensors_compute_nothing() -> None:
    assert computes("aten.mm.default") and computes("aten.add_.Tensor")
    assert not any(computes(f"aten.{name}.default") for name in ("empty_like", "view", "copy_", "clone", "t"))


def test_tokens_know_their_place() -> None:
    assert list(tokens("a\n  b")) == [
        *(Token("identifier", "a", 1, 1), Token("newline", "\n", 1, 2), Token("identifier", "b", 2, 3))
    ]


def test_ways_into_libraries_that_no_watcher_sees_are_known_by_name() -> None:
    mangled = "_ZN2at3cpu5addmmERKNS_6TensorES3_S3_RKN3c106ScalarES7_"
    redispatch = "_ZN2at4_ops5addmm10redispatchEN3c1014DispatchKeySetERKNS_6TensorES6_S6_RKNS2_6ScalarES9_"
    named = {
        mangled: "at::cpu::addmm",
        redispatch: "at::_ops::addmm::redispatch",
        redispatch.replace("10redispatch", "4call"): None,
        redispatch.replace("5addmm", "19empty_memory_format"): None,
        "_ZN2at6native7cpublas4gemmIfEEv": "at::native::cpublas::gemm",
        "_ZN2at4cuda20getCurrentCUDAStreamEa": None,
        "_ZN2at3cpu5emptyEv": None,
        "_ZN2at8internal13parallel_for_E": None,
        "cblas_sgemm": "cblas_sgemm",
        "dgemm_": "dgemm_",
        "mkl_set_num_threads": None,
        "sgemm": None,
        "my_sgemm_": None,
    }
    assert {symbol: entry(symbol) for symbol in named} == named
    assert entered("sgemm", "libtorch_cpu.so") == "sgemm of libtorch_cpu.so"
    assert entered("clock_gettime", "libc.so.6") is None and entered("relu", "") is None


IMPORTS = """
extern "C" { void sgemm(int); void vsExp(int); void cblas_copy_of_mine(void) {} int my_sgemm_(void) { return 1; } }
namespace at { struct T; namespace cpu { void addmm(const T&); void empty(const T&); } void relu(const T&); }
extern "C" void run(const at::T& x) { sgemm(1); vsExp(2); at::cpu::addmm(x); at::cpu::empty(x); at::relu(x); }
extern "C" const char* sought() { return "dnnl_sgemm"; }
"""


@pytest.mark.processes
def test_a_library_names_what_it_takes_from_others(tmp_path: Path) -> None:
    (tmp_path / "own.cpp").write_text(IMPORTS)
    library = tmp_path / "own.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", str(tmp_path / "own.cpp"), "-o", str(library)], check=True)
    content = library.read_bytes()
    taken, own = symbols(content)
    assert {"sgemm", "vsExp"} <= taken - own and {"run", "cblas_copy_of_mine"} <= own - taken
    assert entries(content) == {"sgemm", "vsExp", "at::cpu::addmm", "dnnl_sgemm"}
    for broken in (b"", b"\x7fELF", content[:200], content[: len(content) // 2], b"\x7fELF\x02\x01" + b"\xff" * 4000):
        found = symbols(broken)
        assert found[0] <= taken and found[1] <= own


LOOPS = {
    "no loop": ("int f(int x) { return x; }", False),
    "loop": ("int f(int x) { for (;;) x++; return x; }", True),
    "named in a comment": ("// for a while\\nint f(int x) { return x; }", False),
    "algorithm": ("float f(float* x) { return std::accumulate(x, x + 9, 0.f); }", True),
    "threads": ("void f() { at::parallel_for(0, 9, 1, [&](int a, int b) { g(a, b); }); }", True),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_in_c_are_read(name: str) -> None:
    text, due = LOOPS[name]
    inline = f"from torch.utils.cpp_extension import load_inline\nload_inline('n', '{text}')"
    written = f"SOURCE = '{text}'\nopen('a.c', 'w').write(SOURCE)"
    for source in (inline, written):
        assert rules.read(source, REFERENCE, "cpp", rules.SETS["default"]).loops is due
    unread = "from torch.utils.cpp_extension import load_inline\nload_inline('n', made_up())"
    assert rules.read(unread, REFERENCE, "cpp", rules.SETS["default"]).loops is None
    assert rules.read("import torch", REFERENCE, "torch", rules.SETS["default"]).loops is None


PAST = {
    "at::cpu::addmm(b, x, w)": "at::cpu::addmm",
    "at::native::softmax_cpu(x)": "at::native::softmax_cpu",
    "at::redispatch::mm(k, x, w)": "at::redispatch::mm",
    "at::_ops::mm::redispatch(k, x, w)": "at::_ops::mm::redispatch",
    "sgemm_(&n)": "sgemm_",
    'dlsym(0, "_ZN2at3cpu2mmERKNS_6TensorES3_")': "at::cpu::mm",
    "at::_ops::mm::call(x, w)": None,
    "at::mm(x, w)": None,
    "at::cpu::empty({1})": None,
    "at::cuda::getCurrentCUDAStream()": None,
    "mine::cpu::mm(x, w)": None,
}


@pytest.mark.parametrize("call", PAST)
def test_calls_past_the_dispatcher_are_leads_that_only_a_run_makes_count(call: str) -> None:
    source = "from torch.utils.cpp_extension import load_inline\n"
    source += f"load_inline('n', '''void f() {{ for (;;) {call}; }}''')"
    leads = of("no_own_kernel", read(source))
    assert [lead.weak for lead in leads] == ([True] if PAST[call] else [])
    assert all(str(PAST[call]) in lead.reason and lead.line == 2 for lead in leads)


def test_a_librarys_function_by_ctypes_is_a_lead() -> None:
    (lead,) = of("no_own_kernel", read("import ctypes\nb = ctypes.CDLL('libmkl.so')\nb.cblas_sgemm(1)"))
    assert lead.weak and lead.line == 3 and "cblas_sgemm" in lead.reason
    assert of("no_own_kernel", read("import ctypes\nctypes.CDLL('./own.so').sgemm(1)")) == []
