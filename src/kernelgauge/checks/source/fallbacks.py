"""Rule `torch_fallback`: an exception of the own kernel is swallowed, and PyTorch does the work.

Such a handler is a lead wherever an own kernel could have failed in its `try`; it refuses only if a run comes by it.
Imports of optional modules and handlers that raise again are none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from kernelgauge.checks.source.device_code import METHODS
from kernelgauge.checks.source.kernels import Embedded
from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import PythonSource
from kernelgauge.checks.source.scopes import Function, Scope
from kernelgauge.checks.source.values import Defined, Named
from kernelgauge.schema import KernelRule

RULE: KernelRule = "torch_fallback"
_NO_WORK = ("torch.cuda", "torch.utils", "torch.nn.Parameter", "torch.nn.Module", "torch.backends", "torch.empty")
# What is called out of these is no kernel of one's own, apart from what of PyTorch builds, loads or calls such.
_OTHERS = ("torch.", "builtins.", "math.", "os.", "sys.", "warnings.", "logging.")
_OWN_IN_TORCH = ("torch.ops.", "torch.utils.cpp_extension.", "torch.cuda.", "torch._inductor.", "torch.library.")
# By the last part of their path: what builds, loads or defines a kernel.
_BUILDERS = {"load_inline", "load", "cuda_kernel", "compile", "CDLL", "RawKernel", "RawModule", "jit", "load_library"}


def leads(source: PythonSource, texts: Sequence[Embedded]) -> Iterator[Lead]:
    """Every place at which an own kernel's failure may end in PyTorch, in a text that has kernels of its own.

    Args:
        texts: the C++ in it, as `kernels.embedded` gives them.
    """
    scopes = {id(node): scope for node, scope in source.reading.expressions}
    for statement, scope in source.reading.statements:
        if isinstance(statement, ast.Try | ast.TryStar):
            running = isinstance(scope.node, Function)
            could_fail = _may_run_own if running else _builds
            if could_fail(source, statement.body, scopes):
                yield from (_of_handler(source, each, scopes) for each in statement.handlers if not _raises(each))
        elif isinstance(statement, ast.With) and _may_run_own(source, statement.body, scopes):
            managers = [item.context_expr for item in statement.items if isinstance(item.context_expr, ast.Call)]
            if any("contextlib.suppress" in source.names.paths(each.func, scope) for each in managers):
                yield source.lead(RULE, statement, "suppresses whatever the own kernel raises", weak=True)
    for text in texts:
        for caught, call in text.code.fallbacks:
            yield source.lead(RULE, text.at(caught), f"a catch in the C++ calls {call.text}")


def _of_handler(source: PythonSource, handler: ast.ExceptHandler, scopes: dict[int, Scope]) -> Lead:
    place = (handler.body[0].lineno, handler.end_lineno or handler.body[-1].lineno)
    work = next(_work(source, handler.body, scopes), None)
    caught = f"except {ast.unparse(handler.type)}" if handler.type else "a bare except"
    said = f"swallows what the own kernel raises and calls {work}" if work else "swallows what the own kernel raises"
    return source.lead(RULE, handler, f"{caught} {said}", weak=work is None, place=place)


def _walk(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (node for statement in body for node in ast.walk(statement))


def _may_run_own(source: PythonSource, body: Iterable[ast.AST], scopes: dict[int, Scope]) -> bool:
    """Whether anything is called in there that is not known to be somebody else's."""
    for node in _walk(body):
        if isinstance(node, ast.Call) and id(node) in scopes:
            called = source.names.values(node.func, scopes[id(node)])
            if not called or not all(isinstance(each, Named) and _of_others(each.path) for each in called):
                return True
    return False


def _of_others(path: str) -> bool:
    return path.startswith(_OTHERS) and not path.startswith(_OWN_IN_TORCH)


def _raises(handler: ast.ExceptHandler) -> bool:
    """Whether a handler ends by raising, so that nothing is swallowed."""
    return isinstance(handler.body[-1], ast.Raise)


def _builds(source: PythonSource, body: Iterable[ast.AST], scopes: dict[int, Scope], depth: int = 3) -> bool:
    """Whether something in there, or in a function of the text that it calls, builds or loads a kernel."""
    for node in _walk(body):
        if not isinstance(node, ast.Call | ast.Attribute) or id(node) not in scopes:
            continue
        called = node.func if isinstance(node, ast.Call) else node
        for value in source.names.values(called, scopes[id(node)]):
            if isinstance(value, Named) and value.path.rpartition(".")[2] in _BUILDERS:
                return True
            inside = value.node.body if isinstance(value, Defined) and isinstance(value.node, Function) else []
            if depth and _builds(source, inside, scopes, depth - 1):
                return True
    return False


def _work(source: PythonSource, body: Iterable[ast.AST], scopes: dict[int, Scope]) -> Iterator[str]:
    """What in there computes with PyTorch."""
    for node in _walk(body):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield "@"
        if not isinstance(node, ast.Call) or id(node) not in scopes:
            continue
        paths = [path for path in source.names.paths(node.func, scopes[id(node)]) if path.startswith("torch.")]
        if any(not path.startswith(_NO_WORK) for path in paths):
            yield paths[0]
        elif isinstance(node.func, ast.Attribute):
            owner = node.func.value
            of_self = isinstance(owner, ast.Name) and owner.id == "self"
            if node.func.attr in METHODS or of_self or node.func.attr == "forward":
                yield ast.unparse(node.func)[:40]
