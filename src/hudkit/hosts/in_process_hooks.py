"""The hooks of a host that calls them in this process: sessions that follow their transcripts, asked from threads.

The caller has the deadlines, and waits for nothing behind them: what was late comes with the next hook.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from threading import Lock, RLock
from typing import TYPE_CHECKING

from hudkit.api import Hud
from hudkit.compose import visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hosts.hook_session import HookSession, HookSessions, find_session
from hudkit.hosts.hook_wire import NOTHING_NEW, HookAnswer, HookPayload, HostEvent
from hudkit.hosts.host_session import resume_task
from hudkit.hosts.in_process import InProcessHud
from hudkit.tools import RouterReply

if TYPE_CHECKING:
    from hudkit.transcripts.search import TranscriptSource

_LOG = logging.getLogger("hudkit.ingest")

_LAG_SECONDS = 5.0
"""Seconds within which a host has written down what it said."""

_POLL_SECONDS = 0.05

_MAX_BEGUN = 10_000


class InProcessHooks:
    """Answers the hooks of one host. Safe for several threads, which take turns at the log; files are read beside."""

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        host: str,
        project: str | os.PathLike[str] | None = None,
        transcript: TranscriptSource | None = None,
    ) -> None:
        """The parameters are those of `InProcessHud`; `transcript` is needed only where the host keeps its
        conversations elsewhere than the user's others."""
        self._hud = InProcessHud(hud, host=host, project=project, transcript=transcript)
        self._own_transcript = transcript is not None
        self._sessions: HookSessions | None = None
        self._begun: set[str] = set()
        self._turn, self._starting = RLock(), Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._reading: dict[Future[None], str] = {}  # with the session of each

    def begins(self, payload: HookPayload) -> bool:
        """Return whether the session of a hook was not answered by this process yet."""
        return (payload.agent_id or payload.session_id) not in self._begun

    def answer(self, payload: HookPayload, seconds: float) -> HookAnswer:
        """Return what a hook is answered; nothing where something is wrong with the HUD.

        Raises `TimeoutError` where others are at the log for so many seconds, and nothing else.
        """
        try:
            with self._turn_within(seconds):
                session = self._session(payload)
            if session is None:
                return NOTHING_NEW
            if payload.event is HostEvent.PROMPT:
                # A prompt may come before the turn that it answers is written down.
                own = [reading for reading, of in tuple(self._reading.items()) if of == payload.session_id]
                wait(own, timeout=seconds / 2)
            session.follow(payload)
            with self._turn_within(seconds):
                if len(self._begun) >= _MAX_BEGUN:
                    self._begun.clear()  # such a session gets more time once again
                self._begun.add(payload.agent_id or payload.session_id)
                return session.answer(payload)
        except TimeoutError:
            raise
        except (HudkitError, OSError) as error:
            _LOG.warning("a hook goes without the HUD: %s", error)
        except Exception:
            _LOG.exception("a hook goes without the HUD")
        return NOTHING_NEW

    def tool(self, payload: HookPayload, router: str, arguments: Mapping[str, object]) -> RouterReply:
        """Answer a call of one of the HUD's tools in the session that a hook was of; what is wrong is answered."""
        try:
            with self._turn:
                session = self._session(payload)
                if session is not None:
                    return session.tool(router, arguments)
        except (HudkitError, OSError) as error:
            return RouterReply(f"not recorded: {visible(str(error))}", False)
        return RouterReply("not recorded: the session is not known", False)

    def resume(self, payload: HookPayload, other: str) -> str:
        """Take up the task of the session `other`, of any host, once.

        Returns what is left to be resumed: nothing, or `other` where the log cannot be reached now. That there is no
        such session is logged.
        """
        try:
            with self._turn:
                session = self._session(payload)
                if session is not None:
                    resume_task(session.session, other)
        except OperationError as error:
            _LOG.warning("nothing is resumed: %s", error)
        except (HudkitError, OSError):
            return other
        return ""

    def resume_at(self, payload: HookPayload, record: str) -> None:
        """Take the record with this id for the last one of the session's transcript, for the next hook. Raises a
        `StoreError` where the log cannot be opened."""
        with self._turn:
            session = self._session(payload)
            if session is not None:
                session.resume_at(record)

    # -- what a turn ended with --------------------------------------------------------------------------------

    def read_on(self, payload: HookPayload, words: str) -> None:
        """Record what a turn ended with, its last words, as soon as the host has written them down: some time after
        its hook. Returns at once."""
        with self._starting:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(2, thread_name_prefix="hudkit-transcripts")
            future = self._threads.submit(self._read_on, payload, words)
            self._reading[future] = payload.session_id
        future.add_done_callback(lambda done: self._reading.pop(done, None))

    def flush(self) -> None:
        """Wait until what the turns ended with is recorded, some seconds at most."""
        wait(tuple(self._reading), timeout=_LAG_SECONDS)

    def close(self) -> None:
        """Record what is left and close the log where it was opened here; twice is harmless."""
        with self._starting:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True)
        with self._turn:
            self._sessions = None
            self._begun.clear()
            self._hud.close()

    def _read_on(self, payload: HookPayload, words: str) -> None:
        until = time.monotonic() + _LAG_SECONDS
        try:
            with self._turn:
                session = self._session(payload)
            if session is None:
                return
            before = session.answered_at
            session.follow(payload)
            while not session.has_read(words, before) and time.monotonic() < until:
                time.sleep(_POLL_SECONDS)
                session.follow(payload)
            with self._turn:
                session.answer(payload)
        except Exception as error:
            _LOG.warning("what a turn ended with is recorded with the next one: %s", error)

    # -- inside ------------------------------------------------------------------------------------------------

    @contextmanager
    def _turn_within(self, seconds: float) -> Iterator[None]:
        if not self._turn.acquire(timeout=seconds):
            message = "the log is busy"
            raise TimeoutError(message)
        try:
            yield
        finally:
            self._turn.release()

    def _session(self, payload: HookPayload) -> HookSession | None:
        if self._sessions is None:
            hud = self._hud.hud
            self._sessions = HookSessions(self._hud.host, partial(find_session, hud, self._hud.host))
        session = self._sessions.of(payload)
        if session is not None and self._own_transcript:
            session.session.past = self._hud.past_sessions()
        return session
