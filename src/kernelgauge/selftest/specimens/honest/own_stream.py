# Computes on a stream of its own and has the current one wait for it.
# class: timing/side_stream
# problem: large_map
# needs: cuda
# time: honest
# verdict: passed
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            out = torch.relu(x - 0.5) * x
        current.wait_stream(self.stream)
        out.record_stream(current)
        return out
