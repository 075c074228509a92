"""A Llama of transformers with random weights: two layers of the 8B model's sizes, 16 prompts of 512 tokens."""

import torch
import transformers


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        sizes = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 2, "num_attention_heads": 32}
        config = transformers.LlamaConfig(vocab_size=32000, num_key_value_heads=8, use_cache=False, **sizes)
        self.model = transformers.LlamaModel(config)

    def forward(self, words):
        return self.model(words).last_hidden_state


def get_inputs():
    return [torch.randint(0, 32000, (16, 512))]


def get_init_inputs():
    return []
