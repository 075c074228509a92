"""Profiles of real candidates in real workers; where ncu cannot run, texts in its format stand for what it prints."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from extensions import SLIM
from factories import make_environment
from pydantic import ValidationError

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import load_protocol
from kernelgauge.evaluation import hardware_counters
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.problems.loader import load_problem
from kernelgauge.profiling import ncu
from kernelgauge.profiling.kernel_names import base_name, short_name
from kernelgauge.profiling.profile_text import render
from kernelgauge.schema import Outcome, Profile, ProfileRow
from kernelgauge.session.session import Session

OUTSIDE = "(Python, and code that is no operator)"
RELU = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""


def relu_after(lines: str) -> str:
    """The candidate for 1/19 with these lines before its return."""
    indented = "".join(f"        {line}\n" for line in lines.splitlines())
    return RELU.replace("        return", f"{indented}        return")


def example(backend: str, folder: Path) -> tuple[Path, str]:
    """The backend's worked pair: a file with the reference, the text of the candidate."""
    reference, candidate = backend_named(backend).example()
    path = folder / "reference.py"
    path.write_text(reference)
    return path, candidate


# What the profiler says, what a reader sees, and the function alone, which ncu is told to look for.
NAMES = [
    ("relu_kernel(float const*, float*, int)", "relu_kernel", "relu_kernel"),
    ("triton_poi_fused_relu_0", "triton_poi_fused_relu_0", "triton_poi_fused_relu_0"),
    ("kernel_cutlass_relu_tensorptrf32gmemo1_0", "relu", "kernel_cutlass_relu_tensorptrf32gmemo1_0"),
    ("aten::clamp_min", "aten::clamp_min", "aten::clamp_min"),
    ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"),
    ("void ns::tiled<float, 32, true>(float*)", "tiled", "tiled"),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar("
        "at::TensorIteratorBase&, c10::Scalar, c10::Scalar)::{lambda()#1}::operator()() const::{lambda(float)#1}, "
        "std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
        "vectorized_elementwise_kernel<launch_clamp_scalar>",
        "vectorized_elementwise_kernel",
    ),
    (
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::<unnamed>::launch_clamp_scalar("
        "at::TensorIteratorBase &, c10::Scalar, c10::Scalar)::[lambda() (instance 1)]::operator ()() const::"
        "[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)",
        "vectorized_elementwise_kernel<launch_clamp_scalar>",
        "vectorized_elementwise_kernel",
    ),
    (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
        "float>, unsigned int, float, 4, 4> >(at::native::ReduceOp<float, at::native::MeanOps<float, float>, 4>)",
        "reduce_kernel<ReduceOp<MeanOps>>",
        "reduce_kernel",
    ),
    (
        "void vectorized_elementwise_kernel<4, unnamed>::launch_clamp_scalar(TensorIteratorBase &, Scalar, Scalar, "
        "ClampLimits)::[lambda() (instance 1)]::operator ()() lambda() (instance 7)]::operator ()() lambda(float) "
        "(instance 1)], array<char *, 2>>(int, T2, T3)",
        "vectorized_elementwise_kernel<launch_clamp_scalar>",
        "vectorized_elementwise_kernel",
    ),
    ("void cutlass::Kernel2<cutlass_80_sgemm_nn>(Params)", "Kernel2<cutlass_80_sgemm_nn>", "Kernel2"),
    ("weird<(", "weird<(", "weird<("),
]


@pytest.mark.parametrize(("name", "short", "base"), NAMES)
def test_names_of_kernels_lose_their_noise(name: str, short: str, base: str) -> None:
    assert short_name(name) == short
    assert base_name(name) == base


def test_names_are_one_short_line_whatever_a_candidate_calls_its_kernels() -> None:
    assert short_name("red\x1b[31m\n\u202e") == "red?[31m??"
    assert len(short_name("k" * 1000)) == 72


def facts(**changes: object) -> dict[str, object]:
    row = ProfileRow(name="relu_kernel", calls=1, time_us=4.0, share=1.0)
    return {
        "problem": "1/19",
        "problem_name": "relu",
        "problem_digest": "fedcba9876543210",
        "sizes": "full",
        "backend": "cuda",
        "candidate_digest": "0123456789abcdef",
        "device": "cuda",
        "environment": make_environment(),
        "rows_are": "kernels",
        "forwards": 10,
        "wall_us": 20.0,
        "busy_us": 4.0,
        "launches": 1,
        "rows": (row,),
        **changes,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.PASSED},
        {"outcome": Outcome.RUNTIME_ERROR, "reason": "forward: it fell over"},
        {"wall_us": None},
        {"wall_us": float("nan")},
        {"reason": "it fell over"},
        {"busy_us": None},
        {"rows_are": "operators"},
        {"rest": ProfileRow(name="2 others", calls=1, time_us=1.0, share=0.5)},
    ],
)
def test_a_profile_refuses_to_contradict_itself(changes: dict[str, object]) -> None:
    Profile(**facts())
    with pytest.raises(ValidationError):
        Profile(**facts(**changes))


