"""Where a request names cache breakpoints, for the servers that cache only what is named."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.models.port import Assistant, Message, Reasoning, ToolResult

SYSTEM_BLOCKS = 2
MESSAGES = 2
"""Anthropic takes four breakpoints: OpenCode spends them on two system blocks and the last two messages."""


def wanted(system: str, model: str) -> bool:
    """Whether breakpoints help: Anthropic's models, by whoever serves them; others cache by themselves."""
    return system == "anthropic" or (system in ("bedrock", "openrouter") and "claude" in model.lower())


def marked(messages: Sequence[Message]) -> frozenset[int]:
    """The places of the messages whose end is a breakpoint: the last two that can carry one.

    A mark cannot stand after reasoning, which is no cacheable block, nor after nothing.
    """
    following = (*messages[1:], None)
    pairs = enumerate(zip(messages, following, strict=True))
    able = [place for place, (message, after) in pairs if _carries(message, after)]
    return frozenset(able[-MESSAGES:])


def _carries(message: Message, after: Message | None) -> bool:
    if isinstance(message, Assistant):
        return bool(message.parts) and not isinstance(message.parts[-1], Reasoning)
    # The results of parallel calls are one message on the wire.
    return not (isinstance(message, ToolResult) and isinstance(after, ToolResult))
