"""Winners in models: the same answers and tokens, and which modules were swapped."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from torch import nn

import kernelgauge as kg

transformers = pytest.importorskip("transformers", reason="the extra level4 is not installed")
pytestmark = [pytest.mark.processes, pytest.mark.proof("packaging", unit="package")]


@pytest.fixture(scope="module")
def package(package_of_models: ModuleType) -> ModuleType:
    return package_of_models


@pytest.fixture(autouse=True)
def _counted_anew(package: ModuleType) -> None:
    package.reset_counters()


def llama() -> nn.Module:
    """With random weights, at the shapes that the winners were judged at."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 1024, "intermediate_size": 1024, "num_hidden_layers": 1, "num_attention_heads": 8}
    config = transformers.LlamaConfig(vocab_size=1000, hidden_act="gelu_new", rms_norm_eps=1e-6, **sizes)
    return transformers.LlamaForCausalLM(config).eval()


def words() -> torch.Tensor:
    return torch.randint(0, 1000, (8, 256), generator=torch.Generator().manual_seed(1))


def by_how(applied: object) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for swap in applied.swaps:  # type: ignore[attr-defined]
        found[swap.operator, swap.how] = found.get((swap.operator, swap.how), 0) + 1
    return found


def test_llama_says_the_same_words(package: ModuleType) -> None:
    model, ids = llama(), words()
    with torch.no_grad():
        wanted = model(ids).logits
        said = model.generate(ids, max_new_tokens=3, do_sample=False)
    applied = kg.apply(model, ids, packages=[package])
    assert by_how(applied) == {("llama_norm", "graph"): 3, ("llama_gate", "pattern"): 1}
    package.reset_counters()
    with torch.no_grad():
        found = model(ids).logits
        assert package.counters()["llama_norm"] == {"hits": 3, "misses": {}}
        assert package.counters()["llama_gate"] == {"hits": 1, "misses": {}}
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
        assert torch.equal(model.generate(ids, max_new_tokens=3, do_sample=False), said)
    assert package.counters()["llama_norm"] == {"hits": 6, "misses": {"shape": 6}}, "one token is not judged"
    applied.undo()
    package.reset_counters()
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, wanted, rtol=0, atol=0)
    assert package.counters()["llama_norm"] == {"hits": 0, "misses": {}}


def test_llama_compiles_as_a_whole_and_learns_as_before(package: ModuleType) -> None:
    model, ids = llama(), words()
    with torch.no_grad():
        wanted = model(ids).logits
    model(ids).logits.square().mean().backward()
    gradient = model.model.norm.weight.grad.clone()
    model.zero_grad()
    kg.apply(model, ids, packages=[package])
    package.reset_counters()
    model(ids).logits.square().mean().backward()
    torch.testing.assert_close(model.model.norm.weight.grad, gradient)
    assert package.counters()["llama_norm"]["misses"] == {"grad": 3}
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        torch.testing.assert_close(compiled(ids, use_cache=False).logits, wanted, rtol=1e-4, atol=1e-4)
    assert package.counters()["llama_norm"]["hits"] == 3


def test_vision_transformer(package: ModuleType) -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.ViTConfig(image_size=32, patch_size=2, hidden_act="gelu_new", **sizes)
    model, images = transformers.ViTModel(config).eval(), torch.rand(8, 3, 32, 32)
    with torch.no_grad():
        wanted = model(images).last_hidden_state
        applied = kg.apply(model, images, packages=[package])
        assert by_how(applied) == {("gelu_new", "graph"): 2}
        package.reset_counters()
        torch.testing.assert_close(model(images).last_hidden_state, wanted, rtol=1e-4, atol=1e-4)
    assert package.counters()["gelu_new"] == {"hits": 2, "misses": {}}


class Norm(nn.Module):
    """Written otherwise than the winner's reference, with the same answer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * self.weight


class Block(nn.Module):
    """A transformer's block in the middle of a U-Net: tokens are the pixels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.act = Norm(width), transformers.activations.NewGELUActivation()
        self.gate, self.up, self.down = nn.Linear(width, 1024), nn.Linear(width, 1024), nn.Linear(1024, width)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        inner = self.norm(x)
        return x + scale * self.down(self.act(self.gate(inner)) * self.up(inner))


class UNet(nn.Module):
    """Down, a block, up, with a time and a skip, as in diffusion."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(4, 1024, 2, stride=2), nn.ConvTranspose2d(1024, 4, 2, stride=2)
        self.norm, self.time = nn.GroupNorm(8, 1024), nn.Linear(16, 1024)
        self.block = Block(1024)

    def forward(self, image: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        x = nn.functional.silu(self.norm(self.down(image))) + self.time(time)[:, :, None, None]
        tokens = self.block(x.flatten(2).transpose(1, 2).contiguous())
        return image + self.up(tokens.transpose(1, 2).reshape(x.shape))


def test_u_net_of_a_diffusion_model(package: ModuleType) -> None:
    torch.manual_seed(0)
    model, image, time = UNet().eval(), torch.rand(8, 4, 32, 32), torch.rand(8, 16)
    with torch.no_grad():
        wanted = model(image, time)
        applied = kg.apply(model, image, time, packages=[package])
        assert by_how(applied) == {("llama_gate", "pattern"): 1}, "a norm that is written otherwise is not the same"
        torch.testing.assert_close(model(image, time), wanted, rtol=1e-4, atol=1e-4)
        applied.undo()
        applied = kg.apply(model, image, time, packages=[package], classes={"Norm": "llama_norm"})
        assert by_how(applied) == {("llama_norm", "class"): 1, ("llama_gate", "pattern"): 1}
        package.reset_counters()
        torch.testing.assert_close(model(image, time), wanted, rtol=1e-4, atol=1e-4)
    assert (package.counters()["llama_norm"]["hits"], package.counters()["llama_gate"]["hits"]) == (1, 1)


def test_another_constant_is_another_computation(package: ModuleType) -> None:
    model, ids = llama(), words()
    for module in model.modules():
        if hasattr(module, "variance_epsilon"):
            module.variance_epsilon = 1e-5
    applied = kg.apply(model, ids, packages=[package], patterns=False)
    assert applied.swaps == []


def test_a_class_that_answers_otherwise_is_not_swapped(package: ModuleType) -> None:
    model, x = nn.Sequential(nn.LayerNorm(1024)), torch.rand(8, 256, 1024)
    applied = kg.apply(model, x, packages=[package], classes={"LayerNorm": "llama_norm"})
    assert applied.swaps == []


def test_a_module_in_another_mode_answers_itself(package: ModuleType) -> None:
    model, ids = llama(), words()
    kg.apply(model, ids, packages=[package])
    model.train()
    package.reset_counters()
    with torch.no_grad():
        model(ids)
    assert package.counters()["llama_norm"]["hits"] == 0
