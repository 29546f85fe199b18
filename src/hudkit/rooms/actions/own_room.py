"""Keeping one's own room: billboard and pace."""

from __future__ import annotations

from hudkit.errors import OperationError
from hudkit.rooms import events as e
from hudkit.rooms.actions.action import Arguments, Turn, action, checked_text


class Billboard(Arguments, frozen=True):
    message: str


class Nothing(Arguments, frozen=True):
    pass


class Wpm(Arguments, frozen=True):
    wpm: int


@action("set_billboard", Billboard, {"message": "Ideas about memory are welcome here"})
def set_billboard(turn: Turn, args: Billboard) -> None:
    """Write on the billboard of your room, which all its members see."""
    room = turn.own
    turn.effects.append(e.BillboardSet(room.id, checked_text(turn.world, args.message, "the billboard"), turn.other))


@action("clear_billboard", Nothing)
def clear_billboard(turn: Turn, _: Nothing) -> None:
    """Take the billboard of your room down."""
    room = turn.own
    if not room.billboard:
        raise OperationError("there is nothing on your billboard")
    turn.effects.append(e.BillboardSet(room.id, "", turn.other))


@action("set_wpm", Wpm, {"wpm": 80})
def set_wpm(turn: Turn, args: Wpm) -> None:
    """Set how many words a minute one may say in your room."""
    room, rules = turn.own, turn.world.rules.words
    if not rules.least_wpm <= args.wpm <= rules.most_wpm:
        raise OperationError(f"{args.wpm} words a minute", hint=f"{rules.least_wpm} to {rules.most_wpm}")
    turn.effects.append(e.WpmSet(room.id, args.wpm))
