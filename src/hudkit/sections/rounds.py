"""What the last compactions freed, as the host reported it, and whether the agent was told."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, CompactUndone, ContextSnapshot

KEPT = 5
"""Compactions that are remembered."""


class Round(msgspec.Struct, frozen=True, omit_defaults=True):
    """A compaction: its event, and the tokens in use as reported before it and first after it (`None`: not known, or
    not yet); `call` counts the model calls of the session up to it."""

    seq: int
    before: int | None = None
    after: int | None = None
    limit: int | None = None
    call: int = 0


class Rounds(msgspec.Struct, frozen=True, omit_defaults=True):
    """`last` in order; `calls` and `used` as of now; `told`: the event of the newest compaction of which a turn has
    begun since its figures are known."""

    last: tuple[Round, ...] = ()
    calls: int = 0
    used: int | None = None
    limit: int | None = None
    told: int = 0


HANDLES = (ContextSnapshot, CompactAfter, CompactUndone)

_replace = msgspec.structs.replace


def reduce(rounds: Rounds, event: Event) -> Rounds:
    match event.payload:
        case CompactAfter():
            new = Round(event.seq, rounds.used, None, rounds.limit, rounds.calls)
            return _replace(rounds, last=(*rounds.last, new)[-KEPT:], used=None)
        case CompactUndone(seq=seq):
            return _replace(rounds, last=tuple(one for one in rounds.last if one.seq < seq), used=None)
        case ContextSnapshot() as taken:
            return _taken(rounds, taken)
    return rounds


def _taken(rounds: Rounds, taken: ContextSnapshot) -> Rounds:
    last = rounds.last[-1] if rounds.last else None
    changes: dict[str, object] = {}
    if taken.call is not None:
        changes["calls"] = rounds.calls + 1
        if last is not None and last.after is not None and taken.call.turn_start:
            changes["told"] = last.seq
    if last is not None and taken.late is not None:
        changes["last"] = (*rounds.last[:-1], _replace(last, before=taken.late))
    if taken.limit_tokens:
        changes["limit"] = taken.limit_tokens
    if taken.used_tokens is not None:
        changes["used"] = taken.used_tokens
        if last is not None and last.after is None:
            limit = last.limit or taken.limit_tokens
            changes["last"] = (*rounds.last[:-1], _replace(last, after=taken.used_tokens, limit=limit))
    return _replace(rounds, **changes) if changes else rounds
