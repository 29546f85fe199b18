"""The session: what its host tells of it, what it is linked to, and how far it has come."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import FrameBase, SessionLink, SessionOffer, SessionStart


class Link(msgspec.Struct, frozen=True):
    relation: str
    session_id: str
    seq: int = 0


class SessionFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """`started_at` is the time of the first `session.start` (Unix ms); `offer` is there until a frame has told it."""

    host: str = ""
    host_session: str = ""
    title: str = ""
    agent: str = ""
    model: str = ""
    directory: str = ""
    request: str = ""
    started_at: int = 0
    offer: SessionOffer | None = None
    links: tuple[Link, ...] = ()


HANDLES = (SessionStart, SessionLink, SessionOffer, FrameBase)


def reduce(session: SessionFacts, event: Event) -> SessionFacts:
    match event.payload:
        case SessionStart() as told:
            filled = {name: value for name, value in msgspec.structs.asdict(told).items() if value}
            return msgspec.structs.replace(session, started_at=session.started_at or event.timestamp, **filled)
        case SessionLink(relation=relation, session_id=id, seq=seq):
            link = Link(relation, id, seq)
            if link not in session.links:
                return msgspec.structs.replace(session, links=(*session.links, link))
        case SessionOffer() as offer:
            return msgspec.structs.replace(session, offer=offer)
        case FrameBase() if session.offer is not None:
            return msgspec.structs.replace(session, offer=None)
    return session
