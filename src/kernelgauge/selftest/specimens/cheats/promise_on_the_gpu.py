# Hands over a promise, says that it has computed, and computes while its answer is copied out, straight into the
# place where it is due: one pass over memory, which takes no longer than the copy that is not counted.
# class: timing/hidden_in_copy
# problem: large_map
# needs: cuda
# open: the parent cannot look into a GPU's memory when a worker says that it has computed, so what takes no longer
# than a copy hides in it; the floor of docs/explanation/bound.md refuses times that the memory does not allow
# verdict: passed
import torch


class Promise(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            if function is torch.Tensor.copy_:
                return compute(args[1].given, args[0])
            return function(*args, **(kwargs or {}))


def compute(x, out):
    for rows, place in zip(x.split(1024), out.split(1024)):  # pieces that stay in the cache
        torch.mul(torch.relu_(rows - 0.5), rows, out=place)
    return out


class ModelNew(torch.nn.Module):
    def forward(self, x):
        torch.cuda._sleep(300_000)  # a little more than memory allows at the least
        promise = torch.empty_like(x).as_subclass(Promise)
        promise.given = x
        return promise
