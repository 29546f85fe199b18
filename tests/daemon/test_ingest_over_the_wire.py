"""What the daemon tells again and what not: the answers of its own tools, and frames that came too late."""

from __future__ import annotations

from typing import Any

import pytest
from in_process import frame, post

from hudkit.api import Hud
from hudkit.daemon.handlers import RequestHandlers
from hudkit.log import Origin
from hudkit.log.payloads import BlockerAdd, FrameUnsent

FIRST = {"anchor": "user:1:", "role": "user"}
CALLED = {"anchor": "assistant:2:c1", "role": "tool"}
NEXT = {"anchor": "assistant:3:c2", "role": "tool"}
TURN = {"anchor": "user:4:", "role": "user"}


def noted(answering: RequestHandlers, content: str, **more: Any) -> str:
    args = {"tool": "notes.add", "args": {"content": content}}
    return str(post(answering, "/v1/tool", router="hud", arguments=args, **more)["text"])


def told(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Where each delta is, and what it says behind its tag."""
    assert all(delta["text"].startswith(f"[hud {answer['tag']}] ") for delta in answer["deltas"])
    return [(delta["anchor"], delta["text"].partition("] ")[2]) for delta in answer["deltas"]]


def blocker(hud: Hud, what: str) -> None:
    hud.session(hud.sessions()[0]).append(BlockerAdd(what), origin=Origin.HOST)


def test_an_answer_is_told_by_its_own_words_until_the_turn_is_over(answering: RequestHandlers) -> None:
    frame(answering, FIRST)
    assert noted(answering, "mine") == "Added note n1."
    assert [told(frame(answering, FIRST, *more)) for more in ([CALLED], [CALLED, NEXT], [CALLED, NEXT, TURN])] == [
        [],
        [],
        [("user:4:", "note: mine\n")],
    ]


@pytest.mark.parametrize(
    "transcript",
    [
        [FIRST, TURN],
        [FIRST, CALLED | {"role": "cleared"}, TURN],
        [FIRST, CALLED | {"anchor": "assistant:9:c9"}, TURN],
    ],
    ids=["reverted", "cleared", "replaced"],
)
def test_an_answer_that_is_gone_is_told_again_once(
    answering: RequestHandlers, transcript: list[dict[str, Any]]
) -> None:
    frame(answering, FIRST)
    noted(answering, "mine")
    frame(answering, FIRST, CALLED)
    assert told(frame(answering, *transcript)) == [("user:4:", "note: mine\n")]
    assert told(frame(answering, *transcript, NEXT)) == [("user:4:", "note: mine\n")]


def test_what_the_host_says_is_reverted_is_told_no_more_until_it_is_back(
    answering: RequestHandlers, hud: Hud
) -> None:
    for whole, before in ((False, [FIRST]), (True, [])):
        frame(answering, FIRST, whole=True)
        noted(answering, "mine")
        frame(answering, FIRST, CALLED, whole=True)
        notes = hud.session(hud.sessions()[0])
        count = len(notes.state.notes)
        assert told(frame(answering, *before, TURN, whole=whole)) == [] and len(notes.state.notes) < count
        frame(answering, FIRST, CALLED, whole=True)
        assert len(notes.state.notes) == count


def test_a_response_that_failed_is_not_reverted(answering: RequestHandlers, hud: Hud) -> None:
    frame(answering, FIRST, whole=True)
    noted(answering, "mine")
    frame(answering, FIRST, CALLED, whole=True)
    frame(answering, FIRST, TURN, whole=True, unsent=[CALLED["anchor"]])
    frame(answering, FIRST, CALLED | {"role": "cleared"}, TURN, whole=False)
    assert len(hud.session(hud.sessions()[0]).state.notes) == 1


def test_what_one_session_was_answered_is_no_news_for_it_alone(answering: RequestHandlers) -> None:
    for session in ("ses_1", "ses_2"):
        frame(answering, FIRST, session=session)
        noted(answering, f"of {session}", session=session)
    for session in ("ses_1", "ses_2"):
        assert told(frame(answering, FIRST, CALLED, session=session)) == []
        assert told(frame(answering, FIRST, session=session)) == [("user:1:", f"note: of {session}\n")]


def test_a_frame_that_was_not_used_is_told_at_the_next_place(answering: RequestHandlers, hud: Hud) -> None:
    used = frame(answering, FIRST)
    blocker(hud, "No key yet")
    late = frame(answering, FIRST, CALLED, have=used["mark"])
    assert told(late) == [("assistant:2:c1", "blocker: No key yet\n")]
    assert late["mark"] != used["mark"]
    after = frame(answering, FIRST, CALLED, NEXT, have=used["mark"])
    assert told(after) == [("assistant:3:c2", "blocker: No key yet\n")]
    blocker(hud, "No disk left")
    last = frame(answering, FIRST, CALLED, NEXT, TURN, have=after["mark"])
    assert told(last) == [*told(after), ("user:4:", "blocker: No disk left\n")]
    events = [event.payload for event in hud.session(hud.sessions()[0]).events()]
    assert [one for one in events if isinstance(one, FrameUnsent)] == [FrameUnsent(1, 0)]


def test_without_a_mark_every_frame_was_used(answering: RequestHandlers, hud: Hud) -> None:
    frame(answering, FIRST)
    blocker(hud, "No key yet")
    first = frame(answering, FIRST, CALLED)
    assert told(frame(answering, FIRST, CALLED, NEXT)) == told(first) == [("assistant:2:c1", "blocker: No key yet\n")]


def test_a_compaction_is_asked_for_with_all_that_is_live(answering: RequestHandlers, hud: Hud) -> None:
    """Also with what stands in no frame, because an answer told it."""
    frame(answering, FIRST)
    noted(answering, "mine")
    blocker(hud, "No key yet")
    frame(answering, FIRST, CALLED)
    noted(answering, "newer")
    prompt = post(answering, "/v1/compacting", used=39_000)["prompt"]
    shown = prompt.partition("<hud>")[2].partition("</hud>")[0]
    assert [words for words in ("mine", "No key yet", "newer") if words not in shown] == []
