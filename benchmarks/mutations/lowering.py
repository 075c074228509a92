"""References as candidates: layers turned into calls of functions with every parameter in sight.

`self.conv(x)` becomes `F.conv2d(x, self.conv.weight, self.conv.bias, ...)`, as somebody writes who is about to put an
own kernel there. The constructor stays as it is: same parameters, same draws.
"""

from __future__ import annotations

import ast

from .algorithms import ALGORITHMS, Algorithm
from .trees import dotted, expression, with_functions

_CONV = "F.conv{n}d(x, m.weight, m.bias, m.stride, m.padding, m.dilation, m.groups)"
_TRANSPOSED = "F.conv_transpose{n}d(x, m.weight, m.bias, m.stride, m.padding, m.output_padding, m.groups, m.dilation)"
_BATCH_NORM = "F.batch_norm(x, m.running_mean, m.running_var, m.weight, m.bias, m.training, m.momentum, m.eps)"
_MAX_POOL = "F.max_pool{n}d(x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode)"

LAYERS: dict[str, str] = {
    "nn.Linear": "F.linear(x, m.weight, m.bias)",
    **{f"nn.Conv{n}d": _CONV.format(n=n) for n in (1, 2, 3)},
    **{f"nn.ConvTranspose{n}d": _TRANSPOSED.format(n=n) for n in (1, 2, 3)},
    **{f"nn.BatchNorm{n}d": _BATCH_NORM for n in (1, 2, 3)},
    **{f"nn.InstanceNorm{n}d": "F.instance_norm(x, eps=m.eps)" for n in (1, 2, 3)},
    "nn.GroupNorm": "F.group_norm(x, m.num_groups, m.weight, m.bias, m.eps)",
    "nn.LayerNorm": "F.layer_norm(x, m.normalized_shape, m.weight, m.bias, m.eps)",
    **{f"nn.MaxPool{n}d": _MAX_POOL.format(n=n) for n in (1, 2, 3)},
    **{f"nn.AvgPool{n}d": f"F.avg_pool{n}d(x, m.kernel_size, m.stride, m.padding)" for n in (1, 2, 3)},
    **{f"nn.AdaptiveAvgPool{n}d": f"F.adaptive_avg_pool{n}d(x, m.output_size)" for n in (1, 2, 3)},
    "nn.ReLU": "F.relu(x)",
    "nn.ReLU6": "F.hardtanh(x, 0.0, 6.0)",
    "nn.LeakyReLU": "F.leaky_relu(x, m.negative_slope)",
    "nn.GELU": "F.gelu(x, approximate=m.approximate)",
    "nn.Tanh": "torch.tanh(x)",
    "nn.Sigmoid": "torch.sigmoid(x)",
    "nn.Hardtanh": "F.hardtanh(x, m.min_val, m.max_val)",
    "nn.Hardswish": "F.hardswish(x)",
    "nn.Mish": "F.mish(x)",
    "nn.Softmax": "F.softmax(x, dim=m.dim)",
    "nn.Dropout": "F.dropout(x, m.p, m.training)",
}
_SAME = {
    "torch.relu": "F.relu",
    "F.sigmoid": "torch.sigmoid",
    "F.tanh": "torch.tanh",
    "torch.softmax": "F.softmax",
    "torch.log_softmax": "F.log_softmax",
    "torch.selu": "F.selu",
}
_METHODS = ("sum", "mean")


def candidate(source: str, name: str = "ModelNew") -> ast.Module:
    """A reference's text as that of a candidate: `Model` renamed, what only problems have left out."""
    tree = ast.parse(source)
    tree.body = [n for n in tree.body if getattr(n, "name", "") not in ("get_inputs", "get_init_inputs")]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            node.name = name
        if isinstance(node, ast.Name) and node.id == "Model":
            node.id = name
    return tree


def lowered(source: str) -> ast.Module:
    """A reference as a candidate whose forward names every parameter."""
    tree = candidate(source)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            layers = _layers(node)
            node.body = [
                m if isinstance(m, ast.FunctionDef) and m.name == "__init__" else _Lowering(layers).visit(m)
                for m in node.body
            ]
    return ast.fix_missing_locations(tree)


def substituted(tree: ast.Module, turn: int) -> str:
    """The tree as text, with an own algorithm for every call that has one; `turn` chooses among several."""
    substitution = _Substitution(turn)
    return with_functions(substitution.visit(tree), substitution.used)


def _layers(owner: ast.ClassDef) -> dict[str, ast.Call]:
    """Attributes of `self` by the layer that the constructor puts there, if it does so once."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and dotted(target.value) == "self":
                    found.setdefault(target.attr, []).append(node.value)
    return {name: made[0] for name, made in found.items() if len(made) == 1 and isinstance(made[0], ast.Call)}


class _Lowering(ast.NodeTransformer):
    """Layers to functions, other spellings to one, in the methods of one class."""

    def __init__(self, layers: dict[str, ast.Call]):
        self._layers = layers

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = dotted(node.func)
        layer = self._layers.get(name.removeprefix("self.")) if name.startswith("self.") else None
        if layer is not None and len(node.args) == 1 and not node.keywords:
            return self._applied(layer, node.func, node.args[0]) or node
        if name in _SAME:
            node.func = expression(_SAME[name])
        elif (
            isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and name.split(".")[0] not in "torchF"
        ):
            node.args.insert(0, node.func.value)
            node.func = expression(f"torch.{node.func.attr}")
        return node

    def _applied(self, layer: ast.Call, at: ast.expr, argument: ast.expr) -> ast.expr | None:
        kind = dotted(layer.func)
        if kind == "nn.TripletMarginLoss":
            return None
        if kind == "nn.Sequential" and layer.args and all(isinstance(each, ast.Call) for each in layer.args):
            for index, each in enumerate(layer.args):
                place = expression(f"m[{index}]", m=at)
                inner = self._applied(each, place, argument) if isinstance(each, ast.Call) else None
                argument = inner or expression("m(x)", m=place, x=argument)
            return argument
        return expression(LAYERS[kind], m=at, x=argument) if kind in LAYERS else None

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            return expression("torch.matmul(a, b)", a=node.left, b=node.right)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`torch.max(x, dim=1)[0]` to `torch.amax(x, dim=1)`."""
        self.generic_visit(node)
        call = node.value
        if isinstance(call, ast.Call) and dotted(call.func) in ("torch.max", "torch.min"):
            first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
            if first and any(keyword.arg == "dim" for keyword in call.keywords):
                call.func = expression(dotted(call.func).replace(".m", ".am"))
                return call
        return node


class _Substitution(ast.NodeTransformer):
    def __init__(self, turn: int):
        self._turn = turn
        self._count = 0
        self.used: list[Algorithm] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        choice = ALGORITHMS.get(dotted(node.func))
        if choice:
            algorithm = choice[(self._turn + self._count // 3) % len(choice)]
            self._count += 1
            self.used.append(algorithm)
            node.func = ast.Name(algorithm.__name__, ast.Load())
        return node
