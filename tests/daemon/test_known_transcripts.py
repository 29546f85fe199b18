"""A question tells what changed since one that was answered; what does not fit is asked for as a whole."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import post

from hudkit.api import Hud
from hudkit.daemon.handlers import RequestHandlers
from hudkit.daemon.known_transcripts import MAX_KNOWN, KnownTranscript, KnownTranscripts
from hudkit.hosts.wire import (
    FrameRequestBody,
    RequestOverhead,
    ToolOutputSize,
    TranscriptChange,
    TranscriptEntry,
    TranscriptUnknown,
    UnsentChange,
)


def entry(name: str) -> TranscriptEntry:
    return TranscriptEntry(anchor=name, role="user")


def whole(order: int, names: str, unsent: str = "") -> FrameRequestBody:
    entries = tuple(map(entry, names))
    return FrameRequestBody(
        host="opencode", session="s", directory="/", order=order, transcript=entries, unsent=tuple(unsent)
    )


def since(order: int, before: int, *changes: tuple[int, int, str], unsent: tuple[int, int, str] | None = None) -> Any:
    told = tuple(
        TranscriptChange(index=index, removed=out, entries=tuple(map(entry, names))) for index, out, names in changes
    )
    other = () if unsent is None else (UnsentChange(index=unsent[0], removed=unsent[1], anchors=tuple(unsent[2])),)
    return FrameRequestBody(
        host="opencode", session="s", directory="/", order=order, since=before, changes=told, unsent_changes=other
    )


def names(known: Any) -> tuple[str, str]:
    return "".join(one.anchor for one in known.entries), "".join(known.unsent)


def test_changes_are_made_in_order() -> None:
    known = KnownTranscripts()
    assert names(known.resolve(whole(1, "abcd", "x"))) == ("abcd", "x")
    assert names(known.resolve(since(2, 1, (1, 1, "B"), (4, 0, "e")))) == ("aBcde", "x")
    assert names(known.resolve(since(3, 2, (2, 3, "f"), unsent=(0, 1, "yz")))) == ("aBf", "yz")
    assert names(known.resolve(since(4, 3))) == ("aBf", "yz")


def test_an_answer_that_came_too_late_is_no_loss() -> None:
    known = KnownTranscripts()
    known.resolve(whole(1, "ab"))
    known.resolve(since(2, 1, (2, 0, "c")))  # the host did not get the answer
    assert names(known.resolve(since(3, 1, (2, 0, "cd")))) == ("abcd", "")
    assert names(known.resolve(since(4, 3, (4, 0, "e")))) == ("abcde", "")
    with pytest.raises(TranscriptUnknown):  # the host has named a later one since
        known.resolve(since(5, 1))


@pytest.mark.parametrize("change", [(3, 0, "x"), (0, 3, ""), (2, 1, "x"), (2**50, 0, "x")])
def test_what_does_not_fit_is_refused_and_changes_nothing(change: tuple[int, int, str]) -> None:
    known = KnownTranscripts()
    known.resolve(whole(1, "ab"))
    with pytest.raises(TranscriptUnknown):
        known.resolve(since(2, 1, change))
    assert names(known.resolve(since(3, 1))) == ("ab", "")


def test_only_what_may_still_be_named_is_remembered() -> None:
    known = KnownTranscripts()
    for order in range(1, MAX_KNOWN + 3):
        known.resolve(whole(order, "a"))
    with pytest.raises(TranscriptUnknown):
        known.resolve(since(100, 2))
    assert names(known.resolve(since(101, 3))) == ("a", "")


@given(st.lists(st.text("abcde", max_size=6), min_size=2, max_size=6))
def test_any_transcript_can_follow_any_other(texts: list[str]) -> None:
    known = KnownTranscripts()
    known.resolve(whole(0, texts[0], texts[0]))
    for order, (before, now) in enumerate(pairwise(texts), 1):
        shared = next((n for n, pair in enumerate(zip(before, now, strict=False)) if pair[0] != pair[1]), None)
        at = min(len(before), len(now)) if shared is None else shared
        change = (at, len(before) - at, now[at:])
        assert names(known.resolve(since(order, order - 1, change, unsent=change))) == (now, now)


ENTRIES = st.builds(
    TranscriptEntry,
    anchor=st.sampled_from([f"user:{n}:" for n in range(9)]),
    role=st.sampled_from(["user", "assistant", "tool", "cleared"]),
    size=st.integers(0, 9),
    outputs=st.lists(
        st.builds(
            ToolOutputSize,
            call=st.sampled_from("abc"),
            tool=st.sampled_from(["read", "bash"]),
            size=st.integers(0, 9),
        ),
        max_size=2,
    ).map(tuple),
)


@pytest.mark.slow
@given(st.lists(st.lists(ENTRIES, max_size=5, unique_by=lambda entry: entry.anchor), min_size=2, max_size=5))
def test_what_is_taken_over_is_what_would_be_worked_out_anew(days: list[list[TranscriptEntry]]) -> None:
    fixed = RequestOverhead(system=1, tools=2)
    before: KnownTranscript | None = None
    for day in days:
        entries = tuple(day)
        earlier = before.entries if before is not None else ()
        shared = next((n for n, (a, b) in enumerate(zip(earlier, entries, strict=False)) if a != b), None)
        shared = min(len(earlier), len(entries)) if shared is None else shared
        now, anew = KnownTranscript(entries, (), before, shared), KnownTranscript(entries)
        assert (now.order, now.position, now.outputs()) == (anew.order, anew.position, anew.outputs())
        assert now.parts(fixed) == anew.parts(fixed)
        for stubs in ({"a": 1}, {}, {"a": 1, "b": 2}):
            assert now.segments(stubs) == anew.segments(stubs)
        before = now


def test_a_daemon_that_was_started_anew_asks_for_all_of_it(hud: Hud) -> None:
    entries = [{"anchor": "user:1:", "role": "user"}, {"anchor": "assistant:2:c1", "role": "tool"}]
    post(RequestHandlers(hud), "/v1/frame", transcript=entries[:1], order=1)
    anew = RequestHandlers(hud)
    change = {"index": 1, "removed": 0, "entries": entries[1:]}
    body = {"host": "opencode", "session": "ses_1", "directory": "/tmp", "order": 2, "since": 1, "changes": [change]}
    status, said = anew.answer("/v1/frame", msgspec.json.encode(body))
    assert (status, msgspec.json.decode(said)["error"]["code"]) == (409, "transcript")
    # The same question again, whole: it was not taken for answered.
    assert post(anew, "/v1/frame", transcript=entries, order=2)["base"]
    assert post(anew, "/v1/frame", order=3, since=2)["mark"]
    session = hud.session(hud.sessions()[0])
    calls = [event.payload.call for event in session.events() if getattr(event.payload, "call", None)]
    assert calls[-1].anchor == "assistant:2:c1"
