"""`hudkit rooms show`: a world in short, or one agent's HUD."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms.worlds import agent_of, open_world, picked, plural, time_of
from hudkit.cli.styles import (
    HUD_STYLES,
    WORLD_STYLES,
    on_terminal,
    print_code,
    print_lines,
    print_markdown,
    print_table,
)
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError
from hudkit.paths import shown_place
from hudkit.rooms.actions.agent_actions import knowledge_tokens
from hudkit.rooms.hud import CachedRenderer, as_markdown, build_agent_hud
from hudkit.rooms.partitions.split_world import partition_session
from hudkit.rooms.recording import recording_beside
from hudkit.rooms.world import SILENT_BEATS, AgentState, World
from hudkit.rooms.world_log import WorldLog

FACTS = ("agent", "composed_at", "format", "tokens", "limit", "digest", "stable", "document", "sections", "omitted")
"""What is said of a HUD besides its text."""
_JSON_NAMES = {"composed_at": "at"}
_OF_A_PARTITION = ("partition", "received", "heard", "origins")
"""What only one partition of a world has to remember."""
LAST = 8
"""Messages that are shown of a world."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.format is not None and args.agent is None:
        raise ConfigError("--format is how a HUD is written", hint="Name an agent")
    path = picked(args.world)
    with open_world(path, read_only=True) as world_log:
        world = world_log.world if args.at is None else world_log.world_at(args.at)
        now = time_of(world) if args.at is None else world.now
        if args.agent is not None:
            agent = agent_of(world, args.agent)
            if agent.home and args.at is None:
                # It sees what its partition has heard, with the numbers that this has.
                session = partition_session(agent.home)
                with WorldLog.open_session(path, session, read_only=True) as part:
                    _hud(part.world, part.world.agents[agent.id], now, args)
            else:
                _hud(world, agent, now, args)
        elif args.json:
            facts = {"file": shown_place(path), "now": now, "recorded": _who_was_recorded(path, world_log)}
            print(as_json({"schema": SCHEMA, **facts, **_facts(world)}))
        else:
            _print_world(world, shown_place(path), now, _who_was_recorded(path, world_log))
    return 1 if any(seq <= world.seq for seq in world_log.damaged) else 0


def _who_was_recorded(path: Path | str, world_log: WorldLog) -> str:
    """Return who played a world that shows a recording; `""` for any other."""
    recording = recording_beside(path)
    return "" if recording is None or recording.position(world_log) is None else recording.about


def _hud(world: World, agent: AgentState, now: int, args: argparse.Namespace) -> None:
    if args.format not in (None, "markdown"):
        agent.input_format = args.format
    seen = build_agent_hud(world, agent.id, now, CachedRenderer())
    text = as_markdown(seen) if args.format == "markdown" else seen.text
    if args.json:
        facts = msgspec.to_builtins({_JSON_NAMES.get(name, name): getattr(seen, name) for name in FACTS})
        print(as_json({"schema": SCHEMA, "seq": world.seq, **facts, "text": text}))
        return
    if args.format == "markdown":
        print_markdown(visible(text, breaks=True) + "\n", HUD_STYLES)
    else:
        print_code(visible(text, breaks=True), "json" if text.startswith("{") else "")
    for omission in seen.omitted:
        left_out = f"(left out: {omission.section}: {omission.count} {omission.what}, {omission.why})"
        print_lines((visible(left_out),), HUD_STYLES)
    line = f"-- {agent.name} ({agent.id}), event {world.seq}: {seen.tokens:,} of {seen.limit:,} tokens, {seen.format}"
    print_lines((visible(f"\n{line}".strip()),), HUD_STYLES)


def _facts(world: World) -> dict[str, Any]:
    """A world as plain data: everything but messages and prompts; `said` is how many messages there are, with those
    of the system."""
    values: dict[str, Any] = msgspec.to_builtins(world, str_keys=True)
    left = ("prompts", "messages", "requests", "failures", "locks", "wakes", *_OF_A_PARTITION)
    return {name: value for name, value in values.items() if name not in left} | {"said": len(world.messages)}


def _print_world(world: World, file: str, now: int, recorded: str) -> None:
    """Print a world in short; the table of its agents is as wide as the terminal."""
    print_lines(map(visible, _head(world, file, now, recorded)), WORLD_STYLES)
    rows = [_row(world, agent, now) for agent in world.agents.values()]
    if on_terminal():
        print_table(_COLUMNS, rows, _WIDE, ("cyan", "bold"))
    else:
        print_lines(map(visible, _table(_COLUMNS, rows)))
    print_lines(map(visible, _foot(world)), WORLD_STYLES)


_COLUMNS = ("id", "name", "kind", "model", "every", "beats", "memory", "in rooms", "")
_WIDE = _COLUMNS.index("model")
"""The column that is cut where the terminal is narrow."""


def _head(world: World, file: str, now: int, recorded: str) -> Iterator[str]:
    state = f"paused: {world.paused}" if world.paused is not None else f"open, time x {world.speed:g}"
    yield f"{world.name}: {state}; {_time(now)}"
    messages = [message for message in world.messages.values() if message.kind == "text"]
    words = sum(message.words for message in messages)
    spent = f", ${world.cost:.2f}" if world.cost else ""
    counts = ((world.seq, "event"), (world.beats, "beat"), (len(messages), "message"), (words, "word"))
    yield ", ".join(plural(*count) for count in counts) + spent
    yield file
    if recorded:
        yield f"recorded: {recorded}"
    yield ""


def _foot(world: World) -> Iterator[str]:
    yield ""
    messages = [message for message in world.messages.values() if message.kind == "text"]
    for room in world.rooms.values():
        if room.billboard:
            yield f"room {room.id}, {world.agents[room.id].name}: {shorten(room.billboard, 90)}"
    if messages:
        yield ""
    for message in messages[-LAST:]:
        sender = world.agents[message.sender].name if message.sender in world.agents else "The Architect"
        yield f"[{message.room}] #{message.id} {sender}: {shorten(message.content, 140)}"


def _row(world: World, agent: AgentState, now: int) -> tuple[str, ...]:
    memory = min(100, 100 * knowledge_tokens(agent.knowledge) // world.rules.tokens.knowledge)
    note = ""
    if agent.retired:
        note = "retired"
    elif agent.sleeps_until > now:
        note = f"sleeps until {_time(agent.sleeps_until)}"
    elif agent.last_error:
        note = shorten(agent.last_error, 60)
    elif agent.silent_beats >= SILENT_BEATS:
        note = f"addressed, and silent for {agent.silent_beats} beats"
    rooms = ", ".join(str(room) for room in agent.rooms if room != agent.id)
    return (
        str(agent.id),
        shorten(agent.name, 24),
        agent.kind,
        shorten(agent.model, 32),
        f"{agent.interval:g} s",
        f"{agent.beats:,}",
        f"{memory}%",
        shorten(rooms, 24) or "-",
        note,
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Columns as wide as what is in them, with hidden characters written out."""
    cells = [head, *(tuple(visible(cell) for cell in row) for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _time(timestamp: int) -> str:
    return f"{datetime.fromtimestamp(timestamp / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
