import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, OPTConfig, OPTForCausalLM


class Model(nn.Module):
    """OPT 1.3B: logits of the next token at every position. Weights are random unless `pretrained`."""

    def __init__(self, model_name: str, config: OPTConfig):
        super().__init__()
        self.model_name = model_name
        self.config = config
        if pretrained:
            self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config, dtype=torch.float32)
        else:
            self.model = OPTForCausalLM(config)
        self.model.eval()  # as `from_pretrained` leaves it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).logits


pretrained = False
model_name = "facebook/opt-1.3b"
vocab_size = 50272
sequence_length = 32
batch_size = 512
hidden_size = 2048
num_hidden_layers = 24
num_attention_heads = 32
ffn_dim = 8192
max_position_embeddings = 2048

config = OPTConfig(
    hidden_size=hidden_size,
    num_hidden_layers=num_hidden_layers,
    num_attention_heads=num_attention_heads,
    ffn_dim=ffn_dim,
    vocab_size=vocab_size,
    max_position_embeddings=max_position_embeddings,
    word_embed_proj_dim=hidden_size,
    do_layer_norm_before=True,
    activation_function="relu",
    dropout=0.1,
    attention_dropout=0.0,
    init_std=0.02,
    enable_bias=True,
    layer_norm_elementwise_affine=True,
)


def get_inputs():
    x = torch.randint(0, vocab_size, (batch_size, sequence_length))
    return [x]


def get_init_inputs():
    return [model_name, config]
