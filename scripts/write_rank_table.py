"""Write the table of ranks from which small texts are counted: `python scripts/write_rank_table.py`.

The vocabulary is the one that comes with the package bpe-openai, which is installed for development.
"""

from __future__ import annotations

import base64
import gzip
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from hudkit.tokens.rank_table import TABLE


def main() -> None:
    """Write the file."""
    TABLE.write_bytes(rank_table(read_vocabulary()))


def read_vocabulary() -> dict[bytes, int]:
    """Return the rank of each token of o200k_base."""
    package = find_spec("bpe_openai")
    if package is None or package.origin is None:
        raise SystemExit("the package bpe-openai is not installed")
    packed = Path(package.origin).with_name("data") / "o200k_base.tiktoken.gz"
    rows = [line.split() for line in gzip.decompress(packed.read_bytes()).splitlines()]
    return {base64.b64decode(token): int(rank) for token, rank in rows}


def rank_table(ranks: dict[bytes, int]) -> bytes:
    """Return the table of these tokens as `hudkit.tokens.rank_table` reads it."""
    tokens = sorted(ranks, key=lambda token: (len(token), token))
    numbers = {size: len(list(group)) for size, group in groupby(tokens, len)}
    sizes = range(1, max(numbers) + 1)
    head = [len(sizes), *(numbers.get(size, 0) for size in sizes)]
    planes = (bytes(ranks[token] >> shift & 255 for token in tokens) for shift in (0, 8, 16))
    return b"".join([*(number.to_bytes(4, "little") for number in head), *tokens, *planes])


if __name__ == "__main__":
    main()
