"""Level-1 style variants: one operator each, with other dimensions, layouts, kernels and strides than published."""

from __future__ import annotations

import random
from collections.abc import Callable

from kernelgauge.problems.recipes.drawn import Drawn, Parts, convolution_batch, medium_batch, render
from kernelgauge.problems.sizes import Constant
from kernelgauge.schema import Domain, Sizes

_Family = Callable[[random.Random], Drawn]


def draw(seed: int, number: int) -> Drawn:
    """The problem of that number under that seed; the same two always give the same text."""
    generator = random.Random(f"variants {seed} {number}")
    return generator.choice(_FAMILIES)(generator)


def _drawn(
    name: str, parts: Parts, tags: list[str], sizes: dict[Sizes, dict[str, Constant]], domain: Domain = "real"
) -> Drawn:
    domains = {each: domain for each, _ in parts.inputs}
    return Drawn(name=name, level=1, source=render(parts), tags=tuple(tags), sizes=sizes, domains=domains)


def _matmul(generator: random.Random) -> Drawn:
    """Any of the four layouts, with or without a batch."""
    batched = generator.random() < 0.4
    turned_a, turned_b = generator.random() < 0.5, generator.random() < 0.5
    batch = "batch_size, " if batched else ""
    left = "K, M" if turned_a else "M, K"
    right = "N, K" if turned_b else "K, N"
    words = f"A is stored as ({batch}{left}) and B as ({batch}{right})"
    parts = Parts(f"{'Batched m' if batched else 'M'}atrix product over K; {words}.")
    full = [1024, 1536, 2560] if batched else [3072, 4608, 6144, 7680]
    if batched:
        parts.constants["batch_size"] = generator.choice([16, 24, 48])
    parts.constants |= {name: generator.choice(full) for name in ("M", "K", "N")}
    parts.inputs = [("A", f"torch.randn({batch}{left})"), ("B", f"torch.randn({batch}{right})")]
    a, b = ("A.mT" if turned_a else "A"), ("B.mT" if turned_b else "B")
    parts.forward = [f"return torch.matmul({a}, {b})"]
    layout = f"{'transposed' if turned_a else 'plain'}_{'transposed' if turned_b else 'plain'}"
    cut: dict[str, Constant] = {"batch_size": 4} if batched else {}
    sizes: dict[Sizes, dict[str, Constant]] = {
        "small": {**cut, "M": 96, "K": 128, "N": 64},
        "odd": {**({"batch_size": 3} if batched else {}), "M": 67, "K": 93, "N": 51},
        "medium": {**cut, "M": 640 if batched else 1024, "K": 512 if batched else 896, "N": 768 if batched else 1152},
    }
    name = f"{'batched_' * batched}matmul_{layout}"
    return _drawn(name, parts, ["matmul", *(["batched"] if batched else [])], sizes)


