"""A model of some ten thousand random weights and a tokenizer of bytes: nothing is downloaded."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

_BEGIN, _END, _PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
_TALK = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each byte, and Qwen's marks."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    found = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=_PAD, eos_token=_END, additional_special_tokens=[_BEGIN], padding_side="left"
    )
    found.chat_template = _TALK
    return found


def model(tokens: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """It writes bytes at random."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=32768,
    )
    config.pad_token_id, config.eos_token_id, config.bos_token_id = tokens.pad_token_id, tokens.eos_token_id, None
    return LlamaForCausalLM(config)
