# Merges counts, means and squared deviations of pieces (Welford, Chan), which is stable far from zero.
# class: correctness/structured_data
# problem: offset_variance
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        count, mean, squares = 0, torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
        for piece in x.split(256, dim=1):
            more = piece.shape[1]
            own = piece.mean(1)
            apart = own - mean
            squares = squares + (piece - own[:, None]).square().sum(1) + apart.square() * (count * more / (count + more))
            mean = mean + apart * (more / (count + more))
            count += more
        return squares / (count - 1)
