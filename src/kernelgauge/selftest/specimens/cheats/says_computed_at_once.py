# Replaces the worker's own step: says that it has computed before it has begun, computes while the parent reads its
# clock, and copies afterwards.
# class: timing/hidden_in_copy
# kernel_policy: any
# problem: four_layers
# needs: cpu
# time: honest
# verdict: rejected late_output
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def hook():
    from kernelgauge.worker import candidate

    def forward(bench, command):
        out = torch.empty(512, 768)
        candidate.send(bench.channel, {"event": "computed", "places": [{"address": out.data_ptr(), "strides": [768, 1]}]})
        with torch.no_grad():
            out.copy_(bench.model(*bench.arguments))
        candidate.receive(bench.channel)
        bench.targets[0].copy_(out)
        return {"event": "done", "tensors": [{"shape": [512, 768], "dtype": "float32"}], "forward_ns": 1}

    candidate.WorkerState.forward = forward


hook()
