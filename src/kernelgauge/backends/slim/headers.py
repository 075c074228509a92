"""Slim headers: PyTorch's umbrella headers with only the includes a kernel's host code needs.

`torch/extension.h` costs nvcc a minute and 3 GB because it brings every operator and the whole C++ front end. A
folder before PyTorch's in the search path holds headers of the same names that bring the tensor class, dispatch
macros, error checks and the Python casters, and of the operators those that a candidate names. All they bring are
PyTorch's own files, so a slim translation unit sees a part of what the full one sees, in the same words. What it does
not see is written to an index: a candidate that could tell the difference is built the long way (`admission`).
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends import toolchain
from kernelgauge.backends.base import search_path
from kernelgauge.backends.slim.declarations import Declared, declarations
from kernelgauge.errors import MachineError
from kernelgauge.kernels.toolkit import cuda_home

CANDIDATE_HEADER = "kernelgauge_candidate.h"
"""Brings the operators one candidate names; made for each build, in front of the slim folder."""
PYTHON_MACRO = "KERNELGAUGE_PYTHON"
"""Defined there if CUDA sources need the Python headers; host sources have them always."""

_FACTORIES = "torch/csrc/autograd/generated/variable_factories.h"
_API = "torch/csrc/api/include/"
# Includes that an umbrella header loses. Each costs seconds, and what it declares ends up in the index.
_LEFT_OUT = {
    "ATen/ATen.h": ("ATen/NativeFunctions.h", "ATen/TensorIndexing.h", "ATen/core/ivalue.h", "ATen/core/jit_type.h"),
    f"{_API}torch/types.h": ("torch/csrc/autograd/variable.h", "torch/library.h"),
}
# Light headers of which the umbrella brings names that candidates like too: `CHECK`, `load`, `divup`.
_WITH_COMMON_NAMES = ("c10/util/Load.h", "c10/util/Logging.h")
_MORE_OF_THEM = ("ATen/Parallel.h",)
_PYTHON_HEADERS = ("torch/csrc/Exceptions.h", "torch/csrc/utils/pybind.h")
_FACTORY = re.compile(r"^inline (at::Tensor \w+\((?!detail::).*\)) \{$", re.MULTILINE)
_SPACES = ("at", "c10", "torch")
# Namespaces of headers that candidates include beside the umbrella.
_BROUGHT_BY_OTHERS = {"cuda"}


def make(folder: Path) -> None:
    """Fill `folder` with slim headers, their index and the factory functions' object file.

    Raises:
        RuntimeError: a compiler refused, with what it printed; PyTorch's headers are not as known then.
        MachineError: a compiler was killed.
    """
    headers = _write_headers(folder / "include")
    levels = ["host", "cuda", "cuda+python"] if cuda_home() else ["host"]
    for name in ("probe.cpp", "probe.cu"):  # here, since several compilers read one at once
        (folder / name).write_text("#include <torch/extension.h>\n")
    with ThreadPoolExecutor() as pool:
        compiled = pool.submit(_compile_factories, folder)
        # The full headers are the same at both levels of CUDA.
        full = {level: pool.submit(_unit, folder, level, slim=False) for level in levels[:2]}
        slim = {level: pool.submit(_unit, folder, level, slim=True) for level in levels}
        own = {str(path) for path in headers.values()} | {str(folder / "none" / CANDIDATE_HEADER)}
        omitted = {
            level: _omitted(headers, own, full[level.removesuffix("+python")].result(), slim[level].result())
            for level in levels
        }
        compiled.result()
    index = {"levels": omitted, "operators": _operators(), "factories": _factory_names()}
    (folder / "index.json").write_text(json.dumps(index))


def _search(folder: Path) -> list[str]:
    return ["-I", str(folder / "none"), "-I", str(folder / "include")]


def _real(name: str) -> Path:
    include = toolchain.torch_folder() / "include"
    return next(path for path in (include / name, include / _API / name) if path.exists())


def _includes(text: str, without: Iterable[str] = ()) -> str:
    found = re.findall(r"^#include <([^>]+)>", text, re.MULTILINE)
    return "".join(f"#include <{name}>\n" for name in found if name not in without)


def _write_headers(include: Path) -> dict[str, Path]:
    """Write the slim headers; returns by the path of each real header the slim one in its place."""
    umbrella = _includes(_real("ATen/ATen.h").read_text(), _LEFT_OUT["ATen/ATen.h"])
    # The operators that the headers kept in it are written with.
    kept = "".join(
        _real(name).read_text() for name in re.findall(r"<(ATen/[^>]+)>", umbrella) if "Functions" not in name
    )
    operators = "".join(f"#include <{name}>\n" for name in sorted(set(re.findall(r"<(ATen/ops/\w+\.h)>", kept))))
    catalogue = _real("ATen/Functions.h").read_text()
    ordinary = _includes(catalogue, re.findall(r"<(ATen/ops/\w+\.h)>", catalogue))
    tensor = "#include <ATen/core/Tensor.h>\n"
    types = _real("torch/types.h").read_text()
    body = "".join(re.findall(r"^namespace torch \{.*?^\} // namespace torch\n", types, re.MULTILINE | re.DOTALL))
    common, more, python = (
        "".join(f"#include <{name}>\n" for name in names)
        for names in (_WITH_COMMON_NAMES, _MORE_OF_THEM, _PYTHON_HEADERS)
    )
    texts = {
        "ATen/ATen.h": umbrella + common,
        "ATen/DeviceGuard.h": _includes(_real("ATen/DeviceGuard.h").read_text(), ("ATen/core/IListRef.h",)),
        "ATen/Functions.h": f"{ordinary}{operators}#include <{CANDIDATE_HEADER}>\n",
        _FACTORIES: f"{tensor}namespace torch {{\n{_factory_declarations()}}}\n",
        "torch/types.h": _includes(types, _LEFT_OUT[f"{_API}torch/types.h"]) + body,
        "torch/all.h": f"#include <torch/types.h>\n{more}",
        "torch/torch.h": "#include <torch/extension.h>\n",
        "torch/extension.h": f"#include <{CANDIDATE_HEADER}>\n#include <torch/all.h>\n"
        f"#if !defined(__CUDACC__) || defined({PYTHON_MACRO})\n{python}#endif\n",
    }
    written = {}
    for name, text in texts.items():
        path = include / name
        path.parent.mkdir(parents=True, exist_ok=True)
        guard = "KERNELGAUGE_SLIM_" + re.sub(r"\W", "_", name).upper()
        path.write_text(f"#ifndef {guard}\n#define {guard}\n{text}#endif\n")
        written[str(_real(name))] = path
    none = include.parent / "none"
    none.mkdir()
    (none / CANDIDATE_HEADER).write_text("")
    return written


def _factory_declarations() -> str:
    found = _FACTORY.findall(_real(_FACTORIES).read_text())
    return "".join(f"{declaration};\n" for declaration in found)


def _factory_names() -> list[str]:
    names = re.findall(r"^at::Tensor (\w+)\(", _factory_declarations(), re.MULTILINE)
    return sorted(set(names))


def _compile_factories(folder: Path) -> None:
    """`torch::empty` and its like as functions of their own, from PyTorch's own text, to be linked in.

    They are inline in a header that brings the autograd engine; a slim header declares them only.
    """
    source = folder / "factories.cpp"
    text = _FACTORY.sub(r'__attribute__((visibility("hidden"))) \1 {', _real(_FACTORIES).read_text())
    source.write_text(text.replace("#pragma once", ""))
    _run([*toolchain.host_command(), "-O2", "-c", str(source), "-o", str(source.with_suffix(".o"))])


def _operators() -> dict[str, str]:
    """By the name of each function that an operator's header defines, that header."""
    found = {}
    for path in sorted((toolchain.torch_folder() / "include" / "ATen" / "ops").glob("*.h")):
        if not path.name.endswith(("_ops.h", "_native.h", "_dispatch.h")):
            for name in re.findall(r"^(?:    )?inline [^(;]*?\b(\w+)\(", path.read_text(), re.MULTILINE):
                found[name] = f"ATen/ops/{path.name}"
    return found


