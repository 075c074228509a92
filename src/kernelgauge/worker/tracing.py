"""What a candidate runs, as its own process sees it: from the import of its file to a watched call.

Watched are the places of the file that the parent asks about, the operators of PyTorch, functions of the libraries
that the candidate has built, kernels on a GPU, and the compiler. All of it is a claim: the process is the
candidate's. What it admits is used against it; what it denies is not taken for proof.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FrameType
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelgauge.backends.registry import embedded
from kernelgauge.worker.native import count_ctypes, library_of

_WATCHED_CALLS = 5
_WATCHED_SECONDS = 2.0
_MOST_ROWS = 40
_LONGEST_NAME = 600
_MOST_BYTES = 40_000
_COMPILER = "torch._dynamo.utils"
_PYTORCH = torch.__file__.removesuffix("__init__.py")
# Operators that PyTorch itself defines only when they are needed.
_LATE = ("inductor", "_inductor", "prims", "rngprims", "streams", "higher_order")


Kernels = Callable[[], dict[str, tuple[float, float]]]
"""Runs a forward and gives calls and microseconds of what ran on the GPU, by name."""


class Rows:
    """Calls and time by name; the account of one kind of thing that ran."""

    def __init__(self) -> None:
        self._rows: dict[str, list[float]] = {}
        self.seconds = 0.0

    def add(self, name: str, seconds: float, calls: float = 1) -> None:
        row = self._rows.setdefault(name[:_LONGEST_NAME], [0.0, 0.0])
        row[0] += calls
        row[1] += seconds
        self.seconds += seconds

    def largest(self) -> list[list[Any]]:
        """Name, calls and microseconds of those that took most time, as many as fit a message."""
        ordered = sorted(self._rows.items(), key=lambda item: -item[1][1])
        found, size = list[list[Any]](), 0
        for name, (calls, seconds) in ordered[:_MOST_ROWS]:
            size += len(name) + 40
            if size > _MOST_BYTES:
                break
            found.append([name, max(1, round(calls)), round(seconds * 1e6, 3)])
        return found


class _Calls(threading.local):
    """Own calls under way in this thread: name, start, and seconds of operators inside."""

    def __init__(self) -> None:
        self.running: list[list[Any]] = []


class _Operators(TorchDispatchMode):
    """Accounts for the operators that are called while it is active, also from C++."""

    def __init__(self, tracer: ExecutionTracer):
        super().__init__()
        self._tracer = tracer

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing of the mode is ever compiled: otherwise the compiler would be imported, which takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace in self._tracer.known_namespaces or func.namespace.startswith(_LATE):
            started = time.perf_counter()
            try:
                return func(*args, **kwargs)
            finally:
                self._tracer.operator_ran(str(func), time.perf_counter() - started)
        with self, self._tracer.own_operator(str(func)):  # what it calls is looked at, not what it is called
            return func.redispatch(self._tracer.keys, *args, **kwargs)


class ExecutionTracer:
    """Watches one candidate from `follow` on.

    Args:
        places: first and last lines of its file that the parent asks about.
        device: where it computes.
    """

    def __init__(self, places: Sequence[Sequence[int]], device: str):
        self._path = ""
        self._roots: tuple[str, ...] = ()
        self._at: dict[int, list[int]] = defaultdict(list)
        for index, (first, last) in enumerate(places):
            for line in range(first, min(last, first + 10_000) + 1):
                self._at[line].append(index)
        self._stage, self._counting = "load", False
        self._reached: dict[int, str] = {}
        self._inside: dict[int, Rows] = defaultdict(Rows)
        self._own, self._operators, self._foreign = Rows(), Rows(), Rows()
        self._calls = _Calls()
        self._frames = 0
        self.keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, "CPU" if device == "cpu" else "CUDA"))
        self.known_namespaces = {name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()}

    def follow(self, path: str, build_dir: str | None) -> None:
        """Watch the file at `path`, about to be imported; libraries in its build and its scratch are its own."""
        self._path = path
        self._roots = tuple(os.path.realpath(root) + os.sep for root in (".", build_dir) if root)
        count_ctypes(self._roots, self._from_ctypes, self._by_ctypes)
        if self._at:  # every Python function pays for being traced
            threading.settrace(self._trace)
            sys.settrace(self._trace)

    def observe(self, forward: Callable[[], object], warmups: int, kernels: Kernels | None) -> dict[str, Any]:
        """Call `forward` `warmups` times and some times under watch, then say what the fastest of these ran.

        Args:
            kernels: how to see those on a GPU; None on a CPU.
        """
        self._stage = "forward"
        for _ in range(warmups):  # without the mode: under it, nothing is compiled
            forward()
        compiled = self._compiled_graphs()
        with self._interpreted(), _Operators(self):
            self._counting = kernels is None
            threading.setprofile(self._native if self._counting else None)  # type: ignore[arg-type]
            sys.setprofile(self._native if self._counting else None)
            try:
                self._own, self._operators = self._fastest(forward)
            finally:
                sys.setprofile(None)
                threading.setprofile(None)  # type: ignore[arg-type]
                self._counting = False
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        launched = Rows()
        for name, (calls, microseconds) in (kernels() if kernels else {}).items():
            launched.add(name, microseconds / 1e6, calls)
        return {
            "own": self._own.largest(),
            "operators": self._operators.largest(),
            "foreign": self._foreign.largest(),
            "kernels": launched.largest() if kernels else None,
            "reached": {str(index): stage for index, stage in self._reached.items()},
            "inside": {str(index): [row[0] for row in rows.largest()[:8]] for index, rows in self._inside.items()},
            "compiled_graphs": compiled,
        }

    def _fastest(self, forward: Callable[[], object]) -> tuple[Rows, Rows]:
        """The accounts of the fastest of a few calls: the first also pays for the watching."""
        deadline = time.perf_counter() + _WATCHED_SECONDS
        accounts: list[tuple[Rows, Rows]] = []
        while len(accounts) < _WATCHED_CALLS and (not accounts or time.perf_counter() < deadline):
            self._own, self._operators = Rows(), Rows()
            forward()
            accounts.append((self._own, self._operators))
        return min(accounts, key=lambda pair: pair[0].seconds + pair[1].seconds)

    def operator_ran(self, name: str, seconds: float) -> None:
        """An operator of PyTorch has ended; who called it is on the stack."""
        self._operators.add(name, seconds)
        for call in self._calls.running:
            call[2] += seconds
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename == self._path:
                for index in self._at.get(frame.f_lineno, ()):
                    self._inside[index].add(name, seconds)
            frame = frame.f_back

    @contextlib.contextmanager
    def own_operator(self, name: str) -> Iterator[None]:
        """While open, an operator runs that the candidate has added; compiled, it counts as a kernel."""
        before, tracer = self._frames, sys.gettrace()
        sys.settrace(self._trace)
        try:
            with self._call(name) as time_in_it:
                yield
        finally:
            sys.settrace(tracer)
        if self._frames == before:  # no Python but PyTorch's own has run in it
            self._own.add(name, time_in_it())

    def _trace(self, frame: FrameType, event: str, value: Any) -> Any:
        name = frame.f_code.co_filename
        self._frames += not name.startswith(_PYTORCH)
        return self._line if name == self._path else None

    def _line(self, frame: FrameType, event: str, value: Any) -> Any:
        if event == "line":
            for index in self._at.get(frame.f_lineno, ()):
                self._reached[index] = self._stage
        return self._line

    def _native(self, frame: FrameType, event: str, function: Any) -> None:
        """Calls of compiled functions out of the candidate's own libraries."""
        if event[:2] != "c_" or not isinstance(function, BuiltinFunctionType):
            return
        running = self._calls.running
        if event == "c_call":
            if library_of(function).startswith(self._roots):
                running.append([function.__name__, time.perf_counter(), 0.0])
        elif running and running[-1][0] == function.__name__:
            name, started, within = running.pop()
            self._own.add(name, max(0.0, time.perf_counter() - started - within))

    def _from_ctypes(self, name: str, seconds: float) -> None:
        if self._counting:
            self._own.add(name, seconds)

    def _by_ctypes(self, name: str, seconds: float) -> None:
        if self._counting:
            self._foreign.add(name, seconds)

    @contextlib.contextmanager
    def _call(self, name: str) -> Iterator[Callable[[], float]]:
        """A call of the candidate's own under way; gives its seconds without the operators inside."""
        call: list[Any] = [name, time.perf_counter(), 0.0]
        self._calls.running.append(call)
        try:
            yield lambda: max(0.0, time.perf_counter() - call[1] - call[2])
        finally:
            self._calls.running.remove(call)

    @contextlib.contextmanager
    def _interpreted(self) -> Iterator[None]:
        """While open, what a language launches on a CPU, by an interpreter say, is a kernel of its own."""
        with contextlib.ExitStack() as stack:
            for launcher in (each for language in embedded() for each in language.cpu_launchers):
                module, _, path = launcher.partition(":")
                owner, _, name = path.rpartition(".")
                place = sys.modules.get(module)
                place = getattr(place, owner, None) if owner else place
                if hasattr(place, name):
                    stack.enter_context(patch.object(place, name, self._counted(getattr(place, name))))
            yield

    def _counted(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose calls are accounted for as kernels."""

        def counted(kernel: Any, *args: Any, **kwargs: Any) -> Any:
            function = getattr(kernel, "fn", kernel)
            name = str(getattr(function, "__name__", getattr(function, "key", "kernel")))
            with self._call(name) as time_in_it:
                result = launch(kernel, *args, **kwargs)
            self._own.add(name, time_in_it())
            return result

        return counted

    @staticmethod
    def _compiled_graphs() -> int:
        compiler = sys.modules.get(_COMPILER)
        return int(compiler.counters["stats"]["unique_graphs"]) if compiler else 0
