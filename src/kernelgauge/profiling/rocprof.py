"""Hardware counters of AMD's GPUs by rocprofv3: how it is called, and what its table says.

Written by the manual of ROCprofiler-SDK 1.0 (ROCm 7) and tables that others show; no AMD GPU has met it. A pass takes
what the hardware counts at once, and rocprofv3 would start the application anew for a second one: here each pass is a
worker of its own. Its table has a row for each launch and counter, from the start of the worker on; how many launches
of a kernel are the last forward's is known from the profile.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelgauge.profiling.kernel_names import base_name, short_name
from kernelgauge.profiling.ncu import short_line
from kernelgauge.schema import Counters

NAME = "rocprofv3"
PACKAGE = "ROCprofiler-SDK, part of ROCm"
NOTE = "counted by rocprofv3: each launch alone; whether caches are cold is not known"

# Derived counters: kilobytes to and from memory, per cent. One a pass: rocprofv3 refuses what the hardware cannot
# count at once, and so a counter that a GPU lacks costs no other.
_PASSES = (("FETCH_SIZE",), ("WRITE_SIZE",), ("OccupancyPercent",), ("MfmaUtil",))
PASSES = len(_PASSES)

_MOST_KERNELS = 5
_PLAIN_NAME = re.compile(r"\w{1,200}")
_KILOBYTE = 1024


@dataclass
class _Launch:
    time_ns: float
    registers: float
    figures: dict[str, float] = field(default_factory=dict)


def command(path: str, functions: Iterable[str], report: Path, number: int) -> list[str]:
    """rocprofv3 and its options, up to the application's own command.

    Args:
        functions: bare names of the kernels of a forward, the longest first; only the first few are counted. Where
            there are none, all kernels are.
        report: what the name of its table begins with; see `report_file`.
        number: which pass.
    """
    names = dict.fromkeys(name for name in functions if _PLAIN_NAME.fullmatch(name))
    wanted = "|".join(list(names)[:_MOST_KERNELS])
    return [
        *(path, "--pmc", *_PASSES[number]),
        *(["--kernel-include-regex", rf"\b({wanted})\b"] if wanted else []),
        *("--output-format", "csv", "--output-directory", str(report.parent), "--output-file", report.name),
        "--",
    ]


def report_file(report: Path) -> Path:
    return report.with_name(f"{report.name}_counter_collection.csv")


def files(path: str) -> Path:
    """What the worker must be able to read: ROCm's root, which has the libraries that rocprofv3 has it load."""
    folder = Path(path).resolve().parent
    return folder.parent if (folder.parent / "lib" / "rocprofiler-sdk").is_dir() else folder


def parse(texts: Sequence[str], calls: Mapping[str, float]) -> tuple[Counters, ...]:
    """The kernels of the tables of all passes, those with the most time first; empty where there is none.

    Args:
        calls: launches of a forward by the bare name of their kernel; so many last ones of each are counted.

    Raises:
        ValueError, csv.Error: a table is not well-formed.
    """
    found: dict[str, list[_Launch]] = {}
    counts: dict[str, int] = {}
    times: dict[str, float] = {}
    for text in texts:
        for name, launches in _of_last_forward(text, calls).items():
            found.setdefault(name, []).append(max(launches, key=lambda launch: launch.time_ns))
            counts.setdefault(name, len(launches))
            times.setdefault(name, sum(launch.time_ns for launch in launches))
    ordered = sorted(found, key=lambda name: -times[name])[:_MOST_KERNELS]
    return tuple(_counters(name, counts[name], found[name]) for name in ordered)


def complaint(text: str) -> str | None:
    """Why there is no table, in rocprofv3's own words; None if it says nothing."""
    for line in text.splitlines():
        if "error" in line.lower() or "exceeds the capabilities" in line:
            return f"rocprofv3 says: {short_line(line)}"
    return None


def _of_last_forward(text: str, calls: Mapping[str, float]) -> dict[str, list[_Launch]]:
    """The last launches of each function, by their kernels' short names."""
    functions: dict[str, list[tuple[str, _Launch]]] = {}
    for name, launch in _launches(text):
        functions.setdefault(base_name(name), []).append((short_name(name), launch))
    kernels: dict[str, list[_Launch]] = {}
    for function, launches in functions.items():
        for name, launch in launches[-max(1, round(calls.get(function, 1))) :]:
            kernels.setdefault(name, []).append(launch)
    return kernels


def _launches(text: str) -> list[tuple[str, _Launch]]:
    """Every launch in its order, with its kernel's name and all its figures of one table."""
    launches: dict[int, tuple[str, _Launch]] = {}
    for name, row, value in _rows(text):
        number = int(row["Dispatch_Id"])
        if number not in launches:
            time_ns = float(row["End_Timestamp"]) - float(row["Start_Timestamp"])
            registers = float(row.get("VGPR_Count") or 0) + float(row.get("Accum_VGPR_Count") or 0)
            launches[number] = name, _Launch(time_ns, registers)
        launches[number][1].figures[row["Counter_Name"]] = value
    return [launches[number] for number in sorted(launches) if launches[number][1].time_ns > 0]


def _rows(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Name of the kernel, cells and value of each whole row."""
    lines = text.replace("\0", "").splitlines()
    for row in csv.DictReader(lines):
        cells = {name: cell for name, cell in row.items() if isinstance(name, str) and isinstance(cell, str)}
        try:
            whole = [float(cells[name]) for name in ("Start_Timestamp", "End_Timestamp", "Counter_Value")]
            int(cells["Dispatch_Id"])
        except (KeyError, ValueError):
            continue
        if cells.get("Kernel_Name") and cells.get("Counter_Name"):
            yield cells["Kernel_Name"], cells, whole[-1]


def _counters(name: str, launches: int, passes: Sequence[_Launch]) -> Counters:
    """Of the longest launch in each pass; a rate is over the time of its own pass."""
    figures = {key: value for each in passes for key, value in each.figures.items()}
    rates = [
        each.figures[size] * _KILOBYTE / each.time_ns
        for each in passes
        for size in ("FETCH_SIZE", "WRITE_SIZE")
        if size in each.figures
    ]
    return Counters(
        name=name,
        launches=launches,
        time_us=passes[0].time_ns / 1e3,
        dram_gb_s=sum(rates) if len(rates) == 2 else None,
        dram_percent=None,
        sm_percent=None,
        tensor_percent=figures.get("MfmaUtil"),
        occupancy_percent=figures.get("OccupancyPercent"),
        registers=passes[0].registers or None,
        stalls=(),
    )
