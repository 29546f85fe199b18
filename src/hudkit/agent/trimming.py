"""A session without summaries: when the messages have more than their part of the window, the oldest leave it.

No model is asked. A trim is one step, after which half of the room is free again (`hudkit.context.window_budget`):
old outputs become stubs, the newest of them stay, and then as many of the oldest turns leave as it takes. A message
of an assistant holds its calls with their results, so none can be sent without the other. What left is told in one
line with the calls that read it, which is stored as a user's message with a `TrimMarker`; where the tail begins in
the middle of a turn, it also says once more what the user had asked. So what is sent follows from the stored messages
alone, stays the same bytes until the next trim, and an undo that takes back the note brings back what it took away.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hudkit.agent import events, message_history
from hudkit.agent.message_history import calls_of, output_size, size_by_kind
from hudkit.agent.records import Attachment, StoredMessage, StoredPart, StoredText, TrimMarker
from hudkit.agent.run_context import RunContext
from hudkit.agent.user_input import mode_words
from hudkit.context.budget import TOKENS_PER_CHARACTER
from hudkit.context.compaction.cut_point import cut_text, max_text_characters, tail_room
from hudkit.context.compaction.pruning import MIN_OUTPUT_TOKENS, is_protected_tool
from hudkit.context.window_budget import TRIMMED_SHARE, WindowLoad, exceeds, keep_from
from hudkit.tools.help import call_text

_MIN_OUTPUT = int(MIN_OUTPUT_TOKENS / TOKENS_PER_CHARACTER)
"""Characters below which an output is left as it is: its stub would free little."""

_LEAST_MEASURED = 1_000
"""Tokens that a request must have for what was reported of it to say how far estimates are off."""

_SCALES = (0.5, 3.0)
"""How far estimates may be off: what is reported beyond that is no request of this session."""


def window_load(run: RunContext) -> WindowLoad:
    """Return the tokens that each part of the next request has, about, scaled by what was reported last."""
    messages = run.history.visible()
    sizes = [size_by_kind(message) for message in messages]
    front = run.front_tokens
    scale = _scale(run, messages, [sum(size) for size in sizes], sum(front))
    per_character = TOKENS_PER_CHARACTER * scale
    system, tools = (round(tokens * scale) for tokens in front)
    words, outputs = (round(sum(size[kind] for size in sizes) * per_character) for kind in (0, 1))
    hud = run.budget.hud if run.budget is not None else 0
    return WindowLoad(system, tools, hud, words, outputs, len(messages))


def _scale(run: RunContext, messages: Sequence[StoredMessage], sizes: Sequence[int], front: float) -> float:
    """Return the tokens that one estimated token has, by the last report; as before where there is none."""
    last = message_history.last_finished(run.history.messages)
    if last is None or last.usage is None:
        return run.estimate_scale
    index = next((index for index, message in enumerate(messages) if message.id == last.id), None)
    if index is None:
        return run.estimate_scale
    # the report came before the results of its own calls
    own = sizes[index] - sum(map(output_size, calls_of(messages[index])))
    hud = run.budget.hud if run.budget is not None else 0
    estimate = front + hud + (sum(sizes[:index]) + own) * TOKENS_PER_CHARACTER
    if last.usage.used >= _LEAST_MEASURED:
        run.estimate_scale = min(max(last.usage.used / max(estimate, 1.0), _SCALES[0]), _SCALES[1])
    return run.estimate_scale


def trim_where_full(run: RunContext) -> bool:
    """Trim where the messages have more than their part; return whether anything left the window."""
    if run.budget is None:
        return False
    load = window_load(run)
    if not exceeds(load, run.budget):
        return False
    count = None if run.budget.most is None else max(1, int(run.budget.most * TRIMMED_SHARE))
    budget = run.budget
    return _trim(run, _characters(run, budget.messages), _characters(run, budget.outputs), count)


def trim_to_tail(run: RunContext) -> bool:
    """Trim to the tail that a compaction would leave, because somebody asked; return whether anything left."""
    room = tail_room(run.model.window, run.settings.overflow, cap=run.settings.tail)
    return _trim(run, room, room, None)


def trim_after_refusal(run: RunContext) -> bool:
    """Trim because the provider found the request too long; return whether it is shorter now.

    Each time half of what is there leaves. Where one turn is left, its outputs become stubs, and where only a prompt
    is, it is said again without its media and shortened.
    """
    messages = run.history.visible()
    half = sum(map(message_history.message_size, messages)) // 2
    if len(messages) > 1 and _trim(run, half, half, None):
        return True
    if _leave_outputs(run, messages, 0):
        return True
    last = messages[-1]
    if last.role != "user":
        return False
    note = _note(run, messages, len(messages), [last])
    if message_history.message_size(note) >= message_history.message_size(last):
        return False
    run.history.put(note)
    run.emit(events.MessagesTrimmed(run.id, 0))
    return True


def _characters(run: RunContext, tokens: int) -> int:
    """Return the characters that a trim leaves of a part with so many tokens at most."""
    return int(tokens * TRIMMED_SHARE / (TOKENS_PER_CHARACTER * run.estimate_scale))


def _trim(run: RunContext, room: int, output_room: int, count: int | None) -> bool:
    """Leave at most `room` characters of messages, `output_room` of outputs and `count` messages, the newest.

    Returns whether anything left. The newest message stays in any case.
    """
    messages = run.history.visible()
    calls = _leave_outputs(run, messages, output_room)
    messages = run.history.visible()
    start = keep_from([message_history.message_size(message) for message in messages], room, count)
    if start:
        note = run.history.put(_note(run, messages, start, _asked_before(messages, start)))
        # what says that plan mode is on, or over, may have left
        if words := mode_words(run):
            run.history.put_parts(note.id, [StoredText(run.new_id("prt"), text, synthetic=True) for text in words])
    elif not calls:
        return False
    run.emit(events.MessagesTrimmed(run.id, start, calls))
    return True


def _leave_outputs(run: RunContext, messages: Sequence[StoredMessage], room: int) -> tuple[str, ...]:
    """Turn the oldest outputs into stubs until at most `room` characters are left; return their calls' ids."""
    gone: list[str] = []
    now = run.now()
    for message in reversed(messages):
        marked: list[StoredPart] = []
        for call in reversed(calls_of(message)):
            room -= output_size(call)
            is_large = call.status == "completed" and not call.compacted and output_size(call) >= _MIN_OUTPUT
            if room < 0 and is_large and not is_protected_tool(call.tool, run.settings.protected_tools):
                marked.append(replace(call, compacted=now))
                gone.append(call.call_id)
        if marked:
            run.history.put_parts(message.id, marked)
    return tuple(reversed(gone))


