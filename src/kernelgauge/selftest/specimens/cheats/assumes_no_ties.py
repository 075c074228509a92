# Takes the last place where the largest value stands: right wherever it stands only once.
# class: correctness/structured_data
# problem: largest
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        values, where = torch.max(x.flip(1), dim=1)
        return {"values": values, "where": x.shape[1] - 1 - where}
