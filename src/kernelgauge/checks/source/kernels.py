"""Rule `no_own_kernel`: where a text makes kernels of its own, and where it only looks as if it did.

Whether one ran is for a run to say; a text that makes none is named.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kernelgauge.backends.base import Backend
from kernelgauge.backends.cuda import CudaBackend
from kernelgauge.backends.registry import backend_named
from kernelgauge.backends.registry import embedded as languages
from kernelgauge.checks.library_entries import entry
from kernelgauge.checks.source.device_code import DeviceCode, device_code
from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import PythonSource
from kernelgauge.checks.source.scopes import Function, Scope
from kernelgauge.checks.source.text import LONGEST
from kernelgauge.checks.source.tokens import Token
from kernelgauge.checks.source.values import Container, Defined
from kernelgauge.schema import KernelRule

RULE: KernelRule = "no_own_kernel"
_SOURCES = {"cpp_sources", "cuda_sources"}
# A text that could be C, wherever it goes: to a file, to a compiler of the candidate's own choice.
_C = re.compile(r"[;{][^\0]*[;}]")
_COMPILERS = ("load_inline", "cuda_kernel", "RawKernel", "RawModule", "_compile_kernel", "SourceModule")
# Modules that compile or load kernels of a candidate's own while it runs, besides those of the backends.
_OTHER_MAKERS = (
    *("cupy", "numba", "pycuda", "cuda", "ctypes", "cffi", "taichi"),
    *("torch.utils.cpp_extension", "torch.cuda._compile_kernel", "torch.ops.load_library", "kernelgauge.kernels"),
    *("torch._inductor.async_compile", "torch._inductor.codecache", "numpy.ctypeslib", "thunderkittens"),
)
# Of languages without a backend: what a function is decorated with to be a kernel of the same name.
_OTHER_LANGUAGES = ("cupyx.jit",)
_HIDDEN = "a library's way to compute that is not seen as an operator"
# Kernels that come with a language.
_READY_MADE = ("jax.experimental.pallas.ops",)


@dataclass(frozen=True)
class Embedded:
    """A C++ or CUDA text inside the Python text, and where it stands."""

    node: ast.expr
    code: DeviceCode

    def at(self, token: Token) -> ast.expr:
        """The place of a token in the Python file; that of the whole text where its lines are not the file's."""
        first, last = self.node.lineno, self.node.end_lineno or self.node.lineno
        if last == first:
            return self.node
        line = min(first + token.line - 1, last)
        return ast.Constant("", lineno=line, col_offset=token.column - 1 if line > first else self.node.col_offset)


def makes_kernels(source: PythonSource) -> bool:
    """Whether the text uses anything by which kernels of its own could come about."""
    return any(_below(each, path) for _, path in source.formed() for each in _makers())


@cache
def _makers() -> tuple[str, ...]:
    return (*_OTHER_MAKERS, *(language.module for language in languages()))


def _below(module: str, path: str) -> bool:
    return path == module or path.startswith(f"{module}.")


def embedded(source: PythonSource) -> list[Embedded]:
    """The C++ and CUDA texts that are given to a compiler, a megabyte of them at most."""
    found: dict[str, Embedded] = {}
    left = LONGEST
    for given, scope in _given(source):
        for node, text in _texts(source, given, scope):
            left -= len(text) if text not in found else 0
            if text not in found and left > 0:
                found[text] = Embedded(node, device_code(text))
    return list(found.values())


def _given(source: PythonSource) -> Iterator[tuple[list[ast.expr], Scope]]:
    """What is given to a compiler as its sources, call by call."""
    for call, scope in source.calls():
        given = [each.value for each in call.keywords if each.arg in _SOURCES]
        if any(path.rpartition(".")[2] in _COMPILERS for path in source.names.paths(call.func, scope)):
            given += call.args
        yield given, scope


def loops(source: PythonSource, texts: list[Embedded]) -> bool | None:
    """Whether any C or C++ in the text has a loop; None where there is none, or not all that is compiled can be read.

    Args:
        texts: as `embedded` gives them.
    """
    written = [node.value for node, _ in source.reading.expressions if isinstance(node, ast.Constant)]
    others = [text for text in written if isinstance(text, str) and _C.search(text)]
    if any(each.code.loops for each in texts) or any(device_code(text[:LONGEST]).loops for text in others):
        return True
    unread = any(not _is_read(source, node, scope) for given, scope in _given(source) for node in given)
    return None if unread or not (texts or others) else False


def _is_read(source: PythonSource, node: ast.expr, scope: Scope) -> bool:
    inside = [value for value in source.names.values(node, scope) if isinstance(value, Container)]
    if inside:
        return all(_is_read(source, part, value.scope) for value in inside for part in value.parts)
    return bool(source.names.constants(node, scope))


def _texts(source: PythonSource, given: list[ast.expr], scope: Scope) -> Iterator[tuple[ast.expr, str]]:
    for node in given:
        origin = _origin(node, scope)
        for text in source.names.texts(node, scope):
            if "(" in text:  # no name of an extension or function
                yield origin, text
        for value in source.names.values(node, scope):
            if isinstance(value, Container):
                yield from _texts(source, list(value.parts), value.scope)


