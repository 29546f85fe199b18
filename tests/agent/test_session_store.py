"""What the sessions' database keeps, and what it refuses."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hudkit.agent.hooks import Messages
from hudkit.agent.hooks.plugin_runner import validated_copy
from hudkit.agent.records import (
    Attachment,
    ChangedFiles,
    CompactionMarker,
    FileDiff,
    ReportedUsage,
    StoredCall,
    StoredMessage,
    StoredPart,
    StoredProject,
    StoredReasoning,
    StoredSession,
    StoredText,
    Todo,
    find_faults,
)
from hudkit.agent.request_builder import from_chat_parts, to_chat_messages
from hudkit.agent.session_store import SessionStore
from hudkit.agent.session_transcript import SessionTranscript
from hudkit.api import Hud
from hudkit.errors import SessionError, StoreDamaged, StoreReadOnly, StoreTooNew, TranscriptError
from hudkit.transcripts import Transcript, window_at
from hudkit.transcripts.search.past_sessions import PastSessions


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    with SessionStore.open(tmp_path / "data" / "sessions.db") as opened:
        opened.project(StoredProject("p1", "/work/p", 1))
        opened.create(StoredSession("ses", "p1", directory="/work/p/src", created=10))
        yield opened


def user(id: str, *parts: StoredPart, text: str = "do it") -> StoredMessage:
    return StoredMessage(id, "ses", "user", 11, parts=parts or (StoredText(f"{id}-t", text),))


def answer(id: str, parent: str, *parts: StoredPart, **fields: object) -> StoredMessage:
    return replace(StoredMessage(id, "ses", "assistant", 12, parent_id=parent, parts=parts), **fields)


def test_everything_comes_back_as_it_was_put(store: SessionStore, tmp_path: Path) -> None:
    asked = user("u1", StoredText("t1", "look"), Attachment("f1", "/work/p/a.png", "image/png", b"\x89P\xff"))
    call = StoredCall("c1", "bash", "call1", "running", {"command": "ls"}, started=13)
    said = answer("a1", "u1", StoredReasoning("r1", "hm", {"signature": "x"}), StoredText("t2", "so"), call)
    store.put(asked)
    store.put(said)
    done = replace(call, status="completed", output="a\nb", title="ls", ended=14)
    store.put_parts("ses", "a1", [done, ChangedFiles("p1", ("a.py",))])
    store.put(replace(said, parts=(), finish="stop", completed=15, usage=ReportedUsage(120, 100, 20), cost=0.25))
    store.put(user("u2", CompactionMarker("m1", auto=True, tail_from="u1")))
    with SessionStore.open(store.path, read_only=True) as again:
        messages = again.messages("ses")
        assert [part.id for part in messages[1].parts] == ["r1", "t2", "c1", "p1"]
        assert messages[0] == asked
        assert messages[1].parts[2] == done
        assert messages[2].parts == (CompactionMarker("m1", auto=True, tail_from="u1"),)
        assert again.messages("ses", after="u1") == messages[1:]
        session = again.session("ses")
        assert session is not None
        assert session.usage == ReportedUsage(None, 100, 20)
        assert (session.cost, session.updated, session.created) == (0.25, 15, 10)
        assert again.projects() == (StoredProject("p1", "/work/p", 1),)
        assert find_faults(messages) == ()
        with pytest.raises(StoreReadOnly):
            again.put(user("u3"))


def test_usage_that_is_reported_again_is_counted_once(store: SessionStore) -> None:
    store.put(user("u1"))
    open_one = answer("a1", "u1")
    store.put(open_one)
    for tokens in (10, 30, 30):
        store.put(replace(open_one, usage=ReportedUsage(None, tokens, 1), cost=tokens / 10))
    session = store.session("ses")
    assert session is not None
    assert session.usage == ReportedUsage(None, 30, 1)
    assert session.cost == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("steps", "bad"),
    [
        ((), "completed"),
        (("pending",), "completed"),
        (("running",), "pending"),
        (("running", "completed"), "running"),
        (("running", "completed"), "error"),
        (("error",), "running"),
    ],
)
def test_a_call_goes_forward_only(store: SessionStore, steps: tuple[str, ...], bad: str) -> None:
    store.put(user("u1"))
    store.put(answer("a1", "u1"))
    for status in steps:
        store.put_parts("ses", "a1", [StoredCall("c1", "bash", "call1", status)])  # type: ignore[arg-type]
    with pytest.raises(SessionError, match="cannot be"):
        store.put_parts("ses", "a1", [StoredText("t9", "with it"), StoredCall("c1", "bash", "call1", bad)])  # type: ignore[arg-type]
    parts = store.messages("ses")[1].parts
    assert [part.id for part in parts] == (["c1"] if steps else []), "a refused step leaves nothing"


def test_a_result_changes_only_by_being_compacted(store: SessionStore) -> None:
    store.put(user("u1"))
    store.put(answer("a1", "u1"))
    call = StoredCall("c1", "read", "call1", "running")
    done = replace(call, status="completed", output="long")
    store.put_parts("ses", "a1", [call])
    store.put_parts("ses", "a1", [done])
    store.put_parts("ses", "a1", [replace(done, compacted=77)])
    with pytest.raises(SessionError, match="only `compacted`"):
        store.put_parts("ses", "a1", [replace(done, output="other")])
    assert store.messages("ses")[1].parts == (replace(done, compacted=77),)


def test_what_does_not_belong_is_refused(store: SessionStore) -> None:
    store.put(user("u1"))
    store.put(answer("a1", "u1", finish="stop"))
    store.create(StoredSession("other", parent_id="ses", created=1))
    for wrong in (
        answer("a2", "nobody"),
        replace(answer("a1", "u1"), finish=""),
        replace(user("a1"), role="user"),
        replace(user("u1"), session_id="other"),
        user("u9", StoredText("u1-t", "stolen part")),
        replace(answer("a7", "u1"), session_id="other"),
    ):
        with pytest.raises(SessionError):
            store.put(wrong)
    for session in (StoredSession("ses"), StoredSession("new", parent_id="nobody")):
        with pytest.raises(SessionError):
            store.create(session)
    with pytest.raises(SessionError, match="no session"):
        store.resume("nobody", 1)
    assert [message.id for message in store.messages("ses")] == ["u1", "a1"]
    assert store.messages("other") == ()


def test_what_was_running_is_closed_with_words_when_resumed(store: SessionStore) -> None:
    store.put(user("u1"))
    calls = (
        StoredCall("c1", "bash", "k1", "running"),
        StoredCall("c2", "bash", "k2"),
        StoredCall("c3", "bash", "k3", "error", error="x"),
    )
    store.put(answer("a1", "u1", StoredText("t1", "half a sen"), *calls))
    path = store.path
    store.close()
    with SessionStore.open(path) as again:
        with pytest.raises(SessionError, match="not claimed"):
            again.put(user("u2"))
        mended = again.resume("ses", 50)
        assert (mended.calls, mended.messages) == (("k1", "k2"), ("a1",))
        first, second, third = (part for part in again.messages("ses")[1].parts if isinstance(part, StoredCall))
        assert first.interrupted and "may have had effects; it was not run again" in first.error
        assert second.interrupted and "was not run" in second.error
        assert third.error == "x" and not third.interrupted
        assert again.messages("ses")[1].aborted
        assert find_faults(again.messages("ses")) == ()
        assert not again.resume("ses", 60), "it is claimed here already"
        again.put(user("u2"))


def test_todos_diffs_and_cutting(store: SessionStore) -> None:
    store.put(user("u1"))
    store.put(answer("a1", "u1", finish="stop", usage=ReportedUsage(None, 5)))
    store.put(user("u2"))
    store.put(answer("a2", "u2", StoredCall("c1", "edit", "k1", "running"), finish="tools"))
    store.set_todos("ses", [Todo("one"), Todo("two", "completed", "high")])
    store.set_todos("ses", [Todo("two", "completed", "high")])
    assert store.todos("ses") == (Todo("two", "completed", "high"),)
    store.add_diffs("ses", [FileDiff("a1", "x.py", "+1", 1), FileDiff("a2", "y.py", "-1", 0, 1)])
    assert [diff.path for diff in store.diffs("ses")] == ["x.py", "y.py"]
    assert [diff.path for diff in store.diffs("ses", message_id="a2")] == ["y.py"]
    with pytest.raises(SessionError):
        store.add_diffs("ses", [FileDiff("nobody", "z.py")])
    assert store.take_back("ses", "u2", 20) == 2
    assert [message.id for message in store.taken_back("ses")] == ["u2", "a2"]
    assert [message.id for message in store.messages("ses")] == ["u1", "a1"]
    assert [diff.path for diff in store.diffs("ses")] == ["x.py"]
    with pytest.raises(SessionError):
        list(store.messages("ses", after="u2"))
    store.bring_back("ses", "", 21)
    assert [message.id for message in store.messages("ses")] == ["u1", "a1", "u2", "a2"]
    store.take_back("ses", "u2", 22)
    store.put(user("u3"))
    assert [message.id for message in store.messages("ses")] == ["u1", "a1", "u3"] and not store.taken_back("ses")
    store.put_parts("ses", "a1", [StoredCall("c1", "edit", "k1", "running")])  # its parts went with the message
    session = store.session("ses")
    assert session is not None and session.usage.input == 5


def test_the_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / "fresh" / "sessions.db"
        with SessionStore.open(path) as store:
            store.create(StoredSession("s", created=1))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert {mode for name, mode in modes.items() if not name.endswith(".claims")} == {0o600}
    assert modes["sessions.db.claims"] == 0o700
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_newer_and_a_foreign_file_are_left_as_they_are(tmp_path: Path) -> None:
    newer, foreign = tmp_path / "newer.db", tmp_path / "foreign.db"
    SessionStore.open(newer).close()
    for path, sql in ((newer, "PRAGMA user_version = 99"), (foreign, "CREATE TABLE mine (x)")):
        db = sqlite3.connect(path)
        db.execute(sql)
        db.close()
        path.chmod(0o600)
    kept = foreign.read_bytes()
    with pytest.raises(StoreTooNew):
        SessionStore.open(newer)
    with pytest.raises(StoreDamaged):
        SessionStore.open(foreign)
    assert foreign.read_bytes() == kept


NASTY = st.text(max_size=20) | st.sampled_from(["\ud800", "\x00", "a\u2028b", "'; DROP TABLE parts; --"])
ARGUMENTS = st.dictionaries(NASTY, NASTY | st.integers() | st.floats() | st.lists(NASTY, max_size=3), max_size=4)


@pytest.mark.slow
@given(texts=st.lists(NASTY, max_size=4), arguments=ARGUMENTS)
def test_any_text_and_arguments_can_be_stored_and_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], arguments: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("any") / "sessions.db"
    with SessionStore.open(path) as store:
        store.create(StoredSession("ses", title="".join(texts), created=1))
        store.put(user("u1", *(StoredText(f"t{at}", text) for at, text in enumerate(texts))))
        store.put(answer("a1", "u1", StoredCall("c1", "x", "k1", "running", arguments)))
        messages = store.messages("ses")
        stored = [part.text for part in messages[0].parts if isinstance(part, StoredText)]
        if messages[0].parts and texts:
            assert stored == [text.encode("utf-8", "backslashreplace").decode() for text in texts]
        call = messages[1].parts[0]
        assert isinstance(call, StoredCall) and len(call.arguments) <= len(arguments)


def test_messages_as_they_are_sent(store: SessionStore) -> None:
    store.put(
        user(
            "u1",
            StoredText("t1", "look", synthetic=True),
            StoredText("t0", "not sent", ignored=True),
            Attachment("f1", "/p/a.png"),
        )
    )
    calls = (
        StoredCall("c1", "bash", "k1", "completed", output="long " * 100, compacted=5),
        StoredCall("c2", "bash", "k2", "error", error="refused"),
    )
    said = answer(
        "a1", "u1", StoredReasoning("r1", "hm", {"sign": "x"}), *calls, ChangedFiles("p1", ("a.py",)), finish="tools"
    )
    chat = to_chat_messages([*store.messages("ses"), said, answer("a2", "u1", error="cut off")])
    assert [(part.kind, part.synthetic) for part in chat[0].parts] == [("text", True), ("file", False)]
    assert [part.kind for part in chat[1].parts] == ["reasoning", "tool", "tool"]
    assert "500 characters" in chat[1].parts[1].text and chat[1].parts[2].text == "refused"
    assert len(chat) == 2, "a response of which nothing is left is not sent"
    assert validated_copy(Messages(chat), Messages).messages == chat, "hooks may have them"
    back = from_chat_parts(chat[0].parts, iter(["n1", "n2"]).__next__)
    assert back == (StoredText("t1", "look", synthetic=True), Attachment("f1", "/p/a.png"))


def test_memory_reads_it_as_a_transcript(store: SessionStore) -> None:
    store.put(user("u1", text="fix the parser"))
    store.put(
        answer(
            "a1", "u1", StoredText("t2", "done"), model="openai:gpt-5", finish="stop", usage=ReportedUsage(9, 8, 1)
        )
    )
    store.put(user("u2", CompactionMarker("m1")))
    store.put(answer("a2", "u2", StoredText("t3", "summary"), summary=True, finish="stop"))
    store.put(user("u3", text="go on"))
    transcript = SessionTranscript(store)
    assert isinstance(transcript, Transcript)
    row = transcript.session("ses")
    assert row is not None
    assert (row.root, row.directory, row.host) == ("/work/p", "/work/p/src", "session")
    messages = tuple(transcript.messages("ses"))
    assert (messages[1].provider, messages[1].model) == ("openai", "gpt-5")
    store.put(answer("a3", "u3"))
    seen = window_at(tuple(transcript.messages("ses")), "a3")
    assert [message.id for message in seen] == ["u2", "a2", "u3"], "what is before the summary is out of the window"
    with pytest.raises(TranscriptError):
        tuple(transcript.messages("ses", after="nobody"))
    assert tuple(transcript.messages("nobody")) == ()
    with_file = SessionTranscript.open(store.path)
    assert with_file.sessions() == transcript.sessions()
    with_file.close()
    with pytest.raises(TranscriptError):
        SessionTranscript.open(store.path.with_name("none.db"))


def test_the_memory_tool_reads_and_searches_it(store: SessionStore, tmp_path: Path) -> None:
    store.put(user("u1", text="fix the tokenizer of the parser"))
    store.put(answer("a1", "u1", StoredText("t2", "It was an off-by-one in the lookahead."), finish="stop"))
    past = PastSessions([SessionTranscript(store)], tmp_path / "index.db")
    with Hud.in_memory(past=past) as hud:
        session = hud.session("ses", project=tmp_path)
        assert "off-by-one" in session.tool("memory", {"tool": "messages", "args": {"session": "ses"}})
        assert "off-by-one" in session.tool("memory", {"tool": "search", "args": {"query": "lookahead"}})
    past.close()
