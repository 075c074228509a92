import torch
import torch.nn as nn
from transformers import AutoModelForCausalLM, ReformerConfig, ReformerModelWithLMHead


class Model(nn.Module):
    """Reformer over bytes: logits of the next byte at every position. Weights are random unless `pretrained`.

    Causal attention: local layers look at a chunk and the one before; the sequence is one chunk to the lsh
    layers, so that they attend to all of it and hash nothing.
    """

    def __init__(self, model_name: str, config: ReformerConfig):
        super().__init__()
        self.model_name = model_name
        self.config = config
        if pretrained:
            self.model = AutoModelForCausalLM.from_pretrained(model_name, config=config, dtype=torch.float32)
        else:
            self.model = ReformerModelWithLMHead(config)
        # transformers 5 keeps this bias and no longer adds it.
        self.model.lm_head.decoder.bias = self.model.lm_head.bias
        self.model.eval()  # as `from_pretrained` leaves it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).logits


pretrained = False
model_name = "google/reformer-enwik8"
vocab_size = 258
sequence_length = 256
batch_size = 32
hidden_size = 1024
num_hidden_layers = 12
num_attention_heads = 8
attention_head_size = 128
feed_forward_size = 4096
max_position_embeddings = 65536
axial_pos_shape = [128, 512]
axial_pos_embds_dim = [256, 768]
local_attn_chunk_length = 128
lsh_attn_chunk_length = 256
num_buckets = 512

config = ReformerConfig(
    vocab_size=vocab_size,
    hidden_size=hidden_size,
    num_attention_heads=num_attention_heads,
    attention_head_size=attention_head_size,
    attn_layers=["local", "local", "lsh", "local"] * (num_hidden_layers // 4),
    feed_forward_size=feed_forward_size,
    hidden_act="relu",
    num_hashes=4,
    num_buckets=num_buckets,
    lsh_attn_chunk_length=lsh_attn_chunk_length,
    local_attn_chunk_length=local_attn_chunk_length,
    lsh_num_chunks_before=1,
    lsh_num_chunks_after=0,
    local_num_chunks_before=1,
    local_num_chunks_after=0,
    hidden_dropout_prob=0.2,
    lsh_attention_probs_dropout_prob=0.1,
    local_attention_probs_dropout_prob=0.2,
    max_position_embeddings=max_position_embeddings,
    axial_pos_embds=True,
    axial_pos_shape=axial_pos_shape,
    axial_pos_embds_dim=axial_pos_embds_dim,
    axial_norm_std=1.0,
    layer_norm_eps=1e-12,
    initializer_range=0.02,
    is_decoder=True,
    hash_seed=None,
    pad_token_id=0,
    eos_token_id=2,
    tie_word_embeddings=False,
)


def get_inputs():
    x = torch.randint(0, vocab_size, (batch_size, sequence_length))
    return [x]


def get_init_inputs():
    return [model_name, config]
