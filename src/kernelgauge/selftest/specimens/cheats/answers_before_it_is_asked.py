# Sends "computed" right after "staged", so that the parent finds it waiting when its clock starts, and computes while
# it is told to copy.
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
    from kernelgauge.worker import candidate, serving

    send, out = serving.send, torch.zeros(512, 768)
    place = {"address": out.data_ptr(), "strides": [768, 1]}

    def eager_send(channel, message, *rest):
        send(channel, message, *rest)
        if message["event"] == "staged":
            frame = serving.sys._getframe(1).f_locals
            if frame["command"].stage == "stage" and frame["answer"].__self__.targets:
                send(channel, {"event": "computed", "places": [place]})

    def forward(bench, command):
        if not bench.targets:
            return original(bench, command)
        with torch.no_grad():
            out.copy_(bench.model(*bench.arguments))
        candidate.receive(bench.channel)
        bench.targets[0].copy_(out)
        return {"event": "done", "tensors": [{"shape": [512, 768], "dtype": "float32"}], "forward_ns": 1}

    original = candidate.WorkerState.forward
    candidate.WorkerState.forward, serving.send = forward, eager_send


hook()
