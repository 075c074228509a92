"""A child process that finds out what a module runs on, by trying: constructor arguments, inputs, sizes.

Request on stdin: `text`, which defines `Model`. Answer on stdout: `source` (a problem's text), `sizes`, `domains`; or
`reason`. Both are JSON. Whatever the module's own code does, it does to this process.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import resource
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch

WIDTH = 32
"""Channels, features and the like, where nothing says otherwise."""
_OTHER_WIDTH = 48
_COLOURS = 3
_TOKENS = 64
"""Values of an input of indices lie below."""
_MOST_MEMORY = 8 << 30
"""Bytes that a module may take; on a small machine a quarter of what it has."""
_LARGEST = 64_000_000
"""Elements of the inputs or the output at full sizes, for one input."""

# What the name of a constructor's argument says, the first that fits; a number that is a width comes last.
_SAID: tuple[tuple[str, Any], ...] = (
    (r"kernel|ksize|filter_size|^k$|window", 3),
    (r"stride|dilation|dilate|groups|^s$", 1),
    (r"padding|^pad$|^p$", 1),
    (r"upscale|scale_factor|factor|expansion|expand", 2),
    (r"head", 4),
    (r"drop|prob", 0.0),
    (r"eps", 1e-5),
    (r"momentum", 0.1),
    (r"slope|alpha|beta|gamma|lambda|temperature|^scale$|init_value|threshold|margin|^min_val|lower", 0.5),
    (r"^max_val|upper", 2.0),
    (r"reduction_ratio|ratio|squeeze|^r$", 4),
    (r"layers|depth|blocks|^n$|iterations|num_stages", 2),
    (r"^(use|is|with|has)_|bias|affine", True),
    (r"^(dim|axis)$", 1),
    (r"output_size", 4),
    (r"vocab|num_embeddings|tokens|num_types", _TOKENS),
    (r"normalized_shape", WIDTH),
)
# Sizes of the inputs: how many samples, and elements along each other dimension.
_SMALL = {"batch_size": 4, "length": 24, "depth": 6, "height": 12, "width": 10}
_ODD = {"batch_size": 3, "length": 19, "depth": 5, "height": 11, "width": 9}
_MEDIUM = {"batch_size": 16, "length": 512, "depth": 12, "height": 64, "width": 48}
_FULL = {"batch_size": 64, "length": 1024, "depth": 24, "height": 128, "width": 112}
_FLAT = {"small": 32, "odd": 13, "medium": 4096, "full": 16384}
"""Samples where an input has features alone."""
_SHAPES: tuple[tuple[str, ...], ...] = (
    ("batch_size", "features"),
    ("batch_size", "length", "features"),
    ("batch_size", "features", "height", "width"),
    ("batch_size", "features", "length"),
    ("batch_size", "features", "depth", "height", "width"),
)
_INDICES = ("batch_size", "length")


@dataclass(frozen=True)
class Input:
    """How an input is drawn: the names of its dimensions, and whether it holds indices."""

    dims: tuple[str, ...]
    indices: bool = False

    def drawn(self, at: dict[str, int]) -> torch.Tensor:
        shape = [at[dim] for dim in self.dims]
        return torch.randint(0, _TOKENS, shape) if self.indices else torch.randn(shape)

    @property
    def text(self) -> str:
        shape = ", ".join(self.dims)
        return f"torch.randint(0, {_TOKENS}, ({shape}))" if self.indices else f"torch.randn({shape})"


def main() -> None:
    # Whatever the module prints must not end up in the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.read())
    warnings.simplefilter("ignore")
    _limit_memory()
    with answer:
        try:
            found = _found(request["text"])
        except Exception as error:  # boundary: the module's own code
            found = {"reason": f"its file does not run: {type(error).__name__}: {str(error).strip()[:200]}"}
        json.dump(found, answer)
    os._exit(0)


def _limit_memory() -> None:
    """More than that is an error of the module; without a limit the machine would run out, and end whom it likes."""
    page = os.sysconf("SC_PAGE_SIZE")
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * page  # PyTorch maps far more than it uses
    most = taken + min(_MOST_MEMORY, page * os.sysconf("SC_PHYS_PAGES") // 4)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _found(text: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "module"}
    exec(compile(text, "module.py", "exec"), scope)
    torch.set_num_threads(1)
    first = ""
    for arguments in _arguments(scope["Model"]):
        for inputs in _inputs(scope["Model"]):
            for features in dict.fromkeys((WIDTH, _OTHER_WIDTH, *_whole(arguments.values()), _COLOURS)):
                why = _runs(
                    scope["Model"], arguments, inputs, _SMALL | {"features": features} | _flat(inputs, "small")
                )
                if why is None:
                    return _written(text, scope["Model"], arguments, inputs, features)
                first = first or why
    return {
        "reason": f"no inputs were found that it runs on; the first attempt: {first or 'it takes none, or too many'}"
    }


def _arguments(model: Any) -> Iterator[dict[str, Any]]:
    """Arguments for what the constructor needs and has no default for, the likeliest first."""
    needed = [
        each
        for each in list(inspect.signature(model.__init__).parameters.values())[1:]
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    said = {each.name: _said(each) for each in needed}
    yield said
    for name, value in said.items():
        if value == 1 and name.lower() in ("dim", "axis"):  # as often the width as the place of a dimension
            yield said | {name: WIDTH}
    widths = [name for name, value in said.items() if value == WIDTH]
    for name in widths[1:][:2]:
        yield said | {name: _OTHER_WIDTH}
    for name in said:
        yield said | {name: [WIDTH, _OTHER_WIDTH]}


def _said(parameter: inspect.Parameter) -> Any:
    kind = (
        parameter.annotation
        if isinstance(parameter.annotation, str)
        else getattr(parameter.annotation, "__name__", "")
    )
    if kind == "bool":
        return True
    for pattern, value in _SAID:
        if re.search(pattern, parameter.name.lower()):
            return value
    return 0.5 if kind == "float" else WIDTH


def _inputs(model: Any) -> Iterator[tuple[Input, ...]]:
    """What `forward` may take: all inputs alike, indices, then inputs that differ in their dimensions."""
    names = [
        each.name
        for each in list(inspect.signature(model.forward).parameters.values())[1:]
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if not 1 <= len(names) <= 3:
        return
    for dims in _SHAPES:
        yield (Input(dims),) * len(names)
    yield (Input(_INDICES, True),) * len(names)
    if len(names) > 1:
        for several in product(_SHAPES[:3], repeat=len(names)):
            if len(set(several)) > 1:
                yield tuple(map(Input, several))


def _whole(values: Any) -> list[int]:
    return [value for value in values if type(value) is int and value > 4]


def _flat(inputs: tuple[Input, ...], size: str) -> dict[str, int]:
    return {"batch_size": _FLAT[size]} if all(len(each.dims) == 2 for each in inputs) else {}


def _runs(model: Any, arguments: dict[str, Any], inputs: tuple[Input, ...], at: dict[str, int]) -> str | None:
    """Why a forward with these arguments and inputs is none; None if it is one."""
    try:
        torch.manual_seed(0)
        made = model(**arguments)
        with torch.no_grad():
            given = [each.drawn(at) for each in inputs]
            output = made(*given)
    except Exception as error:  # boundary: the module's own code
        return f"{type(error).__name__}: {str(error).strip()[:160]}"
    tensors = [each for each in torch.utils._pytree.tree_leaves(output) if isinstance(each, torch.Tensor)]
    if not tensors or any(each.numel() == 0 for each in tensors):
        return "it returns no tensor"
    if any(each is one for each in tensors for one in given):
        return "it returns its input"
    return None


def _written(
    text: str, model: Any, arguments: dict[str, Any], inputs: tuple[Input, ...], features: int
) -> dict[str, Any]:
    dims = dict.fromkeys(dim for each in inputs for dim in each.dims)
    full = {dim: (_FULL | {"features": features} | _flat(inputs, "full"))[dim] for dim in dims}
    while _elements(inputs, full) > _LARGEST and full["batch_size"] > 1:
        full["batch_size"] //= 2
    sizes = {}
    for size, values in (("small", _SMALL), ("odd", _ODD), ("medium", _MEDIUM)):
        at = {dim: (values | {"features": features} | _flat(inputs, size))[dim] for dim in dims}
        if _runs(model, arguments, inputs, at) is None:
            sizes[size] = {dim: value for dim, value in at.items() if dim != "features"}
    names = list(inspect.signature(model.forward).parameters)[1 : 1 + len(inputs)]
    lines = [_with_random_parameters(text, model, arguments).rstrip("\n"), "", ""]
    lines += [f"{dim} = {value}" for dim, value in full.items()]
    lines += ["", "", "def get_inputs():", f"    return [{', '.join(each.text for each in inputs)}]"]
    lines += ["", "", "def get_init_inputs():", f"    return [{', '.join(map(repr, _positional(model, arguments)))}]"]
    domains = {name: "fixed" if each.indices else "real" for name, each in zip(names, inputs, strict=True)}
    return {"source": "\n".join(lines) + "\n", "sizes": sizes, "domains": domains}


def _elements(inputs: tuple[Input, ...], at: dict[str, int]) -> int:
    return max(int(torch.Size([at[dim] for dim in each.dims]).numel()) for each in inputs)


def _positional(model: Any, arguments: dict[str, Any]) -> list[Any]:
    """The arguments in the order of the signature; one by keyword alone cannot be given so."""
    names = list(inspect.signature(model.__init__).parameters)[1:]
    return [arguments[name] for name in names if name in arguments]


def _with_random_parameters(text: str, model: Any, arguments: dict[str, Any]) -> str:
    """The text with a draw for each parameter that the constructor leaves constant or not initialised."""
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills what is not initialised with NaN
    made = model(**arguments)
    torch.use_deterministic_algorithms(False)
    names = [
        name
        for name, parameter in made.named_parameters()
        if parameter.is_floating_point() and _says_nothing(parameter.detach())
    ]
    place = _end_of_constructor(text)
    if not names or place is None:
        return text
    drawn = [
        f"        for name in {tuple(names)!r}:",
        "            torch.nn.init.uniform_(self.get_parameter(name), 0.5, 1.5)",
    ]
    lines = text.splitlines()
    return "\n".join([*lines[:place], *drawn, *lines[place:]]) + "\n"


def _says_nothing(parameter: torch.Tensor) -> bool:
    if parameter.numel() == 0:
        return False
    return bool(parameter.isnan().any()) or (
        parameter.numel() > 1 and bool((parameter == parameter.flatten()[0]).all())
    )


def _end_of_constructor(text: str) -> int | None:
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                    return each.end_lineno
    return None
