"""The sessions of a log in short, for lists of thousands: each is read once, and again only when it went on.

A summary needs the state of its session, which is folded from its events. So a page reads the sessions that it
shows, and a thread reads all others, the newest first; until it is done, a search says how far it came.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import PurePath

import msgspec

from hudkit.api import Hud
from hudkit.clock import unix_ms, uuid7
from hudkit.compose import Band
from hudkit.hud import ClockAndIds, SessionCore
from hudkit.hud.frame_request import estimate_usage
from hudkit.hud.session_keys import PROJECT_LOG, host_id_of_key
from hudkit.log import SessionHead
from hudkit.sections.state import HudState
from hudkit.tokens import known_prices
from hudkit.tokens.model_facts import Source

PAGE_ROWS = 50
"""Sessions of one page of the list."""

_MAX_CORES = 64
"""Sessions whose state is held, so that only what is new of them is read: those that go on now."""


class SessionSummary(msgspec.Struct, frozen=True):
    """One session as of its event `seq`; times are Unix ms, `used` and `limit` tokens (`used` `None`: not known),
    `source` says who gave the limit, `recording` is the file that the session is only a replay of."""

    key: str
    seq: int
    title: str
    host: str
    host_session: str
    directory: str
    model: str
    started: int
    last: int
    calls: int
    compactions: int
    used: int | None
    limit: int
    source: Source
    band: Band
    recording: str = ""

    @property
    def project(self) -> str:
        """Return the name of the project's folder; empty where the host did not tell it."""
        return PurePath(self.directory).name

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether every one of these words, in lower case, is in what the list shows of the session."""
        text = f"{self.title}\n{self.host}\n{self.directory}\n{self.model}\n{self.key}".lower()
        return all(word in text for word in words)


class SessionPage(msgspec.Struct, frozen=True):
    """A page of the list, the session that went on last first.

    `total` are the sessions that match, `read` those of `sessions` that could be looked through so far; `events` are
    those of all sessions.
    """

    rows: tuple[SessionSummary, ...]
    number: int
    pages: int
    total: int
    sessions: int
    events: int
    read: int
    hosts: tuple[str, ...]


class SessionList:
    """The summaries of a log's sessions. Safe for several threads."""

    def __init__(self, hud: Hud) -> None:
        self._hud = hud
        self._summaries: dict[str, SessionSummary] = {}
        self._cores: dict[str, SessionCore] = {}
        self._lock = threading.Lock()
        self._listed: list[SessionHead] = []
        self._is_closing = threading.Event()
        self._reader = threading.Thread(target=self._read_all, name="inspector-sessions", daemon=True)

    def start(self) -> None:
        """Begin to read all sessions in a thread."""
        self._reader.start()

    def close(self) -> None:
        """Stop reading."""
        self._is_closing.set()
        if self._reader.is_alive():
            self._reader.join()

    def wait_until_read(self) -> None:
        """Return when every session was read that there was at the start."""
        self._reader.join()

    def heads(self) -> list[SessionHead]:
        """Return how far each session has come, the one that went on last first. Logs of projects are none."""
        heads = self._hud.log.heads()
        self._listed = [head for head in reversed(heads) if not head.session_id.startswith(f"{PROJECT_LOG}@")]
        return self._listed

    @property
    def events(self) -> int:
        """Return the number of events of all sessions."""
        return sum(head.seq for head in self.heads())

    def page(self, query: str = "", host: str = "", number: int = 1) -> SessionPage:
        """Return a page of the sessions that match; pages count from 1, and one too far is the last."""
        heads = self.heads()
        summaries = self._summaries
        words = query.lower().split()
        if words or host:
            matching = []
            for head in heads:
                summary = summaries.get(head.session_id)
                if summary is not None and summary.matches(words) and host in ("", summary.host):
                    matching.append(head)
        else:
            matching = heads
        pages = max(1, -(-len(matching) // PAGE_ROWS))
        number = max(1, min(number, pages))
        shown = matching[(number - 1) * PAGE_ROWS : number * PAGE_ROWS]
        rows = tuple(self.summary(head) for head in shown)
        hosts = {summary.host for summary in tuple(summaries.values())} | {row.host for row in rows}
        return SessionPage(
            rows=rows,
            number=number,
            pages=pages,
            total=len(matching),
            sessions=len(heads),
            events=sum(head.seq for head in heads),
            read=len(summaries),
            hosts=tuple(sorted(filter(None, hosts))),
        )

    def neighbours(self, key: str) -> tuple[str, str]:
        """Return the keys of the sessions above and below one, as the list was last; empty where there is none."""
        keys = [head.session_id for head in self._listed or self.heads()]
        if key not in keys:
            return "", ""
        place = keys.index(key)
        above = keys[place - 1] if place else ""
        below = keys[place + 1] if place + 1 < len(keys) else ""
        return above, below

    def summary(self, head: SessionHead) -> SessionSummary:
        """Return the summary of a session as of now."""
        summary = self._summaries.get(head.session_id)
        if summary is not None and summary.seq == head.seq:
            return summary
        went_on = summary is not None
        with self._lock:  # one state is not read by two threads
            core = self._core(head.session_id)
            summary = summarize_state(core.state, self._hud)
            if went_on:
                self._hold(core)
        self._summaries[head.session_id] = summary
        return summary

    def summary_of(self, key: str) -> SessionSummary:
        """Return the summary of a session by its key."""
        return self.summary(SessionHead(key, self._hud.log.last_seq(key), 0))

    def _core(self, key: str) -> SessionCore:
        hud = self._hud
        core = self._cores.pop(key, None)
        return core or SessionCore(hud.log, key, ClockAndIds(unix_ms, uuid7), hud.counter, hud.settings)

    def _hold(self, core: SessionCore) -> None:
        self._cores[core.id] = core
        if len(self._cores) > _MAX_CORES:
            del self._cores[next(iter(self._cores))]

    def _read_all(self) -> None:
        known_prices("gpt-5")  # a newer catalogue than our copy takes a second to load: not while somebody waits
        for head in self.heads():
            if self._is_closing.is_set():
                return
            self.summary(head)


def summarize_state(state: HudState, hud: Hud) -> SessionSummary:
    """Return the summary of a session with this state."""
    facts, usage = state.session, estimate_usage(state, hud.settings)
    host = facts.host or state.session_id.partition("@")[0].rpartition("/")[0]
    host_session = facts.host_session or host_id_of_key(state.session_id)
    return SessionSummary(
        key=state.session_id,
        seq=state.seq,
        title=facts.title or state.task.description or facts.first_request or host_session,
        host=host,
        host_session=host_session,
        directory=facts.directory,
        model=state.model,
        started=facts.started_at,
        last=state.time,
        calls=state.window.calls,
        compactions=state.compacted.count,
        used=usage.used_tokens,
        limit=usage.limit_tokens,
        source=usage.source,
        band=usage.band,
    )
