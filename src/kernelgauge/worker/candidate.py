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
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelgauge.backends.hidden_device import hidden_device
from kernelgauge.backends.loading import lending
from kernelgauge.backends.registry import backend_named
from kernelgauge.timing.timers import Timer, timer_named
from kernelgauge.wire.arguments import decode
from kernelgauge.wire.candidate_commands import (
    Build,
    Construct,
    DigestParameters,
    Forward,
    ForwardForNcu,
    Load,
    Observe,
    PeakMemory,
    ProfileForward,
    Rehearse,
    RunBatch,
    Stage,
    StageBatch,
    TakeSamples,
    Trim,
    Watch,
)
from kernelgauge.wire.commands import Attach, Command, Detach, Warm
from kernelgauge.wire.initialisers import randomised
from kernelgauge.wire.math_modes import cast, set_flags
from kernelgauge.wire.messages import MOST_SAMPLES, TensorSpec, receive, send
from kernelgauge.wire.outputs import GivenOut, flatten, in_memory, overlap, spans
from kernelgauge.wire.regions import Region, dtype_name
from kernelgauge.wire.shared_memory import opened
from kernelgauge.worker import serving
from kernelgauge.worker.parameters import parameter_digest
from kernelgauge.worker.rehearsal import rehearse
from kernelgauge.worker.serving import Answer, warm_up

# Taken before a candidate is there to put something in its place: no isolation layer, a higher price. Torch may have
# no CUDA.
_wait_for_device = getattr(torch._C, "_cuda_synchronize", torch.cuda.synchronize)


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


