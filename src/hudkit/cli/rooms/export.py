"""`hudkit rooms export`: what happened, to read or to compute with."""

from __future__ import annotations

import argparse

from hudkit.cli.common import SCHEMA, as_json, progress_bar, written_file
from hudkit.cli.rooms.worlds import agent_of, plural, reading
from hudkit.errors import ConfigError
from hudkit.rooms.recording import write_recording
from hudkit.rooms.world_export import json_lines, transcript_lines


def _write_recording(args: argparse.Namespace) -> int:
    if args.output is None or not args.about or args.room is not None:
        raise ConfigError(
            "a recording is a file of a whole world that says who played",
            hint='--output demo.recording --about "Played by …"',
        )
    with reading(args.world) as world_log:
        last = world_log.world.seq if args.until is None else world_log.check_seq(args.until)
        content = write_recording(world_log, args.about, last)
    args.output.write_bytes(content)
    facts = {"file": str(args.output), "bytes": len(content), "events": last}
    print(as_json({"schema": SCHEMA, **facts}) if args.json else f"{plural(last, 'event')} in {args.output}")
    return 0


_FORMATS = {"text": transcript_lines, "jsonl": json_lines}


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.json and args.output is None:
        raise ConfigError("--json is about a file that was written", hint="Add --output, or use --format jsonl")
    if args.format == "recording":
        return _write_recording(args)
    with reading(args.world) as world_log, progress_bar() as progress:
        room = agent_of(world_log.world, args.room).id if args.room is not None else None
        last = world_log.world.seq if args.until is None else world_log.check_seq(args.until)
        lines = _FORMATS[args.format](world_log.events(upto=last), room)
        count = 0
        with written_file(args.output) as file:
            for count, line in enumerate(lines, 1):
                print(line, file=file)
                if progress is not None and args.output is not None and not count % 1000:
                    progress(count, last, "writing")
    if args.output is not None:
        facts = {"file": str(args.output), "lines": count, "events": last}
        print(as_json({"schema": SCHEMA, **facts}) if args.json else f"{plural(count, 'line')} in {args.output}")
    return 1 if any(seq <= last for seq in world_log.damaged) else 0
