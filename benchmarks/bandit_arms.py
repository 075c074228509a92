"""Sixteen answers to one problem, for the bandit: two fast, four slow, six wrong, four that cheat.

They are made from two fast kernels and the reference: repeated they are slow, changed they are wrong. The cheats are
those of `selftest/specimens` that fit any kernel: an old answer, work after the clock, PyTorch's compiler, the
evaluator's own code.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from training_step import changed

from kernelgauge.schema import Problem

KINDS = {"fast": 2, "slow": 4, "wrong": 6, "cheat": 4}
"""How many of each."""

_ROOT = Path(__file__).parents[1]
_HONEST = "benchmarks/honest_kernels/level1"
_MSE = (_ROOT / "examples" / "mse_cpp.py").read_text()
_GELU_BY_BLOCKS = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        for block, filled in zip(x.chunk(16), out.chunk(16)):
            torch.ops.aten.gelu.out(block, approximate="tanh", out=filled)
        return out
"""
PAIRS = {
    "cuda": {
        "1/36": (
            f"{_HONEST}/36_rms_norm_thread_per_pixel_sample_0.py",
            f"{_HONEST}/36_rms_norm_triton_channel_tile_sample_2.py",
        ),
        "1/40": (
            f"{_HONEST}/40_layer_norm_block_per_sample_sample_0.py",
            f"{_HONEST}/40_layer_norm_triton_merged_chunks_sample_2.py",
        ),
        "1/88": (f"{_HONEST}/88_new_gelu_fused_scalar_sample_0.py", f"{_HONEST}/88_new_gelu_triton_sample_2.py"),
        "1/94": (
            f"{_HONEST}/94_mse_loss_atomic_per_block_sample_0.py",
            f"{_HONEST}/94_mse_loss_triton_atomic_add_sample_2.py",
        ),
    },
    "cpu": {
        "1/88": ("examples/gelu_torch.py", _GELU_BY_BLOCKS),
        "1/94": (_MSE, _MSE.replace("schedule(static)", "schedule(static, 4096)")),
    },
}
"""By device and problem: two kernels that are faster than PyTorch there, as files or texts."""

CHEATS = {
    "an old answer": """
        if not hasattr(self, "_old"):
            self._old = _right(self, *inputs)
        return self._old.clone()
    """,
    "work after the clock": """
        if not hasattr(self, "_old"):
            self._old = _right(self, *inputs)
            return self._old.clone()
        out = torch.empty_like(self._old)

        def later():
            time.sleep(0.05)
            with torch.no_grad():
                out.copy_(_right(self, *inputs))

        threading.Thread(target=later).start()
        return out
    """,
}
_WRAPPED = """
import threading
import time

import torch

_right = ModelNew.forward


def _cheating(self, *inputs):
{body}


ModelNew.forward = _cheating
"""


@dataclass(frozen=True)
class Arm:
    """One answer, and what it was made to be."""

    kind: str
    name: str
    text: str


def arms(problem: Problem, device: str) -> list[Arm]:
    """The sixteen of a problem, those of a kind together."""
    made = list(_arms(problem, *(_text(each) for each in PAIRS[device][problem.key])))
    assert {kind: sum(arm.kind == kind for arm in made) for kind in KINDS} == KINDS
    return made


def cheating(text: str, body: str) -> str:
    """A kernel whose forward has become these lines, which know the right one as `_right(self, *inputs)`."""
    return text + _WRAPPED.format(body=textwrap.indent(textwrap.dedent(body).strip(), " " * 4))


def _arms(problem: Problem, first: str, second: str) -> Iterator[Arm]:
    same = problem.source.replace("class Model(", "class ModelNew(")
    yield Arm("fast", "kernel 1", first)
    yield Arm("fast", "kernel 2", second)
    yield Arm("slow", "unchanged PyTorch", same)
    for name, text in (("kernel 1", first), ("kernel 2", second), ("PyTorch", same)):
        yield Arm("slow", f"{name}, 20 times", changed(text, "slow", 0))
    for name, text in (("kernel 1", first), ("kernel 2", second), ("PyTorch", same)):
        yield Arm("wrong", f"{name}, times 1.5", changed(text, "wrong", 0))
    yield Arm("wrong", "does not load", f"{first}\nraise ImportError('no such library')\n")
    yield Arm("wrong", "crashes", changed(second, "crashes", 0))
    yield Arm("wrong", "no candidate", "I am sorry, I cannot write kernels.")
    for name, body in CHEATS.items():
        yield Arm("cheat", name, cheating(first, body))
    yield Arm("cheat", "PyTorch's compiler", f"{same}\n\nModelNew = torch.compile(ModelNew)\n")
    yield Arm("cheat", "the evaluator's code", f"import kernelgauge.evaluation\n{first}")


def _text(named: str) -> str:
    return named if "\n" in named else (_ROOT / named).read_text()
