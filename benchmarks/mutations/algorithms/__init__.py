"""Honest float32 algorithms by the PyTorch function that each of them stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import activations as act
from . import convolutions as conv
from . import losses as loss
from . import normalisations as norm
from . import pooling as pool
from . import products as prod
from . import reductions as red

Algorithm = Callable[..., Any]

_MATMUL = (prod.matmul_split, prod.matmul_tiles, prod.matmul_halves, prod.matmul_transposed)
_ND = (conv.convolve_by_taps, conv.convolve_halves)
_TRANSPOSED = (conv.scatter_by_taps, conv.gather_flipped)
_BATCH_NORM = (norm.batch_norm_two_pass, norm.batch_norm_folded, norm.batch_norm_merged)

ALGORITHMS: dict[str, tuple[Algorithm, ...]] = {
    "torch.matmul": _MATMUL,
    "torch.bmm": _MATMUL,
    "F.linear": (prod.linear_split, prod.linear_addmm, prod.linear_transposed),
    "F.conv1d": _ND,
    "F.conv2d": (conv.convolve_by_taps, conv.convolve_im2col, conv.convolve_halves),
    "F.conv3d": _ND,
    "F.conv_transpose1d": _TRANSPOSED,
    "F.conv_transpose2d": _TRANSPOSED,
    "F.conv_transpose3d": _TRANSPOSED,
    "F.batch_norm": _BATCH_NORM,
    "F.group_norm": (norm.group_norm_two_pass, norm.group_norm_merged, norm.group_norm_double),
    "F.layer_norm": (norm.layer_norm_two_pass, norm.layer_norm_merged),
    "F.instance_norm": (norm.instance_norm_two_pass, norm.instance_norm_merged),
    "F.relu": (act.relu_where,),
    "F.leaky_relu": (act.leaky_relu_where,),
    "torch.sigmoid": (act.sigmoid_by_exp, act.sigmoid_by_tanh),
    "torch.tanh": (act.tanh_by_expm1,),
    "F.gelu": (act.gelu_by_erf, act.gelu_by_erfc),
    "F.selu": (act.selu_where,),
    "F.elu": (act.elu_where,),
    "F.hardsigmoid": (act.hardsigmoid_by_clamp,),
    "F.hardswish": (act.hardswish_by_clamp,),
    "F.hardtanh": (act.hardtanh_by_clamp,),
    "F.softplus": (act.softplus_stable,),
    "F.mish": (act.mish_by_log1p, act.mish_rational),
    "torch.clamp": (act.clamp_by_extremes,),
    "torch.sum": (red.sum_blocked, red.sum_by_product),
    "torch.mean": (red.mean_blocked, red.mean_scaled),
    "torch.amax": (red.amax_blocked,),
    "torch.amin": (red.amin_blocked,),
    "torch.argmax": (red.argmax_blocked,),
    "torch.argmin": (red.argmin_blocked,),
    "torch.cumsum": (red.cumsum_blocked, red.cumsum_doubling),
    "torch.cumprod": (red.cumprod_blocked,),
    "torch.norm": (red.norm_by_squares,),
    "F.softmax": (red.softmax_explicit, red.softmax_online),
    "F.log_softmax": (red.log_softmax_explicit,),
    "torch.logsumexp": (red.logsumexp_explicit,),
    "F.scaled_dot_product_attention": (red.attention_explicit, red.attention_online),
    "F.max_pool1d": (pool.max_pool_by_shifts,),
    "F.max_pool2d": (pool.max_pool_by_shifts,),
    "F.max_pool3d": (pool.max_pool_by_shifts,),
    "F.avg_pool1d": (pool.avg_pool_by_shifts,),
    "F.avg_pool2d": (pool.avg_pool_by_shifts,),
    "F.avg_pool3d": (pool.avg_pool_by_shifts,),
    "F.adaptive_avg_pool1d": (pool.adaptive_avg_pool_by_mean,),
    "F.adaptive_avg_pool2d": (pool.adaptive_avg_pool_by_mean,),
    "F.adaptive_avg_pool3d": (pool.adaptive_avg_pool_by_mean,),
    "F.cross_entropy": (loss.cross_entropy_explicit,),
    "F.smooth_l1_loss": (loss.smooth_l1_explicit,),
    "F.kl_div": (loss.kl_div_explicit,),
    "F.triplet_margin_loss": (loss.triplet_margin_explicit,),
}
"""Every one has the signature of its function, as far as the suite uses it."""
