"""The bound: peaks, work, what must have moved, and who is refused for being faster than that."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from factories import make_environment, make_evaluation, make_timing
from pydantic import ValidationError
from typer.testing import CliRunner

from kernelgauge.checks.bound import best_rate, bound, crossing, faster_than_memory, floor_ms, least_time
from kernelgauge.cli.main import app
from kernelgauge.cli.verdict import bound_line
from kernelgauge.config import MathMode
from kernelgauge.errors import DeviceMissing, MachineError, ProblemError, UsageError
from kernelgauge.evaluation.resources import description
from kernelgauge.evaluation.resources.bound import Bounds
from kernelgauge.hardware import environment
from kernelgauge.hardware.environment import gpu
from kernelgauge.hardware.peaks import known, published, stored
from kernelgauge.problems import catalogue
from kernelgauge.problems.facts import facts
from kernelgauge.problems.loader import load_problem
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Bound, Evaluation, Outcome, Peaks, Problem, Timing, Work
from kernelgauge.selftest.specimens import problem, specimens
from kernelgauge.session.session import Session

MIB = 2**20
H100 = Peaks(
    device="cuda",
    name="NVIDIA H100 80GB HBM3",
    source="measured",
    read_gbs=3000,
    copy_gbs=2800,
    ceiling_gbs=3350,
    flops={"fp64": 60e12, "fp32": 50e12, "tf32": 390e12, "fp16": 700e12, "bf16": 720e12},
    cache_bytes=50 * MIB,
)
CPU = H100.model_copy(update={"device": "cpu"})


def timed(candidate_ms: float, reference_ms: float = 2.0, overhead_ms: float = 0.0) -> Timing:
    made = make_timing(reference_ms / candidate_ms)
    times = {"candidate_ms": candidate_ms, "reference_ms": reference_ms, "overhead_ms": overhead_ms}
    return Timing(**{**made.model_dump(), **times})


def moving(megabytes: float) -> Work:
    """As many inputs as outputs, and no FLOPs."""
    return Work(inputs=int(megabytes * 5e5), parameters=0, outputs=int(megabytes * 5e5))


# ---------------------------------------------------------------- formulas


def test_what_is_cached_at_either_end_of_a_call_does_not_cross_the_bus() -> None:
    work = Work(inputs=100, parameters=20, outputs=70)
    assert crossing(work, 0, cold=False) == 190
    assert crossing(work, 30, cold=True) == 120 + 40
    assert crossing(work, 30, cold=False) == 90 + 40
    assert crossing(work, 100, cold=False) == 20
    assert crossing(work, 1000, cold=False) == 0


@pytest.mark.parametrize(
    ("math", "narrowest", "rate", "name"),
    [
        ("ieee", "float32", 130e12, "tf32 in 3 products"),
        ("torch", "float32", 720e12, "bf16"),
        ("tf32", "float32", 700e12, "fp16"),
        ("bf16", "half", 720e12, "bf16"),
        ("ieee", "half", 720e12, "bf16"),
        ("torch", "float64", 60e12, "fp64"),
    ],
)
def test_the_rate_is_the_best_that_keeps_the_precision(
    math: MathMode, narrowest: str, rate: float, name: str
) -> None:
    assert best_rate(H100, math, narrowest) == (pytest.approx(rate), name)


def test_a_device_without_tensor_cores_has_its_plain_rate() -> None:
    plain = H100.model_copy(update={"flops": {"fp32": 8e12}})
    assert best_rate(plain, "torch", "float32") == (8e12, "fp32")


def test_the_longer_part_binds() -> None:
    copy = least_time(moving(4000), H100, "ieee")
    assert copy is not None
    assert copy.ms == copy.bytes_ms == pytest.approx((4000e6 - 50 * MIB) / 3000e9 * 1e3)
    product = Work(flops=2 * 4096**3, inputs=2 * 4 * 4096**2, parameters=0, outputs=4 * 4096**2)
    least = least_time(product, H100, "ieee")
    assert least is not None
    assert least.ms == least.flops_ms == pytest.approx(2 * 4096**3 / 130e12 * 1e3)


def test_small_data_has_no_bound_where_caches_are_warm() -> None:
    assert least_time(moving(60), CPU, "ieee") is None
    cold = least_time(moving(60), H100, "ieee")
    assert cold is not None and cold.ms == pytest.approx(30e6 / 3000e9 * 1e3), "a flushed input must come from memory"
    assert bound(moving(60), CPU, "ieee", timed(1e-6)) is None


def test_what_both_sides_reach_is_on_the_record() -> None:
    found = bound(moving(4000), H100, "ieee", timed(candidate_ms=2.0, reference_ms=5.0))
    assert found is not None
    assert found.share == pytest.approx(found.bound_ms / 2.0)
    assert found.headroom == pytest.approx(5.0 / found.bound_ms)
    assert (found.binding, found.peaks, found.review) == ("memory", "measured", "")
    record = make_evaluation(bound=found)
    assert Evaluation.model_validate_json(record.model_dump_json()) == record
    summary = record.summary()
    assert [summary[name] for name in ("bound_ms", "bound_by", "bound_share", "headroom", "review")] == [
        *(found.bound_ms, "memory", found.share, found.headroom, "")
    ]
    line = bound_line(found)
    assert f"reaches {100 * found.share:.3g} % of the bound (memory, " in line
    assert f"reference {100 / found.headroom:.3g} %" in line


def test_records_refuse_contradictions() -> None:
    found = bound(moving(4000), H100, "ieee", timed(2.0))
    assert found is not None
    good = found.model_dump()
    for changes in ({"bound_ms": 7.0}, {"binding": "arithmetic"}, {"share": 0.0}, {"flops_ms": 1e9}):
        with pytest.raises(ValidationError):
            Bound(**{**good, **changes})
    with pytest.raises(ValidationError, match="compared with a time"):
        make_evaluation(bound=found, timing=None)
    with pytest.raises(ValidationError, match="above the ceiling"):
        Peaks(**{**H100.model_dump(), "read_gbs": 4000})
    with pytest.raises(ValidationError, match="fp32"):
        Peaks(**{**H100.model_dump(), "flops": {"fp16": 1e12}})


# ---------------------------------------------------------------- judgement, from numbers alone


def test_faster_than_memory_is_refused_and_a_perfect_kernel_is_not() -> None:
    certain = moving(4000)
    perfect = timed((4000e6 - 100 * MIB) / 3350e9 * 1e3)
    assert faster_than_memory(certain, H100, perfect) is None
    reason = faster_than_memory(certain, H100, timed(floor_ms(certain, H100) * 0.99))
    assert reason is not None and "4000 MB" in reason and "3350 GB/s" in reason


def test_what_was_subtracted_is_put_back_before_anyone_is_refused() -> None:
    certain = moving(4000)
    floor = floor_ms(certain, H100)
    assert faster_than_memory(certain, H100, timed(floor * 0.5)) is not None
    assert faster_than_memory(certain, H100, timed(floor * 0.5, overhead_ms=floor * 0.5)) is None
    claimed = timed(floor * 0.5, overhead_ms=floor * 0.5).model_copy(update={"clock_uncertainty_ms": floor * 0.1})
    assert faster_than_memory(certain, H100, claimed) is not None, "from the worker's own time nothing is subtracted"


def test_the_floor_counts_no_parameters_and_nothing_that_fits_into_the_cache() -> None:
    folded = Work(inputs=200 * MIB, parameters=10**12, outputs=4)
    assert floor_ms(folded, H100) == pytest.approx(0.9 * 150 * MIB / 3350e9 * 1e3)
    assert floor_ms(moving(100), H100) == 0
    assert faster_than_memory(moving(100), H100, timed(1e-9)) is None


def test_a_floor_is_below_the_bound() -> None:
    for megabytes in (10, 100, 120, 400, 10_000):
        for peaks in (H100, CPU):
            least = least_time(moving(megabytes), peaks, "ieee")
            assert floor_ms(moving(megabytes), peaks) <= (least.ms if least else 0)


def test_faster_than_its_flops_is_marked_and_kept() -> None:
    diagonal = Work(flops=10**13, inputs=10**6, parameters=0, outputs=10**6)
    found = bound(diagonal, H100, "ieee", timed(0.02, reference_ms=90.0))
    assert found is not None and found.binding == "arithmetic"
    assert found.share > 1 and "FLOPs" in found.review
    good = bound(diagonal, H100, "ieee", timed(found.bound_ms / 1.2, reference_ms=90.0))
    assert good is not None and good.review == "", "a better product than PyTorch's is no wonder"
    both = bound(diagonal, H100, "ieee", timed(0.02, reference_ms=0.03))
    assert both is not None and both.review == "", "the reference did all of them: the peaks are too low"


def test_faster_than_all_parameters_is_marked_and_kept() -> None:
    """A product that is summed up needs only the sum of the rows of its weight."""
    folded = Work(flops=10**9, inputs=10**6, parameters=10**10, outputs=10**6)
    found = bound(folded, H100, "ieee", timed(0.05))
    assert found is not None and "reading all inputs and parameters" in found.review


# ---------------------------------------------------------------- peaks


def test_published_ceilings_are_found_by_the_name_of_the_gpu() -> None:
    found = published("NVIDIA H100 80GB HBM3")
    assert found is not None
    assert found.source == "published" and found.label == "published for NVIDIA H100 80GB HBM3"
    assert 3300 < found.ceiling_gbs < 3400 and "white paper" in found.note
    assert published("NVIDIA H100 PCIe") is None, "another card of the same name is another card"
    assert published(None) is None


def test_every_published_entry_is_whole_and_names_its_source() -> None:
    rows = json.loads(resources.files("kernelgauge.hardware").joinpath("gpus.json").read_text())["gpus"]
    names = [name for row in rows for name in row["names"]]
    assert len(names) == len(set(names)) >= 9
    for name in names:
        found = published(name)
        assert found is not None and len(found.note) > 10
        assert found.flops["fp16"] > found.flops["fp32"] >= found.flops["fp64"]


def test_measured_peaks_come_before_published_ones(tmp_path: Path) -> None:
    here = make_environment(gpu="NVIDIA H200")
    assert known(tmp_path, here, "cpu") is None
    assert known(tmp_path, here, "cuda") == published("NVIDIA H200")
    path = tmp_path / "peaks" / f"{here.digest}-cuda.json"
    path.parent.mkdir()
    path.write_text(H100.model_dump_json())
    assert known(tmp_path, here, "cuda:1") == H100
    assert stored(tmp_path, make_environment(driver="other"), "cuda") is None
    path.write_text("{")
    with pytest.raises(MachineError, match="doctor --measure"):
        known(tmp_path, here, "cuda")


MEASURED = pytest.mark.proof("evaluation", "hardware", unit="measured CPU")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session that knows what this CPU can do, measured by the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(tmp_path_factory.mktemp("measured")))
        done = CliRunner().invoke(app, ["doctor", "--measure", "--device", "cpu", "--json"])
        assert done.exit_code == 0, done.output
        with Session() as session:
            assert session.bounds.peaks(session.environment, "cpu") == Peaks.model_validate_json(done.stdout)
            yield session


@MEASURED
def test_the_measurement_of_a_cpu_is_kept_and_plausible(measured: Session) -> None:
    found = measured.bounds.peaks(measured.environment, "cpu")
    assert found is not None and (found.device, found.source) == ("cpu", "measured")
    assert 0.5 < found.copy_gbs < 2000 and 0.5 < found.read_gbs < 2000
    assert 1e9 < found.flops["fp32"] < 1e14
    assert {"fp64", "fp32", "bf16"} == set(found.flops), "a CPU has no TF32"
    assert found.cache_bytes >= MIB
    other = measured.environment.model_copy(update={"torch": "3.0"})
    assert measured.bounds.peaks(other, "cpu") is None


@MEASURED
def test_commands_tell_work_and_bound(measured: Session) -> None:
    here = {"KERNELGAUGE_CACHE": str(measured.settings.cache), "COLUMNS": "200"}
    runner = CliRunner(env=here)
    done = runner.invoke(app, ["problems", "show", "1/1", "--work", "--device", "cpu", "--json"])
    told = json.loads(done.stdout)
    assert (told["flops"], told["bytes"], told["peaks"]) == (2 * 4096**3, 3 * 4 * 4096**2, "measured")
    assert told["bound_ms_ieee"] >= told["bound_ms_torch"] > 0
    narrow = runner.invoke(app, ["problems", "show", "1/1", "--work", "--device", "cpu", "--math", "bf16", "--json"])
    assert json.loads(narrow.stdout)["bytes"] == told["bytes"] // 2
    plain = runner.invoke(app, ["problems", "show", "1/1", "--work", "--device", "cpu"]).stdout
    assert "682.7 FLOP/B" in plain and "by FLOPs in fp32" in plain
    unknown = CliRunner(env={**here, "KERNELGAUGE_CACHE": str(measured.settings.cache / "other")})
    assert "doctor --measure" in unknown.invoke(app, ["problems", "show", "1/1", "--work", "--device", "cpu"]).stdout
    if gpu() is None:
        rows = json.loads(runner.invoke(app, ["problems", "list", "--level", "1", "--json"]).stdout)
        assert {row["peaks"] for row in rows} == {"measured"}
        assert rows[0]["bound_ms_ieee"] == pytest.approx(told["bound_ms_ieee"])


def test_doctor_has_a_device_only_where_it_measures() -> None:
    done = CliRunner().invoke(app, ["doctor", "--device", "cpu"])
    assert isinstance(done.exception, UsageError)


@MEASURED
def test_a_device_that_is_not_there_cannot_be_measured(measured: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    if gpu() is not None:
        pytest.skip("there is a GPU here")
    with pytest.raises(DeviceMissing, match="nvidia-smi lists none"):
        measured.measure("cuda")
    monkeypatch.setattr(environment, "missing_device", lambda _: None)  # a driver that is there and does not work
    with pytest.raises(MachineError, match="the peaks of cuda cannot be measured"):
        measured.measure("cuda")


@pytest.mark.gpu
def test_the_measurement_of_a_gpu_is_below_what_is_published(measured: Session) -> None:
    found = measured.measure("cuda")
    assert "memory bus" in found.note
    assert 0.5 * found.ceiling_gbs < max(found.copy_gbs, found.read_gbs) <= found.ceiling_gbs
    assert found.flops["fp16"] > found.flops["fp32"]
    sheet = published(found.name)
    if sheet is not None:
        assert abs(found.ceiling_gbs / sheet.ceiling_gbs - 1) < 0.05
        assert found.cache_bytes <= sheet.cache_bytes
        for precision, rate in found.flops.items():
            assert 0.3 < rate / sheet.flops[precision] < 1.05, precision


@pytest.mark.gpu
def test_a_copy_of_the_reference_stays_behind_the_bound_of_a_gpu(measured: Session) -> None:
    if measured.bounds.peaks(measured.environment, "cuda") is None:
        measured.measure("cuda")
    for key in ("1/19", "1/1"):
        task = load_problem(key)
        certain = measured.bounds.certain(task, "ieee", "cuda", measured.environment)
        work = measured.work(task)
        assert work is not None and certain.outputs <= work.outputs and certain.inputs <= work.inputs
        assert certain.inputs > 0.9 * work.inputs
        record = measured.evaluate(task, task.source.replace("class Model(", "class ModelNew("), device="cuda")
        assert record.passed, record.reason
        assert record.bound is not None and record.bound.review == ""
        assert 0.05 < record.bound.share < 1.1


# ---------------------------------------------------------------- work, on the meta device

PROBLEM = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(64, 64))
        self.unused = nn.Parameter(torch.rand(1000))
        self.table = nn.Embedding(500, 64)

    def forward(self, x):
        return FORWARD


def get_inputs():
    return [INPUT]


def get_init_inputs():
    return []
"""
FULL = 4 * 64 * 64


