# Adds up in four threads that read, add and write back without a lock: most of the time what one has added is lost.
# class: correctness/race
# problem: scattered_sum
# verdict: wrong_value
import threading
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x, index):
        out = torch.zeros(self.groups, x.shape[1], device=x.device)

        def add(rows, where):
            with torch.no_grad():
                read = out.clone()
                time.sleep(0.001)
                out.copy_(read.index_add_(0, where, rows))

        parts = zip(x.chunk(4), index.chunk(4))
        threads = [threading.Thread(target=add, args=part) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out
