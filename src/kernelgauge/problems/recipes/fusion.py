"""Level-2 style problems by the published recipe: one main operation, then two to five smaller ones.

The main operation is a matrix product or a convolution. What follows is chosen so that the output keeps saying
something: no reduction before a normalisation, no mean over so many elements that it is the same for all inputs, no
softmax over so many that zeros would pass.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kernelgauge.problems.recipes.drawn import Drawn, Parts, convolution_batch, render
from kernelgauge.problems.sizes import Constant
from kernelgauge.schema import Sizes

BySize = dict[Sizes, dict[str, Constant]]


@dataclass
class _State:
    """What is known while operations are strung together."""

    random: random.Random
    parts: Parts
    spatial: int
    """Number of spatial dimensions of the current tensor: 0 for (batch, features)."""
    channels: str
    """Name of the constant that holds its channels or features."""
    """`1` after a reduction over them."""
    name: str
    words: str

    def constant(self, name: str, value: Constant, type_name: str) -> str:
        """A further size constant that is a constructor argument too; returns its name."""
        self.parts.constants[name] = value
        self.parts.arguments.append(f"{name}: {type_name}")
        return name


@dataclass(frozen=True)
class _Step:
    """One operation after the main one."""

    name: str
    words: str
    expression: str
    """Of `x` and of what `construct` made; `CHANNELS` stands for the constant with their number."""
    construct: str = ""
    number: tuple[str, tuple[float, ...]] | tuple[()] = ()
    """A constant of its own and the values it may have."""
    spatial_only: bool = False

    def apply(self, state: _State) -> None:
        if self.number:
            name, values = self.number
            value = state.random.choice(values)
            state.constant(name, value, type(value).__name__)
            if not self.construct:
                state.parts.construct.append(f"self.{name} = {name}")
        if self.construct:
            ones = ", 1" * state.spatial
            line = self.construct.replace("CHANNELS", state.channels).replace("SHAPE", f"{state.channels}{ones}")
            state.parts.construct.append(line.replace("DIMS", str(max(state.spatial, 1))))
        state.parts.forward.append(f"x = {self.expression}")


def draw(seed: int, number: int) -> Drawn:
    """The problem of that number under that seed; the same two always give the same text."""
    generator = random.Random(f"fusion {seed} {number}")
    state, sizes, tags = generator.choice(_MAIN)(generator)
    steps: list[_Step] = []
    kinds: list[str] = []
    for _ in range(generator.randint(2, 5)):
        fitting = [kind for kind in _KINDS if _fits(kind, kinds, state)]
        kind = generator.choices(fitting, [_WEIGHTS[kind] for kind in fitting])[0]
        step = generator.choice([each for each in _KINDS[kind] if _may_follow(each, steps, kinds, state)])
        step.apply(state)
        if kind == "reduce":
            state.channels = "1"
        kinds.append(kind)
        steps.append(step)
    state.parts.forward.append("return x")
    state.parts.doc = f"{state.words}, then {', '.join(step.words for step in steps)}."
    return Drawn(
        name="_".join([state.name, *(step.name for step in steps)]),
        level=2,
        source=render(state.parts),
        tags=("fusion", *tags, *(["normalisation"] if "normalise" in kinds else [])),
        sizes=sizes,
        domains={"x": "real"},
    )


def _fits(kind: str, before: list[str], state: _State) -> bool:
    if "reduce" in before or "softmax" in before:
        return kind == "arithmetic"
    if kind == "softmax":  # over thousands of features it rounds to zeros
        return state.spatial > 0
    if kind == "reduce":
        return bool(before)
    return kind not in before[-1:] and (kind != "normalise" or kind not in before)


def _may_follow(step: _Step, steps: list[_Step], kinds: list[str], state: _State) -> bool:
    if step in steps or (step.spatial_only and not state.spatial):
        return False
    # A sum over thousands of features lies far outside any bound, a softmax far inside.
    return not (step.name in ("clamp", "residual_add") and ("reduce" in kinds or "softmax" in kinds))


# ---------------------------------------------------------------- main operations

_Main = Callable[[random.Random], tuple[_State, BySize, list[str]]]


def _linear(generator: random.Random) -> tuple[_State, BySize, list[str]]:
    batch, features = generator.choice([512, 1024, 2048]), generator.choice([4096, 6144, 8192])
    out = generator.choice([4608, 6144, 9216])
    parts = Parts("")
    state = _State(generator, parts, 0, "out_features", "gemm", "Linear layer")
    parts.constants["batch_size"] = batch
    state.constant("in_features", features, "int")
    state.constant("out_features", out, "int")
    parts.construct.append("self.gemm = nn.Linear(in_features, out_features)")
    parts.inputs.append(("x", "torch.randn(batch_size, in_features)"))
    parts.forward.append("x = self.gemm(x)")
    sizes: BySize = {
        "small": {"batch_size": 32, "in_features": 128, "out_features": 96},
        "odd": {"batch_size": 13, "in_features": 37, "out_features": 60},
        "medium": {"batch_size": 512, "in_features": 1024, "out_features": 1056},
    }
    return state, sizes, ["matmul"]


def _convolution(spatial: int, transposed: bool) -> _Main:
    def main(generator: random.Random) -> tuple[_State, BySize, list[str]]:
        layer = f"nn.Conv{'Transpose' * transposed}{spatial}d"
        dims = ("depth", "height", "width")[-spatial:]
        parts = Parts("")
        what = f"{'Transposed c' if transposed else 'C'}onvolution in {spatial} dimensions"
        name = f"conv{'_transpose' * transposed}{spatial}d"
        state = _State(generator, parts, spatial, "out_channels", name, what)
        parts.constants["batch_size"] = generator.choice([32, 64, 128] if spatial == 2 else [8, 16])
        state.constant("in_channels", generator.choice([16, 24, 32]), "int")
        state.constant("out_channels", generator.choice([48, 60, 72]), "int")
        for dim in dims:
            parts.constants[dim] = generator.choice([64, 96, 112] if spatial == 2 else [16, 24, 32])
        kernel = generator.choice([3, 5] if spatial == 2 else [3])
        state.constant("kernel_size", kernel, "int")
        stride = generator.choice([1, 2])
        state.constant("stride", stride, "int")
        parts.construct.append(f"self.conv = {layer}(in_channels, out_channels, kernel_size, stride=stride)")
        parts.inputs.append(("x", f"torch.randn(batch_size, in_channels, {', '.join(dims)})"))
        parts.forward.append("x = self.conv(x)")
        small = {"batch_size": 4, "in_channels": 8, "out_channels": 24}
        odd = {"batch_size": 3, "in_channels": 5, "out_channels": 12}
        edges = {"small": 12, "odd": 11, "medium": (64 if spatial == 2 else 16) // (stride if transposed else 1)}
        batch = convolution_batch(parts.constants, [kernel] * spatial, edges["medium"], transposed)
        medium: dict[str, Constant] = {"batch_size": batch}
        sizes: BySize = {
            "small": {**small, **dict.fromkeys(dims, edges["small"])},
            "odd": {**odd, **dict.fromkeys(dims, edges["odd"])},
            "medium": {**medium, **dict.fromkeys(dims, edges["medium"])},
        }
        tags = ["convolution", f"{spatial}d", *(["transposed"] if transposed else [])]
        return state, sizes, tags

    return main


_MAIN: tuple[_Main, ...] = (
    _linear,
    _linear,
    _convolution(2, transposed=False),
    _convolution(2, transposed=True),
    _convolution(3, transposed=False),
    _convolution(3, transposed=True),
)


# ---------------------------------------------------------------- what follows


_WEIGHTS = {"activate": 4, "arithmetic": 4, "normalise": 2, "reduce": 1, "softmax": 1}
_KINDS: dict[str, tuple[_Step, ...]] = {
    "activate": (
        _Step("relu", "ReLU", "torch.relu(x)"),
        _Step("gelu", "GELU", "F.gelu(x)"),
        _Step("swish", "Swish", "x * torch.sigmoid(x)"),
        _Step("mish", "Mish", "F.mish(x)"),
        _Step("elu", "ELU", "F.elu(x)"),
        _Step("hardswish", "hard Swish", "F.hardswish(x)"),
        _Step("tanh", "tanh", "torch.tanh(x)"),
        _Step(
            "leaky_relu",
            "leaky ReLU",
            "F.leaky_relu(x, self.negative_slope)",
            number=("negative_slope", (0.05, 0.1, 0.2)),
        ),
    ),
    "arithmetic": (
        _Step("bias_add", "a bias of its own", "x + self.bias", "self.bias = nn.Parameter(torch.randn(SHAPE))"),
        _Step("multiply", "a scale per channel", "x * self.scale", "self.scale = nn.Parameter(torch.randn(SHAPE))"),
        _Step("residual_add", "its own tanh added", "x + torch.tanh(x)"),
        _Step("scaling", "a constant factor", "x * self.factor", number=("factor", (0.5, 1.5, 2.0))),
        _Step("divide", "division by a constant", "x / self.divisor", number=("divisor", (0.8, 1.25, 1.7))),
        _Step("subtract", "a constant subtracted", "x - self.subtrahend", number=("subtrahend", (0.1, 0.25, 0.5))),
        _Step(
            "clamp",
            "clamping on both sides",
            "torch.clamp(x, -self.bound, self.bound)",
            number=("bound", (1.5, 2.0)),
        ),
    ),
    "normalise": (
        _Step("batch_norm", "batch normalisation", "self.norm(x)", "self.norm = nn.BatchNormDIMSd(CHANNELS)"),
        _Step(
            "group_norm",
            "group normalisation",
            "self.norm(x)",
            "self.norm = nn.GroupNorm(num_groups, CHANNELS)",
            ("num_groups", (4, 6, 12)),
        ),
        _Step(
            "instance_norm",
            "instance normalisation",
            "self.norm(x)",
            "self.norm = nn.InstanceNormDIMSd(CHANNELS, affine=True)",
            spatial_only=True,
        ),
    ),
    "reduce": (
        _Step("sum", "the sum over channels", "torch.sum(x, dim=1, keepdim=True)"),
        _Step("max", "the maximum over channels", "torch.amax(x, dim=1, keepdim=True)"),
        _Step("min", "the minimum over channels", "torch.amin(x, dim=1, keepdim=True)"),
    ),
    "softmax": (_Step("softmax", "softmax over channels", "torch.softmax(x, dim=1)"),),
}
