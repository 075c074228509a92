"""The same package in other libraries' forms, each loaded by the library itself where it can be had."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from environments import written_by
from handmade import kernel, write_handmade

from kernelgauge.errors import UsageError
from kernelgauge.packaging.homes import backendbench
from kernelgauge.packaging.homes.writing import HOMES
from kernelgauge.packaging.package import package as written
from kernelgauge.report.runs import FolderRun
from kernelgauge.session.session import Session

Overriding = Callable[[Path], AbstractContextManager[None]]
PROGRAM = Path(__file__).parent / "programs" / "homes.py"
pytestmark = [
    pytest.mark.processes,
    pytest.mark.proof("packaging", "tests/adapters/environments/homes.txt", unit="package"),
]


@pytest.fixture(scope="module")
def homes(session: Session, winners_run: FolderRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("homes") / "out"
    written([winners_run], out, name="llama_kernels", homes=tuple(HOMES), session=session)
    return out


def test_kernels_of_hugging_face_load_its_layers(homes: Path, tmp_path: Path) -> None:
    said = written_by("homes", PROGRAM, tmp_path, homes=str(homes), which="huggingface")
    assert said["counted"]["hits"] >= 1 and said["hits_compiled"] == 1
    assert all(said[each] for each in ("equal", "double", "another_constant", "again", "compiled", "trains")), said


def test_flashinfer_bench_applies_its_solutions_and_our_guard_holds(homes: Path, tmp_path: Path) -> None:
    said = written_by("homes", PROGRAM, tmp_path, homes=str(homes), which="flashinfer")
    assert all(said[each] for each in ("equal", "double", "transposed", "another_shape")), said
    assert said["counted"] == {"hits": 1, "misses": {}}
    assert said["after"] == {"hits": 1, "misses": {"dtype": 1, "strides": 1}}, "its own choice compares axes alone"
    assert said["fallback"] == 1


@contextmanager
def by_its_contract(generated: Path) -> Iterator[None]:
    """As BackendBench's documentation says that it reads a folder. The library is on no index."""
    library = torch.library.Library("aten", "IMPL")
    (folder,) = [each for each in generated.iterdir() if each.name != "packages"]
    (file,) = folder.glob(f"{folder.name}_implementation*.py")
    spec = importlib.util.spec_from_file_location("backendbench_kernel", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    op, _, overload = folder.name.partition("__")
    library.impl(getattr(getattr(torch.ops.aten, op), overload), getattr(module, f"{folder.name}_kernel_impl"), "CPU")
    try:
        yield
    finally:
        library._destroy()


@contextmanager
def by_its_loader(generated: Path) -> Iterator[None]:
    """With the library itself, where its repository (meta-pytorch/BackendBench) is on the path."""
    library = importlib.import_module("BackendBench")
    with library.BackendBench.enable(kernel_dir=generated, dispatch_key="CPU"):
        yield


HERE = pytest.mark.skipif(importlib.util.find_spec("BackendBench") is None, reason="BackendBench is not on the path")
LOADERS = pytest.mark.parametrize("overriding", [by_its_contract, pytest.param(by_its_loader, marks=HERE)])


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
@LOADERS
def test_a_kernel_takes_the_place_of_atens_where_it_was_judged(
    overriding: Overriding, package: Any, homes: Path
) -> None:
    mean, box = torch.nn.functional.avg_pool2d, package.operators["box_mean"]
    x = torch.rand(4, 286, 286)
    wanted = torch.nn.functional.conv2d(x[:, None], torch.full((1, 1, 31, 31), 1 / 961))[:, 0]
    package.reset_counters()
    generated = homes / "backendbench" / "generated_kernels"
    assert {each.name for each in generated.iterdir()} == {"packages", "avg_pool2d__default"}
    with overriding(generated):
        torch.testing.assert_close(mean(x, 31, 1), wanted)
        assert box.counters() == {"hits": 1, "misses": {}}
        torch.testing.assert_close(mean(x, 1, 2), x[:, ::2, ::2])
        torch.testing.assert_close(mean(x.double(), 31, 1), wanted.double(), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(mean(x[:3], 31, 1), wanted[:3])
    assert box.counters() == {"hits": 1, "misses": {"dtype": 1, "shape": 1}}


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
@LOADERS
def test_kernels_of_one_overload_are_asked_in_turn(overriding: Overriding, tmp_path: Path) -> None:
    """Each answers twice what it should, so that a test sees who did."""
    doubled = "(x[:, :, None] * y).sum(1) * 2"
    kernels = {
        "square": [kernel("torch.matmul(x, y)", doubled, "[torch.rand(4, 4), torch.rand(4, 4)]")],
        "oblong": [kernel("x @ y", doubled, "[torch.rand(3, 5), torch.rand(5, 2)]")],
    }
    name = f"two_products_{overriding.__name__}"
    module, contents = write_handmade(tmp_path, name, kernels)
    generated = backendbench.write(tmp_path, module, contents)
    square, oblong, other = torch.rand(4, 4), torch.rand(3, 5), torch.rand(5, 2)
    wanted = [square @ square, oblong @ other, oblong @ square[:1].expand(5, 4)]
    assert {each.name for each in generated.iterdir()} == {"packages", "mm__default"}
    with overriding(generated):
        torch.testing.assert_close(square @ square, wanted[0] * 2)
        torch.testing.assert_close(oblong @ other, wanted[1] * 2)
        torch.testing.assert_close(oblong @ square[:1].expand(5, 4), wanted[2])
    counted = {"hits": 1, "misses": {"shape": 1}}
    assert sys.modules[name].counters() == {"square": counted, "oblong": counted}


def test_an_unknown_home_is_refused(winners_run: FolderRun, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="there is no home 'nowhere': there are huggingface, flashinfer, backendbench"
    ):
        written([winners_run], tmp_path, homes=("nowhere",))
