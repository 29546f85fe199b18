"""Conversations of the Agents SDK, as the runs of one `HudRunner` see them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import msgspec
from agents import Agent, FunctionTool, Model, ModelResponse, RunConfig, Runner
from agents.items import TResponseInputItem
from agents.memory import OpenAIConversationsSession, Session, is_openai_responses_compaction_aware_session
from agents.models import get_default_model
from agents.usage import Usage

from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.hosts.host_session import HostCall, HostMessage
from hudkit.hosts.in_process import InProcessHud
from hudkit.hosts.openai_agents.input_items import (
    InputItem,
    MessageSpan,
    TranscriptContext,
    is_summary_question,
    is_text,
    message_spans,
    summary_items,
)
from hudkit.tokens import Window, window_of
from hudkit.transcripts import ReportedUsage

# --- What is known of a model call of the Agents SDK, and what its response cost.


RunOptions = RunConfig | dict[str, Any] | None
"""A run configuration, as users give it."""


def config_option(config: RunOptions, name: str) -> Any:
    """An option of a run configuration; `None` where it is not given."""
    return config.get(name) if isinstance(config, dict) else getattr(config, name, None)


def host_call(
    agent: Agent[Any],
    config: RunOptions,
    window: int | Window | None,
    entries: Sequence[HostMessage],
    instructions: str | None,
    *,
    prunes: bool,
) -> HostCall:
    """What the HUD is asked for a call; `window` is the user's."""
    model = _model_of(agent, config)
    if not isinstance(window, Window):
        window = window_of(model) if window is None else Window(window, None, None, "user")
    return HostCall(
        entries=entries,
        window=window,
        model=model,
        system=len(instructions or ""),
        tools=_sizes(agent),
        agent=agent.name,
        prunes=prunes,
    )


def _model_of(agent: Agent[Any], config: RunOptions) -> str:
    """The name of the model that a call goes to, without those of its providers."""
    over = config_option(config, "model")
    model = over if over is not None else agent.model
    if isinstance(model, Model):
        return str(getattr(model, "model", "")).rpartition("/")[2]
    return (model or get_default_model()).rpartition("/")[2]


def _sizes(agent: Agent[Any]) -> int | None:
    """Characters of the tools' definitions; `None` where servers have more of them."""
    if agent.mcp_servers:
        return None
    mine = [tool for tool in agent.tools if isinstance(tool, FunctionTool)]
    return sum(
        len(one.name) + len(one.description) + len(msgspec.json.encode(one.params_json_schema)) for one in mine
    )


def _reported_usage(usage: Usage) -> ReportedUsage | None:
    """The tokens of a response; of its last request where the SDK tried several times."""
    told: Any = usage.request_usage_entries[-1] if usage.request_usage_entries else usage
    if not told.total_tokens:
        return None
    cached = getattr(told.input_tokens_details, "cached_tokens", 0) or 0
    written = getattr(told.input_tokens_details, "cache_write_tokens", 0) or 0
    return ReportedUsage(
        told.total_tokens,
        max(0, told.input_tokens - cached - written),
        told.output_tokens,
        getattr(told.output_tokens_details, "reasoning_tokens", 0) or 0,
        cached,
        written,
    )


# --- Compaction of a transcript of the Agents SDK: what a model writes down, and what stands for what it read.


_LOG = logging.getLogger("hudkit.hosts.openai_agents")

_WRITER_NAME = "hud-compaction"
"""The agent that writes a summary; it has no tools and no HUD."""


class TranscriptCut(NamedTuple):
    """Where a compaction divides a transcript: before the item `start`. `head` stands for what comes before: the
    summary, and the user's last message (the `said`-th message) where the cut took that."""

    start: int
    head: tuple[InputItem, ...]
    said: int | None


class _CompactedPrefix(NamedTuple):
    """What stands for the beginning of a transcript since a compaction: `items` for the messages with `keys`."""

    keys: tuple[str, ...] = ()
    items: tuple[InputItem, ...] = ()

    def end(self, found: Sequence[MessageSpan]) -> int:
        """Where what was compacted ends in the transcript with the messages `found`; 0 where it is not its
        beginning."""
        here = found[: len(self.keys)]
        return here[-1].end if here and tuple(span.entry.key for span in here) == self.keys else 0

    def then(
        self, cut: TranscriptCut, standing: Sequence[InputItem], given: Sequence[MessageSpan]
    ) -> _CompactedPrefix:
        """After one more compaction, of the transcript as it stood: these items before what is in `given`."""
        past = self.end(given)
        own = len(self.items) if past else 0
        upto = past + max(0, cut.start - own)
        keys = tuple(span.entry.key for span in given if span.end <= upto)
        return _CompactedPrefix(keys, (*cut.head, *standing[cut.start : own]))


def cut_transcript(at: int, items: Sequence[InputItem], found: Sequence[MessageSpan], summary: str) -> TranscriptCut:
    """The cut before message `at`. The user's last message is never cut off."""
    users = [
        n for n, span in enumerate(found) if span.entry.role == "user" and not is_summary_question(items[span.start])
    ]
    said = users[-1] if users and users[-1] < at else None
    again = items[found[said].start : found[said].end] if said is not None else ()
    start = found[at].start if at < len(found) else len(items)
    return TranscriptCut(start, (*summary_items(items, summary), *again), said)