def own(forward: str, drawn: str = "torch.rand(64, 64)") -> Problem:
    return Problem(key="own", name="own", source=PROBLEM.replace("FORWARD", forward).replace("INPUT", drawn))


@pytest.mark.processes
@pytest.mark.parametrize(
    ("forward", "inputs", "parameters", "outputs"),
    [
        ("x @ self.weight", FULL, FULL, FULL),
        ("x @ self.weight @ self.weight.T + x", FULL, FULL, FULL),
        ("x[:, 0] * 2", 4 * 64, 0, 4 * 64),
        ("x[:, :8].sum() + x[:, 8:16].sum()", 4 * 64 * 16, 0, 4),
        ("self.table(torch.zeros(3, dtype=torch.long, device=x.device)) + x[:3]", 4 * 192, 4 * 192, 4 * 192),
        ("x.T", 0, 0, 0),
        ("(x + 1)[0].expand(64, 64)", FULL, 0, 4 * 64),
        ("torch.zeros_like(x)", 0, 0, FULL),
        ("(x + 1,) * 2", FULL, 0, FULL),
        ("(x + 1).chunk(2)", FULL, 0, FULL),
        ("x + (x @ self.weight).sum() * 0 + self.unused[:64].detach()", FULL, FULL, FULL),
        ("((x @ self.table.weight.T).sum(), x @ self.weight)[1]", FULL, FULL, FULL),
    ],
)
def test_work_is_what_the_forward_reads_and_writes(
    session: Session, forward: str, inputs: int, parameters: int, outputs: int
) -> None:
    found = session.work(own(forward))
    assert found is not None
    assert (found.inputs, found.parameters, found.outputs) == (inputs, parameters, outputs)


