"""Are two builds of one candidate the same program? Told from their object files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_OPTIMISED = re.compile(r" -O(?!0)")
_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_RELOCATION = re.compile(r"^\s+[0-9a-f]+: R_X86_64_\w+\s+(\S+)")


def compared(one: Path, other: Path) -> str:
    """`same`, or what differs between the object files of two build folders; empty where there are none.

    Equal device code, and the same calls in the same order in every function that is not inline: other overloads, or
    operators, would be other calls. Where a candidate has its host code optimised, what is inlined in one build is
    called in the other: there only device code is compared, and that is said.
    """
    pairs = [(path, other / path.relative_to(one)) for path in sorted(one.rglob("*.o"))]
    if missing := [path.name for path, twin in pairs if not twin.is_file()]:
        return f"{', '.join(missing)} missing"
    if differing := [path.name for path, twin in pairs if _device_code(path) != _device_code(twin)]:
        return f"device code of {', '.join(differing)} differs"
    if any(_OPTIMISED.search(path.read_text()) for path in one.rglob("build.ninja")):
        return "same on the device"
    if differing := [path.name for path, twin in pairs if _calls(path) != _calls(twin)]:
        return f"calls in {', '.join(differing)} differ"
    return "same" if pairs else ""


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
