"""Compaction of a transcript of the Agents SDK: what a model writes down, and what stands for what it read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from agents import Agent, RunConfig, Runner
from agents.items import TResponseInputItem
from agents.memory import OpenAIConversationsSession, Session, is_openai_responses_compaction_aware_session

from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.hosts.openai_agents.asked import Config
from hudkit.hosts.openai_agents.items import Hearing, Item, Span, is_text, marks, spans, summed_up

_LOG = logging.getLogger("hudkit.hosts.openai_agents")

WRITER = "hud-compaction"
"""The agent that writes a summary; it has no tools and no HUD."""


class Cut(NamedTuple):
    """Where a compaction divides a transcript: before the item `start`. `head` stands for what comes before: the
    summary, and the user's last message (the `said`-th message) where the cut took that."""

    start: int
    head: tuple[Item, ...]
    said: int | None


class Compacted(NamedTuple):
    """What stands for the beginning of a transcript since a compaction: `items` for the messages with `keys`."""

    keys: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()

    def end(self, found: Sequence[Span]) -> int:
        """Where what was compacted ends in the transcript with the messages `found`; 0 where it is not its
        beginning."""
        here = found[: len(self.keys)]
        return here[-1].end if here and tuple(span.entry.key for span in here) == self.keys else 0

    def then(self, cut: Cut, standing: Sequence[Item], given: Sequence[Span]) -> Compacted:
        """After one more compaction, of the transcript as it stood: these items before what is in `given`."""
        past = self.end(given)
        own = len(self.items) if past else 0
        upto = past + max(0, cut.start - own)
        keys = tuple(span.entry.key for span in given if span.end <= upto)
        return Compacted(keys, (*cut.head, *standing[cut.start : own]))


def cut_at(at: int, items: Sequence[Item], found: Sequence[Span], summary: str) -> Cut:
    """The cut before message `at`. The user's last message is never cut off."""
    users = [n for n, span in enumerate(found) if span.entry.role == "user" and not marks(items[span.start])]
    said = users[-1] if users and users[-1] < at else None
    again = items[found[said].start : found[said].end] if said is not None else ()
    start = found[at].start if at < len(found) else len(items)
    return Cut(start, (*summed_up(items, summary), *again), said)


def keeps(session: Session | None) -> bool:
    """Whether a compaction of ours may be written into a session: not where the provider has it, nor where it
    compacts by itself."""
    if session is None:
        return True
    return not isinstance(session, OpenAIConversationsSession) and not is_openai_responses_compaction_aware_session(
        session
    )


async def written(agent: Agent[Any], config: Config, items: Sequence[Item], ask: str) -> str:
    """What the agent's own model writes down when it is asked to; nothing where it fails."""
    own = config if isinstance(config, RunConfig) else RunConfig(**(config or {}))
    settings = agent.model_settings.resolve(own.model_settings)
    settings = replace(settings, tool_choice=None, parallel_tool_calls=None)
    model = own.model if own.model is not None else agent.model
    writer: Agent[Any] = Agent(WRITER, instructions=SUMMARY_SYSTEM_PROMPT, model=model, model_settings=settings)
    given: dict[str, Any] = {"tracing_disabled": own.tracing_disabled, "tracing": own.tracing}
    if isinstance(config, RunConfig) or (config and "model_provider" in config):
        given["model_provider"] = own.model_provider
    request = [*map(_without_media, items), {"role": "user", "content": ask}]
    try:
        ended = await Runner.run(writer, cast(list[TResponseInputItem], request), run_config=given, max_turns=1)
    except Exception as error:  # a compaction without the model is better than a run that ends
        _LOG.warning("the model wrote no summary: %s", error)
        return ""
    return str(ended.final_output or "")


async def store(session: Session, items: Sequence[Item], found: Sequence[Span], cut: Cut, hearing: Hearing) -> None:
    """Write a cut into the host's session, as far as that has the messages already; the SDK adds the others."""
    saved = cast(list[Item], await session.get_items())
    keys = [span.entry.key for span in spans(saved, hearing)]
    if not keys or keys != [span.entry.key for span in found[: len(keys)]]:
        if keys:
            _LOG.info("session %s is left as it is: it is not what the model was sent", hearing.session_id)
        return
    head = cut.head if cut.said is None or cut.said < len(keys) else cut.head[:2]
    end = found[len(keys) - 1].end
    await asyncio.shield(_replace(session, [*head, *items[cut.start : end]], saved))


async def _replace(session: Session, items: list[Item], before: list[Item]) -> None:
    await session.clear_session()
    try:
        await session.add_items(cast(list[TResponseInputItem], items))
    except Exception:
        await session.add_items(cast(list[TResponseInputItem], before))
        raise


def _without_media(item: Item) -> Item:
    for name in ("content", "output"):
        parts = item.get(name)
        if isinstance(parts, list) and not all(map(is_text, parts)):
            shown = [part if is_text(part) else _word(part) for part in parts]
            return {**item, name: shown}
    return item


def _word(part: Any) -> Item:
    kind = str(part.get("type", "part")) if isinstance(part, dict) else "part"
    return {"type": "input_text", "text": f"[{kind.removeprefix('input_')}]"}
