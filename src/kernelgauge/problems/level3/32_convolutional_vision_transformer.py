import torch
import torch.nn as nn

# The constructor's defaults refer to these, so they stand first.
batch_size = 10
image_size = 32
patch_size = 4
embed_dim = 128
in_channels = 3
num_heads = 4
num_classes = 1000


class Model(nn.Module):
    """An image convolved and projected to one token; that and a class token through encoder layers."""

    def __init__(
        self,
        num_classes: int,
        embed_dim: int,
        num_heads: int,
        num_layers: int = 6,
        mlp_ratio: float = 4.0,
        patch_size: int = patch_size,
        in_channels: int = in_channels,
        image_size: int = image_size,
    ):
        super().__init__()
        num_patches = (image_size // patch_size) ** 2
        self.conv1 = nn.Conv2d(in_channels, embed_dim, kernel_size=patch_size, stride=patch_size)
        self.linear_proj = nn.Linear(embed_dim * num_patches, embed_dim)
        self.transformer_layers = nn.ModuleList(
            [
                nn.TransformerEncoderLayer(
                    d_model=embed_dim,
                    nhead=num_heads,
                    dim_feedforward=int(embed_dim * mlp_ratio),
                    dropout=0.0,
                    batch_first=True,
                )
                for _ in range(num_layers)
            ]
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.fc_out = nn.Linear(embed_dim, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.flatten(self.conv1(x), 1)
        x = self.linear_proj(x).unsqueeze(1)
        x = torch.cat((self.cls_token.expand(x.size(0), -1, -1), x), dim=1)
        for layer in self.transformer_layers:
            x = layer(x)
        return self.fc_out(x[:, 0])


def get_inputs():
    x = torch.rand(batch_size, in_channels, image_size, image_size)
    return [x]


def get_init_inputs():
    return [num_classes, embed_dim, num_heads]