def test_gaps_decide_what_is_launch_bound() -> None:
    bound, busy = Profile(**facts()), Profile(**facts(busy_us=21.0))
    assert bound.gaps == pytest.approx(0.8) and bound.launch_bound
    assert busy.gaps == 0 and not busy.launch_bound
    assert "launch-bound" in render(bound) and "launch-bound" not in render(busy)
    assert bound.summary()["launch_bound"] is True
    assert Profile(**bound.model_dump()) == bound


# The layout of `ncu --csv --page raw`: a header, a line of units, then a line for each launch.
COLUMNS = {
    "ID": ("", "0", "1", "2"),
    "Kernel Name": ("", "void ns::scale<4>(float *, int)", "relu(float *)", "void ns::scale<4>(float *, int)"),
    "Block Size": ("", "(256, 1, 1)", "(256, 1, 1)", "(256, 1, 1)"),
    "dram__bytes.sum.per_second": ("Gbyte/second", "1,500.5", "2000", "1000"),
    "gpu__time_duration.sum": ("usecond", "3", "2.5", "1"),
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": ("%", "45.5", "n/a", "30"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "12", "20", "10"),
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active": ("%", "0", "0", "0"),
    "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active": ("%", "61", "0", "0"),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", "80", "70", "60"),
    "launch__registers_per_thread": ("register/thread", "32", "16", "32"),
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": ("inst", "6", "1", "1"),
    "smsp__average_warps_issue_stalled_long_scoreboard_not_issued_per_issue_active.ratio": ("inst", "6", "1", "1"),
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": ("inst", "3", "1", "1"),
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": ("inst", "1", "1", "1"),
}


def raw_page(columns: dict[str, tuple[str, ...]] = COLUMNS) -> str:
    lines = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    table = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    return f"==PROF== Connected to process 12\n{table}\n==PROF== Disconnected from process 12\n"


def test_a_raw_page_becomes_counters() -> None:
    scale, relu = ncu.parse([raw_page()])
    assert (scale.name, scale.launches, relu.name, relu.launches) == ("scale", 2, "relu", 1)
    assert scale.time_us == pytest.approx(3.0) and scale.dram_gb_s == pytest.approx(1500.5)
    assert (scale.dram_percent, relu.dram_percent) == (45.5, None)
    assert (scale.sm_percent, scale.tensor_percent, scale.occupancy_percent, scale.registers) == (12, 61, 80, 32)
    assert [(stall.reason, stall.percent) for stall in scale.stalls] == [("long_scoreboard", 60), ("wait", 30)]
    base_units = COLUMNS | {"gpu__time_duration.sum": ("ns", "3000", "2500", "1000")}
    assert ncu.parse([raw_page(base_units)])[0].time_us == pytest.approx(3.0)


@pytest.mark.parametrize("text", ["", "==ERROR== no\n", '"ID","Kernel Name"\n"0","k"\n', "\x00\xff,,,\n" * 10])
def test_what_is_no_raw_page_has_no_counters(text: str) -> None:
    assert ncu.parse([text]) == ()


def test_complaints_of_ncu_are_one_sentence() -> None:
    denied = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access ...\n"
    assert "NVreg_RestrictProfilingToAdminUsers=0" in str(ncu.complaint(denied))
    assert ncu.complaint("==WARNING== No kernels were profiled.\n") == "ncu says: No kernels were profiled."
    assert ncu.complaint("==PROF== Connected\n") is None


