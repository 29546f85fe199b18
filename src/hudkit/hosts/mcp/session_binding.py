"""Which session of the log a client's calls go to, and what is done there: the half that knows nothing of MCP."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import msgspec

from hudkit.api import Hud, HudSession
from hudkit.compose import visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hosts.host_session import HostSession
from hudkit.hosts.in_process import InProcessHud
from hudkit.hud.cross_session import ResumeOffer
from hudkit.hud.session_keys import PROJECT_LOG, encode_key_part, host_id_of_key, project_of_key
from hudkit.log.event import Origin
from hudkit.log.payloads import SessionOffer
from hudkit.tools import RouterReply, call
from hudkit.tools.help import call_text

HOST = "mcp"
_TASK_OPERATIONS = ("task.resume", "task.set")
"""Calls after which an earlier task need not be offered."""

_LOG = logging.getLogger("hudkit.hosts.mcp")

T = TypeVar("T")


class RequestSession(msgspec.Struct, frozen=True):
    """The session that a request belongs to, by the name that is its own among those of MCP, the directory that its
    client works in, and what the client calls itself."""

    session: str
    project: Path
    client: str = ""

    @property
    def key(self) -> tuple[str, Path]:
        """Return what tells this session from others: its name and its directory."""
        return self.session, self.project


class _ToolAnswer(msgspec.Struct, frozen=True):
    """The answer of a tool; `key` is the session's in the log where the call changed it, else empty."""

    reply: RouterReply
    key: str = ""


