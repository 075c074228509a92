"""Kernels that stand in blocks of their own beside the Python that compiles them.

The Python names them by a variable (`cuda_sources=[SOURCE]`) or by a file (`load(sources=["kernel.cu"])`). Where it
is clear which block is meant, the block becomes that variable; everything else that is not there is said.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

_DEVICE_TAGS = {"cuda", "cu", "hip"}
KERNEL_TAGS = _DEVICE_TAGS | {"cpp", "c++", "c"}
_ON_DEVICE_BY_KEYWORD = {"cuda_sources": True, "cpp_sources": False}
_ON_DEVICE = re.compile(r"__global__|__device__|<<<")
_OWN_FILE = re.compile(r"[\w.-][\w./-]*\.(?:cu|cpp|cc|cxx|c)")
_WRITING = {"write", "write_text", "write_bytes", "writelines", "open", "copy", "copyfile"}

Kernel = tuple[str, str]
"""A block's language tag and its text."""


def joined(source: str, tree: ast.Module, kernels: Sequence[Kernel]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Python with the kernels that it compiles.

    Args:
        tree: of `source`.
        kernels: the blocks of other languages in the same answer.

    Returns:
        The text; the variables that a block became; what is compiled and stands nowhere, as names or files.
    """
    wanted = _unbound(tree)
    found = _matched(wanted, kernels)
    lines = source.split("\n")
    at = _first_line(tree)
    text = "\n".join([*lines[:at], *(f"{name} = {_literal(found[name])}\n" for name in found), *lines[at:]])
    return text, tuple(found), (*(name for name in wanted if name not in found), *_files(tree))


def _unbound(tree: ast.Module) -> dict[str, bool]:
    """Variables that are compiled and bound nowhere in the file; with each, whether it is device code."""
    bound = _bound_anywhere(tree)
    if "*" in bound:
        return {}
    return {name: device for name, device in _compiled(tree) if name not in bound}


def _compiled(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Names in `cuda_sources=NAME`, `cpp_sources=[NAME]`, `cuda_kernel(NAME, ...)`."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        named = ((word.value, _ON_DEVICE_BY_KEYWORD.get(word.arg or "")) for word in call.keywords)
        texts = [(text, device) for text, device in named if device is not None]
        if _called(call) == "cuda_kernel":
            texts += [(first, True) for first in call.args[:1]]
        for text, device in texts:
            yield from ((node.id, device) for node in ast.walk(text) if isinstance(node, ast.Name))


def _bound_anywhere(tree: ast.Module) -> set[str]:
    """Every name that is bound in any scope, and those of Python itself; `*` where an import hides which."""
    found = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return found


def _matched(wanted: dict[str, bool], kernels: Sequence[Kernel]) -> dict[str, str]:
    """The block of each variable, where there is exactly one that it can be."""
    if len(wanted) == 1 and len(kernels) == 1:
        return {next(iter(wanted)): kernels[0][1]}
    for on_device in (_by_text, _by_tag):
        found = {}
        for name, device in wanted.items():
            rivals = [other for other, kind in wanted.items() if kind is device]
            blocks = [kernel[1] for kernel in kernels if on_device(kernel) is device]
            if len(rivals) == len(blocks) == 1:
                found[name] = blocks[0]
        if len(found) == len(wanted):
            return found
    return {}


def _by_text(kernel: Kernel) -> bool:
    return bool(_ON_DEVICE.search(kernel[1]))


def _by_tag(kernel: Kernel) -> bool:
    return kernel[0] in _DEVICE_TAGS


def _files(tree: ast.Module) -> list[str]:
    """Source files that `load` compiles, unless the Python writes files: then these may be among them."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if any(_called(call) in _WRITING for call in calls):
        return []
    loads = [call for call in calls if _called(call) == "load"]
    given = [
        text for call in loads for text in (*call.args[1:2], *(w.value for w in call.keywords if w.arg == "sources"))
    ]
    said = [node.value for each in given for node in ast.walk(each) if isinstance(node, ast.Constant)]
    return [name for name in said if isinstance(name, str) and _OWN_FILE.fullmatch(name)]


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _literal(text: str) -> str:
    return repr(text) if '"""' in text else f'r"""\n{text}\n"""'


def _first_line(tree: ast.Module) -> int:
    """Lines before the first statement that need not stand first, as `from __future__ import` must."""
    last = 0
    for node in tree.body:
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            if last or not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                break
            continue
        last = node.end_lineno or 0
    return last
