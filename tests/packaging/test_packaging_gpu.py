"""A Triton winner on a GPU: judged, packaged, in a model, under `torch.compile` and in CUDA graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from packages import PROBLEMS, imported

import kernelgauge as kg
from kernelgauge.config import load_protocol
from kernelgauge.packaging.package import package as written
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.sizes import with_constants
from kernelgauge.schema import Candidate, RunHeader
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.gpu
SHAPE = (16, 2048, 4096)


@pytest.fixture(scope="module")
def winner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    home = tmp_path_factory.mktemp("gpu")
    path = home / "llama_norm.py"
    sizes = dict(zip(("batch", "tokens", "width"), SHAPE, strict=True))
    path.write_text(with_constants((PROBLEMS / "llama_norm.py").read_text(), sizes))
    source = (PROBLEMS / "llama_norm_triton.py").read_text()
    rules, problem = load_protocol("quick"), load_problem(path)
    header = RunHeader(
        kernelgauge="0.1.0",
        contestant="folder:answers",
        problems=(problem.key,),
        sizes="full",
        device="cuda",
        protocol=rules.name,
        protocol_digest=rules.digest,
        math=rules.tolerance.math,
        kernel_policy=rules.kernel_policy,
    )
    with Session(device="cuda") as session:
        record = session.evaluate(problem, source, protocol="quick", device="cuda")
        assert record.standing == "faster", (record.outcome, record.reason, record.timing)
        with Run.create(home / "run", header) as run:
            run.append(record, Candidate(problem=problem.key, source=source, backend=record.backend))
        written([home / "run"], home / "out", name="gpu_kernels", session=session)
    package = imported(home / "out", "gpu_kernels")
    assert package.build() == {}
    yield package


@pytest.fixture
def call(winner: ModuleType) -> tuple[torch.Tensor, torch.Tensor]:
    winner.reset_counters()
    return torch.rand(SHAPE, device="cuda"), torch.rand(SHAPE[-1], device="cuda")


def norm(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return weight * (hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-6))


def test_guard_and_rules(winner: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    hidden, weight = call
    torch.testing.assert_close(winner.llama_norm(hidden, weight), norm(hidden, weight), rtol=1e-5, atol=1e-5)
    winner.llama_norm(hidden.half(), weight.half())
    winner.llama_norm(hidden.cpu()[:1, :8], weight.cpu())
    assert winner.counters()["llama_norm"] == {"hits": 1, "misses": {"dtype": 1, "device": 1}}
    torch.library.opcheck(torch.ops.gpu_kernels.llama_norm.default, (hidden, weight))


def test_compiled_and_captured(winner: ModuleType, call: tuple[torch.Tensor, ...]) -> None:
    hidden, weight = call
    for mode in ("default", "reduce-overhead"):
        compiled = torch.compile(lambda h, w: winner.llama_norm(h + 1, w) * 2, fullgraph=True, mode=mode)
        with torch.no_grad():
            for _ in range(3):
                found = compiled(hidden, weight).clone()
        torch.testing.assert_close(found, norm(hidden + 1, weight) * 2, rtol=1e-5, atol=1e-5)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        winner.llama_norm(hidden, weight)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            out = winner.llama_norm(hidden, weight)
        hidden.copy_(torch.rand_like(hidden))
        graph.replay()
    torch.testing.assert_close(out, norm(hidden, weight), rtol=1e-5, atol=1e-5)


def test_a_llama_says_the_same_words(winner: ModuleType, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the extra level4 is not installed")
    torch.manual_seed(0)
    sizes = {"hidden_size": 4096, "intermediate_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32}
    config = transformers.LlamaConfig(vocab_size=1000, rms_norm_eps=1e-6, num_key_value_heads=8, **sizes)
    model = transformers.LlamaForCausalLM(config).cuda().eval()
    ids = torch.randint(0, 1000, SHAPE[:2], device="cuda")
    with torch.no_grad():
        said = model.generate(ids, max_new_tokens=4, do_sample=False)
        applied = kg.apply(model, ids, packages=[winner], tolerance=1e-4)
        assert [swap.operator for swap in applied.swaps] == ["llama_norm"] * 5
        winner.reset_counters()
        assert torch.equal(model.generate(ids, max_new_tokens=4, do_sample=False), said)
    assert winner.counters()["llama_norm"] == {"hits": 5, "misses": {"shape": 15}}
