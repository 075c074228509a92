"""What an expression stands for: `c = getattr(__import__("torch"), "com" + "pile")` is `torch.compile`.

Followed are imports under any name, assignments, `getattr`, `importlib`, `__dict__` and `vars`, containers written
out, and texts put together. A name may stand for several things; what cannot be told stands for nothing.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence

from kernelgauge.checks.source import text
from kernelgauge.checks.source.scopes import Imported, Reading, Scope
from kernelgauge.checks.source.values import Container, Defined, Named, Spelled, Value

_MOST = 12
# Each level takes some five frames of Python's own stack. A text of ordinary shape is resolved from the inside out.
_DEEPEST = 80
# Questions; a text of a megabyte as compilers write it takes 200 thousand.
_PATIENCE = 1_000_000
# Characters of all texts put together; and parts of one.
_MOST_TEXT = 16 * text.LONGEST
_MOST_PARTS = 4_000
_IMPORTS = ("builtins.__import__", "importlib.import_module", "importlib.__import__")
_GETTERS = ("builtins.getattr", "builtins.object.__getattribute__", "inspect.getattr_static")


class Names:
    """Resolves the expressions of one text; every answer is remembered."""

    def __init__(self, reading: Reading):
        self._reading = reading
        self._known: dict[int, frozenset[Value]] = {}
        self._open: set[int] = set()
        self._cut = 0
        self._asked = 0
        self._spelt = 0
        self.gave_up = False
        """Whether the text is so entangled that it was not read to its end."""

    def values(self, node: ast.expr, scope: Scope) -> frozenset[Value]:
        """All that the expression may stand for, as far as its text says."""
        key = id(node)
        self._asked += 1
        if key in self._known:
            return self._known[key]
        if self._asked > _PATIENCE:
            self.gave_up = True
            return frozenset()
        if key in self._open or len(self._open) > _DEEPEST:
            self._cut += 1
            return frozenset()
        self._open.add(key)
        cuts = self._cut
        try:
            found = frozenset(self._of(node, scope))
            if len(found) > _MOST:
                found = frozenset(sorted(found, key=_shown)[:_MOST])
        finally:
            self._open.discard(key)
        if self._cut == cuts or not self._open:  # inside a circle an answer may lack something
            self._known[key] = found
        return found

    def paths(self, node: ast.expr, scope: Scope) -> set[str]:
        """The dotted paths among them."""
        return {value.path for value in self.values(node, scope) if isinstance(value, Named)}

    def constants(self, node: ast.expr, scope: Scope) -> list[text.Constant]:
        """The constants among them."""
        return [value.value for value in self.values(node, scope) if isinstance(value, Spelled)]

    def texts(self, node: ast.expr, scope: Scope) -> list[str]:
        """The texts among them."""
        return [value for value in self.constants(node, scope) if isinstance(value, str)]

    def classes(self, node: ast.expr, scope: Scope) -> list[Defined]:
        """The classes of this text among them."""
        found = (value for value in self.values(node, scope) if isinstance(value, Defined))
        return [value for value in found if isinstance(value.node, ast.ClassDef)]

    def _of(self, node: ast.expr, scope: Scope) -> Iterable[Value]:
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                return [Spelled(value)]
            case ast.Name():
                return self._named(node.id, scope)
            case ast.Attribute():
                return self._attribute(self.values(node.value, scope), [node.attr])
            case ast.Call():
                return self._called(node, scope)
            case ast.BinOp():
                lefts, rights = self.constants(node.left, scope), self.constants(node.right, scope)
                return self._spelled(text.of_operator(node.op, left, right) for left in lefts for right in rights)
            case ast.JoinedStr():
                return self._spelled([self._formatted(node, scope)])
            case ast.Subscript():
                return self._subscript(node, scope)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return [Container(tuple(parts), scope)]
            case ast.Dict():
                return [Container(tuple(node.values), scope)]
            case ast.IfExp():
                return self.values(node.body, scope) | self.values(node.orelse, scope)
            case ast.BoolOp():
                return frozenset().union(*(self.values(part, scope) for part in node.values))
            case ast.NamedExpr() | ast.Starred() | ast.Await():
                return self.values(node.value, scope)
        return []

    def _named(self, name: str, scope: Scope) -> Iterable[Value]:
        binder = scope.binder(name)
        if binder is None:
            module = self._reading.module
            found = [Named(f"{origin}.{name}") for origin in module.stars]
            return [*found, Named(f"builtins.{name}")] if hasattr(builtins, name) else found
        values: set[Value] = set()
        for bound in binder.names[name]:
            if isinstance(bound, Imported):
                values.add(Named(bound.path))
            elif isinstance(bound, ast.expr):
                values |= self.values(bound, binder)
            else:
                values.add(Defined(bound, binder))
        return values

    def _attribute(self, owners: Iterable[Value], names: Iterable[str]) -> Iterable[Value]:
        values: set[Value] = set()
        for name in names:
            values |= {Named(f"{owner.path}.{name}") for owner in owners if isinstance(owner, Named)}
            for assigned, scope in self._reading.attributes.get(name, ()):
                values |= self.values(assigned, scope)
        return values

    def _called(self, node: ast.Call, scope: Scope) -> Iterable[Value]:
        given = node.args
        if isinstance(node.func, ast.Attribute):
            found = self._method(node.func, given, scope)
            if found:
                return found
        values: set[Value] = set()
        for path in self.paths(node.func, scope):
            if path in _IMPORTS and given:
                whole = path == "importlib.import_module" or len(given) > 3 or bool(node.keywords)
                modules = self.texts(given[0], scope)
                values |= {Named(module if whole else module.partition(".")[0]) for module in modules}
            elif path in _GETTERS and len(given) > 1:
                values |= set(self._attribute(self.values(given[0], scope), self.texts(given[1], scope)))
                values |= self.values(given[2], scope) if len(given) > 2 else set()
            elif path in ("functools.partial", "builtins.compile") and given:
                values |= self.values(given[0], scope)
            else:
                values |= set(
                    self._spelled(text.of_function(path, constants) for constants in self._given(given, scope))
                )
        return values or self._attrgetter(node, scope)

    def _attrgetter(self, node: ast.Call, scope: Scope) -> Iterable[Value]:
        """`operator.attrgetter("compile")(torch)`."""
        made = node.func
        if not (isinstance(made, ast.Call) and made.args and node.args):
            return []
        if "operator.attrgetter" not in self.paths(made.func, scope):
            return []
        return self._attribute(self.values(node.args[0], scope), self.texts(made.args[0], scope))

    def _method(self, called: ast.Attribute, given: Sequence[ast.expr], scope: Scope) -> Iterable[Value]:
        """Methods of texts, of dictionaries written out, and those that get attributes or items."""
        owners = self.values(called.value, scope)
        if called.attr in ("__getattribute__", "__getattr__", "get", "__getitem__", "pop") and given:
            return self._item(owners, self.texts(given[0], scope))
        values: set[Value] = set()
        for constant in self.constants(called.value, scope):
            if isinstance(constant, int):
                continue
            if called.attr == "join" and given:
                containers = [each for each in self.values(given[0], scope) if isinstance(each, Container)]
                several = [parts for each in containers for parts in self._given(each.parts, each.scope)]
                values |= set(self._spelled(text.joined(constant, parts) for parts in several))
            else:
                several = self._given(given, scope)
                values |= set(self._spelled(text.of_method(constant, called.attr, parts) for parts in several))
        return values

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Iterable[Value]:
        owners = self.values(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            whole = [each.value for each in owners if isinstance(each, Spelled) and not isinstance(each.value, int)]
            return self._spelled(text.sliced(each, node.slice) for each in whole)  # type: ignore[arg-type]
        return self._item(owners, self.texts(node.slice, scope), node.value, scope)

    def _item(
        self, owners: Iterable[Value], keys: Iterable[str], node: ast.expr | None = None, scope: Scope | None = None
    ) -> Iterable[Value]:
        """`owner[key]` of modules by name, of namespaces, and of containers, whose parts may all be meant."""
        keys, values = list(keys), set[Value]()
        for owner in owners:
            if isinstance(owner, Container):
                for part in owner.parts:
                    values |= self.values(part, owner.scope)
            elif isinstance(owner, Named):
                inside = owner.path.removesuffix(".__dict__")
                values |= {Named(key if inside == "sys.modules" else f"{inside}.{key}") for key in keys}
        if isinstance(node, ast.Call) and scope is not None:
            called = self.paths(node.func, scope)
            if "builtins.vars" in called and node.args:
                values |= set(self._attribute(self.values(node.args[0], scope), keys))
            if called & {"builtins.globals", "builtins.locals", "builtins.vars"} and not node.args:
                values |= {value for key in keys for value in self._named(key, scope)}
        return values

    def _formatted(self, node: ast.JoinedStr, scope: Scope) -> str | None:
        """An f-string, where each part has one value."""
        parts = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            known = self.constants(inner, scope)
            if len(known) != 1 or (isinstance(part, ast.FormattedValue) and part.format_spec):
                return None
            parts.append(str(known[0]))
        return "".join(parts)

    def _spelled(self, found: Iterable[str | bytes | None]) -> list[Value]:
        """The texts as values, up to the most that may be put together in all."""
        values: list[Value] = []
        for each in found:
            self._spelt += len(each or "")
            if self._spelt > _MOST_TEXT:
                self.gave_up = True
                break
            if each is not None:
                values.append(Spelled(each))
        return values

    def _given(self, nodes: Sequence[ast.expr], scope: Scope) -> list[list[text.Constant]]:
        """The constants that a call is given, one list per way to read it; empty if any is unknown."""
        several: list[list[text.Constant]] = [[]] if len(nodes) <= _MOST_PARTS else []
        for node in nodes:
            known = self.constants(node, scope)
            several = [[*parts, each] for parts in several for each in known][:_MOST]
        return several


def _shown(value: Value) -> str:
    """An order that is the same in every run."""
    return value.path if isinstance(value, Named) else str(value.value)[:80] if isinstance(value, Spelled) else ""
