"""Compaction in the loop: the marker, the summary (by a model, or without one), and how work goes on after it.

Where the cut is, how long a text may be, and what a summary is asked with are defined in `hudkit.context.compaction`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hudkit import models
from hudkit.agent import events, message_history
from hudkit.agent.agent_definitions import BUILTIN_AGENTS, AgentDefinition
from hudkit.agent.hooks import Autocontinue, CompactionContext, CompactionPrompt
from hudkit.agent.message_history import calls_of
from hudkit.agent.model_call import stream_response
from hudkit.agent.records import Attachment, CompactionMarker, StoredCall, StoredMessage, StoredPart, StoredText
from hudkit.agent.request_builder import build_request
from hudkit.agent.run_context import RunContext, joined_text
from hudkit.agent.system_prompt import SystemPrompt
from hudkit.agent.user_input import mode_words, store_user_message
from hudkit.compose import shorten, visible
from hudkit.context.compaction import summaries
from hudkit.context.compaction.cut_point import cut_text, max_text_characters, tail_room
from hudkit.context.compaction.request_parts import HANDED_OVER_CHARACTERS
from hudkit.context.compaction.summaries import NOTHING_KNOWN, static_summary, unusable_reason
from hudkit.errors import HudkitError
from hudkit.models import ContextTooLong, Model, ModelError, UserMessage
from hudkit.sections.state import HudState

GO_ON = "Go on with the work where it stopped. If it is done, say so."
"""What the agent is told after a compaction in the middle of a turn, where nobody else says anything."""

BEGUN = "Work on this has begun before the compaction; the summary says how far it has come."
"""What stands behind the user's message that is repeated after a compaction."""

_MAX_TODOS, _MAX_FILES, _MAX_LINE = 20, 30, 500
"""Open todos, changed files, and characters of a line in a summary without a model: the newest ones."""

_Shortening = Callable[[Sequence[StoredMessage]], Sequence[StoredMessage]]


def mark(run: RunContext, *, auto: bool, overflow: bool = False) -> StoredMessage | None:
    """Store the request to compact and return it; `None` where there is nothing that a summary could stand for."""
    messages = run.history.visible()
    if not any(message.role == "assistant" and not message.summary for message in messages):
        return None
    room = tail_room(run.model.window, run.settings.overflow, cap=run.settings.tail)
    tail = () if overflow else message_history.recent_tail(messages, room)
    marker = CompactionMarker(run.new_id("prt"), auto, overflow, tail[0].id if tail else "")
    head = StoredMessage(run.new_id("msg"), run.id, "user", run.now(), agent=run.agent.name, parts=(marker,))
    return run.history.put(head)


async def compact(run: RunContext, asked: StoredMessage) -> StoredMessage:
    """Answer a marker with a summary and return it; what no model could write is told from the records alone.

    A cancellation goes through, and leaves everything as it was before the marker.
    """
    marker = message_history.compaction_marker(asked)
    assert marker is not None
    run.emit(events.CompactionStarted(run.id, marker.auto, marker.overflow))
    messages = run.history.messages
    before = message_history.visible_messages(messages[: _index_of(messages, asked.id)])
    covered = _covered(before, marker)
    why, summary = "", None
    try:
        summary = await _model_summary(run, asked, marker, covered)
        why = unusable_reason(joined_text(summary.parts), summary.finish)
    except ModelError as error:
        why = error.message
    except HudkitError as error:  # a model that cannot be opened
        why = str(error)
    if summary is None or why:
        summary = _static_summary(run, asked, before)
    await run.refresh()
    run.emit(events.CompactionFinished(run.id, summary, why))
    run.setup.events.notify_plugins("session.compacted", run.id, message_id=summary.id, auto=marker.auto)
    return summary


