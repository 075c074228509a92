import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel


class Model(nn.Module):
    """GPT-2 small: logits of the next token at every position. Weights are random unless `pretrained`."""

    def __init__(self, model_name: str, config: GPT2Config):
        super().__init__()
        self.model_name = model_name
        self.config = config
        if pretrained:
            self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config, dtype=torch.float32)
        else:
            self.model = GPT2LMHeadModel(config)
        self.model.eval()  # as `from_pretrained` leaves it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).logits


pretrained = False
model_name = "gpt2"
vocab_size = 50257
sequence_length = 1023
batch_size = 1
n_embd = 768
n_layer = 12
n_head = 12
n_positions = 1024

config = GPT2Config(
    n_embd=n_embd,
    n_layer=n_layer,
    n_head=n_head,
    n_positions=n_positions,
    vocab_size=vocab_size,
    activation_function="gelu_new",
    layer_norm_epsilon=1e-05,
    initializer_range=0.02,
    resid_pdrop=0.1,
    embd_pdrop=0.1,
    attn_pdrop=0.1,
)


def get_inputs():
    x = torch.randint(0, vocab_size, (batch_size, sequence_length))
    return [x]


def get_init_inputs():
    return [model_name, config]