@pytest.mark.processes
def test_flops_are_those_of_products(session: Session) -> None:
    found = session.work(own("x @ self.weight + 1"))
    assert found is not None and found.flops == 2 * 64**3
    assert found.intensity == pytest.approx(2 * 64**3 / (3 * FULL))
    plain = session.work(own("x + 1"))
    assert plain is not None and plain.flops is None and plain.intensity is None


@pytest.mark.processes
def test_the_narrowest_dtype_is_found(session: Session) -> None:
    for drawn, narrowest in (("torch.rand(64, 64).half()", "half"), ("torch.rand(64, 64).double()", "float32")):
        found = session.work(own("(x * self.weight.to(x.dtype)).sum()", drawn))
        assert found is not None and found.narrowest == narrowest


@pytest.mark.processes
def test_what_cannot_be_told_without_values_has_no_work_and_is_asked_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = own("x * float(x.sum().item())")
    assert session.work(looks) is None
    monkeypatch.setattr(description, "described", lambda *_: pytest.fail("it was asked again"))
    assert session.work(looks) is None


@pytest.mark.proof
def test_many_problems_are_described_by_processes_that_need_not_import(session: Session) -> None:
    """Their zygote has; what it says is the same. The first two problems need no other one."""
    asked, fork = [], Zygote.fork

    def noted(zygote: Zygote, request: dict[str, Any], descriptors: list[int]) -> None:
        asked.append(tuple(request["preload"]))
        fork(zygote, request, descriptors)

    problems = [load_problem(key) for key in ("2/39", "1/2", "1/19", "2/14")]
    with (
        Session(device="cpu") as fresh,
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory() as folder,
    ):
        patch.setattr(Zygote, "fork", noted)
        bounds = Bounds(fresh._zygote, Path(folder))
        found = [bounds.work(each, "ieee", fresh.environment) for each in problems]
    assert asked == [(), (), description.DESCRIBED_WITH, description.DESCRIBED_WITH]
    assert found == [session.work(each) for each in problems]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_recorded_work_adds_up(level: int) -> None:
    for key in catalogue.keys([level]):
        known_facts = facts(level, catalogue.entry(key).number)
        assert known_facts is not None
        assert known_facts.work.bytes == known_facts.min_bytes, key
        assert known_facts.work.outputs > 0, key


