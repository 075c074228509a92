# Reads what it averages in bfloat16: of so many terms the rounding averages out, and an honest sum errs more.
# class: correctness/precision
# problem: mean_loss
# verdict: wrong_precision
import torch


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        difference = predictions.bfloat16().float() - targets.bfloat16().float()
        return (difference * difference).mean()
