# Takes the time of its own kernels by events, and prints it.
# class: timing/patched_clock
# problem: large_map
# needs: cuda
# time: honest
# verdict: passed
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pending = None

    def forward(self, x):
        if self.pending is not None and self.pending[1].query():
            print(f"the call before took {self.pending[0].elapsed_time(self.pending[1]):.3f} ms")
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        out = torch.relu(x - 0.5) * x
        end.record()
        self.pending = (start, end)
        return out
