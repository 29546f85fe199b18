"""A session of our own loop with summaries and without: what 120 model calls cost in tokens, cached and not."""

from __future__ import annotations

import asyncio
import random
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.figures import Figure
from hudkit.agent.hud_hooks import hud_plugin
from hudkit.agent.loop import AgentLoop
from hudkit.agent.run_context import LoopOptions, LoopSettings
from hudkit.agent.tools import function_tool
from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall, ScriptedReply
from hudkit.models.scripted_model import InProcessModel
from hudkit.tokens import Window

TITLE = "120 model calls of our own loop: without summaries beside with them"
CALLS = 120
WINDOW = Window(32_768, 4_096, None, "host")
PROMPT_EVERY = 8
"""Calls of a turn; a note is recorded in each."""

READ, WRITTEN, OUTPUT = 0.1, 1.0, 5.0
"""Prices of a token from the cache, of one that is not, and of an answer, as a multiple of the input's."""


class Spent(NamedTuple):
    """Tokens of a session: from the cache, not from it, of answers; model calls in all, and breaks of the prefix."""

    cached: int
    fresh: int
    output: int
    calls: int
    breaks: int

    @property
    def cost(self) -> float:
        return self.cached * READ + self.fresh * WRITTEN + self.output * OUTPUT


def run() -> list[Figure]:
    """The tokens of both, and what they cost beside one another."""
    spent = {name: asyncio.run(_session(settings)) for name, settings in _MODES.items()}
    base = spent["with summaries"]
    return [
        Figure(
            f"{name}: cost / with summaries",
            each.cost / base.cost,
            None,
            f"{each.fresh:,} tokens not cached, {each.cached:,} cached, {each.output:,} of answers; "
            f"{each.calls} calls, the prefix broken {each.breaks} times",
        )
        for name, each in spent.items()
    ]


_MODES = {
    "with summaries": LoopSettings(),
    "without summaries": LoopSettings(summaries=False),
    "without summaries, 12,000 tokens of messages": LoopSettings(summaries=False, recent_tokens=12_000),
}


async def _session(settings: LoopSettings) -> Spent:
    draw = random.Random(7)
    words = [f"word{n}" for n in range(400)]

    def look(path: str) -> str:
        """Look at a file."""
        return f"{path}\n" + " ".join(draw.choices(words, k=draw.randint(150, 700)))

    def answer(_: CapturedRequest) -> ScriptedReply:
        number = len(model.chats)
        if number % PROMPT_EVERY == 0:
            return ScriptedReply(f"Step {number} is done. " + " ".join(draw.choices(words, k=60)))
        if number % PROMPT_EVERY == 1:
            call = ScriptedCall("hud", {"operation": "notes.add", "text": f"fact {number}: {draw.choice(words)}"})
            return ScriptedReply("I note that.", (call,))
        text = " ".join(draw.choices(words, k=30))
        return ScriptedReply(text, (ScriptedCall("look", {"path": f"src/file_{number}.py"}),))

    # a summary of about 600 tokens
    model = InProcessModel(answer, window=WINDOW, compaction=ScriptedReply(" ".join(draw.choices(words, k=260))))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "project").mkdir()
        options = LoopOptions(
            plugins=[("hud", hud_plugin(place / "hud.db"))],
            tools=[function_tool(look, reads_only=True)],
            settings=settings,
        )
        async with await AgentLoop.open(place / "project", model, data=place / "data", options=options) as loop:
            while len(model.chats) < CALLS:
                await loop.prompt(
                    f"Please go on with part {len(model.chats)}. " + " ".join(draw.choices(words, k=25))
                )
            usage = loop.session.usage
    breaks = sum(
        later.messages[: len(earlier.messages) - 1] != earlier.messages[:-1]
        for earlier, later in pairwise(model.port_requests)
    )
    return Spent(usage.cache_read, usage.prompt - usage.cache_read, usage.output, len(model.port_requests), breaks)
