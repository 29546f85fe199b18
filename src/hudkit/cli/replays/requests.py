"""The requests of a recorded call as a prefix cache sees them: without a HUD, with it in system, anchored.

The order of blocks is that of the Anthropic shape: tools and system prompt, then for each response its text and its
tool calls, then the results. Cache breakpoints are where OpenCode 1.18 puts them: at the end of the first two system
messages and of the last two others.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain

import msgspec

from hudkit.cli.replays.player import Turn, anchor
from hudkit.context.caching import CacheBlock, CacheRequest
from hudkit.hud import TokenCounter
from hudkit.hud.frame import Frame
from hudkit.transcripts import Message, llm_calls, prompt_blocks

VARIANTS = ("no HUD", "in system", "anchored")
"""What is compared, in the order of `Scribe.requests`."""

NO_HUD, IN_SYSTEM, ANCHORED = range(3)

Blocks = tuple[CacheBlock, ...]


class RequestWriter:
    """Writes requests as blocks; what a message contributes is hashed and counted once.

    `system_tokens` stands for what the host sends before the messages (its system prompt and the tools), which a
    transcript does not hold: the tokens reported for the first call less those of its messages, 0 where unknown.
    """

    def __init__(self, counter: TokenCounter, messages: Sequence[Message] = ()) -> None:
        self._counter = counter
        self._written: dict[str, tuple[Blocks, ...]] = {}
        self.system_tokens = self._host_tokens(messages)

    def requests(self, turn: Turn) -> tuple[CacheRequest, ...]:
        """Write the call in each of `VARIANTS` and return the requests."""
        window = turn.call.window
        plain = [group for message in window for group in self.written(message)]
        host = (CacheBlock("host", self.system_tokens, "system"),)
        in_system = self._blocks("system", turn.system.base, turn.system.tail)
        bodies = (
            _marked((host,), plain),
            _marked((host, in_system), plain),
            _marked((host, self._blocks("system", turn.anchored.base)), self._with_hud(window, turn.anchored)),
        )
        usage = turn.call.message.usage
        answer = max(usage.used - usage.prompt, 0) if usage else 0
        return tuple(CacheRequest(body, turn.call.message.created, answer) for body in bodies)

    def written(self, message: Message) -> tuple[Blocks, ...]:
        """Return the one or two messages of the request that a recorded message becomes, each as its blocks."""
        groups = self._written.get(message.id)
        if groups is None:
            blocks = prompt_blocks(message)
            words = self._blocks(message.role, *(block.text for block in blocks if block.kind != "tool_output"))
            results = self._blocks("tool", *(block.text for block in blocks if block.kind == "tool_output"))
            groups = self._written[message.id] = tuple(group for group in (words, results) if group)
        return groups

    def _with_hud(self, window: Sequence[Message], frame: Frame) -> list[Blocks]:
        """The messages with each delta at the end of its anchor's last one, and the tail at the very end."""
        waiting: dict[str, list[str]] = {}
        for delta in frame.deltas:
            waiting.setdefault(delta.anchor, []).append(delta.text)
        out: list[Blocks] = []
        for message in window:
            groups = self.written(message)
            out += groups
            self._carry(out, waiting.pop(anchor(message), ()), alone=not groups)
        self._carry(out, (frame.tail,), alone=not out)
        return out

    def _carry(self, out: list[Blocks], texts: Sequence[str], *, alone: bool) -> None:
        """Texts at the end of the last message, or as a message of their own where it had nothing to send."""
        more = self._blocks("user" if alone else out[-1][-1].role, *texts)
        if more and alone:
            out.append(more)
        elif more:
            out[-1] += more

    def _blocks(self, role: str, *texts: str) -> Blocks:
        return tuple(CacheBlock(_digest(text), self._counter.count(text), role) for text in texts if text)

    def _host_tokens(self, messages: Sequence[Message]) -> int:
        for call in llm_calls(messages):
            usage = call.message.usage
            if usage is not None and usage.prompt and not call.message.summary:
                return max(usage.prompt - self.counted(call.window), 0)
        return 0

    def counted(self, window: Sequence[Message]) -> int:
        """Return the tokens of the messages alone."""
        return sum(block.tokens for message in window for group in self.written(message) for block in group)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _marked(system: Sequence[Blocks], others: Sequence[Blocks]) -> Blocks:
    """All blocks in order, with a breakpoint at the end of the first two and the last two messages."""
    ended = (*map(_ended, system[:2]), *others[:-2], *map(_ended, others[-2:]))
    return tuple(chain.from_iterable(ended))


def _ended(group: Blocks) -> Blocks:
    return (*group[:-1], msgspec.structs.replace(group[-1], breakpoint=True)) if group else group
