"""An operator of `torch.library` with its guard: the kernel where it was judged, PyTorch everywhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .functional import own
from .guards import PLAIN, REASONS, autocasts, has_tangent, needs_grad, without_autocast
from .variants import Results, Variant


class Operator:
    """What a package gives for one problem: call it with the inputs, then the weights.

    `torch.ops.<package>.<name>` is the same operator; `torch.compile` takes it as a whole. A call that wants
    gradients goes to PyTorch, which keeps what its backward needs; while `recomputing` of the package is open, and
    under `torch.compile`, the kernel answers and the backward computes the reference anew.

    Args:
        enabled: whether kernels are to be used at all, asked in every call.
        recomputes: whether gradients are wanted of the kernel's own calls.
    """

    def __init__(
        self,
        namespace: str,
        given: dict[str, Any],
        variants: Sequence[Variant],
        enabled: Callable[[], bool],
        recomputes: Callable[[], bool],
    ) -> None:
        self.name: str = given["name"]
        self.about = given
        self.variants = tuple(variants)
        self.hits = 0
        self.misses: Counter[str] = Counter()
        self._enabled, self._recomputes = enabled, recomputes
        self._single = len(given["variants"][0]["results"]) == 1
        self._op = self._registered(namespace, given["schema"])
        self.__doc__ = given["about"]

    def __call__(self, *arguments: Any) -> Any:
        if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
            return self._op(*arguments)
        if reason := self._not_here(arguments):
            self.misses[reason] += 1
            return self._given(self._fallback(arguments))
        return self._given(self._answer(arguments))

    def ready(self, arguments: Sequence[Any]) -> str | None:
        """Why a call would not reach a kernel, as far as can be told without its addresses; None if it would."""
        if not self._enabled():
            return "disabled"
        if autocasts(arguments):
            return "autocast"
        if needs_grad(arguments) and not self._recomputes():
            return "grad"
        if not torch.compiler.is_compiling() and has_tangent(arguments):
            return "grad"
        return self._fit(arguments)[1]

    def unusable(self, arguments: Sequence[Any]) -> str | None:
        """Why a call does not reach a kernel, addresses and machine included; None if it does."""
        return self.ready(arguments) or self._fit(arguments)[0].unusable(arguments)

    def kernel(self, arguments: Sequence[Any]) -> Any:
        """The kernel's answer to a call that is not `unusable`, and nobody else's."""
        self.hits += 1
        return self._given(self._fit(arguments)[0].call(arguments))

    def counters(self) -> dict[str, Any]:
        """Calls that the kernel answered, and by reason those that PyTorch did."""
        return {"hits": self.hits, "misses": {name: self.misses[name] for name in REASONS if self.misses[name]}}

    def _not_here(self, arguments: Sequence[Any]) -> str | None:
        """Why a call does not even come to the operator: PyTorch's own autograd and autocast answer it."""
        if autocasts(arguments):
            return "autocast"
        if has_tangent(arguments):
            return "grad"
        if needs_grad(arguments):
            return "grad" if not self._recomputes() else None
        return "subclass" if any(_wrapped(each) for each in arguments) else None

    def _answer(self, arguments: Sequence[Any]) -> Results:
        if needs_grad(arguments):  # with the operator's own backward
            found = self._op(*arguments)
            return (found,) if self._single else tuple(found)
        return self._implementation(arguments)

    def _implementation(self, arguments: Sequence[Any]) -> Results:
        """The kernel's answer to a call that it was judged for, else PyTorch's; and counted."""
        variant, reason = self._fit(arguments)
        if not self._enabled():
            reason = "disabled"
        reason = reason or variant.unusable(arguments)
        if reason is None:
            self.hits += 1
            return variant.call(arguments)
        self.misses[reason] += 1
        return self._fallback(arguments)

    def _fit(self, arguments: Sequence[Any]) -> tuple[Variant, str | None]:
        """The variant for a call; else the first, and the last reason why one misses it."""
        why = "arguments"
        for each in self.variants:
            reason = each.miss(arguments)
            if reason is None:
                return each, None
            if REASONS.index(reason) > REASONS.index(why):
                why = reason
        return self.variants[0], why

    def _fallback(self, arguments: Sequence[Any]) -> Results:
        """By the reference of the variant with these shapes and types, whatever the guard says of the rest of the
        call; at shapes that no variant has, all references compute the same."""
        return next((each for each in self.variants if each.alike(arguments)), self.variants[0]).reference(arguments)

    def _given(self, results: Results) -> Any:
        return results[0] if self._single else results

    def _registered(self, namespace: str, schema: str) -> Any:
        """The operator in PyTorch's dispatcher: in its own memory, without autocast, with a fake and a backward."""

        def implementation(*arguments: Any) -> Any:
            with without_autocast(arguments):
                return self._given(own(self._implementation(arguments), arguments))

        def fake(*arguments: Any) -> Any:
            with torch.no_grad(), without_autocast(arguments):
                return self._given(own(self._fallback(arguments), arguments))

        def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.kinds = [isinstance(each, torch.Tensor) for each in inputs]
            ctx.plain = [each for each in inputs if not isinstance(each, torch.Tensor)]
            ctx.save_for_backward(*(each for each in inputs if isinstance(each, torch.Tensor)))

        def backward(ctx: Any, *gradients: Any) -> Any:
            tensors, plain = iter(ctx.saved_tensors), iter(ctx.plain)
            arguments = [next(tensors) if kind else next(plain) for kind in ctx.kinds]
            return tuple(self._gradients(arguments, ctx.needs_input_grad, gradients))

        made = torch.library.custom_op(f"{namespace}::{self.name}", implementation, mutates_args=(), schema=schema)
        made.register_fake(fake)
        made.register_autograd(backward, setup_context=setup)
        return getattr(getattr(torch.ops, namespace), self.name).default

    def _gradients(self, arguments: Sequence[Any], wanted: Sequence[bool], given: Sequence[Any]) -> list[Any]:
        """Of each argument that wants one, by PyTorch's autograd through the reference, which is computed anew.

        Where gradients of these gradients are wanted, the leaves are views of the arguments, which keep the graph.
        """
        again = torch.is_grad_enabled()
        leaves = [
            each if not isinstance(each, torch.Tensor) else _leaf(each, again and want, want)
            for each, want in zip(arguments, wanted, strict=True)
        ]
        with torch.enable_grad(), without_autocast(arguments):
            results = self._fallback(leaves)
        pairs = [(r, g) for r, g in zip(results, given, strict=True) if g is not None and r.requires_grad]
        asked = [leaf for leaf, want in zip(leaves, wanted, strict=True) if want]
        if not pairs:
            return [torch.zeros_like(leaf) if want else None for leaf, want in zip(leaves, wanted, strict=True)]
        found = iter(
            torch.autograd.grad(
                [r for r, _ in pairs],
                asked,
                [g for _, g in pairs],
                create_graph=again,
                allow_unused=True,
                materialize_grads=True,
            )
        )
        return [next(found) if want else None for want in wanted]


def _leaf(given: torch.Tensor, kept: bool, wants: bool) -> torch.Tensor:
    """A tensor to take gradients of alone, even where another argument was computed from it."""
    return given.view_as(given) if kept and given.requires_grad else given.detach().requires_grad_(wants)


def _wrapped(each: Any) -> bool:
    """Whether this is a tensor without memory of its own to run a kernel on: a subclass, one of `torch.func`."""
    if not isinstance(each, torch.Tensor):
        return False
    return type(each) not in PLAIN or bool(torch._C._functorch.is_functorch_wrapped_tensor(each))
