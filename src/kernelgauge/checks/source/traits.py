"""Which means a kernel's text uses: own kernels, shared memory, tensor cores, wide loads and others, counted by name.

A description, never a verdict: a name says that something is written, not that it runs. Python is read by its
syntax tree and C++ by its tokens, so that comments and docstrings count for nothing. Kernels that stand in a text as
text are read too: TorchInductor writes them so, and `load_inline` takes them so.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator

from pydantic import Field

from kernelgauge.backends.registry import embedded
from kernelgauge.checks.source.device_code import METHODS
from kernelgauge.checks.source.tokens import tokens
from kernelgauge.schema import Record
from kernelgauge.syntax import parse

MEANS: dict[str, re.Pattern[str]] = {
    name: re.compile(f"(?:{words})", re.ASCII)
    for name, words in {
        "shared_memory": r"__shared__|(?:.*\.)?alloc_shared|cuda\.shared\.array|(?:.*\.)?SmemAllocator"
        r"|groupshared|extern_shared|(?:.*\.)?cp_async\w*|__pipeline_memcpy_async|(?:.*\.)?allocate_shared_memory",
        "tensor_cores": r"wmma|mma_sync|\w*wgmma\w*|ldmatrix\w*|mma_m\w+|(?:tl|T|cute|triton\.language)\.(?:dot|gemm)"
        r"|(?:.*\.)?dot_scaled|(?:.*\.)?warpgroup_mma",
        "wide_loads": r"(?:float|int|uint|double|half|ulong|longlong)[24]|__half2|__nv_bfloat162|float8"
        r"|Vectorized|_mm(?:256|512)?_loadu?_\w+|(?:.*\.)?vectorized",
        "warp_shuffles": r"__shfl\w*|__reduce_\w+_sync|(?:.*\.)?shuffle_\w+|(?:.*\.)?warp_reduce\w*",
        "atomics": r"atomic[A-Z]\w*|(?:.*\.)?atomic_\w+|red_global\w*",
        "autotuning": r"(?:.*\.)?autotune",
        "graphs": r"(?:.*\.)?CUDAGraph|(?:.*\.)?make_graphed_callables|cudaGraph\w+",
    }.items()
}
"""By means, the names that speak for it: words of C++, dotted paths of Python."""

_PTX = re.compile(r"\b(mma\.sync|wgmma|ldmatrix|ld\.global(?:\.\w+)*\.v[24]|cp\.async|tcgen05)")
_PTX_MEANS = {
    "mma.sync": "tensor_cores",
    "wgmma": "tensor_cores",
    "ldmatrix": "tensor_cores",
    "tcgen05": "tensor_cores",
}
_C = re.compile(r"[;{][^\0]*[;}]")
_TRITON = re.compile(r"@\s*triton|@\s*gluon|import\s+triton")
_LAYERS = re.compile(r"(?:torch\.nn|nn|F|torch\.nn\.functional|torch|aten|extern_kernels|torch\.ops\.aten)\.(\w+)")
_DEEPEST = 3


class Traits(Record):
    """How often a text names each means; all counts are of places in the text, not of calls when it runs."""

    readable: bool = True
    """Whether it is Python; nothing else is said of one that is not."""
    characters: int = Field(ge=0)
    lines: int = Field(ge=0)
    """That are not empty."""
    kernels: int = Field(default=0, ge=0)
    """Places that define one: `__global__` functions, functions that a language makes kernels of."""
    library_calls: int = Field(default=0, ge=0)
    """Calls that do the work of a kernel in PyTorch or a library of the vendor's."""
    loops: int = Field(default=0, ge=0)
    shared_memory: int = Field(default=0, ge=0)
    tensor_cores: int = Field(default=0, ge=0)
    """Matrix products of a kind that tensor cores can do; `tl.dot` in IEEE arithmetic is none."""
    wide_loads: int = Field(default=0, ge=0)
    """Of several elements at once, where the text says so: a compiler may widen others."""
    warp_shuffles: int = Field(default=0, ge=0)
    atomics: int = Field(default=0, ge=0)
    autotuning: int = Field(default=0, ge=0)
    graphs: int = Field(default=0, ge=0)

    @property
    def counts(self) -> dict[str, int]:
        """All counts by name."""
        return {name: getattr(self, name) for name in COUNTED}


COUNTED = tuple(name for name in Traits.model_fields if name != "readable")
"""The names of the counts, in order."""


def traits(source: str) -> Traits:
    """What a candidate's text names. Never raises: of a text that is no Python only its size is told."""
    size = {"characters": len(source), "lines": sum(bool(line.strip()) for line in source.splitlines())}
    tree = _tree(source)
    if tree is None:
        return Traits(readable=False, **size)
    counts = dict.fromkeys(COUNTED, 0)
    for name in _words(tree, 0):
        counts[name] += 1
    return Traits.model_validate({**counts, **size})


