import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, BigBirdConfig, BigBirdForCausalLM


class Model(nn.Module):
    """BigBird base as a language model: logits at every position. Weights are random unless `pretrained`.

    The sequence is long enough for block-sparse attention: bidirectional, the same blocks at every call.
    """

    def __init__(self, model_name: str, config: BigBirdConfig):
        super().__init__()
        self.model_name = model_name
        self.config = config
        if pretrained:
            self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config, dtype=torch.float32)
        else:
            self.model = BigBirdForCausalLM(config)
        self.model.eval()  # as `from_pretrained` leaves it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).logits


pretrained = False
model_name = "google/bigbird-roberta-base"
vocab_size = 50358
sequence_length = 4095
batch_size = 1
hidden_size = 768
num_hidden_layers = 12
num_attention_heads = 12
intermediate_size = 3072
max_position_embeddings = 4096
block_size = 64

config = BigBirdConfig(
    hidden_size=hidden_size,
    num_hidden_layers=num_hidden_layers,
    num_attention_heads=num_attention_heads,
    intermediate_size=intermediate_size,
    vocab_size=vocab_size,
    max_position_embeddings=max_position_embeddings,
    type_vocab_size=2,
    hidden_act="gelu_new",
    attention_type="block_sparse",
    block_size=block_size,
    num_random_blocks=3,
    use_bias=True,
    rescale_embeddings=False,
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
