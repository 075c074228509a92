"""Hardware counters of AMD's GPUs by rocprofv3: how it is called, and what its table says.

Written by the manual of ROCprofiler-SDK 1.0 (ROCm 7) and tables of others; no AMD GPU has met it. A pass takes what
the hardware counts at once, and rocprofv3 would start the application anew for a second one: here each pass is a
worker of its own. Its table has a row for each launch and counter. It cannot be told to begin later, so that the
forwards before the one that counts are in it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from kernelgauge.profiling.kernel_names import short_name
from kernelgauge.schema import Counters

NAME = "rocprofv3"
PACKAGE = "ROCprofiler-SDK, part of ROCm"
NOTE = "counted by rocprofv3: each launch alone, with caches as the one before left them"

# Derived counters of CDNA: kilobytes to and from memory, per cent. Both sizes take more of the L2 cache's counters
# than it has at once.
_PASSES = (("FETCH_SIZE",), ("WRITE_SIZE",), ("OccupancyPercent", "MfmaUtil"))
PASSES = len(_PASSES)

_FORWARDS = 3
"""Of them the last counts: `profiler.one_for_ncu`."""
_MOST_KERNELS = 5
_PLAIN_NAME = re.compile(r"\w{1,200}")
_KILOBYTE = 1024


@dataclass
class _Launch:
    order: int
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
    return Path(path).resolve().parent.parent


def parse(texts: Sequence[str]) -> tuple[Counters, ...]:
    """The kernels of the tables of all passes, those with the most time first; empty where there is none."""
    found: dict[str, list[_Launch]] = {}
    counts: dict[str, int] = {}
    times: dict[str, float] = {}
    for text in texts:
        for name, launches in _by_kernel(text).items():
            last = launches[-ceil(len(launches) / _FORWARDS) :]
            found.setdefault(name, []).append(max(last, key=lambda launch: launch.time_ns))
            counts.setdefault(name, len(last))
            times.setdefault(name, sum(launch.time_ns for launch in last))
    ordered = sorted(found, key=lambda name: -times[name])[:_MOST_KERNELS]
    return tuple(_counters(name, counts[name], found[name]) for name in ordered)


def complaint(text: str) -> str | None:
    """Why there is no table, in rocprofv3's own words; None if it says nothing."""
    for line in text.splitlines():
        if "error" in line.lower() or "exceeds the capabilities" in line:
            plain = "".join(letter if " " <= letter <= "~" else " " for letter in line)
            return f"rocprofv3 says: {plain.strip()[:300]}"
    return None


def _by_kernel(text: str) -> dict[str, list[_Launch]]:
    """Launches of each kernel in their order, with all figures of one table."""
    launches: dict[tuple[str, int], _Launch] = {}
    for name, row, value in _rows(text):
        number = int(row["Dispatch_Id"])
        launch = launches.get((name, number))
        if launch is None:
            time_ns = float(row["End_Timestamp"]) - float(row["Start_Timestamp"])
            registers = float(row.get("VGPR_Count") or 0) + float(row.get("Accum_VGPR_Count") or 0)
            launch = launches[name, number] = _Launch(number, time_ns, registers)
        launch.figures[row["Counter_Name"]] = value
    kernels: dict[str, list[_Launch]] = {}
    for (name, _), launch in sorted(launches.items(), key=lambda item: item[1].order):
        if launch.time_ns > 0:
            kernels.setdefault(name, []).append(launch)
    return kernels


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
        name=short_name(name),
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
