"""What a C++ or CUDA text does, as far as its tokens say: kernels, launches, loops, calls of libraries, fallbacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelgauge.checks.library_entries import entry, past_dispatcher
from kernelgauge.checks.source.macros import preprocessed
from kernelgauge.checks.source.tokens import Token

_LOOPS = {"for", "while", "do", "goto", "parallel_for", "parallel_reduce", "transform", "for_each", "vectorized_loop"}
_LOOPS |= {"accumulate", "reduce", "transform_reduce", "inner_product", "partial_sum", "inclusive_scan", "generate"}
_LOOPS |= {"exclusive_scan", "sort", "nth_element", "max_element", "min_element", "valarray", "Eigen", "reduce_all"}
_LOOPS |= {"map", "map2", "map3", "map4", "map_reduce_all", "map2_reduce_all", "cpu_kernel", "cpu_kernel_vec"}
_LAUNCHES = {"<<<", "cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchCooperativeKernel", "cuLaunchKernel"}
_LAUNCHES |= {"cuLaunchKernelEx", "cudaLaunchKernelExC", "hipLaunchKernelGGL"}
_LIBRARIES = ("cublas", "cudnn", "cusparse", "cufft", "cusolver", "cutensor", "cblas_", "mkl_", "dnnl_", "nccl")
_NAMESPACES = {"at", "torch"}
_MOST_HANDLERS = 100
# Of PyTorch's namespaces, what makes or describes tensors and computes nothing.
_NO_WORK = {
    *("Tensor", "TensorOptions", "ScalarType", "Device", "IntArrayRef", "ArrayRef", "Scalar", "Half", "BFloat16"),
    *("empty", "empty_like", "empty_strided", "from_blob", "device", "dtype", "Layout", "MemoryFormat", "List"),
    *("zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "tensor", "scalar_tensor", "get_num_threads"),
    *("parallel_for", "NoGradGuard", "Library", "arange", "set_num_threads", "TensorList", "Generator", "optional"),
}
_METHODS = """matmul mm bmm addmm addbmm baddbmm mv dot softmax log_softmax relu relu_ sum mean prod cumsum cumprod
norm sigmoid tanh gelu exp log sqrt var max min argmax argmin amax amin add add_ sub mul mul_ div div_ clamp"""
METHODS = frozenset(_METHODS.split())
"""Methods of a tensor that do the work of a kernel."""


@dataclass(frozen=True)
class DeviceCode:
    """The facts of one text; tokens stand for the places where they are."""

    kernels: tuple[Token, ...]
    """Names of functions declared `__global__`."""
    launches: bool
    loops: bool
    library_calls: tuple[Token, ...]
    """Calls of PyTorch's operators and NVIDIA's or Intel's libraries."""
    past: tuple[tuple[Token, str], ...]
    """Names of PyTorch's own functions that compute and are not called through its dispatcher, and of a BLAS."""
    fallbacks: tuple[tuple[Token, Token], ...]
    """A `catch`, and the library call in its block."""


def device_code(source: str) -> DeviceCode:
    """Reads a text; never raises."""
    code = preprocessed(source)
    words = {token.text for token in code if token.kind != "string"}
    calls = dict(_library_calls(code))
    return DeviceCode(
        kernels=tuple(_kernels(code)),
        launches=bool(words & _LAUNCHES),
        loops=bool(words & _LOOPS),
        library_calls=tuple(calls.values()),
        past=tuple(_past(code)),
        fallbacks=tuple(_fallbacks(code, calls)),
    )


def _kernels(code: Sequence[Token]) -> Iterator[Token]:
    """The name before the bracket of the parameters; `__launch_bounds__(256)` has brackets of its own."""
    for place, token in enumerate(code):
        if token.text != "__global__":
            continue
        for here in range(place + 1, min(place + 60, len(code) - 1)):
            if code[here + 1].text == "(" and code[here].kind == "identifier":
                if code[here].text not in ("__launch_bounds__", "__cluster_dims__", "__attribute__", "__declspec"):
                    yield code[here]
                    break
            elif code[here].text in (";", "{"):
                break


def _library_calls(code: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """By place: `at::matmul(`, `torch::nn::functional::relu(`, `cublasSgemm(`, `.matmul(`, with a `using` `mm(`."""
    opened = _opened(code)
    for place, token in enumerate(code[:-1]):
        if token.kind != "identifier" or code[place + 1].text not in ("(", "<"):
            continue
        before = code[place - 1].text if place else ""
        if token.text.startswith(_LIBRARIES) or entry(token.text):
            yield place, token
        elif before == "::":
            first = _qualifier(code, place)
            if first in _NAMESPACES and token.text not in _NO_WORK and token.text.islower():
                yield place, token
        elif token.text in METHODS and (before in (".", "->") or opened):
            yield place, token


def _past(code: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    """`at::cpu::mm(`, `at::_ops::mm::redispatch(`, `sgemm_(`; for `dlsym` as a text."""
    for place, token in enumerate(code[:-1]):
        if token.kind == "string":
            if name := entry(token.text.strip('"')):
                yield token, name
        elif token.kind == "identifier" and code[place + 1].text in ("(", "<"):
            parts = _qualified(code, place)
            if past_dispatcher(parts) or (len(parts) == 1 and entry(token.text)):
                yield token, "::".join(parts)


def _opened(code: Sequence[Token]) -> bool:
    """Whether the operators of PyTorch can be called without naming their namespace."""
    return any(
        [each.text for each in code[place : place + 2]] == ["using", "namespace"]
        and code[place + 2].text in _NAMESPACES
        for place in range(len(code) - 2)
    )


def _qualifier(code: Sequence[Token], place: int) -> str:
    """The first name of `a::b::c`, where `place` is that of `c`."""
    return _qualified(code, place)[0]


def _qualified(code: Sequence[Token], place: int) -> list[str]:
    """The names of `a::b::c`, where `place` is that of `c`."""
    names = [code[place].text]
    while place >= 2 and code[place - 1].text == "::" and code[place - 2].kind == "identifier":
        place -= 2
        names.insert(0, code[place].text)
    return names


def _fallbacks(code: Sequence[Token], calls: dict[int, Token]) -> Iterator[tuple[Token, Token]]:
    caught = [(place, token) for place, token in enumerate(code) if token.text == "catch"]
    for place, token in caught[:_MOST_HANDLERS]:
        depth, inside = 0, False
        for here in range(place, len(code)):
            depth += (code[here].text == "{") - (code[here].text == "}")
            inside = inside or depth > 0
            if inside and here in calls:
                yield token, calls[here]
                break
            if inside and depth == 0:
                break
