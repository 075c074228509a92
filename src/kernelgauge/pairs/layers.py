"""PyTorch's own layers, each as a module that has nothing else in it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

_LEFT_OUT = ("Container", "Lazy", "Sync", "Identity", "Flatten", "Unflatten", "DataParallel", "Module", "Sequential")
"""Parts of names: they hold others, compute nothing, or need more than one process."""


def torch_layers() -> Iterator[tuple[str, str]]:
    """Name and text of every layer of `torch.nn` that can be a module by itself, in alphabetical order."""
    from torch import nn

    for name, kind in sorted(vars(nn).items()):
        if not (isinstance(kind, type) and issubclass(kind, nn.Module)) or any(part in name for part in _LEFT_OUT):
            continue
        yield name, _text(name, kind)


def _text(name: str, kind: Any) -> str:
    taken = _needed(kind.__init__)
    given = _needed(kind.forward)
    arguments = ", ".join(["self", *taken])
    inputs = ", ".join(["self", *given])
    return (
        "import torch\n"
        "import torch.nn as nn\n\n\n"
        "class Model(nn.Module):\n"
        f'    """The layer {name} of PyTorch."""\n\n'
        f"    def __init__({arguments}):\n"
        "        super().__init__()\n"
        f"        self.layer = nn.{name}({', '.join(taken)})\n\n"
        f"    def forward({inputs}):\n"
        f"        return self.layer({', '.join(given)})\n"
    )


def _needed(function: Any) -> list[str]:
    """Names of the parameters without a default, the first one left out."""
    found = list(inspect.signature(function).parameters.values())[1:]
    return [each.name for each in found if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
