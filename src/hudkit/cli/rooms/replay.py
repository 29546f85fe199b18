"""`hudkit rooms replay`: does the log give the same HUDs again?"""

from __future__ import annotations

import argparse

import msgspec

from hudkit.cli.common import SCHEMA, as_json, progress_bar
from hudkit.cli.rooms.worlds import partition_logs, plural, reading
from hudkit.cli.styles import print_lines
from hudkit.compose import visible
from hudkit.rooms.world_replay import ReplayReport, sum_reports
from hudkit.rooms.world_replay import replay_log as play_again

SHOWN = 10
"""Differences that are listed."""


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    with reading(args.world) as world_log, progress_bar() as progress:
        if not world_log.world.partitions:
            report = play_again(world_log, progress)
        else:
            # Each agent saw what its partition had heard: HUDs come out the same there.
            report = sum_reports([play_again(part, progress) for part in partition_logs(args.world)])
    if args.json:
        print(as_json({"schema": SCHEMA, "sound": report.sound, **msgspec.to_builtins(report)}))
    else:
        print_lines(map(visible, _lines(report)))
    return 0 if report.sound else 1


def _lines(report: ReplayReport) -> list[str]:
    lines = [f"{plural(report.events, 'event')}, {plural(report.beats, 'beat')}"]
    if report.gone:
        lines.append(f"passed over, as redacted, damaged or of a newer version: {plural(report.gone, 'event')}")
    if report.unseen:
        lines.append(f"without a HUD, through an error: {plural(report.unseen, 'beat')}")
    if not report.differ:
        lines.append(f"{plural(report.same, 'HUD')} composed again, each with the same bytes as its agent saw")
    else:
        lines.append(f"{len(report.differ):,} of {report.same + len(report.differ):,} HUDs came out otherwise:")
        lines += [
            f"  event {change.seq}: beat {change.beat} of agent {change.agent}{change.why and ': ' + change.why}"
            for change in report.differ[:SHOWN]
        ]
        if len(report.differ) > SHOWN:
            lines.append(f"  and {len(report.differ) - SHOWN:,} more")
    lines.append("the world comes out as it is" if report.state else "the world comes out otherwise than it is")
    return lines