def test_only_plain_names_reach_the_command_of_ncu() -> None:
    command = ncu.command("ncu", ["a", "x|.*", "Memset (Device)", "a", "c"], Path("r"))
    assert command[command.index("--kernel-name") + 1] == "regex:^(a|c)$"
    assert "--kernel-name" not in ncu.command("ncu", ["Memset (Device)"], Path("r"))


def test_a_report_is_read_only_where_it_is_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    found = {name: hardware_counters._read(tmp_path / name) for name in ("plain", "link", "folder", "pipe", "gone")}
    assert found == {"plain": "text", "link": "", "folder": "", "pipe": "", "gone": ""}


def assert_whole(profile: Profile) -> None:
    """What holds of every profile of a forward that ran."""
    assert profile.outcome is None, profile.reason
    assert profile.wall_us and profile.wall_us > 0 and profile.forwards >= 1
    rest = [profile.rest] if profile.rest else []
    assert sum(row.share for row in [*profile.rows, *rest]) == pytest.approx(1.0)
    assert list(profile.rows) == sorted(profile.rows, key=lambda row: -row.time_us)
    text = render(profile)
    assert text.isascii() and len(text.splitlines()) <= 35
    assert all(row.name in text for row in profile.rows)


@pytest.mark.processes
def test_the_reference_alone(session: Session) -> None:
    profile = session.profile("1/19", sizes="small")
    assert_whole(profile)
    calls = {row.name: row.calls for row in profile.rows}
    assert calls == {"aten::relu": 1, "aten::clamp_min": 1, OUTSIDE: 1}
    assert profile.launches == 1 and profile.rest is None
    assert profile.peak_bytes == 32 * 2048 * 4
    assert (profile.candidate_digest, profile.busy_us, profile.counters) == (None, None, ())
    assert render(profile).startswith("profile of the reference of 1/19 relu, sizes small, arithmetic ieee, on ")


@pytest.mark.processes
def test_what_is_profiled_computes_in_the_arithmetic_asked_for(session: Session) -> None:
    narrow = session.profile("1/19", relu_after("assert x.dtype is torch.bfloat16"), sizes="small", math="bf16")
    assert_whole(narrow)
    assert narrow.math == "bf16" and narrow.peak_bytes == 32 * 2048 * 2


@pytest.mark.processes
def test_many_operators_are_ten_rows_and_the_rest(session: Session) -> None:
    lines = "\n".join(
        f"x.{name}()" for name in ("sin", "cos", "tan", "exp", "log", "abs", "neg", "sqrt", "floor", "ceil")
    )
    profile = session.profile("1/19", relu_after(lines), sizes="small")
    assert_whole(profile)
    assert len(profile.rows) == 10 and profile.rest is not None
    assert profile.launches == 11
    number, word = profile.rest.name.split()
    assert int(number) >= 3 and word == "others"


@pytest.mark.proof
def test_a_compiled_function_is_a_row_of_its_own(session: Session, tmp_path: Path) -> None:
    reference, candidate = example("cpp", tmp_path)
    profile = session.profile(reference, candidate)
    assert_whole(profile)
    assert profile.backend == "cpp"
    assert "bias_hardswish_scale.bias_hardswish_scale" in {row.name for row in profile.rows}
    assert "files" in profile.isolation or sys.platform != "linux"


@pytest.mark.processes
def test_interpreted_triton_says_that_its_times_mean_nothing(session: Session, tmp_path: Path) -> None:
    if backend_named("triton").missing("cpu"):
        pytest.skip("Triton is not installed")
    reference, candidate = example("triton", tmp_path)
    profile = session.profile(reference, candidate)
    assert_whole(profile)
    assert profile.rows[0].name == OUTSIDE
    assert any("these times say nothing about a GPU" in note for note in profile.notes)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("source", "outcome", "word"),
    [
        (relu_after("raise ArithmeticError('no')"), Outcome.RUNTIME_ERROR, "ArithmeticError: no"),
        (relu_after("import os\nos._exit(3)"), Outcome.RUNTIME_ERROR, "exit status 3"),
        (relu_after("import os\nos.kill(os.getpid(), 9)"), Outcome.RUNTIME_ERROR, "killed"),
        (RELU.replace("ModelNew", "Other"), Outcome.LOAD_FAILED, "no class ModelNew"),
        (SLIM.replace("float factor;", "float factor"), Outcome.BUILD_FAILED, "error: expected"),
    ],
    ids=["raises", "exits", "kills itself", "no class", "does not compile"],
)
def test_what_the_candidate_does_wrong_is_in_the_record(
    session: Session, source: str, outcome: Outcome, word: str
) -> None:
    profile = session.profile("1/19", source, sizes="small")
    assert profile.outcome is outcome
    assert word in profile.reason
    assert not profile.rows and profile.wall_us is None
    assert profile.reason in render(profile)


