"""World files: TOML that says who is in a new world, in which rooms, by which rules; and the one that ships."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from hudkit.config import parse
from hudkit.errors import ConfigError, OperationError
from hudkit.models import Effort
from hudkit.rooms import MAX_SEED
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import IMPROVISER_MODEL
from hudkit.rooms.world import WorldRules
from hudkit.rooms.world_events import AgentKind, AnswerSettings, HudFormat
from hudkit.rooms.world_log import WorldLog

_File = TypeVar("_File", bound=msgspec.Struct)

_MAX_FILE_BYTES = 64 * 1024 * 1024
"""Bytes of a world file: a hundred thousand agents with a background of a few sentences are 35 million."""


_FORMAT_ALIASES = {"compact_json": "compact"}
"""Names of formats that stand for others: document 003 calls it so."""


class _AgentEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent that is there from the beginning. `rooms` are those of other agents, by their names; `interval`:
    seconds between beats; `billboard` and `wpm` are its own room's; `knowledge` is what it remembers.
    `temperature`, `effort` and `max_output` (tokens) are how its model answers."""

    background: str
    name: str = ""
    kind: AgentKind = "persona"
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    interval: Annotated[float, Meta(gt=0)] | None = None
    can_create: bool = False
    input_format: HudFormat = "json"
    output_format: Literal["json", "toon"] = "json"
    rooms: tuple[str, ...] = ()
    billboard: str = ""
    wpm: Annotated[int, Meta(ge=1)] | None = None
    knowledge: dict[str, Any] = {}
    temperature: float | None = None
    effort: Effort | None = None
    max_output: int | None = None


class _MessageEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that the Architect says at the beginning, in the room of the agent of that name."""

    room: str
    text: str


class WorldFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A world to be made. `model` is that of agents who name none; `seed` decides all chance."""

    agents: tuple[_AgentEntry, ...] = ()
    name: str = ""
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)] = 0
    model: Annotated[str, Meta(min_length=1, max_length=200)] = IMPROVISER_MODEL
    rules: WorldRules = WorldRules()
    messages: tuple[_MessageEntry, ...] = ()
    answers: AnswerSettings = AnswerSettings()
    """How models answer, for agents that say nothing else."""


def island_table() -> Mapping[str, Any]:
    """Return the founding file of the world that comes with hudkit, as TOML gives it."""
    return parse((files("hudkit.rooms") / "world_files" / "island.toml").read_text(encoding="utf-8"), "island.toml")


def island_world() -> WorldFile:
    """Return the world that comes with hudkit: three personas and two bots, played by the improviser."""
    return parse_world_table(island_table(), "island.toml")


def read_world_file(path: Path) -> WorldFile:
    """Return the world in a TOML file.

    Raises `ConfigError` with the place, and the nearest right key for a wrong one.
    """
    return parse_world_table(read_toml_table(path), str(path))


def read_toml_table(path: Path) -> Mapping[str, Any]:
    """Return the table in a TOML file that describes a world or an experiment. Raises `ConfigError`."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="Name a TOML file of a world") from None
    if len(raw) > _MAX_FILE_BYTES:
        raise ConfigError(
            f"{path} is larger than {_MAX_FILE_BYTES // 1024**2} MiB", hint="Is it the file of a world?"
        )
    try:
        # Editors on Windows begin a file with a byte-order mark, which TOML does not know.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8", hint="Save it as UTF-8") from None
    return parse(text, str(path))


def convert_table(table: Mapping[str, Any], kind: type[_File], where: str) -> _File:
    """Return a table as TOML gives it as a struct.

    Raises `ConfigError` with the nearest right key for a wrong one.
    """
    # Before the conversion, whose errors name a path but not what was probably meant.
    _check_keys(table, kind, where, "")
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {str(error).replace('`$.', '`')}") from None


def parse_world_table(table: Mapping[str, Any], where: str) -> WorldFile:
    """Return the world of a table as TOML gives it. Raises `ConfigError` naming what is wrong in `where`."""
    world_file = convert_table(_with_own_names(table), WorldFile, where)
    if not world_file.agents:
        raise ConfigError(
            f"{where} has no agents", hint="Each begins with [[agents]], and has a name and a background"
        )
    _rooms_by_agent(world_file, where)  # raises where a room is nobody's
    return world_file


def _with_own_names(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a world's table with hudkit's names of formats."""
    agents = table.get("agents")
    if not isinstance(agents, list):
        return dict(table)
    named = [
        {**agent, "input_format": _FORMAT_ALIASES[agent["input_format"]]}
        if isinstance(agent, dict) and agent.get("input_format") in _FORMAT_ALIASES
        else agent
        for agent in agents
    ]
    return {**table, "agents": named}


