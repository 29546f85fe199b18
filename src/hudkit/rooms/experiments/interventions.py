"""What an experiment does to a world from outside, at a beat or a minute that its file names.

An intervention is one method of the Architect's, and the event that names it is in the same transaction. So the log
says which of them were made, also where a process was killed right behind one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.errors import ConfigError, OperationError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.world_file import WorldFile, numbers_by_name
from hudkit.rooms.world_log import WorldLog


class _Say(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    room: str
    text: str


class _Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent: str
    room: str


class _Alteration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent: str
    name: str | None = None
    background: str | None = None
    model: str | None = None
    answers: e.AnswerSettings | None = None


class _Lesson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent: str
    path: str
    value: Any


class _Somebody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent: str


class ModelFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The next `beats` answers of a model are errors."""

    model: str
    beats: Annotated[int, Meta(ge=1)] = 1


class Intervention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that happens before the world's beat number `beat` + 1, or `minute` minutes after it began."""

    beat: Annotated[int, Meta(ge=0)] | None = None
    minute: Annotated[float, Meta(ge=0)] | None = None
    say: _Say | None = None
    admit: _Place | None = None
    remove: _Place | None = None
    alter: _Alteration | None = None
    teach: _Lesson | None = None
    retire: _Somebody | None = None
    wake: _Somebody | None = None
    fail: ModelFailure | None = None


ACTIONS = ("say", "admit", "remove", "alter", "teach", "retire", "wake", "fail")


def intervention_text(intervention: Intervention) -> str:
    """Return an intervention in words: `beat 20: say in Ada's room: MILL or FARM?`"""
    moment = f"beat {intervention.beat}" if intervention.beat is not None else f"minute {intervention.minute:g}"
    match intervention:
        case Intervention(say=_Say(room=room, text=text)):
            words = f"say in {room}'s room: {text}"
        case Intervention(admit=_Place(agent=agent, room=room)):
            words = f"admit {agent} to {room}'s room"
        case Intervention(remove=_Place(agent=agent, room=room)):
            words = f"remove {agent} from {room}'s room"
        case Intervention(alter=_Alteration() as change):
            changed = [
                name for name in ("name", "background", "model", "answers") if getattr(change, name) is not None
            ]
            words = f"alter {change.agent}: {', '.join(changed)}"
        case Intervention(teach=_Lesson(agent=agent, path=path)):
            words = f"teach {agent} {path}"
        case Intervention(retire=_Somebody(agent=agent)):
            words = f"retire {agent}"
        case Intervention(wake=_Somebody(agent=agent)):
            words = f"wake {agent}"
        case Intervention(fail=ModelFailure(model=model, beats=beats)):
            words = f"fail {model} for {beats} answers"
        case _:
            words = "nothing"
    return f"{moment}: {words}"


def check_interventions(interventions: Iterable[Intervention], founding: WorldFile, where: str) -> None:
    """Raise `ConfigError` for one without a time or an action, and for somebody who is not in the founding."""
    names = numbers_by_name(founding)
    for number, intervention in enumerate(interventions, 1):
        place = f"{where}: intervention {number}"
        if (intervention.beat is None) == (intervention.minute is None):
            raise ConfigError(f"{place} needs either a beat or a minute", hint="beat = 20, or minute = 1.5")
        actions = [name for name in ACTIONS if getattr(intervention, name) is not None]
        if len(actions) != 1:
            some = " and ".join(actions) or "nothing"
            raise ConfigError(f"{place} does {some}", hint=f"One of {', '.join(ACTIONS)}; make two of two")
        action = getattr(intervention, actions[0])
        for key in ("agent", "room"):
            name = getattr(action, key, None)
            if name is not None and name.casefold() not in names:
                there = ", ".join(entry.name for entry in founding.agents if entry.name)
                raise ConfigError(f"{place}: nobody is called {name!r}", hint=f"There are: {there}")


def interventions_made(world_log: WorldLog) -> frozenset[int]:
    """Return the numbers of the interventions that a log has."""
    return frozenset(event.number for _, event in world_log.events() if isinstance(event, e.InterventionMade))


def intervene(
    world_log: WorldLog,
    number: int,
    intervention: Intervention,
    numbers: Mapping[str, int],
    clock: Callable[[], int],
    fail: Callable[[ModelFailure], None],
) -> None:
    """Do an intervention, and record it with its number. One that cannot be done is recorded with the reason.

    `numbers` are those of agents by the names that they were founded with: they may have others by now. `clock` gives
    the world's time, `fail` is told which model fails.
    """
    text = intervention_text(intervention)
    architect = Architect(world_log, clock, reason=e.InterventionMade(number, text))
    try:
        if intervention.fail is not None:
            fail(intervention.fail)
            _record(world_log, clock, number, text)
        else:
            _do(architect, numbers, intervention)
    except OperationError as error:
        # It may have become impossible on the way: its agent retired, or is in that room already.
        _record(world_log, clock, number, f"{text} – not done: {error}")


def _record(world_log: WorldLog, clock: Callable[[], int], number: int, text: str) -> None:
    with world_log.transaction(Origin.USER, timestamp=clock()) as transaction:
        transaction.append(e.InterventionMade(number, text))


def _do(architect: Architect, numbers: Mapping[str, int], intervention: Intervention) -> None:
    def number_of(name: str) -> int:
        return numbers[name.casefold()]

    match intervention:
        case Intervention(say=_Say(room=room, text=text)):
            architect.say(number_of(room), text)
        case Intervention(admit=_Place(agent=agent, room=room)):
            architect.admit(number_of(agent), number_of(room))
        case Intervention(remove=_Place(agent=agent, room=room)):
            architect.remove(number_of(agent), number_of(room))
        case Intervention(alter=_Alteration() as change):
            architect.alter(
                number_of(change.agent),
                name=change.name,
                background=change.background,
                model=change.model,
                answers=change.answers,
            )
        case Intervention(teach=_Lesson(agent=agent, path=path, value=value)):
            architect.teach(number_of(agent), path, value)
        case Intervention(retire=_Somebody(agent=agent)):
            architect.retire(number_of(agent))
        case Intervention(wake=_Somebody(agent=agent)):
            architect.wake(number_of(agent))
