"""Rules and decisions of live uploads: told once in every process, removed for good, replaced in order."""

from __future__ import annotations

from typing import Any

import pytest

from hudkit.api import Hud, TranscriptIngester
from hudkit.ingest import IngestBatch, read_messages
from hudkit.log import Origin
from opencode_messages import HERE, bash, response, tool, user


def batch(raw: list[dict[str, Any]]) -> IngestBatch:
    """What the daemon makes of the messages of an upload."""
    return IngestBatch(messages=read_messages(raw, "s"))


def said(n: int, text: str) -> dict[str, Any]:
    """A finished response of plain text."""
    return response(n, {"id": f"prt_t{n}", "type": "text", "text": text}, finish="stop")


TALK = [
    user(1, "Never push to main, and always use tabs. Let's go with Redis."),
    said(2, "Going with Redis. You said never push to main."),
    user(3, "hm, scratch that, let's use Valkey instead of Redis"),
    response(4, bash("c1", "pytest -q", 1, "1 failed, 2 passed in 0.1s")),
    response(5, tool("c2", "write", {"filePath": f"{HERE}/PLAN.md", "content": "- [x] a\n- [ ] b\n"})),
    response(6, bash("c3", 'git commit -m "Use Valkey"', 0, "[main 4fe19c2] Use Valkey\n 1 file changed")),
    user(7, "you may push to main now"),
    said(8, "Pushing."),
]


def texts(session: Any) -> tuple[list[str], list[str]]:
    state = session.state
    return [rule.text for rule in state.constraints], [one.summary for one in state.decisions]


@pytest.mark.slow
def test_a_talk_is_heard_once_in_any_portions_and_processes() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        for upto in range(1, len(TALK) + 1):  # a new process for each message, which is sent all that was before
            TranscriptIngester(session, "s", HERE).record(batch(TALK[:upto]))
        assert texts(session) == (["always use tabs"], ["let's use Valkey instead of Redis"])
        progress = session.state.progress
        assert [(one.passed, one.failed) for one in progress.suites] == [(2, 1)]
        assert [(one.sha, one.subject) for one in progress.recent_commits] == [("4fe19c2", "Use Valkey")]
        assert [(one.path, one.done, len(one.points)) for one in progress.plans] == [("PLAN.md", 1, 2)]
        kinds = [event.type for event in session.events() if event.type != "session.start"]
        at_once = hud.session("t")
        TranscriptIngester(at_once, "s", HERE).record(batch(TALK))
        told = [event.type for event in at_once.events() if event.type != "session.start"]
        assert sorted(told) == sorted(kinds)
        assert TranscriptIngester(session, "s", HERE).record(batch(TALK)) == ()


def test_what_was_removed_is_not_told_again() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        TranscriptIngester(session, "s", HERE).record(batch(TALK[:1]))
        assert texts(session) == (["Never push to main", "always use tabs"], ["Let's go with Redis"])
        session.call("constraints.remove", {"id": "c1"})
        session.call("decisions.remove", {"id": "d1"})
        assert TranscriptIngester(session, "s", HERE).record(batch(TALK[:1])) == ()
        TranscriptIngester(session, "s", HERE).record(
            batch([*TALK[:1], user(9, "Never push to main. Let's go with Redis.")])
        )
        assert texts(session) == (["always use tabs"], [])


def test_origins_are_those_of_the_speakers() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        TranscriptIngester(session, "s", HERE).record(
            batch([user(1, "never push"), said(2, "I'll use tabs instead of spaces.")])
        )
        rule, decision = session.state.constraints[0], session.state.decisions[0]
        assert (rule.mark.origin, rule.derived) == (Origin.USER, True)
        assert (decision.mark.origin, decision.derived) == (Origin.AGENT, True)


def test_a_summary_and_synthetic_words_state_nothing() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        host = user(1, "never push")
        host["parts"][0]["synthetic"] = True
        summary = said(2, "Constraints: never push. Decision: use Redis.")
        summary["info"]["summary"] = True
        TranscriptIngester(session, "s", HERE).record(batch([host, summary]))
        assert texts(session) == ([], [])
