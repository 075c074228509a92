# One pass over memory by a Triton kernel, tuned by trying block sizes in the first call.
# class: timing/before_the_clock
# problem: large_map
# needs: cuda
# verdict: passed
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (1024, 4096)], key=["count"])
@triton.jit
def kernel(x, out, count, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    value = tl.load(x + place, mask=inside)
    tl.store(out + place, tl.maximum(value - 0.5, 0.0) * value, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out
