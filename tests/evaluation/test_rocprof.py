"""Counters of AMD's GPUs: rocprofv3's command and tables, and a stand-in for it around a real worker."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.evaluation import hardware_counters
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.problems.loader import load_problem
from kernelgauge.profiling import rocprof
from kernelgauge.schema import Counters
from kernelgauge.session.session import Session

RELU = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""
COLUMNS = [
    *("Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id"),
    *("Kernel_Name", "Workgroup_Size", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count"),
    *("SGPR_Count", "Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp"),
]


def table(*launches: tuple[int, str, int, dict[str, float]]) -> str:
    """Of launches with number, kernel, nanoseconds and counters: a row for each launch and counter."""
    rows = [",".join(f'"{name}"' for name in COLUMNS)]
    for number, kernel, time_ns, counters in launches:
        for counter, value in counters.items():
            front = f'{number},{number},"Agent 1",1,7,7,4096,3,"{kernel}",256,0,0,52,4,32'
            rows.append(f'{front},"{counter}",{value:.6f},{number * 10**6},{number * 10**6 + time_ns}')
    return "\n".join(rows) + "\n"


CALLS = {"relu": 2.0, "scale": 1.0}


def forwards(counter: str, value: float, time_ns: int) -> str:
    """Trials of a tuner, then forwards with two launches of `relu` and one of `scale`, of which the last counts."""
    relu, scale = "void ns::relu<float>(float*)", "scale(float*, int)"
    launches = [(number, relu, 90_000, {counter: 9 * value}) for number in range(1, 8)]
    launches += [(number, name, 70_000, {counter: value}) for number, name in ((8, scale), (9, relu), (10, relu))]
    last = ((11, relu, time_ns), (12, scale, time_ns), (13, relu, time_ns // 2))
    return table(*launches, *((number, name, time, {counter: value}) for number, name, time in last))


def test_tables_of_all_passes_become_counters() -> None:
    passes = [forwards("FETCH_SIZE", 1000, 2000), forwards("WRITE_SIZE", 500, 4000)]
    passes.append(forwards("OccupancyPercent", 80, 1000))
    relu, scale = rocprof.parse(passes, CALLS)
    assert (relu.name, relu.launches, scale.name, scale.launches) == ("relu", 2, "scale", 1)
    assert relu.time_us == pytest.approx(2.0) and (relu.registers, relu.occupancy_percent) == (56, 80)
    assert relu.dram_gb_s == pytest.approx(1000 * 1024 / 2000 + 500 * 1024 / 4000)
    assert (relu.tensor_percent, relu.dram_percent, relu.sm_percent, relu.stalls) == (None, None, None, ())


def test_a_bandwidth_needs_both_ways() -> None:
    (found,) = rocprof.parse([table((1, "relu", 1000, {"FETCH_SIZE": 500}))], CALLS)
    assert found.dram_gb_s is None and found.time_us == pytest.approx(1.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "E20251127 12:00:00 no such counter\n",
        ",".join(COLUMNS) + "\n1,1,a\n",
        "\x00\xff,,,\n" * 10,
        table((1, "relu", 0, {"FETCH_SIZE": 5})),
        table((1, "relu", 5, {"FETCH_SIZE": 5})).replace("5.000000", "n/a"),
    ],
    ids=["nothing", "a complaint", "half a row", "no text", "no time", "no number"],
)
def test_what_is_no_table_has_no_counters(text: str) -> None:
    assert rocprof.parse([text], CALLS) == ()


def test_complaints_of_rocprof_are_one_sentence() -> None:
    told = "I1127 starting\nE1127 Request exceeds the capabilities of the hardware to collect\n"
    assert rocprof.complaint(told) == (
        "rocprofv3 says: E1127 Request exceeds the capabilities of the hardware to collect"
    )
    assert rocprof.complaint("I1127 opened result file\n") is None


def test_only_plain_names_reach_the_command_of_rocprof() -> None:
    command = rocprof.command("rocprofv3", ["a", "x|.*", "Memset (Device)", "a", "c"], Path("/s/r"), 3)
    assert command[:3] == ["rocprofv3", "--pmc", "MfmaUtil"] and command[-1] == "--"
    assert command[command.index("--kernel-include-regex") + 1] == r"\b(a|c)\b"
    assert rocprof.report_file(Path("/s/r")) == Path("/s/r_counter_collection.csv")
    assert "--kernel-include-regex" not in rocprof.command("rocprofv3", [], Path("/s/r"), 0)


# Launches the application as rocprofv3 does, and gives each counter that was asked for a value, if it knows it.
STAND_IN = """#!{python}
import pathlib, subprocess, sys
options, application = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
after = lambda name: options[options.index(name) + 1]
counters = options[options.index("--pmc") + 1 : options.index("--kernel-include-regex")]
done = subprocess.run(application, stdin=0)
if counters[0] in {lacks!r}:
    sys.exit(f"error: {{counters[0]}} is no counter of this GPU")
