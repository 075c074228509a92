import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, ElectraConfig, ElectraForCausalLM


class Model(nn.Module):
    """ELECTRA small as a language model: logits at every position. Weights are random unless `pretrained`.

    Attention is bidirectional.
    """

    def __init__(self, model_name: str, config: ElectraConfig):
        super().__init__()
        self.model_name = model_name
        self.config = config
        if pretrained:
            self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config, dtype=torch.float32)
        else:
            self.model = ElectraForCausalLM(config)
        self.model.eval()  # as `from_pretrained` leaves it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).logits


pretrained = False
model_name = "google/electra-small-discriminator"
vocab_size = 30522
sequence_length = 511
batch_size = 1
hidden_size = 256
embedding_size = 128
num_hidden_layers = 12
num_attention_heads = 4
intermediate_size = 1024
max_position_embeddings = 512

config = ElectraConfig(
    hidden_size=hidden_size,
    embedding_size=embedding_size,
    num_hidden_layers=num_hidden_layers,
    num_attention_heads=num_attention_heads,
    intermediate_size=intermediate_size,
    vocab_size=vocab_size,
    max_position_embeddings=max_position_embeddings,
    type_vocab_size=2,
    hidden_act="gelu",
    layer_norm_eps=1e-12,
    hidden_dropout_prob=0.1,
    attention_probs_dropout_prob=0.1,
    initializer_range=0.02,
)


def get_inputs():
    x = torch.randint(0, vocab_size, (batch_size, sequence_length))
    return [x]


def get_init_inputs():
    return [model_name, config]