class WorkerState:
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
        self.batch: list[tuple[list[Any], list[torch.Tensor]]] = []
        self.tracer: Any = None
        self._spin = torch.zeros(1 << 17)
        self._timers: dict[str, Timer] = {}

    def answer(self, command: Command) -> Answer:
        """Do what a command says."""
        match command:
            case Stage():
                return self.stage(command)
            case Forward():
                return self.forward(command)
            case StageBatch():
                return self.stage_batch(command)
            case RunBatch():
                return self.run_batch(command)
            case TakeSamples():
                return self.samples(command)
            case Warm():
                warm_up(command.device)
                return {"event": "staged"}
            case Build():
                return self.build(command)
            case Rehearse():
                return self.rehearse(command)
            case Load():
                return self.load(command)
            case Construct():
                return self.construct(command)
            case DigestParameters():
                return {"event": "done", "data": {"digest": parameter_digest(self.model, command.values)}}
            case Attach():
                return self.attach(command)
            case Detach():
                return self.detach()
            case Trim():
                return self.trim()
            case PeakMemory():
                return {"event": "done", "data": {"peak_bytes": torch.cuda.max_memory_allocated()}}
            case Watch():
                return self.watch(command)
            case Observe():
                return self.observe(command)
            case ProfileForward():
                return self.profile(command)
            case ForwardForNcu():
                return self.forward_for_ncu()
            case _:
                raise TypeError(f"a worker has no answer to {type(command).__name__}")

    def load(self, command: Load) -> Answer:
        build_dir = Path(command.build_dir) if command.build_dir else None
        if build_dir is not None and (build_dir / "inductor").is_dir():
            # TorchInductor locks files in its cache even to read it: a copy, so that the build stays as it is. The
            # folder may be there already, as was seen on a GPU where what a candidate calls is observed.
            own = os.environ["TORCHINDUCTOR_CACHE_DIR"]
            shutil.copytree(build_dir / "inductor", own, symlinks=True, dirs_exist_ok=True)
        if self.tracer:
            self.tracer.follow(command.path, command.build_dir)
        with lending(command.lent):
            self.module = backend_named(command.backend).load(Path(command.path), build_dir)
        if not isinstance(getattr(self.module, command.attribute, None), type):
            raise AttributeError(f"the file defines no class {command.attribute}")
        return {"event": "loaded"}

    def build(self, command: Build) -> Answer:
        set_flags(command.math)
        with hidden_device() if command.hidden else contextlib.nullcontext(), lending(command.lent):
            backend_named(command.backend).build(Path(command.path), Path(command.build_dir))
        return {"event": "loaded"}

    def rehearse(self, command: Rehearse) -> Answer:
        with lending(command.lent):
            rehearse(command)
        return {"event": "loaded"}

    def construct(self, command: Construct) -> Answer:
        self.device = torch.device(command.device)
        set_flags(command.math)
        torch.manual_seed(command.seed)
        draws = command.randomise
        with contextlib.nullcontext() if draws is None else randomised(**draws), torch.no_grad():
            model = getattr(self.module, command.attribute)(*decode(command.init))
        if command.state is not None:
            model.load_state_dict(torch.load(command.state, weights_only=True))
        self.model = cast(model, command.math).to(self.device)
        self.given_out = GivenOut(holds_large=not command.frugal)
        return {"event": "constructed"}

    def trim(self) -> Answer:
        self.arguments = []
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return {"event": "staged"}

    def detach(self) -> Answer:
        """Close the region of inputs until another is attached: of the reference alone.

        A timer may have captured where they lay.
        """
        self.arguments = []
        self._timers.clear()
        if self.inputs is not None:
            self.inputs.close()
            self.inputs = None
        return {"event": "staged"}

    def attach(self, command: Attach) -> Answer:
        (region,) = opened(command.regions, command.descriptors, str(self.device))
        if command.name == "inputs":
            self.inputs = region
        elif command.name == "outputs":
            self.targets = region.tensors([TensorSpec(**spec) for spec in command.expected])
        else:
            self.shared[command.name] = region
        return {"event": "staged"}

    def stage(self, command: Stage) -> Answer:
        assert self.inputs is not None
        self.arguments = _views(command.arguments, self.inputs)
        self._synchronise()
        self._wake_threads()
        return {"event": "staged"}

    def forward(self, command: Forward) -> Answer:
        """One call: run, wait for the device, say so, and when the parent has read its clock copy the outputs out.

        Checked and timed calls are the same order, so that nobody can tell them apart. Waiting for the parent
        matters: while every core copies, it would hear of the end of the computation only at the end of the copy.
        """
        clock = self._timer(command.timer)
        given = spans(a for a in self.arguments if isinstance(a, torch.Tensor))
        set_seed(command.seed, self.device)
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

    def stage_batch(self, command: StageBatch) -> Answer:
        inputs, outputs = self.shared["batch inputs"], self.shared["batch outputs"]
        places = [outputs.tensors([TensorSpec(**spec) for spec in specs]) for specs in command.expected]
        calls = zip(command.calls, places, strict=True)
        self.batch = [(_views(arguments, inputs), targets) for arguments, targets in calls]
        self._synchronise()
        return {"event": "staged"}

    def run_batch(self, command: RunBatch) -> Answer:
        copied = True
        with torch.no_grad():
            following = [*self.batch[1:], self.batch[0]]
            for (arguments, targets), (_, others), seed in zip(self.batch, following, command.seeds, strict=True):
                set_seed(seed, self.device)
                outputs = others
                if command.compute:
                    outputs = [in_memory(tensor) for tensor in flatten(self.model(*arguments))]
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

    def samples(self, command: TakeSamples) -> Answer:
        set_seed(command.seed, self.device)
        with torch.no_grad():
            taken = self._timer(command.timer).samples(self._run, command.warmups, command.count)
        evenly = taken[:: -(-len(taken) // MOST_SAMPLES) or 1]
        return {"event": "done", "data": {"samples_ms": [round(ms, 6) for ms in evenly]}}

    def _run(self) -> Any:
        return self.model(*self.arguments)

    def _timer(self, name: str) -> Timer:
        if name not in self._timers:
            self._timers[name] = timer_named(name)
        return self._timers[name]

    def profile(self, command: ProfileForward) -> Answer:
        # Not above: it brings Triton, which reads the environment.
        from kernelgauge.profiling.profiler import profiled

        names = vars(self.module) if command.named else None
        with torch.no_grad():
            return {"event": "done", "data": profiled(self._run, self.device, names)}

    def forward_for_ncu(self) -> Answer:
        from kernelgauge.profiling.profiler import one_for_ncu

        with torch.no_grad():
            one_for_ncu(self._run, self.device)
        return {"event": "done"}

    def watch(self, command: Watch) -> Answer:
        from kernelgauge.worker.tracing import ExecutionTracer

        seen = True
        if command.device != "cpu":
            from kernelgauge.profiling.profiler import launched

            one = torch.ones(8, device=command.device)
            seen = bool(launched(lambda: one + 1, one.device))
        self.tracer = ExecutionTracer(command.places, command.device)
        return {"event": "staged", "data": {"kernels_seen": seen}}

    def observe(self, command: Observe) -> Answer:
        kernels = None
        if self.device.type == "cuda":
            from kernelgauge.profiling.profiler import launched

            kernels = partial(launched, self._run, self.device)
        with torch.no_grad():
            return {"event": "done", "data": self.tracer.observe(self._run, command.warmups, kernels)}

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
    """Answer commands until the parent hangs up; what the candidate raises, SystemExit too, becomes a claim."""
    serving.serve(channel, WorkerState(channel).answer, BaseException)
