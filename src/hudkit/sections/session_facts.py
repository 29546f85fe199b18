"""The session: what its host tells of it, what it is linked to, and how far it has come."""

from __future__ import annotations

from typing import Protocol

import msgspec

from hudkit.compose import Density, Element, h, shorten
from hudkit.log.event import Event
from hudkit.log.payloads import FrameBase, SessionLink, SessionOffer, SessionStart
from hudkit.sections.section import KeyedRow, SectionLogic, SectionView


class _Counted(Protocol):
    """The compactions of the session, as far as this module looks: their own module reads this one."""

    @property
    def count(self) -> int: ...


class LinkedSession(msgspec.Struct, frozen=True):
    """Another session that this one belongs to, as of its event `seq`."""

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
    links: tuple[LinkedSession, ...] = ()


def _reduce(session: SessionFacts, event: Event) -> SessionFacts:
    match event.payload:
        case SessionStart() as start:
            # A host tells what it knows then; an empty field takes nothing back.
            filled = {name: value for name, value in msgspec.structs.asdict(start).items() if value}
            return msgspec.structs.replace(session, started_at=session.started_at or event.timestamp, **filled)
        case SessionLink(relation=relation, session_id=id, seq=seq):
            link = LinkedSession(relation, id, seq)
            if link not in session.links:
                return msgspec.structs.replace(session, links=(*session.links, link))
        case SessionOffer() as offer:
            return msgspec.structs.replace(session, offer=offer)
        case FrameBase() if session.offer is not None:
            return msgspec.structs.replace(session, offer=None)
    return session


def _show(session: SessionFacts, compacted: _Counted, task: object, view: SectionView) -> Element | None:
    if view.density is not Density.FULL:
        return None
    # Without a task the title stands in for it: it is not said twice.
    parts = [shorten(session.title, 100)] if session.title and task else []
    if compacted.count:
        parts.append("compacted once" if compacted.count == 1 else f"compacted {compacted.count} times")
    parts += [f"{link.relation} {link.session_id}" for link in session.links]
    if session.offer is not None and not task:
        parts.append(_offer_text(session.offer))
    if not parts:
        return None
    heading = h.section(title=view.spec.title, level=2, key="session", priority=view.spec.priority)
    return heading[h.text["; ".join(parts)]]


def _offer_text(offer: SessionOffer) -> str:
    steps = ""
    if offer.steps:
        steps = ", one step open" if offer.steps == 1 else f", {offer.steps} steps open"
    task = shorten(" ".join(offer.task.split()), 160)
    return (
        f'an earlier session left its task open: "{task}"{steps}; '
        f'task.resume {{"session": "{offer.session_id}"}} takes it up'
    )


def _no_rows(*_fields: object) -> tuple[KeyedRow, ...]:
    """Return the rows of a section whose changes are told by the next base only: none."""
    return ()


LOGIC = SectionLogic(
    handles=(SessionStart, SessionLink, SessionOffer, FrameBase),
    reduce=_reduce,
    show=_show,
    rows=_no_rows,
    reads=("session", "compacted", "task"),
)
