"""`hudkit rooms replay`: does the log give the same HUDs again?"""

from __future__ import annotations

import argparse

import msgspec

from hudkit.cli.place import SCHEMA, as_json
from hudkit.cli.progress import progress_bar
from hudkit.cli.rooms import world_argument
from hudkit.cli.rooms.place import many, reading
from hudkit.compose import visible
from hudkit.rooms.world_replay import ReplayReport
from hudkit.rooms.world_replay import replay_log as play_again

SHOWN = 10
"""Differences that are listed."""


def replay_arguments(one: argparse.ArgumentParser) -> None:
    world_argument(one)


def replay(given: argparse.Namespace) -> int:
    with reading(given.world) as world_log, progress_bar() as progress:
        found = play_again(world_log, progress)
    if given.json:
        print(as_json({"schema": SCHEMA, "sound": found.sound, **msgspec.to_builtins(found)}))
    else:
        for line in _lines(found):
            print(visible(line))
    return 0 if found.sound else 1


def _lines(found: ReplayReport) -> list[str]:
    lines = [f"{many(found.events, 'event')}, {many(found.beats, 'beat')}"]
    if found.gone:
        lines.append(f"passed over, as redacted or of a newer version: {many(found.gone, 'event')}")
    if found.unseen:
        lines.append(f"without a HUD, through an error: {many(found.unseen, 'beat')}")
    if not found.differ:
        lines.append(f"{many(found.same, 'HUD')} composed again, each with the same bytes as its agent saw")
    else:
        lines.append(f"{len(found.differ):,} of {found.same + len(found.differ):,} HUDs came out otherwise:")
        lines += [
            f"  event {one.seq}: beat {one.beat} of agent {one.agent}{': ' if one.why else ''}{one.why}"
            for one in found.differ[:SHOWN]
        ]
        if len(found.differ) > SHOWN:
            lines.append(f"  and {len(found.differ) - SHOWN:,} more")
    lines.append("the world comes out as it is" if found.state else "the world comes out otherwise than it is")
    return lines