def populate_world(world_log: WorldLog, world_file: WorldFile, where: str = "the world file") -> None:
    """Let the agents of a world file live in a new world, which has its rules and seed already.

    Raises `ConfigError` naming the agent of whom something cannot be; what came before it has happened then.
    """
    architect = Architect(world_log)
    rooms = _rooms_by_agent(world_file, where)
    for number, entry in enumerate(world_file.agents, 1):
        try:
            # Only rooms that exist already; the others follow when everybody is there.
            earlier_rooms = tuple(room for room in rooms[number] if room < number)
            _make_agent(architect, entry, world_file, earlier_rooms)
        except OperationError as error:
            raise _entry_error(where, f"agent {number}", error) from None
    for number, agent_rooms in rooms.items():
        for room in agent_rooms:
            if room > number:
                architect.admit(number, room)
    numbers = numbers_by_name(world_file)
    for message in world_file.messages:
        try:
            architect.say(numbers[message.room.casefold()], message.text)
        except OperationError as error:
            raise _entry_error(where, f"the message in {message.room!r}", error) from None


def _make_agent(architect: Architect, entry: _AgentEntry, world_file: WorldFile, rooms: tuple[int, ...]) -> None:
    own = {name: value for name in AnswerSettings.__struct_fields__ if (value := getattr(entry, name)) is not None}
    id = architect.make_agent(
        entry.kind,
        entry.name,
        entry.background,
        entry.model or world_file.model,
        can_create=entry.can_create,
        input_format=entry.input_format,
        output_format=entry.output_format,
        interval=entry.interval,
        answers=msgspec.convert({**msgspec.to_builtins(world_file.answers), **own}, AnswerSettings),
        rooms=rooms,
    )
    if entry.billboard:
        architect.set_billboard(id, entry.billboard)
    if entry.wpm is not None:
        architect.set_wpm(id, entry.wpm)
    for path, value in entry.knowledge.items():
        architect.teach(id, path, msgspec.to_builtins(value))


def _entry_error(where: str, entry: str, error: OperationError) -> ConfigError:
    return ConfigError(f"{where}: {entry}: {error.message}", hint=error.hint)


def _name_of(entry: _AgentEntry, number: int) -> str:
    """Return the name that an agent will have: a bot may come without one, and is called after its number."""
    return entry.name or f"Bot-{number}"


def numbers_by_name(world_file: WorldFile) -> dict[str, int]:
    """Return the numbers that the agents of a world file will have, by their names in lower case."""
    return {_name_of(entry, number).casefold(): number for number, entry in enumerate(world_file.agents, 1)}


def _rooms_by_agent(world_file: WorldFile, where: str) -> dict[int, tuple[int, ...]]:
    """Return the rooms that each agent is let into. Raises `ConfigError` for the room of one who is not there."""
    numbers = numbers_by_name(world_file)
    references: list[tuple[str, str]] = []
    for number, entry in enumerate(world_file.agents, 1):
        references += [(f"agent {number} ({entry.name})", room) for room in entry.rooms]
    references += [("a message", message.room) for message in world_file.messages]
    for who, room in references:
        if room.casefold() not in numbers:
            names = [_name_of(entry, number) for number, entry in enumerate(world_file.agents, 1)]
            raise ConfigError(f"{where}: {who} names the room of {room!r}", hint=_nearest(room, names))
    rooms: dict[int, tuple[int, ...]] = {}
    for number, entry in enumerate(world_file.agents, 1):
        # Each once, in their order: the order in which an agent comes is that of rooms in its HUD.
        others = dict.fromkeys(numbers[room.casefold()] for room in entry.rooms)
        rooms[number] = tuple(room for room in others if room != number)
    return rooms


def _check_keys(table: Mapping[str, Any], kind: type[msgspec.Struct], where: str, place: str) -> None:
    """Raise `ConfigError` for the first key that a struct does not have.

    msgspec would refuse it, too, but would not say which key was meant.
    """
    keys = _keys_of(kind)
    for name, value in table.items():
        if name not in keys:
            within = f", [{place}]" if place else ""
            raise ConfigError(f"{where}{within} has no key {name[:60]!r}", hint=_nearest(name, list(keys)), key=name)
        inner = keys[name]
        if inner is None:
            continue
        path = f"{place}.{name}" if place else name
        several = value if isinstance(value, list) else [value]
        for number, item in enumerate(several, 1):
            if isinstance(item, Mapping):
                _check_keys(item, inner, where, f"{path}, number {number}" if isinstance(value, list) else path)


@cache
def _keys_of(kind: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct] | None]:
    """Return the keys of a struct, each with the struct that is in it, or in the list in it."""
    keys = {}
    for field in msgspec.structs.fields(kind):
        parts = (field.type, *get_args(field.type))
        keys[field.encode_name] = next((part for part in parts if _is_struct(part)), None)
    return keys


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _nearest(word: str, choices: list[str]) -> str:
    """Return a hint: what was probably meant, or what there is."""
    near = get_close_matches(word[:60], choices, 1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(choices[:20])}"