@dataclass(frozen=True)
class _Unit:
    """What a translation unit sees that includes `torch/extension.h`: files, what they declare, macros at its end."""

    files: set[str]
    declared: Declared
    macros: dict[str, str]


def _unit(folder: Path, level: str, slim: bool) -> _Unit:
    text = _preprocessed(folder, level, slim)
    files = set(re.findall(r'^# \d+ "([^"\n]*)"', text, re.MULTILINE))
    return _Unit(files, declarations(text), _macros(folder, level, slim))


def _omitted(headers: dict[str, Path], own: set[str], full: _Unit, slim: _Unit) -> dict[str, list[str]]:
    """What the full `torch/extension.h` declares and the slim one does not.

    Args:
        own: the files of ours among those that the slim one brings.
    """
    files, kept = full.files, slim.files
    if strangers := [
        name for name in sorted(kept - files - own) if not name.startswith("<") and not _twin(name, files)
    ]:
        raise RuntimeError(f"slim headers bring what the full ones do not: {strangers[:3]}")
    spaces = _spaces(full.declared, files - kept) - _spaces(full.declared, kept) - _BROUGHT_BY_OTHERS
    names = {("torch", space) for space in spaces}
    for name in files - kept:
        if "/ATen/ops/" not in name:  # these come back by the names that a candidate uses
            replacement = str(headers.get(name, ""))
            names |= full.declared.get(name, set()) - slim.declared.get(replacement, set())
    macros = {n for n in full.macros.keys() | slim.macros.keys() if full.macros.get(n) != slim.macros.get(n)}
    include = f"{toolchain.torch_folder()}/include/"
    return {
        "macros": sorted(macros),
        "qualified": sorted({name for space, name in names if space in _SPACES}),
        "called": sorted({name for space, name in names if space in ("", "at", "c10")}),
        "files": sorted(name.removeprefix(include).removeprefix(_API) for name in kept if name.startswith(include)),
    }


