"""Each call's record says what of its transcript had been sent before."""

from __future__ import annotations

from in_process import frame, post

from hudkit.api import Hud
from hudkit.daemon.handlers import RequestHandlers
from hudkit.log.payloads import ContextSnapshot, Divergence, ResponseTokens, SentTranscript
from opencode_messages import response, user

ASK = {"anchor": "user:1:", "role": "user", "size": 40}
READ = {"anchor": "assistant:2:c1", "role": "tool", "size": 5_000}
EDIT = {"anchor": "assistant:3:c2", "role": "tool", "size": 700}
CLEARED = {"anchor": "assistant:2:c1", "role": "cleared", "size": 48}


def records(hud: Hud) -> list[ContextSnapshot]:
    """Of the first session."""
    found = (event.payload for event in hud.session(hud.sessions()[0]).events())
    return [payload for payload in found if isinstance(payload, ContextSnapshot)]


def test_a_call_is_compared_with_the_one_before(answering: RequestHandlers, hud: Hud) -> None:
    frame(answering, ASK)
    frame(answering, ASK, READ)
    frame(answering, ASK, READ, EDIT)
    frame(answering, ASK, CLEARED, EDIT)
    frame(answering, ASK, CLEARED, EDIT)
    assert [one.sent for one in records(hud)] == [
        SentTranscript(1, 40, 40),
        SentTranscript(2, 5_040, 5_000, 40),
        SentTranscript(3, 5_740, 700, 5_040),
        SentTranscript(3, 788, 700, 40, Divergence("assistant:2:c1", "cleared", "changed", 1, 5_000, 48, 700)),
    ], "the last one was the same call again"


def test_sessions_are_compared_with_themselves(answering: RequestHandlers, hud: Hud) -> None:
    frame(answering, ASK, READ)
    post(answering, "/v1/frame", session="ses_2", transcript=[ASK])
    frame(answering, ASK, READ, EDIT)
    assert [one.sent for one in records(hud)] == [
        SentTranscript(2, 5_040, 5_000),
        SentTranscript(3, 5_740, 700, 5_040),
    ]


def test_a_cleared_message_carries_nothing(answering: RequestHandlers) -> None:
    frame(answering, ASK)
    post(answering, "/v1/events", todos=[{"content": "Port it"}])
    post(answering, "/v1/events", messages=[user(2, "And the other one")])
    given = frame(answering, ASK, READ, ASK | {"anchor": "user:4:"})["deltas"]
    assert [one["anchor"] for one in given] == ["user:4:"]
    again = frame(answering, ASK, READ, ASK | {"anchor": "user:4:", "role": "cleared", "size": 4}, EDIT, ASK)
    assert "user:4:" not in {one["anchor"] for one in again["deltas"]}
    assert [one["text"].split("\n")[1:] for one in again["deltas"]] == [one["text"].split("\n")[1:] for one in given]


def test_what_a_response_cost_is_recorded_with_it(answering: RequestHandlers, hud: Hud) -> None:
    tokens = {"total": 1_000, "input": 100, "output": 20, "cache": {"read": 800, "write": 80}}
    frame(answering, ASK, messages=[user(0)])
    silent = response(3, finish="stop", tokens={"total": 70, "input": 0, "output": 70})
    post(answering, "/v1/events", messages=[response(2, finish="stop", tokens=tokens), silent])
    assert [one.spent for one in records(hud)] == [None, ResponseTokens(100, 800, 80, 20), None]