def _origin(node: ast.expr, scope: Scope) -> ast.expr:
    """The constant behind a name that is bound once."""
    while isinstance(node, ast.Name) and (binder := scope.binder(node.id)):
        bound = binder.names[node.id]
        if len(bound) != 1 or not isinstance(bound[0], ast.expr) or bound[0] is node:
            break
        node, scope = bound[0], binder
    return node


def declared(source: PythonSource, texts: list[Embedded]) -> set[str]:
    """Names of the GPU kernels that the text defines: in C++, as functions for Triton and its like, as Triton's text.

    Where a compiler adds to a function's name, `*` stands for what it adds.
    """
    found = {token.text for each in texts for token in each.code.kernels}
    for name, path in {*_decorated(source), *_handed_over(source)}:
        if not name.isidentifier():  # a text may say anything, `*` too
            continue
        for language in languages():
            if _below(language.module, path):
                found |= {form.format(name) for form in language.kernel_names}
        if any(_below(module, path) for module in _OTHER_LANGUAGES):
            found.add(name)
    return found | _as_text(source)


def _decorated(source: PythonSource) -> Iterator[tuple[str, str]]:
    """Functions by name, and what they are decorated with."""
    for statement, scope in source.reading.statements:
        if isinstance(statement, Function):
            for each in statement.decorator_list:
                decorator = each.func if isinstance(each, ast.Call) else each
                yield from ((statement.name, path) for path in source.names.paths(decorator, scope))


def _handed_over(source: PythonSource) -> Iterator[tuple[str, str]]:
    """Functions that are given to a language's maker of kernels, and names that are given with them."""
    for call, scope in source.calls():
        for path in source.names.paths(call.func, scope):
            if not any(_makes(language, path) for language in languages()):
                continue
            given = source.names.values(call.args[0], scope) if call.args else frozenset()
            functions = [value.node for value in given if isinstance(value, Defined)]
            yield from ((node.name, path) for node in functions if isinstance(node, Function))
            named = [each.value for each in call.keywords if each.arg == "name"]
            yield from ((text, path) for node in named for text in source.names.texts(node, scope))


def _makes(language: Backend, path: str) -> bool:
    return _below(language.module, path) and path.rpartition(".")[2] in language.makers


def _as_text(source: PythonSource) -> set[str]:
    """Names of the kernels that are given to TorchInductor's `AsyncCompile.triton` as Triton's text."""
    found: set[str] = set()
    for call, scope in source.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "triton" and call.args:
            found |= {text for text in source.names.texts(call.args[0], scope) if text.isidentifier()}
    return found


def leads(source: PythonSource, backend: str, texts: list[Embedded]) -> Iterator[Lead]:
    """What says that the candidate, written for `backend`, makes no kernel; `texts` as `embedded` gives them."""
    yield from _past_the_watch(source, texts)
    language = backend_named(backend)
    if language.module:
        yield from _without_kernel(source, language)
    elif isinstance(language, CudaBackend) and texts:
        yield from _without_cuda(source, texts)
    elif backend == "cpp" and texts and not any(each.code.loops for each in texts):
        for each in texts:
            for token in each.code.library_calls[:1]:
                reason = f"the C++ has no loop of its own and calls {token.text}"
                yield source.lead(RULE, each.at(token), reason)


def _past_the_watch(source: PythonSource, texts: list[Embedded]) -> Iterator[Lead]:
    """What computes where no watcher of operators sees it: a run, or the library it has built, says if it does."""
    for each in texts:
        for token, entered in each.code.past:
            yield source.lead(RULE, each.at(token), f"the C++ names {entered}, {_HIDDEN}", weak=True)
    for node, _ in source.reading.expressions:
        said = node.attr if isinstance(node, ast.Attribute) else getattr(node, "value", None)
        if isinstance(node, ast.Attribute | ast.Constant) and isinstance(said, str) and (name := entry(said)):
            yield source.lead(RULE, node, f"names {name}, {_HIDDEN}", weak=True)


def _without_kernel(source: PythonSource, language: Backend) -> Iterator[Lead]:
    formed = source.formed()
    for node, path in formed:
        if any(_below(module, path) for module in _READY_MADE):
            yield source.lead(RULE, node, f"uses {path}, a kernel that comes with {language.title}", weak=True)
            break
    if not any(_makes(language, path) for _, path in formed) and not _as_text(source):
        for node, path in formed:
            if _below(language.module, path):
                yield source.lead(RULE, node, f"imports {language.title} and defines no kernel")
                return


def _without_cuda(source: PythonSource, texts: list[Embedded]) -> Iterator[Lead]:
    kernels = [(each, token) for each in texts for token in each.code.kernels]
    if not kernels:
        calls = [(each, token) for each in texts for token in each.code.library_calls]
        for each, token in calls[:1]:
            yield source.lead(RULE, each.at(token), f"the CUDA source defines no kernel and calls {token.text}")
        if not calls:
            yield source.lead(RULE, texts[0].node, "the CUDA source defines no kernel")
    elif not any(each.code.launches for each in texts) and not _launched_elsewhere(source):
        each, token = kernels[0]
        yield source.lead(RULE, each.at(token), f"kernel {token.text} is defined and launched nowhere")


def _launched_elsewhere(source: PythonSource) -> bool:
    """Whether Python itself launches: of texts for NVRTC nothing says so in C++."""
    extension = "torch.utils.cpp_extension"
    launchers = tuple(maker for maker in _makers() if maker != extension)
    return any(path.startswith(launchers) for _, path in source.formed())
