"""A vision transformer of transformers with random weights, base size, 64 images."""

import torch
import transformers


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = transformers.ViTModel(transformers.ViTConfig(num_hidden_layers=4), add_pooling_layer=False)

    def forward(self, images):
        return self.model(images).last_hidden_state


def get_inputs():
    return [torch.rand(64, 3, 224, 224)]


def get_init_inputs():
    return []
