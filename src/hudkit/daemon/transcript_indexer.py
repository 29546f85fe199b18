"""Keeps the search index up to date while sessions run: in a thread of its own, off the path of every answer.

A session that a host has just uploaded to is read again shortly after; all others are read once after the start, and
then every two minutes.
"""

from __future__ import annotations

import threading
from collections import deque

import msgspec

from hudkit.daemon.logfile import LOGGER, error_location
from hudkit.errors import HudkitError
from hudkit.transcripts.search import PastSessions

PAUSE_SECONDS = 0.25
"""Seconds from an upload to the reading: a host writes its own record at about the same time."""

START_SECONDS = 3.0
"""Seconds from the start to the first reading of everything: the first frames go first."""

ROUND_SECONDS = 120.0
"""Seconds between two readings of everything."""


class _UploadedSession(msgspec.Struct):
    """The session that a request is about; the rest of the request is passed over."""

    host: str = ""
    session: str = ""


class TranscriptIndexer:
    """Reads transcripts into the index, on its own thread. Call `uploaded` for each upload, `close` at the end."""

    def __init__(self, past: PastSessions) -> None:
        self._past = past
        # Bounded: where reading is slower than uploads, the oldest are dropped and the next round reads them.
        self._bodies: deque[bytes] = deque(maxlen=32)
        self._wake = threading.Event()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hudkit-index", daemon=True)
        self._thread.start()

    def uploaded(self, body: bytes) -> None:
        """Note that the session of an upload's body is worth reading again. Returns at once."""
        self._bodies.append(body)
        self._wake.set()

    def close(self) -> None:
        """End the thread, at the latest after the batch that is being written, and close the index."""
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
            # One pause for all uploads of the moment: a session that uploads often is read once.
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
            LOGGER.warning("the index is not up to date: %s", error.code)
        except Exception as error:
            # A host's files are foreign: whatever they hold, the daemon has to go on answering.
            LOGGER.error("the index is not up to date: %s", error_location(error))


def _session(body: bytes) -> tuple[str, str]:
    try:
        named = msgspec.json.decode(body, type=_UploadedSession)
    except msgspec.DecodeError:
        return "", ""
    return named.host, named.session
