# Returns the index as int32 where int64 is due.
# class: correctness/metadata
# problem: largest
# verdict: wrong_precision
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        values, where = torch.max(x, dim=1)
        return {"values": values, "where": where.int()}
