"""The HUD of a host that runs in this process: a log, opened when it is first needed, and the host's sessions."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from hudkit import paths
from hudkit.api import Hud
from hudkit.compose import visible
from hudkit.config import load
from hudkit.errors import ConfigError, HudkitError, OperationError
from hudkit.hosts.host_session import HostCall, HostMessage, HostSession, Injection
from hudkit.tools import DEFINITIONS as ROUTERS
from hudkit.tools import RouterReply
from hudkit.transcripts import OwnTranscript, Transcript
from hudkit.transcripts.conversation_store import ConversationStore

if TYPE_CHECKING:
    from hudkit.transcripts.search import PastSessions, TranscriptSource

_LOG = logging.getLogger("hudkit.ingest")

T = TypeVar("T")

MAX_OPEN_SESSIONS = 500
"""Sessions that are held in memory at once; an older one is read from the log again."""

_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}

COMPACTION_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "hud_compact",
        "description": "Compacts before the next step.",
        "parameters": _NO_PARAMETERS,
    },
    {"name": "memory_compact", "description": "Same.", "parameters": _NO_PARAMETERS},
)
"""For hosts in which the agent can have its window compacted."""

TOOL_DEFINITIONS: tuple[dict[str, Any], ...] = (*ROUTERS, *COMPACTION_TOOLS)
"""All tools that an in-process host offers its agent: `name`, `description`, `parameters` (JSON Schema) of each."""


class InProcessHud:
    """A host's way to the HUD, for all of its sessions. Safe for several threads, which take turns."""

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        host: str,
        project: str | os.PathLike[str] | None = None,
        clock: Callable[[], int] | None = None,
        transcript: TranscriptSource | Transcript | None = None,
    ) -> None:
        """Take what is needed to open the log later; nothing is opened yet. `hud` is one of:

        - an open `Hud`, which its owner closes,
        - the path of a log,
        - nothing: the user's own log, which all hosts share.

        `project` is the directory that the agent works in (default: the current one); `clock` gives Unix ms.
        `transcript` are the host's own conversations, which `memory` reads and searches before all others; closing it
        stays the host's. Without one, they are kept in a file beside the log, or in memory where the log is there:
        see `hudkit.transcripts.conversation_store`.
        """
        self.host = host
        self.project = Path(project if project is not None else Path.cwd()).absolute()
        self._source = hud
        self._hud = hud if isinstance(hud, Hud) else None
        self._clock = clock
        self._transcript = transcript
        self._past: PastSessions | None = None
        self._conversations: ConversationStore | None = None
        self._sessions: dict[str, HostSession] = {}
        self._lock = RLock()
        self._closers: list[Callable[[], object]] = []

    @property
    def hud(self) -> Hud:
        """Return the log, opened with the user's and the project's settings. Raises a `StoreError`."""
        with self._lock:
            if self._hud is None:
                source = self._source
                if paths.is_server_url(source):
                    raise ConfigError("a log on a server is not opened by its URL here", hint="Give Hud.open(URL)")
                path = paths.log_path() if source is None or isinstance(source, Hud) else Path(source)
                loaded = load(paths.config_path(), paths.project_config(self.project))
                for warning in loaded.warnings:
                    _LOG.warning("%s; going on with the defaults", warning)
                for renamed in loaded.renamed:
                    _LOG.warning("%s", renamed)
                self._hud = Hud.open(path, settings=loaded.settings, sections=paths.section_paths())
                if loaded.settings.memory.index:
                    from hudkit.transcripts.search import open_past_sessions

                    self._hud.past = open_past_sessions(paths.index_path(path), also=(OwnTranscript(self._hud.log),))
                    self._closers.append(self._hud.past.close)
            return self._hud

    def with_session(self, session_id: str, action: Callable[[HostSession], T], *, parent: str = "") -> T:
        """Return what `action` returns for one session, by the host's id of it.

        `parent` is the id of the session that started it. Raises what `action` raises, and a `StoreError` where the
        log cannot be opened.
        """
        with self._lock:
            if session_id in self._sessions:
                self._sessions[session_id] = self._sessions.pop(session_id)  # the newest is last
                self._sessions[session_id].write_behind()
            else:
                self._make_room()
                session = self.hud.session(session_id, project=self.project, host=self.host)
                session.past = self.past_sessions()
                self._sessions[session_id] = HostSession(
                    session,
                    session_id,
                    str(self.project),
                    self.host,
                    clock=self._clock,
                    parent=parent,
                    conversations=self._conversations,
                )
            return action(self._sessions[session_id])

    def prepare_call(self, session_id: str, call: HostCall, *, parent: str = "") -> Injection:
        """Return what a model call carries. A HUD that cannot be reached is no reason for it to fail: then
        nothing."""
        try:
            return self.with_session(session_id, lambda session: session.prepare_call(call), parent=parent)
        except (HudkitError, OSError) as error:
            _LOG.warning("a call goes without the HUD: %s", error)
            return Injection(why=str(error))

    def read_ahead(self, session_id: str, entry: HostMessage) -> None:
        """Work out what a message tells that the session's next call has last; see `HostSession.read_ahead`."""
        if session_id in self._sessions:
            self.with_session(session_id, lambda session: session.read_ahead(entry))

    def write_behind(self, session_id: str) -> None:
        """Record a session's last call, where it has gone out before; return nothing."""
        with self._lock:
            if session_id in self._sessions:
                self._sessions[session_id].write_behind()

    def report_usage(self, session_id: str, used: int | None, *, parent: str = "") -> None:
        """Note that a response has come, with so many tokens in the window after it (`None`: the host does not
        tell)."""
        with suppress(HudkitError, OSError):
            self.with_session(session_id, lambda session: session.report_usage(used), parent=parent)

    def resume(self, session_id: str, other: str) -> str:
        """Take up the task of the session `other`, of any host, once.

        Returns what is left to be resumed: nothing, or `other` where the log cannot be reached now. That there is no
        such session is logged.
        """
        try:
            self.with_session(session_id, lambda session: session.resume(other))
        except OperationError as error:
            _LOG.warning("nothing is resumed: %s", error)
        except (HudkitError, OSError):
            return other
        return ""

    def tool(
        self, session_id: str, router: str, arguments: Mapping[str, object] | str, *, parent: str = ""
    ) -> RouterReply:
        """Answer a call of one of the HUD's tools and return the answer, which says what is wrong, if anything."""
        try:
            return self.with_session(session_id, lambda session: session.tool(router, arguments), parent=parent)
        except (HudkitError, OSError) as error:
            return RouterReply(f"not recorded: {visible(str(error))}", False)

    def close(self) -> None:
        """Close the log where it was opened here; twice is harmless."""
        with self._lock:
            while self._closers:  # before the log: the index reads it
                self._closers.pop()()
            self._past = None
            for session in self._sessions.values():
                session.write_behind()
            if self._hud is not None and self._hud is not self._source:
                self._hud.close()
                self._hud = None
            self._sessions.clear()

    def _make_room(self) -> None:
        """Let go of the session that was asked about longest ago; all of it is in the log."""
        if len(self._sessions) >= MAX_OPEN_SESSIONS:
            oldest = next(iter(self._sessions))
            self.hud.forget(self._sessions.pop(oldest).session)
            if self._conversations is not None:
                self._conversations.release(oldest)

    def past_sessions(self) -> PastSessions:
        """Return what can be read of the past: this host's own conversations, then what the log's owner gave.

        Where the host keeps its conversations itself, those; else what is kept of them beside the log.
        """
        if self._past is None:
            from hudkit.transcripts.search import PastSessions

            if self._transcript is None:
                log = getattr(self.hud.log, "path", None)
                self._conversations = ConversationStore(
                    paths.conversations_path(log) if isinstance(log, Path) else None,
                    host=self.host,
                    directory=str(self.project),
                )
                self._closers.append(self._conversations.close)
            own = self._transcript or self._conversations
            assert own is not None
            others = self.hud.past or PastSessions((OwnTranscript(self.hud.log),))
            self._past = others.joined(own)
            self._closers.append(self._past.close)
        return self._past
