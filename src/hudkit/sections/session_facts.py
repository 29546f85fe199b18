"""The session: what its host tells of it, what it is linked to, and how far it has come."""

from __future__ import annotations

from typing import Protocol

import msgspec

from hudkit.compose import Density, Node, h, shorten
from hudkit.compose.formats.markdown.verbatim import verbatim
from hudkit.lazy import lazy_pattern
from hudkit.log.event import Event
from hudkit.log.payloads import FrameBase, MessagesRevert, SessionLink, SessionOffer, SessionStart
from hudkit.sections.section import KeyedRow, SectionLogic, ShownBlock

_MIN_WORDS = 3
_MIN_CHARS = 16
"""Words, or characters where words are not parted by spaces, from which on a first message says what is wanted."""

_LINKED = {
    "parent": "work for another session",
    "fork": "a copy of an earlier session",
    "resume": "goes on with an earlier session",
}
"""How a session belongs to another one."""


_TITLE_WORD = lazy_pattern(r"[^\W_]{3,}")


class _TaskText(Protocol):
    """The task of the session, as far as this module looks."""

    def __bool__(self) -> bool: ...

    @property
    def description(self) -> str: ...


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
    """`started_at` is the time of the first `session.start` (Unix ms); `offer` is there until a frame has told it.

    `first_request` is the first message that asks for something, `request` the last message.
    """

    host: str = ""
    host_session: str = ""
    title: str = ""
    agent: str = ""
    model: str = ""
    directory: str = ""
    request: str = ""
    first_request: str = ""
    started_at: int = 0
    offer: SessionOffer | None = None
    links: tuple[LinkedSession, ...] = ()


def _reduce(session: SessionFacts, event: Event) -> SessionFacts:
    match event.payload:
        case SessionStart() as start:
            # A host tells what it knows then; an empty field takes nothing back.
            filled = {name: value for name, value in msgspec.structs.asdict(start).items() if value}
            if not session.first_request and _asks(start.request):
                filled["first_request"] = start.request
            return msgspec.structs.replace(session, started_at=session.started_at or event.timestamp, **filled)
        case SessionLink(relation=relation, session_id=id, seq=seq):
            link = LinkedSession(relation, id, seq)
            if link not in session.links:
                return msgspec.structs.replace(session, links=(*session.links, link))
        case SessionOffer() as offer:
            # One without a session takes the one before it back: a task that was handed on was taken up.
            return msgspec.structs.replace(session, offer=offer if offer.session_id else None)
        case MessagesRevert() if session.title and not session.request:
            # All prompts were taken back, and the title is about one of them.
            return msgspec.structs.replace(session, title="")
        case FrameBase() if session.offer is not None:
            return msgspec.structs.replace(session, offer=None)
    return session


def _asks(message: str) -> bool:
    """Return whether a first message says what is wanted: a greeting or "go on" does not."""
    return len(message.split()) >= _MIN_WORDS or len(message) >= _MIN_CHARS


def _link_texts(links: tuple[LinkedSession, ...]) -> list[str]:
    """Return what a session belongs to, in words: an id would tell a reader nothing."""
    children = sum(link.relation == "child" for link in links)
    texts = [text for relation, text in _LINKED.items() if any(link.relation == relation for link in links)]
    if children:
        texts.append("one sub-agent" if children == 1 else f"{children} sub-agents")
    return texts


_PRIORITY, _COMPACTED_PRIORITY, _OFFER_PRIORITY = 20, 65, 82
"""How the summaries of compactions are read comes before the notes: behind many of them it would never be told. An
offer to take up a task is all that a new session has to go on."""


def _show(session: SessionFacts, compacted: _Counted, task: _TaskText, density: Density) -> tuple[ShownBlock, ...]:
    priority = _PRIORITY
    # Without a task the title stands in for it: it is not said twice.
    says_more = bool(task) and not _says_again(session.title, task.description)
    parts = [shorten(session.title, 100)] if session.title and says_more else []
    if compacted.count:
        priority = _COMPACTED_PRIORITY
        parts.append(f"{compacted.count} compaction{'s' if compacted.count > 1 else ''}: memory compactions")
    parts += _link_texts(session.links)
    if session.offer is not None and not task:
        parts.append(_offer_text(session.offer))
        priority = _OFFER_PRIORITY
    if not parts or density is Density.MINIMAL:
        return ()
    words = "; ".join(parts)
    is_full = density is Density.FULL
    nodes: tuple[Node, ...] = ()
    for n, part in enumerate(parts):
        nodes = (*nodes, "; " if n else "", *verbatim(part, first=is_full and not n, alone=False))
    if is_full:
        element = h.section(title="Session", level=2, key="session", priority=priority)[h.text[nodes]]
    else:
        element = h.text(key="session", priority=priority)["Session: ", *nodes]
    return (ShownBlock("session", priority, (element,), words),)


def _says_again(title: str, task: str) -> bool:
    """Return whether all words of a title are in the task."""
    title, task = title.casefold(), task.casefold()
    words = set(_TITLE_WORD.findall(title))
    return title in task or (bool(words) and words <= set(_TITLE_WORD.findall(task)))


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
    handles=(SessionStart, SessionLink, SessionOffer, MessagesRevert, FrameBase),
    reduce=_reduce,
    show=_show,
    rows=_no_rows,
    reads=("session", "compacted", "task"),
)
