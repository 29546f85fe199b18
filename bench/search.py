"""Search over a million messages of generated text: a ranked question against `LIKE` on the same rows, in one run."""

from __future__ import annotations

import os
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

from bench.figures import Figure
from hudkit.transcripts.search.index_database import IndexProgress, IndexWriter
from hudkit.transcripts.search.index_reader import IndexReader
from hudkit.transcripts.search.query import SearchFilters, SearchQuery
from hudkit.transcripts.transcript import Message, SessionRow, TextPart, Todo, ToolPart, UnreadableRecord

TITLE = "search over a million messages (a ranked question, all its words; LIKE of its longest word, newest first)"

MESSAGES = int(os.environ.get("HUDKIT_BENCH_MESSAGES", "1000000"))
PER_SESSION = 500
_WORDS = 80_000
_SENTENCES = 150_000
_ROUNDS = 5
_LIKE = """SELECT e.id, s.id, e.message, substr(e.text, 1, 200) FROM entries e JOIN sessions s ON s.key = e.session
    WHERE e.text LIKE ? ORDER BY e.time DESC LIMIT 10"""


class Generated:
    """A `Transcript` of invented words, spread as in a language (Zipf), the same at every run."""

    host = "generated"
    skipped: tuple[UnreadableRecord, ...] = ()

    def __init__(self, messages: int) -> None:
        self._sessions = max(messages // PER_SESSION, 1)
        chance = random.Random(7)
        sounds = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "es")]
        known: dict[str, None] = {}
        while len(known) < _WORDS:
            known["".join(chance.choices(sounds, k=chance.choice((2, 2, 3, 3, 4))))] = None
        self.words = list(known)
        weights = list(accumulate(1 / (rank + 3) for rank in range(_WORDS)))
        self._lines = [
            " ".join(chance.choices(self.words, cum_weights=weights, k=chance.randint(6, 18)))
            for _ in range(_SENTENCES)
        ]

    def sessions(self) -> tuple[SessionRow, ...]:
        return tuple(self._row(n) for n in range(self._sessions))

    def session(self, session_id: str) -> SessionRow | None:
        return self._row(int(session_id[4:]))

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        number = int(session_id[4:])
        chance = random.Random(number)
        begin = int(after.rpartition("-")[2]) + 1 if after else 0
        for n in range(PER_SESSION):
            text = ". ".join(self._lines[chance.randrange(_SENTENCES)] for _ in range(chance.choice((1, 2, 3, 5))))
            id, when = f"{session_id}-{n}", 1_700_000_000_000 + (number * PER_SESSION + n) * 1_000
            if n < begin:
                continue
            if n % 3 == 2:
                part: TextPart | ToolPart = ToolPart(id, "bash", id, "completed", {"command": text[:60]}, text)
            else:
                part = TextPart(id, text)
            role = "user" if n % 3 == 0 else "assistant"
            yield Message(id, session_id, role, when, when, finish="stop", parts=(part,))

    def todos(self, session_id: str) -> tuple[Todo, ...]:  # noqa: ARG002 (of the protocol)
        return ()

    def close(self) -> None:
        pass

    def _row(self, n: int) -> SessionRow:
        return SessionRow(
            f"ses_{n:05d}", self.host, title=f"session {n}", root=f"/work/p{n % 20}", created=n, updated=n
        )


def build(path: Path, transcript: Generated) -> float:
    """Bring the index up to date; gives the seconds that it took, 0.0 where it was there already."""
    start = time.perf_counter()

    def tell(progress: IndexProgress) -> None:
        if sys.stderr.isatty():
            print(f"\r  {progress.sessions}/{progress.of} sessions", end="", file=sys.stderr)

    with IndexWriter.open(path) as index:
        read = index.update([transcript], progress=tell)
    return time.perf_counter() - start if read > PER_SESSION else 0.0


def _liked(plain: sqlite3.Connection, word: str) -> list[object]:
    return plain.execute(_LIKE, (f"%{word}%",)).fetchall()


def run() -> list[Figure]:
    """Medians over interleaved rounds, as ratios to `LIKE`; `search` is at least twenty times as fast at 0.05."""
    folder = Path(".cache")
    folder.mkdir(exist_ok=True)
    folder.chmod(0o700)
    path = folder / f"search-{MESSAGES}.db"
    transcript = Generated(MESSAGES)
    seconds = build(path, transcript)
    reader = IndexReader.open(path)
    plain = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    plain.execute("PRAGMA cache_size = -65536")
    words = transcript.words
    cases: dict[str, SearchQuery] = {
        "two rare words": SearchQuery(f"{words[60_000]} {words[30_000]}"),
        "four words, rare to common": SearchQuery(f"{words[25_000]} {words[4_000]} {words[300]} {words[12]}"),
        "five words of medium frequency": SearchQuery(
            " ".join(words[n] for n in (2_000, 2_500, 3_000, 3_500, 1_500))
        ),
        "three common words": SearchQuery(f"{words[20]} {words[35]} {words[60]}"),
        "one common word": SearchQuery(words[15]),
        "three common words in one project": SearchQuery(
            f"{words[20]} {words[35]} {words[60]}", SearchFilters(project="/work/p7")
        ),
        "four words in one session": SearchQuery(
            f"{words[4_000]} {words[300]} {words[100]} {words[12]}", SearchFilters(session="ses_00042")
        ),
        "a question as people ask it, 18 words": SearchQuery(
            f"when did we decide that the {words[9_000]} {words[700]} of {words[30]} {words[2_200]} was {words[150]} "
            f"and {words[60]} {words[14_000]} {words[5_000]} {words[400]}?"
        ),
        "a fragment of a word": SearchQuery(words[50_000][1:]),
        "a misspelt word": SearchQuery(f"{words[45_000][:-1]}q {words[9_000]}"),
    }
    figures: list[Figure] = []
    for name, question in cases.items():
        longest = max(question.text.split(), key=len)
        ranked, like = _medians(partial(reader.search, question), partial(_liked, plain, longest))
        spent = _processor_seconds(partial(reader.search, question))
        note = (
            f"{1e3 * ranked:.1f} ms ({1e3 * spent:.1f} of the processor), LIKE {1e3 * like:.0f} ms: "
            f"{like / ranked:.0f} times as fast"
        )
        figures.append(Figure(name, ranked / like, 0.05, note))
    counts = reader.counts()
    size = path.stat().st_size / 1e6
    told = f"{counts['messages']:,} messages, {counts['passages']:,} passages, {size:.0f} MB"
    if seconds:
        told += f"; built in {seconds:.0f} s ({counts['messages'] / seconds:,.0f} messages/s)"
    (text,) = plain.execute("SELECT sum(length(text)) FROM entries").fetchone()
    figures.append(Figure("size of the index ÷ its text", path.stat().st_size / text, None, told))
    reader.close()
    plain.close()
    return figures


def _processor_seconds(call: Callable[[], object]) -> float:
    """Return the median of the processor's seconds that a call takes."""
    costs = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        call()
        costs.append(time.process_time() - start)
    return statistics.median(costs)


def _medians(*calls: Callable[[], object]) -> list[float]:
    """Median seconds of each call, interleaved, after one round that is not counted."""
    costs: list[list[float]] = [[] for _ in calls]
    for _ in range(_ROUNDS + 1):
        for n, call in enumerate(calls):
            start = time.perf_counter()
            call()
            costs[n].append(time.perf_counter() - start)
    return [statistics.median(cost[1:]) for cost in costs]
