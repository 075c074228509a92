"""The kernels by hand for real models: texts that stand alone, and are right in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the extra triton is not installed")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ANSWERS = BENCHMARKS / "packaged_models" / "answers"
SMALLER = {
    "llama/llama_mlp": [("14336", "192"), ("4096", "128")],
    "llama/llama_rms_norm": [("4096", "128")],
    "llama/linear": [("4096", "128")],
    "llama/linear_2": [("1024", "64"), ("4096", "128")],
    "vit/vi_t_layer": [("3072", "256"), ("768", "128")],
    "unet/gated": [("2560", "256"), ("640", "128"), ("block=1024", "block=128")],
    "unet/residual": [("320", "64")],
    "unet/residual_2": [("640", "64")],
}
"""What makes an answer small enough for the interpreter."""
_RUN = """
import importlib.util, json, sys
import torch

answer, problem = (importlib.util.module_from_spec(s) for s in map(
    importlib.util.spec_from_file_location, ("answer", "problem"), sys.argv[1:]))
answer.__spec__.loader.exec_module(answer)
problem.__spec__.loader.exec_module(problem)
torch.manual_seed(0)
reference, candidate, inputs = problem.Model(), answer.ModelNew(), problem.get_inputs()
candidate.load_state_dict(reference.state_dict())
with torch.no_grad():
    found = candidate(*[each.clone() for each in inputs]).double()
    exact = reference.double()(*[each.double() for each in inputs])
assert found.shape == exact.shape
print(json.dumps(float((found - exact).square().mean().sqrt() / exact.square().mean().sqrt())))
"""
_PROBLEM = """
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for n, shape in enumerate({shapes}):
            setattr(self, f"w{{n}}", torch.nn.Parameter(torch.randn(shape) * shape[-1] ** -0.5))

    def forward(self, x, *more):
        w = list(self.parameters())
        {forward}


def get_inputs():
    return [torch.randn(s) for s in {inputs}]
"""
_NORM = "F.layer_norm(x, x.shape[-1:], w[{0}], w[{0} + 1], {1})"
PROBLEMS = {
    "llama/llama_mlp": (
        [(192, 128), (192, 128), (128, 192)],
        "return F.linear(F.silu(F.linear(x, w[0])) * F.linear(x, w[1]), w[2])",
        [(1, 32, 128)],
    ),
    "llama/llama_rms_norm": (
        [(128,)],
        "return w[0] * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))",
        [(1, 32, 128)],
    ),
    "llama/linear": ([(128, 128)], "return F.linear(x, w[0])", [(1, 32, 128)]),
    "llama/linear_2": ([(64, 128)], "return F.linear(x, w[0])", [(1, 32, 128)]),
    "vit/vi_t_layer": (
        [(128,), (128,), *[(128, 128), (128,)] * 4, (128,), (128,), (256, 128), (256,), (128, 256), (128,)],
        f"""y = {_NORM.format(0, 1e-12)}
        heads = [F.linear(y, w[n], w[n + 1]).view(1, 50, -1, 64).transpose(1, 2) for n in (2, 4, 6)]
        y = F.scaled_dot_product_attention(*heads).transpose(1, 2).reshape(x.shape)
        x = x + F.linear(y, w[8], w[9])
        return x + F.linear(F.gelu(F.linear({_NORM.format(10, 1e-12)}, w[12], w[13])), w[14], w[15])""",
        [(1, 50, 128)],
    ),
    "unet/gated": (
        [(128,), (128,), (256, 128), (256,), (256, 128), (256,), (128, 256), (128,)],
        f"""y = {_NORM.format(0, 1e-5)}
        return x + F.linear(F.gelu(F.linear(y, w[2], w[3])) * F.linear(y, w[4], w[5]), w[6], w[7])""",
        [(1, 64, 128)],
    ),
}
_BLOCK = (
    [(64,), (64,), (64, 64, 3, 3), (64,), (64, 256), (64,), (64,), (64,), (64, 64, 3, 3), (64,)],
    """y = F.conv2d(F.silu(F.group_norm(x, 32, w[0], w[1])), w[2], w[3], padding=1)
        y = F.group_norm(y + F.linear(more[0], w[4], w[5])[:, :, None, None], 32, w[6], w[7])
        return x + F.conv2d(F.silu(y), w[8], w[9], padding=1)""",
    [(2, 64, 8, 8), (2, 256)],
)
PROBLEMS |= {"unet/residual": _BLOCK, "unet/residual_2": _BLOCK}


def test_every_answer_is_looked_at() -> None:
    assert {path.relative_to(ANSWERS).with_suffix("").as_posix() for path in ANSWERS.rglob("*.py")} == set(PROBLEMS)


@pytest.mark.processes
@pytest.mark.parametrize("name", PROBLEMS)
def test_an_answer_is_right(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from packaged import by_hand

    model, _, kind = name.partition("/")
    assert by_hand(model, tmp_path) == f"folder:{tmp_path}"
    text = (tmp_path / f"{kind}.py").read_text()
    assert "kernelgauge" not in text
    for large, small in SMALLER[name]:
        assert large in text
        text = text.replace(large, small)
    (tmp_path / "answer.py").write_text(text)
    shapes, forward, inputs = PROBLEMS[name]
    (tmp_path / "problem.py").write_text(_PROBLEM.format(shapes=shapes, forward=forward, inputs=inputs))
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path / "answer.py"), str(tmp_path / "problem.py")],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) < 1e-6
