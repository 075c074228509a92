"""PyTorch itself as a contestant: each mode of `torch.compile` is a candidate like any other.

A candidate is the reference's own text and a `ModelNew` that calls its `Model`. It is compiled once, in the sealed
build, so that a worker's first call finds all of it in TorchInductor's cache (see `backends.torch`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kernelgauge.config import MathMode, load_settings
from kernelgauge.schema import MODES, Baseline, Candidate, Evaluation, Mode, Problem
from kernelgauge.timing.baselines import measured

_COMPILE_MODE = {
    "compile": "default",
    "compile-reduce-overhead": "reduce-overhead",
    "compile-max-autotune": "max-autotune",
}
_CAST = {"fp16": ".to(torch.float16)", "bf16": ".to(torch.bfloat16)"}
_CUDA_GRAPHS = ("compile-reduce-overhead", "compile-max-autotune")

_HEAD = """

# What follows is kernelgauge's: PyTorch itself as a candidate, {mode} on {device} with {threads} threads.
"""

_EAGER = """class ModelNew(Model):
    pass
"""

_COMPILED = """import torch
import torch._inductor.config

# Draw random numbers as eager PyTorch does: otherwise a dropout would drop other elements.
torch._inductor.config.fallback_random = True
# Which configuration was the fastest is stored beside the compiled kernel, where only the build may write.
torch._inductor.config.autotune_local_cache = False


class ModelNew(torch.nn.Module):
    def __init__(self, *arguments):
        super().__init__()
        self.compiled = torch.compile(Model(*arguments), mode="{compile_mode}")

    def forward(self, *arguments):
        return {call}


def _placed(tensor):
    tensor = tensor.to("{device}")
    return {placed}


def compile_ahead():
    model = ModelNew(*get_init_inputs()).to("{device}"){cast}
    with torch.device("{device}"):
        arguments = get_inputs()
    arguments = torch.utils._pytree.tree_map_only(torch.Tensor, _placed, arguments)
    with torch.no_grad():
        model(*arguments)
"""

_CALL = "self.compiled(*arguments)"
# CUDA graphs return the same memory in every call; whoever wants to keep an output must copy it.
_CLONED = f"torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.clone, {_CALL})"


def modes_on(device: str) -> tuple[Mode, ...]:
    """The modes that differ on this device: reduce-overhead means CUDA graphs, and is the default on a CPU."""
    return tuple(mode for mode in MODES if device != "cpu" or mode != "compile-reduce-overhead")


@dataclass(frozen=True)
class TorchModes:
    """PyTorch in several modes: sample i of a problem is mode `MODES[i]`.

    Args:
        modes: those that are wanted.
        math: arithmetic of the protocol (`config.MathMode`): under a narrow one what is compiled ahead takes tensors
            of its type. Whether TF32 is allowed the build knows.
        threads: CPU threads of a worker, which TorchInductor writes into its C++; None: all cores of the machine that
            is asked.
    """

    modes: Sequence[Mode]
    math: MathMode
    threads: int | None = None

    on_device: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "pytorch"

    def samples(self, problem: str) -> Sequence[int]:
        return [number for number, mode in enumerate(MODES) if mode in self.modes]

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate:
        """The reference in mode `MODES[sample]`; always has an answer, whether it compiles is seen in the build."""
        mode = MODES[sample]
        return Candidate(
            problem=problem.key,
            source=problem.source + self._tail(mode, device),
            backend="torch",
            contestant=self.name,
            sample=sample,
            origin=mode,
        )

    def _tail(self, mode: Mode, device: str) -> str:
        device = device.partition(":")[0]  # a worker sees one GPU only
        head = _HEAD.format(mode=mode, device=device, threads=self.threads or load_settings().threads)
        if mode == "eager":
            return head + _EAGER
        cast = _CAST.get(self.math, "")
        return head + _COMPILED.format(
            compile_mode=_COMPILE_MODE[mode],
            call=_CLONED if device != "cpu" and mode in _CUDA_GRAPHS else _CALL,
            device=device,
            cast=cast,
            placed=f"tensor{cast} if tensor.dtype == torch.float32 else tensor" if cast else "tensor",
        )


def baseline(record: Evaluation) -> Baseline:
    """What is kept of the record of one of `TorchModes`' candidates.

    Raises:
        ValueError: a record of a candidate that passed and was not timed.
    """
    return Baseline(
        created=record.created,
        problem=record.problem,
        level=record.level,
        problem_name=record.problem_name,
        problem_digest=record.problem_digest,
        sizes=record.sizes,
        device=record.device,
        protocol=record.protocol,
        protocol_digest=record.protocol_digest,
        math=record.math,
        environment=record.environment,
        mode=MODES[record.sample],
        outcome=record.outcome,
        reason=record.reason,
        measured=measured(record.timing) if record.timing else None,
    )
