"""Inductor's generated code for a module, and how its arguments and results map to that module.

The mapping is observed, not deduced: the compiled forward runs with the real parameters and inputs, while a
stand-in for the generated kernels notes which tensor objects it receives and returns empty ones of the right
shape. Which object came in where, and where each returned one ends up, is all that `ModelNew` must repeat.
Nothing is built and no kernel runs, so a capture costs tracing and code generation only.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
import torch._dynamo
import torch._inductor.config as inductor_config
from torch._inductor import cpu_vec_isa
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.graph import GraphLowering

from kernelgauge.generation.constructor import Unwritable
from kernelgauge.generation.inductor_wiring import Tensors, Wiring, changes, wiring

INSTRUCTION_SETS = {"AVX512": "VecAVX512", "AVX2": "VecAVX2"}
"""What `torch.backends.cpu.get_cpu_capability()` says, and Inductor's class for it."""

LARGEST_CONSTANT = 4096
"""Elements of a tensor that is written into the text as a literal."""


@dataclass(frozen=True)
class Captured:
    """All that the candidate's text needs from the compiler."""

    code: str
    """Inductor's module: kernels and `call`."""
    wiring: Wiring
    signature: tuple[str, str]
    """Class and name of the function that defines `forward` in the reference's text."""
    instruction_set: str | None
    """Name of the class in `torch._inductor.cpu_vec_isa` that the C++ is written for, if any."""
    kinds: str
    """Types of what a call returns, and of what it rebinds."""
    numbers: tuple[str, ...] = ()
    """Inputs that are plain floats and that the code takes as tensors of one element, of any value."""

    @property
    def forward_owner(self) -> str:
        return self.signature[0]

    @property
    def names(self) -> frozenset[str]:
        """Names of the reference's module that `forward` needs."""
        return self.wiring.names


@dataclass
class _Recorder:
    """What one compile produced, and the calls that its stand-in received."""

    codes: list[str] = field(default_factory=list)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    compiles: int = 0
    calls: list[tuple[list[Any], list[Any]]] = field(default_factory=list)

    def backend(self, graph: torch.fx.GraphModule, examples: list[Any]) -> Any:
        compiled = compile_fx(graph, examples, inner_compile=self._inner)  # type: ignore[arg-type]
        self.compiles += 1  # not for one that began anew, as Dynamo does where a number was a tensor
        return compiled

    def _inner(self, graph: torch.fx.GraphModule, examples: list[Any], **options: Any) -> Callable[[list[Any]], Any]:
        results = [_shape(node) for node in graph.graph.find_nodes(op="output")[0].args[0]]
        compile_fx_inner(graph, examples, **options)

        def stand_in(arguments: list[Any]) -> list[Any]:
            returned = [make() for make in results]
            self.calls.append((list(arguments), returned))
            return returned

        stand_in._boxed_call = True  # type: ignore[attr-defined]
        return stand_in

    def no_build(self, lowering: GraphLowering) -> Any:
        """In place of `GraphLowering.compile_to_module`: keeps the text, builds nothing."""
        wrapper, _ = lowering.codegen()
        self.codes.append(wrapper.value)
        self.constants.update(lowering.constants)
        if getattr(lowering, "torchbind_constants", None):
            raise Unwritable("The compiled graph holds script objects, which have no source text.")
        return mock.Mock(spec=["call"], call=lambda *_: None)


def _shape(node: Any) -> Callable[[], Any]:
    value = node.meta["val"] if isinstance(node, torch.fx.Node) else node
    if not isinstance(value, torch.Tensor):
        return lambda: value
    size, stride = tuple(value.shape), value.stride()
    return lambda: torch.empty_strided(size, stride, dtype=value.dtype, device=value.device)