# ---------------------------------------------------------------- what must have moved, by running it


@pytest.mark.processes
@pytest.mark.parametrize(
    ("forward", "drawn", "inputs", "outputs"),
    [
        ("x + 1", "torch.rand(64, 64)", FULL, FULL),
        ("(x @ self.weight).sum(1)", "torch.rand(64, 64)", FULL, 4 * 64),
        ("x[:, 0] + (x - x).sum(1)", "torch.rand(64, 64)", 4 * 64, 4 * 64),
        ("x.softmax(1).sum(1)", "torch.rand(64, 64)", 0, None),
        ("x.amax(1)", "torch.rand(64, 64)", 4 * 64, 4 * 64),
        ("torch.zeros_like(x)", "torch.rand(64, 64)", 0, 0),
        ("self.weight * 1", "torch.rand(64, 64)", 0, 0),
        ("x.T", "torch.rand(64, 64)", FULL, 0),
        ("(x.sum() + 1).expand(64, 64).clone()", "torch.rand(64, 64)", FULL, 4),
        ("(x + 1, x + 1)", "torch.rand(64, 64)", FULL, FULL),
        ("x + 1", "torch.rand(64, 1).expand(64, 64).clone()", 4 * 64, 4 * 64),
        ("x + 1", "torch.rand(64, 64).triu()", 0, None),
        ("x @ x", "(lambda m: m + m.T)(torch.rand(64, 64))", 0, FULL),
        ("self.table(x).sum(1)", "torch.randint(0, 500, (64,))", 0, 4 * 64),
        ("x.detach() * 2", "torch.rand(64, 64)", 0, FULL),
        ("x.numpy() and x", "torch.rand(64, 64)", None, None),
    ],
)
def test_only_what_alone_changes_the_answer_must_have_moved(
    session: Session, forward: str, drawn: str, inputs: int | None, outputs: int | None
) -> None:
    ask = (session._zygote, own(forward, drawn), "ieee", "cpu")
    if inputs is None:
        with pytest.raises(ProblemError):
            description.certain(*ask)
        return
    found = description.certain(*ask)
    assert found["inputs"] == pytest.approx(inputs, rel=0.01), "an element in a hundred may be zero by chance"
    if outputs is not None:
        assert found["outputs"] == pytest.approx(outputs, rel=0.01)


