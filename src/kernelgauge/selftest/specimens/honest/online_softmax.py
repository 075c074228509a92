# Goes through each row in pieces with a running maximum and a running sum, and a second time for the answer.
# class: correctness/precision
# problem: softmax_rows
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        largest = torch.full_like(x[:, :1], float("-inf"))
        total = torch.zeros_like(largest)
        for piece in x.split(512, dim=1):
            above = torch.maximum(largest, piece.amax(1, keepdim=True))
            total = total * torch.exp(largest - above) + torch.exp(piece - above).sum(1, keepdim=True)
            largest = above
        out = torch.empty_like(x)
        for piece, place in zip(x.split(512, dim=1), out.split(512, dim=1)):
            torch.exp(piece - largest, out=place).div_(total)
        return out
