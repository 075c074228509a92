"""A profile as short text: the same on a terminal and as feedback to a language model."""

from __future__ import annotations

from kernelgauge.schema import Counters, Profile, ProfileRow

_LAUNCH_BOUND = (
    "launch-bound: most of the time the GPU waits for the host to launch the next kernel; fewer kernels, or one CUDA "
    "graph, would help more than faster kernels"
)


def render(profile: Profile) -> str:
    """Some 25 lines of plain ASCII text."""
    whose = f"a {profile.backend} candidate for" if profile.candidate_digest else "the reference of"
    what = f"{whose} {profile.problem} {profile.problem_name}, sizes {profile.sizes}, arithmetic {profile.math}"
    lines = [f"profile of {what}, on {_where(profile)}"]
    if profile.outcome is not None:
        return "\n".join([*lines, f"{profile.outcome.value}: {profile.reason}"])
    lines += [_totals(profile), *([_LAUNCH_BOUND] if profile.launch_bound else []), ""]
    kind = "kernel on the GPU" if profile.rows_are == "kernels" else "operator, without those it calls"
    lines.append(f"{'time us':>12}  {'share':>6}  {'calls':>6}  {kind}")
    lines += [_row(row) for row in (*profile.rows, *([profile.rest] if profile.rest else ()))]
    if profile.counters:
        lines += ["", "counted by the hardware: the longest launch of each kernel"]
        lines.append(f"{'time us':>12}  {'DRAM GB/s':>9}  of peak      SM  tensor  occupancy  registers  kernel")
        lines += [line for counters in profile.counters for line in _counted(counters)]
    if profile.notes:
        lines += ["", *(f"note: {note}" for note in profile.notes)]
    return "\n".join(lines)


def _where(profile: Profile) -> str:
    machine = profile.environment
    if profile.device == "cpu":
        return f"{machine.cpu} with {machine.threads} thread{'s' * (machine.threads != 1)}"
    return machine.gpu or profile.device


def _totals(profile: Profile) -> str:
    assert profile.wall_us is not None
    parts = [f"{_time(profile.wall_us)} a forward"]
    if profile.busy_us is not None and profile.gaps is not None:
        parts.append(f"GPU busy for {_time(profile.busy_us)}, gaps {profile.gaps:.0%}")
    kind = "kernel" if profile.rows_are == "kernels" else "operator"
    parts.append(f"{profile.launches:.4g} {kind}{'s' * (profile.launches != 1)}")
    parts.append(f"{_memory(profile.peak_bytes)} allocated at peak")
    return "; ".join(parts)


def _time(microseconds: float) -> str:
    return f"{microseconds / 1e3:.4g} ms" if microseconds >= 1e3 else f"{microseconds:.4g} us"


def _memory(size: int) -> str:
    return f"{size / 1e6:.4g} MB" if size >= 1e6 else f"{size / 1e3:.4g} kB"


def _row(row: ProfileRow) -> str:
    return f"{row.time_us:>12,.1f}  {row.share:>6.1%}  {row.calls:>6.4g}  {row.name}"


def _counted(counters: Counters) -> list[str]:
    def percent(value: float | None) -> str:
        return "-" if value is None else f"{value:.0f} %"

    bandwidth = "-" if counters.dram_gb_s is None else f"{counters.dram_gb_s:,.0f}"
    registers = "-" if counters.registers is None else f"{counters.registers:.0f}"
    first = (
        f"{counters.time_us:>12,.1f}  {bandwidth:>9}  {percent(counters.dram_percent):>7}  "
        f"{percent(counters.sm_percent):>6}  {percent(counters.tensor_percent):>6}  "
        f"{percent(counters.occupancy_percent):>9}  {registers:>9}  {counters.name}"
    )
    stalls = ", ".join(f"{stall.reason} {stall.percent:.0f} %" for stall in counters.stalls)
    return [first, *([f"{'':>12}  warps wait for: {stalls}"] if stalls else [])]
