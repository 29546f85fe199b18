"""Which world is meant, where its file is, and opening it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from hudkit.cli import complain
from hudkit.cli.common import report_damage
from hudkit.compose import visible
from hudkit.errors import ConfigError, SequenceConflict
from hudkit.paths import data_directory, is_server_url
from hudkit.rooms.scheduler.clocks import Clock, RealClock, WorldTime
from hudkit.rooms.world import AgentState, World
from hudkit.rooms.world_log import WorldLog, played_sessions

TRIES = 20
"""How often to try again where another process wrote first."""

V = TypeVar("V")

_NAME = re.compile(r"\w[\w.-]{0,99}")


def worlds_directory() -> Path:
    """Return the directory of the worlds that have names."""
    return data_directory() / "worlds"


def path_of(name: str) -> Path | str:
    """Return the file of a world by its name, or as a path; a server's URL as it is.

    Raises `ConfigError` for what can be none of these.
    """
    if is_server_url(name):
        return name
    if "/" in name or name.endswith(".db"):
        return Path(name)
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a name for a world", hint="Letters, digits, `-`, `_` and `.`; or a path")
    return worlds_directory() / f"{name}.db"


def known() -> list[Path]:
    """Return the files of worlds with names; the one that changed last is the first."""
    paths = list(worlds_directory().glob("*.db"))
    return sorted(paths, key=changed_at, reverse=True)


def picked(name: str | None) -> Path | str:
    """Return the file of the world that is meant, or its URL. Raises `ConfigError` where there is none."""
    there = known()
    if name is None:
        if not there:
            raise ConfigError("there is no world yet", hint="Make one: hudkit rooms new")
        if len(there) > 1:
            complain("rooms", f"the world {there[0].stem}; others with --world: {_some(there[1:])}")
        return there[0]
    path = path_of(name)
    if isinstance(path, Path) and not path.exists():
        near = get_close_matches(name, [path.stem for path in there], 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Make one: hudkit rooms new {shlex.quote(name)}"
        raise ConfigError(f"there is no world in {path}", hint=hint)
    return path


def reading(name: str | None) -> WorldLog:
    """Open a world to look at, also while another process plays it, and return its log."""
    return open_world(picked(name), read_only=True)


def partition_logs(name: str) -> Iterator[WorldLog]:
    """Yield the logs of the partitions of a world, each open until the next one is asked for."""
    path = picked(name)
    for session in played_sessions(path):
        with WorldLog.open_session(path, session, read_only=True) as world_log:
            yield world_log


def open_world(path: Path | str, *, read_only: bool = False) -> WorldLog:
    """Open the world in a file or at a URL and return its log; say which events of it are damaged.

    The world is as it is without them. Raises what `WorldLog.open` raises.
    """
    world_log = WorldLog.open(path, read_only=read_only)
    command = "pg_restore" if isinstance(path, str) else f"hudkit repair --db {shlex.quote(str(path))}"
    report_damage("rooms", world_log.damaged, command=command)
    return world_log


def time_of(world: World, clock: Clock | None = None) -> int:
    """Return what time it is in a world (Unix ms)."""
    return WorldTime(clock or RealClock(), world.now, world.speed).now(world.now)


def agent_of(world: World, word: str) -> AgentState:
    """Return the agent of a number or a name; of namesakes, the living one.

    Raises `ConfigError` with the nearest name.
    """
    agents = world.agents
    if word.isdecimal() and int(word) in agents:
        return agents[int(word)]
    by_age = sorted(agents.values(), key=lambda agent: not agent.retired)
    names = {agent.name.casefold(): agent for agent in by_age}
    agent = names.get(word.casefold())
    if agent is None:
        near = get_close_matches(word.casefold(), names, 1)
        there = (
            f"Did you mean {names[near[0]].name!r}?" if near else f"There are: {_named(agents.values()) or 'none'}"
        )
        raise ConfigError(f"there is no agent {word!r}", hint=there)
    return agent


def plural(number: int, noun: str) -> str:
    """Return a count with its noun: `1 agent`, `2 agents`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_patience(do: Callable[[], V]) -> V:
    """Call `do` and return its result; try again where the process that plays the world wrote first.

    Raises `SequenceConflict` after the last try.
    """
    for _ in range(TRIES):
        with suppress(SequenceConflict):
            return do()
    return do()


def _named(agents: Iterable[AgentState]) -> str:
    some = [f"{agent.id} {agent.name}" for agent in agents]
    return visible(", ".join(some[:12]) + (", …" if len(some) > 12 else ""))


def _some(paths: list[Path]) -> str:
    return ", ".join(path.stem for path in paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


def changed_at(path: Path) -> float:
    """Return when a world last changed, in seconds: its file, or the one beside it with what is newest."""
    return max(file.stat().st_mtime for file in files_of(path))


def files_of(path: Path) -> list[Path]:
    """Return the files of a world: its own, and the one beside it with what is newest, where there is one."""
    return [file for file in (path, path.with_name(f"{path.name}-wal")) if file.exists()]
