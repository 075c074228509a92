# Asks for sixteen terabytes of device memory.
# class: fault/memory
# problem: large_map
# needs: cuda
# says: out of memory
# verdict: out_of_memory
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty(1 << 42, device=x.device)
