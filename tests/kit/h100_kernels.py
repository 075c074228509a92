"""Kernels of Triton compiled for an H100 where there is none, and judged by the interpreter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from factories import quick_protocol

from kernelgauge.problems.loader import load_problem

SHARED_MEMORY = 227 * 1024
"""Bytes that a block may have on an H100."""

# Tensors without contents stand for those of the published sizes, and no driver is asked.
COMPILE = """
import importlib.util, json, sys
import torch
from triton.runtime.jit import JITFunction
from kernelgauge.backends.registry import backend_named

def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made

compiled = {}
run = JITFunction.run

def only_compile(kernel, *given, grid, warmup, **options):
    made = run(kernel, *given, grid=grid, warmup=True, **options)
    grid = grid(options) if callable(grid) else grid
    assert made.asm["cubin"] and all(0 < each < 65536 for each in grid[1:]) and 0 < grid[0] < 2**31
    compiled[kernel.__name__] = max(made.metadata.shared, compiled.get(kernel.__name__, 0))

with backend_named("triton").without_device(), torch.no_grad():
    reference, candidate = module("reference", sys.argv[1]), module("candidate", sys.argv[2])
    if hasattr(candidate, "together"):
        candidate.together = lambda x, members: members <= 132
    JITFunction.run = only_compile
    with torch.device("meta"):
        model, inputs = candidate.ModelNew(*reference.get_init_inputs()), reference.get_inputs()
    model(*inputs)
print(json.dumps(compiled))
"""


def compiled(problem: str, text: str, folder: Path) -> dict[str, int]:
    """Each kernel that a candidate launches at the published sizes, and its bytes of shared memory.

    Raises AssertionError: one does not compile, or has a grid that there is not.
    """
    reference, candidate = folder / "reference.py", folder / "candidate.py"
    reference.write_text(load_problem(problem).source)
    candidate.write_text(text)
    told = {"KERNELGAUGE_ARCHITECTURE": "9.0a", "TRITON_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-c", COMPILE, str(reference), str(candidate)]
    done = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    kernels: dict[str, int] = json.loads(done.stdout)
    return kernels


def two_trials(folder: Path) -> str:
    """The file of a protocol: `strict` with two kinds of inputs only."""
    text = quick_protocol().replace('weak_problems = "excluded"', 'weak_problems = "counted"')
    text, count = re.subn(r"(?m)^variants = .*$", 'variants = ["own", "signed"]', text)
    assert count == 1 and "counted" in text
    path = folder / "two.toml"
    path.write_text(text)
    return str(path)
