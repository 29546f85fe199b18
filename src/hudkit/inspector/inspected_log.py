"""The log that is inspected, and each page of it from the values of an address."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

import msgspec

from hudkit.api import Hud
from hudkit.context.compaction.receipts import CoveredRange, covered_range
from hudkit.errors import ConfigError, HudkitError
from hudkit.hud.session_keys import keys_with_id
from hudkit.inspector.event_search import MessageHits, find_events, find_messages
from hudkit.inspector.links import page_link, session_link
from hudkit.inspector.pages.call_page import CallView, call_page, fit_result
from hudkit.inspector.pages.compactions_page import compactions_page
from hudkit.inspector.pages.diff_page import DiffView, diff_page
from hudkit.inspector.pages.page_shell import waiting_page
from hudkit.inspector.pages.search_page import search_page
from hudkit.inspector.pages.session_page import session_page
from hudkit.inspector.pages.sessions_page import sessions_page
from hudkit.inspector.session_list import SessionList, SessionSummary
from hudkit.inspector.session_record import SessionRecord, SessionRecords
from hudkit.transcripts import Message
from hudkit.transcripts.search import PastSessions
from hudkit.transcripts.search.query import SearchHit
from hudkit.web.elements import write

READ_SECONDS = 0.12
"""Seconds of a request in which a long log is read on; then the page shows how far it came."""

_MAX_DIGITS = 15


class InspectedLog:
    """A log and what is remembered of it between requests. Pages are made in one thread.

    Each page is returned with whether it is whole: the log of a very long session is read in portions. All raise
    `ConfigError` for an address that names nothing there is, a `StoreError` where the log cannot be read.
    """

    def __init__(self, hud: Hud, past: PastSessions | None = None, recording: str = "") -> None:
        """`past` are the hosts' transcripts and the search index; without them nothing is told of messages. Closing
        both stays the giver's. `recording` is OpenCode's database where the log is only a replay of it: commands
        that the pages show read that."""
        self._recording = recording
        self._hud = hud
        self._past = past
        self._list = SessionList(hud)
        self._records = SessionRecords(hud)

    def start(self) -> None:
        """Begin to read the sessions of the list in a thread."""
        self._list.start()

    def wait_until_read(self) -> None:
        """Return when that thread is done: then a search looks through all sessions."""
        self._list.wait_until_read()

    def close(self) -> None:
        """End that thread."""
        self._list.close()

    def progress(self, key: str) -> int:
        """Return a number that changes when a session, or without a key any of them, went on."""
        if key:
            return self._hud.log.last_seq(key)
        return self._list.events

    def sessions_page(self, values: Mapping[str, str]) -> tuple[str, bool]:
        """Return the list of sessions."""
        query, host = values.get("q", ""), values.get("host", "")
        page = self._list.page(query, host, _number(values, "page", 1))
        live = page_link("/live", seq=page.events)
        return sessions_page(page, query, host, live), True

    def session_page(self, values: Mapping[str, str]) -> tuple[str, bool]:
        """Return the page of a session."""
        record, whole = self._record(values)
        neighbours = self._list.neighbours(record.id)
        number = _number(values, "page", 1)
        page = session_page(record, self._summary(record), neighbours, number, _live(record), whole=whole)
        return page, whole

    def call_page(self, values: Mapping[str, str]) -> tuple[str, bool]:
        """Return the page of a call."""
        record, whole = self._record(values)
        view = _call_view(values)
        if not whole:
            return _waiting(record, record.read_upto, record.last), False
        seq = min(record.newest_seq if view.seq is None else view.seq, record.last)
        reached = record.prepare_state(seq, READ_SECONDS)
        if reached < seq:
            return _waiting(record, reached, seq), False
        return call_page(record, self._summary(record), view, _live(record)), True

    def diff_page(self, values: Mapping[str, str]) -> tuple[str, bool]:
        """Return the comparison of two events, the first of them named by its event or as a call's number."""
        record, whole = self._record(values)
        before = _number(values, "a", 0)
        if whole and (number := _number(values, "call", 0)):
            if number > len(record.calls):
                raise ConfigError(f"there is no call {number}", hint=f"They are 1 to {len(record.calls)}")
            before = record.calls[number - 1].seq
        if not whole:
            return _waiting(record, record.read_upto, record.last), False
        what: Literal["frame", "state"] = "state" if values.get("what") == "state" else "frame"
        by: Literal["line", "word"] = "word" if values.get("by") == "word" else "line"
        view = DiffView(before, _number(values, "b", record.read_upto), what, by)
        return diff_page(record, self._summary(record), view), True

    def compactions_page(self, values: Mapping[str, str]) -> tuple[str, bool]:
        """Return the receipts of a session's compactions, or one of them."""
        record, whole = self._record(values)
        if not whole:
            return _waiting(record, record.read_upto, record.last), False
        number, summary = _number(values, "n", 0), self._summary(record)
        messages = self._messages(summary.host_session) if record.compactions else ()
        seen: dict[int, CoveredRange | None] = {}
        for receipt in record.receipts():
            if number in (0, receipt.number):
                seen[receipt.number] = covered_range(receipt, messages)
        return compactions_page(record, summary, self._hud.settings, seen, number), True

    def search_page(self, values: Mapping[str, str]) -> tuple[str, bool]:
        """Return what a search found, in one session or in all."""
        query = " ".join(values.get("q", "").split())
        if not values.get("id"):
            page = self._list.page(query) if query else None
            messages = find_messages(self._past, query) if query else MessageHits()
            return search_page(query, page, messages, self._key_of, None, (), self._recording), True
        record, whole = self._record(values)
        summary = self._summary(record)
        messages = find_messages(self._past, query, summary.host_session) if query else MessageHits()
        return search_page(
            query, None, messages, self._key_of, summary, find_events(record, query), self._recording
        ), whole

    def fit_fragment(self, values: Mapping[str, str]) -> tuple[str, bool]:
        """Return the part of a call's page that shows it at another budget."""
        record, whole = self._record(values)
        view = _call_view(values)
        seq = record.read_upto if view.seq is None else view.seq
        return write(fit_result(record, seq, max(1, view.budget), view)), whole

    def _record(self, values: Mapping[str, str]) -> tuple[SessionRecord, bool]:
        key = values.get("id", "")
        record = self._records.get(key)
        began = time.monotonic()
        whole = record.refresh(READ_SECONDS)
        if record.is_stale:
            record = self._records.get(key)
            whole = record.refresh(READ_SECONDS)
        # Where reading has used up the time of a page, the page itself comes with the next request.
        return record, whole and time.monotonic() - began < READ_SECONDS

    def _messages(self, host_session: str) -> tuple[Message, ...]:
        """The host's messages of a session; none where they cannot be read."""
        if self._past is None:
            return ()
        try:
            return tuple(self._past.messages(host_session))
        except HudkitError:
            return ()

    def _key_of(self, hit: SearchHit) -> str:
        """The key of a hit's session; empty where the log has none, or several."""
        keys = keys_with_id(self._hud.log.sessions(), hit.session)
        return keys[0] if len(keys) == 1 else ""

    def _summary(self, record: SessionRecord) -> SessionSummary:
        return msgspec.structs.replace(self._list.summary_of(record.id), recording=self._recording)


def _waiting(record: SessionRecord, read: int, last: int) -> str:
    return waiting_page("Reading", [("Sessions", "/"), ("Session", session_link(record.id))], read, last)


def _live(record: SessionRecord) -> str:
    return page_link("/live", id=record.id, seq=record.read_upto)


def _call_view(values: Mapping[str, str]) -> CallView:
    seq = _number(values, "at", -1)
    return CallView(seq if seq >= 0 else None, _number(values, "budget", 0), values.get("view") == "sent")


def _number(values: Mapping[str, str], name: str, default: int) -> int:
    """The whole number of an address. Raises `ConfigError` where it is none."""
    text = values.get(name, "")
    if not text:
        return default
    if not text.isdecimal() or len(text) > _MAX_DIGITS:
        raise ConfigError(f"{name} is {text!r:.40}", hint="It is a whole number")
    return int(text)
