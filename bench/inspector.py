"""How long a page of the inspector takes over a large log, beside a bare SQLite query of the same rows.

The log has 10,000 sessions of five events, and one of 50,000. A page is timed from its address to its HTML, without
the browser: the first time, and again when it is known; and after an agent went on, which is what a page that follows
it costs. Nothing of a page may take longer than a person waits: see the milliseconds.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.figures import Figure
from hudkit.api import Hud
from hudkit.clock import uuid7
from hudkit.inspector.inspected_log import InspectedLog
from hudkit.log import Batch, EventDraft, Origin
from hudkit.log import payloads as p
from hudkit.log.stores import SqliteLog, open_log

TITLE = "inspector: a page over 10,000 sessions and 100,000 events, against a bare query of its rows"

SESSIONS, LONG_EVENTS = 10_000, 50_000
ROUNDS = 9
_BATCH = 500
LONG = "opencode/long@0123456789ab"

Page = Callable[[Mapping[str, str]], tuple[str, bool]]


def run() -> Iterator[Figure]:
    """Time the pages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hudkit.db"
        with SqliteLog.open(path) as log:
            _fill(log)
        with SqliteLog.open(path) as log:
            yield from _figures(path, log)


def _figures(path: Path, log: SqliteLog) -> Iterator[Figure]:
    with Hud(open_log(path, read_only=True)) as hud, sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        inspected = InspectedLog(hud)
        rows = _bare(db, _NEWEST)
        yield _figure("the list, the first time", _time(inspected.sessions_page, {}), rows)
        began = perf_counter()
        inspected.start()
        inspected.wait_until_read()
        all_read = perf_counter() - began
        words = f"all {SESSIONS:,} sessions were read in the background within {all_read:.1f} s"
        yield _figure("the list again", _times(inspected.sessions_page, {}), rows, words)
        yield _figure("a search of the list", _times(inspected.sessions_page, {"q": "number 77"}), rows)
        part = _bare(db, _PART)
        first, requests = _until_whole(inspected.session_page, {"id": LONG})
        words = f"the slowest of {requests} requests in which {LONG_EVENTS:,} events are read"
        yield _figure("the long session, the first time", first, part, words)
        yield _figure("the long session again", _times(inspected.session_page, {"id": LONG}), part)
        yield _figure("its newest call", _times(inspected.call_page, {"id": LONG}), part)
        middle = {"id": LONG, "at": str(LONG_EVENTS // 2)}
        yield _figure("an event in its middle, the first time", _time(inspected.call_page, middle), part)
        yield _figure("the same event again", _times(inspected.call_page, middle), part)
        yield _figure("another budget there", _times(inspected.fit_fragment, {**middle, "budget": "400"}), part)
        yield _figure("its search", _times(inspected.search_page, {"id": LONG, "q": "note 700"}), part)
        for name, page, values in (
            ("the list when a session went on", inspected.sessions_page, {}),
            ("the long session when it went on", inspected.session_page, {"id": LONG}),
        ):
            log.append(LONG, _drafts(_long_payloads(1)))
            yield _figure(name, _time(page, values), rows if page == inspected.sessions_page else part)


def _figure(name: str, seconds: float, bare: float, words: str = "") -> Figure:
    note = f"{1_000 * seconds:.0f} ms; the rows alone {1_000 * bare:.1f} ms"
    return Figure(name, seconds / bare, None, f"{note}; {words}" if words else note)


def _time(page: Page, values: Mapping[str, str]) -> float:
    began = perf_counter()
    page(values)
    return perf_counter() - began


def _times(page: Page, values: Mapping[str, str]) -> float:
    return median(_time(page, values) for _ in range(ROUNDS))


def _until_whole(page: Page, values: Mapping[str, str]) -> tuple[float, int]:
    """The longest request until the page is whole, and how many there were."""
    longest, requests, whole = 0.0, 0, False
    while not whole:
        began = perf_counter()
        _, whole = page(values)
        longest, requests = max(longest, perf_counter() - began), requests + 1
    return longest, requests


_NEWEST = (
    "SELECT e.session_id, e.seq, e.timestamp FROM heads h JOIN events e"
    " ON e.session_id = h.session_id AND e.seq = h.seq ORDER BY e.position"
)
_PART = f"SELECT * FROM events WHERE session_id = '{LONG}' AND seq > {LONG_EVENTS - 10_000}"


def _bare(db: sqlite3.Connection, query: str) -> float:
    def once() -> float:
        began = perf_counter()
        db.execute(query).fetchall()
        return perf_counter() - began

    return median(once() for _ in range(ROUNDS))


# -- the log -----------------------------------------------------------------------------------------------------


def _fill(log: SqliteLog) -> None:
    batches: list[Batch] = []
    for number in range(SESSIONS):
        batches.append(Batch(f"opencode/s{number}@0123456789ab", _drafts(_short_payloads(number))))
        if len(batches) == _BATCH:
            log.append_many(batches)
            batches.clear()
    payloads = _long_payloads(LONG_EVENTS)
    for start in range(0, LONG_EVENTS, 2_000):
        log.append(LONG, _drafts(payloads[start : start + 2_000]))
    with Hud(log) as hud:
        _ = hud.session(LONG).state  # saves it, as a host does every few hundred events


def _drafts(payloads: list[p.Payload]) -> tuple[EventDraft, ...]:
    now = 1_795_000_000_000
    return tuple(EventDraft(uuid7(), now + n * 1_000, 1, Origin.HOST, payload) for n, payload in enumerate(payloads))


def _short_payloads(number: int) -> list[p.Payload]:
    start = p.SessionStart(
        host="opencode",
        host_session=f"s{number}",
        title=f"Work number {number}",
        model="gpt-4.1",
        directory=f"/home/dev/project-{number % 40}",
    )
    task = p.TaskSet(f"Make part {number} of the importer read both formats")
    base = p.FrameBase(1, "123456", "# Task\n\nThe importer\n" * 12, 90, "full", "anchored", 600, 2, "session")
    return [start, task, base, _call(1, 20_000), p.NoteAdd("the fixtures are in tests/data")]


def _long_payloads(count: int) -> list[p.Payload]:
    """Five events a call: what was read and changed, the call, what it spent, and a command; rarely a note."""
    payloads: list[p.Payload] = [
        p.SessionStart(host="opencode", host_session="long", title="A session of a month", model="gpt-4.1"),
        p.FrameBase(1, "123456", "# Task\n\nA month of work\n" * 12, 90, "full", "anchored", 600, 1, "session"),
    ]
    number = 0
    while len(payloads) < count:
        number += 1
        used = 20_000 + number * 40 % 90_000
        payloads += (
            p.FileEdit(f"src/part_{number % 90}.py") if number % 100 else p.NoteAdd(f"note {number} of the month"),
            p.FileOpen(f"src/part_{number % 300}.py"),
            _call(number, used),
            p.ContextSnapshot(used, source="reported", spent=p.ResponseTokens(1_000, used - 1_500, 0, 500)),
            p.CommandRan(f"pytest tests/test_{number % 90}.py", "passed", 0),
        )
    return payloads[-count:] if count < 5 else payloads[:count]


def _call(number: int, used: int) -> p.ContextSnapshot:
    return p.ContextSnapshot(
        used,
        200_000,
        model="gpt-4.1",
        source="reported",
        call=p.FrameArguments(600, "anchored", "o200k_base", "1", 1, band="green", tokens=90, anchor=f"m{number}"),
        sent=p.SentTranscript(number, used * 4, 400, max(0, used * 4 - 400)),
        parts=p.RequestParts(
            20_000, 30_000, used, (p.ToolOutputTotal("read", used), p.ToolOutputTotal("bash", used // 2))
        ),
    )
