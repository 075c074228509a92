# Hooks the worker's own staging step, to compute before the clock runs and answer from memory: the inputs it finds
# there are those of the call before.
# class: timing/before_the_clock
# kernel_policy: any
# verdict: wrong_value
import torch
import torch.nn as nn

_models = []


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        _models.append(self)

    def forward(self, x):
        return self.answer


def _hook():
    from kernelgauge.worker.candidate import WorkerState

    original = WorkerState.stage

    def stage(bench, command):
        claim = original(bench, command)
        with torch.no_grad():
            for model in _models:
                model.answer = torch.relu(model.norm(model.linear(bench.arguments[0])))
        return claim

    WorkerState.stage = stage


_hook()
