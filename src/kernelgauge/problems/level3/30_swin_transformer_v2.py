import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# The constructor's defaults refer to these, so they stand first.
height = 224
width = 224
batch_size = 10
num_classes = 1000
embed_dim = 96
window_size = 7


class Mlp(nn.Module):
    """Linear, GELU, linear; one dropout serves both."""

    def __init__(self, channels: int, hidden_channels: int, drop: float):
        super().__init__()
        self.fc1 = nn.Linear(channels, hidden_channels)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden_channels, channels)
        self.drop = nn.Dropout(drop)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.act(self.fc1(x)))
        return self.drop(self.fc2(x))


def to_windows(x: torch.Tensor, size: int) -> torch.Tensor:
    """(batch, height, width, C) to (batch * windows, size * size, C), windows and positions row by row."""
    B, H, W, C = x.shape
    x = x.view(B, H // size, size, W // size, size, C)
    return x.transpose(2, 3).reshape(-1, size * size, C)


def from_windows(windows: torch.Tensor, size: int, height: int, width: int) -> torch.Tensor:
    """The inverse of `to_windows`."""
    C = windows.size(-1)
    x = windows.view(-1, height // size, width // size, size, size, C)
    return x.transpose(2, 3).reshape(-1, height, width, C)


class WindowAttention(nn.Module):
    """Cosine attention among the positions of a window, with a learnt temperature and position bias per head.

    A small MLP turns the offset between two positions, on a logarithmic scale, into their bias.
    """

    def __init__(
        self,
        channels: int,
        window_size: int,
        num_heads: int,
        qkv_bias: bool,
        attn_drop: float,
        proj_drop: float,
        pretrained_window_size: int,
    ):
        super().__init__()
        self.num_heads = num_heads
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones(num_heads, 1, 1)))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False)
        )

        offsets = torch.arange(1 - window_size, window_size, dtype=torch.float32)
        table = torch.stack(torch.meshgrid(offsets, offsets, indexing="ij"), dim=-1).unsqueeze(0)
        table = 8 * table / ((pretrained_window_size or window_size) - 1)
        table = torch.sign(table) * torch.log2(table.abs() + 1.0) / math.log2(8)
        self.register_buffer("relative_coords_table", table)

        row = torch.arange(window_size).repeat_interleave(window_size)
        column = torch.arange(window_size).repeat(window_size)
        row_offset = row[:, None] - row[None, :] + window_size - 1
        column_offset = column[:, None] - column[None, :] + window_size - 1
        self.register_buffer("relative_position_index", row_offset * (2 * window_size - 1) + column_offset)

        self.qkv = nn.Linear(channels, 3 * channels, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(channels)) if qkv_bias else None
        self.v_bias = nn.Parameter(torch.zeros(channels)) if qkv_bias else None
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(channels, channels)
        self.proj_drop = nn.Dropout(proj_drop)
        self.softmax = nn.Softmax(dim=-1)

    def position_bias(self) -> torch.Tensor:
        """(heads, positions, positions), each between 0 and 16."""
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        bias = table[self.relative_position_index].permute(2, 0, 1).contiguous()
        return 16 * torch.sigmoid(bias)

    def forward(self, x: torch.Tensor, mask: torch.Tensor = None) -> torch.Tensor:
        B, N, C = x.shape
        bias = None
        if self.q_bias is not None:
            bias = torch.cat((self.q_bias, torch.zeros_like(self.v_bias), self.v_bias))
        qkv = F.linear(x, self.qkv.weight, bias).view(B, N, 3, self.num_heads, C // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)

        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        scores = scores * torch.clamp(self.logit_scale, max=math.log(100.0)).exp()
        scores = scores + self.position_bias().unsqueeze(0)
        if mask is not None:
            scores = scores.view(-1, mask.size(0), self.num_heads, N, N) + mask[None, :, None]
            scores = scores.view(B, self.num_heads, N, N)
        weights = self.attn_drop(self.softmax(scores))

        out = (weights @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj_drop(self.proj(out))


class SwinBlock(nn.Module):
    """Attention within windows, then an MLP; each branch is normalised before it is added.

    A shifted block rolls the map first, so that its windows lie across those of the block before. In a window
    that joins opposite edges of the map the mask keeps the parts from attending to each other.
    """

    def __init__(
        self,
        channels: int,
        resolution: tuple,
        num_heads: int,
        window_size: int,
        shift_size: int,
        mlp_ratio: float,
        qkv_bias: bool,
        drop: float,
        attn_drop: float,
        norm_layer: type,
        pretrained_window_size: int,
    ):
        super().__init__()
        self.resolution = resolution
        if min(resolution) <= window_size:
            window_size, shift_size = min(resolution), 0
        self.window_size = window_size
        self.shift_size = shift_size
        self.norm1 = norm_layer(channels)
        self.attn = WindowAttention(
            channels, window_size, num_heads, qkv_bias, attn_drop, drop, pretrained_window_size
        )
        self.norm2 = norm_layer(channels)
        self.mlp = Mlp(channels, int(channels * mlp_ratio), drop)
        self.register_buffer("attn_mask", self.shift_mask() if shift_size > 0 else None)

    def shift_mask(self) -> torch.Tensor:
        """(windows, positions, positions): 0 between positions of one part of the map, -100 between parts."""

        def part(side: int) -> torch.Tensor:
            place = torch.arange(side)
            return (place >= side - self.window_size).int() + (place >= side - self.shift_size).int()

        H, W = self.resolution
        parts = 3 * part(H)[:, None] + part(W)[None, :]
        parts = to_windows(parts.view(1, H, W, 1), self.window_size).squeeze(-1)
        differ = parts[:, :, None] != parts[:, None, :]
        return torch.zeros(differ.shape).masked_fill(differ, -100.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        H, W = self.resolution
        B, L, C = x.shape
        y = x.view(B, H, W, C)
        if self.shift_size > 0:
            y = torch.roll(y, shifts=(-self.shift_size, -self.shift_size), dims=(1, 2))
        y = self.attn(to_windows(y, self.window_size), self.attn_mask)
        y = from_windows(y, self.window_size, H, W)
        if self.shift_size > 0:
            y = torch.roll(y, shifts=(self.shift_size, self.shift_size), dims=(1, 2))
        x = x + self.norm1(y.view(B, L, C))
        return x + self.norm2(self.mlp(x))


class PatchMerging(nn.Module):
    """Joins 2x2 neighbouring positions on channels, then halves the channels and normalises."""

    def __init__(self, resolution: tuple, channels: int, norm_layer: type):
        super().__init__()
        self.resolution = resolution
        self.reduction = nn.Linear(4 * channels, 2 * channels, bias=False)
        self.norm = norm_layer(2 * channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        H, W = self.resolution
        B, _, C = x.shape
        x = x.view(B, H, W, C)
        corners = [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]]
        x = torch.cat(corners, dim=-1).view(B, -1, 4 * C)
        return self.norm(self.reduction(x))


class Stage(nn.Module):
    """Blocks without and with shift in turn, then a patch merging unless it is the last stage."""

    def __init__(
        self,
        channels: int,
        resolution: tuple,
        depth: int,
        num_heads: int,
        window_size: int,
        mlp_ratio: float,
        qkv_bias: bool,
        drop: float,
        attn_drop: float,
        norm_layer: type,
        pretrained_window_size: int,
        last: bool,
    ):
        super().__init__()
        self.blocks = nn.ModuleList()
        for i in range(depth):
            block = SwinBlock(
                channels=channels,
                resolution=resolution,
                num_heads=num_heads,
                window_size=window_size,
                shift_size=0 if i % 2 == 0 else window_size // 2,
                mlp_ratio=mlp_ratio,
                qkv_bias=qkv_bias,
                drop=drop,
                attn_drop=attn_drop,
                norm_layer=norm_layer,
                pretrained_window_size=pretrained_window_size,
            )
            self.blocks.append(block)
        self.downsample = None if last else PatchMerging(resolution, channels, norm_layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x if self.downsample is None else self.downsample(x)


class PatchEmbed(nn.Module):
    """Cuts the image into square patches, one token each."""

    def __init__(self, patch_size: int, in_chans: int, embed_dim: int, norm_layer: type = None):
        super().__init__()
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)
        self.norm = None if norm_layer is None else norm_layer(embed_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.proj(x).flatten(2).transpose(1, 2)
        return x if self.norm is None else self.norm(x)


class Model(nn.Module):
    """Swin Transformer V2: four stages of attention within windows, mean over positions, linear layer.

    `drop_path_rate` and `use_checkpoint` have no effect.
    """

    def __init__(
        self,
        img_size: tuple = (height, width),
        patch_size: int = 4,
        in_chans: int = 3,
        num_classes: int = num_classes,
        embed_dim: int = embed_dim,
        depths: tuple = (2, 2, 6, 2),
        num_heads: tuple = (3, 6, 12, 24),
        window_size: int = window_size,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.1,
        norm_layer: type = nn.LayerNorm,
        patch_norm: bool = True,
        use_checkpoint: bool = False,
        pretrained_window_sizes: tuple = (0, 0, 0, 0),
    ):
        super().__init__()
        self.patch_embed = PatchEmbed(patch_size, in_chans, embed_dim, norm_layer if patch_norm else None)
        self.pos_drop = nn.Dropout(drop_rate)
        self.layers = nn.ModuleList()
        for i in range(len(depths)):
            stage = Stage(
                channels=embed_dim * 2**i,
                resolution=tuple(side // patch_size // 2**i for side in img_size),
                depth=depths[i],
                num_heads=num_heads[i],
                window_size=window_size,
                mlp_ratio=mlp_ratio,
                qkv_bias=qkv_bias,
                drop=drop_rate,
                attn_drop=attn_drop_rate,
                norm_layer=norm_layer,
                pretrained_window_size=pretrained_window_sizes[i],
                last=i == len(depths) - 1,
            )
            self.layers.append(stage)
        num_features = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm_layer(num_features)
        self.avgpool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(num_features, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pos_drop(self.patch_embed(x))
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        x = torch.flatten(self.avgpool(x.transpose(1, 2)), 1)
        return self.head(x)


def get_inputs():
    x = torch.rand(batch_size, 3, height, width)
    return [x]


def get_init_inputs():
    return []