def _spaces(found: Declared, files: set[str]) -> set[str]:
    """The namespaces directly below PyTorch's that these files open."""
    pairs = [space.split("::") for file in files for space, _ in found.get(file, ())]
    return {parts[1] for parts in pairs if parts[0] in _SPACES and len(parts) > 1}


def _twin(name: str, files: set[str]) -> bool:
    """Whether one of the files is a copy of this one under the same name: `#pragma once` takes the two for one."""
    path = Path(name)
    return any(Path(f).name == path.name and Path(f).read_bytes() == path.read_bytes() for f in files)


def _preprocessed(folder: Path, level: str, slim: bool, *flags: str) -> str:
    source = folder / ("probe.cpp" if level == "host" else "probe.cu")
    command = toolchain.host_command() if level == "host" else toolchain.nvcc_command()
    python = [f"-D{PYTHON_MACRO}"] if level.endswith("python") else []
    return _run([*command, *(_search(folder) if slim else []), *python, "-E", *flags, str(source)])


def _macros(folder: Path, level: str, slim: bool) -> dict[str, str]:
    flags = ("-dM",) if level == "host" else ("-Xcompiler", "-dM")
    text = _preprocessed(folder, level, slim, *flags)
    found = dict(re.findall(r"^#define (\w+)((?:\(.*?\))?.*)$", text, re.MULTILINE))
    return {name: body for name, body in found.items() if not name.startswith("KERNELGAUGE_")}


def _run(command: list[str]) -> str:
    """What a compiler prints, in the environment that sealed builds have."""
    environment = {"PATH": search_path(), "LANG": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode < 0:
        raise MachineError(f"{command[0]} was killed while slim headers were made")
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:2])} ... refused slim headers:\n{done.stderr[-2000:]}")
    return done.stdout
