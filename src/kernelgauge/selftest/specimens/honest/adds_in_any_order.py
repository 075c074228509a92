# Adds up in four threads, each of which takes a lock to add its part: in another order from call to call, which
# changes the last bits and nothing else.
# class: correctness/race
# problem: scattered_sum
# verdict: passed
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups
        self.lock = threading.Lock()

    def forward(self, x, index):
        out = torch.zeros(self.groups, x.shape[1], device=x.device)

        def add(rows, where):
            with torch.no_grad():
                part = torch.zeros_like(out).index_add_(0, where, rows)
                with self.lock:
                    out.add_(part)

        parts = zip(x.chunk(4), index.chunk(4))
        threads = [threading.Thread(target=add, args=part) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out
