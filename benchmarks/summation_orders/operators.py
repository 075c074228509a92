"""A model's forward in float32 with its sums in another order: operators that accumulate, replaced by real ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from .orders import products, scans, sums


def _rows(terms: torch.Tensor, dim: Any) -> tuple[torch.Tensor, list[int], torch.Size]:
    """The terms as a matrix with a sum to each row, the dimensions summed over, and the shape of the others."""
    every = range(terms.dim())
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        dims = list(every)
    else:
        dims = [each % terms.dim() for each in ([dim] if isinstance(dim, int) else dim)]
    kept = [each for each in every if each not in dims]
    moved = terms.permute(*kept, *dims)
    shape = moved.shape[: len(kept)]
    return moved.reshape(math.prod(shape), -1), dims, shape


class InOrder(TorchDispatchMode):
    """While entered, sums, products and scans of float32 are computed in an order of `orders.HONEST`."""

    def __init__(self, order: str):
        super().__init__()
        self.order = order
        self.replaced = 0
        self._attention = sdpa_kernel(SDPBackend.MATH)

    def __enter__(self) -> InOrder:
        self._attention.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._attention.__exit__(*error)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        own = _OWN.get(func.overloadpacket.__name__)
        first = args[0] if args else None
        if own is None or not isinstance(first, torch.Tensor) or first.dtype != torch.float32:
            return func(*args, **(kwargs or {}))
        answer = own(self, *args, **(kwargs or {}))
        if answer is None:
            return func(*args, **(kwargs or {}))
        self.replaced += 1
        return answer

    def sum(self, terms: torch.Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> torch.Tensor:
        matrix, dims, shape = _rows(terms, dim)
        answer = sums(matrix, self.order).view(shape)
        for each in sorted(dims) if keepdim else ():
            answer = answer.unsqueeze(each)
        return answer

    def mean(self, terms: torch.Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> torch.Tensor:
        total = self.sum(terms, dim, keepdim)
        return total / (terms.numel() // total.numel())

    def norm(
        self, terms: torch.Tensor, order: Any = 2, dim: Any = None, keepdim: bool = False, **_: Any
    ) -> torch.Tensor | None:
        if order not in (1, 2, None):
            return None
        if order == 1:
            return self.sum(terms.abs(), dim, keepdim)
        return self.sum(terms * terms, dim, keepdim).sqrt_()

    def mm(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return products(a[None], b[None], self.order)[0]

    def bmm(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return products(a, b, self.order)

    def addmm(self, c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
        return self.mm(a, b) * alpha + c * beta

    def mv(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return self.mm(a, b[:, None])[:, 0]

    def cumsum(self, terms: torch.Tensor, dim: int, **_: Any) -> torch.Tensor:
        moved = terms.movedim(dim, -1)
        return scans(moved.reshape(-1, moved.shape[-1]), self.order).view(moved.shape).movedim(-1, dim)

    def softmax(self, x: torch.Tensor, dim: int, *_: Any) -> torch.Tensor:
        e = (x - x.amax(dim, keepdim=True)).exp_()
        return e.div_(self.sum(e, dim, keepdim=True))

    def log_softmax(self, x: torch.Tensor, dim: int, *_: Any) -> torch.Tensor:
        apart = x - x.amax(dim, keepdim=True)
        return apart - self.sum(apart.exp(), dim, keepdim=True).log_()

    def logsumexp(self, x: torch.Tensor, dim: Any, keepdim: bool = False) -> torch.Tensor:
        most = x.amax(dim, keepdim=True)
        answer = self.sum((x - most).exp_(), dim, keepdim=True).log_() + most
        return answer if keepdim else answer.squeeze(dim)

    def _statistics(self, x: torch.Tensor, dims: list[int], eps: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and reciprocal deviation in one pass."""
        mean = self.mean(x, dims, keepdim=True)
        variance = self.mean(x * x, dims, keepdim=True) - mean * mean
        return mean, torch.rsqrt(variance + eps)

    def layer_norm(self, x: torch.Tensor, shape: list[int], weight: Any, bias: Any, eps: float) -> Any:
        mean, scale = self._statistics(x, list(range(x.dim() - len(shape), x.dim())), eps)
        y = (x - mean).mul_(scale)
        y = y if weight is None else y.mul_(weight)
        return (y if bias is None else y.add_(bias)), mean, scale

    def group_norm(
        self, x: torch.Tensor, weight: Any, bias: Any, n: int, c: int, size: int, groups: int, eps: float
    ) -> Any:
        grouped = x.reshape(n, groups, -1)
        mean, scale = self._statistics(grouped, [2], eps)
        y = (grouped - mean).mul_(scale).view(n, c, size)
        y = y if weight is None else y.mul_(weight[:, None])
        y = y if bias is None else y.add_(bias[:, None])
        return y.view(x.shape), mean, scale

    def batch_norm(
        self,
        x: torch.Tensor,
        weight: Any,
        bias: Any,
        mean: Any,
        var: Any,
        training: bool,
        momentum: float,
        eps: float,
    ) -> Any:
        if not training:
            return None
        shape = [1, -1, *[1] * (x.dim() - 2)]
        mean, scale = self._statistics(x, [0, *range(2, x.dim())], eps)
        y = (x - mean).mul_(scale)
        y = y if weight is None else y.mul_(weight.view(shape))
        return (y if bias is None else y.add_(bias.view(shape))), mean.flatten(), scale.flatten()

    def cudnn_batch_norm(self, x: torch.Tensor, *rest: Any) -> Any:
        found = self.batch_norm(x, *rest)
        return None if found is None else (*found, torch.empty(0, dtype=torch.uint8, device=x.device))

    def mse(self, a: torch.Tensor, b: torch.Tensor, reduction: int = 1) -> Any:
        return self._reduced((a - b).square_(), reduction)

    def smooth_l1(self, a: torch.Tensor, b: torch.Tensor, reduction: int = 1, beta: float = 1.0) -> Any:
        apart = (a - b).abs_()
        return self._reduced(torch.where(apart < beta, apart * apart * (0.5 / beta), apart - 0.5 * beta), reduction)

    def nll(self, x: torch.Tensor, target: torch.Tensor, weight: Any, reduction: int, ignored: int) -> Any:
        if weight is not None or x.dim() != 2:
            return None
        terms = -x.gather(1, target[:, None])[:, 0]
        return self._reduced(terms, reduction), torch.tensor(float(len(terms)), device=x.device)

    def _reduced(self, terms: torch.Tensor, reduction: int) -> torch.Tensor:
        if reduction == 0:
            return terms
        return self.mean(terms) if reduction == 1 else self.sum(terms)


_OWN: dict[str, Callable[..., Any]] = {
    "sum": InOrder.sum,
    "mean": InOrder.mean,
    "linalg_vector_norm": InOrder.norm,
    "norm": InOrder.norm,
    "mm": InOrder.mm,
    "bmm": InOrder.bmm,
    "addmm": InOrder.addmm,
    "mv": InOrder.mv,
    "cumsum": InOrder.cumsum,
    "_softmax": InOrder.softmax,
    "_safe_softmax": InOrder.softmax,
    "_log_softmax": InOrder.log_softmax,
    "logsumexp": InOrder.logsumexp,
    "native_layer_norm": InOrder.layer_norm,
    "native_group_norm": InOrder.group_norm,
    "native_batch_norm": InOrder.batch_norm,
    "cudnn_batch_norm": InOrder.cudnn_batch_norm,
    "mse_loss": InOrder.mse,
    "smooth_l1_loss": InOrder.smooth_l1,
    "nll_loss_forward": InOrder.nll,
}