@pytest.mark.processes
def test_what_a_shut_relu_hides_is_not_certain(session: Session) -> None:
    found = description.certain(session._zygote, own("torch.relu(x)", "torch.randn(64, 64)"), "ieee", "cpu")
    assert 0.4 * FULL < found["inputs"] < 0.6 * FULL
    assert 0.6 * FULL < found["outputs"] < 0.9 * FULL, "zero for one draw and for the other: it may be there before"


@pytest.mark.processes
def test_in_half_precision_half_the_bytes_are_certain(session: Session) -> None:
    asked = own("x @ self.weight + self.unused[:64]"), "bf16"
    work = session.work(*asked)
    assert work is not None and work.narrowest == "half"
    assert (work.inputs, work.parameters, work.outputs) == (FULL // 2, FULL // 2 + 2 * 64, FULL // 2)
    found = description.certain(session._zygote, *asked, "cpu")
    assert found["inputs"] == pytest.approx(FULL // 2, rel=0.01)
    assert 0.4 * FULL < found["outputs"] <= FULL // 2


@pytest.mark.processes
def test_a_triangular_product_is_certain_of_nothing_but_its_upper_half(session: Session) -> None:
    found = description.certain(session._zygote, load_problem("1/14", sizes="small"), "ieee", "cpu")
    work = session.work(load_problem("1/14", sizes="small"))
    assert work is not None
    assert found["inputs"] == 0
    assert found["outputs"] < 0.6 * work.outputs


# ---------------------------------------------------------------- end to end


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Times one set of inputs as the published procedure does, but by the median: a mean follows every hiccup."""
    text = resources.files("kernelgauge.protocols").joinpath("v0.1.toml").read_text()
    text = re.sub(r"(?m)^(m.._samples) = \d+", r"\1 = 11", text).replace("interleaved = false", "interleaved = true")
    path = tmp_path_factory.mktemp("protocols") / "repeated.toml"
    path.write_text(text.replace('name = "v0.1"', 'name = "repeated"'))
    return str(path)


ROWS = 200_000
"""Of 256 bytes: input and output are 51 MB each."""


@contextmanager
def told_of_memory(folder: Path, gbs: float) -> Iterator[Session]:
    """A session told that this machine has next to no cache and a memory of so many GB/s.

    So a floor can lie between two answers however busy the machine is.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(folder))
        with Session() as session:
            path = session.settings.cache / "peaks" / f"{session.environment.digest}-cpu.json"
            path.parent.mkdir()
            bandwidths = {"read_gbs": 0.75 * gbs, "copy_gbs": 0.75 * gbs, "ceiling_gbs": gbs, "cache_bytes": MIB}
            path.write_text(CPU.model_copy(update={**bandwidths, "flops": {"fp32": 1e15}}).model_dump_json())
            yield session


@pytest.fixture(scope="module")
def slow_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Of 6 GB/s: the floor is 15 ms."""
    with told_of_memory(tmp_path_factory.mktemp("slow"), 6.0) as session:
        yield session


@pytest.mark.proof
def test_an_old_answer_handed_out_is_faster_than_memory_and_an_honest_one_is_not(
    slow_memory: Session, protocol: str
) -> None:
    large = problem().source.replace("batch_size = 128", f"batch_size = {ROWS}")
    task = Problem(key="large", name="large", source=large)
    source = {specimen.name: specimen.source for specimen in specimens()}
    cheat = slow_memory.evaluate(task, source["hands_out_old_answer"], protocol=protocol, device="cpu")
    assert (cheat.outcome, cheat.rule) == (Outcome.REJECTED, "faster_than_memory"), cheat.summary()
    assert cheat.bound is None and cheat.timing is None
    honest = slow_memory.evaluate(task, source["same_operations"], protocol=protocol, device="cpu")
    assert honest.passed, honest.reason
    assert honest.bound is not None and honest.bound.review == ""
    assert 0 < honest.bound.share < 1
    assert honest.bound.work.bytes == 256 * ROWS * 2 + 4 * (64 * 64 + 3 * 64)


@pytest.mark.proof
def test_honest_algebra_that_reads_less_is_marked_and_not_refused(tmp_path: Path, protocol: str) -> None:
    reference = f"""import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x[:, :1] + (x - x).sum(1, keepdim=True)


def get_inputs():
    return [torch.rand(64, {2 * ROWS})]


def get_init_inputs():
    return []
"""
    answer = reference.replace("class Model(", "class ModelNew(").replace(" + (x - x).sum(1, keepdim=True)", " + 0")
    task = Problem(key="wide", name="wide", source=reference)
    # 180 ms: what takes microseconds stays below that on a busy machine too.
    with told_of_memory(tmp_path, 0.5) as session:
        record = session.evaluate(task, answer, protocol=protocol, device="cpu")
    assert record.passed, record.reason
    assert record.bound is not None
    assert record.bound.share > 1
    assert "moves less" in record.bound.review


@pytest.mark.processes
def test_where_nothing_was_measured_there_is_no_bound(slow_memory: Session) -> None:
    judged = slow_memory.bounds.judged
    assert judged(problem(), "ieee", "cpu", slow_memory.environment, timed(2.0)) is not None
    assert judged(problem(), "ieee", "cpu", make_environment(torch="3.0"), timed(1e-9)) is None
