"""Rule `dynamic_code`: text that is run but cannot be read, so that nothing can be said about it without a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import EXECUTES, PythonSource
from kernelgauge.checks.source.scopes import Scope
from kernelgauge.schema import KernelRule

RULE: KernelRule = "dynamic_code"
_LOADERS = ("marshal.loads", "pickle.loads", "types.FunctionType", "types.CodeType", "runpy.run_path", "dill.loads")
_IMPORTERS = ("builtins.__import__", "importlib.import_module", "importlib.util.spec_from_file_location")
_SUSPECT = ("torch", "torch._dynamo", "torch._inductor", "torch.compiler", "kernelgauge", "builtins")


def leads(source: PythonSource) -> Iterator[Lead]:
    """Where the text runs, imports or names something that it does not spell out."""
    if source.names.gave_up:
        yield source.lead(RULE, source.reading.statements[0][0], "is too entangled to be read to its end")
    for call, scope in source.calls():
        if not call.args:
            continue
        called = source.names.paths(call.func, scope)
        spelled = bool(source.names.texts(call.args[0], scope))
        if called & {*EXECUTES} and not spelled:
            yield source.lead(RULE, call, "runs a text that cannot be read here")
        elif called & {*_LOADERS}:
            yield source.lead(RULE, call, f"runs or unpacks code by {min(called & {*_LOADERS})}")
        elif called & {*_IMPORTERS} and not spelled:
            yield source.lead(RULE, call, "imports a module whose name cannot be read here", weak=True)
        elif "builtins.getattr" in called and _hides_a_part(source, call, scope):
            reason = f"gets a part of {ast.unparse(call.args[0])[:40]} whose name cannot be read here"
            yield source.lead(RULE, call, reason, weak=True)


def _hides_a_part(source: PythonSource, call: ast.Call, scope: Scope) -> bool:
    owner, name = call.args[0], call.args[1] if len(call.args) > 1 else None
    suspect = bool(source.names.paths(owner, scope) & {*_SUSPECT})
    return suspect and name is not None and not source.names.texts(name, scope)
