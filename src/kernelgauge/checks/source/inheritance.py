"""Rule `inherits_reference`: the answer comes from a class that is the reference, pasted into the file.

A class is the reference if it reads like it, with all that it uses of its file and whatever its variables are called;
a class called `Model` that differs is not. `ModelNew` that has no other forward than the reference's is so by its
text. Where the reference is there beside another forward, only a run can say which of them answers.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import PythonSource, Unreadable
from kernelgauge.checks.source.scopes import Scope
from kernelgauge.checks.source.values import Container
from kernelgauge.schema import KernelRule
from kernelgauge.syntax import parse

RULE: KernelRule = "inherits_reference"
_CANDIDATE = "ModelNew"
_REFERENCE = "Model"
_ANSWER = ("forward", "__call__")
_WITHOUT_ANSWER = {"torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module", "builtins.object"}
_DEEPEST = 20


def leads(source: PythonSource, reference: str) -> Iterator[Lead]:
    """What of the candidate is the reference's own class.

    Args:
        reference: the problem's text, which defines `Model`.
    """
    due = _reference_reads(reference)
    if due is None:
        return
    size, text = due
    answering, inherited = _answering(source)
    used = _used(source)
    for node, scope in source.reading.statements:
        if not isinstance(node, ast.ClassDef) or node.name == _CANDIDATE:
            continue
        forward = _own_forward(node)
        if forward is None or len(_body(forward)) != size or _reads(node, scope) != text:
            continue
        where = f"class {node.name}, which reads like the reference"
        if forward is answering:
            yield source.lead(RULE, node, f"{_CANDIDATE} has no other forward than that of {where}", certain=True)
            continue
        place = (forward.body[0].lineno, forward.body[-1].end_lineno or forward.body[-1].lineno)
        within = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if node not in inherited and all(line in within for line in used[node]):
            continue
        said = f"{_CANDIDATE} inherits from {where}" if node in inherited else f"the file keeps {where}"
        yield source.lead(RULE, node, said, weak=node not in inherited, place=place)


def _used(source: PythonSource) -> dict[ast.AST, set[int]]:
    """The lines in which something stands for a class of the text."""
    lines: dict[ast.AST, set[int]] = defaultdict(set)
    for expression, scope in source.reading.expressions:
        for each in source.names.classes(expression, scope):
            lines[each.node].add(expression.lineno)
    return lines


def _answering(source: PythonSource) -> tuple[ast.AST | None, list[ast.AST]]:
    """The forward that `ModelNew` has, None where that is not certain, and the classes that it inherits from."""
    module = source.reading.module
    waiting: list[tuple[ast.expr, Scope]] = [(ast.Name(_CANDIDATE, ast.Load()), module)]
    certain = not _changed(source)
    forward, inherited = None, list[ast.AST]()
    if made := _made_by_type(source, module):
        waiting, own = made
        certain = certain and not own
    for _ in range(_DEEPEST):
        if not waiting:
            break
        base, scope = waiting.pop(0)
        found = source.names.classes(base, scope)
        if forward is None:
            plain = source.names.paths(base, scope) <= _WITHOUT_ANSWER
            certain = certain and plain and len(source.names.values(base, scope)) == 1
        for each in found:
            node = each.node
            assert isinstance(node, ast.ClassDef)
            if node.name != _CANDIDATE:
                inherited.append(node)
            if forward is None:
                forward = _own_forward(node)
                certain = certain and (forward is not None or not _answers_otherwise(source, node))
            waiting += [(part, each.scope) for part in node.bases]
    return forward if certain else None, inherited


def _changed(source: PythonSource) -> bool:
    """Whether `ModelNew` could be another than it looks: it is bound twice, decorated, or given a forward later."""
    made = source.reading.module.names.get(_CANDIDATE, [])
    setters = (call for call, scope in source.calls() if "builtins.setattr" in source.names.paths(call.func, scope))
    return (
        len(made) > 1
        or any(isinstance(node, ast.ClassDef) and node.decorator_list for node in made)
        or any(name in source.reading.attributes for name in _ANSWER)
        or any(setters)
    )


def _answers_otherwise(source: PythonSource, node: ast.ClassDef) -> bool:
    """Whether the body of a class binds what a call of it would run, somewhere or somehow."""
    bodies = (scope for _, scope in source.reading.statements if scope.node is node)
    return any(name in scope.names for scope in bodies for name in _ANSWER)


def _made_by_type(source: PythonSource, module: Scope) -> tuple[list[tuple[ast.expr, Scope]], bool] | None:
    """The bases in `ModelNew = type("ModelNew", bases, namespace)`, and whether the namespace may have a forward."""
    for bound in module.names.get(_CANDIDATE, []):
        if not (isinstance(bound, ast.Call) and len(bound.args) == 3):
            continue
        if "builtins.type" not in source.names.paths(bound.func, module):
            continue
        containers = [each for each in source.names.values(bound.args[1], module) if isinstance(each, Container)]
        namespace = bound.args[2]
        keys = namespace.keys if isinstance(namespace, ast.Dict) else [None]
        own = any(key is None or {*_ANSWER} & {*source.names.texts(key, module)} for key in keys)
        return [(part, each.scope) for each in containers for part in each.parts], own
    return None


def _own_forward(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "forward"), None)


def _reference_reads(text: str) -> tuple[int, str] | None:
    """Statements of the reference's forward, and how it reads; None if its text has no such class."""
    try:
        source = PythonSource(text)
    except (Unreadable, RecursionError):
        return None
    for found in source.names.classes(ast.Name(_REFERENCE, ast.Load()), source.reading.module):
        if isinstance(found.node, ast.ClassDef) and (forward := _own_forward(found.node)):
            return len(_body(forward)), _reads(found.node, found.scope)
    return None


def _body(node: ast.ClassDef | ast.FunctionDef) -> list[ast.stmt]:
    """The statements without the docstring."""
    return node.body[1:] or [ast.Pass()] if ast.get_docstring(node) is not None else node.body


def _reads(node: ast.AST, scope: Scope) -> str:
    """A class with all that it uses of its module, without docstrings, annotations and choice of names."""
    whole, waiting, seen = list[ast.AST](), [node], {id(node)}
    while waiting:
        each = waiting.pop(0)
        whole.append(each)
        for name in (part for part in ast.walk(each) if isinstance(part, ast.Name)):
            for bound in scope.names.get(name.id, []):
                if isinstance(bound, ast.ClassDef | ast.FunctionDef) and id(bound) not in seen:
                    seen.add(id(bound))
                    waiting.append(bound)
    plain = _Plain(node.name if isinstance(node, ast.ClassDef) else "")
    return "\n".join(ast.dump(plain.visit(parse(ast.unparse(each)))) for each in whole)


class _Plain(ast.NodeTransformer):
    """Names of the class and of its variables become numbers in the order in which they appear."""

    def __init__(self, name: str):
        self._numbers = {name: "name_0"}

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"name_{len(self._numbers)}")

    def _definition(self, node: Any) -> ast.AST:
        node.body = _body(node)
        node.name = self._numbers.get(node.name, node.name)
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._definition(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return self.generic_visit(ast.Assign([node.target], node.value)) if node.value else None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._numbers or isinstance(node.ctx, ast.Store):
            node.id = self._number(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._number(node.arg), None)
