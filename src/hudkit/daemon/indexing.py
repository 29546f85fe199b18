"""Keeps the index of what was said up to date while sessions run: in a thread of its own, off every answer's path.

What a host has just uploaded names its session; that session is read again shortly after. Everything else is read
once after the start, and then now and then.
"""

from __future__ import annotations

import threading
from collections import deque

import msgspec

from hudkit.daemon.journal import journal, where
from hudkit.errors import HudkitError
from hudkit.transcripts.search import Past

PAUSE_SECONDS = 0.25
"""From an upload to the reading: a host writes its own record at about the same time."""

START_SECONDS = 3.0
"""From the start to the first reading of everything: the first frames go first."""

ROUND_SECONDS = 120.0


class _Named(msgspec.Struct):
    """Which session a request is about; the rest of it is passed over."""

    host: str = ""
    session: str = ""


class Indexing:
    """`heard` tells it of a request; `close` ends it, at the latest after the batch that is being written."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._bodies: deque[bytes] = deque(maxlen=32)
        self._wake = threading.Event()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hudkit-index", daemon=True)
        self._thread.start()

    def heard(self, body: bytes) -> None:
        """A request was answered; returns at once."""
        self._bodies.append(body)
        self._wake.set()

    def close(self) -> None:
        self._end.set()
        self._wake.set()
        self._thread.join(5.0)
        self._past.close()

    def _run(self) -> None:
        wait = START_SECONDS
        while not self._end.is_set():
            if not self._wake.wait(wait):
                self._read("", "")
                wait = ROUND_SECONDS
                continue
            if self._end.wait(PAUSE_SECONDS):
                return
            self._wake.clear()
            named: set[tuple[str, str]] = set()
            while self._bodies:
                named.add(_session(self._bodies.popleft()))
            for host, session in named:
                if session:
                    self._read(host, session)

    def _read(self, host: str, session: str) -> None:
        try:
            self._past.update(session, host=host, stop=self._end.is_set)
        except HudkitError as error:
            journal.warning("the index is not up to date: %s", error.code)
        except Exception as error:  # whatever a foreign file holds: the daemon goes on
            journal.error("the index is not up to date: %s", where(error))


def _session(body: bytes) -> tuple[str, str]:
    try:
        named = msgspec.json.decode(body, type=_Named)
    except msgspec.DecodeError:
        return "", ""
    return named.host, named.session
