import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, BartConfig, BartForCausalLM


class Model(nn.Module):
    """BART large decoder: logits of the next token at every position. Weights are random unless `pretrained`.

    Every layer also holds weights for attention to an encoder; they are never used.
    """

    def __init__(self, model_name: str, config: BartConfig):
        super().__init__()
        self.model_name = model_name
        self.config = config
        if pretrained:
            self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config, dtype=torch.float32)
        else:
            self.model = BartForCausalLM(config)
        self.model.eval()  # as `from_pretrained` leaves it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).logits


pretrained = False
model_name = "facebook/bart-large"
vocab_size = 50265
sequence_length = 1023
batch_size = 1
d_model = 1024
decoder_layers = 12
decoder_attention_heads = 16
decoder_ffn_dim = 4096
max_position_embeddings = 1024

config = BartConfig(
    d_model=d_model,
    decoder_layers=decoder_layers,
    decoder_attention_heads=decoder_attention_heads,
    decoder_ffn_dim=decoder_ffn_dim,
    encoder_layers=decoder_layers,
    encoder_attention_heads=decoder_attention_heads,
    encoder_ffn_dim=decoder_ffn_dim,
    vocab_size=vocab_size,
    max_position_embeddings=max_position_embeddings,
    activation_function="gelu",
    scale_embedding=False,
    dropout=0.1,
    init_std=0.02,
)


def get_inputs():
    x = torch.randint(0, vocab_size, (batch_size, sequence_length))
    return [x]


def get_init_inputs():
    return [model_name, config]
