"""`optimize` goes on where it was interrupted, and says what was not used; and how tensors are drawn."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from handmade import handmade, kernel
from packages import PROBLEMS

from kernelgauge.errors import UsageError
from kernelgauge.packaging import optimize as optimizing
from kernelgauge.packaging.drawing import drawn
from kernelgauge.packaging.measuring import measured
from kernelgauge.packaging.optimize import optimize

MODEL = PROBLEMS / "two_blocks.py"
ASKED = {"device": "cpu", "math": None, "screen": True}
SINE = "torch.tanh(torch.sin(x) * 2.0)"


class Machine:
    """In the place of processes and a judge: counts what is asked, and is killed in its first measurement."""

    def __init__(self, hinders: bool = False, keeps: bool = False) -> None:
        self.cuts = self.measurements = 0
        self.hinders = {"sine": "makes the whole model slower: 0.9 times"} if hinders else {}
        self.keeps = keeps
        self.screened: list[bool] = []
        self.asked_for: list[tuple[bool, dict[str, str]]] = []

    def asked(self, module: str, request: dict[str, Any], what: str, device: str) -> dict[str, Any]:
        if module.endswith("cutting"):
            self.cuts += 1
            text = (PROBLEMS / "llama_gate.py").read_text()
            cut = {"name": f"gate_{self.cuts}", "source": text, "modules": ["gate"], "share": 0.5}
            return {"cuts": [cut], "skipped": []}
        self.measurements += 1
        self.screened.append(request["screen"])
        if self.measurements == 1:
            raise KeyboardInterrupt
        times = [2.0 + n / 100 for n in range(8)]
        found: dict[str, Any] = {
            "hinders": self.hinders,
            "before_ms": times,
            "after_ms": [t / 2 for t in times],
            "swaps": [],
            "error": 0.0,
            "counters": {},
            "arithmetic": {"products": "ieee", "convolutions": "ieee"},
        }
        return {**found, "not_used": {"sine": "no compiler"}, "warnings": ["it was said"]}

    def packaged(self, out: Path, name: str, licence: str, replace: bool, without: dict[str, str]) -> Any:
        self.asked_for.append((replace, without))
        if without and not self.keeps:
            return None, [SimpleNamespace(problem=key, reason=reason) for key, reason in without.items()]
        if not (out / name).exists():
            handmade(out, name, {"sine": [kernel(SINE, SINE, "[torch.rand(2, 3)]")]})
        provenance = SimpleNamespace(problem=str(out / "problems" / "gate_1.py"), speedup=2.0, interval=(1.5, 2.5))
        operator = SimpleNamespace(name="sine", variants=[SimpleNamespace(provenance=provenance)])
        return SimpleNamespace(name=name, operators=(operator,), left_out=()), ()


@pytest.mark.processes
def test_an_interrupted_measurement_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, machine = tmp_path / "out", Machine()
    (tmp_path / "answers").mkdir()
    monkeypatch.setattr(optimizing, "asked_of", machine.asked)
    monkeypatch.setattr(optimizing, "_packaged", machine.packaged)

    def call(**changes: Any) -> Any:
        contestant = f"folder:{tmp_path / 'answers'}"
        return optimize(MODEL, out, contestant=contestant, name="gone_on_kernels", device="cpu", **changes)

    with pytest.raises(KeyboardInterrupt):
        call()
    done = call()
    assert (machine.cuts, machine.measurements) == (1, 2)
    assert machine.asked_for == [(False, {}), (True, {})]
    assert done.not_used == {"sine": "no compiler"} and done.warnings == ("it was said",)
    assert json.loads((out / "optimized.json").read_text())["not_used"] == {"sine": "no compiler"}
    with pytest.raises(UsageError, match="--replace overwrites it"):
        call()
    assert call(replace=True).speedup and machine.cuts == 1


@pytest.mark.processes
@pytest.mark.parametrize("keeps", [False, True])
def test_what_slows_the_model_stays_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeps: bool) -> None:
    """The package that is left is measured again; where nothing is left, the figures of the whole stay."""
    out, machine = tmp_path / "out", Machine(hinders=True, keeps=keeps)
    machine.measurements = 1
    (tmp_path / "answers").mkdir()
    monkeypatch.setattr(optimizing, "asked_of", machine.asked)
    monkeypatch.setattr(optimizing, "_packaged", machine.packaged)
    contestant, name = f"folder:{tmp_path / 'answers'}", "kept_kernels" if keeps else "slowing_kernels"
    done = optimize(MODEL, out, contestant=contestant, name=name, device="cpu")
    reason = "makes the whole model slower: 0.9 times"
    assert machine.asked_for == [(False, {}), (True, {str(out / "problems" / "gate_1.py"): reason})]
    assert machine.screened == ([True, False] if keeps else [True])
    assert done.standing == "faster" and done.package == (str(out / name) if keeps else None)
    (cut,) = done.cuts
    assert (cut.speedup, cut.interval, cut.reason) == ((2.0, (1.5, 2.5), "") if keeps else (None, None, reason))


def test_a_measurement_says_what_the_package_said(tmp_path: Path) -> None:
    broken = kernel(SINE, "x.no_such_method()", "[torch.rand(2, 3)]")
    handmade(tmp_path, "measured_kernels", {"sine": [broken]})
    found = measured({**ASKED, "path": str(MODEL), "folder": str(tmp_path), "name": "measured_kernels", "pairs": 1})
    assert found["not_used"] == {"sine": "operator sine could not be built"}
    assert len(found["warnings"]) == 1 and "no_such_method" in found["warnings"][0]


@pytest.mark.processes
def test_a_model_of_float32_has_two_arithmetics(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in ieee or tf32, not in bf16"):
        optimize(MODEL, tmp_path, device="cpu", math="bf16")


INFINITE = float("-inf")
LOWEST = torch.finfo(torch.float32).min


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor(2.5),
        torch.tensor(3),
        torch.tensor(False),
        torch.linspace(-0.5, 0.4, 20).view(4, 5),
        torch.linspace(0.1, 0.9, 6),
        torch.arange(7),
        torch.arange(9).view(3, 3) % 2 == 0,
        torch.zeros(0, 2),
        torch.zeros(32, 32).masked_fill(torch.ones(32, 32).triu(1).bool(), INFINITE),
        torch.zeros(32, 32).masked_fill(torch.ones(32, 32).triu(1).bool(), LOWEST),
        torch.full((4,), INFINITE),
        torch.tensor([1.0, float("nan"), float("inf")]),
    ],
    ids=range(12),
)
def test_every_tensor_can_be_drawn(tensor: torch.Tensor) -> None:
    torch.manual_seed(0)
    found = eval(drawn(tensor), {"torch": torch})
    assert found.shape == tensor.shape and found.dtype == tensor.dtype
    assert not found.dtype.is_floating_point or not found.isnan().any()
    if tensor.shape == (32, 32):
        share, least = (found < -1e30).float().mean(), tensor.min()
        assert abs(share - 0.48) < 0.1 and found.min() == least
