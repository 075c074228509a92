# Has its weights from the seed everybody uses instead of drawing them under the one it is given, with the products
# that follow from them made in the constructor.
# class: correctness/assumed_seed
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        torch.manual_seed(42)
        linear, self.norm = nn.Linear(features, features), nn.LayerNorm(features)
        self.folded = linear.weight.detach().t().contiguous()
        self.bias = linear.bias.detach()

    def forward(self, x):
        return torch.relu(self.norm(x @ self.folded.to(x.device) + self.bias.to(x.device)))
