"""Which deltas are where they were sent: the transcript's anchors against those of the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from hudkit.errors import ConfigError

FORMS = {"tool": "tool", "user": "user"}
"""How a delta is carried, by the role of the message that it is anchored to."""


class Message(msgspec.Struct, frozen=True):
    """A message of a host's transcript, as far as frames need it: its opaque anchor and its role
    (`user`, `assistant` or `tool`)."""

    anchor: str
    role: str = "user"


class Place(msgspec.Struct, frozen=True):
    """Where a call stands: the anchors in its transcript, the last one and its form, and whether a turn starts.

    `anchors` is `None` where the host gives no transcript: then nothing is ever missing from it.
    """

    anchors: frozenset[str] | None
    last: str
    form: str
    turn_start: bool


def place(transcript: Sequence[Message | tuple[str, str] | str] | None) -> Place:
    """Read a transcript: messages in order, each a `Message`, an `(anchor, role)` pair, or an anchor alone
    (then of a user's message). Without one, the call is taken for the start of a turn."""
    if transcript is None:
        return Place(None, "end", "user", True)
    messages = [_message(entry, n) for n, entry in enumerate(transcript)]
    if not messages:
        return Place(frozenset(), "start", "user", True)
    last = messages[-1]
    return Place(
        frozenset(m.anchor for m in messages), last.anchor, FORMS.get(last.role, "user"), last.role == "user"
    )


def _message(entry: Message | tuple[str, str] | str, n: int) -> Message:
    match entry:
        case Message():
            return entry
        case str():
            return Message(entry)
        case (str() as anchor, str() as role):
            return Message(anchor, role)
    raise ConfigError(f"transcript[{n}] is {entry!r:.60}", hint="Give a Message, an (anchor, role) pair or an anchor")


def shown(anchors: Iterable[tuple[str, str]], where: Place) -> tuple[str, ...]:
    """Of recorded deltas as `(id, anchor)` in order: the ids whose anchors are in the transcript."""
    return tuple(id for id, anchor in anchors if where.anchors is None or anchor in where.anchors)
