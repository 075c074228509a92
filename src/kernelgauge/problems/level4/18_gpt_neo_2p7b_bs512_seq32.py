import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, GPTNeoConfig, GPTNeoForCausalLM


class Model(nn.Module):
    """GPT-Neo 2.7B: logits of the next token at every position. Weights are random unless `pretrained`.

    Causal attention with unscaled scores, over everything and over a window by turns.
    """

    def __init__(self, model_name: str, config: GPTNeoConfig):
        super().__init__()
        self.model_name = model_name
        self.config = config
        if pretrained:
            self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config, dtype=torch.float32)
        else:
            self.model = GPTNeoForCausalLM(config)
        self.model.eval()  # as `from_pretrained` leaves it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).logits


pretrained = False
model_name = "EleutherAI/gpt-neo-2.7B"
vocab_size = 50257
sequence_length = 32
batch_size = 512
hidden_size = 2560
num_layers = 32
num_heads = 20
max_position_embeddings = 2048
window_size = 256

config = GPTNeoConfig(
    hidden_size=hidden_size,
    num_layers=num_layers,
    num_heads=num_heads,
    attention_types=[[["global", "local"], num_layers // 2]],
    vocab_size=vocab_size,
    max_position_embeddings=max_position_embeddings,
    window_size=window_size,
    intermediate_size=None,
    activation_function="gelu_new",
    layer_norm_epsilon=1e-05,
    initializer_range=0.02,
    resid_dropout=0.0,
    embed_dropout=0.0,
    attention_dropout=0.0,
)


def get_inputs():
    x = torch.randint(0, vocab_size, (batch_size, sequence_length))
    return [x]


def get_init_inputs():
    return [model_name, config]
