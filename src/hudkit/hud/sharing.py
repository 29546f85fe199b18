"""A session and its subagents: what each shares with the other, copied as an event before a frame where it changed.

A child has of its parent the task, the constraints and the live decisions; a parent has of a child its live decisions
and its reports. Nothing is shared that is written in two places: each session writes to its own log only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hudkit.compose import shorten
from hudkit.errors import StoreError
from hudkit.hud.keys import relative
from hudkit.log.log import EventLog
from hudkit.log.payloads import Payload, Piece, ShareSync
from hudkit.sections.state import HudState

MOST_LINKS = 20
"""Linked sessions that are looked at, the newest."""

MOST_PIECES = 20
"""Constraints, decisions and reports of one session that are shared, the newest of each."""

LONGEST = 400
"""Characters of one of them."""


class Sharing:
    """The step before a frame for the session with `key`; `state_of` gives the state of another one by its key."""

    def __init__(self, key: str, log: EventLog, state_of: Callable[[str], HudState]) -> None:
        self._key = key
        self._log = log
        self._state_of = state_of
        self._keys: dict[str, str] = {}

    def __call__(self, state: HudState) -> Sequence[Payload]:
        links = {
            link.session_id: link.relation for link in state.session.links if link.relation in ("parent", "child")
        }
        made: list[Payload] = []
        for id, relation in list(links.items())[-MOST_LINKS:]:
            try:
                key = self._found(id)
                told = None if key is None else shares(self._state_of(key), id, relation)
            except StoreError:
                continue  # what was told stands
            known = state.shared.of(id)
            if told is not None and told.pieces != (known.pieces if known else ()):
                made.append(told)
        return made

    def _found(self, id: str) -> str | None:
        if id not in self._keys:
            key = relative(self._log.sessions(), id, self._key)
            if key is None or key == self._key:
                return None
            self._keys[id] = key
        return self._keys[id]


def shares(other: HudState, id: str, relation: str) -> ShareSync:
    """What a session shares with one to which it is the `parent` or a `child`."""
    name = other.session.agent or other.session.title
    pieces: list[Piece] = []
    if relation == "parent":
        if other.task:
            pieces.append(_piece("task", other.task.description))
        above = [one for source in other.shared.sources if source.relation == "parent" for one in source.pieces]
        pieces += [one for one in above if one.kind == "constraint"]
        pieces += [_piece("constraint", one.text, one.derived) for one in other.constraints[-MOST_PIECES:]]
    else:
        pieces += [_piece("report", one.text) for one in other.shared.reports[-MOST_PIECES:]]
    pieces += [_piece("decision", one.summary, one.derived) for one in other.decisions[-MOST_PIECES:]]
    return ShareSync(id, "parent" if relation == "parent" else "child", name, tuple(dict.fromkeys(pieces)))


def _piece(kind: str, text: str, derived: bool = False) -> Piece:
    return Piece(kind, shorten(text, LONGEST), derived)  # type: ignore[arg-type]
