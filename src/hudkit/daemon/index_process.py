"""The process that keeps the search index up to date, beside the daemon and not in it.

Reading a long transcript is work for the processor, and a thread of the daemon would have every answer wait for the
interpreter's lock. So the daemon starts a process of its own for it, with less right to the processor:

    daemon ── a line for each session that was uploaded ──► index process ──► hudkit.search.db
           ◄── a line for each problem, for the daemon's log ──

The process ends when its input does, which is when the daemon ends, however it ends. Where the process dies, the
daemon starts it again: it begins with a reading of everything from the marks in the index, so nothing is lost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from hudkit import paths
from hudkit.daemon.logfile import LOGGER
from hudkit.errors import HudkitError
from hudkit.transcripts.search import PastSessions
from hudkit.web.http_listener import error_location

_START_SECONDS = 3.0
"""Seconds from the daemon's start to that of the index process: the first frames go first."""

_RESTART_SECONDS = 1.0
"""Seconds from the end of an index process to the next; doubled for each that ended again at once."""

_MAX_RESTART_SECONDS = 120.0

_LONG_LIFE_SECONDS = 60.0
"""A process that lived so long did not end at its start."""

_END_SECONDS = 5.0
"""Seconds that the batch that is being written may take when the daemon ends; the next daemon reads it again."""

_NICENESS = 10
"""Steps that the process gives way to others."""

_MEMORY = 1 << 30
"""Bytes of address space that the process may have (Linux). Its own memory was 110 MB at most with texts of 20 MB."""


class IndexProcess:
    """The daemon's side: starts the process, tells it what was uploaded, starts it again where it ended.

    Call `uploaded` for each upload, `close` at the end.
    """

    def __init__(self, command: list[str], *, start_after: float = _START_SECONDS) -> None:
        self._command = command
        self._start_after = start_after
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="hudkit-index", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, db: Path) -> IndexProcess:
        """Return the process for the index of a log."""
        # -P: a project's own `hudkit` folder is not imported in its place.
        return cls([sys.executable, "-P", "-m", __name__, "--db", os.fspath(db.absolute())])

    @property
    def process_id(self) -> int | None:
        """Return the process that runs now."""
        with self._lock:
            return self._process.pid if self._process is not None else None

    def uploaded(self, host: str, session: str) -> None:
        """Note that a session is worth reading again. Returns at once, whatever state the process is in."""
        line = msgspec.json.encode((host, session)) + b"\n"
        with self._lock:
            # One that is not there begins with all sessions; one that does not read its input finds this one later.
            if self._process is not None and self._process.stdin is not None:
                with suppress(OSError):
                    os.write(self._process.stdin.fileno(), line)

    def close(self) -> None:
        """End the process: after the batch that is being written, or at the latest after 5 seconds."""
        self._end.set()
        with self._lock:
            process = self._process
            if process is not None and process.stdin is not None:
                process.stdin.close()
        if process is not None:
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        pause, wait = _RESTART_SECONDS, self._start_after
        while not self._end.wait(wait):
            began = time.monotonic()
            try:
                code = self._attend()
            except OSError as error:
                LOGGER.error("the index process did not start: %s", error.strerror)
            else:
                if self._end.is_set():
                    return
                LOGGER.warning("the index process ended with exit code %d", code)
            lived_long = time.monotonic() - began > _LONG_LIFE_SECONDS
            wait = pause = _RESTART_SECONDS if lived_long else pause
            pause = min(pause * 2, _MAX_RESTART_SECONDS)

    def _attend(self) -> int:
        """Start the process, pass on what it says until it ends, and return its exit code. Raises `OSError`."""
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            process_group=0,  # Ctrl-C in a terminal is the daemon's, which ends this one
        )
        assert process.stdin is not None and process.stdout is not None
        os.set_blocking(process.stdin.fileno(), False)
        with self._lock:
            self._process = process
        if self._end.is_set():  # `close` came before there was a process
            process.kill()
        LOGGER.info("index process %d started", process.pid)
        with process.stdout:
            for line in process.stdout:
                LOGGER.warning("index: %s", line.decode("utf-8", "replace").strip()[:200])
        code = process.wait()
        with self._lock:
            self._process = None
            with suppress(OSError):
                process.stdin.close()
        return code


