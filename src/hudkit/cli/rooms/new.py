"""`hudkit rooms new` and `hudkit rooms fork`: where worlds come from."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.rooms.prompts import check_room
from hudkit.cli.rooms.worlds import path_of, plural, worlds_directory
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.log.stores.sqlite_files import DATABASE_SUFFIXES, companion_path
from hudkit.paths import is_server_url, shown_place
from hudkit.rooms import FIRST_RECORDING, FIRST_WORLD
from hudkit.rooms.cost_forecast import check_players
from hudkit.rooms.players import IMPROVISER_LABEL, IMPROVISER_MODEL, open_players
from hudkit.rooms.prompts import load_prompts, write_prompts
from hudkit.rooms.recording import (
    Recording,
    found_recorded_world,
    parse_recording,
    read_recording,
    recording_file,
    recording_that_ships,
)
from hudkit.rooms.world_file import WorldFile, island_world, populate_world, read_world_file
from hudkit.rooms.world_log import WorldLog


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.write_prompts is not None:
        written = write_prompts(args.write_prompts)
        facts = {"schema": SCHEMA, "written": [str(path) for path in written]}
        print(as_json(facts) if args.json else f"{len(written)} prompts written to {args.write_prompts}")
        return 0
    if args.partitions > 1 and args.db is None:
        raise ConfigError("a world in partitions is on a server", hint="Name it with --db postgresql://…")
    if args.recording is not None:
        return _new_from_recording(args)
    founding = read_world_file(args.file) if args.file is not None else island_world()
    path = args.db or path_of(args.name or founding.name or FIRST_WORLD)
    if args.db and args.name and not is_server_url(args.name):
        founding = msgspec.structs.replace(founding, name=args.name)
    with create_world(
        path,
        founding,
        model=args.model,
        prompts=args.prompts,
        seed=args.seed,
        file=args.file,
        partitions=args.partitions if args.partitions > 1 else 0,
    ) as world_log:
        print_created(world_log, path, as_facts=args.json)
        try:
            check_players(world_log.world, open_players())
        except ConfigError as error:  # the world is made all the same: the key may come before its first beat
            print(visible(f"hudkit rooms: {error}"), file=sys.stderr)
    return 0


def _new_from_recording(args: argparse.Namespace) -> int:
    """Make a world that shows a recorded run; the recording lies beside it."""
    content, recording = _read_content(args.recording)
    path = args.db or path_of(args.name or recording.name)
    beside = recording_file(path)
    if (
        beside is None
        or not isinstance(path, Path)
        or args.file
        or args.model
        or args.prompts
        or args.seed is not None
    ):
        raise ConfigError("a recording is shown as it was, in a file", hint="Only a name can be given beside it")
    with create_recorded_world(path, content, recording) as world_log:
        print_created(world_log, path, as_facts=args.json)
    return 0


def _read_content(file: Path) -> tuple[bytes, Recording]:
    """Return a recording's bytes, and what is in them; the name of the one that ships is enough for that one."""
    if str(file) == FIRST_RECORDING and not file.exists():
        content = recording_that_ships()
        return content, parse_recording(content)
    return file.read_bytes() if file.is_file() else b"", read_recording(file)


def create_recorded_world(path: Path, content: bytes, recording: Recording) -> WorldLog:
    """Make a world that shows a recording, whose file is put beside it, and return its log."""
    check_free(path)
    with removed_unless_finished(path):
        world_log = found_recorded_world(recording, path)
        path.with_suffix(".recording").write_bytes(content)
    return world_log


def create_world(
    path: Path | str,
    founding: WorldFile,
    *,
    model: str | None = None,
    prompts: Path | None = None,
    seed: int | None = None,
    file: Path | None = None,
    partitions: int = 0,
) -> WorldLog:
    """Make the world of a founding in a new file, or on a server (there also in `partitions`), and return its log.

    Raises `ConfigError` for a founding that cannot be; there is no file then.
    """
    if model is not None:
        check_model(model)
        founding = _thinking_with(founding, model)
    where = str(file) if file is not None else f"{FIRST_WORLD}.toml"
    texts = load_prompts(prompts)
    if isinstance(path, Path):
        check_free(path)
    settings: dict[str, Any] = {
        "seed": founding.seed if seed is None else seed,
        "rules": founding.rules,
        "prompts": texts,
    }
    with WorldLog.in_memory(name=_name(founding, path), **settings) as trial:
        populate_world(trial, founding, where)
        check_room(trial.world)
        with removed_unless_finished(path):
            return trial.found_elsewhere(path, partitions)


def _name(founding: WorldFile, path: Path | str) -> str:
    if isinstance(path, str):
        return founding.name or FIRST_WORLD
    return path.stem if founding.name in ("", FIRST_WORLD) else founding.name


def check_model(name: str) -> str:
    """Check a model's name and return it. Raises `ConfigError` for what is none."""
    seller, _, model = name.partition(":")
    if name != IMPROVISER_MODEL and not (seller and model):
        raise ConfigError(
            f"{name!r} is not a model", hint=f"{IMPROVISER_MODEL}, or provider:name as in anthropic:claude-haiku-4-5"
        )
    return name


def _thinking_with(founding: WorldFile, model: str) -> WorldFile:
    return msgspec.structs.replace(founding, model=model)


def check_free(path: Path) -> None:
    """Raise `ConfigError` where there is a file already."""
    if path.exists():
        raise ConfigError(f"there is a file {path}", hint="Name another one")


@contextlib.contextmanager
def removed_unless_finished(path: Path | str) -> Iterator[None]:
    """Yield to a block that makes a world; where it raises, the half-made file is removed."""
    try:
        yield
    except BaseException:
        for suffix in DATABASE_SUFFIXES if isinstance(path, Path) else ():
            assert isinstance(path, Path)
            companion_path(path, suffix).unlink(missing_ok=True)
        raise


def print_created(
    world_log: WorldLog, path: Path | str, *, as_facts: bool, past: Mapping[str, Any] | None = None
) -> None:
    """Print what was made: its agents, who thinks for them, its file and how to play it.

    With `as_facts` as JSON; `past` are the facts of a fork's origin.
    """
    world = world_log.world
    models = sorted({agent.model for agent in world.agents.values()})
    if as_facts:
        facts = {"name": world.name, "file": shown_place(path), "agents": len(world.agents), "events": world.seq}
        print(as_json({"schema": SCHEMA, **facts, **(past or {}), "seed": world.seed, "models": models}))
        return
    names = ", ".join(agent.name for agent in world.agents.values() if agent.id <= 12)
    thinks = ", ".join(IMPROVISER_LABEL if model == IMPROVISER_MODEL else model for model in models)
    there = f"{names}{', …' if len(world.agents) > 12 else ''}"
    print(visible(f"{world.name}: {plural(len(world.agents), 'agent')}{f' ({there})' if there else ''}"))
    if past:
        print(visible(f"a fork of {past['forked_from']} at event {past['forked_at']:,}"))
    if thinks:
        print(visible(f"thinking: {thinks}"))
    print(visible(f"file: {shown_place(path)}, {plural(world.seq, 'event')}"))
    is_named = isinstance(path, Path) and path.parent == worlds_directory()
    meant = path.stem if is_named and isinstance(path, Path) else shown_place(path)
    if world.partitions:
        played = "`rooms worker` with the same --db plays it, in as many processes as you like"
        print(visible(f"{plural(world.partitions, 'partition')}: {played}"))
        return
    print(visible(f"play it: hudkit rooms serve --world {shlex.quote(meant)}"))
