"""The least time the hardware allows, from work and peaks. Pure functions; formulas of docs/explanation/bound.md.

Two figures, which must not be mixed up:

- the *bound* is what there is to reach: all inputs and parameters read once and all outputs written once at the best
  measured bandwidth, or all FLOPs at the best rate that keeps the precision, whichever takes longer. It is compared
  with, and beating it is a reason to look, not to refuse: algebra saves FLOPs (a product with a diagonal matrix), and
  weights can be folded before the clock starts.
- the *floor* is what nothing honest beats, and beating it is refused. So it counts only bytes that must have moved:
  input elements of which each alone changes the output (see `evaluation.sensitivity`), no parameters, outputs without
  what could be a view of something smaller; less what the cache may hold at either end of the call; at a bandwidth
  that no kernel exceeds; and a tenth is taken off that.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelgauge.config import MathMode
from kernelgauge.schema import Bound, Peaks, Precision, Timing, Work

_MARGIN = 0.9
# A good kernel may be this much faster than PyTorch's own matrix product; beyond that it does less arithmetic.
_BETTER_PRODUCT = 1.25
_MS_PER_S = 1e3

_NARROW: dict[Precision, int] = {"fp32": 1, "tf32": 1, "fp16": 1, "bf16": 1}
_PRODUCTS: dict[MathMode, dict[Precision, int]] = {
    # Three TF32 products of split operands keep float32's precision (Ootomo and Yokota, 2022).
    "ieee": {"fp32": 1, "tf32": 3},
    # float16 rounds as TF32 does, bfloat16 eight times as much.
    "tf32": {"fp32": 1, "tf32": 1, "fp16": 1, "bf16": 3},
    # The tolerance of one percent that goes with it lets 16 bits pass.
    "torch": _NARROW,
    "fp16": _NARROW,
    "bf16": _NARROW,
}
"""Products in a type that do the work of one in the arithmetic asked for."""


@dataclass(frozen=True)
class Least:
    """The least time of one call, and what it follows from."""

    bytes_ms: float
    flops_ms: float
    rate: str

    @property
    def ms(self) -> float:
        return max(self.bytes_ms, self.flops_ms)


def best_rate(peaks: Peaks, math: MathMode, narrowest: str) -> tuple[float, str]:
    """FLOP/s of useful matrix arithmetic and its name: the fastest way that keeps the precision asked for.

    Args:
        narrowest: the narrowest dtype of the problem; 16-bit problems have 16-bit rates under any `math`.
    """
    if narrowest == "float64" and "fp64" in peaks.flops:
        return peaks.flops["fp64"], "fp64"
    products = _NARROW if narrowest == "half" else _PRODUCTS[math]
    useful = {name: peaks.flops[name] / count for name, count in products.items() if name in peaks.flops}
    best = max(useful, key=lambda name: useful[name])
    return useful[best], best if products[best] == 1 else f"{best} in {products[best]} products"


def crossing(work: Work, cache_bytes: int, cold: bool) -> int:
    """Bytes that must cross the memory bus, of those the work needs.

    What is written may still be in the cache when the call ends. What is read may be there when it starts, unless the
    caches are `cold`.
    """
    read = work.inputs + work.parameters
    return max(read - (0 if cold else cache_bytes), 0) + max(work.outputs - cache_bytes, 0)


def least_time(work: Work, peaks: Peaks, math: MathMode) -> Least | None:
    """The bound of one call; None if neither bytes nor FLOPs give one.

    On a GPU the caches are flushed before each timed call; on a CPU they are not.
    """
    bandwidth = max(peaks.read_gbs, peaks.copy_gbs) * 1e9
    rate, name = best_rate(peaks, math, work.narrowest)
    moved = crossing(work, peaks.cache_bytes, cold=peaks.device == "cuda")
    found = Least(moved / bandwidth * _MS_PER_S, (work.flops or 0) / rate * _MS_PER_S, name)
    return found if found.ms > 0 else None


def floor_ms(certain: Work, peaks: Peaks) -> float:
    """What nothing honest beats; 0 where there is no such time.

    Args:
        certain: bytes that must have moved (its parameters, if any, are not counted).
    """
    moved = crossing(certain.model_copy(update={"parameters": 0}), peaks.cache_bytes, cold=False)
    return _MARGIN * moved / (peaks.ceiling_gbs * 1e9) * _MS_PER_S


def surely_ms(timing: Timing) -> float:
    """A candidate's typical time with what was subtracted put back: an honest call did not take longer than that.

    Where the workers' own word counts, and the parent's clock has only a veto, nothing was subtracted.
    """
    return timing.candidate_ms + (0.0 if timing.clock_uncertainty_ms else timing.overhead_ms)


def faster_than_memory(certain: Work, peaks: Peaks, timing: Timing) -> str | None:
    """One sentence if the candidate beat the floor, which only a wrong time explains; None if not."""
    floor = floor_ms(certain, peaks)
    if surely_ms(timing) >= floor:
        return None
    moved = (certain.inputs + certain.outputs) / 1e6
    return (
        f"took {surely_ms(timing):.4g} ms, and moving the {moved:.4g} MB that its answer depends on takes "
        f"{floor:.4g} ms at the very least ({peaks.ceiling_gbs:.4g} GB/s, peaks {peaks.label}): "
        "it did not do the work in the time measured"
    )


def worth_a_look(work: Work, least: Least, peaks: Peaks, timing: Timing) -> str:
    """Why a person should look at a candidate that was not refused; empty if nothing is remarkable."""
    everything = work.model_copy(update={"inputs": work.inputs + work.parameters})
    if surely_ms(timing) < floor_ms(everything, peaks):
        return "faster than reading all inputs and parameters and writing all outputs: it moves less than that"
    # The FLOPs are the reference's own: where it beats them too, the rate was measured on a busy machine.
    if surely_ms(timing) * _BETTER_PRODUCT < least.flops_ms <= timing.reference_ms * _BETTER_PRODUCT:
        return f"faster than its FLOPs at the best known rate ({least.rate}): it does less, or less precisely"
    return ""


def bound(work: Work, peaks: Peaks, math: MathMode, timing: Timing) -> Bound | None:
    """The bound of a timed candidate and how far both sides are from it; None where there is none."""
    least = least_time(work, peaks, math)
    if least is None:
        return None
    return Bound(
        bound_ms=least.ms,
        bytes_ms=least.bytes_ms,
        flops_ms=least.flops_ms,
        binding="memory" if least.bytes_ms >= least.flops_ms else "arithmetic",
        share=least.ms / timing.candidate_ms,
        headroom=timing.reference_ms / least.ms,
        work=work,
        rate=least.rate,
        peaks=peaks.label,
        review=worth_a_look(work, least, peaks, timing),
    )