async def go_on(run: RunContext) -> bool:
    """Store what the work goes on with after the summary that is the last message; return whether it goes on."""
    messages = run.history.messages
    summary = messages[-1]
    marker_index = _index_of(messages, summary.parent_id)
    marker = message_history.compaction_marker(messages[marker_index])
    assert marker is not None
    before = message_history.visible_messages(messages[:marker_index])
    tail = before[len(_covered(before, marker)) :]
    if tail and tail[-1].role == "user":
        return True
    asked = message_history.last_user_prompt(before)
    # A prompt that nobody has answered is repeated: the summary alone would make the model guess what was asked.
    in_tail = asked is not None and asked.id in {message.id for message in tail}
    if asked is not None and not in_tail and (marker.overflow or before[-1].id == asked.id):
        store_user_message(run, _repeated(run, asked, begun=before[-1].id != asked.id), repeats=asked.id)
        return True
    if not (marker.auto or message_history.is_turn_unfinished(before)):
        return False
    announced = CompactionContext(run.id, marker.auto, marker.overflow)
    output = await run.setup.hooks.run("compaction_autocontinue", announced, Autocontinue())
    # Results that stand word for word behind the summary ask for an answer by themselves.
    results_wait = bool(tail) and tail[-1].finish == "tool-calls" and not tail[-1].aborted
    if output.proceed and (output.text or not results_wait):
        words = (*mode_words(run), output.text or GO_ON)
        store_user_message(run, [StoredText(run.new_id("prt"), text, synthetic=True) for text in words])
    return output.proceed


async def _model_summary(
    run: RunContext, asked: StoredMessage, marker: CompactionMarker, covered: Sequence[StoredMessage]
) -> StoredMessage:
    """The summary as a model wrote it. What is too long is handed over shortened, three times over."""
    agent = run.setup.agents.get("compaction", BUILTIN_AGENTS["compaction"])
    model = await _model(run, agent)
    announced = CompactionContext(run.id, marker.auto, marker.overflow)
    output = await run.setup.hooks.run("session_compacting", announced, CompactionPrompt())
    # what other plugins want to be kept is asked for beside a prompt that one of them wrote
    prompt = summaries.summary_prompt("") if output.prompt is None else output.prompt
    words = "\n\n".join([prompt, *(text for text in output.context if text)])
    question = UserMessage((models.TextContent(words),))

    def head() -> StoredMessage:
        return StoredMessage(
            run.new_id("msg"),
            run.id,
            "assistant",
            run.now(),
            parent_id=asked.id,
            agent=agent.name,
            model=model.name,
            summary=True,
        )

    for number, shortened in enumerate(_SHORTENINGS):
        request = await build_request(
            run,
            shortened(covered),
            agent=agent,
            model=model,
            prompt=SystemPrompt(agent.prompt or summaries.SUMMARY_SYSTEM_PROMPT),
            tools=(),
            more=(question,),
            media=False,
        )
        try:
            message, _ = await stream_response(run, request, model, head)
        except ContextTooLong:
            if number == len(_SHORTENINGS) - 1:
                raise
            continue
        return _closed(run, message)
    raise AssertionError


def _closed(run: RunContext, message: StoredMessage) -> StoredMessage:
    """A summary whose model called tools all the same: the calls are closed, its words count."""
    calls = [replace(call, status="error", error="There are no tools here.") for call in calls_of(message)]
    if not message.open:
        return message
    return run.history.put(replace(message, parts=tuple(calls), finish="stop", completed=run.now()))


async def _model(run: RunContext, agent: AgentDefinition) -> Model:
    if run.settings.compaction_model:
        return await run.model_of(run.settings.compaction_model)
    return await run.model_of(agent.model, agent.level)


