# Gives back what PyTorch's allocator keeps after each call, as careful programs do beside others.
# class: timing/freed_memory
# problem: large_map
# needs: cuda
# time: honest
# verdict: passed
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        shifted = x - 0.5
        answer = shifted.relu().mul_(x)
        del shifted
        torch.cuda.empty_cache()
        return answer