def _convolution(generator: random.Random) -> Drawn:
    """One, two or three dimensions; plain, transposed or depthwise; any kernel, stride, padding and dilation."""
    spatial = generator.choice([1, 2, 2, 3])
    kind = generator.choice(["plain", "transposed", "depthwise"])
    dims = ("depth", "height", "width")[-spatial:] if spatial > 1 else ("length",)
    kernel: list[int] = [generator.choice([3, 5, 7] if spatial < 3 else [3, 5]) for _ in dims]
    stride, padding = generator.choice([1, 2, 3]), generator.choice([0, 1, 2])
    dilation = generator.choice([1, 1, 2])
    channels = {1: 96, 2: 64, 3: 32}[spatial]
    words = {"plain": "Convolution", "transposed": "Transposed convolution", "depthwise": "Depthwise convolution"}[
        kind
    ]
    parts = Parts(f"{words} in {spatial} dimension{'s' * (spatial > 1)}, without a bias.")
    parts.constants = {
        "batch_size": {1: 64, 2: 32, 3: 8}[spatial],
        "in_channels": channels,
        "out_channels": channels if kind == "depthwise" else generator.choice([48, 80, 112]),
    }
    parts.constants |= {
        dim: generator.choice({1: [8192, 16384], 2: [160, 224, 288], 3: [32, 48]}[spatial]) for dim in dims
    }
    parts.constants |= {"kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    parts.arguments = ["in_channels: int", "out_channels: int", "kernel_size: tuple"]
    parts.arguments += ["stride: int", "padding: int", "dilation: int"]
    layer = f"nn.Conv{'Transpose' * (kind == 'transposed')}{spatial}d"
    groups = ["    groups=in_channels,"] if kind == "depthwise" else []
    options = ["stride=stride", "padding=padding", "dilation=dilation", "bias=False"]
    parts.construct = [
        f"self.conv = {layer}(",
        "    in_channels,",
        "    out_channels,",
        "    kernel_size,",
        *(f"    {option}," for option in options),
        *groups,
        ")",
    ]
    parts.inputs = [("x", f"torch.randn(batch_size, in_channels, {', '.join(dims)})")]
    parts.forward = ["return self.conv(x)"]
    few = {"in_channels": 12, "out_channels": 12}
    edge = {1: 4096, 2: 64, 3: 16}[spatial] // (stride if kind == "transposed" else 1)
    sizes: dict[Sizes, dict[str, Constant]] = {
        "small": {"batch_size": 2, **few, **dict.fromkeys(dims, {1: 128, 2: 24, 3: 16}[spatial])},
        "odd": {
            "batch_size": 3,
            "in_channels": 9,
            "out_channels": 9,
            **dict.fromkeys(dims, {1: 101, 2: 23, 3: 15}[spatial]),
        },
        "medium": {
            "batch_size": convolution_batch(
                parts.constants, kernel, edge, kind == "transposed", channels if kind == "depthwise" else 1
            ),
            **dict.fromkeys(dims, edge),
        },
    }
    tags = ["convolution", f"{spatial}d", *([kind] if kind != "plain" else [])]
    tags += (["strided"] if stride > 1 else []) + (["dilated"] if dilation > 1 else [])
    name = f"conv_{kind}_{spatial}d_k{'x'.join(map(str, kernel))}_s{stride}_p{padding}_d{dilation}"
    return _drawn(name, parts, tags, sizes)


_REDUCTIONS = {
    "sum": ("Sum", "torch.sum(x, dim=self.dim)"),
    "max": ("Maximum", "torch.amax(x, dim=self.dim)"),
    "min": ("Minimum", "torch.amin(x, dim=self.dim)"),
    "argmax": ("Index of the maximum", "torch.argmax(x, dim=self.dim)"),
    "argmin": ("Index of the minimum", "torch.argmin(x, dim=self.dim)"),
    "norm": ("Euclidean norm", "torch.linalg.vector_norm(x, dim=self.dim)"),
}
_SCANS = {
    "cumsum": ("Running sum", "torch.cumsum(x, dim=self.dim)"),
    "cummax": ("Running maximum", "torch.cummax(x, dim=self.dim).values"),
    "logcumsumexp": ("Running log-sum-exp", "torch.logcumsumexp(x, dim=self.dim)"),
    "reverse_cumsum": ("Running sum from the end", "torch.cumsum(x.flip(self.dim), dim=self.dim).flip(self.dim)"),
}


def _along(generator: random.Random, table: dict[str, tuple[str, str]], tag: str) -> Drawn:
    """An operation along one dimension of a tensor of three or four."""
    name = generator.choice(list(table))
    words, expression = table[name]
    rank = generator.choice([3, 4])
    dim = generator.randrange(rank)
    names = [f"dim{place}" for place in range(rank)]
    parts = Parts(f"{words} along one dimension of a tensor of {rank}.", arguments=["dim: int"])
    full = [16, 24, 2048, 3072] if rank == 4 else [64, 96, 4096, 6144]
    chosen = [generator.choice(full[:2]) for _ in range(rank - 2)] + [generator.choice(full[2:]) for _ in range(2)]
    generator.shuffle(chosen)
    parts.constants = {**dict(zip(names, chosen, strict=True)), "dim": dim}
    parts.construct = ["self.dim = dim"]
    parts.inputs = [("x", f"torch.randn({', '.join(names)})")]
    parts.forward = [f"return {expression}"]
    # A scan goes element by element: a tenth of the work takes as long.
    medium = [[16, 768, 1024], [4, 8, 512, 640]] if table is _REDUCTIONS else [[16, 256, 288], [4, 8, 192, 192]]
    sizes: dict[Sizes, dict[str, Constant]] = {
        "small": dict(zip(names, [8, 24, 40, 12][:rank], strict=True)),
        "odd": dict(zip(names, [7, 19, 35, 5][:rank], strict=True)),
        "medium": dict(zip(names, medium[rank - 3], strict=True)),
    }
    integer = ["integer_output"] if name.startswith("arg") else []
    return _drawn(f"{name}_dim{dim}_of_{rank}", parts, [tag, *integer], sizes)


def _reduction(generator: random.Random) -> Drawn:
    return _along(generator, _REDUCTIONS, "reduction")


def _scan(generator: random.Random) -> Drawn:
    return _along(generator, _SCANS, "scan")


def _normalisation(generator: random.Random) -> Drawn:
    """Layer, group, instance or RMS normalisation, channels first or last."""
    kind = generator.choice(["layer", "rms", "group", "instance"])
    last = kind in ("layer", "rms")
    shape = "batch_size, height, width, channels" if last else "batch_size, channels, height, width"
    construct = {
        "layer": "self.norm = nn.LayerNorm(channels)",
        "rms": "self.norm = nn.RMSNorm(channels)",
        "group": "self.norm = nn.GroupNorm(num_groups, channels)",
        "instance": "self.norm = nn.InstanceNorm2d(channels, affine=True)",
    }[kind]
    words = {"layer": "Layer", "rms": "Root-mean-square", "group": "Group", "instance": "Instance"}[kind]
    parts = Parts(f"{words} normalisation with gain, channels {'last' if last else 'first'}.")
    parts.constants = {
        "batch_size": generator.choice([16, 32, 48]),
        "channels": generator.choice([96, 144, 192]),
        "height": generator.choice([128, 192, 256]),
        "width": generator.choice([128, 192, 256]),
    }
    parts.arguments = ["channels: int"]
    if kind == "group":
        parts.constants["num_groups"] = generator.choice([4, 6, 12])
        parts.arguments.append("num_groups: int")
    parts.construct = [construct]
    parts.inputs = [("x", f"torch.randn({shape})")]
    parts.forward = ["return self.norm(x)"]
    sizes: dict[Sizes, dict[str, Constant]] = {
        "small": {"batch_size": 4, "channels": 24, "height": 16, "width": 12},
        "odd": {"batch_size": 3, "channels": 12, "height": 15, "width": 11},
        "medium": {"batch_size": 8, "height": 96, "width": 80},
    }
    return _drawn(f"{kind}_norm_channels_{'last' if last else 'first'}", parts, ["normalisation"], sizes)


def _pooling(generator: random.Random) -> Drawn:
    """Maximum or average over windows in one to three dimensions."""
    spatial = generator.choice([1, 2, 3])
    kind = generator.choice(["max", "average"])
    dims = ("depth", "height", "width")[-spatial:] if spatial > 1 else ("length",)
    parts = Parts(f"{kind.capitalize()} pooling in {spatial} dimension{'s' * (spatial > 1)}.")
    kernel = generator.choice([2, 3, 4])
    largest = {1: 64, 2: 32, 3: 8}[spatial]
    parts.constants = {"batch_size": largest, "channels": generator.choice([32, 48, 64])}
    parts.constants |= {
        dim: generator.choice({1: [32768, 65536], 2: [256, 384], 3: [64, 96]}[spatial]) for dim in dims
    }
    stride = generator.choice([1, 2, 3])
    parts.constants |= {"kernel_size": kernel, "stride": stride, "padding": kernel // 2}
    parts.arguments = ["kernel_size: int", "stride: int", "padding: int"]
    layer = f"nn.{'Max' if kind == 'max' else 'Avg'}Pool{spatial}d"
    parts.construct = [f"self.pool = {layer}(kernel_size, stride=stride, padding=padding)"]
    parts.inputs = [("x", f"torch.randn(batch_size, channels, {', '.join(dims)})")]
    parts.forward = ["return self.pool(x)"]
    edge = {1: 16384, 2: 128, 3: 24}[spatial]
    out = ((edge + 2 * (kernel // 2) - kernel) // stride + 1) ** spatial
    # Comparing and adding run far below the speed of a matrix product.
    batch = medium_batch(largest, 20 * 32 * out * kernel**spatial, 32 * out)
    sizes: dict[Sizes, dict[str, Constant]] = {
        "small": {"batch_size": 2, "channels": 8, **dict.fromkeys(dims, {1: 256, 2: 24, 3: 12}[spatial])},
        "odd": {"batch_size": 3, "channels": 5, **dict.fromkeys(dims, {1: 201, 2: 21, 3: 11}[spatial])},
        "medium": {"batch_size": batch, "channels": 32, **dict.fromkeys(dims, edge)},
    }
    return _drawn(f"{kind}_pool_{spatial}d_k{kernel}", parts, ["pooling", f"{spatial}d"], sizes)


_FAMILIES: tuple[_Family, ...] = (
    _matmul,
    _matmul,
    _convolution,
    _convolution,
    _reduction,
    _scan,
    _normalisation,
    _pooling,
)
