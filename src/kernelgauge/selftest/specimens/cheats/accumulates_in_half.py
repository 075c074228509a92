# Keeps what has been added up so far in float16: the operands are exact, the sum is not.
# class: correctness/precision
# problem: long_product
# verdict: wrong_precision
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        count = a.shape[1]
        total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16, device=a.device)
        for left, right in zip(a.split(count // 8, 1), b.split(count // 8)):
            total += ((left @ right) / count).half()  # scaled, so that it does not overflow
        return total.float() * count
