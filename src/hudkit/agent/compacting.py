"""Compaction in the loop: the marker, the summary (by a model, or without one), and how work goes on after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hudkit import models
from hudkit.agent import events, message_history
from hudkit.agent.agent_definitions import BUILTIN_AGENTS, AgentDefinition
from hudkit.agent.hooks import Autocontinue, Compacting, CompactionPrompt
from hudkit.agent.message_history import calls_of
from hudkit.agent.model_call import stream_response
from hudkit.agent.records import Attachment, CompactionMarker, StoredCall, StoredMessage, StoredPart, StoredText
from hudkit.agent.request_builder import build_request
from hudkit.agent.run_context import RunContext, joined_text
from hudkit.agent.system_prompt import SystemPrompt
from hudkit.agent.user_input import store_user_message
from hudkit.compose import shorten, visible
from hudkit.context.compaction import summaries
from hudkit.context.compaction.summaries import static_summary, unusable_reason
from hudkit.errors import HudkitError
from hudkit.models import ContextTooLong, Model, ModelError, UserMessage
from hudkit.sections.state import HudState
from hudkit.tokens.windows import usable_of

GO_ON = "Go on with the work where it stopped. If it is done, say so."
BEGUN = "Work on this has begun before the compaction; the summary says how far it has come."

PER_TOKEN = 3
"""Characters that a token is taken for where room is given: fewer than it has, so that no tail is too large."""
SHARE = 8
"""The tail is at most this part of the usable window."""

Cut = Callable[[Sequence[StoredMessage]], Sequence[StoredMessage]]


def mark(course: RunContext, *, auto: bool, overflow: bool = False) -> StoredMessage | None:
    """Store the request to compact; `None` where there is nothing that a summary could stand for."""
    messages = course.history.visible()
    if not any(message.role == "assistant" and not message.summary for message in messages):
        return None
    usable = usable_of(course.model.window, replace(course.settings.overflow, automatic=True)) or 0
    room = min(course.settings.tail, usable // SHARE) * PER_TOKEN
    tail = () if overflow else message_history.recent_tail(messages, room)
    marker = CompactionMarker(course.new_id("prt"), auto, overflow, tail[0].id if tail else "")
    head = StoredMessage(
        course.new_id("msg"), course.id, "user", course.now(), agent=course.agent.name, parts=(marker,)
    )
    return course.history.put(head)


async def compact(course: RunContext, asked: StoredMessage) -> StoredMessage:
    """Answer a marker with a summary; what no model could write is told from the records alone.

    A cancellation goes through, and leaves everything as it was before the marker.
    """
    marker = message_history.compaction_marker(asked)
    assert marker is not None
    course.emit(events.CompactionStarted(course.id, marker.auto, marker.overflow))
    messages = course.history.messages
    before = message_history.visible_messages(messages[: _place(messages, asked.id)])
    covered = _covered(before, marker)
    why, summary = "", None
    try:
        summary = await _summarised(course, asked, marker, covered)
        why = unusable_reason(joined_text(summary.parts), summary.finish)
    except ModelError as error:
        why = error.message
    except HudkitError as error:  # a model that cannot be opened
        why = str(error)
    if summary is None or why:
        summary = _without_model(course, asked, before)
    await course.refresh()
    course.emit(events.CompactionFinished(course.id, summary, why))
    course.setup.events.notify_plugins("session.compacted", course.id, message_id=summary.id, auto=marker.auto)
    return summary


async def go_on(course: RunContext) -> bool:
    """Store what the work goes on with after the summary that is the last message; whether it goes on."""
    messages = course.history.messages
    summary = messages[-1]
    at = _place(messages, summary.parent_id)
    marker = message_history.compaction_marker(messages[at])
    assert marker is not None
    before = message_history.visible_messages(messages[:at])
    tail = before[len(_covered(before, marker)) :]
    if tail and tail[-1].role == "user":
        return True
    asked = message_history.last_user_prompt(before)
    replayed = asked is not None and asked.id not in {one.id for one in tail}
    if asked is not None and replayed and (marker.overflow or before[-1].id == asked.id):
        store_user_message(course, _replay(course, asked, begun=before[-1].id != asked.id))
        return True
    if not (marker.auto or message_history.is_turn_unfinished(before)):
        return False
    given = Compacting(course.id, marker.auto, marker.overflow)
    output = await course.setup.hooks.run("compaction_autocontinue", given, Autocontinue())
    if output.proceed:
        store_user_message(course, [StoredText(course.new_id("prt"), output.text or GO_ON, synthetic=True)])
    return output.proceed


async def _summarised(
    course: RunContext, asked: StoredMessage, marker: CompactionMarker, covered: Sequence[StoredMessage]
) -> StoredMessage:
    """The summary as a model wrote it. What is too long is handed over shortened, three times over."""
    agent = course.setup.agents.get("compaction", BUILTIN_AGENTS["compaction"])
    model = await _model(course, agent)
    given = Compacting(course.id, marker.auto, marker.overflow)
    output = await course.setup.hooks.run("session_compacting", given, CompactionPrompt())
    words = output.prompt
    if words is None:
        words = "\n\n".join([summaries.summary_prompt(""), *(text for text in output.context if text)])
    question = UserMessage((models.TextContent(words),))

    def head() -> StoredMessage:
        return StoredMessage(
            course.new_id("msg"),
            course.id,
            "assistant",
            course.now(),
            parent_id=asked.id,
            agent=agent.name,
            model=model.name,
            summary=True,
        )

    for number, cut in enumerate(CUTS):
        request = await build_request(
            course,
            cut(covered),
            agent=agent,
            model=model,
            prompt=SystemPrompt(agent.prompt or summaries.SUMMARY_SYSTEM_PROMPT),
            tools=(),
            more=(question,),
            media=False,
        )
        try:
            message, _ = await stream_response(course, request, model, head)
        except ContextTooLong:
            if number == len(CUTS) - 1:
                raise
            continue
        return _ended(course, message)
    raise AssertionError


def _ended(course: RunContext, message: StoredMessage) -> StoredMessage:
    """A summary whose model called tools all the same: the calls are closed, its words count."""
    calls = [replace(call, status="error", error="There are no tools here.") for call in calls_of(message)]
    if not message.open:
        return message
    return course.history.put(replace(message, parts=tuple(calls), finish="stop", completed=course.now()))


async def _model(course: RunContext, agent: AgentDefinition) -> Model:
    name = course.settings.compaction_model or agent.model
    return await course.setup.open_model(name) if name and name != course.model.name else course.model


def _without_model(course: RunContext, asked: StoredMessage, before: Sequence[StoredMessage]) -> StoredMessage:
    """A summary made of the records: requests, todos, changed files, the last words."""
    requests = [
        joined_text([part for part in one.parts if message_history.is_users_own(part)])
        for one in before
        if one.role == "user"
    ]
    open_todos = [
        one.content for one in course.setup.store.todos(course.id) if one.status in ("pending", "in_progress")
    ]
    files = list(dict.fromkeys(diff.path for diff in course.setup.store.diffs(course.id)))
    earlier = [joined_text(one.parts) for one in before if one.summary][-1:]
    last = [
        joined_text(one.parts)
        for one in before
        if one.role == "assistant" and not one.summary and joined_text(one.parts)
    ]
    parts = [
        *(["## Earlier summary\n" + earlier[0]] if earlier else []),
        static_summary(HudState(), [one for one in requests if one], shown=True),
        _list("Open todos", open_todos[-20:]),
        _list("Files changed", files[-30:]),
        _list("Last words", last[-1:]),
    ]
    text = "\n\n".join(part for part in parts if part) or "Nothing is known of the work so far."
    summary = StoredMessage(
        course.new_id("msg"),
        course.id,
        "assistant",
        course.now(),
        course.now(),
        parent_id=asked.id,
        agent="compaction",
        finish="stop",
        summary=True,
        parts=(StoredText(course.new_id("prt"), text),),
    )
    return course.history.put(summary)


def _list(title: str, lines: Sequence[str]) -> str:
    told_lines = "\n".join(f"- {shorten(visible(' '.join(line.split())), 500)}" for line in lines)
    return f"## {title}\n{told_lines}" if lines else ""


def _replay(course: RunContext, asked: StoredMessage, *, begun: bool) -> list[StoredPart]:
    """The user's message once more: without media, and with texts that are too long for the window shortened."""
    usable = usable_of(course.model.window, replace(course.settings.overflow, automatic=True)) or 0
    most = max(2_000, usable * PER_TOKEN // 4)
    parts: list[StoredPart] = []
    for part in asked.parts:
        if isinstance(part, StoredText) and not part.ignored:
            parts.append(replace(part, id=course.new_id("prt"), text=_cut(part.text, most)))
        elif isinstance(part, Attachment):
            parts.append(replace(part, id=course.new_id("prt"), data=b""))
    if begun:
        parts.append(StoredText(course.new_id("prt"), BEGUN, synthetic=True))
    return parts


def _covered(before: Sequence[StoredMessage], marker: CompactionMarker) -> tuple[StoredMessage, ...]:
    """What the summary stands for: all before the tail."""
    end = next((at for at, one in enumerate(before) if one.id == marker.tail_from), len(before))
    return tuple(before[:end])


def _place(messages: Sequence[StoredMessage], id: str) -> int:
    return next(at for at, one in enumerate(messages) if one.id == id)


def _shortened(messages: Sequence[StoredMessage], most: int) -> list[StoredMessage]:
    """Messages with each text and output cut to `most` characters."""
    return [replace(one, parts=tuple(_short(part, most) for part in one.parts)) for one in messages]


def _short(part: StoredPart, most: int) -> StoredPart:
    if isinstance(part, StoredText):
        return replace(part, text=_cut(part.text, most))
    if isinstance(part, StoredCall):
        values = {name: _cut(one, most) if isinstance(one, str) else one for name, one in part.arguments.items()}
        return replace(part, output=_cut(part.output, most), error=_cut(part.error, most), arguments=values)
    return part


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}\n[{len(text) - most:,} characters are left out]\n{text[-(most // 3) :]}"


def _newest(messages: Sequence[StoredMessage], share: float) -> Sequence[StoredMessage]:
    """The end of the messages that has this share of their size."""
    left = sum(map(message_history.message_size, messages)) * share
    start = len(messages)
    while start > 0 and left > 0:
        start -= 1
        left -= message_history.message_size(messages[start])
    return messages[start:]


CUTS: tuple[Cut, ...] = (
    lambda messages: messages,
    lambda messages: _shortened(messages, 2_000),
    lambda messages: _shortened(_newest(_shortened(messages, 1_500), 0.5), 1_000),
    lambda messages: _newest(_shortened(messages, 500), 0.25),
)
"""How the messages are handed over for a summary, one after the other where they were too long before."""
