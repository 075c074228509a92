# Returns a tensor that computes when it is copied out, after the worker has said that it had computed. On a GPU,
# whose memory the parent cannot look into, the answer is right and the time of the copy is charged to the call: 20
# ms, less by how much copies differ.
# class: timing/lazy_tensor
# time: 15 ms
# verdict: rejected late_output
# cuda: passed
import time

import torch
import torch.nn as nn


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            if function is torch.Tensor.copy_:
                time.sleep(0.02)
                return function(args[0], args[1].model.now(args[1].given))
            return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def now(self, x):
        return torch.relu(self.norm(self.linear(x)))

    def forward(self, x):
        lazy = torch.empty_like(x).as_subclass(Lazy)
        lazy.model, lazy.given = self, x
        return lazy
