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


class SwinMlpBlock(nn.Module):
    """Mixes the positions of a window by one matrix per head, then the channels of a position by an MLP.

    A shifted block pads the map with zeros, so that its windows lie elsewhere, and crops the padding later.
    """

    def __init__(
        self,
        channels: int,
        resolution: tuple,
        num_heads: int,
        window_size: int,
        shift_size: int,
        mlp_ratio: float,
        drop: float,
        norm_layer: type,
    ):
        super().__init__()
        self.resolution = resolution
        self.num_heads = num_heads
        if min(resolution) <= window_size:
            window_size, shift_size = min(resolution), 0
        self.window_size = window_size
        self.shift_size = shift_size
        self.norm1 = norm_layer(channels)
        positions = num_heads * window_size**2
        self.spatial_mlp = nn.Conv1d(positions, positions, kernel_size=1, groups=num_heads)
        self.norm2 = norm_layer(channels)
        self.mlp = Mlp(channels, int(channels * mlp_ratio), drop)

    def mix_positions(self, windows: torch.Tensor) -> torch.Tensor:
        """(windows, positions, C) to the same shape; a head is a group of channels with its own matrix."""
        _, N, C = windows.shape
        heads = windows.view(-1, N, self.num_heads, C // self.num_heads).transpose(1, 2)
        heads = self.spatial_mlp(heads.reshape(-1, self.num_heads * N, C // self.num_heads))
        heads = heads.view(-1, self.num_heads, N, C // self.num_heads)
        return heads.transpose(1, 2).reshape(-1, N, C)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        H, W = self.resolution
        B, L, C = x.shape
        size = self.window_size
        y = self.norm1(x).view(B, H, W, C)
        if self.shift_size > 0:
            before, after = size - self.shift_size, self.shift_size
            y = F.pad(y, (0, 0, before, after, before, after))
            y = from_windows(self.mix_positions(to_windows(y, size)), size, H + size, W + size)
            y = y[:, before:-after, before:-after]
        else:
            y = from_windows(self.mix_positions(to_windows(y, size)), size, H, W)
        x = x + y.reshape(B, L, C)
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Module):
    """Joins 2x2 neighbouring positions on channels, then normalises and halves the channels."""

    def __init__(self, resolution: tuple, channels: int, norm_layer: type):
        super().__init__()
        self.resolution = resolution
        self.reduction = nn.Linear(4 * channels, 2 * channels, bias=False)
        self.norm = norm_layer(4 * channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        H, W = self.resolution
        B, _, C = x.shape
        x = x.view(B, H, W, C)
        corners = [x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]]
        x = torch.cat(corners, dim=-1).view(B, -1, 4 * C)
        return self.reduction(self.norm(x))


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
        drop: float,
        norm_layer: type,
        last: bool,
    ):
        super().__init__()
        self.blocks = nn.ModuleList()
        for i in range(depth):
            shift_size = 0 if i % 2 == 0 else window_size // 2
            self.blocks.append(
                SwinMlpBlock(
                    channels, resolution, num_heads, window_size, shift_size, mlp_ratio, drop, norm_layer
                )
            )
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
    """Swin-MLP: four stages of blocks that mix positions within windows, mean over positions, linear layer.

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
        drop_rate: float = 0.0,
        drop_path_rate: float = 0.1,
        norm_layer: type = nn.LayerNorm,
        patch_norm: bool = True,
        use_checkpoint: bool = False,
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
                drop=drop_rate,
                norm_layer=norm_layer,
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
