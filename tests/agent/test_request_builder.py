"""Any valid transcript becomes a request that every server takes: nothing orphaned, lost, doubled or out of order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hudkit.agent import message_history
from hudkit.agent import records as r
from hudkit.agent.hooks import ChatMessage, ChatPart
from hudkit.agent.hud_hooks import to_ingest_message
from hudkit.agent.request_builder import (
    COMPACTION_QUESTION,
    CONTINUATION,
    UNANSWERED,
    part_lookup,
    to_chat_messages,
    to_model_messages,
    tool_result_text,
)
from hudkit.agent.session_store import SessionStore
from hudkit.agent.session_transcript import SessionTranscript
from hudkit.log.codec import escape_surrogates
from hudkit.models import (
    AssistantMessage,
    CompletionRequest,
    Media,
    Reasoning,
    TextContent,
    ToolCall,
    ToolResult,
    UserMessage,
)
from hudkit.models.port import order_fault
from hudkit.transcripts import Message
from strategies import hostile

pytestmark = pytest.mark.slow

WORDS = st.one_of(st.just(""), st.sampled_from(["go on", "done", "\ud800"]), hostile)
NAMES = ("read", "write", "edit", "bash", "todo", "task", "mine")
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "old", "new", "command", "content", "\ud800"]),
    st.one_of(WORDS, st.integers(), st.none(), st.lists(WORDS, max_size=2)),
    max_size=3,
)
SEALED = st.lists(st.tuples(st.text("ab", max_size=3), st.sampled_from(["", "s1", "s2"])), min_size=1, max_size=3)


@st.composite
def transcripts(draw: st.DrawFn, *, compactions: bool = True) -> tuple[r.StoredMessage, ...]:
    """A session's messages as the loop leaves them: no call without its result, nothing open, ids once."""
    numbers = itertools.count(1)
    messages: list[r.StoredMessage] = []

    def new(kind: str) -> str:
        return f"{kind}_{next(numbers):04d}"

    def said(kind: type[r.StoredText] | type[r.StoredReasoning], **given: Any) -> r.StoredPart:
        if draw(st.booleans()):
            return kind(new("prt"), draw(WORDS), **given)
        runs = draw(SEALED)
        seals = {"seals": [[len(text), seal] for text, seal in runs]}
        return kind(new("prt"), "".join(text for text, _ in runs), meta=seals, **given)

    def user() -> r.StoredMessage:
        parts: list[r.StoredPart] = [r.StoredText(new("prt"), draw(WORDS), draw(st.booleans()), draw(st.booleans()))]
        parts += [r.StoredText(new("prt"), draw(WORDS)) for _ in range(draw(st.integers(0, 2)))]
        if draw(st.booleans()):
            parts.append(r.Attachment(new("prt"), "a.png", "image/png", draw(st.binary(max_size=2))))
        return r.StoredMessage(new("msg"), "ses", "user", next(numbers), parts=tuple(parts))

    def call() -> r.StoredCall:
        status = draw(st.sampled_from(["completed", "completed", "error"]))
        text = {"output" if status == "completed" else "error": draw(WORDS)}
        compacted = draw(st.sampled_from([0, 0, 7])) if status == "completed" else 0
        metadata = draw(st.sampled_from([{}, {"seal": "s"}]))
        tool, number = draw(st.sampled_from(NAMES)), next(numbers)
        given = draw(ARGUMENTS)
        return r.StoredCall(
            new("prt"), tool, f"c{number}", status, given, **text, metadata=metadata, compacted=compacted
        )

    def response(parent: str) -> r.StoredMessage:
        parts: list[r.StoredPart] = []
        for _ in range(draw(st.integers(0, 4))):
            kind = draw(st.sampled_from(["text", "text", "ignored", "reasoning", "call", "call", "patch"]))
            if kind in ("text", "ignored"):
                parts.append(said(r.StoredText, ignored=kind == "ignored"))
            elif kind == "reasoning":
                parts.append(said(r.StoredReasoning))
            elif kind == "call":
                parts.append(call())
            else:
                parts.append(r.ChangedFiles(new("prt"), ("a.py",)))
        end: dict[str, Any] = draw(
            st.sampled_from([{"finish": "stop"}, {"finish": "stop"}, {"error": "x"}, {"error": "x", "aborted": True}])
        )
        return r.StoredMessage(
            new("msg"), "ses", "assistant", next(numbers), next(numbers), parent, parts=tuple(parts), **end
        )

    for _ in range(draw(st.integers(0, 4))):
        asked = user()
        messages.append(asked)
        messages += [response(asked.id) for _ in range(draw(st.integers(0, 3)))]
        if compactions and draw(st.booleans()):
            kept = draw(st.sampled_from(["", "gone", *(one.id for one in messages)]))
            marker = r.StoredMessage(
                new("msg"), "ses", "user", next(numbers), parts=(r.CompactionMarker(new("prt"), tail_from=kept),)
            )
            messages.append(marker)
            for end in draw(st.sampled_from([(), ("stop",), ("", "stop"), ("",), ("stop", "")])):
                closed = {"finish": end} if end else {"error": "it failed", "aborted": draw(st.booleans())}
                words = (r.StoredText(new("prt"), draw(WORDS)),)
                answer = r.StoredMessage(
                    new("msg"), "ses", "assistant", next(numbers), next(numbers), marker.id, parts=words
                )
                answer = replace(answer, summary=True, **closed)
                messages.append(answer)
    assert r.find_faults(tuple(messages)) == ()
    return tuple(messages)