folder, name = pathlib.Path(after("--output-directory")), after("--output-file")
header = "Dispatch_Id,Kernel_Name,VGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
rows = [f"1,ended_{{done.returncode}},8,{{counter}},{value},0,1000" for counter in counters]
(folder / f"{{name}}_counter_collection.csv").write_text("\\n".join([header, *rows]))
"""


def counted(session: Session, folder: Path, lacks: tuple[str, ...], value: str = "1000") -> Counters:
    path = folder / "rocm" / "bin" / "rocprofv3"
    path.parent.mkdir(parents=True)
    path.write_text(STAND_IN.format(python=sys.executable, lacks=lacks, value=value))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    problem = load_problem("1/19", sizes="small")
    with Reference(session._zygote, problem, load_protocol("strict"), "cpu") as reference:
        reference.draw("own")
        source = Source(RELU, "ModelNew", "torch")
        profiled = hardware_counters.Profiled(source, "cpu", rocprof, str(path), {"relu": 1.0}, sealed=True)
        (found,) = hardware_counters.count(session._zygote, profiled, reference)
    return found


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lacks", "bandwidth", "occupancy", "matrix"),
    [((), 2048, 1000, 1000), (("WRITE_SIZE", "MfmaUtil"), None, 1000, None), (("FETCH_SIZE",), None, 1000, 1000)],
)
def test_each_pass_is_a_worker_under_rocprof(
    session: Session,
    tmp_path: Path,
    lacks: tuple[str, ...],
    bandwidth: float | None,
    occupancy: float,
    matrix: float | None,
) -> None:
    found = counted(session, tmp_path, lacks)
    assert (found.name, found.registers) == ("ended_0", 8)
    assert (found.dram_gb_s, found.occupancy_percent, found.tensor_percent) == (bandwidth, occupancy, matrix)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lacks", "value", "why"),
    [
        (
            ("FETCH_SIZE", "WRITE_SIZE", "OccupancyPercent", "MfmaUtil"),
            "1",
            "rocprofv3 says: error: FETCH_SIZE is no",
        ),
        ((), "nan", "the report of rocprofv3 is not well-formed"),
        ((), "1" * 200_000, "the report of rocprofv3 is not well-formed"),
    ],
    ids=["no counter at all", "no number", "an endless cell"],
)
def test_why_there_are_no_counters_is_a_sentence(
    session: Session, tmp_path: Path, lacks: tuple[str, ...], value: str, why: str
) -> None:
    with pytest.raises(hardware_counters.NoCounters, match=why):
        counted(session, tmp_path, lacks, value)


def test_a_pytorch_for_rocm_is_counted_by_rocprof(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert hardware_counters.tool_here().NAME == "ncu"
    monkeypatch.setattr(hardware_counters, "package_version", lambda name: "2.11.0+rocm7.1")
    tool = hardware_counters.tool_here()
    assert tool is rocprof
    program = tmp_path / "bin" / "rocprofv3"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("ROCM_HOME", str(tmp_path))
    assert hardware_counters.path_of(tool) == str(program)
    assert rocprof.files(str(program)) == program.parent  # a folder of others is not opened for a candidate
    (tmp_path / "lib" / "rocprofiler-sdk").mkdir(parents=True)
    assert rocprof.files(str(program)) == tmp_path
