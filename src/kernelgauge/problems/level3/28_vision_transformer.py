import torch
import torch.nn as nn


class Model(nn.Module):
    """Vision transformer: patches and a class token through encoder layers, then an MLP on the class token.

    The encoder takes its first axis, which is the batch, for the sequence: tokens attend to those at the same
    position in other images, so the class token never sees a patch.
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_classes: int,
        dim: int,
        depth: int,
        heads: int,
        mlp_dim: int,
        channels: int,
        dropout: float = 0.1,
        emb_dropout: float = 0.1,
    ):
        super().__init__()
        num_patches = (image_size // patch_size) ** 2
        patch_dim = channels * patch_size**2
        self.patch_size = patch_size
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches + 1, dim))
        self.patch_to_embedding = nn.Linear(patch_dim, dim)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.dropout = nn.Dropout(emb_dropout)
        self.transformer = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(d_model=dim, nhead=heads, dim_feedforward=mlp_dim, dropout=dropout),
            num_layers=depth,
            enable_nested_tensor=False,
        )
        self.to_cls_token = nn.Identity()
        self.mlp_head = nn.Sequential(
            nn.Linear(dim, mlp_dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_dim, num_classes)
        )

    def forward(self, img: torch.Tensor) -> torch.Tensor:
        B, C, _, _ = img.shape
        p = self.patch_size
        # Not permuted: a row of p * p * C values mixes pixels of several patches.
        x = img.unfold(2, p, p).unfold(3, p, p).reshape(B, -1, p * p * C)
        x = self.patch_to_embedding(x)
        x = torch.cat((self.cls_token.expand(B, -1, -1), x), dim=1)
        x = self.dropout(x + self.pos_embedding)
        x = self.transformer(x)
        x = self.to_cls_token(x[:, 0])
        return self.mlp_head(x)


batch_size = 2
image_size = 224
patch_size = 16
num_classes = 10
dim = 512
depth = 6
heads = 8
mlp_dim = 2048
channels = 3
dropout = 0.0
emb_dropout = 0.0


def get_inputs():
    img = torch.rand(batch_size, channels, image_size, image_size)
    return [img]


def get_init_inputs():
    return [
        image_size,
        patch_size,
        num_classes,
        dim,
        depth,
        heads,
        mlp_dim,
        channels,
        dropout,
        emb_dropout,
    ]
