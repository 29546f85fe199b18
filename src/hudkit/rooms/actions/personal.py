"""What an agent decides for itself: attention, name, sleep."""

from __future__ import annotations

from datetime import UTC, datetime

from hudkit.errors import OperationError
from hudkit.rooms import events as e
from hudkit.rooms.actions.action import Arguments, Id, Turn, action, as_said, called, checked_name
from hudkit.rooms.attention import check_share, parse_share

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int((datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).total_seconds() * 1000)


class Attend(Arguments, frozen=True):
    room_id: Id
    value: float | str


class Name(Arguments, frozen=True):
    name: str


class Sleep(Arguments, frozen=True):
    until: str


@action("set_attention", Attend, {"room_id": 8, "value": "30%"})
def set_attention(turn: Turn, args: Attend) -> None:
    """Set the share of the messages that you see which are of a room: a percentage, or %* for a share of the rest."""
    me = turn.me
    if args.room_id not in me.rooms:
        raise OperationError(
            f"you are in no room {args.room_id}", hint=f"Your rooms: {', '.join(map(str, me.rooms))}"
        )
    percent = parse_share(args.value)
    check_share(me.attention, args.room_id, percent)
    turn.effects.append(e.AttentionSet(turn.place, args.room_id, percent))


@action("set_name", Name, {"name": "Ann"})
def set_name(turn: Turn, args: Name) -> None:
    """Change your name."""
    me = turn.me
    name = checked_name(turn.world, args.name, me.id)
    if name == me.name:
        raise OperationError(f"your name is {name!r}")
    before = called(turn.world, me.id)
    turn.effects.append(e.AgentAltered(me.id, turn.by, name=name))
    turn.say(me.id, f"{before} is now called {as_said(name)}.")


@action("sleep", Sleep, {"until": "2026-01-15T14:30:00Z"})
def sleep(turn: Turn, args: Sleep) -> None:
    """Have no beats until a time (UTC where it names no zone); being named, answered or woken ends it."""
    until = _moment(args.until)
    if until > _LAST:
        raise OperationError(f"{args.until!r:.40} is too late a time", hint="Until the year 9999")
    if until <= turn.now:
        now = datetime.fromtimestamp(turn.now / 1000, UTC)
        raise OperationError(f"{args.until!r:.40} is not ahead", hint=f"It is {now:%Y-%m-%dT%H:%M:%SZ} now")
    turn.effects.append(e.AgentSlept(turn.me.id, until))


def _moment(text: str) -> int:
    """A time of ISO 8601 in Unix ms."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return int((moment - _EPOCH).total_seconds() * 1000)
    except (ValueError, OverflowError):
        raise OperationError(f"{text!r:.40} is no time", hint="Such as 2026-01-15T14:30:00Z") from None