def _asked_before(messages: Sequence[StoredMessage], start: int) -> list[StoredMessage]:
    """Return what the user had said in the turn in whose middle the message at `start` stands, oldest first."""
    asked: list[StoredMessage] = []
    if start < len(messages) and messages[start].role == "user":
        return asked
    for message in reversed(messages[:start]):
        if message.role == "user":
            asked.append(message)
        elif message.finish not in ("tool-calls", "compact"):
            break  # the end of an earlier turn
    return [message for message in reversed(asked) if _own_texts(message)]


def _note(
    run: RunContext, messages: Sequence[StoredMessage], start: int, asked: Sequence[StoredMessage]
) -> StoredMessage:
    """Return the message that tells of a trim before the message at `start`, with what had been `asked`."""
    everything = run.history.messages
    tail_from = messages[start].id if start < len(messages) else ""
    end = next((index for index, message in enumerate(everything) if message.id == tail_from), len(everything))
    left = sum(not _is_note(message) for message in everything[:end])
    parts: list[StoredPart] = [TrimMarker(run.new_id("prt"), _left_words(left, tail_from), tail_from)]
    limit = max_text_characters(run.model.window, run.settings.overflow)
    texts = [cut_text(text, limit) for message in asked for text in _own_texts(message)]
    parts += [StoredText(run.new_id("prt"), text, synthetic=True) for text in texts]
    repeats = (asked[-1].repeats or asked[-1].id) if asked else ""
    id, now = run.new_id("msg"), run.now()
    return StoredMessage(id, run.id, "user", now, agent=run.agent.name, repeats=repeats, parts=tuple(parts))


def _is_note(message: StoredMessage) -> bool:
    return message_history.trim_marker(message) is not None


def _left_words(count: int, tail_from: str) -> str:
    """Return the line that tells of what left: how much, and the calls that read it and find words in it."""
    pages = call_text("memory", "messages", {"before": tail_from} if tail_from else {})
    search = call_text("memory", "search", {"query": "…"})
    number = f"{count} older {'message' if count == 1 else 'messages'}"
    return f"[{number} left the window; nothing is lost. To read them: {pages}. To find words in them: {search}]"


def _own_texts(message: StoredMessage) -> list[str]:
    """Return what a user said: the words, and the names of files; what an earlier trim had said again, too."""
    is_note = _is_note(message) and bool(message.repeats)
    texts = []
    for part in message.parts:
        if isinstance(part, Attachment):
            texts.append(f"[attached: {part.path or 'a file'}]")
        elif isinstance(part, StoredText) and not part.ignored and (is_note or not part.synthetic):
            texts.append(part.text)
    return [text for text in texts if text]
