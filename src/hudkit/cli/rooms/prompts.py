"""`hudkit rooms prompts`: what the agents of a world are told, shown, written to files, and changed from files."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms.worlds import picked, plural, reading, time_of, with_patience
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import CachedRenderer, build_agent_hud
from hudkit.rooms.prompts import PROMPTS, load_prompts, read_prompts, write_prompts
from hudkit.rooms.world import World
from hudkit.rooms.world_log import WorldLog


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.read is not None:
        _read(args.read, args)
        return 0
    with reading(args.world) as world_log:
        texts = world_log.world.prompts
        if args.write is not None:
            written = write_prompts(args.write, {name: texts[name] for name in PROMPTS if name in texts})
            facts = {"schema": SCHEMA, "written": [str(path) for path in written]}
            line = f"{plural(len(written), 'prompt')} written to {args.write}"
            print(as_json(facts) if args.json else visible(line))
        else:
            _show(world_log, as_facts=args.json)
    return 0


def check_room(world: World) -> None:
    """Raise `BudgetError` where the HUD of an agent has no room for what the world's agents are told. It may be
    called on a world that is there for nothing else."""
    renderer, seen = CachedRenderer(), set()
    for agent in world.agents.values():
        kind = agent.kind, agent.input_format, agent.output_format, agent.can_create
        if not agent.retired and kind not in seen:
            seen.add(kind)
            build_agent_hud(world, agent.id, world.now, renderer)


def _read(folder: Path, args: argparse.Namespace) -> None:
    texts = read_prompts(folder)
    if not texts:
        raise ConfigError(f"there are no prompts in {folder}", hint="hudkit rooms prompts --write DIR makes some")
    with WorldLog.open(picked(args.world)) as world_log:
        new = {name: text for name, text in texts.items() if world_log.world.prompts.get(name) != text}
        if new:
            trial = world_log.world_at(world_log.world.seq)
            trial.prompts = {**trial.prompts, **new}
            check_room(trial)
            architect = Architect(world_log, lambda: time_of(world_log.world))
            with_patience(lambda: architect.set_prompts(new))
        if args.json:
            print(as_json({"schema": SCHEMA, "changed": list(new), "seq": world_log.world.seq}))
        elif new:
            print(
                visible(
                    f"{plural(len(new), 'prompt')} changed from event {world_log.world.seq:,} on: {', '.join(new)}"
                )
            )
        else:
            print("nothing to change: the world's agents are told just that")


def _show(world_log: WorldLog, *, as_facts: bool) -> None:
    texts, own = world_log.world.prompts, load_prompts()
    since = _changes(world_log)
    rows = [
        (name, len(texts[name]), texts[name] == own[name], since.get(name, 1)) for name in PROMPTS if name in texts
    ]
    if as_facts:
        names = ("name", "characters", "hudkits", "seq")
        print(as_json({"schema": SCHEMA, "prompts": [dict(zip(names, row, strict=True)) for row in rows]}))
        return
    width = max(len(row[0]) for row in rows)
    for name, size, hudkits, seq in rows:
        whose = "hudkit's" if hudkits else "your own"
        print(visible(f"{name:<{width}}  {size:>6,} characters  {whose}, since event {seq:,}: {PROMPTS[name]}"))


def _changes(world_log: WorldLog) -> Mapping[str, int]:
    """The event that last changed each prompt."""
    last_changes: dict[str, int] = {}
    for event, what in world_log.events():
        changed: Iterable[str] = what.prompts if isinstance(what, e.PromptsChanged) else ()
        last_changes.update(dict.fromkeys(changed, event.seq))
    return last_changes
