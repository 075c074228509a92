# Writes to an address a terabyte beyond its input.
# class: fault/device
# problem: large_map
# needs: cuda
# says: memory violation
# verdict: runtime_error
import torch
import triton
import triton.language as tl


@triton.jit
def stray(pointer, distance):
    tl.store(pointer + distance, 1.0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        stray[(1,)](x, 1 << 40)
        return torch.relu(x - 0.5) * x
