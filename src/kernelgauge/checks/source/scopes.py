"""Who binds which name: the scopes of a Python text, and its expressions with the scope each stands in.

Order of execution is not followed: a name may have any value that is assigned to it anywhere in its scope.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Imported:
    """A name bound to a module or to something in it, by its dotted path."""

    path: str


@dataclass
class Scope:
    """The names that one module, class or function binds; those of `parent` are seen too."""

    node: ast.AST
    parent: Scope | None = None
    names: dict[str, list[ast.expr | Definition | Imported]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    """Modules of which everything is imported."""
    outside: set[str] = field(default_factory=set)
    """Names declared `global` or `nonlocal`."""

    def binder(self, name: str) -> Scope | None:
        """The scope in which a name read here is bound; None for builtins and names nobody binds."""
        scope: Scope | None = self
        while scope is not None:
            hidden = scope is not self and isinstance(scope.node, ast.ClassDef)
            if name in scope.names and name not in scope.outside and not hidden:
                return scope
            scope = scope.parent
        return None

    def bind(self, name: str, value: ast.expr | Definition | Imported | None) -> None:
        """One more value that a name can have; None for one that is not known."""
        scope = self
        while name in scope.outside and scope.parent is not None:
            scope = scope.parent
        scope.names.setdefault(name, []).extend([] if value is None else [value])


@dataclass
class Reading:
    """A Python text taken apart."""

    module: Scope
    expressions: list[tuple[ast.expr, Scope]] = field(default_factory=list)
    statements: list[tuple[ast.stmt, Scope]] = field(default_factory=list)
    attributes: dict[str, list[tuple[ast.expr, Scope]]] = field(default_factory=dict)
    """What is assigned to attributes of that name, of whatever object."""
    imported: bool = False
    """Whether what stands under `if __name__ == "__main__"` cannot run."""

    def add(self, tree: ast.AST, scope: Scope) -> None:
        """Take in all that stands in `tree`, whose names are bound in `scope`."""
        waiting: list[tuple[ast.AST, Scope]] = [(node, scope) for node in ast.iter_child_nodes(tree)]
        while waiting:
            node, scope = waiting.pop()
            if isinstance(node, ast.If) and self.imported and _only_as_a_program(node):
                waiting += [(part, scope) for part in node.orelse]
                continue
            if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None), ast.Load | None):
                self.expressions.append((node, scope))
            elif isinstance(node, ast.stmt):
                self.statements.append((node, scope))
            self._bind(node, scope)
            if isinstance(node, ast.ClassDef | Function | ast.Lambda):
                inner = Scope(node, scope)
                waiting += [(part, scope) for part in _evaluated_outside(node)]
                if not isinstance(node, ast.ClassDef):
                    _bind_parameters(node.args, inner)
                body = [node.body] if isinstance(node, ast.Lambda) else node.body
                waiting += [(part, inner) for part in body]
            else:
                waiting += [(part, scope) for part in ast.iter_child_nodes(node)]

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    scope.bind(alias.asname or top, Imported(alias.name if alias.asname else top))
            case ast.ImportFrom(module=module):
                origin = "." * node.level + (module or "")
                scope.stars += [origin for alias in node.names if alias.name == "*"]
                for alias in node.names:
                    scope.bind(alias.asname or alias.name, Imported(f"{origin}.{alias.name}"))
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                scope.bind(node.name, node)
            case ast.Assign():
                for target in node.targets:
                    self._assign(target, node.value, scope)
            case ast.AnnAssign() | ast.NamedExpr():
                self._assign(node.target, node.value, scope)
            case ast.AugAssign(target=ast.Name() as target):
                self._assign(target, ast.BinOp(target, node.op, node.value), scope)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._assign(node.target, None, scope)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._assign(target, None, scope)
            case ast.ExceptHandler(name=str(name)):
                scope.bind(name, None)
            case ast.Global() | ast.Nonlocal():
                scope.outside |= set(node.names)

    def _assign(self, target: ast.expr, value: ast.expr | None, scope: Scope) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            values: list[ast.expr | None] = list(value.elts) if same else [None] * len(target.elts)  # type: ignore[union-attr]
            for part, its in zip(target.elts, values, strict=True):
                self._assign(part, its, scope)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None, scope)
        elif isinstance(target, ast.Name):
            scope.bind(target.id, value)
            if value is not None and isinstance(scope.node, ast.ClassDef):
                self.attributes.setdefault(target.id, []).append((value, scope))
        elif isinstance(target, ast.Attribute) and value is not None:
            self.attributes.setdefault(target.attr, []).append((value, scope))


def _only_as_a_program(node: ast.If) -> bool:
    """`if __name__ == "__main__":`, which is never true of a file that is imported."""
    match node.test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
    return False


def _names_itself(node: ast.AST) -> bool:
    """Whether a text changes the name it goes by, or spells that name, which is the first step."""
    assigned = isinstance(node, ast.Name) and node.id == "__name__" and not isinstance(node.ctx, ast.Load)
    return assigned or (isinstance(node, ast.Constant) and node.value == "__name__")


def _evaluated_outside(node: ast.ClassDef | Function | ast.Lambda) -> Iterator[ast.AST]:
    """What of a definition is evaluated where it stands: decorators, bases, defaults, annotations."""
    if isinstance(node, ast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *node.keywords)
        return
    yield from (default for default in (*node.args.defaults, *node.args.kw_defaults) if default)
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list


def _bind_parameters(given: ast.arguments, scope: Scope) -> None:
    """Parameters hide what is outside; what they are by default is all that is known of them."""
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    for parameter, default in zip(positional, [*defaults, *given.defaults], strict=True):
        scope.bind(parameter.arg, default)
    for parameter, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        scope.bind(parameter.arg, default)
    for rest in (given.vararg, given.kwarg):
        if rest is not None:
            scope.bind(rest.arg, None)


def read(tree: ast.Module) -> Reading:
    """Scopes and expressions of a module."""
    found = Reading(Scope(tree), imported=not any(map(_names_itself, ast.walk(tree))))
    found.add(tree, found.module)
    return found
