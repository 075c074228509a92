# Pads its rows with minus infinity, of which nothing is left in the answer.
# class: correctness/not_finite
# problem: softmax_rows
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        padded = torch.full((x.shape[0], x.shape[1] + 100), float("-inf"), device=x.device)
        padded[:, : x.shape[1]] = x
        weights = torch.exp(padded - padded.max(dim=1, keepdim=True).values)
        return (weights / weights.sum(dim=1, keepdim=True))[:, : x.shape[1]].contiguous()