def capture(model: torch.nn.Module, inputs: list[Any], namespace: dict[str, Any]) -> Captured:
    """Compiles `model` for `inputs` as they are: training mode, no gradients, one static graph.

    Raises `Unwritable` where the result cannot be written as one file, and whatever torch raises where it
    cannot compile the model as one graph.
    """
    recorder = _Recorder()
    isa = INSTRUCTION_SETS.get(torch.backends.cpu.get_cpu_capability())
    on_gpu = any(tensor.is_cuda for tensor in (*model.parameters(), *inputs) if isinstance(tensor, torch.Tensor))
    with torch.no_grad(), _settings(recorder, isa, on_gpu):
        compiled = torch.compile(model, backend=recorder.backend, fullgraph=True, dynamic=False)
        first, kinds = _observe(compiled, model, inputs, namespace, recorder)
        # A reference that keeps state may take another path from its second call on.
        second, _ = _observe(compiled, model, inputs, namespace, recorder)
    if recorder.compiles != 1 or len(recorder.codes) != 1 or first != second:
        raise Unwritable("The reference compiles to another graph on its second call, one file holds one graph.")
    owner, _, function = type(model).forward.__qualname__.rpartition(".")
    cpu = any(kernel in recorder.codes[0] for kernel in ("cpp_pybinding(", "async_compile.cpp("))
    return Captured(
        code=_clean(_with_constants(recorder.codes[0], recorder.constants)),
        wiring=first,
        signature=(owner, function),
        instruction_set=isa if cpu else None,
        kinds=kinds,
    )


def _observe(
    compiled: Any, model: torch.nn.Module, inputs: list[Any], namespace: dict[str, Any], recorder: _Recorder
) -> tuple[Wiring, str]:
    """The wiring of one call, and of what kind its results are: see `Captured.kinds`."""
    bound = inspect.signature(model.forward).bind(*inputs)
    before = Tensors.of(model, dict(bound.arguments), namespace)
    recorder.calls.clear()
    output = compiled(*inputs)
    if len(recorder.calls) != 1:
        raise Unwritable("The reference computes nothing that Inductor could compile.")
    arguments, results = recorder.calls[0]
    changed = changes(before, model)
    leaves, form = torch.utils._pytree.tree_flatten((output, changed))
    kinds = [f"{type(each).__name__} {getattr(each, 'dtype', '')}" for each in leaves]
    return wiring(before, arguments, results, output, changed), f"{form} {kinds}"


@contextlib.contextmanager
def _settings(recorder: _Recorder, isa: str | None, on_gpu: bool) -> Iterator[None]:
    settings = {
        # Not `force_disable_caches`: that would be written into Triton kernels, which then tune themselves anew
        # in every process. The parent gives each compile an empty cache folder instead.
        "fx_graph_cache": False,
        "fx_graph_remote_cache": False,
        "compile_threads": 1,
        # Random numbers as eager draws them: under one seed, dropout must drop the same elements.
        "fallback_random": True,
        "benchmark_harness": False,
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(inductor_config.patch(settings))
        # Recurrent layers and warnings (instance norm gives one) are graph breaks unless these are set. For a GPU
        # Inductor has no recurrent kernel: it would unroll a layer into ten thousand nodes and compile for hours.
        tracing = {"allow_rnn": not on_gpu, "reorderable_logging_functions": {warnings.warn}}
        stack.enter_context(torch._dynamo.config.patch(tracing))
        stack.enter_context(
            mock.patch.object(GraphLowering, "compile_to_module", lambda self: recorder.no_build(self))
        )
        if isa is not None:
            # Inductor would try instruction sets by running the compiler for seconds; torch already knows.
            stack.enter_context(mock.patch.object(cpu_vec_isa.VecISA, "check_build", lambda *_: True))
            chosen = getattr(cpu_vec_isa, isa)()
            stack.enter_context(mock.patch.object(cpu_vec_isa, "valid_vec_isa_list", lambda: [chosen]))
        yield


def _clean(code: str) -> str:
    """Without what differs from compile to compile: numbers, and paths of Inductor's cache."""
    code = re.sub(r"^# AOT ID: .*\n", "", code, flags=re.MULTILINE)
    return re.sub(r"^# kernel path: .*\n", "", code, flags=re.MULTILINE)


def _with_constants(code: str, constants: dict[str, torch.Tensor]) -> str:
    """Inductor attaches constants to its module from outside; a file must hold them."""
    lines = code.splitlines()
    for number, line in enumerate(lines):
        name, found, _ = line.partition(" = None  # ")
        if not found or name not in constants:
            continue
        tensor = constants[name]
        if tensor.numel() > LARGEST_CONSTANT:
            raise Unwritable(f"The compiled graph holds a constant of {tensor.numel()} elements, too large for text.")
        values = f"{tensor.detach().cpu().tolist()!r}, dtype={tensor.dtype}, device={str(tensor.device)!r}"
        lines[number] = f"{name} = torch.tensor({values}).as_strided({tuple(tensor.shape)}, {tensor.stride()})"
    return "\n".join(lines) + "\n"
