"""The index follows its transcripts: what is new is read once, what was taken back is gone, an end in the middle goes
on, and a text that must not be there is nowhere in the file."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from talks_fixture import Talks

from hudkit.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnsafe, TranscriptError
from hudkit.transcripts import Message, TextPart, ToolPart
from hudkit.transcripts.search import IndexReader, IndexWriter, PastSessions, SearchQuery

pytestmark = pytest.mark.slow


def say(id, text, *, role="assistant", done=True, session="ferry-1", parts=()):
    parts = parts or (TextPart(id, text),)
    return Message(id, session, role, 2_000_000_000_000, 2_000_000_000_000 if done else 0, parts=parts)


def found(path, text):
    reader = IndexReader.open(path)
    try:
        return [hit.message for hit in reader.search(SearchQuery(text, limit=20)) if text.split()[0] in hit.snippet]
    finally:
        reader.close()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "own" / "search.db"


def test_what_is_new_is_read_once(place):
    talks = Talks()
    with IndexWriter.open(place) as index:
        assert index.update([talks]) == 313
        assert index.update([talks]) == 0
        talks.said["ferry-1"].append(say("new", "zebracorn sighted"))
        assert found(place, "zebracorn") == []
        assert index.update([talks], session_id="ferry-1") == 2  # with the last one of before, now settled
        assert found(place, "zebracorn") == ["new"]
        assert index.update([talks]) == 0


def test_a_snippet_goes_on_behind_the_word_that_it_was_chosen_for(place):
    """In a list that repeats the question's other words, the answer stands there."""
    talks = Talks()
    prices = "\n".join(f"quince {number} costs {number * 37} cents" for number in range(60))
    talks.said["ferry-1"].append(say("list", prices))
    with IndexWriter.open(place) as index:
        index.update([talks])
    reader = IndexReader.open(place)
    (hit,) = [hit for hit in reader.search(SearchQuery("quince 41 costs")) if hit.message == "list"]
    reader.close()
    assert "quince 41 costs 1517 cents" in hit.snippet and len(hit.snippet.split()) <= 34
    assert hit.snippet.startswith("…") and hit.snippet.endswith("…")


def test_a_growing_message_is_read_again(place):
    talks = Talks()
    said = talks.said["ferry-1"]
    with IndexWriter.open(place) as index:
        said.append(say("g", "gryphon one", done=False))
        index.update([talks], session_id="ferry-1")
        assert found(place, "gryphon") == ["g"]
        running = ToolPart("t", "bash", "t", "running", {"command": "hydra"})
        said[-1] = say("g", "", parts=(TextPart("g", "gryphon two"), running))
        index.update([talks], session_id="ferry-1")
        assert found(place, "hydra") == ["g"]
        said[-1] = say(
            "g",
            "",
            parts=(
                TextPart("g", "gryphon two"),
                msgspec.structs.replace(running, status="completed", output="kraken"),
            ),
        )
        said.append(say("h", "next", role="user"))
        index.update([talks], session_id="ferry-1")
        assert found(place, "kraken") == ["g"] and found(place, "gryphon two") == ["g"]
    db = sqlite3.connect(place)
    assert db.execute("SELECT count(*) FROM entries WHERE message = 'g'").fetchone()[0] == 2
    db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    db.close()


def test_what_was_reverted_is_gone(place):
    talks = Talks()

    class Checked(Talks):
        def messages(self, session_id, *, after=""):
            if after and all(one.id != after for one in self.said[session_id]):
                raise TranscriptError("gone")
            return super().messages(session_id, after=after)

    talks = Checked()
    talks.said["ferry-1"] += [say("r1", "wyvern nest"), say("r2", "end")]
    with IndexWriter.open(place) as index:
        index.update([talks], session_id="ferry-1")
        assert found(place, "wyvern") == ["r1"]
        del talks.said["ferry-1"][-2:]
        talks.said["ferry-1"].append(say("r3", "basilisk"))
        index.update([talks], session_id="ferry-1")
        assert found(place, "wyvern") == [] and found(place, "basilisk") == ["r3"]


def test_an_interrupted_update_goes_on(place):
    talks = Talks()
    seen = []
    with IndexWriter.open(place) as index:
        for _ in range(20):
            stopped = index.update([talks], stop=lambda: True)
            seen.append(stopped)
            if not stopped:
                break
        assert sum(seen) == 313 and len([one for one in seen if one]) == len(talks.rows)
        progress = []
        assert index.update([talks], progress=progress.append) == 0
        assert progress[-1].sessions == progress[-1].of
    db = sqlite3.connect(place)
    assert db.execute("SELECT count(*), count(DISTINCT message) FROM entries").fetchone() == (313, 313)


KILLED = """
import sys, os
sys.path.insert(0, sys.argv[1])
from talks_fixture import Talks
from hudkit.transcripts.search import IndexWriter
talks = Talks()
with IndexWriter.open(sys.argv[2]) as index:
    index.update([talks], stop=lambda: os.kill(os.getpid(), 9))
"""


