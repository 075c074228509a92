"""The candidate file: settings, Inductor's generated code, and the `ModelNew` that calls it."""

from __future__ import annotations

import re
from itertools import groupby

import torch

from kernelgauge.generation.constructor import Constructor, Unwritable, bound_names
from kernelgauge.generation.inductor_capture import Captured
from kernelgauge.generation.inductor_wiring import Wiring
from kernelgauge.syntax import parse

WIDTH = 100

LOOKUP = '''\
def _lookup(model):
    """Where the module keeps each tensor: .to() replaces what is in these dictionaries, not themselves."""
    slots = []
    for path in _TENSORS:
        owner, _, name = path.rpartition(".")
        module = model.get_submodule(owner)
        holders = (module._parameters, module._buffers, module.__dict__)
        slots.append(next((holder, name) for holder in holders if name in holder))
    return slots
'''

ALIGNED = '''\
def _aligned(tensor):
    """The kernels were written for inputs as torch allocates them, at multiples of 16 bytes."""
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()
'''

CPU_SETTINGS = """\
# Pinned, not probed: the kernels are written for this instruction set, and probing runs the compiler.
if torch.backends.cpu.get_cpu_capability() != "{capability}":
    raise ImportError("these kernels are written for {capability}, which this CPU does not have")
cpu_vec_isa.valid_vec_isa_list = lambda: [cpu_vec_isa.{isa}()]
"""

HEADER_SETTINGS = """\
# A precompiled header would lie outside the cache folder, and runs the compiler at every import.
inductor_config.cpp_cache_precompile_headers = False
"""

CUDA_SETTINGS = """\
# Compile in this process unless told otherwise: no pool of helper processes is left behind.
if "TORCHINDUCTOR_COMPILE_THREADS" not in os.environ:
    inductor_config.compile_threads = 1
"""


def candidate_text(key: str, device: str, captured: Captured, constructor: Constructor) -> str:
    """The whole file; the same text for the same problem, torch and device.

    Raises `Unwritable` if a name of the reference is also one of the generated code.
    """
    model = constructor.text(_forward(captured, device))
    _check_names(captured.code, model)
    wiring = captured.wiring
    parts = [
        _opening(key, device, constructor.future),
        _settings(captured, device),
        captured.code,
        f"_TENSORS = {_tuple(wiring.tensors)}\n\n\n{LOOKUP}" if wiring.tensors else "",
        ALIGNED if device == "cuda" and wiring.inputs else "",
        model,
    ]
    return "\n\n".join(part.strip("\n") + "\n" for part in parts if part)


def _opening(key: str, device: str, future: str) -> str:
    comment = (
        f"# TorchInductor (torch {torch.__version__}) for problem {key} on {device}.\n"
        "# Kernels and `call` are generated; ModelNew is the reference's constructor and a call of them.\n"
    )
    imports = ["import torch", "import torch._inductor.config as inductor_config"]
    if device == "cpu":
        imports.append("from torch._inductor import cpu_vec_isa")
    else:
        imports.insert(0, "import os\n")
    return "\n".join(part for part in (comment, future, *imports) if part) + "\n"


def _settings(captured: Captured, device: str) -> str:
    if device == "cuda":
        return CUDA_SETTINGS
    if captured.instruction_set is None:
        return HEADER_SETTINGS
    capability = captured.instruction_set.removeprefix("Vec")
    return CPU_SETTINGS.format(capability=capability, isa=captured.instruction_set) + HEADER_SETTINGS


def _check_names(code: str, model: str) -> None:
    generated = bound_names(parse(code))
    own = bound_names(parse(model))
    for name in generated.keys() & own.keys():
        if generated[name] != own[name] or not own[name].startswith(("import", "from")):
            raise Unwritable(f"The reference's name {name!r} is also a name of the generated code.")


def _forward(captured: Captured, device: str) -> str:
    wiring = captured.wiring
    lines = [f'{name} = torch.tensor({name}, dtype=torch.float64, device="cpu")' for name in captured.numbers]
    for expression, value in wiring.guards:
        # Compared as text, so that NaN and None need no special case.
        lines += [
            f"if repr({expression}) != {value!r}:",
            f"    raise ValueError({f'this code was generated for {expression} = {value}'!r})",
        ]
    if wiring.tensors:
        lines += [
            'if "_slots" not in self.__dict__:',
            "    self._slots = _lookup(self)",
            "_tensors = [holder[name] for holder, name in self._slots]",
        ]
    lines += _call(wiring, device)
    lines += [f"{_attribute(name)} = {expression}" for name, expression in wiring.updates]
    lines.append(f"return {wiring.output}")
    return "\n".join(lines)


def _attribute(path: str) -> str:
    owner, _, name = path.rpartition(".")
    return f'self.get_submodule("{owner}").{name}' if owner else f"self.{name}"


def _call(wiring: Wiring, device: str) -> list[str]:
    arguments = [
        f"_aligned({argument})" if device == "cuda" and argument in wiring.inputs else argument
        for argument in wiring.arguments
    ]
    arguments = _runs(arguments)
    short = f"_results = call([{', '.join(arguments)}])"
    if len(short) <= WIDTH:
        return [short]
    return ["_results = call(", "    [", *(f"        {argument}," for argument in arguments), "    ]", ")"]


def _runs(arguments: list[str]) -> list[str]:
    """`_tensors[3], _tensors[4], _tensors[5]` becomes `*_tensors[3:6]`."""
    numbers = [int(found[1]) if (found := re.fullmatch(r"_tensors\[(\d+)\]", text)) else None for text in arguments]
    runs: list[str] = []
    keyed = enumerate(zip(arguments, numbers, strict=True))
    for run, members in groupby(keyed, key=lambda item: None if item[1][1] is None else item[1][1] - item[0]):
        texts = [(text, number) for _, (text, number) in members]
        first, last = texts[0][1], texts[-1][1]
        if run is None or first is None or last is None or len(texts) == 1:
            runs += [text for text, _ in texts]
        else:
            runs.append(f"*_tensors[{first}:{last + 1}]")
    return runs


def _tuple(names: tuple[str, ...]) -> str:
    return "(\n" + "".join(f'    "{name}",\n' for name in names) + ")"