def asked(messages: tuple[r.StoredMessage, ...]) -> tuple[Any, ...]:
    seen = message_history.visible_messages(messages)
    return to_model_messages(to_chat_messages(seen), part_lookup(seen))


def told(messages: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """What a request says, piece by piece: who, what kind, which words."""
    found: list[tuple[Any, ...]] = []
    for message in messages:
        match message:
            case ToolResult():
                found.append(("result", message.call_id, message.text, message.failed))
            case UserMessage(parts):
                found += [("user", part.text if isinstance(part, TextContent) else part.media_type) for part in parts]
            case AssistantMessage(parts):
                for part in parts:
                    if isinstance(part, ToolCall):
                        found.append(("call", part.id, part.name))
                    else:
                        found.append(("text" if isinstance(part, TextContent) else "reasoning", part.text))
    return found


def expected(messages: tuple[r.StoredMessage, ...]) -> list[tuple[Any, ...]]:
    """The same, read from stored messages."""
    found: list[tuple[Any, ...]] = []
    for message in messages:
        results = []
        for part in message.parts:
            match part:
                case r.StoredText(ignored=False) | r.StoredReasoning() if part.text:
                    kind = "text" if isinstance(part, r.StoredText) else "reasoning"
                    found.append(("user" if message.role == "user" else kind, escape_surrogates(part.text)))
                case r.Attachment():
                    found.append(("user", part.media_type if part.data else "[attached: a.png (image/png)]"))
                case r.CompactionMarker():
                    found.append(("user", COMPACTION_QUESTION))
                case r.StoredCall():
                    found.append(("call", part.call_id, part.tool))
                    text = escape_surrogates(tool_result_text(part)) or "This call has no result."
                    results.append(("result", part.call_id, text, part.status == "error"))
        found += results
    return found


def merged(pieces: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Neighbouring words of one kind as one: a text goes back in the pieces in which it came."""
    found: list[tuple[Any, ...]] = []
    for piece in pieces:
        if found and piece[0] in ("text", "reasoning") and found[-1][0] == piece[0]:
            found[-1] = (piece[0], found[-1][1] + piece[1])
        else:
            found.append(piece)
    return [piece for piece in found if piece[1]]


@given(transcripts())
def test_what_is_visible_is_sent_once_in_its_order_and_nothing_else(messages: tuple[r.StoredMessage, ...]) -> None:
    said = told(asked(messages))
    if said and said[0] == ("user", CONTINUATION):
        said = said[1:]
    said = [piece for piece in said if piece != ("text", UNANSWERED)]
    assert merged(said) == merged(expected(message_history.visible_messages(messages)))


@given(transcripts())
def test_every_server_takes_the_request(messages: tuple[r.StoredMessage, ...]) -> None:
    said = asked(messages)
    assert not said or order_fault(CompletionRequest((), said)) == ""
    assert not [after for before, after in itertools.pairwise(said) if is_unanswered(before, after)]


@given(transcripts())
def test_a_question_behind_the_messages_follows_words_of_the_model(messages: tuple[r.StoredMessage, ...]) -> None:
    """As the one for a summary does."""
    seen = message_history.visible_messages(messages)
    question = UserMessage((TextContent("Sum it up."),))
    said = to_model_messages(to_chat_messages(seen), part_lookup(seen), more=(question,))
    assert said[-1] == question and not [one for one in itertools.pairwise(said) if is_unanswered(*one)]


def is_unanswered(before: Any, after: Any) -> bool:
    """Whether words of the user follow others or results: Mistral's chat templates refuse that."""
    return isinstance(after, UserMessage) and not isinstance(before, AssistantMessage)


@given(transcripts(compactions=False), st.data())
def test_a_longer_conversation_begins_with_the_shorter_one(
    messages: tuple[r.StoredMessage, ...], data: st.DataObject
) -> None:
    before = asked(messages[: data.draw(st.integers(0, len(messages)))])
    assert asked(messages)[: len(before)] == before


@given(transcripts())
def test_what_is_visible_of_what_is_visible_is_the_same(messages: tuple[r.StoredMessage, ...]) -> None:
    seen = message_history.visible_messages(messages)
    assert message_history.visible_messages(seen) == seen
    assert asked(seen) == asked(messages)


@given(transcripts())
def test_the_window_has_one_summary_its_tail_and_what_came_later(messages: tuple[r.StoredMessage, ...]) -> None:
    seen, places = message_history.visible_messages(messages), {message.id: at for at, message in enumerate(messages)}
    done = [at for at, message in enumerate(messages) if message_history.is_summary(message)]
    assert len({message.id for message in seen}) == len(seen)
    assert not [one for one in seen if one.error and not one.aborted], "what failed is not sent"
    if not done:
        assert [one for one in seen if one.summary or message_history.compaction_marker(one)] == []
        order = [places[one.id] for one in seen]
        assert order == sorted(order)
        return
    marker, summary, *rest = seen
    assert summary == messages[done[-1]] and marker.id == summary.parent_id
    asked_at = places[marker.id]
    order = [places[one.id] for one in rest]
    assert order == sorted(order) and not [
        one for one in rest if one.summary or message_history.compaction_marker(one)
    ]
    kept = places.get(message_history.compaction_marker(marker).tail_from, asked_at)  # type: ignore[union-attr]
    assert all(at >= kept for at in order), "nothing of what the summary covers"
    lasting = [
        one
        for at, one in enumerate(messages)
        if at >= kept
        and not one.summary
        and message_history.compaction_marker(one) is None
        and not (one.error and not one.aborted)
    ]
    assert rest == lasting, "and nothing after it is left out"


@given(transcripts())
def test_what_was_pruned_or_is_ignored_is_not_sent(messages: tuple[r.StoredMessage, ...]) -> None:
    def changed(part: r.StoredPart) -> r.StoredPart:
        if isinstance(part, r.StoredCall) and part.compacted:
            return replace(part, output="PRUNED-OUTPUT")
        return (
            replace(part, text="IGNORED-TEXT", meta={}) if isinstance(part, r.StoredText) and part.ignored else part
        )

    messages = tuple(replace(one, parts=tuple(map(changed, one.parts))) for one in messages)
    assert "PRUNED-OUTPUT" not in str(asked(messages)) and "IGNORED-TEXT" not in str(asked(messages))


@given(transcripts())
def test_seals_go_with_their_own_words(messages: tuple[r.StoredMessage, ...]) -> None:
    seen = message_history.visible_messages(messages)
    wanted = []
    for part in (part for message in seen for part in message.parts):
        if (
            isinstance(part, r.StoredText | r.StoredReasoning)
            and not getattr(part, "ignored", False)
            and "seals" in part.meta
        ):
            at = 0
            for length, seal in part.meta["seals"]:
                wanted.append((part.text[at : at + length], seal))
                at += length
        elif isinstance(part, r.StoredCall):
            wanted.append((part.tool, part.metadata.get("seal", "")))
    pieces = [part for message in asked(messages) if isinstance(message, AssistantMessage) for part in message.parts]
    sent = [(getattr(part, "text", getattr(part, "name", "")), part.seal) for part in pieces]
    sealed = [pair for pair in wanted if pair[1]]
    lost_with_their_message = [
        message for message in seen if message.role == "assistant" and not expected((message,))
    ]
    if not lost_with_their_message:
        assert [pair for pair in sent if pair[1]] == sealed


PARTS = st.builds(
    ChatPart,
    st.sampled_from(["text", "reasoning", "tool", "file", "marker"]),
    WORDS,
    st.sampled_from(["", "prt_0001", "prt_0002", "other"]),
    st.booleans(),
    st.sampled_from(["", *NAMES]),
    st.sampled_from(["", "c1", "c2"]),
    ARGUMENTS,
    st.sampled_from(["", "completed", "error", "pending", "odd"]),
    st.sampled_from(["", "image/png"]),
    st.sampled_from([{}, {"seals": 3}, {"seals": [["x"]]}, {"seals": [[1, "s"]]}, {"path": None}]),
)
CHATS = st.lists(
    st.builds(ChatMessage, st.sampled_from(["user", "assistant"]), st.lists(PARTS, max_size=4)), max_size=6
)


@given(CHATS, transcripts())
def test_whatever_plugins_make_of_the_messages_is_a_request(
    chats: list[ChatMessage], messages: tuple[r.StoredMessage, ...]
) -> None:
    said = to_model_messages(chats, part_lookup(messages))
    assert not said or order_fault(CompletionRequest((), said)) == ""
    calls = [call for message in said if isinstance(message, AssistantMessage) for call in message.calls]
    assert len({call.id for call in calls}) == len(calls)
    assert all(isinstance(call.parse_arguments(), dict) for call in calls)
    msgspec.json.encode(CompletionRequest((), said))  # UTF-8 carries it


@given(transcripts())
def test_without_media_files_are_named(messages: tuple[r.StoredMessage, ...]) -> None:
    seen = message_history.visible_messages(messages)
    said = to_model_messages(to_chat_messages(seen), part_lookup(seen), media=False)
    assert not [part for one in said if isinstance(one, UserMessage) for part in one.parts if isinstance(part, Media)]
    assert len(told(said)) == len(told(asked(messages)))


def as_history(messages: tuple[r.StoredMessage, ...]) -> list[Message]:
    """The messages as memory and the HUD read them."""

    class Stored:
        def messages(self, session_id: str, *, after: str) -> tuple[r.StoredMessage, ...]:
            assert (session_id, after) == ("ses", "")
            return messages

    return list(SessionTranscript(cast(SessionStore, Stored())).messages("ses"))


@given(transcripts())
def test_messages_are_heard_whole_and_hearing_twice_changes_nothing(messages: tuple[r.StoredMessage, ...]) -> None:
    root = Path("/project")
    for message in as_history(messages):
        heard = to_ingest_message(message, root)
        assert to_ingest_message(heard, root) == heard
        assert replace(heard, parts=()) == replace(message, parts=())
        assert [part.id for part in heard.parts] == [part.id for part in message.parts]
        for one, two in zip(message.parts, heard.parts, strict=True):
            if hasattr(one, "input"):
                assert sorted(map(str, one.input.values())) == sorted(map(str, two.input.values()))  # type: ignore[attr-defined]
                assert (one.output, one.error, one.status) == (two.output, two.error, two.status)  # type: ignore[attr-defined]
            elif hasattr(one, "files"):
                assert two.files == tuple(f"/project/{name}" for name in one.files)  # type: ignore[attr-defined]
            else:
                assert one == two


@given(transcripts(), st.integers(0, 400))
def test_a_tail_is_the_end_of_the_messages_and_fits(messages: tuple[r.StoredMessage, ...], room: int) -> None:
    seen = message_history.visible_messages(messages)
    tail = message_history.recent_tail(seen, room)
    assert tail == seen[len(seen) - len(tail) :] and (not seen or len(tail) < len(seen))
    assert sum(map(message_history.message_size, tail)) <= room
    assert not [one for one in tail if one.summary or message_history.compaction_marker(one)]


def test_a_reasoning_without_words_keeps_its_seal() -> None:
    thought = r.StoredReasoning("p", "", {"seals": [[0, "s"]]})
    message = r.StoredMessage("m", "ses", "assistant", finish="stop", parent_id="u", parts=(thought,))
    said = to_model_messages(to_chat_messages([message]), part_lookup([message]))
    assert said[1] == AssistantMessage((Reasoning("", "s"),))


def test_a_call_that_is_there_twice_is_sent_once() -> None:
    part = ChatPart("tool", "one", tool="read", call_id="c1", status="completed")
    said = to_model_messages(
        [ChatMessage("user", [ChatPart("text", "go")]), *[ChatMessage("assistant", [part])] * 2], {}.get
    )
    assert said[1:] == (AssistantMessage((ToolCall("c1", "read"),)), ToolResult("c1", "read", "one"))
