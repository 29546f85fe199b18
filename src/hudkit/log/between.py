"""The words of the log between sessions: what one offers, shares with or reports to another; a project's defaults."""

from __future__ import annotations

from typing import Literal

import msgspec

from hudkit.log.payload import Payload

__all__ = ["Piece", "ProjectSet", "SessionOffer", "ShareReport", "ShareSync"]


class SessionOffer(Payload, frozen=True, tag="session.offer"):
    """An earlier session of the project has an open `task`, with so many open `steps`; it last worked at `at`."""

    session_id: str
    task: str
    steps: int = 0
    at: int = 0


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that a session shares: a task, constraint, decision, or a report; `derived` as it was there."""

    kind: Literal["task", "constraint", "decision", "report"]
    text: str
    derived: bool = False


class ShareSync(Payload, frozen=True, tag="share.sync"):
    """What a linked session shares with this one is this now, whole: the state of its parent, or a child's results.
    `name` is what it goes by."""

    session_id: str
    relation: Literal["parent", "child"]
    name: str = ""
    pieces: tuple[Piece, ...] = ()


class ShareReport(Payload, frozen=True, tag="share.report"):
    """A result of this session, for its parent."""

    text: str


class ProjectSet(Payload, frozen=True, tag="project.set"):
    """A project's defaults, whole. They are kept in a log of the project's own and copied (`inherited`) into those of
    its sessions; `agents` are the texts that an agent set."""

    project: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    inherited: bool = False
