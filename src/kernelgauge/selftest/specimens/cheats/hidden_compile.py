# Has torch.compile(...) do the work, in a text that only running it spells out.
# class: rules/obfuscated_source
# verdict: rejected torch_compile
import torch
import torch.nn as nn

KEY = 6
TEXT = "".join(chr(ord(letter) ^ KEY) for letter in '`suc&;&riten(eikvojc')
exec(TEXT)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.fused = fuse(self.plain, backend="eager")

    def plain(self, x):
        return torch.relu(self.norm(self.linear(x)))

    def forward(self, x):
        return self.fused(x)