def _static_summary(run: RunContext, asked: StoredMessage, before: Sequence[StoredMessage]) -> StoredMessage:
    """A summary made of the records: requests, todos, changed files, the last words."""
    requests = [_own_words(message) for message in before if message.role == "user"]
    answers = [message for message in before if message.role == "assistant"]
    earlier = [joined_text(message.parts) for message in answers if message.summary][-1:]
    last_words = [joined_text(message.parts) for message in answers if not message.summary]
    store = run.setup.store
    todos = [todo.content for todo in store.todos(run.id) if todo.status in ("pending", "in_progress")]
    files = list(dict.fromkeys(diff.path for diff in store.diffs(run.id)))
    parts = [
        *(["## Earlier summary\n" + earlier[0]] if earlier else []),
        static_summary(HudState(), [request for request in requests if request], shown=True),
        _list("Open todos", todos[-_MAX_TODOS:]),
        _list("Files changed", files[-_MAX_FILES:]),
        _list("Last words", [words for words in last_words if words][-1:]),
    ]
    text = "\n\n".join(part for part in parts if part) or NOTHING_KNOWN
    summary = StoredMessage(
        run.new_id("msg"),
        run.id,
        "assistant",
        run.now(),
        run.now(),
        parent_id=asked.id,
        agent="compaction",
        finish="stop",
        summary=True,
        parts=(StoredText(run.new_id("prt"), text),),
    )
    return run.history.put(summary)


def _own_words(message: StoredMessage) -> str:
    return joined_text([part for part in message.parts if message_history.is_users_own(part)])


def _list(title: str, lines: Sequence[str]) -> str:
    items = "\n".join(f"- {shorten(visible(' '.join(line.split())), _MAX_LINE)}" for line in lines)
    return f"## {title}\n{items}" if lines else ""


def _repeated(run: RunContext, asked: StoredMessage, *, begun: bool) -> list[StoredPart]:
    """The user's message once more: without media, and with texts that are too long for the window shortened."""
    limit = max_text_characters(run.model.window, run.settings.overflow)
    parts: list[StoredPart] = []
    for part in asked.parts:
        if isinstance(part, StoredText) and not part.ignored:
            parts.append(replace(part, id=run.new_id("prt"), text=cut_text(part.text, limit)))
        elif isinstance(part, Attachment):
            parts.append(replace(part, id=run.new_id("prt"), data=b""))
    if begun:
        parts.append(StoredText(run.new_id("prt"), BEGUN, synthetic=True))
    return parts


def _covered(before: Sequence[StoredMessage], marker: CompactionMarker) -> tuple[StoredMessage, ...]:
    """What the summary stands for: all before the tail."""
    end = next((index for index, message in enumerate(before) if message.id == marker.tail_from), len(before))
    return tuple(before[:end])


def _index_of(messages: Sequence[StoredMessage], id: str) -> int:
    return next(index for index, message in enumerate(messages) if message.id == id)


# -- what is handed over to be summarised ----------------------------------------------------------------------


def _shortened(messages: Sequence[StoredMessage], limit: int) -> list[StoredMessage]:
    """Messages with each text and output cut to `limit` characters."""
    return [replace(message, parts=tuple(_cut_part(part, limit) for part in message.parts)) for message in messages]


def _cut_part(part: StoredPart, limit: int) -> StoredPart:
    if isinstance(part, StoredText):
        return replace(part, text=cut_text(part.text, limit))
    if isinstance(part, StoredCall):
        arguments = {
            name: cut_text(value, limit) if isinstance(value, str) else value
            for name, value in part.arguments.items()
        }
        output, error = cut_text(part.output, limit), cut_text(part.error, limit)
        return replace(part, output=output, error=error, arguments=arguments)
    return part


def _newest(messages: Sequence[StoredMessage], share: float) -> Sequence[StoredMessage]:
    """The end of the messages that has this share of their size."""
    left = sum(map(message_history.message_size, messages)) * share
    start = len(messages)
    while start > 0 and left > 0:
        start -= 1
        left -= message_history.message_size(messages[start])
    return messages[start:]


_SHORTENINGS: tuple[_Shortening, ...] = (
    lambda messages: messages,
    lambda messages: _shortened(messages, HANDED_OVER_CHARACTERS),
    lambda messages: _shortened(_newest(_shortened(messages, 1_500), 0.5), 1_000),
    lambda messages: _newest(_shortened(messages, 500), 0.25),
)
"""How the messages are handed over for a summary, one after the other where they were too long before."""
