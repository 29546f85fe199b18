"""hudkit attached to a host in this process: a log, opened when it is first needed, and the conversations."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

from hudkit import paths
from hudkit.api import Hud
from hudkit.compose import visible
from hudkit.config import load
from hudkit.errors import HudkitError, OperationError
from hudkit.hosts.host_session import HostCall, HostSession, Injection
from hudkit.tools import Reply

if TYPE_CHECKING:
    from hudkit.transcripts.search import Past

_LOG = logging.getLogger("hudkit.ingest")

T = TypeVar("T")

MAX_OPEN_SESSIONS = 500
"""Conversations that are kept in memory at once."""


class InProcessHud:
    """A host's door to the HUD, for all of its conversations; safe for several threads, which take turns."""

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        host: str,
        project: str | os.PathLike[str] | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        """`hud` is an open `Hud` (closing it stays its owner's), the path of a log, or nothing: the user's own log,
        which all hosts share. `project` is the directory that the agent works in (default: the current one). Nothing
        is opened yet."""
        self.host = host
        self.project = Path(project if project is not None else Path.cwd()).absolute()
        self._given = hud
        self._hud = hud if isinstance(hud, Hud) else None
        self._clock = clock
        self._conversations: dict[str, HostSession] = {}
        self._lock = RLock()
        self._closers: list[Callable[[], object]] = []

    @property
    def hud(self) -> Hud:
        """The log, opened with the user's and the project's settings. Raises a `StoreError`."""
        with self._lock:
            if self._hud is None:
                given = self._given
                path = paths.log_path() if given is None or isinstance(given, Hud) else Path(given)
                found = load(paths.config_path(), paths.project_config(self.project))
                for warning in found.warnings:
                    _LOG.warning("%s; going on with the defaults", warning)
                for renamed in found.renamed:
                    _LOG.warning("%s", renamed)
                past = self._past_of(path) if found.settings.memory.index else None
                self._hud = Hud.open(path, settings=found.settings, sections=paths.section_places(), past=past)
            return self._hud

    def ask(self, session_id: str, question: Callable[[HostSession], T], *, parent: str = "") -> T:
        """Ask about one conversation, by the host's id of its session; `parent` is that of the session that started
        it. Raises what `question` raises, and a `StoreError` where the log cannot be opened."""
        with self._lock:
            if session_id in self._conversations:
                self._conversations[session_id] = self._conversations.pop(session_id)  # the newest is last
            else:
                self._make_room()
                session = self.hud.session(session_id, project=self.project, host=self.host)
                self._conversations[session_id] = HostSession(
                    session, session_id, str(self.project), self.host, clock=self._clock, parent=parent
                )
            return question(self._conversations[session_id])

    def place(self, session_id: str, asked: HostCall, *, parent: str = "") -> Injection:
        """What a model call carries. A HUD that cannot be reached is no reason for the call to fail: then nothing."""
        try:
            return self.ask(session_id, lambda one: one.place(asked), parent=parent)
        except (HudkitError, OSError) as error:
            _LOG.warning("a call goes without the HUD: %s", error)
            return Injection(why=str(error))

    def reported(self, session_id: str, used: int | None, *, parent: str = "") -> None:
        """A response has come, with so many tokens in the window after it (`None`: the host does not tell)."""
        with suppress(HudkitError, OSError):
            self.ask(session_id, lambda one: one.reported(used), parent=parent)

    def resume(self, session_id: str, other: str) -> str:
        """Take up the task of the session `other`, of any host, once; what is left to be done: nothing, or `other`
        where the log cannot be reached now. That there is no such session is logged."""
        try:
            self.ask(session_id, lambda one: one.resume(other))
        except OperationError as error:
            _LOG.warning("nothing is resumed: %s", error)
        except (HudkitError, OSError):
            return other
        return ""

    def tool(self, session_id: str, router: str, arguments: Mapping[str, object] | str, *, parent: str = "") -> Reply:
        """Answer a call of one of the HUD's tools; what is wrong is said in the answer."""
        try:
            return self.ask(session_id, lambda one: one.tool(router, arguments), parent=parent)
        except (HudkitError, OSError) as error:
            return Reply(f"not recorded: {visible(str(error))}", False)

    def close(self) -> None:
        """Close the log where it was opened here; twice is harmless."""
        with self._lock:
            if self._hud is not None and self._hud is not self._given:
                self._hud.close()
                self._hud = None
            while self._closers:
                self._closers.pop()()
            self._conversations.clear()

    def _make_room(self) -> None:
        """Let go of the conversation that was asked about longest ago; all of it is in the log."""
        if len(self._conversations) >= MAX_OPEN_SESSIONS:
            oldest = next(iter(self._conversations))
            self.hud.forget(self._conversations.pop(oldest).session)

    def _past_of(self, log: Path) -> Past:
        """What was said in all sessions of the user's hosts; its index is brought up to date by each question."""
        from hudkit.log.stores import open_log
        from hudkit.transcripts import OwnTranscript
        from hudkit.transcripts.search import open_past

        open_log(log).close()  # made where it is missing
        apart = open_log(log, read_only=True)
        past = open_past(paths.index_path(log), also=(OwnTranscript(apart),))
        self._closers += [apart.close, past.close]
        return past