def test_a_killed_update_leaves_a_sound_index(place):
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", KILLED, str(Path(__file__).parent), str(place)], check=False)
        assert run.returncode == -9
    with IndexWriter.open(place) as index:
        index.update([Talks()])
    db = sqlite3.connect(place)
    assert db.execute("SELECT count(*), count(DISTINCT message) FROM entries").fetchone() == (313, 313)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_two_writers_read_each_message_once(place):
    talks = Talks()
    indexes = [IndexWriter.open(place) for _ in range(3)]
    threads = [threading.Thread(target=index.update, args=([talks],)) for index in indexes]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for index in indexes:
        index.update([talks])
        index.close()
    db = sqlite3.connect(place)
    assert db.execute("SELECT count(*), count(DISTINCT message) FROM entries").fetchone() == (313, 313)


def test_secrets_are_not_indexed_and_a_redacted_text_is_nowhere(place):
    talks = Talks()
    talks.said["ferry-1"] += [
        say("k", "the key is ghp_" + "a1B2" * 9),
        say("p", "the pass phrase is plumdumpling, and plumdumpling again, xplumdumplingy"),
        say("q", "done"),
    ]
    with IndexWriter.open(place) as index:
        index.update([talks])
        assert found(place, "plumdumpling") == ["p"]
        assert index.redact("plumdumpling") == 1
    for path in place.parent.iterdir():
        body = path.read_bytes()
        assert b"a1B2a1B2" not in body and b"plumdumpling" not in body, path
    assert found(place, "plumdumpling") == []
    with IndexWriter.open(place) as index:
        index.forget("talks", "ferry-1")
    assert found(place, "redacted") == []


def test_a_transcript_that_fails_does_not_stop_the_others(place):
    class Broken(Talks):
        host = "broken"

        def sessions(self):
            raise TranscriptError("half-copied")

        def session(self, session_id):
            raise TranscriptError("half-copied")

    past = PastSessions([Broken(), Talks()], place)
    assert past.update() == 313
    assert past.search(SearchQuery("Paystream"))
    assert len(past.sessions()) == 12 and past.problems == {"broken": "half-copied"}
    with pytest.raises(TranscriptError, match="no session"):
        past.find("nope")
    past.close()
    past.close()


def test_the_file_is_private_and_checked(place, tmp_path):
    IndexWriter.open(place).close()
    assert place.stat().st_mode & 0o777 == 0o600 and place.parent.stat().st_mode & 0o777 == 0o700
    db = sqlite3.connect(place)
    db.execute("PRAGMA user_version = 99")
    db.close()
    for open_ in (IndexWriter.open, IndexReader.open):
        with pytest.raises(StoreTooNew):
            open_(place)
    foreign = place.with_name("foreign.db")
    db = sqlite3.connect(foreign)
    db.execute("CREATE TABLE t (a)")
    db.close()
    foreign.chmod(0o600)
    with pytest.raises(StoreDamaged):
        IndexWriter.open(foreign)
    torn = place.with_name("torn.db")
    torn.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError):
        IndexWriter.open(torn)
    link = place.with_name("link.db")
    link.symlink_to(torn)
    with pytest.raises(StoreUnsafe):
        IndexWriter.open(link)
    with pytest.raises(StoreError):
        IndexReader.open(place.with_name("absent.db"))


@pytest.mark.parametrize(
    "word", ["manatee", "referees", "generalizations", "hopefulness", "engineering", "databases"]
)
def test_a_word_whose_stem_has_another_stem_is_found(place, word):
    talks = Talks()
    talks.said["ferry-1"].append(say("w", f"{word} here"))
    with IndexWriter.open(place) as index:
        index.update([talks])
    assert found(place, word) == ["w"]


def test_a_question_reads_for_a_while_and_the_next_ones_go_on(place):
    """A clock that is a minute later whenever it is asked: there is time for one session a question, the newest."""
    talks = Talks()
    minutes = iter(range(0, 60_000, 60))
    past = PastSessions([talks], place, clock=lambda: next(minutes))
    newest_first = sorted(talks.rows, key=lambda row: -row.updated)
    for number, row in enumerate(newest_first, 1):
        assert any(hit.session == row.id for hit in _all_hits(past, talks, row.id))
        assert past.counts()["sessions"] == number
    while past.is_behind:
        past.search(SearchQuery("ferry"))
    assert past.counts()["messages"] == 313
    past.close()


def _all_hits(past, talks, session):
    word = max(re.findall(r"[a-z]{4,}", talks.said[session][0].parts[0].text), key=len)
    return past.search(SearchQuery(word, limit=50))


def test_a_question_is_answered_while_another_process_writes(place):
    talks = Talks()
    with IndexWriter.open(place) as index:
        index.update([talks])
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    newest = max(talks.rows, key=lambda row: row.updated).id
    talks.said[newest].append(say("new", "zebracorn sighted", session=newest))
    past = PastSessions([talks], place, busy_timeout=0.05)
    assert past.search(SearchQuery("ferry"))
    other.execute("ROLLBACK")
    assert [hit.message for hit in past.search(SearchQuery("zebracorn"))][:1] == ["new"]
    past.close()


def test_an_index_whose_tables_are_being_made_is_none_yet(place):
    place.parent.mkdir(mode=0o700)
    db = sqlite3.connect(place)
    place.chmod(0o600)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    with pytest.raises(TranscriptError, match="nothing is searchable yet"):
        IndexReader.open(place)
    db.close()
