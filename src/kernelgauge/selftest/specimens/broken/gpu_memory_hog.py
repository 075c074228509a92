# Takes all device memory there is: when it is constructed, and what has become free until it is called.
# class: fault/memory
# problem: large_map
# needs: cuda
# says: memory
# verdict: out_of_memory
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hoard = []
        self.take()

    def take(self):
        for size in (2**30, 2**25):
            try:
                while True:
                    self.hoard.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                pass

    def forward(self, x):
        self.take()
        return torch.relu(x - 0.5) * x
