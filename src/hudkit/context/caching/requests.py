"""A request to a model as a prefix cache sees it: blocks in order, known by their bytes."""

from __future__ import annotations

import msgspec

from hudkit.errors import ConfigError


class Block(msgspec.Struct, frozen=True):
    """One content block: `key` identifies its exact bytes (a hash), `role` the part of the request it is in.

    Roles are the host's words (`tools`, `system`, `user`, `assistant`, `tool`). `breakpoint` marks the end of
    a prefix that the request asks to have cached.
    """

    key: str
    tokens: int
    role: str = "user"
    breakpoint: bool = False

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ConfigError(f"block {self.key!r} has {self.tokens} tokens", hint="a block has zero or more")


class Request(msgspec.Struct, frozen=True):
    """One call: its blocks in the order in which the server reads them, and when it was made (Unix ms)."""

    blocks: tuple[Block, ...]
    at: int
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of the request, without the answer."""
        return sum(block.tokens for block in self.blocks)


def same(one: Block, other: Block) -> bool:
    """Whether a cache takes two blocks for the same: same bytes in the same part; a breakpoint is not content."""
    return one.key == other.key and one.role == other.role
