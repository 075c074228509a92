"""Are two builds of one candidate the same program? Told from their object files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_RELOCATION = re.compile(r"^\s+[0-9a-f]+: R_X86_64_\w+\s+(\S+)")


def compared(one: Path, other: Path) -> str:
    """`same`, or what differs between the object files of two build folders; empty where there are none.

    Equal device code, and the same calls in the same order in every function that is not inline: other overloads, or
    operators, would be other calls. Host code must be unoptimised, as PyTorch builds it, for that to be comparable.
    """
    pairs = [(path, other / path.relative_to(one)) for path in sorted(one.rglob("*.o"))]
    differing = [path.name for path, twin in pairs if not twin.is_file() or not _equal(path, twin)]
    return f"{', '.join(differing)} differ" if differing else "same" if pairs else ""


def _equal(one: Path, other: Path) -> bool:
    calls = [_calls(path) for path in (one, other)]
    return calls[0] == calls[1] and _device_code(one) == _device_code(other)


def _device_code(path: Path) -> bytes:
    target = path.with_suffix(".fatbin")
    target.unlink(missing_ok=True)
    section = ["--only-section=.nv_fatbin", "--set-section-flags", ".nv_fatbin=alloc"]
    subprocess.run(["objcopy", "-O", "binary", *section, str(path), str(target)], check=True)
    return target.read_bytes() if target.exists() else b""


def _calls(path: Path) -> dict[str, list[str]]:
    """By function that the linker sees as the only one of its name: the symbols it refers to, in order."""
    symbols = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    own = {line.split()[-1] for line in symbols.splitlines() if " T " in line}
    printed = subprocess.run(["objdump", "-dr", str(path)], capture_output=True, text=True, check=True).stdout
    found: dict[str, list[str]] = {}
    name = ""
    for line in printed.splitlines():
        if function := _FUNCTION.match(line):
            name = function[1]
            found[name] = []
        elif name and (reference := _RELOCATION.match(line)):
            symbol = reference[1].split("+")[0].split("-")[0]
            if not symbol.startswith("."):  # where constants lie
                found[name].append(symbol)
    return {name: called for name, called in found.items() if name in own}