# -- in the process --------------------------------------------------------------------------------------------------

_PAUSE_SECONDS = 0.25
"""Seconds from an upload to the reading: a host writes its own record at about the same time."""

_ROUND_SECONDS = 120.0
"""Seconds between two readings of everything."""

_MAX_NAMED = 1_000
"""Sessions that wait to be read by name; further ones are found by the next reading of everything."""


class TranscriptIndexer:
    """Reads transcripts into the index: everything at first and every two minutes, a session soon after its upload.

    `uploaded` and `end` may be called from any thread; `run` returns after `end`.
    """

    def __init__(self, past: PastSessions) -> None:
        self._past = past
        self._named = set[tuple[str, str]]()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._end = threading.Event()

    def uploaded(self, host: str, session: str) -> None:
        """Note that a session is worth reading again."""
        with self._lock:
            if len(self._named) < _MAX_NAMED:
                self._named.add((host, session))
        self._wake.set()

    def end(self) -> None:
        """Have `run` return after the batch that is being written."""
        self._end.set()
        self._wake.set()

    def run(self) -> None:
        """Read until the end; nothing at all where that comes at once, so that no file is made for a daemon that is
        gone."""
        if self._end.wait(_PAUSE_SECONDS):
            return
        self._read("", "")
        while not self._end.is_set():
            if not self._wake.wait(_ROUND_SECONDS):
                self._read("", "")
                continue
            # One pause for all uploads of the moment: a session that uploads often is read once.
            if self._end.wait(_PAUSE_SECONDS):
                return
            self._wake.clear()
            with self._lock:
                named, self._named = self._named, set()
            for host, session in named:
                self._read(host, session)

    def _read(self, host: str, session: str) -> None:
        try:
            self._past.update(session, host=host, stop=self._end.is_set)
        except HudkitError as error:
            _report(f"not up to date: {error.code}")
        except Exception as error:
            # A host's files are foreign: whatever they hold, the others have to be read.
            _report(f"not up to date: {error_location(error)}")


def follow(lines: BinaryIO, indexer: TranscriptIndexer) -> None:
    """Pass on to the indexer what the daemon tells, until it tells nothing more."""
    for line in lines:
        with suppress(msgspec.DecodeError):
            host, session = msgspec.json.decode(line, type=tuple[str, str])
            indexer.uploaded(host, session)


def main(argv: list[str] | None = None) -> int:
    """Keep the index of a log up to date until the input ends, and return the exit code."""
    from hudkit.agent.session_transcript import session_sources
    from hudkit.log.stores import open_log
    from hudkit.transcripts import OwnTranscript
    from hudkit.transcripts.search import open_past_sessions

    parser = argparse.ArgumentParser(prog="hudkit.daemon.index_process")
    parser.add_argument("--db", type=Path, required=True)
    db: Path = parser.parse_args(argv).db
    os.umask(0o077)
    os.nice(_NICENESS)
    _limit_memory()
    with ExitStack() as stack:
        own: list[OwnTranscript] = []
        try:
            own.append(OwnTranscript(stack.enter_context(closing(open_log(db, read_only=True)))))
        except HudkitError as error:
            _report(f"the log is left out: {error.code}")
        past = open_past_sessions(paths.index_path(db), also=[*session_sources(db), *own], eager=False)
        stack.callback(past.close)
        indexer = TranscriptIndexer(past)
        threading.Thread(target=_end_with_input, args=(indexer,), daemon=True).start()
        indexer.run()
    return 0


def _end_with_input(indexer: TranscriptIndexer) -> None:
    """End with the daemon: by itself after the batch that is being written, by force where that takes too long."""
    with suppress(OSError):
        follow(sys.stdin.buffer, indexer)
    indexer.end()
    time.sleep(_END_SECONDS)
    os._exit(1)


def _limit_memory() -> None:
    if sys.platform.startswith("linux"):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def _report(problem: str) -> None:
    """Say what went wrong, for the daemon's log; nobody may be there to hear it."""
    with suppress(OSError):
        print(problem, flush=True)


if __name__ == "__main__":
    sys.exit(main())
