"""Rule `torch_compile`: the compiler of PyTorch does the work.

What compiled nothing while it was watched is named, and refuses nobody.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import PythonSource
from kernelgauge.schema import KernelRule

RULE: KernelRule = "torch_compile"
_COMPILERS = (
    "torch.compile",
    "torch.compiler.compile",
    "torch._dynamo.optimize",
    "torch._dynamo.optimize_assert",
    "torch._inductor.compile",
    "torch._inductor.compile_fx",
    "torch._inductor.aot_compile",
    "torch._inductor.aoti_compile_and_package",
    "torch._inductor.aoti_load_package",
    "torch._inductor.standalone_compile",
)


def leads(source: PythonSource) -> Iterator[Lead]:
    """Where the text names a compiler of PyTorch, or calls a method `compile` of a module."""
    for node, path in source.formed():
        if path in _COMPILERS:
            yield source.lead(RULE, node, f"names {path}")
    for call, _ in source.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and _of_module(call.func.value):
            yield source.lead(RULE, call, "calls the method compile() of what may be a module", weak=True)


def _of_module(owner: ast.expr) -> bool:
    """`self`, `super()`, `self.layer`: what has a method of that name if it is a `torch.nn.Module`."""
    match owner:
        case ast.Name(id="self") | ast.Call(func=ast.Name(id="super")):
            return True
        case ast.Attribute():
            return _of_module(owner.value)
    return False
