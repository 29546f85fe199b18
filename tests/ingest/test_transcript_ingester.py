"""Uploads of recorded conversations in whatever portions, with repeats and restarts: each fact once."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.api import Hud, TranscriptIngester
from hudkit.cli.demo import unpack_orchard
from hudkit.errors import StoreFull
from hudkit.hud.always_file import AlwaysItem, add_always
from hudkit.ingest import IngestBatch, KnownFacts, derive_facts, read_messages
from hudkit.ingest.event_ids import event_id, message_time
from hudkit.log.payloads import SessionStart
from hudkit.paths import SectionPaths
from hudkit.sections.state import HudState
from hudkit.transcripts import OpenCodeTranscript
from opencode_messages import response, tool, user

pytestmark = pytest.mark.slow

HERE = "/work"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_orchard(tmp_path_factory.mktemp("recorded"))


def live_messages(path: Path, session_id: str) -> list[dict[str, Any]]:
    """A session's messages as the host hands them to plugins."""
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session_id,)
        )
        return [
            {
                "info": {**json.loads(data), "id": id, "sessionID": session_id},
                "parts": [
                    {**json.loads(part), "id": key, "messageID": id}
                    for key, part in db.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (id,))
                ],
            }
            for id, data in rows.fetchall()
        ]


def batch(raw: list[dict[str, Any]], **facts: str) -> IngestBatch:
    """What the daemon makes of the messages of an upload."""
    return IngestBatch(messages=read_messages(raw, "s"), **facts)  # type: ignore[arg-type]


def told(hud: Hud, name: str) -> list[Any]:
    return [event.payload for event in hud.session(name).events()]


def test_live_messages_read_as_stored_ones(recorded: Path) -> None:
    transcript = OpenCodeTranscript.open(recorded)
    for row in transcript.sessions():
        live = read_messages(live_messages(recorded, row.id), row.id)
        assert list(live) == list(transcript.messages(row.id))


def test_one_upload_tells_what_a_replay_tells(recorded: Path, hud: Hud) -> None:
    transcript = OpenCodeTranscript.open(recorded)
    for row in transcript.sessions():
        known, facts = KnownFacts(), []
        for message in transcript.messages(row.id):
            known, more = derive_facts(row, message, known)
            facts += [fact.payload for fact in more]
        session = hud.session(row.id)
        upload = batch(live_messages(recorded, row.id), title=row.title, agent=row.agent, parent=row.parent_id)
        TranscriptIngester(session, row.id, row.directory).record(upload)
        heard = told(hud, row.id)

        def of(payloads: list[Any]) -> list[Any]:
            return [p for p in payloads if not (isinstance(p, SessionStart) and not p.request)]

        if [link for link in session.state.session.links if link.relation == "fork"]:
            continue  # it took up another session's events
        assert of(heard) == of(list(map(sealed, facts))), row.id
        assert len(heard) > 1


def sealed(payload: Any) -> Any:
    from hudkit.log.codec import encode_payload

    return encode_payload(payload).payload


def test_the_recorded_fork_is_recognised(recorded: Path, hud: Hud) -> None:
    rows = OpenCodeTranscript.open(recorded).sessions()
    for row in rows:
        session = hud.session(row.id, project=row.directory, host="opencode")
        TranscriptIngester(session, row.id, row.directory).record(
            batch(live_messages(recorded, row.id), title=row.title)
        )
    links = {
        row.id: [
            (link.relation, link.session_id)
            for link in hud.session(row.id, project=row.directory, host="opencode").state.session.links
            if link.relation == "fork"
        ]
        for row in rows
    }
    forks = {id: found for id, found in links.items() if found}
    assert len(forks) == 1
    ((fork, [(_, source)]),) = forks.items()
    calls = [
        {part.get("callID") for each in live_messages(recorded, id) for part in each["parts"] if part.get("callID")}
        for id in (fork, source)
    ]
    assert calls[0] & calls[1]


def test_a_fork_goes_on_from_its_source_and_takes_up_nothing_that_holds_in_all_sessions(
    recorded: Path, tmp_path: Path
) -> None:
    rows = OpenCodeTranscript.open(recorded).sessions()
    always = tmp_path / "always.toml"
    places = SectionPaths(tmp_path / "sections", tmp_path / "trusted", always)
    forks: list[tuple[str, HudState]] = []
    for hud in (Hud.in_memory(), Hud.in_memory(sections=places)):
        for row in rows:
            if forks and row.id == forks[0][0]:
                # It holds from here on: the source, which has begun, does without.
                add_always(always, AlwaysItem("notes", "Dates are UTC"))
            session = hud.session(row.id, project=row.directory, host="opencode")
            upload = batch(live_messages(recorded, row.id), title=row.title)
            TranscriptIngester(session, row.id, row.directory).record(upload)
            if any(link.relation == "fork" for link in session.state.session.links):
                session.frame(used_tokens=1_000, limit_tokens=200_000)
                forks.append((row.id, session.state))
    (plain, beside) = (state for _, state in forks)
    for section in ("constraints", "preferences", "decisions", "notes", "errors", "files"):
        ids = [[(item.id, item.words) for item in getattr(state, section)] for state in (plain, beside)]
        assert ids[0] == ids[1]
    assert "Dates are UTC" in hud.session("new").frame(limit_tokens=200_000).text


