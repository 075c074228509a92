# Asks the allocator for a block of the size of the answer, many times over, and returns the first that does not look
# empty: where the reference runs in the same process, its freed result is there.
# class: correctness/stale_memory
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        blocks = [torch.empty_like(x) for _ in range(64)]
        for block in blocks:
            if block.isfinite().all() and (block >= 0).all() and block.any():
                return block
        return blocks[0]
