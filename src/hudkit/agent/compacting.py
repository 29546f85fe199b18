"""Compaction in the loop: the marker, the summary (by a model, or without one), and how work goes on after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from hudkit import models
from hudkit.agent import told, view
from hudkit.agent.agents import BUILTIN, Agent
from hudkit.agent.asking import request_of
from hudkit.agent.course import Course, text_of
from hudkit.agent.hooks import Autocontinue, Compacting, CompactionPrompt
from hudkit.agent.kept import calls_of
from hudkit.agent.prompt import Prompt
from hudkit.agent.records import Call, File, Marker, Message, Part, Text
from hudkit.agent.saying import put
from hudkit.agent.turn import respond
from hudkit.compose import shorten, visible
from hudkit.context.compaction import continuity
from hudkit.context.compaction.fallback import static_summary, unusable
from hudkit.errors import HudkitError
from hudkit.models import Model, ModelError, TooLong, User
from hudkit.sections.state import HudState
from hudkit.tokens.overflow import usable_of

GO_ON = "Go on with the work where it stopped. If it is done, say so."
BEGUN = "Work on this has begun before the compaction; the summary says how far it has come."

PER_TOKEN = 3
"""Characters that a token is taken for where room is given: fewer than it has, so that no tail is too large."""
SHARE = 8
"""The tail is at most this part of the usable window."""

Cut = Callable[[Sequence[Message]], Sequence[Message]]


def mark(course: Course, *, auto: bool, overflow: bool = False) -> Message | None:
    """Store the request to compact; `None` where there is nothing that a summary could stand for."""
    messages = course.kept.visible()
    if not any(message.role == "assistant" and not message.summary for message in messages):
        return None
    usable = usable_of(course.model.window, replace(course.rules.overflow, automatic=True)) or 0
    room = min(course.rules.tail, usable // SHARE) * PER_TOKEN
    tail = () if overflow else view.tail_of(messages, room)
    marker = Marker(course.new_id("prt"), auto, overflow, tail[0].id if tail else "")
    head = Message(course.new_id("msg"), course.id, "user", course.now(), agent=course.agent.name, parts=(marker,))
    return course.kept.put(head)


async def compact(course: Course, asked: Message) -> Message:
    """Answer a marker with a summary; what no model could write is told from the records alone.

    A cancellation goes through, and leaves everything as it was before the marker.
    """
    marker = view.marker_of(asked)
    assert marker is not None
    course.tell(told.Compacting(course.id, marker.auto, marker.overflow))
    messages = course.kept.messages
    before = view.visible(messages[: _place(messages, asked.id)])
    covered = _covered(before, marker)
    why, summary = "", None
    try:
        summary = await _summarised(course, asked, marker, covered)
        why = unusable(text_of(summary.parts), summary.finish)
    except ModelError as error:
        why = error.message
    except HudkitError as error:  # a model that cannot be opened
        why = str(error)
    if summary is None or why:
        summary = _without_model(course, asked, before)
    await course.refresh()
    course.tell(told.Compacted(course.id, summary, why))
    course.setup.telling.event("session.compacted", course.id, message_id=summary.id, auto=marker.auto)
    return summary


async def go_on(course: Course) -> bool:
    """Store what the work goes on with after the summary that is the last message; whether it goes on."""
    messages = course.kept.messages
    summary = messages[-1]
    at = _place(messages, summary.parent_id)
    marker = view.marker_of(messages[at])
    assert marker is not None
    before = view.visible(messages[:at])
    tail = before[len(_covered(before, marker)) :]
    if tail and tail[-1].role == "user":
        return True
    asked = view.last_asked(before)
    replayed = asked is not None and asked.id not in {one.id for one in tail}
    if asked is not None and replayed and (marker.overflow or before[-1].id == asked.id):
        put(course, _replay(course, asked, begun=before[-1].id != asked.id))
        return True
    if not (marker.auto or view.under_way(before)):
        return False
    given = Compacting(course.id, marker.auto, marker.overflow)
    output = await course.setup.hooks.run("compaction_autocontinue", given, Autocontinue())
    if output.proceed:
        put(course, [Text(course.new_id("prt"), output.text or GO_ON, synthetic=True)])
    return output.proceed


async def _summarised(course: Course, asked: Message, marker: Marker, covered: Sequence[Message]) -> Message:
    """The summary as a model wrote it. What is too long is handed over shortened, three times over."""
    agent = course.setup.agents.get("compaction", BUILTIN["compaction"])
    model = await _model(course, agent)
    given = Compacting(course.id, marker.auto, marker.overflow)
    output = await course.setup.hooks.run("session_compacting", given, CompactionPrompt())
    words = output.prompt
    if words is None:
        words = "\n\n".join([continuity.prompt(""), *(text for text in output.context if text)])
    question = User((models.Text(words),))

    def head() -> Message:
        return Message(
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
        request = await request_of(
            course,
            cut(covered),
            agent=agent,
            model=model,
            prompt=Prompt(agent.prompt or continuity.HEADER),
            tools=(),
            more=(question,),
            media=False,
        )
        try:
            message, _ = await respond(course, request, model, head)
        except TooLong:
            if number == len(CUTS) - 1:
                raise
            continue
        return _ended(course, message)
    raise AssertionError


def _ended(course: Course, message: Message) -> Message:
    """A summary whose model called tools all the same: the calls are closed, its words count."""
    calls = [replace(call, status="error", error="There are no tools here.") for call in calls_of(message)]
    if not message.open:
        return message
    return course.kept.put(replace(message, parts=tuple(calls), finish="stop", completed=course.now()))


async def _model(course: Course, agent: Agent) -> Model:
    name = course.rules.compaction_model or agent.model
    return await course.setup.open_model(name) if name and name != course.model.name else course.model


def _without_model(course: Course, asked: Message, before: Sequence[Message]) -> Message:
    """A summary made of the records: requests, todos, changed files, the last words."""
    requests = [text_of([part for part in one.parts if view.is_own(part)]) for one in before if one.role == "user"]
    open_todos = [
        one.content for one in course.setup.store.todos(course.id) if one.status in ("pending", "in_progress")
    ]
    files = list(dict.fromkeys(diff.path for diff in course.setup.store.diffs(course.id)))
    earlier = [text_of(one.parts) for one in before if one.summary][-1:]
    last = [
        text_of(one.parts) for one in before if one.role == "assistant" and not one.summary and text_of(one.parts)
    ]
    parts = [
        *(["## Earlier summary\n" + earlier[0]] if earlier else []),
        static_summary(HudState(), [one for one in requests if one], shown=True),
        _list("Open todos", open_todos[-20:]),
        _list("Files changed", files[-30:]),
        _list("Last words", last[-1:]),
    ]
    text = "\n\n".join(part for part in parts if part) or "Nothing is known of the work so far."
    summary = Message(
        course.new_id("msg"),
        course.id,
        "assistant",
        course.now(),
        course.now(),
        parent_id=asked.id,
        agent="compaction",
        finish="stop",
        summary=True,
        parts=(Text(course.new_id("prt"), text),),
    )
    return course.kept.put(summary)


def _list(title: str, lines: Sequence[str]) -> str:
    told_lines = "\n".join(f"- {shorten(visible(' '.join(line.split())), 500)}" for line in lines)
    return f"## {title}\n{told_lines}" if lines else ""


def _replay(course: Course, asked: Message, *, begun: bool) -> list[Part]:
    """The user's message once more: without media, and with texts that are too long for the window shortened."""
    usable = usable_of(course.model.window, replace(course.rules.overflow, automatic=True)) or 0
    most = max(2_000, usable * PER_TOKEN // 4)
    parts: list[Part] = []
    for part in asked.parts:
        if isinstance(part, Text) and not part.ignored:
            parts.append(replace(part, id=course.new_id("prt"), text=_cut(part.text, most)))
        elif isinstance(part, File):
            parts.append(replace(part, id=course.new_id("prt"), data=b""))
    if begun:
        parts.append(Text(course.new_id("prt"), BEGUN, synthetic=True))
    return parts


def _covered(before: Sequence[Message], marker: Marker) -> tuple[Message, ...]:
    """What the summary stands for: all before the tail."""
    end = next((at for at, one in enumerate(before) if one.id == marker.tail_from), len(before))
    return tuple(before[:end])


def _place(messages: Sequence[Message], id: str) -> int:
    return next(at for at, one in enumerate(messages) if one.id == id)


def _shortened(messages: Sequence[Message], most: int) -> list[Message]:
    """Messages with each text and output cut to `most` characters."""
    return [replace(one, parts=tuple(_short(part, most) for part in one.parts)) for one in messages]


def _short(part: Part, most: int) -> Part:
    if isinstance(part, Text):
        return replace(part, text=_cut(part.text, most))
    if isinstance(part, Call):
        values = {name: _cut(one, most) if isinstance(one, str) else one for name, one in part.arguments.items()}
        return replace(part, output=_cut(part.output, most), error=_cut(part.error, most), arguments=values)
    return part


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}\n[{len(text) - most:,} characters are left out]\n{text[-(most // 3) :]}"


def _newest(messages: Sequence[Message], share: float) -> Sequence[Message]:
    """The end of the messages that has this share of their size."""
    left = sum(map(view.size_of, messages)) * share
    start = len(messages)
    while start > 0 and left > 0:
        start -= 1
        left -= view.size_of(messages[start])
    return messages[start:]


CUTS: tuple[Cut, ...] = (
    lambda messages: messages,
    lambda messages: _shortened(messages, 2_000),
    lambda messages: _shortened(_newest(_shortened(messages, 1_500), 0.5), 1_000),
    lambda messages: _newest(_shortened(messages, 500), 0.25),
)
"""How the messages are handed over for a summary, one after the other where they were too long before."""
