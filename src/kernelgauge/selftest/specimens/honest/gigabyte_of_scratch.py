# Keeps a gigabyte of scratch memory for all its calls.
# class: correctness/stale_memory
# problem: large_map
# needs: cuda
# time: honest
# verdict: passed
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = torch.empty(2**28, device="cuda")

    def forward(self, x):
        part = self.scratch[: x.numel()].view(x.shape)
        torch.sub(x, 0.5, out=part).relu_()
        return part * x
