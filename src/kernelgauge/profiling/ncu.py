"""Hardware counters by Nsight Compute: how ncu is called, and what its raw page says.

The columns of the raw page are metrics, and which there are differs between GPUs and versions of ncu. So whole
sections are asked for, which ncu fits to the GPU, and of several spellings of a figure the first one there counts.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kernelgauge.profiling.kernel_names import short_name
from kernelgauge.schema import Counters, Stall

NAME = "ncu"
PACKAGE = "Nsight Compute, part of the CUDA toolkit"
NOTE = "counted by ncu: each launch alone and with cold caches"
PASSES = 1

_SECTIONS = (
    "SpeedOfLight",
    "MemoryWorkloadAnalysis",
    "ComputeWorkloadAnalysis",
    "Occupancy",
    "LaunchStats",
    "WarpStateStats",
)
# Each is replayed some ten times with its memory saved and restored.
_MOST_LAUNCHES = 20
_MOST_KERNELS = 5
_MOST_STALLS = 3
_PLAIN_NAME = re.compile(r"\w{1,200}")

_TIME = ("gpu__time_duration.sum",)
_BANDWIDTH = ("dram__bytes.sum.per_second",)
_DRAM = (
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
)
_SM = ("sm__throughput.avg.pct_of_peak_sustained_elapsed",)
_OCCUPANCY = ("sm__warps_active.avg.pct_of_peak_sustained_active",)
_REGISTERS = ("launch__registers_per_thread",)
_TENSOR = re.compile(r"sm__(inst_executed_)?pipe_tensor\w*\.(avg|sum)\.pct_of_peak_sustained_(active|elapsed)")
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)(_not_issued)?_per_issue_active\.ratio")
_UNIT = re.compile(r"([numkKMGT]?)(?:s|sec|second|byte|B)(?:/s|/sec|/second)?")
_SCALE = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

_NO_PERMISSION = (
    "the driver keeps the GPU's counters for administrators (ERR_NVGPUCTRPERM): allow them with the module option "
    "NVreg_RestrictProfilingToAdminUsers=0, or, for a file that you trust, run as root with --unsealed"
)


def command(path: str, functions: Iterable[str], report: Path, number: int = 0) -> list[str]:
    """ncu and its options, up to the application's own command; the raw page goes into the file `report`.

    Args:
        functions: bare names of the kernels of a forward, the longest first; only the first few are counted. Where
            there are none, all kernels are.
        number: which pass; there is one, in which ncu replays each launch.
    """
    names = dict.fromkeys(name for name in functions if _PLAIN_NAME.fullmatch(name))
    wanted = "|".join(list(names)[:_MOST_KERNELS])
    which = ["--kernel-name-base", "function", "--kernel-name", f"regex:^({wanted})$"] if wanted else []
    return [
        *(path, "--target-processes", "all", "--profile-from-start", "off", "--clock-control", "none"),
        *(part for section in _SECTIONS for part in ("--section", section)),
        *which,
        *("--launch-count", str(_MOST_LAUNCHES)),
        *("--csv", "--page", "raw", "--print-units", "base", "--log-file", str(report)),
    ]


def report_file(report: Path) -> Path:
    return report


def files(path: str) -> Path:
    """What the worker must be able to read: ncu's folder, with the libraries that it has the worker load."""
    return Path(path).resolve().parent


def parse(texts: Sequence[str], calls: Mapping[str, float] | None = None) -> tuple[Counters, ...]:
    """The kernels of raw pages, those with the most time first; empty where there is no page.

    Args:
        calls: launches of a forward; not asked for, since ncu counts one forward alone.

    Raises:
        ValueError, csv.Error: a page is not well-formed.
    """
    launches: dict[str, list[Counters]] = {}
    for name, row in (row for text in texts for row in _rows(text)):
        found = _counters(name, row)
        if found is not None:
            launches.setdefault(found.name, []).append(found)
    ordered = sorted(launches.values(), key=lambda each: -sum(launch.time_us for launch in each))
    return tuple(
        max(each, key=lambda launch: launch.time_us).model_copy(update={"launches": len(each)})
        for each in ordered[:_MOST_KERNELS]
    )


def complaint(text: str) -> str | None:
    """Why there is no raw page, in ncu's own words; None if it says nothing."""
    if "ERR_NVGPUCTRPERM" in text:
        return _NO_PERMISSION
    for mark in ("==ERROR==", "==WARNING=="):
        for line in text.splitlines():
            if line.startswith(mark):
                return f"ncu says: {short_line(line.removeprefix(mark))}"
    return None


def short_line(text: str) -> str:
    """One line of printable text, cut to a sentence's length."""
    return "".join(letter if " " <= letter <= "~" else " " for letter in text).strip()[:300]


def _rows(text: str) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Name and figures in base units (seconds, bytes per second, per cent, counts) of each kernel launch."""
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    table = csv.DictReader(line for line in lines[start:] if not line.startswith("=="))
    units: dict[str, str] = {}
    for number, row in enumerate(table):
        cells = {name: value for name, value in row.items() if isinstance(name, str) and isinstance(value, str)}
        if number == 0 and not cells.get("ID"):
            units = cells
            continue
        figures = {name: _figure(value, units.get(name, "")) for name, value in cells.items()}
        yield cells.get("Kernel Name", ""), {name: value for name, value in figures.items() if value is not None}


def _figure(value: str, unit: str) -> float | None:
    try:
        number = float(value.replace(",", ""))
    except ValueError:  # a name, a shape such as (256, 1, 1), or n/a
        return None
    scaled = _UNIT.fullmatch(unit)
    return number * (_SCALE[scaled[1]] if scaled else 1.0)


def _counters(name: str, row: Mapping[str, float]) -> Counters | None:
    def figure(spellings: tuple[str, ...], scale: float = 1.0) -> float | None:
        found = (row[spelling] * scale for spelling in spellings if spelling in row)
        return next(found, None)

    time_us = figure(_TIME, 1e6)
    if time_us is None or not name:
        return None
    tensor = [value for metric, value in row.items() if _TENSOR.fullmatch(metric)]
    return Counters(
        name=short_name(name),
        launches=1,
        time_us=time_us,
        dram_gb_s=figure(_BANDWIDTH, 1e-9),
        dram_percent=figure(_DRAM),
        sm_percent=figure(_SM),
        tensor_percent=max(tensor, default=None),
        occupancy_percent=figure(_OCCUPANCY),
        registers=figure(_REGISTERS),
        stalls=_stalls(row),
    )


def _stalls(row: Mapping[str, float]) -> tuple[Stall, ...]:
    """The largest reasons to wait, `selected` (no wait) left out of them but not out of the whole."""
    matches = ((_STALL.fullmatch(metric), value) for metric, value in row.items())
    waits = {match[1]: value for match, value in matches if match and not match[2]}
    whole = sum(waits.values())
    if not whole:
        return ()
    largest = sorted((reason for reason in waits if reason != "selected"), key=lambda reason: -waits[reason])
    return tuple(Stall(reason=reason, percent=100 * waits[reason] / whole) for reason in largest[:_MOST_STALLS])
