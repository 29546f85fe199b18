"""E: questions, parsing, and growth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from abuse_oracles import check_frame, check_log, check_refusal

from campaigns import Campaign
from hudkit import Hud
from hudkit.daemon.handlers import RequestHandlers
from hudkit.log import Event
from hudkit.log.payloads import SectionReplace
from hudkit.log.stores import MemoryLog

GROWTH = Campaign("growth", quick=20_000, full=100_000)
"""Notes, and as many files."""


@pytest.fixture
def hud(tmp_path: Path) -> Iterator[Hud]:
    with Hud.open(tmp_path / "state" / "hudkit.db") as hud:
        yield hud
        check_log(hud)


QUESTIONS: list[dict[str, Any]] = [
    {"tool": "history", "args": {"$.x') OR 1=1 --": 1}},
    {"tool": "history", "args": {"sort": "seq;drop table events"}},
    {"tool": "history", "args": {"limit": -1}},
    {"tool": "history", "args": {"limit": 10**18}},
    {"tool": "history", "args": {"limit": 10**40}},
    {"tool": "history", "args": {"before": "1; drop table events"}},
    {"tool": "notes.list", "args": {"limit": 10**18}},
    {"tool": "notes.list", "args": {"skip": -1}},
    {"tool": "notes.list", "args": {"order_by": "1 --"}},
    {"tool": "search", "args": {"query": "x", "role": "' OR 1=1 --"}},
    {"tool": "search", "args": {"query": "x", "limit": -1}},
    {"tool": "search", "args": {"query": "x", "where": "1=1"}},
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_what_is_no_argument_or_out_of_its_range_is_refused(hud: Hud, question: dict[str, Any]) -> None:
    """E2"""
    session = hud.session("ses_1")
    session.call("notes.add", {"content": "kept"})
    text = session.tool("memory", question)
    check_refusal(text)
    assert "Example: " in text
    assert [note.content for note in session.state.notes] == ["kept"] and session.state.seq == 1


HUGE_NUMBERS: list[dict[str, Any]] = [
    {"tool": "notes.list", "args": {"skip": 10**18}},
    {"tool": "history", "args": {"before": -(10**18)}},
    {"tool": "search", "args": {"query": "' OR 1=1 --"}},
    {"tool": "search", "args": {"query": "kept') UNION SELECT * FROM events --"}},
]


@pytest.mark.parametrize("question", HUGE_NUMBERS, ids=str)
def test_a_value_is_only_ever_a_value(hud: Hud, question: dict[str, Any]) -> None:
    """E2"""
    session = hud.session("ses_1")
    session.call("notes.add", {"content": "kept"})
    assert "kept" not in session.tool("memory", question).replace("kept')", "")
    assert session.state.seq == 1


def test_a_note_of_more_than_four_kibibytes_is_refused_and_not_cut(hud: Hud) -> None:
    """E5"""
    session = hud.session("ses_1")
    for size in (4_097, 10_000_000):
        text = session.tool("hud", {"tool": "notes.add", "args": {"content": "x" * size}})
        assert f"{size:,} bytes, the limit is 4,096" in text and len(text) < 400
    assert session.state.seq == 0


@GROWTH
@pytest.mark.slow
def test_many_notes_and_files_fit_the_budget(hud: Hud) -> None:
    """E5"""
    session = hud.session("ses_1")
    session.append(SectionReplace("notes", tuple(f"note {n}" for n in range(GROWTH.rounds))))
    session.append(SectionReplace("files", tuple(f"src/file_{n}.py" for n in range(GROWTH.rounds))))
    frame = check_frame(session)
    assert frame.tokens <= 1_500
    assert len(session.tool("hud", {"tool": "notes.list"})) < 10_000


class CountingLog(MemoryLog):
    """A log that counts the events that are read of it."""

    read_events = 0

    def read(self, session_id: str, **bounds: Any) -> Iterator[Event]:
        for event in super().read(session_id, **bounds):
            self.read_events += 1
            yield event


@pytest.mark.slow
def test_a_long_log_is_read_from_its_last_snapshot_on() -> None:
    """E5"""
    log = CountingLog()
    session = Hud(log).session("ses_1")
    for n in range(600):
        session.call("notes.update" if n else "notes.add", {"content": f"note {n}"} | ({"id": "n1"} if n else {}))
        if n % 50 == 0:
            session.frame(used_tokens=n, limit_tokens=200_000)
    log.read_events = 0
    again = Hud(log).session("ses_1")
    assert again.state.notes[0].content == "note 599"
    again.frame(used_tokens=1_000, limit_tokens=200_000)
    assert log.read_events < 200, "not all of 600 and more"


@pytest.mark.slow
def test_an_agent_that_loops_is_refused_and_others_are_not(hud: Hud) -> None:
    """E6"""
    now = [1_000.0]
    daemon = RequestHandlers(hud, lambda: now[0])

    def note(session: str, content: str) -> tuple[int, dict[str, Any]]:
        arguments = {"tool": "notes.add", "args": {"content": content}}
        ask = {"host": "opencode", "session": session, "directory": "", "router": "hud", "arguments": arguments}
        status, body = daemon.answer("/v1/tool", msgspec.json.encode(ask))
        return status, msgspec.json.decode(body)

    answers = [note("ses_loop", "again") for _ in range(1_200)]
    statuses = [status for status, _ in answers]
    assert statuses[:1_000] == [200] * 1_000 and set(statuses[1_000:]) == {429}
    check_refusal(answers[-1][1]["error"]["message"])
    assert note("ses_other", "mine")[0] == 200, "another session has a share of its own"
    now[0] += 60
    assert note("ses_loop", "again")[0] == 200, "after a minute it may call again"
    looping = hud.session("ses_loop", host="opencode")
    assert looping.state.seq == 1, "the same note is one event, however often it is sent"
