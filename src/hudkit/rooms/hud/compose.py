"""One agent's HUD: a pure function of a world and the time."""

from __future__ import annotations

from collections.abc import Sequence

from hudkit.errors import BudgetError, OperationError
from hudkit.rooms.hud.filling import Filling, Opened
from hudkit.rooms.hud.notation import Notation
from hudkit.rooms.hud.notations import NOTATIONS
from hudkit.rooms.hud.own import own_part
from hudkit.rooms.hud.seen import Later, Omission, Section, Seen
from hudkit.rooms.hud.typesetter import Typesetter
from hudkit.rooms.world import World


def compose(world: World, agent_id: int, now: int, typeset: Typesetter, whispers: Sequence[str] = ()) -> Seen:
    """What an agent sees at `now` (Unix ms), in its format, never over the world's token budget.

    `whispers` (`Book.whispered`) are shown as `self.once`. They are in no log, so the digest is that of the HUD
    without them: the one that a replay composes.

    Raises `OperationError` where there is no such agent, `BudgetError` where what must be there does not fit.
    """
    agent = world.agents.get(agent_id)
    if agent is None:
        raise OperationError(f"there is no agent {agent_id}", hint="Agents have ids from 1; the Architect has no HUD")
    notation = NOTATIONS[agent.input_format]
    own = own_part(world, agent, now, notation, typeset, whispers)
    limit = world.rules.tokens.total
    opening = typeset.count(notation.rooms(len(agent.rooms)))
    filling = Filling(world, agent, now, limit - own.tokens - opening, notation, typeset)
    rooms = filling.rooms()
    while True:
        pieces, sections = _rooms(rooms, notation, typeset)
        rest = "".join([*own.pieces, *pieces])
        text = own.prefix.text + rest
        tokens = typeset.total(own.tokens + sum([one.tokens for one in sections]), text)
        if tokens <= limit:
            break
        _shrink(rooms, tokens, limit)
    return Seen(
        agent_id,
        now,
        notation.name,
        text,
        tokens,
        limit,
        compose(world, agent_id, now, typeset).digest if whispers else own.prefix.digest_with(rest),
        len(own.prefix.text),
        (*own.sections, *sections),
        (*own.omitted, *filling.omitted, *_unseen(rooms)),
        Later(lambda: {**own.prefix.plain, "self": own.plain, "rooms": [one.plain for one in rooms]}),
    )


def _rooms(rooms: list[Opened], notation: Notation, typeset: Typesetter) -> tuple[list[str], list[Section]]:
    """The pieces of all rooms, and what each costs."""
    count = typeset.count
    opening = notation.rooms(len(rooms))
    pieces = [opening]
    sections = [Section("rooms", count(opening))]
    for number, one in enumerate(rooms, 1):
        end = notation.end(rows=bool(one.rows), last=number == len(rooms))
        messages = notation.messages(len(one.rows))
        pieces += [part.piece for part in one.parts]
        if one.rows:
            *older, newest = one.rows
            last, tokens = typeset.ended(newest.piece, newest.tokens, notation, end)
            tokens += count(messages) + one.spent - newest.tokens
            pieces.append(messages)
            pieces += [row.piece for row in older]
            pieces.append(last)
        else:
            pieces.append(messages + end)
            tokens = count(pieces[-1])
        limit = one.metadata + one.allowance
        sections.append(
            Section(
                f"room {one.room.id}",
                one.cost + tokens,
                one.room.id,
                one.share,
                limit,
                one.cost,
                len(one.rows),
                one.visible,
            )
        )
    return pieces, sections


def _shrink(rooms: list[Opened], tokens: int, limit: int) -> None:
    """Take the oldest message away where most are shown: only with a counter by which pieces do not add up."""
    fullest = max(rooms, key=lambda one: len(one.rows), default=None)
    if fullest is None or not fullest.rows:
        raise BudgetError(
            f"the HUD needs {tokens} tokens of {limit}", hint="Raise tokens.total", need=tokens, limit=limit
        )
    fullest.spent -= fullest.rows.pop(0).tokens


def _unseen(rooms: list[Opened]) -> list[Omission]:
    return [
        Omission(f"room {one.room.id}", "messages", one.visible - len(one.rows), "older than what fits")
        for one in rooms
        if one.visible > len(one.rows)
    ]