FORGED = """
import kernelgauge.profiling.profiler as profiler
profiler.profiled = lambda *_: {CLAIM}
"""
HONEST = {
    **{"wall_us": 1.0, "busy_us": None, "rows_are": "operators", "forwards": 1, "launches": 1, "peak_bytes": 0},
    **{
        "rows": [{"name": "a\x1b[2J", "function": "a", "calls": 1.0, "time_us": 1.0}],
        "others": 0,
        "other_calls": 0,
        "other_us": 0,
    },
}


@pytest.mark.processes
def test_a_forged_profile_is_cleaned_or_refused(session: Session) -> None:
    taken = session.profile("1/19", RELU + FORGED.replace("{CLAIM}", repr(HONEST)), sizes="small")
    assert [row.name for row in taken.rows] == ["a?[2J"]
    for change in ({"wall_us": -1.0}, {"rows": "all"}, {"rows_are": "kernels"}, {"launches": 1e300}, {"more": 1}):
        claim = repr({**HONEST, **change})
        profile = session.profile("1/19", RELU + FORGED.replace("{CLAIM}", claim), sizes="small")
        assert profile.outcome is Outcome.REJECTED, change
        assert "not a well-formed profile" in profile.reason


STAND_IN = """#!{python}
# Launches the application as ncu does, and reports on what that did instead of on kernels.
import json, pathlib, socket, subprocess, sys
inner = sys.argv.index({python!r})
report = pathlib.Path(sys.argv[sys.argv.index("--log-file") + 1])
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
done = subprocess.run(sys.argv[inner:], stdin=0)
found = json.loads(pathlib.Path("found.json").read_text())
rows = "".join(f'"0","{{key}}_{{value}}","1"\\n' for key, value in found.items())
header = '"ID","Kernel Name","gpu__time_duration.sum"\\n"","","us"\\n'
report.write_text(f'{{header}}"1","ended_{{done.returncode}}","2"\\n{{rows}}')
"""
TELLS = """import json, os
def may_write(path):
    try:
        open(path, "w").close()
        return True
    except OSError:
        return False
def may_read(path):
    try:
        open(path).close()
        return True
    except OSError:
        return False
alone = len([name for name in os.listdir("/proc") if name.isdigit()]) < 12
found = {"outside": may_write(OUTSIDE), "secret": may_read(SECRET), "processes": alone}
open("found.json", "w").write(json.dumps(found))"""


@pytest.mark.processes
@pytest.mark.parametrize("sealed", [True, False])
def test_a_worker_under_a_profiler_is_sealed_too(session: Session, tmp_path: Path, sealed: bool) -> None:
    """With a stand-in for ncu, which no machine without a GPU has: how it is started, asked and read is the same."""
    profiler = tmp_path / "bin" / "ncu"
    profiler.parent.mkdir()
    profiler.write_text(STAND_IN.format(python=sys.executable))
    profiler.chmod(profiler.stat().st_mode | stat.S_IXUSR)
    outside, secret = tmp_path / "outside", tmp_path / "secret"
    secret.write_text("a key")
    told = TELLS.replace("OUTSIDE", repr(str(outside))).replace("SECRET", repr(str(secret)))
    source = Source(relu_after(told), "ModelNew", "torch")
    problem = load_problem("1/19", sizes="small")
    with Reference(session._zygote, problem, load_protocol("strict"), "cpu") as reference:
        reference.draw("own")
        profiled = hardware_counters.Profiled(source, "cpu", ncu, str(profiler), {"relu": 1.0}, sealed)
        found = {counters.name for counters in hardware_counters.count(session._zygote, profiled, reference)}
    assert found == {"ended_0", f"outside_{not sealed}", f"secret_{not sealed}", f"processes_{sealed}"}
    assert outside.exists() is not sealed


