"""How much of a GPU's memory one evaluation takes, by the driver's word and by the workers' own.

The driver counts whatever way memory was taken; what it says of the whole device holds for the evaluation as long as
nobody else comes or goes there, which is what a lease is for.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

from kernelgauge.checks.memory import in_gb
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.hardware.environment import device_index
from kernelgauge.schema import GpuMemory
from kernelgauge.wire.device_regions import account

_PERIOD_SECONDS = 0.005


class MemoryUse:
    """What one evaluation takes of its device, from now on.

    Args:
        device: leased for this evaluation alone.
        before: bytes in use before anything of it came, where something is there already; default: what is in use.
    """

    def __init__(self, device: str, before: int | None = None):
        torch.cuda.empty_cache()
        self._device = device
        self.before = _in_use(device) if before is None else before
        self._peak: int | None = None
        self._workers: dict[str, int] = {}
        own = account(device)
        own.most = own.now

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Look at the device every few milliseconds while open. Not while calls are timed: it asks the driver."""
        stop = threading.Event()
        thread = threading.Thread(target=self._watch, args=(stop,), name="kernelgauge-memory", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _watch(self, stop: threading.Event) -> None:
        while True:
            self._peak = max(self._peak or 0, _in_use(self._device) - self.before)
            if stop.wait(_PERIOD_SECONDS):
                return

    def ask(self, reference: Side, candidate: Side) -> None:
        """Note what both workers hold, by the driver and by their own word."""
        held = _held(self._device)
        for name, side in (("reference", reference), ("candidate", candidate)):
            self._note(f"{name}_gb", held.get(side.process.pid))
            self._note(f"{name}_claim_gb", side.claimed_peak())

    def end(self, candidate: Side) -> None:
        """End a candidate that ran out of memory, and note what that gives back: no driver keeps that to itself."""
        if not hasattr(candidate, "process") or not candidate.process.alive():
            return
        self._note("candidate_claim_gb", candidate.claimed_peak())
        before = _in_use(self._device)
        candidate.end()
        candidate.process.await_end()
        self._note("candidate_gb", max(0, before - _in_use(self._device)))

    def blame(self) -> str:
        """How the reason goes on of a candidate that ran out of memory where a copy of the reference did not."""
        held = self._workers.get("candidate_gb")
        known = "" if held is None else f"; when it ended, its process held {in_gb(held):.2f} GB"
        before = f"{in_gb(self.before):.2f} GB of the device were in use before it began"
        return f"{known}; a copy of the reference has room enough; {before}"

    def _note(self, field: str, size: int | None) -> None:
        if size is not None:
            self._workers[field] = max(size, self._workers.get(field, 0))

    def record(self, available: int, cap_gb: float | None, needed: int | None) -> GpuMemory | None:
        """What there is to keep; None where no process has come to the device."""
        if self._peak is None:
            return None
        return GpuMemory(
            available_gb=in_gb(available),
            cap_gb=cap_gb,
            needed_gb=None if needed is None else in_gb(needed),
            before_gb=in_gb(self.before),
            peak_gb=in_gb(self._peak),
            regions_gb=in_gb(account(self._device).most),
            **{field: in_gb(size) for field, size in self._workers.items()},
        )


def _in_use(device: str) -> int:
    """Bytes of a device's memory that are not free, whoever has them."""
    free, total = torch.cuda.mem_get_info(device_index(device))
    return total - free


def _held(device: str) -> dict[int, int]:
    """Bytes by process, as the driver tells through NVML; empty where it does not, as in some containers."""
    try:
        import pynvml

        pynvml.nvmlInit()
        uuid = torch.cuda.get_device_properties(device_index(device)).uuid
        found = pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}"))
    except Exception:  # boundary: a missing package, library or permission each raise something of their own
        return {}
    return {each.pid: each.usedGpuMemory for each in found if each.usedGpuMemory}