def can_rewrite(session: Session | None) -> bool:
    """Whether a compaction of ours may be written into a session: not where the provider has it, nor where it
    compacts by itself."""
    if session is None:
        return True
    return not isinstance(session, OpenAIConversationsSession) and not is_openai_responses_compaction_aware_session(
        session
    )


async def ask_for_summary(agent: Agent[Any], config: RunOptions, items: Sequence[InputItem], ask: str) -> str:
    """What the agent's own model writes down when it is asked to; nothing where it fails."""
    own = config if isinstance(config, RunConfig) else RunConfig(**(config or {}))
    settings = agent.model_settings.resolve(own.model_settings)
    settings = replace(settings, tool_choice=None, parallel_tool_calls=None)
    model = own.model if own.model is not None else agent.model
    writer: Agent[Any] = Agent(_WRITER_NAME, instructions=SUMMARY_SYSTEM_PROMPT, model=model, model_settings=settings)
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


async def store_compacted(
    session: Session,
    items: Sequence[InputItem],
    found: Sequence[MessageSpan],
    cut: TranscriptCut,
    hearing: TranscriptContext,
) -> None:
    """Write a cut into the host's session, as far as that has the messages already; the SDK adds the others."""
    saved = cast(list[InputItem], await session.get_items())
    keys = [span.entry.key for span in message_spans(saved, hearing)]
    if not keys or keys != [span.entry.key for span in found[: len(keys)]]:
        if keys:
            _LOG.info("session %s is left as it is: it is not what the model was sent", hearing.session_id)
        return
    head = cut.head if cut.said is None or cut.said < len(keys) else cut.head[:2]
    end = found[len(keys) - 1].end
    await asyncio.shield(_replace(session, [*head, *items[cut.start : end]], saved))


async def _replace(session: Session, items: list[InputItem], before: list[InputItem]) -> None:
    await session.clear_session()
    try:
        await session.add_items(cast(list[TResponseInputItem], items))
    except Exception:
        await session.add_items(cast(list[TResponseInputItem], before))
        raise


def _without_media(item: InputItem) -> InputItem:
    for name in ("content", "output"):
        parts = item.get(name)
        if isinstance(parts, list) and not all(map(is_text, parts)):
            shown = [part if is_text(part) else _word(part) for part in parts]
            return {**item, name: shown}
    return item


def _word(part: Any) -> InputItem:
    kind = str(part.get("type", "part")) if isinstance(part, dict) else "part"
    return {"type": "input_text", "text": f"[{kind.removeprefix('input_')}]"}


_MAX_RESPONSE_IDS = 1_000
"""Responses by whose ids a conversation without a name is known again."""


class SdkConversation:
    """One conversation of the SDK as its runs see it. `parent` is the host's id of the one that started it."""

    def __init__(self, id: str, parent: str, names: Mapping[str, str]) -> None:
        self.id = id
        self.parent = parent
        self.busy = 0
        """Tools of it that are running now: what is started meanwhile is started by it."""
        self.compacts = False
        self.compacted = _CompactedPrefix()
        self.items: list[InputItem] = []
        """The transcript of the last call, and what was answered."""
        self.used: int | None = None
        """Tokens in the window after the last response."""
        self.hearing = TranscriptContext(id, names, {}, {})
        self._untold: ReportedUsage | None = None

    def read(self, items: Sequence[InputItem]) -> list[MessageSpan]:
        """The messages of a transcript; what the last response cost is that of the last one."""
        found = message_spans(items, self.hearing)
        if self._untold is None:
            return found
        last = next((span.entry for span in reversed(found) if span.entry.message.role == "assistant"), None)
        if last is not None and not last.message.summary:
            self.hearing.usage[last.key] = self._untold
        self._untold = None
        return message_spans(items, self.hearing)

    def answered(self, response: ModelResponse) -> bool:
        """Take up a response; whether it calls tools."""
        made = cast(list[InputItem], response.to_input_items())
        self.items = [*self.items, *made]
        self._untold = _reported_usage(response.usage)
        self.used = self._untold.used if self._untold is not None else None
        return any(str(item.get("type", "")).endswith("_call") for item in made)

    def rest(self) -> None:
        """Forget what is in the host's own session."""
        self.items = []
        self.hearing.read.clear()
        self.hearing.usage.clear()


class RunnerState:
    """What the runs of one `HudRunner` have in common. `offered` are the names of the HUD's tools: an agent without
    them gets no HUD."""

    def __init__(
        self,
        attached: InProcessHud,
        *,
        window: int | Window | None,
        compact: bool,
        names: Mapping[str, str],
        offered: frozenset[str],
        resume: str,
    ) -> None:
        self.attached = attached
        self.window = window
        self.compact = compact
        self.names = names
        self.offered = offered
        self.resume = resume
        self.scopes: dict[str, SdkConversation] = {}
        self._responses: dict[str, str] = {}

    def scope(self, id: str, parent: str) -> SdkConversation:
        """The conversation with the host's id `id`; `parent` is that of the one that started it."""
        return self.scopes.setdefault(id, SdkConversation(id, parent, self.names))

    def remember(self, response_id: str, id: str) -> None:
        """A conversation that has no name is known by the provider's ids of its responses."""
        self._responses[response_id] = id
        while len(self._responses) > _MAX_RESPONSE_IDS:
            del self._responses[next(iter(self._responses))]

    def behind(self, response_id: str) -> str:
        """The conversation that had this response; nothing where that is not known."""
        return self._responses.get(response_id, "")
