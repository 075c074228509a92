"""Rule `imports_evaluator`: a candidate takes the evaluator's problems or judges into its process."""

from __future__ import annotations

from collections.abc import Iterator

from kernelgauge.checks.source.lead import Lead
from kernelgauge.checks.source.python import PythonSource
from kernelgauge.schema import KernelRule

RULE: KernelRule = "imports_evaluator"
_OURS = "kernelgauge"
_FOR_CANDIDATES = ("kernels", "__version__", "__name__")


def leads(source: PythonSource) -> Iterator[Lead]:
    """Where the text reaches for a part of kernelgauge that is not made for candidates."""
    for node, path in source.formed():
        top, _, rest = path.partition(".")
        if top == _OURS and rest and rest.partition(".")[0] not in _FOR_CANDIDATES:
            reason = f"reaches for {path}: only kernelgauge.kernels is made for candidates"
            yield source.lead(RULE, node, reason, certain=True)
