"""How late a GPU answers after kernels of a known length: what honest slow candidates look like to the parent.

    python -m benchmarks.device_answers --out results/h100/device_answers.json       # two minutes on one GPU

After each timed call the parent has the device add one to a number (`Side.call`): a device left at work answers late.
These candidates leave nothing behind: their kernels are launched plainly and waited for like any other. What the
device takes to answer after them is therefore no work, and no rule may take it for that.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import torch

from kernelgauge.config import Protocol, load_protocol
from kernelgauge.evaluation import rounds
from kernelgauge.evaluation.measurement import measure
from kernelgauge.evaluation.measurement.samples import Sample, Samples
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session

_PROBLEM = """
import torch
from torch import nn

N = 16777216


class Model(nn.Module):
    def forward(self, x):
        return x * 2.0


def get_inputs():
    return [torch.rand(N)]


def get_init_inputs():
    return []
"""
_CANDIDATE = '''
import torch
from torch import nn
from kernelgauge.kernels import cuda_kernel

SOURCE = r"""
__global__ void computes(const float* x, float* y, long long n, int steps) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float a = 1.0f;
    for (int k = 0; k < steps; ++k) a = fmaf(a, 0.999999f, 1e-6f);
    if (a < 0.5f) y[0] = a;
    if (i < n) y[i] = x[i] * 2.0f;
}
__global__ void waits(const float* x, float* y, long long n, int microseconds) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x == 0) {
        unsigned long long start, now;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
        do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now - start < microseconds * 1000ull);
    }
    if (i < n) y[i] = x[i] * 2.0f;
}
"""
KERNEL = cuda_kernel(SOURCE, "{kind}", parameters=("const float*", "float*", "long long", "int"))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for _ in range({launches}):
            KERNEL((x.numel() + 255) // 256, 256, x, y, x.numel(), {length})
        {then}
        return y
'''
# Kind of kernel, its length (steps or microseconds), launches, whether the candidate itself waits for the device.
_CASES = (
    *(("computes", steps, 1, False) for steps in (0, 1700, 8600, 34500, 86000, 172000)),
    ("computes", 34500, 1, True),
    ("computes", 3450, 10, False),
    ("waits", 5000, 1, True),
    ("waits", 50000, 1, False),
)


def _tenths(nanoseconds: Sequence[int]) -> list[float]:
    """Least, first tenth, median, last tenth and largest, in microseconds."""
    ordered = sorted(nanoseconds)
    return [round(ordered[round(share * (len(ordered) - 1))] / 1e3, 1) for share in (0, 0.1, 0.5, 0.9, 1)]


def _told(taken: Sequence[Sample]) -> dict[str, object]:
    return {
        "claimed_ms": round(statistics.median(sample.forward_ns for sample in taken) / 1e6, 4),
        "answer_us": _tenths([sample.drain_ns for sample in taken]),
        "beyond_claim_us": _tenths([sample.computed_ns - sample.forward_ns for sample in taken]),
        "copy_us": _tenths([sample.copy_ns for sample in taken]),
    }


class _Noted(measure.Measurement):
    """A measurement whose samples can be looked at afterwards."""

    last: Samples

    def round(self, reference: Reference, candidate: Side, number: int, eager: dict) -> None:  # type: ignore[override]
        _Noted.last = self._samples
        super().round(reference, candidate, number, eager)


def _once() -> Protocol:
    """The rules of `strict` with one pair of processes: how fast it is, is not asked."""
    content = load_protocol("strict").model_dump()
    content["gpu_timing"] |= {"recheck_band": 0.0, "recheck_processes": 1}
    return Protocol.model_validate(content | {"name": "strict-once"})


def main() -> None:
    """Judge every case, print what was seen, and write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    rounds.Measurement = _Noted  # type: ignore[misc]
    problem = Problem(key="device_answers", name="device_answers", source=_PROBLEM)
    rows = []
    with Session() as session:
        for kind, length, launches, waits in _CASES:
            then = "torch.cuda.synchronize()" if waits else "pass"
            text = _CANDIDATE
            for name, value in {"kind": kind, "length": length, "launches": launches, "then": then}.items():
                text = text.replace(f"{{{name}}}", str(value))
            record = session.evaluate(problem, text, device=asked.device, protocol=_once(), kernel_policy="any")
            taken = _Noted.last
            case = {"kernel": kind, "length": length, "launches": launches, "waits_itself": waits}
            both = {"candidate": _told(taken.candidate), "reference": _told(taken.reference)}
            rows.append({**case, "calls": len(taken.candidate), "outcome": record.outcome.value, **both})
            print(json.dumps(rows[-1]), flush=True)
        found = {"date": str(date.today()), "gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(found | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
