"""A model for llama.cpp that knows nothing: a small layer of random weights, and a byte-pair vocabulary of a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path

WIDTH, HEADS, INNER = 64, 2, 128
MERGES = 1500
"""With them a token is about four bytes of what the vocabulary was made of."""
END = "<|endoftext|>"

_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
"""How GPT-2 parts a text before it merges, for texts of ASCII."""


def write(path: Path, text: str, context: int) -> None:
    """Write the model's file. `context` is in tokens. Raises `ImportError` without the packages gguf and numpy."""
    gguf, numpy = import_module("gguf"), import_module("numpy")
    pairs = merges(text)
    vocabulary = [*_letters(), *(a + b for a, b in pairs), END]
    out = gguf.GGUFWriter(path, "llama")
    out.add_context_length(context)
    out.add_embedding_length(WIDTH)
    out.add_block_count(1)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(len(vocabulary))
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(vocabulary)
    normal, control = gguf.TokenType.NORMAL, gguf.TokenType.CONTROL
    out.add_token_types([normal] * (len(vocabulary) - 1) + [control])
    out.add_token_merges([f"{a} {b}" for a, b in pairs])
    out.add_eos_token_id(len(vocabulary) - 1)
    out.add_bos_token_id(len(vocabulary) - 1)
    out.add_add_bos_token(False)
    random = numpy.random.default_rng(1)
    shapes = {
        "token_embd.weight": (len(vocabulary), WIDTH),
        "output_norm.weight": (WIDTH,),
        "output.weight": (len(vocabulary), WIDTH),
        "blk.0.attn_norm.weight": (WIDTH,),
        **{f"blk.0.attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")},
        "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.ffn_gate.weight": (INNER, WIDTH),
        "blk.0.ffn_up.weight": (INNER, WIDTH),
        "blk.0.ffn_down.weight": (WIDTH, INNER),
    }
    for name, shape in shapes.items():
        out.add_tensor(name, (random.standard_normal(shape) * 0.02).astype(numpy.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def merges(text: str, most: int = MERGES) -> list[tuple[str, str]]:
    """The pairs that byte-pair encoding merges, the most frequent one first; equal texts give equal pairs."""
    letters = _letters()
    words = Counter(_WORDS.findall(text))
    parts = {word: [letters[byte] for byte in word.encode()] for word in words}
    found: list[tuple[str, str]] = []
    while len(found) < most:
        counts: Counter[tuple[str, str]] = Counter()
        for word, split in parts.items():
            for pair in pairwise(split):
                counts[pair] += words[word]
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        found.append(best)
        for word, split in parts.items():
            if best[0] in split:
                parts[word] = list(_merged(split, best))
    return found


def _merged(split: list[str], pair: tuple[str, str]) -> Iterator[str]:
    at = 0
    while at < len(split):
        two = tuple(split[at : at + 2]) == pair
        yield pair[0] + pair[1] if two else split[at]
        at += 2 if two else 1


def _letters() -> list[str]:
    """GPT-2's letter for each byte: the printable ones stand for themselves."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in plain else next(others)) for byte in range(0x100)]
