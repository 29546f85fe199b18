"""The index follows what a session says, and reads what is named to it."""

from __future__ import annotations

import io
import threading
import time

import pytest

from hudkit.daemon.index_process import TranscriptIndexer, follow
from hudkit.errors import StoreBusy
from hudkit.paths import index_path
from hudkit.transcripts import Message, SessionRow, TextPart
from hudkit.transcripts.search import PastSessions, SearchQuery
from waiting import until

UPLOADED = ("opencode", "ses_1")


class Growing:
    """A session that is being written; counts who reads it."""

    host = "opencode"
    skipped = ()

    def __init__(self):
        self.texts = ["begin"]
        self.asked = 0

    def sessions(self):
        self.asked += 1
        return (self.session("ses_1"),)

    def session(self, id):
        return SessionRow("ses_1", "opencode", updated=len(self.texts)) if id == "ses_1" else None

    def messages(self, id, *, after=""):
        first = int(after or -1) + 1
        for n in range(first, len(self.texts)):
            yield Message(str(n), id, "assistant", n, n, parts=(TextPart("t", self.texts[n]),))

    def todos(self, id):
        return ()

    def close(self):
        pass


@pytest.fixture
def growing(tmp_path):
    transcript = Growing()
    past = PastSessions([transcript], tmp_path / "own" / "search.db", eager=False)
    indexing = TranscriptIndexer(past)
    thread = threading.Thread(target=indexing.run)
    yield transcript, past, indexing, thread
    indexing.end()
    if thread.ident:
        thread.join()
    past.close()


@pytest.mark.slow
def test_what_was_just_said_is_found(growing, tmp_path):
    transcript, past, indexing, thread = growing
    path = tmp_path / "own" / "search.db"
    thread.start()
    until(lambda: path.exists() and _hits(past, "begin"))
    everything = transcript.asked
    for word in ("walrus", "narwhal", "manatee"):
        transcript.texts.append(f"a {word} swims")
        indexing.uploaded(*UPLOADED)
        until(lambda word=word: any(word in hit.snippet for hit in _hits(past, word)))
    assert transcript.asked == everything == 1  # only the session that was named was read


def _hits(past, word):
    try:
        return past.search(SearchQuery(word, limit=1))
    except Exception:
        return ()


@pytest.mark.slow
def test_nonsense_and_failures_do_not_end_it(growing, monkeypatch):
    _, past, indexing, thread = growing
    right = past.update
    calls = []

    def busy(*args, **named):
        calls.append(args)
        if len(calls) == 1:
            raise StoreBusy("locked")
        if len(calls) == 2:
            raise ValueError("a bug")
        return right(*args, **named)

    monkeypatch.setattr(past, "update", busy)
    thread.start()
    for told in (("opencode", "ses_unknown"), UPLOADED, UPLOADED):
        before = len(calls)
        indexing.uploaded(*told)
        until(lambda before=before: len(calls) > before)
    until(lambda: _hits(past, "begin"))


def test_one_that_is_to_end_at_once_makes_no_file(growing, tmp_path):
    transcript, _, indexing, thread = growing
    indexing.end()
    thread.start()
    thread.join()
    assert transcript.asked == 0 and not (tmp_path / "own").exists()


def test_lines_that_are_no_sessions_are_passed_over():
    named = []

    class Indexer(TranscriptIndexer):
        def uploaded(self, host, session):
            named.append((host, session))

    lines = b'\n{\n[]\n["opencode"]\n["opencode", 7]\n["opencode", "ses_1"]\n'
    follow(io.BytesIO(lines), Indexer(PastSessions([])))
    assert named == [UPLOADED]


def test_a_question_before_the_first_reading_is_answered_at_once(growing):
    past = growing[1]
    with pytest.raises(Exception, match="nothing is searchable yet"):
        past.search(SearchQuery("x"))


@pytest.mark.slow
@pytest.mark.parametrize("index", [True, False])
def test_there_is_no_index_where_the_user_wants_none(daemon, monkeypatch, tmp_path, index):
    config = tmp_path / "config.toml"
    config.write_text(f"[memory]\nindex = {str(index).lower()}\n")
    config.chmod(0o600)
    monkeypatch.setenv("HUDKIT_CONFIG", str(config))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    daemon.start()
    daemon.ask("/v1/tool", router="hud", arguments={"tool": "notes.add", "args": {"content": "a walrus"}})
    daemon.ask("/v1/events")
    until(index_path(daemon.db).exists) if index else time.sleep(1.5)
    assert index_path(daemon.db).exists() is index
    said = daemon.ask("/v1/tool", router="memory", arguments={"tool": "search", "args": {"query": "walrus"}})
    assert said["ok"] and "walrus" in said["text"], "the session's own state is there in any case"
    assert daemon.ask("/v1/tool", router="memory", arguments={"tool": "sessions"})["ok"] is index
