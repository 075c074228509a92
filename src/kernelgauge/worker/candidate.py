"""The sealed worker: loads one candidate, constructs it, runs forward when told, copies the outputs out.

This is the candidate's process. Nothing here is trusted once `load` has run: the parent believes only the bytes in
the output region, compared after they were copied away, and its own clock. What the worker reports beside them
(aliasing, its own time) may accuse, never acquit. It gets the constructor's arguments, a weight seed and inputs;
never an expected output, a later seed, or the reference.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelgauge.backends.hidden_device import hidden_device
from kernelgauge.backends.loading import lending
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import MathMode
from kernelgauge.timing.timers import Timer, timer_named
from kernelgauge.wire.arguments import decode
from kernelgauge.wire.error_text import COMPILER_ERROR
from kernelgauge.wire.initialisers import randomised
from kernelgauge.wire.math_modes import cast, set_flags
from kernelgauge.wire.messages import LARGEST_TEXT, MOST_SAMPLES, TensorSpec, await_awake, receive, send
from kernelgauge.wire.outputs import GivenOut, flatten, in_memory, overlap, spans
from kernelgauge.wire.regions import Region, dtype_name
from kernelgauge.wire.shared_memory import opened

# Taken before a candidate is there to put something in its place: no wall, a higher price. Torch may have no CUDA.
_wait_for_device = getattr(torch._C, "_cuda_synchronize", torch.cuda.synchronize)
# The call follows the staging of its inputs at once.
_AWAKE_SECONDS = 0.005
_OUT_OF_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "bad_alloc",
    "Cannot allocate",
    "ALLOC_FAILED",  # cuBLAS and cuDNN
)


def failure(stage: str, error: BaseException) -> dict[str, Any]:
    """The claim that describes an exception of the candidate's."""
    full = "".join(traceback.format_exception(error)).encode(errors="replace").decode()
    # Of a long template error the tail is notes: the lines that name the error come first.
    named = [line for line in full.splitlines() if COMPILER_ERROR.search(line)]
    text = "\n".join(line[:400] for line in named[:5]) + "\n" * bool(named) + full[-LARGEST_TEXT // 4 :]
    summary = f"{type(error).__name__}: {error}"
    memory = isinstance(error, MemoryError) or any(mark in summary for mark in _OUT_OF_MEMORY)
    kind = "OutOfMemory" if memory else type(error).__name__
    return {"event": "failed", "stage": stage, "kind": kind[:200], "message": text}


def warm_up(device: str) -> None:
    """Start a device and the libraries most models use on it: each takes some tenths of a second."""
    small = torch.ones(8, 8, device=device)
    torch.mm(small, small)
    torch.conv2d(small[None, None], small[None, None])
    torch.cuda.synchronize()


def set_seed(seed: int, device: torch.device) -> None:
    """As `torch.manual_seed`, for the CPU and this device alone: that takes 0.1 ms, and a call's clock runs."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[torch.cuda.current_device()].manual_seed(seed)


def _views(arguments: list[Any], region: Region) -> list[Any]:
    """Arguments as the parent describes them; tensors are views of the region, whatever comes to lie there."""
    return [
        region.tensors([TensorSpec(**each["tensor"])])[0] if "tensor" in each else decode(each["value"])
        for each in arguments
    ]


class Bench:
    """What one worker holds: the candidate's module and model, its regions, its staged arguments."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.module: ModuleType | None = None
        self.model: Any = None
        self.device = torch.device("cpu")
        self.dtype = torch.float32
        self.inputs: Region | None = None
        self.shared: dict[str, Region] = {}
        self.targets: list[torch.Tensor] = []
        self.arguments: list[Any] = []
        self.given_out = GivenOut()
        self.row: list[tuple[list[Any], list[torch.Tensor]]] = []
        self.witness: Any = None
        self._spin = torch.zeros(1 << 17)
        self._timers: dict[str, Timer] = {}

    def load(
        self, path: str, backend: str, build_dir: str | None, attribute: str, lent: Sequence[str] = ()
    ) -> dict[str, Any]:
        if build_dir is not None and (Path(build_dir) / "inductor").is_dir():
            # TorchInductor locks files in its cache even to read it: a copy, so that the build stays as it is.
            shutil.copytree(Path(build_dir) / "inductor", os.environ["TORCHINDUCTOR_CACHE_DIR"], symlinks=True)
        if self.witness:
            self.witness.follow(path, build_dir)
        with lending(lent):
            self.module = backend_named(backend).load(Path(path), Path(build_dir) if build_dir else None)
        if not isinstance(getattr(self.module, attribute, None), type):
            raise AttributeError(f"the file defines no class {attribute}")
        return {"event": "loaded"}

    def build(
        self, path: str, backend: str, build_dir: str, hidden: bool, lent: Sequence[str] = ()
    ) -> dict[str, Any]:
        with hidden_device() if hidden else contextlib.nullcontext(), lending(lent):
            backend_named(backend).build(Path(path), Path(build_dir))
        return {"event": "loaded"}

    def construct(
        self, attribute: str, init: Any, seed: int, randomise: bool, math: MathMode, device: str, state: str | None
    ) -> dict[str, Any]:
        self.device = torch.device(device)
        set_flags(math)
        torch.manual_seed(seed)
        with randomised() if randomise else contextlib.nullcontext(), torch.no_grad():
            model = getattr(self.module, attribute)(*decode(init))
        if state is not None:
            model.load_state_dict(torch.load(state, weights_only=True))
        self.model = cast(model, math).to(self.device)
        return {"event": "constructed"}

    def warm(self, device: str) -> dict[str, Any]:
        """Start the device while the parent is busy with something else."""
        warm_up(device)
        return {"event": "staged"}

    def trim(self) -> dict[str, Any]:
        """Give back what PyTorch keeps of the device's memory for later calls: somebody else needs it."""
        self.arguments = []
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return {"event": "staged"}

    def attach(
        self,
        name: str,
        regions: list[dict[str, Any]],
        descriptors: list[int] | None = None,
        expected: list[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Open a region, once: the parent cannot free what is still open here."""
        (region,) = opened(regions, descriptors or [], str(self.device))
        if name == "inputs":
            self.inputs = region
        elif name == "outputs":
            self.targets = region.tensors([TensorSpec(**spec) for spec in expected or []])
        else:
            self.shared[name] = region
        return {"event": "staged"}

    def stage(self, arguments: list[Any]) -> dict[str, Any]:
        """Take the next call's arguments, as views of the input region; what is in it may come later.

        The seed of the call comes with the call: random numbers are work, and are drawn inside the clock.
        """
        assert self.inputs is not None
        self.arguments = _views(arguments, self.inputs)
        self._synchronise()
        self._wake_threads()
        return {"event": "staged"}

    def forward(self, timer: str, seed: int) -> dict[str, Any]:
        """One call: run, wait for the device, say so, and when the parent has read its clock copy the outputs out.

        Checked and timed calls are the same order, so that nobody can tell them apart. Waiting for the parent
        matters: while every core copies, it would hear of the end of the computation only at the end of the copy.
        """
        clock = self._timer(timer)
        given = spans(a for a in self.arguments if isinstance(a, torch.Tensor))
        set_seed(seed, self.device)
        with torch.no_grad():
            result = clock.call(self._run)
        outputs = [in_memory(tensor) for tensor in flatten(result)]
        self._synchronise()
        send(self.channel, {"event": "computed", "places": self._places(outputs)})
        receive(self.channel)
        # One more than is due already says that there are too many.
        shown = outputs[: len(self.targets) + 1] if self.targets else outputs
        metadata = [{"shape": list(t.shape), "dtype": dtype_name(t.dtype)} for t in shown]
        copied = [(list(t.shape), t.dtype) for t in self.targets] == [(list(t.shape), t.dtype) for t in outputs]
        if copied:
            for target, output in zip(self.targets, outputs, strict=True):
                target.copy_(output)
            self._synchronise()
        lie = spans(outputs)
        return {
            "event": "done",
            "tensors": metadata,
            "copied": copied,
            "forward_ns": clock.elapsed_ns(),
            "aliases_input": overlap(lie, given),
            "reuses_output": self.given_out.reused(outputs, lie),
        }

    def stage_streak(self, calls: list[list[Any]], expected: list[list[dict[str, Any]]]) -> dict[str, Any]:
        """Take the arguments of a row of calls, as views of their region, and where each is to put its outputs."""
        inputs, outputs = self.shared["streak inputs"], self.shared["streak outputs"]
        places = [outputs.tensors([TensorSpec(**spec) for spec in specs]) for specs in expected]
        self.row = [(_views(arguments, inputs), targets) for arguments, targets in zip(calls, places, strict=True)]
        self._synchronise()
        return {"event": "staged"}

    def streak(self, compute: bool, seeds: list[int]) -> dict[str, Any]:
        """All calls of the row, one after the other, and the outputs of each copied out; then wait for the device.

        Without `compute`, whatever stands in place of the next call's outputs is copied.
        """
        copied = True
        with torch.no_grad():
            following = [*self.row[1:], self.row[0]]
            for (arguments, targets), (_, others), seed in zip(self.row, following, seeds, strict=True):
                set_seed(seed, self.device)
                outputs = [in_memory(tensor) for tensor in flatten(self.model(*arguments))] if compute else others
                copied &= [(t.shape, t.dtype) for t in targets] == [(t.shape, t.dtype) for t in outputs]
                if copied:
                    for target, output in zip(targets, outputs, strict=True):
                        target.copy_(output)
        self._synchronise()
        return {"event": "done", "copied": copied}

    def _places(self, outputs: list[torch.Tensor]) -> list[dict[str, Any]]:
        """Where the outputs lie, for the parent to look at: it cannot look into the memory of a GPU."""
        if self.device.type == "cuda":
            return []
        return [{"address": t.data_ptr(), "strides": t.stride()} for t in outputs[: len(self.targets)]]

    def samples(self, timer: str, warmups: int, count: int, seed: int) -> dict[str, Any]:
        """Let a timer measure many calls on the arguments staged last."""
        set_seed(seed, self.device)
        with torch.no_grad():
            taken = self._timer(timer).samples(self._run, warmups, count)
        evenly = taken[:: -(-len(taken) // MOST_SAMPLES) or 1]
        return {"event": "done", "data": {"samples_ms": [round(ms, 6) for ms in evenly]}}

    def memory(self) -> dict[str, Any]:
        """The most that PyTorch's allocator has given out on the device so far, in bytes."""
        return {"event": "done", "data": {"peak_bytes": torch.cuda.max_memory_allocated()}}

    def _run(self) -> Any:
        return self.model(*self.arguments)

    def _timer(self, name: str) -> Timer:
        if name not in self._timers:
            self._timers[name] = timer_named(name)
        return self._timers[name]

    def profile(self, named: bool) -> dict[str, Any]:
        """Where the time of a forward on the staged inputs goes; with `named`, in compiled functions as well."""
        from kernelgauge.profiling.profiler import (
            profiled,  # not above: it brings Triton, which reads the environment
        )

        with torch.no_grad():
            return {"event": "done", "data": profiled(self._run, self.device, vars(self.module) if named else None)}

    def forward_for_ncu(self) -> dict[str, Any]:
        """A forward on the staged inputs that ncu profiles."""
        from kernelgauge.profiling.profiler import one_for_ncu

        with torch.no_grad():
            one_for_ncu(self._run, self.device)
        return {"event": "done"}

    def watch(self, device: str, places: list[list[int]]) -> dict[str, Any]:
        """Watch the candidate from its import on. Says whether kernels can be seen at all."""
        from kernelgauge.worker.tracing import Witness

        seen = True
        if device != "cpu":
            from kernelgauge.profiling.profiler import launched

            one = torch.ones(8, device=device)
            seen = bool(launched(lambda: one + 1, one.device))
        self.witness = Witness(places, device)
        return {"event": "staged", "data": {"kernels_seen": seen}}

    def observe(self, warmups: int) -> dict[str, Any]:
        """What a forward on the staged inputs runs."""
        kernels = None
        if self.device.type == "cuda":
            from kernelgauge.profiling.profiler import launched

            kernels = partial(launched, self._run, self.device)
        with torch.no_grad():
            return {"event": "done", "data": self.witness.observe(self._run, warmups, kernels)}

    def _wake_threads(self) -> None:
        """Have every OpenMP thread spin on a core of its own when the call comes.

        Woken by the call itself, a thread often lands on the core of the one that waits for it, and the call takes
        twice as long: without this, samples of one kernel fall into two heaps.
        """
        if self.device.type == "cpu":
            self._spin.add_(1)

    def _synchronise(self) -> None:
        if self.device.type == "cuda":
            _wait_for_device()


def serve(channel: socket.socket) -> None:
    """Answer commands until the parent hangs up; an exception of the candidate's becomes a `failed` claim."""
    bench = Bench(channel)
    while True:
        command, descriptors = receive(channel)
        stage = command.pop("do")
        try:
            if descriptors:
                command["descriptors"] = descriptors
            claim = getattr(bench, stage)(**command)
        except BaseException as error:  # the boundary between candidate and record, SystemExit included
            claim = failure(stage, error)
        if stage not in ("forward", "streak"):
            sys.stdout.flush()
            sys.stderr.flush()
        send(channel, claim)
        if stage == "stage":
            await_awake(channel, _AWAKE_SECONDS)
