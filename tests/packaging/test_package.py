"""A package of real winners: its guard, its fallback, autograd, compilation, and its own tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from handmade import handmade, kernel

pytestmark = [pytest.mark.processes, pytest.mark.proof("packaging", unit="package")]
EPS = 1e-6
ONE_CALL = """
import torch, llama_kernels as k
k.rms_norm(torch.rand(16, 1024, 128), torch.rand(128))
print(k.counters())
"""


def norm(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """What the operator `rms_norm` computes."""
    return weight * (hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + EPS))


@pytest.fixture(autouse=True)
def _counted_anew(package: ModuleType) -> None:
    package.reset_counters()


@pytest.fixture
def call() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(16, 1024, 128), torch.rand(128)


def test_a_judged_call_reaches_the_kernel(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    torch.testing.assert_close(package.rms_norm(*call), norm(*call), rtol=1e-5, atol=1e-6)
    assert package.counters()["rms_norm"] == {"hits": 1, "misses": {}}


def _off_by_four_bytes(hidden: torch.Tensor) -> torch.Tensor:
    return torch.rand(hidden.numel() + 1)[1:].view(hidden.shape)


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("dtype", lambda hidden, weight: (hidden.double(), weight.double())),
        ("shape", lambda hidden, weight: (hidden[:4].contiguous(), weight)),
        ("strides", lambda hidden, weight: (hidden.transpose(0, 1).contiguous().transpose(0, 1), weight)),
        ("alignment", lambda hidden, weight: (_off_by_four_bytes(hidden), weight)),
        ("grad", lambda hidden, weight: (hidden.requires_grad_(), weight)),
        ("subclass", lambda hidden, weight: (hidden.as_subclass(_Named), weight)),
        ("device", lambda hidden, weight: (hidden.to("meta"), weight.to("meta"))),
    ],
)
def test_any_other_call_goes_to_pytorch_and_says_why(
    package: ModuleType, call: tuple[torch.Tensor, ...], reason: str, change: Callable[..., tuple[torch.Tensor, ...]]
) -> None:
    changed = change(*call)
    found = package.rms_norm(*changed)
    if reason != "device":
        torch.testing.assert_close(found, norm(*changed))
    assert found.dtype == changed[0].dtype and found.shape == changed[0].shape
    assert package.counters()["rms_norm"] == {"hits": 0, "misses": {reason: 1}}


def test_another_number_goes_to_pytorch(tmp_path: Path) -> None:
    made = kernel("torch.sin(x) * y", "torch.sin(x) * y", "[torch.rand(2, 3), 2.0]")
    scaled, x = handmade(tmp_path, "scaling_kernels", {"scaled": [made]}).scaled, torch.rand(2, 3)
    for factor in (2.0, 3.0):
        torch.testing.assert_close(scaled(x, factor), x.sin() * factor)
    assert scaled.counters() == {"hits": 1, "misses": {"arguments": 1}}


class _Named(torch.Tensor):
    pass


def test_autocast_goes_to_pytorch_and_stays_what_it_is(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(package.rms_norm(*call), norm(*call))
    assert package.counters()["rms_norm"]["misses"] == {"autocast": 1}


def test_switched_off_by_context_and_by_variable(
    package: ModuleType, call: tuple[torch.Tensor, ...], tmp_path: Path
) -> None:
    with package.disabled():
        package.rms_norm(*call)
    assert package.counters()["rms_norm"] == {"hits": 0, "misses": {"disabled": 1}}
    home = Path(str(package.__file__)).parents[1]
    said = subprocess.run(
        [sys.executable, "-c", ONE_CALL],
        env={"PYTHONPATH": str(home), "LLAMA_KERNELS_DISABLED": "1", "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'rms_norm': {'hits': 0, 'misses': {'disabled': 1}}" in said.stdout


def test_gradients_are_pytorchs_own_or_recomputed(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    hidden, weight = (each.requires_grad_() for each in call)
    wanted = torch.autograd.grad(norm(hidden, weight).square().sum(), (hidden, weight))
    for one, other in zip(
        torch.autograd.grad(package.rms_norm(hidden, weight).square().sum(), call), wanted, strict=True
    ):
        torch.testing.assert_close(one, other)
    assert package.counters()["rms_norm"] == {"hits": 0, "misses": {"grad": 1}}
    with package.recomputing():
        found = torch.autograd.grad(package.rms_norm(hidden, weight).square().sum(), call)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert package.counters()["rms_norm"]["hits"] == 1


def test_gradcheck_and_opcheck(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    operator = torch.ops.llama_kernels.rms_norm.default
    small = (torch.rand(2, 3, 8).double().requires_grad_(), torch.rand(8).double().requires_grad_())
    assert torch.autograd.gradcheck(operator, small)
    torch.library.opcheck(operator, tuple(each.requires_grad_() for each in call))
    hidden, weight = (each.detach() for each in call)
    torch.library.opcheck(operator, (hidden, weight))
    torch.library.opcheck(operator, (hidden.transpose(0, 1).contiguous().transpose(0, 1), weight))


def test_compiles_as_a_whole_with_gradients_too(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    compiled = torch.compile(lambda hidden, weight: package.rms_norm(hidden * 2, weight) + 1, fullgraph=True)
    hidden, weight = call
    torch.testing.assert_close(compiled(hidden, weight), norm(hidden * 2, weight) + 1, rtol=1e-5, atol=1e-5)
    assert package.counters()["rms_norm"]["hits"] == 1
    hidden.requires_grad_()
    (found,) = torch.autograd.grad(compiled(hidden, weight).square().sum(), hidden)
    (wanted,) = torch.autograd.grad((norm(hidden * 2, weight) + 1).square().sum(), hidden)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_compiled_under_autocast_keeps_the_types_of_its_arguments(
    package: ModuleType, call: tuple[torch.Tensor, ...]
) -> None:
    compiled = torch.compile(lambda *given: package.rms_norm(*given) + 1, fullgraph=True, backend="aot_eager")
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        found = compiled(*call)
    torch.testing.assert_close(found, norm(*call) + 1, rtol=1e-5, atol=1e-5)


def test_vmap_goes_to_pytorch(package: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    hidden, weight = call
    found = torch.vmap(lambda each: package.rms_norm(each, weight))(hidden)
    torch.testing.assert_close(found, norm(hidden, weight))
    assert package.counters()["rms_norm"] == {"hits": 0, "misses": {"subclass": 1}}


def test_it_says_where_its_figures_come_from(package: ModuleType) -> None:
    about = package.provenance
    (variant,) = next(each for each in about["operators"] if each["name"] == "rms_norm")["variants"]
    came = variant["provenance"]
    low, high = came["interval"]
    assert 1 < low <= came["speedup"] <= high
    assert came["error"] <= came["allowed"] and came["environment"]["torch"].startswith(variant["machine"]["torch"])
    assert json.loads((Path(str(package.__file__)).parent / "package.json").read_text()) == about


@pytest.mark.nightly
def test_its_own_tests_pass_without_kernelgauge(package: ModuleType, tmp_path: Path) -> None:
    home = Path(str(package.__file__)).parents[1]
    program = "import sys; sys.modules['kernelgauge'] = None\nimport pytest; sys.exit(pytest.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", str(home / "tests")],
        env={**_variables(), "PYTHONPATH": str(home)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and " passed" in done.stdout and "skipped" not in done.stdout, done.stdout[-3000:]


def _variables() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.mark.nightly
def test_it_installs_as_a_wheel(package: ModuleType, tmp_path: Path) -> None:
    home = Path(str(package.__file__)).parents[1]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    made = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", str(tmp_path / "wheels"), str(home)]
    subprocess.run(made, check=True, env=_variables())
    (wheel,) = (tmp_path / "wheels").glob("llama_kernels-*.whl")
    subprocess.run([*pip, "install", "-q", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)], check=True)
    env = {**_variables(), "PYTHONPATH": str(tmp_path / "site")}
    said = subprocess.run(
        [sys.executable, "-c", ONE_CALL], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "'rms_norm': {'hits': 1, 'misses': {}}" in said.stdout
