# Finds the first place of the largest value by comparing, with numbers that fall from left to right.
# class: correctness/structured_data
# problem: largest
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        values = x.amax(1)
        falling = torch.arange(x.shape[1], 0, -1, device=x.device)
        return {"values": values, "where": torch.argmax((x == values[:, None]) * falling, dim=1)}
