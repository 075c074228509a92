# Launches a kernel that waits for what never comes.
# class: fault/device
# problem: large_map
# needs: cuda
# says: no answer within
# verdict: timed_out
import torch
import triton
import triton.language as tl


@triton.jit
def spin(pointer):
    while tl.load(pointer, volatile=True) != 12345.0:
        pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        spin[(1,)](torch.zeros(1, device=x.device))
        return torch.relu(x - 0.5) * x