@pytest.mark.processes
@pytest.mark.parametrize("profiler", ["/nonexistent/ncu", "/bin/false"])
def test_a_profiler_that_does_not_start_is_one_sentence(session: Session, profiler: str) -> None:
    problem = load_problem("1/19", sizes="small")
    with Reference(session._zygote, problem, load_protocol("strict"), "cpu") as reference:
        reference.draw("own")
        profiled = hardware_counters.Profiled(Source(RELU, "ModelNew", "torch"), "cpu", ncu, profiler)
        with pytest.raises(hardware_counters.NoCounters, match="under ncu: worker ended"):
            hardware_counters.count(session._zygote, profiled, reference)


@pytest.mark.proof
@pytest.mark.parametrize(
    ("arguments", "source", "code", "word"),
    [
        ("1/19 - --sizes small", RELU, 0, "profile of a torch candidate for 1/19 relu"),
        ("1/19 - --sizes small --math fp16", RELU, 0, "arithmetic fp16"),
        ("1/19 - --sizes small", relu_after("raise ArithmeticError('no')"), 1, "runtime_error: profile: Arithmetic"),
    ],
)
def test_the_command(arguments: str, source: str, code: int, word: str) -> None:
    done = command(arguments, source)
    assert done.returncode == code, done.stderr
    assert word in done.stdout and done.stderr == ""


@pytest.mark.proof
def test_the_command_prints_one_object() -> None:
    done = command("1/19 --sizes small --json", None)
    record = json.loads(done.stdout)
    assert {"rows", "wall_us", "gaps", "launch_bound", "counters", "environment"} <= set(record)
    assert record["outcome"] is None and record["device"] == "cpu"


def command(arguments: str, source: str | None) -> subprocess.CompletedProcess[str]:
    started = [sys.executable, "-m", "kernelgauge", "profile", *arguments.split(), "--device", "cpu"]
    return subprocess.run(started, capture_output=True, text=True, input=source)


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["torch", "cuda", "triton"])
def test_kernels_on_a_gpu(session: Session, tmp_path: Path, backend: str) -> None:
    reference, candidate = example(backend, tmp_path)
    if reason := backend_named(backend).missing("cuda"):
        pytest.skip(reason)
    profile = session.profile(reference, candidate, device="cuda", counters=False)
    assert_whole(profile)
    assert profile.rows_are == "kernels", profile.notes
    assert profile.launches >= 1 and profile.busy_us and profile.busy_us > 0
    assert profile.gaps is not None and 0 <= profile.gaps < 1
    if backend != "torch":
        own = {name for name in (short_name(row.name) for row in profile.rows) if name.split("<")[0] in candidate}
        assert own, f"the candidate's own kernel is among {profile.rows}"


@pytest.mark.gpu
def test_a_gpu_that_waits_for_the_host_is_launch_bound(session: Session) -> None:
    source = relu_after("import time\ntime.sleep(0.02)\nfor _ in range(30): x = x * 1.0")
    profile = session.profile("1/19", source, sizes="small", device="cuda", counters=False)
    assert_whole(profile)
    assert profile.launches == 31
    assert profile.launch_bound, render(profile)


@pytest.mark.gpu
@pytest.mark.skipif(hardware_counters.path_of(ncu) is None, reason="there is no ncu here")
@pytest.mark.parametrize("backend", [None, "cuda", "triton"])
def test_counters_of_a_gpu(session: Session, tmp_path: Path, backend: str | None) -> None:
    if backend is None:
        profile = session.profile("1/19", sizes="medium", device="cuda")
    else:
        reference, candidate = example(backend, tmp_path)
        profile = session.profile(reference, candidate, device="cuda")
    assert_whole(profile)
    if any("ERR_NVGPUCTRPERM" in note for note in profile.notes):
        pytest.skip(profile.notes[-1])
    assert profile.counters, profile.notes
    longest = profile.counters[0]
    assert longest.name == profile.rows[0].name
    assert longest.registers and longest.occupancy_percent and longest.sm_percent
    assert longest.dram_gb_s and longest.dram_percent and longest.dram_percent < 110
    assert longest.stalls and longest.name in render(profile)