class SessionBinding:
    """A server's door to the log. Safe for several threads, which take turns."""

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        session: str = "",
        project: str | os.PathLike[str] | None = None,
    ) -> None:
        """Take `hud` as `InProcessHud` does; `session` and `project` (a directory) are those of every client."""
        self.fixed = session
        self.own = session or f"mcp_{secrets.token_hex(6)}"
        """The session of the one client that a process on stdio has."""
        self.project = Path(project).absolute() if project is not None else None
        self._hud = hud
        self._attached: dict[Path, InProcessHud] = {}
        self._offered: set[tuple[str, Path]] = set()
        self._started: set[tuple[str, Path]] = set()
        self._lock = RLock()

    def tool(self, where: RequestSession, router: str, arguments: Mapping[str, object]) -> _ToolAnswer:
        """Answer a call of `hud` or `memory` and return the answer, which says whatever goes wrong."""
        try:
            with self._lock:
                return self._tool(where, router, arguments)
        except (HudkitError, OSError) as error:
            return _ToolAnswer(RouterReply(f"not recorded: {visible(str(error))}", False))
        except Exception as error:
            _LOG.exception("a call of %s failed", router)
            return _ToolAnswer(RouterReply(f"not recorded: {type(error).__name__}", False))

    def page(self, where: RequestSession, of: str = "") -> str:
        """Return the HUD as markdown: of this session, or of the one that `of` names.

        Nothing is recorded, but what holds in all sessions where this one begins. Raises `OperationError` where it
        names none or several, a `StoreError`.
        """

        def shown(host_session: HostSession, session: HudSession) -> str:
            if session is host_session.session:
                _inherit(session)
            base = session.whole_frame().base
            offer = self._offer(host_session.session) if session is host_session.session else ""
            return f"{base}\n{offer}\n" if offer else base

        return self._read(where, of, shown)

    def facts(self, where: RequestSession, of: str = "") -> dict[str, Any]:
        """Return the same as data: `session`, `seq` (of its last event) and `sections`. Raises as `page` does."""
        return self._read(
            where,
            of,
            lambda _, session: {"session": session.id, **call(session, "snapshot", origin=Origin.HOST).data},
        )

    def key(self, where: RequestSession, of: str = "") -> str:
        """Return the key in the log of a session as `page` takes it. Raises as that does."""
        return self._read(where, of, lambda _, session: session.id)

    def resume(self, where: RequestSession, other: str) -> str:
        """Take up the task of another session, as the user asks for it, and return the answer.

        Asked for again it says so, and changes nothing. Raises `OperationError` where there is no such session, and
        a `StoreError`.
        """

        def take(host_session: HostSession) -> str:
            links = [
                link.session_id for link in host_session.session.state.session.links if link.relation == "resume"
            ]
            if host_id_of_key(other) in links:
                return f"The task of {visible(host_id_of_key(other))} was taken up before."
            resumed = host_session.session.call("task.resume", {"session": other}, origin=Origin.USER).text
            self._start(where, host_session)
            return resumed

        return self._ask(where, take)

    def sessions(self, where: RequestSession, like: str = "") -> list[str]:
        """Return ids of other sessions with an open task that have `like` in their id, the newest first, those of the
        project before the others.

        Raises a `StoreError`.
        """

        def matching(host_session: HostSession) -> list[str]:
            keys = [
                key for key in reversed(host_session.session.log.sessions()) if not key.startswith(f"{PROJECT_LOG}@")
            ]
            keys = [
                key
                for key in keys
                if key != host_session.session.id and like.casefold() in host_id_of_key(key).casefold()
            ]
            keys.sort(key=lambda key: project_of_key(key) != project_of_key(host_session.session.id))
            return list(dict.fromkeys(host_id_of_key(key) for key in keys if host_session.session.other(key).task))

        return self._ask(where, matching)

    def close(self) -> None:
        """Close the logs that were opened here."""
        with self._lock:
            while self._attached:
                self._attached.popitem()[1].close()

    # -- inside ------------------------------------------------------------------------------------------------

    def _tool(self, where: RequestSession, router: str, arguments: Mapping[str, object]) -> _ToolAnswer:
        attached = self._door(where.project)
        before, offer = attached.with_session(
            where.session, lambda host_session: (host_session.session.state.seq, self._first(where, host_session))
        )
        answered = attached.tool(where.session, router, arguments)
        after = attached.with_session(where.session, lambda host_session: host_session.session.state.seq)
        if offer and arguments.get("tool") not in _TASK_OPERATIONS:
            # There is no call of ours before the first tool call: its answer is the only place where the agent can be
            # told.
            answered = msgspec.structs.replace(answered, text=f"{answered.text}\n\n{offer}")
        if after == before:
            return _ToolAnswer(answered)
        return _ToolAnswer(
            answered, attached.with_session(where.session, lambda host_session: self._start(where, host_session))
        )

    def _first(self, where: RequestSession, host_session: HostSession) -> str:
        """Return what a session is told with its first answer, once."""
        if where.key in self._offered:
            return ""
        self._offered.add(where.key)
        _inherit(host_session.session)
        return self._offer(host_session.session)

    def _offer(self, session: HudSession) -> str:
        """Return a line that tells of an earlier session of the project with an open task, where this one has none
        yet.

        What the task is, is not told: the other session may be at work in another window.
        """
        here = {name for name, _ in self._offered}
        for payload in ResumeOffer(session.id, session.log, session.other)(session.state):
            # One that is at work here, in another window of the same client, is not left behind.
            if isinstance(payload, SessionOffer) and payload.session_id not in here:
                how = call_text("hud", "task.resume", {"session": payload.session_id})
                return f"An earlier session of this project left a task open; {how} takes it up."
        return ""

    def _start(self, where: RequestSession, host_session: HostSession) -> str:
        """Tell the log once who wrote here; the session's key."""
        if where.key not in self._started:
            with suppress(HudkitError):
                host_session.session.start(host=HOST, agent=where.client, directory=str(where.project))
                self._started.add(where.key)
        return host_session.session.id

    def _ask(self, where: RequestSession, question: Callable[[HostSession], T]) -> T:
        with self._lock:
            return self._door(where.project).with_session(where.session, question)

    def _read(self, where: RequestSession, of: str, reading: Callable[[HostSession, HudSession], T]) -> T:
        def read(host_session: HostSession) -> T:
            if not of:
                return reading(host_session, host_session.session)
            hud = self._door(where.project).hud
            return reading(
                host_session, hud.session(_named(of, hud.sessions(), project_of_key(host_session.session.id)))
            )

        return self._ask(where, read)

    def _door(self, project: Path) -> InProcessHud:
        if project not in self._attached:
            self._attached[project] = InProcessHud(self._hud, host=HOST, project=project)
        return self._attached[project]


def _inherit(session: HudSession) -> None:
    """Record what holds in all sessions where this one begins; where it cannot be recorded, it goes without."""
    with suppress(HudkitError):
        session.inherit()


def _named(of: str, session_keys: tuple[str, ...], project: str) -> str:
    """Return the key of the session that is named by its key or its id, best one of the project."""
    alike = [
        key for key in session_keys if key == of or key.partition("@")[0].rpartition("/")[2] == encode_key_part(of)
    ]
    near = [key for key in alike if project_of_key(key) == project] if len(alike) > 1 else alike
    if len(near) == 1:
        return near[0]
    what = f"{len(alike)} sessions are" if alike else "no session is"
    raise OperationError(f"{what} named {visible(of[:80])!r}", hint="Name one as `hudkit show --sessions` lists it")
