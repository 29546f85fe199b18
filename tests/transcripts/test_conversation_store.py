"""Conversations of hosts in a program: written once, without secrets, bounded, and read as any transcript."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from hudkit.errors import StoreError, TranscriptError
from hudkit.log.redaction import secret_texts
from hudkit.transcripts import Message, SessionRow, TextPart, ToolPart, Transcript, window_at
from hudkit.transcripts.conversation_store import ConversationStore
from hudkit.transcripts.search import PastSessions, SearchFilters, SearchQuery


def said(id: str, text: str, role: str = "user", *, summary: bool = False, created: int = 1_000) -> Message:
    parts = (TextPart(f"{id}.0", text),)
    return Message(id, "s", role, created, created, finish="stop", summary=summary, parts=parts)


def ran(id: str, output: str) -> Message:
    part = ToolPart(f"{id}.0", "bash", f"call-{id}", "completed", {"command": "ls"}, output)
    return Message(id, "s", "assistant", 1_000, 1_000, finish="tool-calls", parts=(part,))


def row(id: str = "s", *, host: str = "here", directory: str = "/p", updated: int = 1) -> SessionRow:
    return SessionRow(id, host, "", directory, f"talk {id}", created=1, updated=updated)


def kept(store: ConversationStore, window: Sequence[Message], of: SessionRow | None = None) -> None:
    ids = {message.id for message in window}
    store.record(of or row(), window, ids, ids)


def ids(store: ConversationStore, session: str = "s", after: str = "") -> list[str]:
    return [message.id for message in store.messages(session, after=after)]


def test_what_a_compaction_took_stays_and_the_window_is_told(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "c.db", host="here", directory="/p")
    assert isinstance(store, Transcript) and store.sessions() == () and not (tmp_path / "c.db").exists()
    u1, a1, u2, a2 = said("u1", "Find it"), ran("a1", "x\t\r\n"), said("u2", "Go on"), ran("a2", "y")
    kept(store, [u1, a1, u2, a2])
    summary, u3 = said("sum", "It was found.", "assistant", summary=True), said("u3", "And now?")
    kept(store, [summary, u2, a2, u3])
    kept(store, [summary, u2, a2, u3])  # twice is harmless
    again = ConversationStore(tmp_path / "c.db", host="here", directory="/p")
    assert ids(again) == ["u1", "a1", "u2", "a2", "sum-marker", "sum", "u3"]
    assert ids(again, after="a2") == ["sum-marker", "sum", "u3"]
    messages = tuple(again.messages("s"))
    assert messages[1] == a1, "the very output"
    probe = Message("probe", "s", "assistant")
    assert [message.id for message in window_at((*messages, probe), "probe")] == [
        "sum-marker",
        "sum",
        "u2",
        "a2",
        "u3",
    ]
    with pytest.raises(TranscriptError):
        ids(again, after="nobody")
    assert again.session("nobody") is None and ids(again, "nobody") == []


def test_a_finished_message_is_never_written_over(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "c.db")
    kept(store, [ran("a1", "the whole output")])
    kept(store, [ran("a1", "[cleared]")])
    (message,) = store.messages("s")
    assert message == ran("a1", "the whole output"), "somebody else cleared it in the host"
    growing = said("a2", "I lo", "assistant")
    store.record(row(), [growing], {"a2"}, ())
    kept(store, [replace(growing, parts=(TextPart("a2.0", "I look."),))])
    assert list(store.messages("s"))[-1].parts == (TextPart("a2.0", "I look."),), "one that was open goes on"


def test_secrets_are_replaced_before_anything_is_written_and_taken_out_on_request(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "c.db")
    key = "sk-ant-api03-" + "Zq8fW2kLm9Xv4Tb7" * 4
    kept(store, [said("u1", f"the key is {key}"), ran("a1", "my aunt's café is “Blue Heron”")])
    files = [file for file in tmp_path.iterdir() if file.name.startswith("c.db")]
    assert not any(key.encode() in file.read_bytes() for file in files)
    assert store.redact(secret_texts("café is “Blue Heron”")) == 1
    assert not any(b"Heron" in file.read_bytes() for file in files if file.exists())
    output = next(part for message in store.messages("s") for part in message.parts if isinstance(part, ToolPart))
    assert output.output == "my aunt's [redacted]"


def test_the_oldest_sessions_go_first_and_never_what_is_held() -> None:
    store = ConversationStore(None, host="here", directory="/p", max_bytes=20_000)
    for n in range(4):
        kept(store, [said(f"u{n}", "x" * 6_000)], row(f"s{n}", updated=n))
    assert [session.id for session in store.sessions()] == ["s1", "s2", "s3"]
    held = ran("big-0", "0" * 7_000)
    store.hold(row("s3", updated=5), [held])
    kept(store, [ran(f"big-{n}", f"{n}" * 7_000) for n in range(4)], row("s3", updated=5))
    assert [session.id for session in store.sessions()] == ["s3"], "no other is left"
    assert set(ids(store, "s3")) == {"big-0", "big-2", "big-3"}, "one that a stub names is read from memory"
    assert held in list(store.messages("s3"))


def test_of_two_sessions_with_one_id_ones_own_is_meant(tmp_path: Path) -> None:
    for directory, updated in (("/p", 1), ("/q", 2)):
        store = ConversationStore(tmp_path / "c.db", host="here", directory=directory)
        kept(store, [said(f"u{directory}", "hello")], row(directory=directory, updated=updated))
        store.close()
    assert ids(ConversationStore(tmp_path / "c.db", host="here", directory="/p")) == ["u/p"]
    assert ids(ConversationStore(tmp_path / "c.db", read_only=True)) == ["u/q"], "the newest, where none is one's own"


def test_where_nothing_can_be_written_that_is_an_error_and_what_is_held_is_read(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path / "c.db", read_only=True)
    with pytest.raises(StoreError):
        kept(store, [said("u1", "hello")])
    store.hold(row(), [ran("a1", "x")])
    assert store.session("s") == row() and ids(store) == ["a1"]
    store.release("s")
    assert store.session("s") is None


@pytest.mark.parametrize("indexed", [True, False])
def test_it_is_searched_with_an_index_and_without(tmp_path: Path, indexed: bool) -> None:
    store = ConversationStore(tmp_path / "c.db", host="here", directory="/p")
    past = PastSessions((), tmp_path / "index.db" if indexed else None).joined(store)
    kept(store, [said("u1", "the ferret sleeps"), ran("a1", "ferret\nbadger")])
    assert {hit.message for hit in past.search(SearchQuery("ferret"))} == {"u1", "a1"}
    kept(store, [said("u2", "a wombat, just now")])
    assert past.search(SearchQuery("wombat"))[0].message == "u2", "what was said last is found, too"
    for filters in (SearchFilters(session="s", role="tool"), SearchFilters(tool="bash", project="/p", host="here")):
        assert [hit.message for hit in past.search(SearchQuery("ferret badger", filters))] == ["a1"]
    assert past.search(SearchQuery("ferret", SearchFilters(session="other"))) == ()
    past.close()


# -- messages that are held ------------------------------------------------------------------------------------


def test_what_is_held_is_read_as_it_is_and_in_its_place() -> None:
    """A stub in the request promises the exact bytes, also of what the file has without secrets."""
    secret = "ghp_" + "a1B2" * 9
    store = ConversationStore(None, host="here", directory="/p")
    outputs = [ran(f"a{n}", f"{secret} {n}\t\r\n") for n in range(3)]
    kept(store, outputs)
    assert not any(secret in str(message) for message in store.messages("s"))
    store.hold(row(), outputs[1:2])
    assert [secret in str(message) for message in store.messages("s")] == [False, True, False]
    assert list(store.messages("s"))[1] == outputs[1] and ids(store, after="a1") == ["a2"]
    store.hold(row(), outputs[2:])
    assert [secret in str(message) for message in store.messages("s")] == [False, False, True], "the last ones count"
    store.hold(row(), ())
    assert not any(secret in str(message) for message in store.messages("s"))


def test_what_is_held_is_of_its_own_session_alone() -> None:
    store = ConversationStore(None, host="here", directory="/p")
    store.hold(row("s"), [ran("a1", "the wombat sleeps")])
    store.hold(row("t"), [ran("a2", "the badger digs")])
    assert (ids(store, "s"), ids(store, "t")) == (["a1"], ["a2"])
    store.release("s")
    assert (ids(store, "s"), ids(store, "t")) == ([], ["a2"])
    store.close()
    assert store.session("t") is None and ids(store, "t") == []


@pytest.mark.slow
def test_one_thread_reads_while_another_lets_go() -> None:
    store = ConversationStore(None, host="here", directory="/p")
    messages = [ran(f"a{n}", "x") for n in range(3)]
    kept(store, messages)
    stop = threading.Event()

    def let_go() -> None:
        while not stop.is_set():
            store.hold(row(), messages)
            store.release("s")

    thread = threading.Thread(target=let_go)
    thread.start()
    try:
        for _ in range(2_000):
            assert ids(store) == ["a0", "a1", "a2"]
    finally:
        stop.set()
        thread.join()


def test_of_damaged_rows_the_others_are_read_and_a_session_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    store = ConversationStore(path, host="here", directory="/p")
    for id in ("s", "t"):
        kept(store, [said("u1", "one"), said("u2", "two")], row(id))
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE sessions SET body = X'FF00' WHERE id = 's'")
        db.execute("UPDATE messages SET body = '{' WHERE id = 'u1' AND session = 1")
        db.commit()
    assert [session.id for session in store.sessions()] == ["t"] and store.session("s") is None
    assert ids(store) == ["u2"] and {record.table for record in store.skipped} == {"sessions", "messages"}
    kept(store, [said("u3", "three")])
    assert store.session("s") == row() and ids(store) == ["u2", "u3"]


class _SlowIds(list[str]):
    """Ids that are looked up while a session is being written; the first look waits until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.writing, self.may_go_on = threading.Event(), threading.Event()
        self.gave_up = False

    def __contains__(self, id: object) -> bool:
        self.writing.set()
        self.gave_up = not self.may_go_on.wait(20)
        return False


def test_a_call_that_holds_messages_does_not_wait_for_what_is_being_written(tmp_path: Path) -> None:
    """A gateway writes the conversation behind the call; the next call must not wait for the disk."""
    closed, words = _SlowIds(), said("m1", "Please begin.")
    with closing(ConversationStore(tmp_path / "talks.db")) as store:
        writer = threading.Thread(target=store.record, args=(row(), [words], {"m1"}, closed))
        writer.start()
        assert closed.writing.wait(20)
        store.hold(row(), [words])
        store.release("s")
        closed.may_go_on.set()
        writer.join()
        assert not closed.gave_up
        assert [message.id for message in store.messages("s")] == ["m1"]
