"""A package as it is used: its operators, counters, what it says of itself, and how it is switched off."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from .applying import apply
from .files import content
from .operators import Operator
from .patching import Applied
from .variants import Variant


class Package:
    """The operators that `package.json` lists, by name.

    Raises:
        Changed: `package.json` is not the one that was written.
    """

    def __init__(self, home: Path, digest: str) -> None:
        self.about: dict[str, Any] = json.loads(content(home / "package.json", digest))
        self.name: str = self.about["name"]
        self._switch = os.environ.get(f"{self.name.upper()}_DISABLED", "") not in ("", "0")
        # Plain numbers of the process: `torch.compile` reads them as guards, which it cannot of a context variable.
        self._off = 0
        self._recomputing = 0
        self._said: set[str] = set()
        self.operators = {each["name"]: self._operator(home, each) for each in self.about["operators"]}

    def _operator(self, home: Path, given: dict[str, Any]) -> Operator:
        variants = [Variant(home, given["name"], each, self._warn) for each in given["variants"]]
        return Operator(self.name, given, variants, self.enabled, lambda: self._recomputing > 0)

    def enabled(self) -> bool:
        """Whether kernels are used: neither `<NAME>_DISABLED` is set nor `disabled` open."""
        return not (self._switch or self._off)

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """While open, PyTorch answers every call of this process, and counts it as `disabled`."""
        self._off += 1
        try:
            yield
        finally:
            self._off -= 1

    @contextmanager
    def recomputing(self) -> Iterator[None]:
        """While open, calls that want gradients use kernels too, and their backward computes the reference anew."""
        self._recomputing += 1
        try:
            yield
        finally:
            self._recomputing -= 1

    def apply(self, model: torch.nn.Module, *args: Any, **options: Any) -> Applied:
        """Swap the modules of a model that this package's operators can answer; see `applying.apply`."""
        return apply(self.operators, model, *args, **options)

    def counters(self) -> dict[str, Any]:
        """By operator: calls that its kernels answered (`hits`), and by reason those that PyTorch did (`misses`)."""
        return {name: each.counters() for name, each in self.operators.items()}

    def reset_counters(self) -> None:
        """Set all of them to nothing."""
        for each in self.operators.values():
            each.hits = 0
            each.misses.clear()

    def build(self) -> dict[str, str]:
        """Build every kernel now, so that no call waits for a compiler.

        Returns:
            By operator, why a kernel of it is not used here.
        """
        found = {}
        for name, operator in self.operators.items():
            for variant in operator.variants:
                if reason := variant.build(variant.device):
                    found[name] = reason
        return found

    def _warn(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            warnings.warn(f"{self.name}: {sentence}", RuntimeWarning, stacklevel=2)
