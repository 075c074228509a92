"""The same package in other libraries' forms, each loaded by the library itself where it can be had."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from environments import written_by

from kernelgauge.errors import UsageError
from kernelgauge.packaging.homes.writing import HOMES
from kernelgauge.packaging.package import package as written
from kernelgauge.report.runs import FolderRun
from kernelgauge.session.session import Session

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


@pytest.fixture
def overridden(homes: Path) -> Iterator[Any]:
    """By BackendBench's contract, as its `enable` does it through `torch.library`. It is on no index: the folder is
    read as its documentation says."""
    library = torch.library.Library("aten", "IMPL")
    generated = homes / "backendbench" / "generated_kernels"
    (folder,) = [each for each in generated.iterdir() if each.name != "packages"]
    (file,) = folder.glob(f"{folder.name}_implementation*.py")
    before = sys.modules.pop("llama_kernels", None)
    spec = importlib.util.spec_from_file_location("backendbench_kernel", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if before is not None:  # one process can define an operator once
        sys.modules["llama_kernels"] = before
    spec.loader.exec_module(module)
    op, _, overload = folder.name.partition("__")
    library.impl(getattr(getattr(torch.ops.aten, op), overload), getattr(module, f"{folder.name}_kernel_impl"), "CPU")
    yield module, folder.name
    library._destroy()


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
def test_a_kernel_takes_the_place_of_atens_where_it_was_judged(package: Any, overridden: Any) -> None:
    module, name = overridden
    assert name == "avg_pool2d__default"
    count = lambda: module._OPERATOR.counters()  # noqa: E731
    x = torch.rand(4, 286, 286)
    mean = torch.nn.functional.avg_pool2d
    wanted = torch.nn.functional.conv2d(x[:, None], torch.full((1, 1, 31, 31), 1 / 961))[:, 0]
    module._OPERATOR.hits = 0
    module._OPERATOR.misses.clear()
    torch.testing.assert_close(mean(x, 31, 1), wanted)
    assert count() == {"hits": 1, "misses": {}}
    torch.testing.assert_close(mean(x, 1, 2), x[:, ::2, ::2])
    torch.testing.assert_close(mean(x.double(), 31, 1), wanted.double(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(mean(x[:3], 31, 1), wanted[:3])
    assert count() == {"hits": 1, "misses": {"dtype": 1, "shape": 1}}


def test_an_unknown_home_is_refused(winners_run: FolderRun, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="there is no home 'nowhere': there are huggingface, flashinfer, backendbench"
    ):
        written([winners_run], tmp_path, homes=("nowhere",))