def operators(source: str) -> int:
    """How many operators a reference's `forward` names: calls of layers and functions, and arithmetic.

    A lower estimate: a layer that consists of layers counts once, and so does what stands in a loop.
    """
    tree = _tree(source)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] if tree else []
    models = [node for node in classes if node.name == "Model"]
    forwards = [node for model in models for node in model.body if isinstance(node, ast.FunctionDef)]
    nodes = [node for forward in forwards if forward.name == "forward" for node in ast.walk(forward)]
    return sum(isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and _computes(node)) for node in nodes)


_RESHAPING = """size shape view reshape permute transpose contiguous flatten unsqueeze squeeze expand expand_as chunk
split dim numel len range int float tuple list t to type narrow append isinstance super zip enumerate unbind T max
min"""
_SHAPES = frozenset(_RESHAPING.split())  # what only describes or arranges a tensor, and Python's own


def _computes(node: ast.Call) -> bool:
    return _path(node.func).rpartition(".")[2] not in _SHAPES


def _words(tree: ast.AST, depth: int) -> Iterator[str]:
    """The counts that the parts of a text add to, once for each place."""
    documentation = set(_docstrings(tree))
    imported = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if any(_makes_kernel(_path(_called(each)), imported) for each in node.decorator_list):
                yield "kernels"
        elif isinstance(node, ast.For | ast.While):
            yield "loops"
        elif isinstance(node, ast.Call):
            path = _path(node.func)
            if isinstance(node.args[0] if node.args else None, ast.Name | ast.Call) and _makes_kernel(path, imported):
                yield "kernels"
            if _is_library(path):
                yield "library_calls"
            yield from () if _in_ieee(path, node) else _means(path)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield from _of_text(node.value, depth)


def _of_text(text: str, depth: int) -> Iterator[str]:
    """Of a constant: Python with kernels in it, or C++, or nothing."""
    if depth < _DEEPEST and _TRITON.search(text) and (tree := _tree(text)) is not None:
        yield from _words(tree, depth + 1)
    elif _C.search(text):
        yield from _of_c(text)


def _of_c(text: str) -> Iterator[str]:
    before = ""
    for token in tokens(text):
        if token.kind == "string":
            for found in _PTX.findall(token.text):
                yield _PTX_MEANS.get(found, "shared_memory" if found == "cp.async" else "wide_loads")
        elif token.kind == "identifier":
            if token.text == "__global__":
                yield "kernels"
            elif token.text in ("for", "while"):
                yield "loops"
            elif (before in ("::", ".", "->") and token.text in METHODS) or token.text.startswith(
                ("cublas", "cudnn")
            ):
                yield "library_calls"
            yield from _means(token.text)
        if token.kind != "newline":
            before = token.text


def _means(word: str) -> Iterator[str]:
    return (name for name, pattern in MEANS.items() if pattern.fullmatch(word))


def _makes_kernel(path: str, imported: dict[str, str]) -> bool:
    """Whether a decorator or a function of that path makes a kernel of a function in any language."""
    root, _, rest = path.partition(".")
    whole = ".".join(filter(None, (imported.get(root, root), rest)))
    return any(
        whole.startswith(f"{language.module}.") and whole.rpartition(".")[2] in language.makers
        for language in embedded()
    )


def _imported(tree: ast.AST) -> dict[str, str]:
    """What the names stand for that a text imports."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom):
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return found


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _is_library(path: str) -> bool:
    """A function or layer of PyTorch that computes: layers by their names in capitals, functions by `METHODS`."""
    found = _LAYERS.fullmatch(path)
    if found is None:
        return False
    name = found[1]
    return (
        name in METHODS
        or (name[:1].isupper() and name not in ("Module", "Parameter", "Tensor", "Size", "Generator"))
        or name.startswith(("conv", "linear", "layer_norm", "batch_norm"))
    )


def _in_ieee(path: str, call: ast.Call) -> bool:
    """Whether a product of Triton's says that it keeps float32's precision, for which there are no tensor cores."""
    if not path.endswith(".dot"):
        return False
    said = {each.arg: getattr(each.value, "value", None) for each in call.keywords}
    return said.get("input_precision") == "ieee" or said.get("allow_tf32") is False


def _path(node: ast.expr) -> str:
    """`a.b.c` of an expression; of any other its last names."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(names))


def _docstrings(tree: ast.AST) -> Iterable[ast.Constant]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            yield body[0].value


def _tree(source: str) -> ast.AST | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in other people's strings
            return parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
