"""A model of some hundred thousand random weights that says what it is told to, and a tokenizer of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

_BEGIN, _END, _PAD, _LONG = "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|long|>"


def tokenizer(chat_template: str | None = None) -> PreTrainedTokenizerFast:
    """One token for each byte, one that is read as a text no server takes, and Qwen's marks."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Replace(_LONG, "x" * 300_000)])
    found = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=_PAD, eos_token=_END, additional_special_tokens=[_BEGIN], padding_side="left"
    )
    found.add_tokens([_LONG])
    found.chat_template = chat_template
    return found


class Scripted(LlamaForCausalLM):
    """Its weights are trained as anybody's; its answers are said in turn, over all rows of all calls."""

    script: Iterator[str]
    tokens: PreTrainedTokenizerFast
    seen: list[str]

    @classmethod
    def made(cls, tokens: PreTrainedTokenizerFast, script: list[str]) -> Scripted:
        sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        heads = {"num_attention_heads": 4, "num_key_value_heads": 4}
        torch.manual_seed(0)
        config = LlamaConfig(vocab_size=len(tokens), max_position_embeddings=8192, **sizes, **heads)
        config.pad_token_id, config.eos_token_id, config.bos_token_id = tokens.pad_token_id, tokens.eos_token_id, None
        found = cls(config)
        found.script, found.tokens, found.seen = iter(script), tokens, []
        return found

    def generate(self, input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        """The next answers; what was asked is kept as text."""
        self.seen += [self.tokens.decode(row).replace(_PAD, "") for row in input_ids]
        said = [torch.tensor(self.tokens(f"{next(self.script)}{_END}")["input_ids"]) for _ in input_ids]
        padded = torch.nn.utils.rnn.pad_sequence(said, batch_first=True, padding_value=self.tokens.pad_token_id)
        return torch.cat([input_ids, padded.to(input_ids.device)], dim=1)
