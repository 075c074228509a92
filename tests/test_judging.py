"""How candidates are judged: the same defaults and refusals in Python, on the command line and in the task."""

from __future__ import annotations

import inspect

import pytest
from factories import REFERENCE

import kernelgauge
from kernelgauge.cli.options import MathOption, PrecisionOption, SizesOption, chosen_protocol, chosen_sizes
from kernelgauge.config import load_protocol
from kernelgauge.errors import DeviceMissing, KernelgaugeError, UsageError
from kernelgauge.hardware.environment import gpu
from kernelgauge.judging import Judging, arithmetic_of, device_of, running_device, sizes_of
from kernelgauge.models.setting import TaskSetting
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session

RELU = """import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1
"""


def test_sizes_fit_the_device_unless_they_are_asked_for() -> None:
    for device, sizes in (("cpu", "medium"), ("cuda", "full"), ("cuda:1", "full")):
        assert sizes_of(None, device) == chosen_sizes(None, device) == sizes
        assert sizes_of("small", device) == chosen_sizes(SizesOption.small, device) == "small"
    with pytest.raises(UsageError, match="no sizes 'huge'"):
        sizes_of("huge", "cpu")


@pytest.mark.parametrize(
    ("math", "precision", "due"),
    [
        (None, None, None),
        (None, "fp32", None),
        ("tf32", None, "tf32"),
        (None, "bf16", "bf16"),
        ("bf16", "bf16", "bf16"),
    ],
)
def test_arithmetic_has_two_names(math: str | None, precision: str | None, due: str | None) -> None:
    assert arithmetic_of(math, precision) == due
    said = Judging(device="cpu", sizes="small", math=math, precision=precision).chosen_protocol()
    asked = MathOption(math) if math else None, PrecisionOption(precision) if precision else None
    assert said == chosen_protocol("strict", *asked, None, "cpu")
    assert said.tolerance.math == (due or load_protocol("strict").tolerance.math)


@pytest.mark.parametrize(("math", "precision"), [("tf32", "fp32"), ("bf16", "fp16"), ("tf32", "bf16")])
def test_two_arithmetics_are_refused_everywhere(math: str, precision: str) -> None:
    for refused in (
        lambda: TaskSetting(device="cpu", sizes="small", math=math, precision=precision).chosen_protocol(),
        lambda: chosen_protocol("strict", MathOption(math), PrecisionOption(precision), None, "cpu"),
    ):
        with pytest.raises(UsageError, match="two different arithmetics"):
            refused()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"kernel_policy": "none"}, "no kernel policy 'none'"),
        ({"math": "fp8"}, "no arithmetic 'fp8'"),
        ({"precision": "fp8"}, "no precision 'fp8'"),
        ({"gpu_memory_gb": 24.0}, "on a CPU there is no such memory"),
        ({"timing_method": "cuda_event"}, "cuda_event"),
        ({"protocol": "lenient"}, "lenient"),
    ],
)
def test_what_does_not_apply_is_refused(options: dict[str, object], word: str) -> None:
    with pytest.raises(KernelgaugeError, match=word):
        Judging(device="cpu", sizes="small", **options).chosen_protocol()  # type: ignore[arg-type]


@pytest.mark.proof("judging.py", "session", "protocols", "evaluation")
@pytest.mark.processes
def test_python_takes_the_defaults_of_the_command_line(session: Session) -> None:
    for name in ("sizes", "device", "math", "timer", "kernel_policy"):
        assert inspect.signature(kernelgauge.evaluate).parameters[name].default is None
    record = session.evaluate("1/19", RELU.replace(" * 2 + 1", ""), timed=False)
    assert (record.device, record.sizes, record.outcome) == ("cpu", "medium", "passed")


@pytest.mark.processes
def test_sizes_of_a_loaded_problem_are_its_own(session: Session) -> None:
    own = Problem(key="own", name="own", source=REFERENCE)
    assert session.evaluate(own, RELU, timed=False).passed
    with pytest.raises(UsageError, match="name it to have medium ones"):
        session.evaluate(load_problem("1/19", sizes="small"), RELU, sizes="medium")


@pytest.mark.processes
@pytest.mark.skipif(gpu() is not None, reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused(session: Session) -> None:
    assert device_of(None) == running_device(None) == "cpu"
    with pytest.raises(DeviceMissing, match="no NVIDIA GPU"):
        session.evaluate("1/19", RELU, device="cuda")
