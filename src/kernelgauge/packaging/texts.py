"""The texts of a written package: its module, its project file and its README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelgauge.packaging.contents import Contents

MODULE = '''"""Kernels that kernelgauge has judged, as PyTorch operators that fall back to PyTorch."""

from __future__ import annotations

import hashlib as _hashlib
import importlib.util as _util
import sys as _sys
from pathlib import Path as _Path

_HOME = _Path(__file__).parent
_DIGESTS = {digests}


def _verified(file, digest):
    try:
        found = (_HOME / file).read_bytes()
    except OSError as error:
        raise ImportError(f"{name}: {{file}} cannot be read: install the package again") from error
    if _hashlib.sha256(found).hexdigest() != digest:
        raise ImportError(f"{name}: {{file}} is not the file that was packaged: install the package again")
    return found


class _Bytes:
    """Imports this package's modules from the bytes whose digests were compared: what Python has cached of them may
    come from others."""

    def __init__(self):
        self.files = {{}}
        for file, digest in _DIGESTS.items():
            parts = file.removesuffix(".py").split("/")
            name = ".".join([__name__, *(parts[:-1] if parts[-1] == "__init__" else parts)])
            self.files[name] = _HOME / file, _verified(file, digest)

    def find_spec(self, name, path=None, target=None):
        if name not in self.files:
            return None
        file, _ = self.files[name]
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        return _util.spec_from_file_location(name, file, loader=self, submodule_search_locations=inside)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        file, found = self.files[module.__name__]
        exec(compile(found, str(file), "exec"), vars(module))


_sys.meta_path.insert(0, _Bytes())

from ._runtime.package import Package as _Package  # noqa: E402

_package = _Package(_HOME, "{package_digest}")
operators = _package.operators
provenance = _package.about
apply = _package.apply
build = _package.build
counters = _package.counters
disabled = _package.disabled
recomputing = _package.recomputing
reset_counters = _package.reset_counters
{assignments}
__all__ = {exported}
'''

PROJECT = """[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "{distribution}"
version = "{version}"
description = "Kernels that kernelgauge has judged, as PyTorch operators with a guard and a fallback."
readme = "README.md"
requires-python = ">=3.11"
dependencies = [{dependencies}]

[tool.setuptools]
packages = [{packages}]
include-package-data = false

[tool.setuptools.package-data]
"*" = ["*.json", "*.py"]
"""

README = """# {name}

PyTorch operators with kernels that kernelgauge {kernelgauge} has judged on **{machine}** with PyTorch {torch}.
A call reaches a kernel only if it is one that was judged: shapes, types, device, layout, alignment, without
gradients and without autocast. PyTorch answers every other call.

```python
import torch
import {name}

{name}.build()                   # compile now what the first call would compile
{name}.apply(model, *inputs)     # or call an operator: {name}.{first}(...)
print({name}.counters())         # calls by kernels, and by reason calls by PyTorch
```
`{variable}_DISABLED=1`, or `with {name}.disabled():`, switches all kernels off. `with {name}.recomputing():` uses
kernels where gradients are wanted too; the backward computes the reference anew. `python -m pytest tests` holds each
kernel against its reference on this machine.

| operator | for | times faster | 95 % between | error, allowed | judged | licence |
|---|---|---:|---:|---:|---|---|
{rows}

Speedups are over eager PyTorch, of a call with inputs that are not in the cache. `package.json` has the records,
versions and digests.
{left}"""


def module_text(contents: Contents, digests: Mapping[str, str], package_digest: str) -> str:
    """`__init__.py`. Its digests are those of everything that is imported with it."""
    names = [operator.name for operator in contents.operators]
    own = ["apply", "build", "counters", "disabled", "operators", "provenance", "recomputing", "reset_counters"]
    rows = "".join(f'\n    "{file}": "{digest}",' for file, digest in digests.items())
    return MODULE.format(
        name=contents.name,
        digests=f"{{{rows}\n}}",
        package_digest=package_digest,
        assignments="\n".join(f'{name} = operators["{name}"]' for name in names),
        exported=repr(sorted([*names, *own])),
    )


def distribution(name: str) -> str:
    """What a package of this name is called where it is installed."""
    return name.replace("_", "-")


def project_text(contents: Contents, version: str, packages: Sequence[str]) -> str:
    """`pyproject.toml`."""
    needed = ['"torch"'] + (
        ['"triton"'] if any(v.backend == "triton" for o in contents.operators for v in o.variants) else []
    )
    return PROJECT.format(
        distribution=distribution(contents.name),
        version=version,
        dependencies=", ".join(needed),
        packages=", ".join(f'"{each}"' for each in packages),
    )


def readme_text(contents: Contents) -> str:
    """`README.md`: what is in it and how sure that is, and what is not and why."""
    rows = []
    for operator in contents.operators:
        for variant in operator.variants:
            came = variant.provenance
            low, high = came.interval
            call = ", ".join(_argument(each) for each in variant.arguments)
            rows.append(
                f"| `{operator.name}` | {call} | {came.speedup:.3g} | {low:.3g} and {high:.3g} | {came.error:.2g}, "
                f"{came.allowed:.2g} | {came.judged:%Y-%m-%d}, {came.protocol}, {variant.math} | {came.licence} |"
            )
    left = [
        f"- {each.problem}, {each.contestant} sample {each.sample}: {_one_line(each.reason)}"
        for each in contents.left_out
    ]
    machine = contents.operators[0].variants[0].machine
    return README.format(
        name=contents.name,
        variable=contents.name.upper(),
        kernelgauge=contents.kernelgauge,
        machine=machine.name,
        torch=machine.torch,
        first=contents.operators[0].name,
        rows="\n".join(rows),
        left="\n## Left out\n" + "\n".join(left) + "\n" if left else "",
    )


def _argument(given: Mapping[str, object]) -> str:
    shape = given.get("shape")
    if not isinstance(shape, list | tuple):
        return repr(given["value"])
    return f"{given['dtype']}[{', '.join(map(str, shape))}]"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
