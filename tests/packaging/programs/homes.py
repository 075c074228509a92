"""Loads homes of a package with the real libraries: what is asked from one JSON file, what came to another."""

import json
import sys
from pathlib import Path

import torch
from torch import nn

asked = json.loads(Path(sys.argv[1]).read_text())
home = Path(asked["homes"])


def rms(hidden, weight, eps=1e-6):
    return weight * (hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + eps))


def close(found, wanted):
    return found.dtype == wanted.dtype and bool(torch.allclose(found, wanted, rtol=1e-4, atol=1e-5))


def counted():
    return sys.modules["llama_kernels"].counters()["rms_norm"]


def huggingface():
    from kernels import LocalLayerRepository, Mode, kernelize, use_kernel_forward_from_hub, use_kernel_mapping

    @use_kernel_forward_from_hub("RmsNorm")
    class Norm(nn.Module):
        def __init__(self, eps):
            super().__init__()
            self.weight, self.eps = nn.Parameter(torch.rand(128)), eps

        def forward(self, hidden):
            return rms(hidden, self.weight, self.eps)

    hidden, said = torch.rand(16, 1024, 128), {}
    mapping = {"RmsNorm": {"cpu": LocalLayerRepository(repo_path=home / "huggingface", layer_name="RmsNorm")}}
    with use_kernel_mapping(mapping), torch.no_grad():
        model = kernelize(nn.Sequential(Norm(1e-6)), mode=Mode.INFERENCE, device="cpu")
        sys.modules["llama_kernels"].reset_counters()
        said["equal"] = close(model(hidden), rms(hidden, model[0].weight))
        said["counted"] = counted()
        wide = nn.Sequential(Norm(1e-6)).double()
        wide = kernelize(wide, mode=Mode.INFERENCE, device="cpu")
        said["double"] = close(wide(hidden.double()), rms(hidden.double(), wide[0].weight))
        other = kernelize(nn.Sequential(Norm(1e-1)), mode=Mode.INFERENCE, device="cpu")
        said["another_constant"] = close(other(hidden), rms(hidden, other[0].weight, 1e-1))
        said["again"] = close(other(hidden), rms(hidden, other[0].weight, 1e-1))
        fast = kernelize(nn.Sequential(Norm(1e-6)), mode=Mode.INFERENCE | Mode.TORCH_COMPILE, device="cpu")
        fast(hidden)
        before = counted()["hits"]
        compiled = torch.compile(fast, fullgraph=True, backend="aot_eager")
        said["compiled"] = close(compiled(hidden), rms(hidden, fast[0].weight))
        said["hits_compiled"] = counted()["hits"] - before
    training = kernelize(nn.Sequential(Norm(1e-6)), mode=Mode.TRAINING, device="cpu")
    training(hidden).sum().backward()
    said["trains"] = training[0].weight.grad is not None
    return said


def flashinfer():
    from flashinfer_bench import ApplyConfig, apply, enable_apply

    hidden, weight, said = torch.rand(16, 1024, 128), torch.rand(128), {}
    calls = {"fallback": 0}

    def fallback(hidden, weight):
        calls["fallback"] += 1
        return rms(hidden, weight)

    def called(hidden, weight):
        return close(apply("rms_norm", args=(hidden, weight), fallback=fallback), rms(hidden, weight))

    with enable_apply(str(home / "flashinfer"), ApplyConfig(max_atol=1e-2, max_rtol=1e-2)):
        said["equal"] = called(hidden, weight)
        said["counted"] = counted()
        said["double"] = called(hidden.double(), weight.double())
        said["transposed"] = called(hidden.transpose(1, 2).contiguous().transpose(1, 2), weight)
        said["after"] = counted()
        said["another_shape"] = called(hidden[:4].contiguous(), weight)
    return {**said, **calls}


found = {"huggingface": huggingface, "flashinfer": flashinfer}[asked["which"]]()
Path(sys.argv[2]).write_text(json.dumps(found))
