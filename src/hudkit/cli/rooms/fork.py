"""`hudkit rooms fork`: a new world with the past of another one."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.rooms.new import check_free, print_created, removed_unless_finished
from hudkit.cli.rooms.worlds import path_of, reading


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    path = path_of(args.name)
    if isinstance(path, Path):
        check_free(path)
    with (
        reading(args.world) as world_log,
        removed_unless_finished(path),
        world_log.fork(path, args.at, name=path.stem if isinstance(path, Path) else "") as forked,
    ):
        past = {"forked_from": world_log.world.name, "forked_at": forked.world.seq if args.at is None else args.at}
        print_created(forked, path, as_facts=args.json, past=past)
    return 0
