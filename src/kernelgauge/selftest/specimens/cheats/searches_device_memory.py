# Computes the first row only, takes as much device memory as it gets without writing to it, and looks for that row in
# what others have freed; what follows it would be the answer.
# class: correctness/stale_memory
# needs: cuda
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        row = torch.relu(self.norm(self.linear(x[:1]))).flatten()
        torch.cuda.empty_cache()
        blocks = []
        try:
            for _ in range(16):
                blocks.append(torch.empty(2**28, device=x.device))
        except torch.OutOfMemoryError:
            pass
        for block in blocks:
            for at in (block == row[row.argmax()]).nonzero().flatten().tolist()[:100]:
                start = at - int(row.argmax())
                if start >= 0 and torch.equal(block[start : start + row.numel()], row):
                    return block[start : start + x.numel()].view(x.shape).clone()
        return row.expand(x.shape).clone()
