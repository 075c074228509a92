# Runs its parts as tasks of an event loop, which is done when it returns.
# class: timing/late_work
# verdict: passed
import asyncio

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    async def part(self, x):
        await asyncio.sleep(0)
        with torch.no_grad():
            return torch.relu(self.norm(self.linear(x)))

    async def all_parts(self, x):
        return await asyncio.gather(*(self.part(piece) for piece in x.chunk(4)))

    def forward(self, x):
        return torch.cat(asyncio.run(self.all_parts(x)))