@given(st.data())
def test_portions_repeats_and_restarts_tell_each_fact_once(data: st.DataObject) -> None:
    messages = DAY
    whole, pieces = Hud.in_memory(), Hud.in_memory()
    TranscriptIngester(whole.session("s"), "s", HERE).record(batch(messages))
    session = pieces.session("s")
    live = TranscriptIngester(session, "s", HERE)
    at = 0
    while at < len(messages):
        size = data.draw(st.integers(1, 4), label="size")
        back = data.draw(st.integers(0, at), label="back")
        live.record(batch(messages[back : at + size]))
        at += size
        if data.draw(st.booleans(), label="restart"):
            live = TranscriptIngester(session, "s", HERE)
    live.record(batch(messages))
    assert facts_of(pieces) == facts_of(whole)


def facts_of(hud: Hud) -> list[Any]:
    """What was told, but for the model and agent, which are told once an upload."""
    return [one for one in told(hud, "s") if not (isinstance(one, SessionStart) and not one.request)]


def test_a_store_that_refuses_leaves_everything_to_be_told_again(hud: Hud, monkeypatch: pytest.MonkeyPatch) -> None:
    session = hud.session("s")
    live = TranscriptIngester(session, "s", HERE)
    append = hud.log.append

    def full(*given: Any, **named: Any) -> Any:
        raise StoreFull("no space left")

    monkeypatch.setattr(hud.log, "append", full)
    with pytest.raises(StoreFull):
        live.record(batch(DAY))
    monkeypatch.setattr(hud.log, "append", append)
    recorded = live.record(batch(DAY))
    assert len(recorded) == len(told(hud, "s")) > 5
    assert live.record(batch(DAY)) == ()


def test_two_writers_tell_it_once(hud: Hud) -> None:
    lives = [TranscriptIngester(hud.session("s"), "s", HERE) for _ in range(2)]
    for n in range(1, len(DAY) + 1):
        for live in lives:
            live.record(batch(DAY[:n]))
    again = Hud.in_memory()
    TranscriptIngester(again.session("s"), "s", HERE).record(batch(DAY))
    assert facts_of(hud) == facts_of(again)


def test_what_is_no_message_is_passed_over(hud: Hud) -> None:
    live = TranscriptIngester(hud.session("s"), "s", HERE)
    wrong: list[Any] = [
        {},
        {"info": 3},
        {"info": {"role": "system"}},
        {"info": {"role": "user", "time": []}, "parts": 4},
    ]
    wrong.append({"info": {"role": "assistant", "time": {"created": "x"}}, "parts": [None, {"type": 3}, {"id": 9}]})
    live.record(batch([*wrong, user(1)]))
    assert len(read_messages(wrong, "s")) == len(wrong) - 3
    assert hud.session("s").state.session.request == "Do it"


def test_event_ids_tell_their_messages_time() -> None:
    (message,) = read_messages([user(1)], "s")
    one, other = (event_id(message, "user", "file.open", n) for n in (0, 1))
    assert one != other and message_time(one) == message_time(other) == message.created
    assert message_time("01a00000-0000-7000-8000-000000000001") is None
    (moved,) = read_messages([{**user(1), "info": {**user(1)["info"], "id": "msg_of_a_fork"}}], "other")
    assert event_id(moved, "user", "file.open", 0) == one


DAY = [
    user(1, "Make the tests pass"),
    response(2, tool("c1", "read", {"filePath": f"{HERE}/a.py"}), tool("c2", "read", {"filePath": f"{HERE}/b.py"})),
    response(3, tool("c3", "bash", {"command": "pytest"}, output="1 failed", metadata={"exit": 1})),
    response(4, tool("c4", "edit", {"filePath": f"{HERE}/a.py"}), finish="tool-calls"),
    response(5, tool("c5", "bash", {"command": "pytest"}, output="1 passed", metadata={"exit": 0})),
    response(6, tool("c6", "todowrite", {"todos": [{"content": "docs", "status": "pending"}]})),
    response(7, tool("c7", "bash", {"command": "pytest"}, output="1 failed", metadata={"exit": 1})),
    response(8, finish="stop"),
    user(9, "Now the docs"),
    response(10, tool("c8", "todowrite", {"todos": [{"content": "docs", "status": "completed"}]})),
    response(11, tool("c9", "read", {"filePath": f"{HERE}/gone.py"}, status="error", error="File not found")),
    user(12, "Make the tests pass"),
]
