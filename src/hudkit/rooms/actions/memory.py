"""Writing into an agent's own memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.rooms import events as e
from hudkit.rooms.actions.action import Arguments, Turn, action
from hudkit.rooms.knowledge import MOST_DEPTH, appended, check_way, removed, stored, text_of
from hudkit.tokens import count

Path = Annotated[str, Meta(min_length=1)]
Weight = Annotated[float, Meta(ge=0, le=1)]


class Set(Arguments, frozen=True):
    path: Path
    value: Any
    w: Weight | None = None


class Append(Arguments, frozen=True):
    path: Path
    value: Any


class Delete(Arguments, frozen=True):
    path: Path


@action("set", Set, {"path": "people.Bob.trust", "value": 0.8, "w": 0.9})
def set_value(turn: Turn, args: Set) -> None:
    """Write a value at a path of your memory, with a weight if you like."""
    value, weight = args.value, args.w
    if isinstance(value, Mapping) and value.keys() == {"v", "w"}:
        value, weight = value["v"], _weight(value["w"])
    value = _plain(value)
    check_way(turn.me.knowledge, args.path)
    _check(turn, stored(turn.me.knowledge, args.path, value))
    turn.effects.append(e.KnowledgeSet(turn.place, args.path, value, weight, turn.other))


@action("delete", Delete, {"path": "people.Bob.trust"})
def delete(turn: Turn, args: Delete) -> None:
    """Remove what is at a path of your memory."""
    removed(turn.me.knowledge, args.path)
    turn.effects.append(e.KnowledgeDeleted(turn.place, args.path))


@action("append", Append, {"path": "goals", "value": "Learn how rooms work"})
def append(turn: Turn, args: Append) -> None:
    """Add a value to the end of a list in your memory."""
    value = _plain(args.value)
    check_way(turn.me.knowledge, args.path, appending=True)
    _check(turn, appended(turn.me.knowledge, args.path, value))
    turn.effects.append(e.KnowledgeAppended(turn.place, args.path, value))


def tokens_of(knowledge: Mapping[str, Any], counted: Callable[[str], int] = count) -> int:
    """The tokens of a memory, as `memory_used` counts them."""
    return counted(text_of(knowledge))


def _check(turn: Turn, tree: dict[str, Any]) -> None:
    most = turn.world.rules.tokens.knowledge
    text = text_of(tree)
    if len(text.encode()) <= most:  # no token is shorter than a byte
        return
    need = count(text)
    if need > most and need > tokens_of(turn.me.knowledge):
        raise OperationError(
            f"your memory would have {need} tokens, {most} at most", hint="Delete or shorten something first"
        )


def _weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise OperationError(f"the weight is {value!r:.40}", hint="A number from 0 to 1")
    return float(value)


def _plain(value: Any, levels: int = MOST_DEPTH) -> Any:
    """A value that every format can say. Raises `OperationError` where it is nested too deeply."""
    if isinstance(value, dict | list) and not levels:
        raise OperationError("the value is nested too deeply", hint=f"{MOST_DEPTH} levels at most")
    if isinstance(value, dict):
        return {key: _plain(one, levels - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, levels - 1) for one in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OperationError(f"{value:.3e} is too large a number", hint="Write it as a text")
    return 0 if isinstance(value, float) and value == 0 else value  # TOON has no negative zero
