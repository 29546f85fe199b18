"""Founding a world: a TOML file that says who is there, in which rooms, by which rules; and the one that ships."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from hudkit.config import parse
from hudkit.errors import ConfigError, OperationError
from hudkit.rooms.architect import Architect
from hudkit.rooms.players import IMPROVISER_MODEL
from hudkit.rooms.world import WorldRules
from hudkit.rooms.world_events import AgentKind, HudFormat
from hudkit.rooms.world_log import WorldLog

MAX_FILE_BYTES = 4 * 1024 * 1024
"""Bytes of a founding file."""
MAX_SEED = 2**53
"""Larger seeds would not survive JSON."""


class AgentEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent that is there from the beginning. `rooms` are those of other agents, by their names; `interval`:
    seconds between beats; `billboard` and `wpm` are its own room's; `knowledge` is what it remembers."""

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


class MessageEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that the Architect says at the beginning, in the room of the agent of that name."""

    room: str
    text: str


class WorldFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A world to be. `model` is that of agents who name none; `seed` decides all chance."""

    agents: tuple[AgentEntry, ...] = ()
    name: str = ""
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)] = 0
    model: Annotated[str, Meta(min_length=1, max_length=200)] = IMPROVISER_MODEL
    rules: WorldRules = WorldRules()
    messages: tuple[MessageEntry, ...] = ()


def island_world() -> WorldFile:
    """The world that comes with hudkit: three personas and two bots, played by the improviser."""
    text = (files("hudkit.rooms") / "world_files" / "island.toml").read_text(encoding="utf-8")
    return parse_world_table(parse(text, "island.toml"), "island.toml")


def read_world_file(path: Path) -> WorldFile:
    """The founding in a TOML file. Raises `ConfigError` with the place, and the nearest right key for a wrong one."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="Name a TOML file of a world") from None
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_FILE_BYTES // 1024**2} MiB", hint="Is it the file of a world?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8", hint="Save it as UTF-8") from None
    return parse_world_table(parse(text, str(path)), str(path))


def parse_world_table(table: Mapping[str, Any], where: str) -> WorldFile:
    """The founding that a table as TOML gives it is. Raises `ConfigError` naming what is wrong in `where`."""
    _check_keys(table, WorldFile, where, "")
    try:
        made = msgspec.convert(table, WorldFile)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {str(error).replace('`$.', '`')}") from None
    if not made.agents:
        raise ConfigError(
            f"{where} has no agents", hint="Each begins with [[agents]], and has a name and a background"
        )
    _rooms_of(made, where)
    return made


def populate_world(book: WorldLog, founding: WorldFile, where: str = "the founding") -> None:
    """Let the agents of a founding live in a new world, whose rules and seed are those of its book.

    Raises `ConfigError` naming the agent of whom something cannot be; what came before it has happened then.
    """
    architect = Architect(book)
    rooms = _rooms_of(founding, where)
    for number, one in enumerate(founding.agents, 1):
        try:
            id = architect.make_agent(
                one.kind,
                one.name,
                one.background,
                one.model or founding.model,
                can_create=one.can_create,
                input_format=one.input_format,
                output_format=one.output_format,
                interval=one.interval,
                rooms=tuple(room for room in rooms[number] if room < number),
            )
            if one.billboard:
                architect.billboard(id, one.billboard)
            if one.wpm is not None:
                architect.wpm(id, one.wpm)
            for path, value in one.knowledge.items():
                architect.teach(id, path, msgspec.to_builtins(value))
        except OperationError as error:
            raise _wrong(where, f"agent {number}", error) from None
    for number, there in rooms.items():
        for room in there:
            if room > number:
                architect.admit(number, room)
    for said in founding.messages:
        try:
            architect.say(_numbers(founding)[said.room.casefold()], said.text)
        except OperationError as error:
            raise _wrong(where, f"the message in {said.room!r}", error) from None


def _wrong(where: str, what: str, error: OperationError) -> ConfigError:
    return ConfigError(f"{where}: {what}: {error.message}", hint=error.hint)


def _numbers(founding: WorldFile) -> dict[str, int]:
    return {(one.name or f"Bot-{id}").casefold(): id for id, one in enumerate(founding.agents, 1)}


def _rooms_of(founding: WorldFile, where: str) -> dict[int, tuple[int, ...]]:
    """The rooms that each agent is let into. Raises `ConfigError` for one of an agent that is not there."""
    numbers = _numbers(founding)
    named = [(f"agent {id} ({one.name})", room) for id, one in enumerate(founding.agents, 1) for room in one.rooms]
    for who, room in (*named, *(("a message", one.room) for one in founding.messages)):
        if room.casefold() not in numbers:
            there = [one.name or f"Bot-{id}" for id, one in enumerate(founding.agents, 1)]
            raise ConfigError(f"{where}: {who} names the room of {room!r}", hint=_nearest(room, there))
    found: dict[int, tuple[int, ...]] = {}
    for id, one in enumerate(founding.agents, 1):
        others = dict.fromkeys(numbers[room.casefold()] for room in one.rooms)
        found[id] = tuple(room for room in others if room != id)
    return found


def _check_keys(table: Mapping[str, Any], kind: type[msgspec.Struct], where: str, place: str) -> None:
    """Raise `ConfigError` for the first key that a struct does not have."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name not in fields:
            within = f", [{place}]" if place else ""
            raise ConfigError(
                f"{where}{within} has no key {name[:60]!r}", hint=_nearest(name, list(fields)), key=name
            )
        inner = next((one for one in (fields[name], *get_args(fields[name])) if _is_struct(one)), None)
        if inner is None:
            continue
        path = f"{place}.{name}" if place else name
        several = value if isinstance(value, list) else [value]
        for number, one in enumerate(several, 1):
            if isinstance(one, Mapping):
                _check_keys(one, inner, where, f"{path}, number {number}" if isinstance(value, list) else path)


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _nearest(word: str, known: list[str]) -> str:
    near = get_close_matches(word[:60], known, 1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known[:20])}"
